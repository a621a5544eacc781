"""Sets of dtypes. While a file is collected they have dtypes that Tenon lacks too (a test of such a dtype is counted as not
applicable); a loop inside a test goes over those that are there."""

import torch
from torch_tests import absent

_HALVES = (torch.float16, torch.bfloat16)
_FLOATS = (torch.float32, torch.float64)
_COMPLEX = (torch.complex64, torch.complex128)
_INTEGRAL = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)
_QINT = (torch.quint8, torch.qint8, torch.qint32, torch.quint4x2, torch.quint2x4)


class _Set(tuple):
    def __add__(self, other):
        return _Set(tuple(self) + tuple(other))

    def __sub__(self, other):
        return _Set(d for d in self if d not in other)


def _of(*dtypes):
    return _Set(d for d in dtypes if absent.collecting or not isinstance(d, absent.AbsentDtype))


def custom_types(*dtypes):
    return _of(*dtypes)


def _family(*members):
    def group():
        return _of(*members)

    def group_and(*dtypes):
        return _of(*members, *dtypes)

    return group, group_and


empty_types, _ = _family()
floating_types, floating_types_and = _family(*_FLOATS)
floating_and_complex_types, floating_and_complex_types_and = _family(*_FLOATS, *_COMPLEX)
double_types, _ = _family(torch.float64, torch.complex128)
integral_types, integral_types_and = _family(*_INTEGRAL)
all_types, all_types_and = _family(*_FLOATS, *_INTEGRAL)
complex_types, complex_types_and = _family(*_COMPLEX)
all_types_and_complex, all_types_and_complex_and = _family(*_FLOATS, *_INTEGRAL, *_COMPLEX)
all_types_and_half, _ = _family(*_FLOATS, *_INTEGRAL, torch.float16)
floating_types_and_half, _ = _family(*_FLOATS, torch.float16)
float8_types, float8_types_and = _family(*_FLOAT8)
_, all_types_complex_float8_and = _family(*_FLOATS, *_INTEGRAL, *_COMPLEX, *_FLOAT8)


def get_all_dtypes(
    include_half=True, include_bfloat16=True, include_bool=True, include_complex=True, include_complex32=False, include_qint=False
):
    dtypes = [*_INTEGRAL, *_FLOATS]
    dtypes += [torch.bool] if include_bool else []
    dtypes += [torch.float16] if include_half else []
    dtypes += [torch.bfloat16] if include_bfloat16 else []
    dtypes += list(_COMPLEX) if include_complex else []
    dtypes += [torch.complex32] if include_complex32 else []
    dtypes += list(_QINT) if include_qint else []
    return list(_of(*dtypes))


def get_all_math_dtypes(device):
    half = [torch.float16] if str(device).startswith("cuda") else []
    return list(_of(*_INTEGRAL, *_FLOATS, *half, *_COMPLEX))


def get_all_complex_dtypes(include_complex32=False):
    return list(_of(*_COMPLEX, *([torch.complex32] if include_complex32 else [])))


def get_all_int_dtypes():
    return list(_INTEGRAL)


def get_all_fp_dtypes(include_half=True, include_bfloat16=True):
    return [*_FLOATS, *([torch.float16] if include_half else []), *([torch.bfloat16] if include_bfloat16 else [])]


def get_all_qint_dtypes():
    return list(_of(*_QINT))


float_to_corresponding_complex_type_map = {
    torch.float16: torch.complex32,
    torch.float32: torch.complex64,
    torch.float64: torch.complex128,
}
