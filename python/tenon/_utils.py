"""What several parts of Tenon share: rebuilding tensors from pickles, and exceptions that cross threads and processes.

The names `_rebuild_*` are those that PyTorch's files name.
"""

import sys
import traceback
from collections import OrderedDict

from . import _C


# ---- exceptions from another thread or process ----


class _KeyErrorMessage(str):
    """A KeyError shows repr(its argument): this shows the lines of the text as they are."""

    def __repr__(self):
        return self


class ExceptionWrapper:
    """The exception being handled (or `exc_info`), with its traceback as text, for raising elsewhere.

    where: completes "Caught ValueError ...", such as "in DataLoader worker process 0".
    """

    def __init__(self, exc_info=None, where="in background"):
        kind, value, trace = exc_info or sys.exc_info()
        self.exc_type = kind
        self.exc_msg = "".join(traceback.format_exception(kind, value, trace))
        self.where = where

    def _text(self):
        return f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"

    def as_runtime_error(self):
        """The same for a process that cannot unpickle the exception's class."""
        other = ExceptionWrapper((RuntimeError, RuntimeError(), None), self.where)
        other.exc_msg = self.exc_msg
        return other

    def reraise(self):
        """Raises an exception of the same class with the whole story; RuntimeError where the class does not let."""
        text = self._text()
        if self.exc_type is KeyError:
            text = _KeyErrorMessage(text)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=text)
        try:
            exception = self.exc_type(text)
        except Exception:
            raise RuntimeError(text) from None
        raise exception


# ---- tensors from storages and back ----

# PyTorch's names of storage classes; Tenon has the dtypes only. Bare dtypes lie in untyped storages, of bytes.
STORAGE_NAMES = {f"{dtype._legacy}Storage": str(dtype).rpartition(".")[2] for dtype in _C._dtypes if not dtype._bare}


def _element_size(dtype):
    """Bytes of an element."""
    return dtype.itemsize


def dtype_name(dtype):
    """ "float32" of tenon.float32."""
    return str(dtype).rpartition(".")[2]


class LoadedStorage:
    """All elements of one storage of a file, as a 1-D tensor. What `map_location` functions get and give back."""

    def __init__(self, flat):
        self.flat = flat

    @property
    def dtype(self):
        return self.flat.dtype

    @property
    def device(self):
        return self.flat.device

    def nbytes(self):
        return self.flat.numel() * self.flat.element_size()

    def size(self):
        return self.flat.numel()

    __len__ = size

    def to(self, device, non_blocking=False):
        return LoadedStorage(self.flat.to(device, non_blocking=non_blocking))

    def cpu(self):
        return LoadedStorage(self.flat.cpu())

    def cuda(self, device=None, non_blocking=False):
        return LoadedStorage(self.flat.cuda() if device is None else self.flat.cuda(device))

    def __repr__(self):
        return f"LoadedStorage(dtype={self.dtype}, device={self.device}, size={self.size()})"


def _reach(size, stride):
    """How many elements of memory lie from the first element of a tensor to its last one, both included."""
    if any(n == 0 for n in size):
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(size, stride))


def flat_storage(tensor):
    """(identity, flat): flat is a 1-D tensor over all of the memory that `tensor` shows a part of; tensors that share
    memory have the same identity. Memory of no bytes is shared by nobody."""
    address, nbytes = _C._storage(tensor)
    count = nbytes // tensor.element_size()
    identity = (str(tensor.device), address) if address and count else (id(tensor),)
    return identity, tensor.detach().as_strided((count,), (1,), 0)


def _check_numbers(name, numbers):
    if not isinstance(numbers, (tuple, list)) or any(type(n) is not int or n < 0 for n in numbers):
        raise RuntimeError(f"a tensor's {name} must be non-negative ints, but the file has {str(numbers)[:80]}")


def _rebuild_tensor(storage, storage_offset, size, stride):
    """The tensor of that shape over a storage; checked against the storage's size."""
    if not isinstance(storage, LoadedStorage):
        raise RuntimeError(f"expected a storage, but the file has {type(storage).__name__}")
    _check_numbers("size", size)
    _check_numbers("stride", stride)
    _check_numbers("storage offset", (storage_offset,))
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {len(stride)} and {len(size)}")
    item, have = storage.flat.element_size(), storage.size()
    need = storage_offset + _reach(size, stride)
    if need > have or max((*size, *stride, storage_offset), default=0) >= 2**62:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {storage_offset}, and itemsize "
            f"{item} requiring a storage size of {need * item} are out of bounds for storage of size {have * item}"
        )
    return storage.flat.as_strided(tuple(size), tuple(stride), storage_offset)


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    """What PyTorch's files call to make a tensor."""
    tensor = _rebuild_tensor(storage, storage_offset, size, stride)
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None):
    """The same over an untyped storage, of a dtype that has no storage class."""
    if not isinstance(storage, LoadedStorage) or not isinstance(dtype, _C.dtype):
        raise RuntimeError(f"expected an untyped storage and a dtype, but the file has {storage} and {dtype}"[:200])
    if storage.flat.dtype != _C.uint8 or storage.size() % dtype.itemsize:
        raise RuntimeError(f"a storage of {storage.size()} elements of {storage.dtype} is none of {dtype}")
    flat = storage.flat
    if flat.data_ptr() % dtype.itemsize:
        flat = flat.clone()
    tensor = _rebuild_tensor(LoadedStorage(flat.view(dtype)), storage_offset, size, stride)
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    """A tensor of the meta device."""
    _check_numbers("size", size)
    _check_numbers("stride", stride)
    flat = _C.empty((_reach(size, stride),), dtype=dtype, device="meta")
    tensor = flat.as_strided(tuple(size), tuple(stride), 0)
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_parameter(data, requires_grad, backward_hooks):
    """A Parameter over a tensor."""
    from .nn.parameter import Parameter

    return Parameter(data, requires_grad=bool(requires_grad))


