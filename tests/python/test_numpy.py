"""NumPy and tensors: shared memory both ways, conversions, operators between them, what is refused and how."""

import gc
import operator
import sys
import weakref

import numpy as np
import pytest

import tenon as torch

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


# ---- shared memory ----


@pytest.mark.parametrize("name", DTYPES)
def test_both_show_one_memory(name):
    a = np.arange(6).reshape(2, 3).astype(name)
    t = torch.from_numpy(a)
    assert t.dtype is getattr(torch, name) and t.shape == (2, 3) and t.data_ptr() == a.ctypes.data
    a[1, 2] = 0
    assert t[1, 2].item() == 0
    t[0, 0] = 1
    assert a[0, 0] == 1
    back = t.numpy()
    assert back.dtype == a.dtype and back.ctypes.data == a.ctypes.data and back.flags.writeable


def test_what_shares_and_what_copies():
    a = np.arange(4, dtype=np.float32)
    for share in (torch.from_numpy, torch.as_tensor, torch.asarray, torch.Tensor):
        assert share(a).data_ptr() == a.ctypes.data, share
    for copy in (torch.tensor, lambda x: torch.as_tensor(x, dtype=torch.float64), lambda x: torch.asarray(x, copy=True)):
        assert copy(a).data_ptr() != a.ctypes.data


def test_in_place_operations_are_seen():
    t = torch.zeros(3)
    a = t.numpy()
    t.add_(1)
    np.add(a, 1, out=a)
    assert a.tolist() == t.tolist() == [2, 2, 2]


def test_memory_outlives_either_side():
    a = np.arange(1000.0)
    gone = weakref.ref(a)
    t = torch.from_numpy(a)[500:]
    del a
    gc.collect()
    assert gone() is not None and t.sum().item() == sum(range(500, 1000))
    del t
    gc.collect()
    assert gone() is None
    t = torch.arange(1000.0)
    a = t[500:].numpy()
    del t
    gc.collect()
    assert a.sum() == sum(range(500, 1000))


def test_reference_counts_of_arrays():
    a = np.zeros(3)
    before = sys.getrefcount(a)
    for _ in range(100):
        torch.from_numpy(a).numpy()
        torch.tensor(a)
        torch.zeros(3) + a
        with pytest.raises(ValueError):
            torch.from_numpy(a[::-1])
    assert sys.getrefcount(a) == before


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_views_keep_their_strides():
    a = np.arange(24.0).reshape(2, 3, 4)
    for view in (a.T, a[:, ::2], a[1], a[..., 1], np.broadcast_to(a[0], (5, 3, 4)), a[:0], a[:, 1:2]):
        t = torch.from_numpy(view)
        assert t.shape == view.shape and np.array_equal(t.numpy(), view)
        if view.size and 1 not in view.shape:
            assert t.stride() == tuple(s // 8 for s in view.strides)
    t = torch.arange(24.0).reshape(2, 3, 4).transpose(0, 2)[:, 1:]
    assert t.numpy().strides == tuple(4 * s for s in t.stride()) and t.numpy().tolist() == t.tolist()


def test_zero_dimensions_and_no_elements():
    t = torch.from_numpy(np.array(3.5))
    assert t.shape == () and t.item() == 3.5
    assert torch.tensor(2).numpy().shape == () and torch.tensor(2).numpy() == 2
    for shape in ((0,), (0, 3), (2, 0, 4)):
        t = torch.from_numpy(np.zeros(shape, np.float32))
        assert t.shape == shape and t.numpy().shape == shape and torch.zeros(shape).numpy().shape == shape


def test_read_only_arrays_warn_once_and_stay_read_only():
    done = __import__("subprocess").run(
        [sys.executable, "-c", READ_ONLY], capture_output=True, text=True, env=dict(__import__("os").environ, PYTHONPATH=":".join(sys.path))
    )
    assert done.returncode == 0, done.stderr


READ_ONLY = """
import warnings, numpy as np, tenon as torch
a = np.arange(3.0)
a.flags.writeable = False
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    t = torch.from_numpy(a)
    torch.from_numpy(a)
assert len(seen) == 1 and str(seen[0].message).startswith("The given NumPy array is not writable, and PyTorch does not"), seen
try:
    t.add_(1)
except RuntimeError:
    pass
else:
    raise SystemExit("written")
assert a.tolist() == [0, 1, 2] and t.tolist() == [0, 1, 2]
assert not t.numpy().flags.writeable and memoryview(t).readonly
try:
    np.frombuffer(t).setflags(write=True)
except ValueError:
    pass
else:
    raise SystemExit("made writable")
"""


# ---- what is refused ----


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda: torch.from_numpy([1]), TypeError, "expected np.ndarray (got list)"),
        (lambda: torch.from_numpy(np.zeros((2, 3))[::-1]), ValueError, "At least one stride in the given numpy array is negative, and "
         "tensors with negative strides are not currently supported. (You can probably work around this by making a copy of your array "
         " with array.copy().) "),
        (lambda: torch.tensor(np.zeros(3)[::-1]), ValueError, "At least one stride in the given numpy array is negative"),
        (lambda: torch.from_numpy(np.arange(2, dtype=">i4")), ValueError, "given numpy array has byte order different from the native "
         "byte order. Conversion between byte orders is currently not supported."),
        (lambda: torch.from_numpy(np.zeros(4, "i1,i4")["f1"]), ValueError, "given numpy array strides not a multiple of the element byte "
         "size. Copy the numpy array to reallocate the memory."),
        (lambda: torch.from_numpy(np.array(["a"])), TypeError, "can't convert np.ndarray of type numpy.str_."),
        (lambda: torch.from_numpy(np.array([None])), TypeError, "can't convert np.ndarray of type numpy.object_."),
        (lambda: torch.from_numpy(np.zeros(2, "c8")), TypeError, "can't convert np.ndarray of type numpy.complex64."),
        (lambda: torch.from_numpy(np.zeros((1,) * 9)), ValueError, "the array has 9 dimensions, tensors have at most 8"),
        (lambda: torch.zeros(2, dtype=torch.bfloat16).numpy(), TypeError, "Got unsupported ScalarType BFloat16"),
        (lambda: torch.zeros(2, device="meta").numpy(), TypeError, "can't convert meta device type tensor to numpy. Use Tensor.cpu() to "
         "copy the tensor to host memory first."),
        (lambda: torch.zeros(2, requires_grad=True).numpy(), RuntimeError, "Can't call numpy() on Tensor that requires grad. Use "
         "tensor.detach().numpy() instead."),
        (lambda: np.asarray(torch.zeros(2, requires_grad=True)), RuntimeError, "Can't call numpy() on Tensor that requires grad."),
        (lambda: np.asarray(torch.zeros(2, dtype=torch.bfloat16)), TypeError, "Got unsupported ScalarType BFloat16"),
        (lambda: np.sqrt(torch.zeros(2, requires_grad=True)), RuntimeError, "Can't call numpy() on Tensor that requires grad."),
    ],
)  # fmt: skip
def test_refused(make, error, text):
    with pytest.raises(error) as e:
        make()
    assert str(e.value).startswith(text)


