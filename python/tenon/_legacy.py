"""PyTorch's older constructors, FloatTensor and the like: classes of no instances of their own, for tensors on the CPU."""

from . import _C


class tensortype(type):
    """The class of these classes: a tensor is an instance where dtype and device are theirs."""

    def __new__(mcs, name, bases, members):
        if bases:
            raise TypeError(f"type 'torch.{bases[0].__name__}' is not an acceptable base type")
        return super().__new__(mcs, name, bases, members)

    def __instancecheck__(cls, obj):
        return isinstance(obj, _C.Tensor) and obj.dtype == cls.dtype and obj.device.type == "cpu"

    def __call__(cls, *args, device=None):
        if device is not None and _C.device(device).type != "cpu":
            raise RuntimeError(f"legacy constructor expects device type: cpu but device type: {_C.device(device).type} was passed")
        if not args:
            return _C.empty(0, dtype=cls.dtype)
        first = args[0]
        if isinstance(first, _C.Tensor) and len(args) == 1:
            if first.dtype != cls.dtype or first.device.type != "cpu":
                raise TypeError(f"expected a tensor on cpu of dtype {cls.dtype} (got {first.dtype} on {first.device})")
            return first.detach()
        if isinstance(first, _C.Size) and len(args) == 1:
            return _C.empty(first, dtype=cls.dtype)
        if all(isinstance(n, int) and not isinstance(n, bool) for n in args):
            return _C.empty(args, dtype=cls.dtype)
        if len(args) > 1 or isinstance(first, (int, float)):
            raise TypeError(f"{cls.__name__}() takes sizes, or one sequence of data (got {', '.join(type(a).__name__ for a in args)})")
        return _C.tensor(first, dtype=cls.dtype)


def _class(name, dtype):
    """The class of that name."""
    doc = f"An uninitialised {dtype} tensor of these sizes, or one with a copy of the data; tensors of that dtype are its instances."
    return tensortype(name, (), {"__doc__": doc, "__module__": "torch", "dtype": dtype, "is_cuda": False})


BFloat16Tensor = _class("BFloat16Tensor", _C.bfloat16)
BoolTensor = _class("BoolTensor", _C.bool)
ByteTensor = _class("ByteTensor", _C.uint8)
CharTensor = _class("CharTensor", _C.int8)
DoubleTensor = _class("DoubleTensor", _C.float64)
FloatTensor = _class("FloatTensor", _C.float32)
HalfTensor = _class("HalfTensor", _C.float16)
IntTensor = _class("IntTensor", _C.int32)
LongTensor = _class("LongTensor", _C.int64)
ShortTensor = _class("ShortTensor", _C.int16)
