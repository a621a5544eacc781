"""save and load: PyTorch's file format, read and written.

A file is a zip archive (see _zip.py) with a pickle of the object, `data.pkl`, in which tensors refer to records
`data/0`, `data/1` ... that hold the bytes of their memory. The pickle names PyTorch's functions and classes, so that
PyTorch reads what Tenon writes and the other way round.

What this module needs from the extension, besides PyTorch's own methods of tensors (as_strided, untyped_storage):
`_C._bytes(t)`, a writable memoryview of the memory of a contiguous CPU tensor, and `_C.frombuffer`, a tensor that
shows a buffer's memory.
"""

import array
import contextlib
import io
import mmap as _mmap
import os
import pickle
import secrets
import stat
import sys
import types
from collections import OrderedDict

from tenon import _missing

from . import _C, _utils
from . import _weights_only_unpickler as _safe
from ._zip import ArchiveReader, ArchiveWriter

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "safe_globals",
    "save",
]

DEFAULT_PROTOCOL = 2

_LEGACY_MAGIC = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e"
_DOCUMENTATION = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with weights_only "
    "https://pytorch.org/docs/stable/generated/torch.load.html."
)
_UNSAFE = (
    "Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary "
    "code execution. Do it only if you got the file from a trusted source."
)


# ---- what may be loaded ----


def add_safe_globals(safe_globals):
    """Lets files loaded with weights_only=True name these classes and functions: objects, or (object, full name).

    An allowed class is created and given its state as pickle does it, so its code runs.
    """
    for name, obj in [_safe.named(entry) for entry in safe_globals]:
        _safe._user_globals[name] = obj


def get_safe_globals():
    """What add_safe_globals has allowed."""
    return list(_safe._user_globals.values())


def clear_safe_globals():
    """Takes back all of add_safe_globals."""
    _safe._user_globals.clear()


class safe_globals:
    """Context manager: add_safe_globals for a block."""

    def __init__(self, safe_globals):
        self._entries = safe_globals

    def __enter__(self):
        self._before = dict(_safe._user_globals)
        add_safe_globals(self._entries)

    def __exit__(self, *error):
        _safe._user_globals.clear()
        _safe._user_globals.update(self._before)


def get_unsafe_globals_in_checkpoint(f):
    """Names of classes and functions in a file that weights_only=True would refuse. Executes nothing."""
    with _opened(f) as (file, name):
        return _safe.unknown_globals(ArchiveReader(file, name).read("data.pkl"))


# ---- saving ----


class _Global:
    """A name of PyTorch's, written into the pickle as it is."""

    def __init__(self, module, name):
        self.module = module
        self.name = name


def _rebuild_global(name):
    return _Global("torch._utils", name)


_STORAGE_GLOBALS = {dtype: _Global("torch", name) for name, dtype in _utils.STORAGE_NAMES.items()}
_UNTYPED_STORAGE = _Global("torch.storage", "UntypedStorage")
_TENSOR_V2 = _rebuild_global("_rebuild_tensor_v2")
_TENSOR_V3 = _rebuild_global("_rebuild_tensor_v3")  # over an untyped storage
_META_TENSOR = _rebuild_global("_rebuild_meta_tensor_no_storage")
_PARAMETER = _rebuild_global("_rebuild_parameter")
_PARAMETER_WITH_STATE = _rebuild_global("_rebuild_parameter_with_state")
_FROM_TYPE = _Global("torch._tensor", "_rebuild_from_type_v2")


class _Reference:
    """Stands in the pickle for a storage: `persistent_id` spells it."""

    def __init__(self, saved_id):
        self.saved_id = saved_id


