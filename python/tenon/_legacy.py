"""PyTorch's older constructors, FloatTensor and the like: classes of no instances of their own, for tensors on the CPU and, in
torch.cuda, on the current GPU. And set_default_tensor_type, which takes them."""

import warnings

from . import _C


_warned = set()


def _warn_once(text):
    """A UserWarning at the caller's caller, the first time only unless set_warn_always asks for it."""
    if text not in _warned or _C.is_warn_always_enabled():
        _warned.add(text)
        warnings.warn(text, stacklevel=3)


class tensortype(type):
    """The class of these classes: a tensor is an instance where dtype and device are theirs."""

    def __new__(mcs, name, bases, members):
        if bases:
            raise TypeError(f"type '{bases[0].__module__}.{bases[0].__name__}' is not an acceptable base type")
        return super().__new__(mcs, name, bases, members)

    def __instancecheck__(cls, obj):
        return isinstance(obj, _C.Tensor) and obj.dtype == cls.dtype and obj.device.type == cls.place

    def __call__(cls, *args, device=None):
        if device is not None and _C.device(device).type != cls.place:
            raise RuntimeError(f"legacy constructor expects device type: {cls.place} but device type: {_C.device(device).type} was passed")
        where = cls.place if device is None else device
        if cls.is_cuda:
            _warn_once("The torch.cuda.*DtypeTensor constructors are no longer recommended. It's best to use methods such as "
                       "torch.tensor(data, dtype=*, device='cuda') to create tensors.")
        if not args:
            return _C.empty(0, dtype=cls.dtype, device=where)
        first = args[0]
        if len(args) == 1 and hasattr(first, "untyped"):  # a storage, whose memory is shown
            return cls(first.untyped()._flat.view(cls.dtype))
        if isinstance(first, _C.Tensor) and len(args) == 1:
            if first.dtype != cls.dtype or first.device.type != cls.place:
                raise TypeError(f"expected a tensor on {cls.place} of dtype {cls.dtype} (got {first.dtype} on {first.device})")
            return first.detach()
        if isinstance(first, _C.Size) and len(args) == 1:
            return _C.empty(first, dtype=cls.dtype, device=where)
        if all(isinstance(n, int) and not isinstance(n, bool) for n in args):
            return _C.empty(args, dtype=cls.dtype, device=where)
        if len(args) > 1 or not hasattr(first, "__getitem__") or isinstance(first, dict):
            return _C.Tensor(*args).to(where, cls.dtype)  # refuses what is neither sizes nor a sequence
        return _C.tensor(first, dtype=cls.dtype, device=where)

    def __repr__(cls):
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def older(name, dtype, place="cpu"):
    """The class of that name."""
    doc = f"An uninitialised {dtype} tensor of these sizes, or one with a copy of the data; tensors of that dtype are its instances."
    module = "torch.cuda" if place == "cuda" else "torch"
    members = {"__doc__": doc, "__module__": module, "dtype": dtype, "place": place, "is_cuda": place == "cuda", "is_sparse": False}
    return tensortype(name, (), members)


def all_older(place):
    """The classes of a kind of device, by name: one for each dtype that PyTorch's older constructors know."""
    names = {f"{dtype._legacy}Tensor": dtype for dtype in _C._dtypes if not dtype._bare}
    return {name: older(name, dtype, place) for name, dtype in names.items()}


_classes = all_older("cpu")
globals().update(_classes)
__all__ = [*_classes, "set_default_tensor_type"]


def set_default_tensor_type(t, /):
    """What factories make where nothing is said: the dtype and the device of an older constructor or its name; deprecated."""
    kind = t
    if isinstance(t, str):
        parts = t.split(".")
        kind = _classes.get(parts[-1]) if parts[0] in ("torch", "tenon") else None
        if isinstance(kind, tensortype) and parts[1:2] == ["cuda"]:
            kind = older(kind.__name__, kind.dtype, "cuda")
    if not isinstance(kind, tensortype):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    if not kind.dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _warn_once("torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
               "torch.set_default_device() as alternatives.")
    _C.set_default_dtype(kind.dtype)
    _C.set_default_device(kind.place)
