"""Settings of the process, limits of dtypes, questions about dtypes. Expected values and texts are PyTorch 2.14's."""

import re
import warnings

import pytest

import tenon as torch
from tenon._printing import get_printoptions


def error(kind, text):
    return pytest.raises(kind, match="^" + re.escape(text))


@pytest.fixture(autouse=True)
def as_before():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_printoptions(profile="default")
    torch.set_float32_matmul_precision("highest")
    torch.use_deterministic_algorithms(False)


def test_threads():
    torch.set_num_threads(2)
    assert torch.get_num_threads() == 2
    torch.set_num_threads(1)
    assert torch.get_num_threads() == 1
    torch.set_num_interop_threads(1)
    assert torch.get_num_interop_threads() == 1
    for set_threads in (torch.set_num_threads, torch.set_num_interop_threads):
        name = set_threads.__name__
        for n in (0, -1, 2**40):
            with error(RuntimeError, f"{name} expects a positive integer"):
                set_threads(n)
        with error(RuntimeError, f"{name} expects an int, but got str"):
            set_threads("a")
        with error(RuntimeError, f"{name} expects an int, but got float"):
            set_threads(2.0)


def test_default_dtype():
    assert torch.get_default_dtype() is torch.float32
    torch.set_default_dtype(torch.float64)
    assert torch.get_default_dtype() is torch.float64
    assert torch.tensor([1.5]).dtype == torch.zeros(1).dtype == torch.rand(1).dtype == torch.float64
    with error(TypeError, "only floating-point types are supported as the default type"):
        torch.set_default_dtype(torch.int64)
    for wrong in ("float32", 3, float):
        with error(TypeError, "invalid dtype object: only floating-point types are supported as the default type"):
            torch.set_default_dtype(wrong)
    assert torch.get_default_dtype() is torch.float64


def test_default_device():
    assert torch.get_default_device() == torch.device("cpu")
    torch.set_default_device("meta")
    assert torch.get_default_device() == torch.device("meta") and torch.rand(2).device.type == "meta"
    torch.set_default_device(None)
    assert torch.rand(2).device == torch.device("cpu")
    with error(RuntimeError, "Expected one of cpu, cuda"):
        torch.set_default_device("gpu")
    with pytest.raises(TypeError):
        torch.set_default_device(1.5)


def test_matmul_precision():
    assert torch.get_float32_matmul_precision() == "highest"
    for precision in ("high", "medium", "highest"):
        torch.set_float32_matmul_precision(precision)
        assert torch.get_float32_matmul_precision() == precision
    with pytest.warns(UserWarning, match="^x is not one of 'highest', 'high', or 'medium'"):
        torch.set_float32_matmul_precision("x")
    assert torch.get_float32_matmul_precision() == "highest"
    with error(RuntimeError, "set_float32_matmul_precision expects a str, but got int"):
        torch.set_float32_matmul_precision(3)


def test_deterministic_algorithms():
    assert torch.are_deterministic_algorithms_enabled() is False
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.are_deterministic_algorithms_enabled() and torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(mode=False)
    assert not torch.are_deterministic_algorithms_enabled() and not torch.is_deterministic_algorithms_warn_only_enabled()
    with error(TypeError, "_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not int"):
        torch.use_deterministic_algorithms(3)


@pytest.mark.parametrize("make", [
    lambda t: torch.empty(2, 3, dtype=t), lambda t: torch.empty(2, 3, out=torch.zeros(1, dtype=t)), lambda t: torch.empty((), dtype=t),
    lambda t: torch.empty_like(torch.zeros(3, dtype=t)), lambda t: torch.zeros(3, dtype=t).new_empty(2),
    lambda t: torch.empty_strided((2, 3), (1, 5), dtype=t), lambda t: torch.empty_permuted((2, 3), (1, 0), dtype=t)])
def test_deterministic_algorithms_fill_what_nobody_wrote(make):
    torch.use_deterministic_algorithms(True)
    most = {torch.bool: True, torch.uint8: 255, torch.int8: 127, torch.int64: 2**63 - 1}
    for dtype, value in most.items():
        assert make(dtype).unique().tolist() == [value]
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        assert make(dtype).isnan().all()
    assert torch.empty(2)._version == torch.empty_like(torch.ones(2))._version == 0 and torch.empty(0).tolist() == [] and torch.empty(2, device="meta").shape == (2,)


def test_unwritten_memory_is_left_as_it_is_where_asked():
    at = torch.utils.deterministic
    assert at.fill_uninitialized_memory is True
    torch.use_deterministic_algorithms(True)
    x = torch.full((1000,), 5.0)
    place = x.data_ptr()
    try:
        at.fill_uninitialized_memory = False
        del x
        y = torch.empty(1000)  # the memory that was freed last
        assert at.fill_uninitialized_memory is False and (y.data_ptr() != place or not y.isnan().any())
        with error(RuntimeError, "expected a bool, but got int"):
            at.fill_uninitialized_memory = 3
    finally:
        at.fill_uninitialized_memory = True
    assert torch.empty(1000).isnan().all()


def test_warnings_that_come_once():
    def deprecated():
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            torch.add(torch.ones(2), 10, torch.ones(2))
        return len(said)

    deprecated()
    assert deprecated() == 0 and torch.is_warn_always_enabled() is False
    torch.set_warn_always(True)
    try:
        assert deprecated() == deprecated() == 1 and torch.is_warn_always_enabled() is True
    finally:
        torch.set_warn_always(False)
    assert deprecated() == 0
    with error(RuntimeError, "setWarnOnlyOnce expects a bool, but got int"):
        torch.set_warn_always(1)