class _Pickler(pickle._Pickler):
    """Pickles with PyTorch's names in place of Tenon's, and collects storages. In Python, since names that cannot be
    imported here have to be written."""

    dispatch = pickle._Pickler.dispatch.copy()

    def __init__(self, file, protocol):
        super().__init__(file, protocol)
        self.storages = []  # 1-D tensors; the i-th is record data/i
        self._references = {}  # identity of a storage -> (dtype, _Reference)
        self._alive = []  # identities are addresses: nothing may be freed meanwhile

    def persistent_id(self, obj):
        return obj.saved_id if isinstance(obj, _Reference) else None

    def _reference(self, tensor):
        identity, flat = _utils.flat_storage(tensor)
        dtype = _utils.dtype_name(tensor.dtype)
        known = self._references.get(identity)
        if known is None:
            saved_id = (
                "storage",
                _UNTYPED_STORAGE if tensor.dtype._bare else _STORAGE_GLOBALS[dtype],
                str(len(self.storages)),
                str(tensor.device),
                flat.numel() * (flat.element_size() if tensor.dtype._bare else 1),
            )
            known = self._references[identity] = (dtype, _Reference(saved_id))
            self.storages.append(flat)
            self._alive.append(tensor)
        if known[0] != dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types"
            )
        return known[1]

    def _tensor_parts(self, tensor):
        """(function, arguments) that rebuild a tensor's values."""
        size, stride, needs_grad = tuple(tensor.shape), tuple(tensor.stride()), tensor.requires_grad
        if tensor.device.type == "meta":
            return _META_TENSOR, (tensor.dtype, size, stride, needs_grad)
        parts = (self._reference(tensor), tensor.storage_offset(), size, stride, needs_grad, OrderedDict())
        return (_TENSOR_V3, (*parts, tensor.dtype)) if tensor.dtype._bare else (_TENSOR_V2, parts)

    def _reduce_tensor(self, tensor):
        state = getattr(tensor, "__dict__", None)
        if _is_parameter(tensor):
            args = (tensor.data, tensor.requires_grad, OrderedDict())
            return (_PARAMETER_WITH_STATE, (*args, dict(state))) if state else (_PARAMETER, args)
        function, args = self._tensor_parts(tensor)
        if type(tensor) is _C.Tensor and not state:
            return function, args
        return _FROM_TYPE, (function, type(tensor), args, state or {})

    def reducer_override(self, obj):
        if isinstance(obj, _C.Tensor):
            function, args = self._reduce_tensor(obj)
            return _call, (function, args)
        if isinstance(obj, _C.device):
            return _call, (_Global("torch", "device"), (obj.type,) if obj.index is None else (obj.type, obj.index))
        if isinstance(obj, _C.Size):
            return _call, (_Global("torch", "Size"), (tuple(obj),))
        if isinstance(obj, _C.dtype):
            return _utils.dtype_name(obj)
        return NotImplemented

    def save_reduce(self, func, args, *rest, obj=None, **named):
        if func is not _call:
            return super().save_reduce(func, args, *rest, obj=obj, **named)
        function, arguments = args  # `function` is a _Global: nothing to call here, only a name to write
        self.save(function)
        self.save(arguments)
        self.write(pickle.REDUCE)
        if obj is not None:
            self.memoize(obj)

    def save_torch_global(self, obj):
        self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    def save_global(self, obj, name=None):
        full = _torch_global(obj, name)
        if full is None:
            return super().save_global(obj, name)
        self.write(pickle.GLOBAL + "{}\n{}\n".format(*full).encode())
        self.memoize(obj)

    dispatch[_Global] = save_torch_global
    dispatch[types.FunctionType] = save_global


def _call(function, arguments):
    """Marks reductions that are written, not called, by this process."""
    raise AssertionError("a name of a file was called")


def _is_parameter(tensor):
    from .nn.parameter import Parameter

    return type(tensor) is Parameter


def _torch_global(obj, name):
    """(module, name) that PyTorch has for a class or function of Tenon's; None for all others."""
    if isinstance(obj, _C.dtype):
        return "torch", _utils.dtype_name(obj)
    name = name or getattr(obj, "__qualname__", None)
    module = getattr(obj, "__module__", None)
    if not isinstance(module, str) or not isinstance(name, str) or "." in name:
        return None
    top, dot, rest = module.partition(".")
    if top not in ("tenon", "torch"):
        return None
    return ("torch", name) if rest == "_C" else ("torch" + dot + rest, name)


def _path_of(f):
    """The path of a str, bytes or os.PathLike; None for a file object."""
    return os.fspath(f) if isinstance(f, (str, bytes, os.PathLike)) else None


