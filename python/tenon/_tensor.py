"""Methods of Tensor that are written in Python: backward and hooks, copies and pickles, NumPy's protocols, conversions."""

from . import _C

Tensor = _C.Tensor


class RemovableHandle:
    """What adding a hook gives: remove() takes it back; as a context manager, at the end."""

    def __init__(self, hook):
        self._hook = hook

    def remove(self):
        self._hook.remove()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


# ---- autograd ----


def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Adds d(self)/d(leaf) to the .grad of every leaf that self depends on.

    gradient: of self (1 where not given and self has one element); retain_graph: the graph can be walked again;
    create_graph: gradients can be differentiated; inputs: only these leaves get their gradient.
    """
    if gradient is not None or inputs is not None:
        from . import autograd

        return autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)
    _C._backward(self, None, create_graph if retain_graph is None else retain_graph, create_graph, None)


def register_hook(self, hook):
    """Calls hook(gradient) whenever the gradient of self is computed; what it returns, if not None, replaces it."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return RemovableHandle(_C._add_hook(self, hook, False))


def register_post_accumulate_grad_hook(self, hook):
    """Calls hook(self) after a backward pass has added to self.grad; self is a leaf."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return RemovableHandle(_C._add_hook(self, hook, True))


def detach_(self):
    """self, without its history."""
    _C._detach_(self)
    return self


# ---- copies, pickles ----


def __deepcopy__(self, memo):
    from . import _utils

    return _utils._deepcopy_tensor(self, memo)


def __copy__(self):
    return Tensor._make_subclass(type(self), self, self.requires_grad) if type(self) is not Tensor else self.view_as(self)


def __reduce_ex__(self, protocol):
    from . import _utils

    return _utils._reduce_tensor(self, protocol)


# ---- as Python's and NumPy's ----


def __format__(self, spec):
    if self.dim() == 0 and not self.is_meta and type(self) is Tensor:
        return self.item().__format__(spec)
    return object.__format__(self, spec)


def __iter__(self):
    if self.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def __reversed__(self):
    return self if self.dim() == 0 else self.flip(0)


def __contains__(self, element):
    if isinstance(element, (Tensor, int, float, bool)):
        return bool((element == self).any().item())
    raise RuntimeError(
        f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
    )


def __array__(self, dtype=None, copy=None):
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        return array.astype(dtype, copy=True)
    return array.copy() if copy else array


def __array_wrap__(self, array, context=None, return_scalar=False):
    if array.dtype == bool:
        array = array.astype("uint8")
        return _C.from_numpy(array).bool() if array.ndim else _C.tensor(bool(array))
    return _C.from_numpy(array) if array.ndim else _C.tensor(array)


def __dir__(self):
    return sorted(set(dir(type(self))) | set(self.__dict__))


def _dlpack_stream(self, stream):
    if stream is None:
        return 1 if self.is_cuda else -1  # nothing said: the legacy default stream
    if not isinstance(stream, int) or isinstance(stream, bool):
        raise TypeError("stream must be ``int`` or ``none``")
    if stream != -1 and not self.is_cuda:
        raise AssertionError("stream should be None on cpu.")
    if stream == 0 and self.is_cuda:
        raise BufferError("per-thread default stream is not supported: 0 is ambiguous, 1 or 2 are asked for")
    return stream


def _cuda_of_ordinal(ordinal):
    """The device that other libraries call by that number: of several (TENON_VISIBLE_DEVICES) the current one, or the first."""
    count = _C._cuda.device_count()
    found = [i for i in range(count) if _C._cuda.ordinal(i) == ordinal]
    if not found and ordinal < count:
        raise BufferError(f"device {ordinal} of CUDA is none of TENON_VISIBLE_DEVICES")
    current = _C._cuda.current_device()
    return _C.device("cuda", current if current in found else found[0] if found else ordinal)


def _dlpack_source(self, dl_device, copy):
    """What is exported: self, or a copy where one is asked for or another device makes one necessary."""
    if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
        kind, index = dl_device
        if copy is False:
            raise ValueError("cannot move DLPack tensor to another device without a copy")
        if kind not in (1, 2):
            raise BufferError(f"unsupported device type of DLPack: {kind}")
        return self.to(_C.device("cpu") if kind == 1 else _cuda_of_ordinal(index), copy=True)
    return self.clone() if copy else self


def __dlpack__(self, stream=None, *, max_version=None, dl_device=None, copy=None):
    """A DLPack capsule of its memory, for other libraries.

    stream: of the consumer, which the memory is ready for; max_version: the newest DLPack that the consumer knows;
    dl_device: where it wants it; copy: True always, False never, None where needed.
    """
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    source = _dlpack_source(self, dl_device, copy)
    versioned = max_version is not None and max_version[0] >= 1
    return _C._to_dlpack(source, _dlpack_stream(source, stream), versioned, source is not self)


def __dlpack_device__(self):
    """(device type, index) as DLPack counts them."""
    kind = self.device.type
    if kind not in ("cpu", "cuda"):
        raise ValueError(f"Unknown device type {kind} for Dlpack")
    if kind == "cpu":
        return (3, 0) if self.is_pinned() else (1, 0)
    return (2, _C._cuda.ordinal(self.device.index))


def _cuda_array_interface(self):
    """A GPU tensor's memory, for Numba and CuPy (version 2 of the interface)."""
    if not self.is_cuda:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is required use "
            "tensor.cuda() to copy tensor to device memory."
        )
    if self.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients aren't required, use "
            "var.detach() to get Variable that doesn't require grad."
        )
    size = self.element_size()
    return {
        "typestr": ("|" if size == 1 else "<") + self.dtype._npy,
        "shape": tuple(self.shape),
        "strides": None if self.is_contiguous() else tuple(s * size for s in self.stride()),
        "data": (self.data_ptr() if self.numel() else 0, False),
        "version": 2,
    }


