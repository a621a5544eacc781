"""Convolutions of one to three dimensions, and transposed ones; those whose channels the first input says."""

import math

from tenon import _C
from tenon.autograd import no_grad

from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter

from .lazy import LazyModuleMixin
from .module import Module

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d",
           "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d"]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def _each(numbers, dims):
    """One number for every dimension, or a sequence of one for each."""
    return tuple(numbers) if isinstance(numbers, (tuple, list)) else (numbers,) * dims


def _check(in_channels, out_channels, groups, padding, stride, padding_mode):
    """What a convolution refuses when it is made."""
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in _PADDING_MODES:
        raise ValueError(f"padding_mode must be one of {set(_PADDING_MODES)}, but got padding_mode='{padding_mode}'")


class _ConvNd(Module):
    """What convolutions are: weight [out, in / groups, ...] (transposed: [in, out / groups, ...]) and bias [out], which
    begin uniform in +-1 / sqrt(in / groups * the kernel's size)."""

    _dims = 0
    transposed = False

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias,
                 padding_mode, device, dtype):
        super().__init__()
        kernel_size, stride, dilation, output_padding = (
            _each(numbers, self._dims) for numbers in (kernel_size, stride, dilation, output_padding))
        _check(in_channels, out_channels, groups, padding, stride, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding if isinstance(padding, str) else _each(padding, self._dims)
        self.dilation = dilation
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._set_parameters(bias, device, dtype)

    def _weight_shape(self):
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        return (first, second // self.groups, *self.kernel_size)

    def _set_parameters(self, bias, device, dtype):
        self.weight = Parameter(_C.empty(self._weight_shape(), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(_C.empty((self.out_channels,), device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the initial values anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def _padded(self, input):
        """The input, padded otherwise than by zeros, and the padding that is left to the convolution."""
        if self.padding_mode == "zeros":
            return input, self.padding
        counts = []
        for i in reversed(range(self._dims)):
            if self.padding == "same":
                both = self.dilation[i] * (self.kernel_size[i] - 1)
                counts += [both // 2, both - both // 2]
            else:
                counts += [0, 0] if self.padding == "valid" else [self.padding[i]] * 2
        return F.pad(input, counts, self.padding_mode), 0

    def _conv_forward(self, input, weight, bias):
        input, padding = self._padded(input)
        return self._function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)

    def extra_repr(self):
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        nothing = (0,) * self._dims
        if self.padding != nothing:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self._dims:
            text += f", dilation={self.dilation}"
        if self.output_padding != nothing:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_ConvNd):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias, padding_mode,
                         device, dtype)


class Conv1d(_Conv):
    """F.conv1d of (N, C, L) or (C, L); padding is a number or "same" or "valid"."""

    _dims = 1
    _function = staticmethod(F.conv1d)


class Conv2d(_Conv):
    """F.conv2d of (N, C, H, W) or (C, H, W); numbers stand for both dimensions, or are pairs."""

    _dims = 2
    _function = staticmethod(F.conv2d)


class Conv3d(_Conv):
    """F.conv3d of (N, C, D, H, W) or (C, D, H, W); numbers stand for all dimensions, or are three."""

    _dims = 3
    _function = staticmethod(F.conv3d)


class _ConvTranspose(_ConvNd):
    transposed = True

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
                 dilation=1, padding_mode="zeros", device=None, dtype=None):
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias,
                         padding_mode, device, dtype)

    def _least_size(self, size, i):
        return ((size - 1) * self.stride[i] - 2 * self.padding[i] + self.dilation[i] * (self.kernel_size[i] - 1) + 1)

    def _output_padding(self, input, output_size):
        """What is to be added for a result of that size."""
        dims, others = self._dims, 2 if input.dim() == self._dims + 2 else 1
        if len(output_size) == dims + others:
            output_size = output_size[others:]
        if len(output_size) != dims:
            raise ValueError(f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must have {dims} or {dims + others} "
                             f"elements (got {len(output_size)})")
        least = [self._least_size(input.size(others + i), i) for i in range(dims)]
        most = [size + step - 1 for size, step in zip(least, self.stride)]
        if any(size < low or size > high for size, low, high in zip(output_size, least, most)):
            raise ValueError(f"requested an output size of {output_size}, but valid sizes range from {least} to {most} (for an "
                             f"input of {input.size()[2:]})")
        return [size - low for size, low in zip(output_size, least)]

    def forward(self, input, output_size=None):
        more = self.output_padding if output_size is None else self._output_padding(input, output_size)
        return self._function(input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)


class ConvTranspose1d(_ConvTranspose):
    """F.conv_transpose1d; output_size of a call chooses between the sizes that give this input's."""

    _dims = 1
    _function = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTranspose):
    """F.conv_transpose2d; output_size of a call chooses between the sizes that give this input's."""

    _dims = 2
    _function = staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTranspose):
    """F.conv_transpose3d; output_size of a call chooses between the sizes that give this input's."""

    _dims = 3
    _function = staticmethod(F.conv_transpose3d)


class _LazyConv(LazyModuleMixin):
    """in_channels are those of the first input."""

    def __init__(self, out_channels, kernel_size, *args, **kwargs):
        super().__init__(0, 0, kernel_size, *args, **kwargs)
        self.out_channels = out_channels

    def _set_parameters(self, bias, device, dtype):
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)

    def reset_parameters(self):
        """Draws the initial values anew, once there are some."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        dims = self._dims
        if not self.has_uninitialized_params():
            return
        if input.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {type(self).__name__}, but got "
                               f"input of size: {input.shape}")
        self.in_channels = input.shape[-dims - 1]
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        with no_grad():
            self.weight.materialize(self._weight_shape())
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()


class LazyConv1d(_LazyConv, Conv1d):
    """Conv1d whose in_channels are its first input's."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """Conv2d whose in_channels are its first input's."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """Conv3d whose in_channels are its first input's."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConv, ConvTranspose1d):
    """ConvTranspose1d whose in_channels are its first input's."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConv, ConvTranspose2d):
    """ConvTranspose2d whose in_channels are its first input's."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConv, ConvTranspose3d):
    """ConvTranspose3d whose in_channels are its first input's."""

    cls_to_become = ConvTranspose3d
