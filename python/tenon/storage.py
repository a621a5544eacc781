"""The memory behind tensors, as flat sequences: of bytes (UntypedStorage), and of numbers, as PyTorch had it before (TypedStorage)."""

from . import _C, _legacy, _missing

_LEGACY = {dtype: f"{dtype._legacy}Storage" for dtype in _C._dtypes if not dtype._bare}
_DTYPES = {name: dtype for dtype, name in _LEGACY.items()}



def _bytes_behind(tensor):
    """All the memory that a tensor shows a part of, as a tensor of bytes."""
    count = _C._storage(tensor)[1] // tensor.element_size()
    flat = tensor.detach().as_strided((count,), (1,), 0)
    return flat if flat.dtype == _C.uint8 else flat.view(_C.uint8)


def _checked(index, count, kind):
    if not isinstance(index, int):
        raise RuntimeError(f"can't index a {kind} with {type(index)}")
    if not -count <= index < count:
        raise IndexError(f"index {index} out of range for storage of size {count}")
    return index


def _shown(storage, kind):
    """Its numbers, one a line, and what it is."""
    numbers = "" if storage.device.type == "meta" else "\n ".join(["", *map(str, storage.tolist())])[1:] + "\n"
    return f"{numbers or '...' + chr(10)}[torch.storage.{kind} of size {len(storage)}]"


