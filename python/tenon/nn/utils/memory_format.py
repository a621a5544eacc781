"""The memory format of convolutions' weights alone."""

from .. import modules

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module, n, memory_format):
    kinds = tuple(c for c in (getattr(modules, f"{name}{n}d", None) for name in ("Conv", "ConvTranspose")) if c)
    for part in module.modules():
        if isinstance(part, kinds):
            part.weight.data = part.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module, memory_format):
    """The weights of the Conv2d and ConvTranspose2d in the module, in that format."""
    return _convert(module, 2, memory_format)


def convert_conv3d_weight_memory_format(module, memory_format):
    """The weights of the Conv3d and ConvTranspose3d in the module, in that format."""
    return _convert(module, 3, memory_format)
