"""Tensors for tests."""

import math
import warnings

from tenon import _C

_INTEGRAL_RANGE = (-9, 10)


def _interval(dtype, low, high):
    """[low, high) within what the dtype holds."""
    from tenon import finfo, iinfo

    if dtype is _C.bool:
        least, most, usual = 0, 2, (0, 2)
    elif not dtype.is_floating_point:
        info = iinfo(dtype)
        least, most = info.min, info.max + (dtype is not _C.int64)
        usual = (0, 10) if least == 0 else _INTEGRAL_RANGE
    else:
        info = finfo(dtype)
        least, most, usual = info.min, info.max, (-9, 9)
    low, high = usual[0] if low is None else low, usual[1] if high is None else high
    if any(isinstance(v, float) and math.isnan(v) for v in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and dtype.is_floating_point:
        warnings.warn("Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 and will be "
                      "removed in 2.3. Use `torch.full(...)` instead.", FutureWarning, stacklevel=3)
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= most:
        raise ValueError(f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports [{least}, {most})")
    low, high = min(max(low, least), most), min(max(high, least), most)
    return (low, high) if dtype.is_floating_point else (math.ceil(low), math.ceil(high))


def _drawn(shape, dtype, device, low, high):
    from tenon import finfo

    if not dtype.is_floating_point:
        return _C.randint(low, high, shape, dtype=dtype, device=device)
    made = _C.empty(shape, dtype=dtype, device=device)
    if high - low >= finfo(dtype).max:
        return made.uniform_(low / 2, high / 2).mul_(2)
    return made.uniform_(low, high)


def make_tensor(*shape, dtype, device, low=None, high=None, requires_grad=False, noncontiguous=False, exclude_zero=False, memory_format=None):
    """A tensor of random values of [low, high), of [-9, 9) where nothing is said, as far as the dtype goes.

    noncontiguous: every second element of a larger one; exclude_zero: the smallest number in its place.
    """
    from tenon import finfo

    shape = list(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else list(shape)
    if requires_grad and not dtype.is_floating_point:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    if noncontiguous and memory_format is not None:
        raise ValueError(f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got {noncontiguous=} and {memory_format=}")
    low, high = _interval(dtype, low, high)
    noncontiguous = noncontiguous and math.prod(shape) > 1
    if noncontiguous:
        shape[-1] *= 2
    made = _drawn(shape, dtype, device, low, high)
    if noncontiguous:
        made = made[..., 1::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        made[made == 0] = finfo(dtype).tiny if dtype.is_floating_point else 1
    if dtype.is_floating_point:
        made.requires_grad = requires_grad
    return made