# ---- new tensors like this one ----


def _options(self, dtype, device, requires_grad, pin_memory):
    return {
        "dtype": self.dtype if dtype is None else dtype,
        "device": self.device if device is None else device,
        "requires_grad": requires_grad,
        "pin_memory": pin_memory,
    }


def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """A tensor with a copy of the data, of this one's dtype and device where nothing else is said."""
    return _C.tensor(data, **_options(self, dtype, device, requires_grad, pin_memory))


def new(self, *args, size=None, device=None):
    """Tensor(...), of this one's dtype and device."""
    if device is not None and args and isinstance(args[0], Tensor):
        raise RuntimeError("Legacy tensor new of the form tensor.new(tensor, device=device) is not supported.  Use torch.as_tensor(...) instead.")
    if device is not None and _C.device(device).type != self.device.type:
        raise RuntimeError(f"legacy constructor expects device type: {self.device.type} but device type: {_C.device(device).type} was passed")
    return Tensor(*(args if size is None else size)).to(self.device, self.dtype)


# ---- conversions ----

_BY_LEGACY = {f"{dtype._legacy}Tensor": dtype for dtype in _C._dtypes}


def type_(self, dtype=None, non_blocking=False, *, memory_format=None, **ignored):
    """Its type's name in PyTorch's older way ("torch.FloatTensor"), or itself converted to a dtype."""
    if dtype is None:
        where = "cuda." if self.is_cuda else ""
        return f"torch.{where}{self.dtype._legacy}Tensor"
    if isinstance(dtype, str):
        parts = dtype.split(".")
        if parts[0] not in ("torch", "tenon") or parts[-1] not in _BY_LEGACY:
            raise ValueError(f"invalid type: '{dtype}'")
        device = "cuda" if "cuda" in parts else "cpu"
        return self.to(device, _BY_LEGACY[parts[-1]], non_blocking=non_blocking, memory_format=memory_format)
    if not isinstance(dtype, _C.dtype) and isinstance(getattr(dtype, "dtype", None), _C.dtype):  # torch.FloatTensor
        return self.to(dtype.place, dtype.dtype, non_blocking=non_blocking, memory_format=memory_format)
    if dtype is Tensor:
        return self.to("cpu", _C.get_default_dtype(), non_blocking=non_blocking, memory_format=memory_format)
    if not isinstance(dtype, _C.dtype):
        raise ValueError(f"invalid type: '{getattr(dtype, '__name__', dtype)}'")
    return self.to(dtype, non_blocking=non_blocking, memory_format=memory_format)


def norm(self, p="fro", dim=None, keepdim=False, dtype=None):
    """The p-norm of its elements over dimensions, or all of them."""
    from . import functional

    return functional.norm(self, p, dim, keepdim, dtype=dtype)


def untyped_storage(self):
    """The memory behind it, as bytes."""
    from .storage import UntypedStorage

    return UntypedStorage(self)


def storage(self):
    """The memory behind it, as numbers of its dtype; deprecated: untyped_storage() shows the bytes."""
    from . import storage

    storage._warn()
    return storage._of(self)


def storage_type(self):
    """The class of its storage() in PyTorch's older way: torch.FloatStorage."""
    from . import storage

    return getattr(storage, f"{self.dtype._legacy}Storage")


def const_data_ptr(self):
    """Where its first element is, for who only reads."""
    return self.data_ptr()


def is_nonzero(self):
    """Is its one element not zero?"""
    return _C.is_nonzero(self)


def as_subclass(self, cls):
    """The same memory and the same history as an instance of a class derived from Tensor."""
    return _C._as_subclass(self, cls)


def is_shared(self):
    """Is its memory shared with other processes? What a GPU has is, by its driver."""
    import sys

    sharing = sys.modules.get("tenon.multiprocessing.reductions")
    return self.is_cuda or (sharing is not None and self.device.type == "cpu" and sharing.memory_of(self) is not None)


def share_memory_(self):
    """Moves it into memory that processes share, on the CPU: a process that gets it sees what others write. Tensors that showed
    the same memory before keep the old one."""
    from .multiprocessing import reductions

    reductions.share(self)
    return self


def apply_(self, function):
    """Replaces each element by function(element), on the CPU, one after the other."""
    if self.device.type != "cpu":
        raise TypeError("apply_ is only implemented on CPU tensors")
    if self.requires_grad:
        raise RuntimeError("Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead.")
    values = [function(v) for v in self.reshape(-1).tolist()]
    for value in values:
        if isinstance(value, str):
            raise TypeError("'str' object cannot be interpreted as an integer" if not self.is_floating_point() else "must be real number, not str")
    return self.copy_(_C.tensor(values, dtype=self.dtype).reshape(self.shape))


def _is_view(self):
    """Does it show another tensor's elements?"""
    return self._base is not None


def _install():
    """Puts the functions of this module into the class."""
    for name, value in list(globals().items()):
        if callable(value) and getattr(value, "__module__", None) == __name__ and not isinstance(value, type):
            if name not in ("_install", "_options", "_cuda_array_interface", "_dlpack_stream", "_dlpack_source", "_cuda_of_ordinal", "type_"):
                setattr(Tensor, name, value)
    Tensor.type = type_
    Tensor.__cuda_array_interface__ = property(_cuda_array_interface)


_install()