def test_forced():
    x = torch.ones(2, requires_grad=True)
    assert (x * 2).numpy(force=True).tolist() == [2, 2]
    assert x.detach().numpy().ctypes.data == x.data_ptr()


# ---- np.asarray and friends ----


def test_a_tensor_that_requires_grad_where_nothing_is_recorded():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        assert x.numpy().tolist() == np.asarray(x).tolist() == memoryview(x).tolist() == [1.0, 1.0]


def test_array_protocol():
    t = torch.arange(6.0).reshape(2, 3)
    assert np.asarray(t).ctypes.data == t.data_ptr() and np.asarray(t).dtype == np.float32
    assert np.array(t, copy=True).ctypes.data != t.data_ptr()
    assert np.array(t, dtype=np.float64).dtype == np.float64
    assert t.__array__(np.int8).tolist() == [[0, 1, 2], [3, 4, 5]] and t.__array__(np.int8).dtype == np.int8
    assert t.__array__(copy=True).ctypes.data != t.data_ptr()
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(ValueError):
            np.asarray(t, dtype=np.int32, copy=False)
    assert np.stack([t, t]).shape == (2, 2, 3) and np.concatenate([t, t]).shape == (4, 3)
    np.testing.assert_allclose(t, t.numpy())


def test_functions_of_numpy_give_tensors():
    t = torch.tensor([1.0, 4.0, 9.0])
    for r, want in ((np.sqrt(t), [1, 2, 3]), (np.add(t, 1), [2, 5, 10]), (np.add(np.ones(3), t), [2, 5, 10]), (np.negative(t), [-1, -4, -9])):
        assert isinstance(r, torch.Tensor) and r.tolist() == want
    assert np.exp(torch.tensor(0.0)).item() == 1.0 and isinstance(np.exp(torch.tensor(0.0)), torch.Tensor)
    assert np.add(np.ones(3), t).dtype is torch.float64


