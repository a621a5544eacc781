"""assert_close: two values, or two structures of values, compared with the tolerances of their dtypes."""

import cmath
import collections.abc
import math
import sys

from tenon import _C

# (rtol, atol) of a dtype by PyTorch's documentation; of all others (0, 0)
_TOLERANCES = {_C.float16: (1e-3, 1e-5), _C.bfloat16: (1.6e-2, 1e-5), _C.float32: (1.3e-6, 1e-5), _C.float64: (1e-7, 1e-7)}


class _Different(Exception):
    """What differs: the text, and where it is in a structure."""

    def __init__(self, text, place=(), kind=AssertionError):
        super().__init__(text)
        self.text, self.place, self.kind = text, place, kind


def _tolerances(how, *dtypes):
    """Those that were said, or the larger ones of the dtypes."""
    if how.rtol is not None:
        return how.rtol, how.atol
    known = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
    return max(r for r, _ in known), max(a for _, a in known)


class _How:
    """What assert_close was asked for."""

    def __init__(self, **options):
        vars(self).update(options)


# ---- tensors ----


def _numbers(values, where):
    """Absolute and relative differences of numbers, with what is equal as nothing."""
    difference = (values[0] - values[1]).abs()
    difference[where] = 0
    return difference, difference / values[1].abs()


def _worst(values):
    """The largest value, as PyTorch's max() finds it, and its index."""
    flat = values.flatten()
    at = int(flat.argmax())
    index = []
    for n in reversed(values.shape):
        at, i = divmod(at, n)
        index.append(i)
    return values[tuple(reversed(index))].item(), tuple(reversed(index))


def _allowed(tolerance, exact):
    return "" if exact else f" (up to {tolerance} allowed)"


def _number_text(actual, expected, absolute, relative, rtol, atol):
    exact = rtol == atol == 0
    return (f"Scalars are not {'equal' if exact else 'close'}!\n\nExpected {expected} but got {actual}.\n"
            f"Absolute difference: {absolute}{_allowed(atol, exact)}\nRelative difference: {relative}{_allowed(rtol, exact)}")


def _tensor_text(actual, expected, close, rtol, atol):
    """What is said of tensors that differ."""
    exact = rtol == atol == 0
    if not actual.is_floating_point():
        actual, expected = actual.to(_C.int64), expected.to(_C.int64)
    absolute, relative = _numbers((actual, expected), close)
    relative[close] = 0
    if not actual.dim():
        return _number_text(actual.item(), expected.item(), absolute.item(), relative.item(), rtol, atol)
    wrong, count = int((~close).sum()), close.numel()
    lines = [f"Tensor-likes are not {'equal' if exact else 'close'}!", "", f"Mismatched elements: {wrong} / {count} ({wrong / count:.1%})"]
    for word, values, tolerance in (("absolute", absolute, atol), ("relative", relative, rtol)):
        value, index = _worst(values)
        lines.append(f"Greatest {word} difference: {value} at index {index}{_allowed(tolerance, exact)}")
    return "\n".join(lines)


def _check_attributes(actual, expected, how, place):
    pairs = [("shape", actual.shape, expected.shape, True), ("layout", actual.layout, expected.layout, how.check_layout),
             ("device", actual.device, expected.device, how.check_device), ("dtype", actual.dtype, expected.dtype, how.check_dtype),
             ("stride()", actual.stride(), expected.stride(), how.check_stride)]  # fmt: skip
    for name, a, b, asked in pairs:
        if asked and a != b:
            raise _Different(f"The values for attribute '{name}' do not match: {a} != {b}.", place)


def _compare_tensors(actual, expected, how, place):
    _check_attributes(actual, expected, how, place)
    if actual.is_meta or expected.is_meta:
        return
    rtol, atol = _tolerances(how, actual.dtype, expected.dtype)
    actual, expected = actual.detach(), expected.detach()
    if actual.device != expected.device:
        actual, expected = actual.cpu(), expected.cpu()
    if actual.dtype != expected.dtype:
        dtype = _C.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(dtype), expected.to(dtype)
    close = _C.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=how.equal_nan)
    if not close.all().item():
        raise _Different(_tensor_text(actual, expected, close, rtol, atol), place)


# ---- numbers ----