def test_printoptions():
    x = torch.tensor([1.23456, 20.5])
    assert repr(x) == "tensor([ 1.2346, 20.5000])"
    torch.set_printoptions(precision=2)
    assert repr(x) == "tensor([ 1.23, 20.50])"
    torch.set_printoptions(sci_mode=True)
    assert repr(x) == "tensor([1.23e+00, 2.05e+01])"
    torch.set_printoptions(profile="short")
    assert repr(torch.arange(2000)) == "tensor([   0,    1,  ..., 1998, 1999])"
    torch.set_printoptions(profile="full")
    assert "..." not in repr(torch.arange(2000)) and get_printoptions()["precision"] == 4
    torch.set_printoptions(profile="default", threshold=5, edgeitems=1)
    assert repr(torch.arange(6)) == "tensor([0,  ..., 5])"
    torch.set_printoptions(profile="default", linewidth=20)
    assert repr(torch.arange(6)) == "tensor([0, 1, 2, 3,\n        4, 5])"
    torch.set_printoptions(profile="default", precision=0)
    assert repr(torch.tensor([1.5, 2.5, 40.25])) == "tensor([ 2,  2, 40])"
    torch.set_printoptions(profile="default", threshold=0, linewidth=20)
    assert repr(torch.arange(9)) == "tensor([0, 1, 2,  ...,\n        6, 7, 8])"
    with pytest.raises(TypeError):
        torch.set_printoptions(precision="a")
    assert get_printoptions()["linewidth"] == 20


def test_finfo():
    assert repr(torch.finfo(torch.float32)) == repr(torch.finfo()) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, smallest_normal=1.17549e-38, "
        "tiny=1.17549e-38, dtype=float32)"
    )
    assert repr(torch.finfo(torch.bfloat16)) == (
        "finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, smallest_normal=1.17549e-38, "
        "tiny=1.17549e-38, dtype=bfloat16)"
    )
    assert repr(torch.finfo(torch.float16)) == (
        "finfo(resolution=0.001, min=-65504, max=65504, eps=0.000976562, smallest_normal=6.10352e-05, "
        "tiny=6.10352e-05, dtype=float16)"
    )
    d = torch.finfo(torch.float64)
    assert (d.max, d.tiny, d.eps) == (1.7976931348623157e308, 2.2250738585072014e-308, 2.220446049250313e-16)
    assert d.bits == 64 and d.min == -d.max and d == torch.finfo(torch.float64) != torch.finfo()
    with error(TypeError, "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"):
        torch.finfo(torch.int64)
    with error(TypeError, "finfo(): argument 'type' (position 1) must be torch.dtype, not int"):
        torch.finfo(3)


def test_iinfo():
    assert repr(torch.iinfo(torch.int64)) == "iinfo(min=-9.22337e+18, max=9.22337e+18, dtype=int64)"
    assert repr(torch.iinfo(torch.uint8)) == "iinfo(min=0, max=255, dtype=uint8)"
    i = torch.iinfo(torch.int64)
    assert (i.min, i.max, i.bits, i.dtype) == (-(2**63), 2**63 - 1, 64, "int64")
    with error(TypeError, "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'"):
        torch.iinfo(torch.float32)
    with error(TypeError, "torch.bool is not supported by torch.iinfo"):
        torch.iinfo(torch.bool)
    with error(TypeError, 'iinfo() missing 1 required positional arguments: "type"'):
        torch.iinfo()


def test_promotion():
    assert torch.promote_types(torch.int8, torch.uint8) is torch.int16
    assert torch.promote_types(torch.float16, torch.bfloat16) is torch.float32
    assert torch.can_cast(torch.int32, torch.float32) is True and torch.can_cast(torch.float32, torch.int32) is False
    whole, small = torch.zeros(2, dtype=torch.int64), torch.zeros(2, dtype=torch.int8)
    for a, b, expected in (
        (whole, 1.5, torch.float32),
        (1.5, whole, torch.float32),
        (small, torch.tensor(3), torch.int8),
        (small, torch.tensor(3.0), torch.float32),
        (torch.zeros(2, dtype=torch.float16), 2.5, torch.float16),
        (1, 2.5, torch.float32),
        (1, 2, torch.int64),
        (True, False, torch.bool),
        (torch.zeros(2, dtype=torch.bool), 1, torch.int64),
        (torch.zeros(2), torch.zeros(3), torch.float32),
    ):
        assert torch.result_type(a, b) is expected
    with error(TypeError, "promote_types(): argument 'type1' (position 1) must be torch.dtype, not int"):
        torch.promote_types(1, 2)
    with error(TypeError, "can_cast(): argument 'from_' (position 1) must be torch.dtype, not int"):
        torch.can_cast(1, 2)
    with pytest.raises(TypeError):
        torch.result_type("a", 2)


def test_questions():
    x = torch.zeros(2, 3)
    assert torch.is_tensor(x) and not torch.is_tensor(3) and torch.numel(x) == 6
    assert torch.is_floating_point(x) and not torch.is_floating_point(x.int()) and torch.is_complex(x) is False
    assert torch.is_nonzero(torch.tensor([[2.0]])) is True and torch.is_nonzero(torch.tensor(0)) is False
    assert torch.is_nonzero(torch.tensor(float("nan"))) is True
    with error(RuntimeError, "Boolean value of Tensor with no values is ambiguous"):
        torch.is_nonzero(torch.tensor([]))
    with error(RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"):
        torch.is_nonzero(torch.tensor([1, 2]))
    for ask in (torch.numel, torch.is_floating_point, torch.is_complex, torch.is_nonzero):
        with error(TypeError, f"{ask.__name__}(): argument 'input' (position 1) must be Tensor, not int"):
            ask(3)


def test_version():
    assert torch.version.__version__ == torch.__version__ and torch.version.hip is None
    with pytest.raises(AttributeError):
        torch.version.nothing
