"""torch.testing: make_tensor and assert_close."""

import math
import warnings

import torch
from torch_tests.compare import mismatch

__all__ = ["make_tensor", "assert_close"]

_INTEGRAL = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}


def _interval(dtype, low, high):
    """[low, high) within what the dtype holds."""
    if dtype is torch.bool:
        least, most, usual = 0, 2, (0, 2)
    elif dtype in _INTEGRAL:
        info = torch.iinfo(dtype)
        least, most = info.min, info.max + (dtype is not torch.int64)
        usual = (0, 10) if least == 0 else (-9, 10)
    else:
        info = torch.finfo(dtype)
        least, most, usual = info.min, info.max, (-9, 9)
    low, high = usual[0] if low is None else low, usual[1] if high is None else high
    if any(isinstance(v, float) and math.isnan(v) for v in (low, high)):
        raise ValueError("`low` and `high` cannot be NaN")
    if low == high and dtype.is_floating_point:
        warnings.warn("Passing `low==high` to `torch.testing.make_tensor` is deprecated", FutureWarning, stacklevel=3)
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    low, high = min(max(low, least), most), min(max(high, least), most)
    return (low, high) if dtype.is_floating_point else (math.ceil(low), math.ceil(high))


def make_tensor(
    *shape,
    dtype,
    device,
    low=None,
    high=None,
    requires_grad=False,
    noncontiguous=False,
    exclude_zero=False,
    memory_format=None,
):
    """A tensor of random values of [low, high); noncontiguous: every second element of a larger one."""
    shape = list(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else list(shape)
    if requires_grad and not dtype.is_floating_point and not dtype.is_complex:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    if type(dtype).__name__ == "AbsentDtype":
        return torch.empty(shape, dtype=dtype, device=device)  # says which dtype is not there
    low, high = _interval(dtype, low, high)
    noncontiguous = noncontiguous and math.prod(shape) > 1
    if noncontiguous:
        shape[-1] *= 2
    if not dtype.is_floating_point:
        made = torch.randint(low, high, shape, dtype=dtype, device=device)
    elif high - low >= torch.finfo(dtype).max:
        made = torch.empty(shape, dtype=dtype, device=device).uniform_(low / 2, high / 2).mul_(2)
    else:
        made = torch.empty(shape, dtype=dtype, device=device).uniform_(low, high)
    if noncontiguous:
        made = made[..., 1::2]
    elif memory_format is not None:
        made = made.clone(memory_format=memory_format)
    if exclude_zero:
        made[made == 0] = torch.finfo(dtype).tiny if dtype.is_floating_point else 1
    if dtype.is_floating_point:
        made.requires_grad = requires_grad
    return made


def assert_close(
    actual,
    expected,
    *,
    allow_subclasses=True,
    rtol=None,
    atol=None,
    equal_nan=False,
    check_device=True,
    check_dtype=True,
    check_layout=True,
    check_stride=False,
    msg=None,
):
    """AssertionError if the two differ by more than the tolerances of their dtypes."""
    said = mismatch(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        exact_dtype=check_dtype,
        exact_device=check_device,
        exact_stride=check_stride,
    )
    if said:
        raise AssertionError(msg(said) if callable(msg) else msg or said)
