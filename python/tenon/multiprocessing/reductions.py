"""Tensors in memory that processes share, and how they cross."""

import mmap
import os
import weakref
from multiprocessing import reduction

from tenon import _C, _missing
from tenon._memory_file import anonymous

__all__ = ["init_reductions", "reduce_tensor"]


class _Memory(mmap.mmap):
    """A file without a name, mapped. It lives as long as a tensor that shows it."""

    __slots__ = ("fd",)

    def __new__(cls, fd, size):
        self = super().__new__(cls, fd, size)
        self.fd = fd
        weakref.finalize(self, os.close, fd)
        return self


# what this process has mapped: the memory by its address, and by its file, so that what crosses twice is mapped once
_by_address = weakref.WeakValueDictionary()
_by_file = weakref.WeakValueDictionary()


def _file_of(fd):
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def _bytes_of(memory):
    """A tensor of all the bytes, which keeps the memory."""
    flat = _C.frombuffer(memory, dtype=_C.uint8)
    _by_address[_C._storage(flat)[0]] = memory
    return flat


def memory_of(tensor):
    """The shared memory that a tensor shows a part of; None where it is a process's own."""
    return _by_address.get(_C._storage(tensor)[0])


def share(tensor):
    """Moves a tensor's memory: from here on it shows shared memory. Other tensors keep what they show."""
    if tensor.device.type != "cpu" or memory_of(tensor) is not None:
        return  # what a GPU has is shared by its driver; meta has nothing
    address, size = _C._storage(tensor)
    if not size:
        return
    memory = _Memory(anonymous(size, "tenon"), size)
    count = size // tensor.element_size()
    moved = _bytes_of(memory)[: count * tensor.element_size()].view(tensor.dtype)
    moved.copy_(tensor.detach().as_strided((count,), (1,), 0))
    tensor.data = moved.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())


def _rebuild(kind, descriptor, size, dtype, shape, stride, offset, requires_grad):
    """The tensor on the other side."""
    fd = descriptor.detach()
    key = _file_of(fd)
    memory = _by_file.get(key)
    if memory is None:
        memory = _by_file[key] = _Memory(fd, size)
    else:
        os.close(fd)
    item = dtype.itemsize
    flat = _bytes_of(memory)[: size // item * item].view(dtype)
    return _as(kind, flat.as_strided(shape, stride, offset), requires_grad)


def _as(kind, tensor, requires_grad):
    if kind is not _C.Tensor:
        return kind(tensor, requires_grad=requires_grad)
    return tensor.requires_grad_() if requires_grad else tensor


def reduce_tensor(tensor):
    """How a tensor crosses to another process, for multiprocessing's pickler."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing process boundaries.  "
            "If you just want to transfer the data, call detach() on the tensor before serializing (e.g., putting it on the queue)."
        )
    if tensor.device.type != "cpu" or not tensor.numel() or vars(tensor):
        return tensor.__reduce_ex__(5 if tensor.device.type == "meta" else 2)
    share(tensor)
    memory = memory_of(tensor)
    _by_file.setdefault(_file_of(memory.fd), memory)
    return _rebuild, (type(tensor), reduction.DupFd(memory.fd), len(memory), tensor.dtype, tuple(tensor.size()), tuple(tensor.stride()),
                      tensor.storage_offset(), tensor.requires_grad)  # fmt: skip


def init_reductions():
    """From now on multiprocessing's pickler hands tensors and parameters over so."""
    from tenon.nn.parameter import Parameter

    reduction.ForkingPickler.register(_C.Tensor, reduce_tensor)
    reduction.ForkingPickler.register(Parameter, reduce_tensor)


__getattr__ = _missing.getattr_of(__name__)