def _set_state(tensor, state):
    """Attributes that a user had set: a dict, or (dict, None)."""
    if isinstance(state, tuple) and len(state) == 2 and state[1] is None:
        state = state[0]
    if not isinstance(state, dict):
        raise RuntimeError(f"a tensor's attributes must be a dict, but the file has {type(state).__name__}")
    vars(tensor).update(state)
    return tensor


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    """A Parameter with attributes of its own."""
    return _set_state(_rebuild_parameter(data, requires_grad, backward_hooks), state)


def _rebuild_from_type_v2(func, new_type, args, state):
    """A tensor of a subclass, or with attributes of its own."""
    made = func(*args)
    if type(made) is not new_type:
        made = made.as_subclass(new_type)
    return _set_state(made, state) if state else made


# ---- pickle and copy ----


def _rebuild_from_bytes(data, dtype, size, stride, requires_grad, device):
    """The tensor that `_reduce_tensor` took apart."""
    kind = getattr(_C, dtype)
    data = bytearray(data)
    flat = _C.frombuffer(data, dtype=kind) if data else _C.empty((0,), dtype=kind)
    tensor = flat.as_strided(tuple(size), tuple(stride), 0)
    if device != "cpu":
        tensor = tensor.to(device)
    return tensor.requires_grad_() if requires_grad else tensor


def dense(tensor):
    """(t, strides): t has the tensor's elements in memory order, contiguous; the strides show them as `tensor`."""
    if tensor.is_contiguous():
        return tensor, tensor.stride()
    turned = tensor.permute(sorted(range(tensor.dim()), key=tensor.stride, reverse=True))
    if turned.is_contiguous():
        return turned, tensor.stride()
    tensor = tensor.contiguous()
    return tensor, tensor.stride()


def _reduce_tensor(tensor, protocol):
    """Tensor.__reduce_ex__: a tensor's elements, shape, strides, device and requires_grad, and its own attributes.

    Memory shared between tensors is not shared in the copies (`tenon.save` keeps that). With protocol 5 the bytes go
    out of band where the pickler wants them so.
    """
    import pickle

    if tensor.device.type == "meta":
        args = (tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()), tensor.requires_grad)
        return _with_state(tensor, _rebuild_meta_tensor_no_storage, args)
    flat, stride = dense(tensor.detach().cpu())
    data = _C._bytes(flat)
    data = pickle.PickleBuffer(data) if protocol >= 5 else bytes(data)
    device, needs_grad = str(tensor.device), tensor.requires_grad
    args = (data, dtype_name(tensor.dtype), tuple(tensor.shape), tuple(stride), needs_grad, device)
    return _with_state(tensor, _rebuild_from_bytes, args)


def _with_state(tensor, function, args):
    state = getattr(tensor, "__dict__", None)
    if type(tensor) is _C.Tensor and not state:
        return function, args
    return _rebuild_from_type_v2, (function, type(tensor), args, state or {})


def _reduce_parameter(parameter, protocol):
    """Parameter.__reduce_ex__."""
    args = (parameter.data, parameter.requires_grad, OrderedDict())
    if vars(parameter):
        return _rebuild_parameter_with_state, (*args, dict(vars(parameter)))
    return _rebuild_parameter, args


def _copy_memory(tensor, memo):
    """A tensor of the same shape and strides over a copy of the memory; one copy for all that share it within a memo."""
    identity, flat = flat_storage(tensor)
    key = ("tenon storage", *identity)
    if key not in memo:
        if tensor.is_contiguous() and flat.numel() == tensor.numel():
            memo[key] = tensor.detach().clone()
            return memo[key]
        memo[key] = flat.clone()
    return memo[key].as_strided(tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset())


def _deepcopy_tensor(tensor, memo):
    """Tensor.__deepcopy__: for leaves. Copies what shares memory into what shares memory, .grad and own attributes."""
    import copy

    if id(tensor) in memo:
        return memo[id(tensor)]
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
            "see https://github.com/pytorch/pytorch/pull/103001"
        )
    made = _copy_memory(tensor, memo)
    if type(made) is not type(tensor):
        made = _C.Tensor._make_subclass(type(tensor), made, tensor.requires_grad)
    elif tensor.requires_grad:
        made.requires_grad_()
    memo[id(tensor)] = made
    if tensor.grad is not None:
        made.grad = copy.deepcopy(tensor.grad, memo)
    for name, value in getattr(tensor, "__dict__", {}).items():
        made.__dict__[name] = copy.deepcopy(value, memo)
    return made