@contextlib.contextmanager
def _replacing(path):
    """A binary file that becomes `path` when the block ends well; else `path` stays as it was."""
    path = os.path.realpath(os.fsdecode(path))
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):  # a device or a pipe, or a directory, which is an error
        with open(path, "wb") as file:
            yield file
        return
    aside = os.path.join(folder, f".{os.path.basename(path)[:200]}.{secrets.token_hex(6)}")
    try:
        with open(aside, "xb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside)
        raise


def save(
    obj,
    f,
    pickle_module=pickle,
    pickle_protocol=DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization=True,
    _disable_byteorder_record=False,
):
    """Writes an object, with all the tensors in it, to a file that PyTorch's load reads too.

    obj: tensors, parameters, state dicts; containers and numbers; any object that pickle takes.
    f: a path, or an object with `write`. A path is replaced once all has been written: a save that fails leaves the
    old file as it was. Tensors that show the same memory do so after loading; a view brings all of the memory that it
    is a view of, so save `view.clone()` where only the part is meant.
    """
    if not _use_new_zipfile_serialization:
        raise RuntimeError("Tenon writes the zip format only (_use_new_zipfile_serialization=True)")
    if pickle_module is not pickle:
        raise RuntimeError("Tenon writes with its own pickler: leave pickle_module out")
    if not 2 <= pickle_protocol <= 5:
        raise ValueError(f"pickle_protocol must be 2 to 5, but got {pickle_protocol}")
    path = _path_of(f)
    if path is None and not hasattr(f, "write"):
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")
    stream = io.BytesIO()
    pickler = _Pickler(stream, pickle_protocol)
    pickler.dump(obj)
    if path is None:
        _write(f.write, "archive", stream.getbuffer(), pickler.storages, _disable_byteorder_record)
        if hasattr(f, "flush"):
            f.flush()  # who opens the file by its name finds all of it
        return
    folder = os.path.splitext(os.path.basename(os.fsdecode(path)))[0] or "archive"
    with _replacing(path) as file:
        _write(file.write, folder, stream.getbuffer(), pickler.storages, _disable_byteorder_record)


def _write(write, folder, data, storages, no_byteorder):
    archive = ArchiveWriter(write, folder)
    archive.add("data.pkl", data)
    archive.add(".format_version", b"1")
    archive.add(".storage_alignment", b"64")
    if not no_byteorder:
        archive.add("byteorder", sys.byteorder.encode())
    for i, flat in enumerate(storages):
        archive.add(f"data/{i}", _C._bytes(flat.cpu()))
    archive.add("version", b"3\n")
    archive.close()


# ---- loading ----


@contextlib.contextmanager
def _opened(f):
    """(binary file, name for errors) of a path or a file object."""
    path = _path_of(f)
    if path is not None:
        with open(path, "rb") as file:
            yield file, os.fsdecode(path)
        return
    for need in ("seek", "tell", "read"):
        try:
            usable = getattr(f, need) and (need != "seek" or f.tell() >= 0)
        except (AttributeError, io.UnsupportedOperation) as error:
            raise type(error)(
                f"{error}. You can only torch.load from a file that is seekable. Please pre-load the data into a "
                "buffer like io.BytesIO and try to load from it instead."
            ) from None
    yield f, str(getattr(f, "name", type(f).__name__))


def _refuse_other_formats(file, name):
    """Says what a file is that is not a zip archive."""
    start = file.tell()
    head = file.read(512)
    file.seek(start)
    if not head:
        raise EOFError(f"Ran out of input: {name} is empty")
    if head[:4] == b"PK\x03\x04":
        return
    if head.startswith(_LEGACY_MAGIC) or head[257:262] == b"ustar":
        raise RuntimeError(
            f"{name} is in the format that PyTorch wrote before version 1.6, which Tenon does not read. Convert it "
            "where PyTorch is installed: torch.save(torch.load(old), new)"
        )
    raise pickle.UnpicklingError(
        f"{name} is not a file of torch.save: it begins with {bytes(head[:8])!r}, "
        "not with a zip archive's b'PK\\x03\\x04'"
    )


def _check_cuda(device):
    """Is there such a GPU? RuntimeError where there is not."""
    import tenon

    if not tenon.cuda.is_available():
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are "
            "running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your "
            "storages to the CPU."
        )
    count = tenon.cuda.device_count()
    if device.index is not None and device.index >= count:
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {device.index} but torch.cuda.device_count() is {count}. "
            "Please use torch.load with map_location to map your storages to an existing device."
        )