def test_operators_with_arrays():
    t = torch.arange(3.0)
    a = np.ones(3)
    r = t + a
    assert isinstance(r, torch.Tensor) and r.dtype is torch.float64 and r.tolist() == [1, 2, 3]
    assert (t == a).tolist() == [False, True, False]
    for f in (operator.add, operator.mul, operator.sub, operator.truediv):
        with pytest.raises(TypeError):
            f(a, t)
    t += a.astype(np.float32)
    assert t.tolist() == [1, 2, 3]


@pytest.mark.parametrize("scalar", [np.float64(2), np.float32(2), np.int64(2), np.int8(2), np.float16(2)])
def test_operators_with_scalars(scalar):
    t = torch.tensor([1.0, 2.0, 4.0])
    for f in (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.lt, operator.eq):
        for r, want in ((f(t, scalar), f(t.numpy(), np.float32(2))), (f(scalar, t), f(np.float32(2), t.numpy()))):
            assert isinstance(r, torch.Tensor) and r.tolist() == want.tolist() and r.dtype in (torch.float32, torch.bool)
    i = torch.tensor([1, 2], dtype=torch.int32)
    assert (i * scalar).dtype is (torch.float32 if isinstance(scalar, np.floating) else torch.int32)


def test_numbers_of_numpy_become_tensors():
    assert torch.tensor(np.float32(1)).dtype is torch.float32
    assert torch.tensor(np.int16(1)).dtype is torch.int16
    assert torch.tensor([np.float64(1)]).dtype is torch.float64
    assert torch.tensor([np.float32(1), np.float32(2)]).dtype is torch.float32
    assert torch.tensor(np.bool_(True)).dtype is torch.bool
    assert torch.full((2,), np.float64(3)).tolist() == [3, 3] and torch.zeros(np.int64(2), np.int32(3)).shape == (2, 3)
    assert torch.tensor([np.arange(2), np.arange(2)]).tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e30, -1e19])
def test_floats_that_are_no_integers(value):
    for dtype in (torch.int64, torch.int32, torch.uint8):
        with pytest.raises(RuntimeError, match=f"value cannot be converted to type {str(dtype)[6:]} without overflow"):
            torch.tensor([value], dtype=dtype)


# ---- buffers ----


def test_buffer():
    t = torch.arange(6, dtype=torch.int16).reshape(2, 3)
    m = memoryview(t)
    assert m.shape == (2, 3) and m.format == "h" and m.itemsize == 2 and m.tolist() == t.tolist() and not m.readonly
    m[1, 2] = 99
    assert t[1, 2].item() == 99
    assert bytes(t) == t.numpy().tobytes()
    assert np.frombuffer(torch.ones(4), np.float32).tolist() == [1, 1, 1, 1]
    strided = memoryview(t.t())
    assert strided.strides == (2, 6) and strided.tolist() == t.t().tolist()
    with pytest.raises(BufferError):
        np.frombuffer(t.t(), np.int16)
    kept = memoryview(torch.full((3,), 7))
    gc.collect()
    assert kept.tolist() == [7, 7, 7]


def test_buffers_that_are_refused():
    for t in (torch.ones(2, requires_grad=True), torch.ones(2, dtype=torch.bfloat16), torch.ones(2, device="meta")):
        with pytest.raises(BufferError):
            memoryview(t)


def test_frombuffer():
    data = bytearray(b"\1\0\0\0\2\0\0\0\3\0\0\0")
    t = torch.frombuffer(data, dtype=torch.int32)
    assert t.tolist() == [1, 2, 3]
    t[0] = 9
    assert data[0] == 9
    assert torch.frombuffer(data, dtype=torch.int32, count=1, offset=4).tolist() == [2]
    with pytest.raises(BufferError):
        data.append(0)  # its memory is lent
    del t
    data.append(0)
    for kwds, text in (({"offset": 2}, "must be a multiple of element size"), ({"count": 9}, "must not be greater than actual buffer"),
                       ({"offset": -1}, "must be non-negative"), ({"offset": 99}, "must be non-negative")):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            torch.frombuffer(data, dtype=torch.int32, **kwds)


# ---- the same bytes in another dtype ----


def test_view_dtype_agrees_with_numpy():
    rng = np.random.default_rng(1)
    a = np.frombuffer(rng.bytes(192), np.float64).reshape(2, 3, 4).copy()
    t = torch.from_numpy(a)
    for name in DTYPES[1:]:
        v = t.view(getattr(torch, name))
        assert v.numpy().tobytes() == a.tobytes() and v.shape == a.view(name).shape and v.data_ptr() == t.data_ptr()
        assert v.view(torch.float64).shape == t.shape
    v = t.view(torch.uint8)
    v[0, 0, :8] = 0
    assert a[0, 0, 0] == 0
    assert torch.arange(16, dtype=torch.int8)[4:12].view(torch.int32).storage_offset() == 1
    assert torch.empty(3, 0).view(torch.int16).shape == (3, 0)
    assert t[:, 1:].view(torch.int16).stride() == (48, 16, 1)