def _compare_numbers(actual, expected, how, place):
    if how.check_dtype and type(actual) is not type(expected):
        raise _Different(f"The (d)types do not match: {type(actual)} != {type(expected)}.", place)
    rtol, atol = _tolerances(how, *(_C.float64 if isinstance(n, (float, complex)) else _C.int64 for n in (actual, expected)))
    if actual == expected or (how.equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return
    difference = abs(actual - expected)
    if not (math.isfinite(difference) and difference <= atol + rtol * abs(expected)):
        relative = difference / abs(expected) if expected else math.inf
        raise _Different(_number_text(actual, expected, difference, relative, rtol, atol), place)


# ---- structures ----


def _is_sequence(value):
    return isinstance(value, collections.abc.Sequence) and not isinstance(value, str)


def _compare_sequences(actual, expected, how, place):
    if len(actual) != len(expected):
        raise _Different(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", place)
    for i, (a, b) in enumerate(zip(actual, expected)):
        _compare(a, b, how, (*place, i))


def _in_order(keys):
    try:
        return sorted(keys)
    except Exception:
        return list(keys)


def _compare_mappings(actual, expected, how, place):
    missing, more = expected.keys() - actual.keys(), actual.keys() - expected.keys()
    if missing or more:
        raise _Different(f"The keys of the mappings do not match:\nMissing keys in the actual mapping: {_in_order(missing)}\n"
                         f"Additional keys in the actual mapping: {_in_order(more)}", place)
    for key in _in_order(expected.keys()):
        _compare(actual[key], expected[key], how, (*place, key))


def _is_bool(value):
    numpy = sys.modules.get("numpy")
    return isinstance(value, bool) or (numpy is not None and isinstance(value, numpy.bool_))


def _is_number(value):
    numpy = sys.modules.get("numpy")
    return isinstance(value, (int, float, complex)) or (numpy is not None and isinstance(value, numpy.number))


def _tensor_like(actual, expected, how):
    """Both as tensors; None where they are none, or not of one kind."""
    if type(actual) is not type(expected) and not (
        how.allow_subclasses and (isinstance(actual, type(expected)) or isinstance(expected, type(actual)))
    ):
        return None
    if isinstance(actual, _C.Tensor):
        return actual, expected
    if not hasattr(actual, "__array__") and not hasattr(actual, "__dlpack__"):
        return None
    try:
        return _C.as_tensor(actual), _C.as_tensor(expected)
    except Exception:
        return None


def _compare(actual, expected, how, place):
    if _is_sequence(actual) and _is_sequence(expected):
        return _compare_sequences(actual, expected, how, place)
    if isinstance(actual, collections.abc.Mapping) and isinstance(expected, collections.abc.Mapping):
        return _compare_mappings(actual, expected, how, place)
    if actual is None or expected is None:
        if actual is not expected:
            raise _Different(f"None mismatch: {actual} is not {expected}", place)
        return None
    if _is_bool(actual) and _is_bool(expected):
        if bool(actual) is not bool(expected):
            raise _Different(f"Booleans mismatch: {bool(actual)} is not {bool(expected)}", place)
        return None
    if _is_number(actual) and _is_number(expected):
        return _compare_numbers(actual, expected, how, place)
    tensors = _tensor_like(actual, expected, how)
    if tensors is None:
        raise _Different(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.", place, TypeError)
    return _compare_tensors(*tensors, how, place)


def assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True, check_dtype=True,
                 check_layout=True, check_stride=False, msg=None):  # fmt: skip
    """AssertionError where |actual - expected| <= atol + rtol * |expected| does not hold everywhere, or dtypes, shapes, devices differ.

    Tensors, NumPy's arrays, numbers, None, and sequences and mappings of these. rtol and atol: both, or those of the dtype.
    msg: what the error says, or a function of what it would have said.
    """
    if (rtol is None) is not (atol is None):
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {'rtol' if rtol is None else 'atol'}.")
    how = _How(allow_subclasses=allow_subclasses, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=check_device,
               check_dtype=check_dtype, check_layout=check_layout, check_stride=check_stride)  # fmt: skip
    try:
        _compare(actual, expected, how, ())
    except _Different as different:
        where = "".join(f"[{step!r}]" for step in different.place)
        text = different.text + (f"\n\nThe failure occurred for item {where}" if where else "")
        error = different.kind(text if msg is None or different.kind is TypeError else msg(text) if callable(msg) else msg)
    else:
        return
    raise error
