"""torch.finfo and torch.iinfo: the limits of dtypes."""

import math

from tenon import _C


def _check(function, dtype):
    if not isinstance(dtype, type(_C.float32)):
        raise TypeError(f"{function}(): argument 'type' (position 1) must be torch.dtype, not {type(dtype).__name__}")
    return dtype


class _Info:
    __slots__ = ("_dtype", "bits")

    @property
    def dtype(self):
        """The name of the dtype: 'float32'."""
        return str(self._dtype).rpartition(".")[2]

    def __eq__(self, other):
        return type(other) is type(self) and other._dtype is self._dtype

    def __hash__(self):
        return hash((type(self), self.dtype))


class finfo(_Info):
    """The limits of a floating dtype, by default the default one: bits, eps, max, min, tiny, smallest_normal, resolution."""

    __slots__ = ("eps", "max", "min", "tiny", "smallest_normal", "resolution")

    def __init__(self, type=None):
        dtype = _C.get_default_dtype() if type is None else _check("finfo", type)
        if not dtype.is_floating_point:
            raise TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'")
        self._dtype = dtype
        self.bits, fraction = 8 * dtype.itemsize, dtype._digits - 1
        low = 2 - 2 ** (self.bits - dtype._digits - 1)  # the exponent of the smallest normal number
        self.eps = 2.0**-fraction
        self.max = (2.0 - self.eps) * 2.0 ** (1 - low)
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0**low
        self.resolution = 10.0 ** -int(fraction * math.log10(2))

    def __repr__(self):
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo(_Info):
    """The limits of an integer dtype: bits, min, max."""

    __slots__ = ("min", "max")

    def __init__(self, *args, **kwargs):
        if not args and not kwargs:
            raise TypeError('iinfo() missing 1 required positional arguments: "type"')
        (dtype,) = args or (kwargs["type"],)
        _check("iinfo", dtype)
        if dtype is _C.bool:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if dtype.is_floating_point:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        self._dtype = dtype
        self.bits = 8 * dtype.itemsize
        self.min = -(2**dtype._digits) if dtype.is_signed else 0
        self.max = 2**dtype._digits - 1

    def __repr__(self):
        return f"iinfo(min={float(self.min):g}, max={float(self.max):g}, dtype={self.dtype})"