def test_view_dtype_has_no_history():
    x = torch.ones(2, 3, requires_grad=True)
    assert not x.view(torch.int32).requires_grad and not (x * 2).view(torch.float16).requires_grad
    same = x.view(torch.float32)
    assert same is not x and not same.requires_grad and same.data_ptr() == x.data_ptr()
    assert torch.tensor(1.0).view(torch.int32).item() == 0x3F800000


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: torch.zeros(2, 3).view(torch.float64), "self.size(-1) must be divisible by 2 to view Float as Double (different element "
         "sizes), but got 3"),
        (lambda: torch.zeros(2, 3)[:, :2].view(torch.float64), "self.stride(0) must be divisible by 2 to view Float as Double (different "
         "element sizes), but got 3"),
        (lambda: torch.zeros(2, 3).t().view(torch.int16), "self.stride(-1) must be 1 to view Float as Short (different element sizes), but "
         "got 3"),
        (lambda: torch.tensor(1.0).view(torch.int16), "self.dim() cannot be 0 to view Float as Short (different element sizes)"),
        (lambda: torch.zeros(8, dtype=torch.int8)[1:5].view(torch.int16), "self.storage_offset() must be divisible by 2 to view Char as "
         "Short (different element sizes), but got 1"),
    ],
)  # fmt: skip
def test_view_dtype_refused(make, text):
    with pytest.raises(RuntimeError) as e:
        make()
    assert str(e.value).startswith(text)


def test_subclasses():
    class Mine(torch.Tensor):
        pass

    x = torch.ones(3, requires_grad=True)
    m = (x * 2).as_subclass(Mine)
    assert type(m) is Mine and m.tolist() == [2, 2, 2]
    m.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match="Creating a Tensor subclass from a class that does not inherit from Tensor is not possible"):
        x.as_subclass(int)
    with pytest.raises(TypeError, match=r"cls must be a type \(got int\)"):
        x.as_subclass(3)


class OfDlpack:
    """Another library's tensor: nothing but DLPack's methods."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, stream=None, **kwargs):
        return self.tensor.__dlpack__(stream, **kwargs)


def test_asarray_of_capsules_shares():
    x = torch.arange(3.0)
    assert torch.asarray(x.__dlpack__()).data_ptr() == x.data_ptr()
    assert torch.asarray(x.__dlpack__(), copy=False).data_ptr() == x.data_ptr()
    assert torch.asarray(x.__dlpack__(), copy=True).data_ptr() != x.data_ptr()
    assert torch.asarray(x.__dlpack__(), dtype=torch.int32).dtype is torch.int32
    made = torch.tensor(OfDlpack(x))
    assert made.tolist() == [0, 1, 2] and made.data_ptr() != x.data_ptr()


@pytest.mark.parametrize("make, error, text", [
    (lambda: torch.asarray(torch.ones(2), dtype=torch.int32, copy=False), ValueError,
     "can't alias tensor with dtype 'Float' into dtype 'Int'."),
    (lambda: torch.asarray(np.ones(2), dtype=torch.float32, copy=False), ValueError,
     "can't alias tensor with dtype 'Double' into dtype 'Float'."),
    (lambda: torch.asarray(np.float64(1), copy=False), RuntimeError,
     "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. "),
    (lambda: torch.asarray([1, 2], copy=False), ValueError, "can't alias arbitrary sequence into a tensor."),
    (lambda: torch.frombuffer([1, 2], dtype=torch.int32), ValueError, "object does not implement Python buffer protocol."),
    (lambda: torch.frombuffer(np.ones(4)[::2], dtype=torch.int32), RuntimeError,
     "could not retrieve a contiguous buffer from the given object (non-contiguous buffers are not supported)"),
    (lambda: torch.frombuffer(b"", dtype=torch.int32), ValueError, "both buffer length (0) and count (-1) must not be 0"),
    (lambda: torch.frombuffer(bytearray(8), dtype=torch.int32, count=0), ValueError,
     "both buffer length (8) and count (0) must not be 0"),
    (lambda: torch.frombuffer(bytearray(8), dtype=torch.int32, offset=8), ValueError,
     "offset (8 bytes) must be non-negative and no greater than buffer length (8 bytes) minus 1"),
    (lambda: torch.frombuffer(bytearray(8), dtype=torch.int32, offset=2), ValueError,
     "buffer length (6 bytes) after offset (2 bytes) must be a multiple of element size (4)")])
def test_asarray_and_frombuffer_refuse(make, error, text):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == text
