"""Whether two results are equal: by NumPy's arithmetic, so that no operation of Tenon judges itself."""

from collections.abc import Mapping, Sequence, Set
from numbers import Number

import numpy as np
import torch

_TOLERANCES = {  # dtype: rtol, atol; PyTorch's defaults
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
}


def _tensor(value):
    return isinstance(value, (torch.Tensor, np.ndarray))


def _array(value):
    """Its elements as NumPy's; bfloat16, which NumPy lacks, as float32."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        if value.dtype is torch.bfloat16:
            value = value.float()
        return np.array(value.numpy())
    return np.asarray(value)


def _dtype(value):
    if isinstance(value, torch.Tensor):
        return value.dtype
    try:
        return torch.from_numpy(np.zeros(1, value.dtype)).dtype
    except TypeError:
        return None


def _tolerances(a, b, options):
    rtol, atol, least = options["rtol"], options["atol"], options["least"]
    found = [_TOLERANCES.get(_dtype(v) if _tensor(v) else None, (0, 0)) for v in (a, b)]
    if not (_tensor(a) or _tensor(b)) and (isinstance(a, float) or isinstance(b, float)):
        found = [_TOLERANCES[options["number"]]]
    rtol = max(f[0] for f in found) if rtol is None else rtol
    atol = max(f[1] for f in found) if atol is None else atol
    return max(rtol, least[1]), max(atol, least[0])


def _values(x, y, rtol, atol, equal_nan):
    """What differs between two arrays of one shape, or None."""
    if x.dtype == object or y.dtype == object:
        return None if np.array_equal(x, y) else f"{x} is not {y}"
    kinds = x.dtype.kind + y.dtype.kind
    if not (set(kinds) & set("fc")):
        if rtol == 0 and atol == 0:
            wrong = x != y
        else:
            x, y = x.astype(np.float64), y.astype(np.float64)
            wrong = ~(np.abs(x - y) <= atol + rtol * np.abs(y))
    else:
        if "c" not in kinds:
            x, y = x.astype(np.float64), y.astype(np.float64)
        with np.errstate(all="ignore"):
            close = (x == y) | (np.isfinite(y) & (np.abs(x - y) <= atol + rtol * np.abs(y)))
        if equal_nan:
            close |= np.isnan(x) & np.isnan(y)
        wrong = ~close
    if not wrong.any():
        return None
    at = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(wrong)))
    first = np.atleast_1d(x)[at], np.atleast_1d(y)[at]
    return f"{int(wrong.sum())} of {wrong.size} elements differ: {first[0]!r} is not {first[1]!r} at {at} (rtol {rtol}, atol {atol})"


def _tensors(a, b, options):
    a, b = (v if _tensor(v) else np.asarray(v) for v in (a, b))
    if tuple(a.shape) != tuple(b.shape):
        return f"shapes differ: {tuple(a.shape)} is not {tuple(b.shape)}"
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if options["exact_device"] and a.device != b.device:
            return f"devices differ: {a.device} is not {b.device}"
        if options["exact_stride"] and a.stride() != b.stride():
            return f"strides differ: {a.stride()} is not {b.stride()}"
    if options["exact_dtype"] and _dtype(a) != _dtype(b):
        return f"dtypes differ: {_dtype(a)} is not {_dtype(b)}"
    rtol, atol = _tolerances(a, b, options)
    return _values(_array(a), _array(b), rtol, atol, options["equal_nan"])


def _numbers(a, b, options):
    a, b = (v.item() if _tensor(v) else v for v in (a, b))
    rtol, atol = _tolerances(a, b, options)
    if not isinstance(a, (float, complex)) and not isinstance(b, (float, complex)) and rtol == 0 and atol == 0:
        return None if a == b else f"{a!r} is not {b!r}"
    return _values(np.asarray(a), np.asarray(b), rtol, atol, options["equal_nan"])


def _sequences(a, b, options):
    if len(a) != len(b):
        return f"lengths differ: {len(a)} is not {len(b)}"
    for i, (x, y) in enumerate(zip(a, b)):
        said = _compare(x, y, options)
        if said:
            return f"item {i}: {said}"
    return None


def _mappings(a, b, options):
    if set(a) != set(b):
        return f"keys differ: {list(a)} is not {list(b)}"
    for key in a:
        said = _compare(a[key], b[key], options)
        if said:
            return f"item {key!r}: {said}"
    return None


def _is_mapping(value):
    return isinstance(value, (Mapping, torch.nn.ModuleDict, torch.nn.ParameterDict))


def _is_sequence(value):
    modules = (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ParameterList)
    return isinstance(value, (Sequence, *modules)) and not isinstance(value, (str, bytes))


def _compare(a, b, options):
    if a is None or b is None:
        return None if a is b else f"{a!r} is not {b!r}"
    if isinstance(a, (Number, np.generic)) and isinstance(b, (Number, np.generic)):
        return _numbers(a, b, options)
    if _tensor(a) or _tensor(b):
        other = b if _tensor(a) else a
        if isinstance(other, (Number, np.generic)):
            size = (a if _tensor(a) else b).shape
            return _numbers(a, b, options) if int(np.prod(tuple(size))) == 1 else f"a number is not of shape {tuple(size)}"
        if isinstance(other, Sequence) and not isinstance(other, str):
            like = a if _tensor(a) else b
            made = torch.tensor(other, dtype=like.dtype) if isinstance(like, torch.Tensor) else np.asarray(other, like.dtype)
            a, b = (like, made) if _tensor(a) else (made, like)
        return _tensors(a, b, options) if _tensor(a) and _tensor(b) else f"{type(a)} is not {type(b)}"
    if isinstance(a, str) and isinstance(b, str):
        return None if a == b else f"strings differ: {a!r} is not {b!r}"
    if _is_mapping(a) and _is_mapping(b):
        return _mappings(a, b, options)
    if isinstance(a, Set) and isinstance(b, Set):
        return None if a == b else f"sets differ: {a ^ b}"
    if _is_sequence(a) and _is_sequence(b):
        return _sequences(a, b, options)
    return None if a == b else f"{a!r} is not {b!r}"


def mismatch(
    actual,
    expected,
    *,
    rtol=None,
    atol=None,
    equal_nan=True,
    exact_dtype=True,
    exact_device=False,
    exact_stride=False,
    least=(0, 0),
    number=torch.float64,
):
    """A sentence that says what differs, or None. least: the least atol and rtol; number: the dtype whose tolerances numbers have."""
    options = {
        "rtol": rtol,
        "atol": atol,
        "equal_nan": equal_nan,
        "exact_dtype": exact_dtype,
        "exact_device": exact_device,
        "exact_stride": exact_stride,
        "least": least,
        "number": number,
    }
    return _compare(actual, expected, options)
