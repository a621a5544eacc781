"""DLPack: capsules both ways, who owns what, streams of fake GPUs; NumPy is the other library."""

import gc
import sys
import weakref

import numpy as np
import pytest
from on_gpus import on_gpus

import tenon as torch
from tenon.utils import dlpack


@pytest.mark.parametrize("name", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"])
def test_numpy_both_ways(name):
    t = torch.arange(6).reshape(2, 3).to(getattr(torch, name))
    a = np.from_dlpack(t)
    assert a.dtype == name and a.ctypes.data == t.data_ptr() and a.tolist() == t.tolist()
    a = np.arange(6).reshape(2, 3).astype(name)
    b = torch.from_dlpack(a)
    assert b.dtype is t.dtype and b.data_ptr() == a.ctypes.data and b.tolist() == a.tolist()
    b[0, 0] = 1
    assert a[0, 0] == 1


def test_one_memory_in_two_imports():
    a = np.arange(8, dtype="float32")
    x, y, z = torch.from_numpy(a), torch.from_dlpack(a), torch.from_numpy(a[5:])
    assert x._shares_memory(y) and z._shares_memory(x) and y._shares_memory(x[2:])
    assert not torch.from_numpy(a[:5])._shares_memory(z) and not x._shares_memory(torch.from_numpy(a.copy()))
    # what PyTorch (2.15) calls the same tensor is a matter of storages: it does not see that these are one memory either
    assert not x.is_set_to(torch.from_numpy(a)) and x.is_set_to(x.view(8))
    assert torch.add(x[1:4], 1, out=y[:3]).tolist() == [2, 3, 4]


def test_views_and_empty_ones():
    t = torch.arange(24.0).reshape(2, 3, 4)
    for view in (t.transpose(0, 2), t[:, 1:, ::2], t[1], t[:, :0], torch.tensor(3.5), t[1, 2, 3]):
        a = np.from_dlpack(view)
        assert a.shape == view.shape and a.tolist() == view.tolist()
        assert torch.from_dlpack(view).stride() == view.stride() or 0 in view.shape or 1 in view.shape
    assert torch.from_dlpack(np.arange(24.0).reshape(4, 6).T[1:, ::2]).tolist() == np.arange(24.0).reshape(4, 6).T[1:, ::2].tolist()


def test_a_capsule_is_used_once():
    t = torch.arange(3.0)
    for capsule in (t.__dlpack__(), t.__dlpack__(max_version=(1, 0)), dlpack.to_dlpack(t)):
        assert torch.from_dlpack(capsule).data_ptr() == t.data_ptr()
        with pytest.raises(RuntimeError, match="can be consumed only once"):
            torch.from_dlpack(capsule)
    assert '"dltensor"' in repr(t.__dlpack__()) and '"dltensor_versioned"' in repr(t.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in repr(t.__dlpack__(max_version=(0, 8)))
    with pytest.raises(RuntimeError, match="invalid capsule"):
        torch.from_dlpack(3)


def test_lifetimes():
    gc.collect()
    before = torch._C._live_tensors()
    t = torch.arange(1000.0)
    for capsule in (t.__dlpack__(), t.__dlpack__(max_version=(1, 0))):
        del capsule  # nobody took it
    a, b = np.from_dlpack(t), torch.from_dlpack(t)
    del t
    gc.collect()
    assert a.sum() == b.sum().item() == 499500
    a[0] = 500
    assert b[0].item() == 500
    del a, b
    assert torch._C._live_tensors() == before
    array = np.arange(5)
    gone = weakref.ref(array)
    x = torch.from_dlpack(array)[2:]
    del array
    gc.collect()
    assert x.tolist() == [2, 3, 4] and gone() is not None
    del x
    gc.collect()
    assert gone() is None


def test_reference_counts():
    t, a = torch.arange(3.0), np.arange(3.0)
    counts = sys.getrefcount(t), sys.getrefcount(a)
    for _ in range(200):
        np.from_dlpack(t), torch.from_dlpack(a), torch.from_dlpack(t), t.__dlpack__()
        with pytest.raises(BufferError):
            t.__dlpack__(dl_device=(9, 0))
    assert (sys.getrefcount(t), sys.getrefcount(a)) == counts


def test_copies():
    t = torch.arange(3.0)
    assert torch.from_dlpack(t, copy=True).data_ptr() != t.data_ptr()
    assert torch.from_dlpack(t, copy=False).data_ptr() == t.data_ptr()
    assert torch.from_dlpack(t, device="cpu").data_ptr() == t.data_ptr()
    assert torch.from_dlpack(t.__dlpack__(copy=True)).tolist() == [0, 1, 2]
    assert t.__dlpack_device__() == (1, 0)


def test_read_only_memory():
    a = np.arange(3.0)
    a.flags.writeable = False
    t = torch.from_dlpack(a)
    with pytest.raises(RuntimeError):
        t.add_(1)
    assert a.tolist() == [0, 1, 2]
    with pytest.raises(BufferError):  # a consumer from before version 1.0 would write to it
        t.__dlpack__()


def test_refused():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(BufferError, match="Can't export tensors that require gradient, use tensor.detach()"):
        x.__dlpack__()
    with pytest.raises(TypeError, match="stream must be ``int`` or ``none``"):
        torch.ones(2).__dlpack__(stream="a")
    with pytest.raises(AssertionError, match="stream should be None on cpu."):
        torch.ones(2).__dlpack__(stream=1)
    assert torch.ones(2).__dlpack__(stream=-1) is not None
    meta = torch.ones(2, device="meta")
    with pytest.raises(BufferError, match="Cannot pack tensors on meta"):
        meta.__dlpack__()
    with pytest.raises(ValueError, match="Unknown device type meta for Dlpack"):
        meta.__dlpack_device__()
    with pytest.raises(BufferError):
        torch.from_dlpack(torch.ones(2), device="meta")
    for array in (np.zeros(2, "c8"), np.zeros(2, "c16")):
        with pytest.raises(RuntimeError, match="no dtype of Tenon's"):
            torch.from_dlpack(array)
    with pytest.raises((RuntimeError, ValueError), match="negative"):
        torch.from_dlpack(np.arange(4)[::-1])
    with pytest.raises(ValueError, match="already a DLPack capsule"):
        torch.from_dlpack(torch.ones(2).__dlpack__(), copy=True)


def test_an_older_library():
    class Older:
        def __init__(self, t):
            self.t = t

        def __dlpack__(self, stream=None):
            return self.t.__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    t = torch.arange(3.0)
    assert torch.from_dlpack(Older(t)).data_ptr() == t.data_ptr()


@on_gpus(2)
def test_gpus():
    t = torch.arange(6.0, device="cuda:1").reshape(2, 3)
    assert t.__dlpack_device__() == (2, 1)
    b = torch.from_dlpack(t)
    assert b.device == t.device and b.data_ptr() == t.data_ptr() and b.tolist() == t.tolist()
    side = cuda.Stream(device=1)
    with cuda.device(1), cuda.stream(side):
        x = torch.ones(1000, device="cuda") * 3
        y = torch.from_dlpack(x) + 1
    side.synchronize()
    assert y.sum().item() == 4000
    for stream in (1, 2, -1, None, side.cuda_stream):
        assert t.__dlpack__(stream=stream) is not None
    with pytest.raises(BufferError):
        t.__dlpack__(stream=0)
    host = torch.from_dlpack(t, device="cpu")
    assert host.device.type == "cpu" and host.tolist() == t.tolist()
    assert torch.from_dlpack(host, device="cuda:0").device == torch.device("cuda:0")
    with pytest.raises(ValueError, match="cannot move DLPack tensor to another device without a copy"):
        t.__dlpack__(dl_device=(1, 0), copy=False)
    del t, b, x, y, host


@on_gpus(1)
def test_cuda_array_interface():
    t = torch.arange(6, dtype=torch.int16, device="cuda").reshape(2, 3)
    i = t.__cuda_array_interface__
    assert i == {"typestr": "<i2", "shape": (2, 3), "strides": None, "data": (t.data_ptr(), False), "version": 2}
    assert t.t().__cuda_array_interface__["strides"] == (2, 6)
    assert torch.empty(0, device="cuda").__cuda_array_interface__["data"] == (0, False)
    assert torch.ones(1, device="cuda").bool().__cuda_array_interface__["typestr"] == "|b1"
    assert not hasattr(torch.ones(1), "__cuda_array_interface__")
    with pytest.raises(RuntimeError, match="Can't get __cuda_array_interface__ on Variable that requires grad"):
        torch.ones(1, device="cuda", requires_grad=True).__cuda_array_interface__


@on_gpus(1)
def test_view_dtype_on_a_gpu():
    t = torch.arange(6.0, device="cuda").reshape(2, 3)
    v = t.view(torch.int16)
    assert v.shape == (2, 6) and v.cpu().tolist() == t.cpu().view(torch.int16).tolist()
    v[0, 0] = 0
    assert v.view(torch.float32).tolist() == t.tolist() and v.data_ptr() == t.data_ptr()
    with pytest.raises(RuntimeError, match=re.escape("self.size(-1) must be divisible by 2 to view Float as Double")):
        t.view(torch.float64)