class UntypedStorage:
    """The memory behind a tensor, as bytes; UntypedStorage(n): new memory; UntypedStorage([1, 2]): with these."""

    def __init__(self, *args, device=None):
        if len(args) == 1 and isinstance(args[0], _C.Tensor):
            self._flat = _bytes_behind(args[0])
        elif not args or (len(args) == 1 and isinstance(args[0], int)):
            self._flat = _C.empty(args[0] if args else 0, dtype=_C.uint8, device=device or "cpu")
        elif len(args) == 1 and hasattr(args[0], "__len__"):
            for item in args[0]:
                if not isinstance(item, int):
                    raise RuntimeError(f"torch.UntypedStorage(): tried to construct a storage from a sequence ({type(args[0]).__name__}), but one "
                                       f"of the items was of type {type(item).__name__} instead of int")
            self._flat = _C.tensor(list(args[0]), dtype=_C.uint8, device=device or "cpu")
        else:
            raise TypeError("torch.UntypedStorage() asks for a size or for a sequence of bytes")

    def data_ptr(self) -> int:
        """Where it begins."""
        return _C._storage(self._flat)[0] or 0

    def nbytes(self) -> int:
        """How many bytes it has."""
        return self._flat.numel()

    def size(self) -> int:
        """How many bytes it has."""
        return self._flat.numel()

    __len__ = nbytes

    def element_size(self) -> int:
        """1: its elements are bytes."""
        return 1

    @property
    def device(self):
        """Where it is."""
        return self._flat.device

    @property
    def is_cuda(self) -> bool:
        """Is it on a GPU?"""
        return self._flat.is_cuda

    def get_device(self) -> int:
        """The index of its GPU; -1 on the CPU."""
        return self._flat.get_device()

    def tolist(self) -> list:
        """Its bytes as numbers."""
        return self._flat.tolist()

    def fill_(self, value) -> "UntypedStorage":
        """Makes all its bytes that one."""
        self._flat.fill_(value)
        return self

    def copy_(self, source, non_blocking=None) -> "UntypedStorage":
        """Takes over the bytes of another storage of the same size."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes")
        self._flat.copy_(source.untyped()._flat, non_blocking=bool(non_blocking))
        return self

    def untyped(self) -> "UntypedStorage":
        """Itself."""
        return self

    def clone(self) -> "UntypedStorage":
        """A copy in memory of its own."""
        return UntypedStorage(self._flat.clone())

    def to(self, *, device, non_blocking=False) -> "UntypedStorage":
        """Itself where it is there already, or a copy on that device."""
        device = _C.device(device)
        return self if device == self.device else UntypedStorage(self._flat.to(device, non_blocking=non_blocking))

    def cpu(self) -> "UntypedStorage":
        """Itself, or a copy on the CPU."""
        return self.to(device="cpu")

    def cuda(self, device=None, non_blocking=False) -> "UntypedStorage":
        """A copy on a GPU, the current one where none is said."""
        return UntypedStorage(self._flat.cuda(device, non_blocking=non_blocking))

    def pin_memory(self, device="cuda") -> "UntypedStorage":
        """A copy in memory that GPUs read without help."""
        return UntypedStorage(self._flat.pin_memory())

    def is_pinned(self, device="cuda") -> bool:
        """Is it in such memory?"""
        return self._flat.is_pinned()

    def is_shared(self) -> bool:
        """Is it shared with other processes? (torch.multiprocessing)"""
        return self._flat.is_shared()

    def __getitem__(self, index):
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise RuntimeError(f"Trying to slice with a step of {index.step}, but only a step of 1 is supported")
            start, stop, _ = index.indices(len(self))
            made = UntypedStorage()
            made._flat = self._flat[start:max(start, stop)]
            return made
        return self._flat[_checked(index, len(self), type(self))].item()

    def __setitem__(self, index, value):
        self._flat[index if isinstance(index, slice) else _checked(index, len(self), type(self))] = value

    def __iter__(self):
        return iter(self.tolist())

    def __eq__(self, other):
        if not isinstance(other, UntypedStorage):
            return NotImplemented
        return self._flat.data_ptr() == other._flat.data_ptr() and len(self) == len(other) and self.device == other.device

    def __hash__(self):
        return hash((self._flat.data_ptr(), len(self)))

    def __repr__(self):
        return _shown(self, f"UntypedStorage(device={self.device})")

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        return memo.setdefault(id(self), self.clone())


def _warn():
    _legacy._warn_once("TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. This "
                       "should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
                       "tensor.untyped_storage() instead of tensor.storage()")


class TypedStorage:
    """The memory behind a tensor as numbers of a dtype: TypedStorage(n) or TypedStorage([1.0, 2.0]), with dtype and device."""

    dtype = None

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None):
        self.dtype = dtype or _C.get_default_dtype()
        if wrap_storage is not None:
            if args or device is not None:
                raise RuntimeError("No positional arguments and no device should be given when using 'wrap_storage'")
            if dtype is None:
                raise RuntimeError("Argument 'dtype' must be specified when using 'wrap_storage'")
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}")
            self._flat = wrap_storage._flat.view(dtype)
        elif not args or (len(args) == 1 and isinstance(args[0], int)):
            self._flat = _C.empty(args[0] if args else 0, dtype=self.dtype, device=device or "cpu")
        elif len(args) == 1 and isinstance(args[0], (TypedStorage, UntypedStorage)):
            self._flat = args[0].untyped()._flat.view(self.dtype)
        elif len(args) == 1 and hasattr(args[0], "__len__"):
            self._flat = _C.tensor(list(args[0]), dtype=self.dtype, device=device or "cpu")
        else:
            raise TypeError(f"Argument type not recognized: {type(args[0])}")

    @property
    def device(self):
        """Where it is."""
        return self._flat.device

    @property
    def is_cuda(self):
        """Is it on a GPU?"""
        return self._flat.is_cuda

    @property
    def is_sparse(self):
        """False."""
        return False

    def get_device(self):
        """The index of its GPU; -1 on the CPU."""
        return self._flat.get_device()

    def untyped(self) -> "UntypedStorage":
        """The same memory as bytes."""
        return UntypedStorage(self._flat)

    def data_ptr(self):
        """Where it begins."""
        return self._flat.data_ptr()

    def element_size(self):
        """Bytes of one number."""
        return self.dtype.itemsize

    def nbytes(self):
        """Bytes of all numbers."""
        return self._flat.numel() * self.dtype.itemsize

    def size(self):
        """How many numbers it has."""
        return self._flat.numel()

    __len__ = size

    def tolist(self) -> list:
        """Its numbers."""
        return self._flat.tolist()

    def fill_(self, value) -> "TypedStorage":
        """Makes all of them that number."""
        self._flat.fill_(value)
        return self

    def copy_(self, source, non_blocking=None) -> "TypedStorage":
        """Takes over the numbers of another storage of as many."""
        if len(source) != len(self):
            raise RuntimeError(f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes")
        self._flat.copy_(source._flat, non_blocking=bool(non_blocking))
        return self

    def _like(self, flat):
        made = TypedStorage(dtype=flat.dtype)
        made._flat = flat
        return made

    def clone(self) -> "TypedStorage":
        """A copy in memory of its own."""
        return self._like(self._flat.clone())

    def cpu(self) -> "TypedStorage":
        """Itself, or a copy on the CPU."""
        return self if self.device.type == "cpu" else self._like(self._flat.cpu())

    def cuda(self, device=None, non_blocking=False) -> "TypedStorage":
        """A copy on a GPU, the current one where none is said."""
        return self._like(self._flat.cuda(device, non_blocking=non_blocking))

    def to(self, *, device, non_blocking=False) -> "TypedStorage":
        """Itself where it is there already, or a copy on that device."""
        return self if _C.device(device) == self.device else self._like(self._flat.to(device, non_blocking=non_blocking))

    def type(self, dtype=None, non_blocking=False):
        """Its class's name in PyTorch's older way ("torch.FloatStorage"), or a copy of the numbers in another dtype."""
        if dtype is None:
            return f"torch.{'cuda.' if self.is_cuda else ''}{self.pickle_storage_type()}"
        return self._like(self._flat.to(getattr(dtype, "dtype", dtype), non_blocking=non_blocking, copy=True))

    def pickle_storage_type(self) -> str:
        """Its class's name: "FloatStorage"."""
        return _LEGACY[self.dtype]

    def pin_memory(self, device="cuda") -> "TypedStorage":
        """A copy in memory that GPUs read without help."""
        return self._like(self._flat.pin_memory())

    def is_pinned(self, device="cuda"):
        """Is it in such memory?"""
        return self._flat.is_pinned()

    def is_shared(self):
        """Is it shared with other processes? (torch.multiprocessing)"""
        return self._flat.is_shared()

    def bfloat16(self) -> "TypedStorage":
        """A copy as bfloat16."""
        return self.type(_C.bfloat16)

    def bool(self) -> "TypedStorage":
        """A copy as bool."""
        return self.type(_C.bool)

    def byte(self) -> "TypedStorage":
        """A copy as uint8."""
        return self.type(_C.uint8)

    def char(self) -> "TypedStorage":
        """A copy as int8."""
        return self.type(_C.int8)

    def double(self) -> "TypedStorage":
        """A copy as float64."""
        return self.type(_C.float64)

    def float(self) -> "TypedStorage":
        """A copy as float32."""
        return self.type(_C.float32)

    def half(self) -> "TypedStorage":
        """A copy as float16."""
        return self.type(_C.float16)

    def int(self) -> "TypedStorage":
        """A copy as int32."""
        return self.type(_C.int32)

    def long(self) -> "TypedStorage":
        """A copy as int64."""
        return self.type(_C.int64)

    def short(self) -> "TypedStorage":
        """A copy as int16."""
        return self.type(_C.int16)

    def __getitem__(self, index):
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._flat[_checked(index, len(self), type(self))].item()

    def __setitem__(self, index, value):
        self._flat[index if isinstance(index, slice) else _checked(index, len(self), type(self))] = value

    def __iter__(self):
        return iter(self.tolist())

    def __repr__(self):
        return _shown(self, f"TypedStorage(dtype={self.dtype}, device={self.device})")

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        return memo.setdefault(id(self), self.clone())


class _Legacy(type):
    """The class of FloatStorage and the like: calling one makes a TypedStorage, and those of its dtype are its instances."""

    def __instancecheck__(cls, other):
        return isinstance(other, TypedStorage) and other.dtype == cls.dtype and other.device.type == "cpu"

    def __call__(cls, *args, wrap_storage=None):
        if wrap_storage is not None:
            return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype)
        return TypedStorage(*args, dtype=cls.dtype)

    def __repr__(cls):
        return f"<class 'torch.{cls.__name__}'>"


def _of(tensor):
    """Tensor.storage()."""
    made = TypedStorage(dtype=tensor.dtype)
    made._flat = _bytes_behind(tensor).view(tensor.dtype)
    return made


for _name, _dtype in _DTYPES.items():
    globals()[_name] = _Legacy(_name, (), {"__doc__": f"Memory of {_dtype} numbers on the CPU.", "dtype": _dtype, "__module__": "torch"})

Storage = globals()["FloatStorage"]

__getattr__ = _missing.getattr_of(__name__)