def _to_location(storage, location):
    """A storage on the device that a file, or the user, names."""
    device = _C.device(location)
    if device.type == "cuda":
        _check_cuda(device)
    return storage if device.type == "cpu" else storage.to(device)


def _restorer(map_location):
    """function(storage on the CPU, location in the file) -> storage where it is to be."""
    if map_location is None:
        return _to_location
    if isinstance(map_location, dict):
        return lambda storage, location: _to_location(storage, map_location.get(location, location))
    if isinstance(map_location, bytes):
        map_location = map_location.decode("ascii")
    if isinstance(map_location, (str, _C.device)):
        return lambda storage, location: _to_location(storage, map_location)
    if not callable(map_location):
        raise TypeError(f"'{type(map_location).__name__}' object is not callable")

    def restore(storage, location):
        made = map_location(storage, location)
        if made is None:
            return _to_location(storage, location)
        if not isinstance(made, _utils.LoadedStorage):
            raise TypeError(f"map_location must return a storage or None, but returned {type(made).__name__}")
        return made

    return restore


class _Storages:
    """The storages of an open archive, each read once, when the pickle first names it."""

    def __init__(self, archive, restore, memory):
        self.archive = archive
        self.restore = restore
        self.memory = memory  # memoryview of the mapped file, or None
        self.loaded = {}
        self.swap = _is_swapped(archive)

    def load(self, saved_id):
        """The storage of a reference in the pickle: ('storage', type, key, location, number of elements)."""
        if type(saved_id) is not tuple or len(saved_id) != 5 or saved_id[0] != "storage":
            raise pickle.UnpicklingError(
                f"Unknown typename for persistent_load, expected 'storage' but got {str(saved_id)[:80]}"
            )
        _, kind, key, location, count = saved_id
        if not isinstance(kind, _safe.StorageType):
            raise pickle.UnpicklingError(f"expected a type of storage, but got {str(kind)[:80]}")
        if type(key) is not str or type(location) is not str or type(count) is not int or count < 0:
            raise pickle.UnpicklingError(f"damaged reference to a storage: {str(saved_id[2:])[:80]}")
        if self.swap and kind.name == "UntypedStorage":
            raise RuntimeError(f"{self.archive.name} has the other byte order, and storage {key} does not say of what elements")
        storage = self.loaded.get(key)
        if storage is None:
            flat = self._read(f"data/{key}", kind.dtype, count)
            storage = self.loaded[key] = self.restore(_utils.LoadedStorage(flat), location)
        if storage.dtype != kind.dtype or storage.size() != count:
            raise pickle.UnpicklingError(f"storage {key} is referred to in two ways: {kind.name} of {count}")
        return storage

    def _read(self, record, dtype, count):
        item = _C.empty((0,), dtype=dtype).element_size()
        have = self.archive.size(record)
        if have != count * item:
            raise RuntimeError(
                f"storage {record} of {self.archive.name} has {have} bytes, "
                f"but {count} elements of {dtype} take {count * item}"
            )
        if not count:
            return _C.empty((0,), dtype=dtype)
        if self.memory is not None and not self.swap:
            start, size = self.archive.span(record)
            if start % item == 0:
                return _C.frombuffer(self.memory[start : start + size], dtype=dtype)
        flat = _C.empty((count,), dtype=dtype)
        memory = _C._bytes(flat)
        self.archive.read_into(record, memory)
        if self.swap and item > 1:
            turned = array.array({2: "H", 4: "I", 8: "Q"}[item], bytes(memory))
            turned.byteswap()
            memory[:] = turned.tobytes()
        return flat


def _is_swapped(archive):
    if "byteorder" not in archive:
        return sys.byteorder != "little"
    if archive.size("byteorder") > 16:
        raise ValueError("Unknown endianness type: record byteorder is too long")
    order = archive.read("byteorder")
    if order not in (b"little", b"big"):
        raise ValueError(f"Unknown endianness type: {order.decode('ascii', 'replace')}")
    return order.decode() != sys.byteorder


