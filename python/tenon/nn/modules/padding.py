"""Modules that pad: by a number, by reflection, by the nearest element, around."""

from .. import functional as F
from .module import Module

__all__ = ["CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
           "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
           "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d"]


def _counts(padding, dims):
    """One number for every side, or a tuple of one for each."""
    return (padding,) * (2 * dims) if isinstance(padding, int) else tuple(padding)


class _Pad(Module):
    """What all of them are: the mode, and counts for each side, the last dimension first."""

    _dims = 1
    _mode = "constant"

    def __init__(self, padding):
        super().__init__()
        self.padding = _counts(padding, self._dims)

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class _CircularPad(_Pad):
    _mode = "circular"

    def forward(self, input):
        if input.dim() not in (self._dims + 1, self._dims + 2):
            raise ValueError(f"expected {self._dims + 1}D or {self._dims + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class ConstantPad1d(_ConstantPad):
    """The last dimension with a number before and behind."""

    _dims = 1


class ConstantPad2d(_ConstantPad):
    """The last two dimensions with a number before and behind."""

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """The last three dimensions with a number before and behind."""

    _dims = 3


class ZeroPad1d(_ZeroPad):
    """The last dimension with zeros before and behind."""

    _dims = 1


class ZeroPad2d(_ZeroPad):
    """The last two dimensions with zeros before and behind."""

    _dims = 2


class ZeroPad3d(_ZeroPad):
    """The last three dimensions with zeros before and behind."""

    _dims = 3


class ReflectionPad1d(_Pad):
    """The last dimension mirrored at its first and last element."""

    _dims, _mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """The last two dimensions mirrored at their first and last element."""

    _dims, _mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """The last three dimensions mirrored at their first and last element."""

    _dims, _mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """The last dimension with its first and last element repeated."""

    _dims, _mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """The last two dimensions with their first and last element repeated."""

    _dims, _mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """The last three dimensions with their first and last element repeated."""

    _dims, _mode = 3, "replicate"


class CircularPad1d(_CircularPad):
    """The last dimension with its other end before and behind."""

    _dims = 1


class CircularPad2d(_CircularPad):
    """The last two dimensions with their other end before and behind."""

    _dims = 2


class CircularPad3d(_CircularPad):
    """The last three dimensions with their other end before and behind."""

    _dims = 3
