"""Modules without initial values."""

import inspect


def skip_init(module_cls, *args, **kwargs):
    """A module whose parameters and buffers are not initialised: module_cls(*args, **kwargs), which must take a device."""
    from ..modules.module import Module

    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