class _Unpickler(pickle.Unpickler):
    """For weights_only=False: imports and calls what the file says, PyTorch's names being Tenon's."""

    def __init__(self, data, persistent_load, **options):
        super().__init__(io.BytesIO(data), **options)
        self.persistent_load = persistent_load

    def find_class(self, module, name):
        if module == "torch" or module.startswith("torch."):
            full = f"{module}.{name}"
            known = _safe._ALLOWED.get(full)
            if isinstance(known, (_safe.StorageType, _C.dtype)):
                return known
            if full == "torch.Tensor":
                return _C.Tensor
            if full == "torch._tensor._rebuild_from_type_v2":
                return _utils._rebuild_from_type_v2
            module = "tenon" + module[len("torch") :]
        return super().find_class(module, name)


def _safe_pickle(data, storages, name):
    try:
        return _safe.load(data, storages.load)
    except pickle.UnpicklingError as error:
        text = str(error)
    if text.startswith("Trying to load unsupported GLOBAL"):
        raise pickle.UnpicklingError(
            f"Weights only load failed. {_UNSAFE}\n\n\n{text}{_DOCUMENTATION}"
        ) from None
    if text.startswith("Unsupported global"):
        raise pickle.UnpicklingError(
            "Weights only load failed. This file can still be loaded, to do so you have two options, "
            "\033[1mdo those steps only if you trust the source of the checkpoint\033[0m. "
            f"\n\t(1) {_UNSAFE}\n\t(2) Alternatively, to load with `weights_only=True` please check the recommended "
            f"steps in the following error message.\n\tWeightsUnpickler error: {text}{_DOCUMENTATION}"
        )
    raise pickle.UnpicklingError(
        f"Weights only load failed. The file is damaged, or no file of tensors: {name}\n"
        f"WeightsUnpickler error: {text}{_DOCUMENTATION}"
    )


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """The object that `save`, of Tenon or of PyTorch (1.6 or later), wrote.

    f: a path, or a seekable binary file object.
    map_location: where tensors go. None: where they were. A device or its name; a dict from names to names; or a
    function(storage, location) that returns the storage, moved or not, or None for 'as without it'.
    weights_only=True (the default) executes nothing that the file says: it takes tensors, containers, numbers, text and
    what `add_safe_globals` has allowed, and refuses all else with an UnpicklingError that names it.
    weights_only=False unpickles objects of any class. THE FILE THEN RUNS CODE OF ITS AUTHOR'S CHOICE: use it only for
    files that you trust as you would trust a program.
    mmap: map the file into memory in place of reading it: bytes come from the disk when they are used, and writing to
    a tensor does not change the file. Checksums are not verified then. Needs a path.

    RuntimeError where the file is damaged, or a tensor was on a GPU that is not there and map_location does not say
    otherwise; FileNotFoundError, EOFError.
    """
    weights_only = pickle_module is None if weights_only is None else weights_only
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    restore = _restorer(map_location)
    path = _path_of(f)
    if mmap and path is None:
        raise ValueError("f must be a file path in order to use the mmap argument")
    if path is not None and os.fsdecode(path).endswith(".safetensors"):
        return _load_safetensors(path, map_location)
    with _opened(f) as (file, name):
        _refuse_other_formats(file, name)
        archive = ArchiveReader(file, name)
        if "constants.pkl" in archive:
            raise RuntimeError(f"{name} is a TorchScript archive, of torch.jit.save; Tenon reads files of torch.save")
        memory = None
        if mmap:
            memory = memoryview(_mmap.mmap(file.fileno(), 0, access=_mmap.ACCESS_COPY))
        storages = _Storages(archive, restore, memory)
        data = archive.read("data.pkl")
        if weights_only:
            return _safe_pickle(data, storages, name)
        pickle_load_args.setdefault("encoding", "utf-8")
        return _Unpickler(data, storages.load, **pickle_load_args).load()


def _load_safetensors(path, map_location):
    from .safetensors import load_file

    if map_location is None:
        return load_file(path)
    if not isinstance(map_location, (str, _C.device)):
        raise ValueError(
            f"Loading safetensors file with {type(map_location).__name__} map_location is not supported. "
            "Use a device string or torch.device instead."
        )
    return load_file(path, device=map_location)


__getattr__ = _missing.getattr_of(__name__)
