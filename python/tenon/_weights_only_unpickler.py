"""Reads pickles without executing what they say.

A pickle is a program for a small stack machine; its dangerous instructions are those that import a name and call it.
This machine knows the instructions that data needs, imports nothing, and calls only what stands in a table: functions
written for it, that check their arguments, and what the user has added (`add_safe_globals`).
"""

import collections
import pickle
import struct
from pickle import UnpicklingError

from . import _C, _utils

# modules whose names are refused whatever the user has allowed
_BLOCKED = {"sys", "os", "posix", "nt"}

_KEY_PARTS = 1000  # of a tuple used as a key: hashing one that holds itself many times over takes for ever

# name in files -> what the user allows; see add_safe_globals
_user_globals = {}


def torch_name(obj):
    """The full name under which files know a class or function: Tenon's own are PyTorch's."""
    module = obj.__module__ or ""
    if module == "tenon" or module.startswith("tenon."):
        module = "torch" + module[len("tenon") :]
    module = "torch" if module == "torch._C" else module
    return f"{module}.{obj.__qualname__}"


def named(entry):
    """(full name, object) of an entry of add_safe_globals: an object, or (object, full name)."""
    if not isinstance(entry, tuple):
        return torch_name(entry), entry
    if len(entry) != 2:
        raise ValueError(
            f"Expected tuple of length 2 (global, str of callable full path), but got tuple of length: {len(entry)}"
        )
    if not isinstance(entry[1], str):
        raise TypeError(
            f"Expected second item in tuple to be str of callable full path, but got: {type(entry[1])}"
        )
    return entry[1], entry[0]


# ---- what a file may call ----


def _check_key(key):
    """Keys are hashed, in C and recursively: bounds what a file can make of that."""
    parts, pending = 0, [key]
    while pending:
        part = pending.pop()
        parts += 1
        if parts > _KEY_PARTS:
            raise UnpicklingError("a key is too large a tuple")
        if isinstance(part, (tuple, frozenset)):
            pending.extend(part)
    return key


def _safe_encode(text, codec="latin1"):
    """Protocol 2 spells bytes as text in latin1."""
    if not isinstance(text, str) or codec not in ("latin1", "latin-1"):
        raise UnpicklingError(f"_codecs.encode of {type(text).__name__} as {str(codec)[:20]}")
    return text.encode("latin1")


def _safe_bytearray(data=b"", codec=None):
    if isinstance(data, str):
        data = _safe_encode(data, codec)
    if not isinstance(data, (bytes, bytearray)):  # an int would be a size
        raise UnpicklingError(f"bytearray of {type(data).__name__}")
    return bytearray(data)


def _safe_set(items=()):
    if not isinstance(items, (list, tuple, set)):
        raise UnpicklingError(f"set of {type(items).__name__}")
    return set(map(_check_key, items))


def _safe_complex(real=0, imag=0):
    if type(real) not in (int, float) or type(imag) not in (int, float):
        raise UnpicklingError("complex of what is not a number")
    return complex(real, imag)


def _safe_ordered_dict(items=()):
    if isinstance(items, dict):
        items = list(items.items())
    if not isinstance(items, (list, tuple)) or any(not isinstance(i, (list, tuple)) or len(i) != 2 for i in items):
        raise UnpicklingError(f"OrderedDict of {type(items).__name__}")
    return collections.OrderedDict((_check_key(key), value) for key, value in items)


def _safe_counter(items=()):
    if not isinstance(items, dict):
        items = _safe_ordered_dict(items)
    return collections.Counter(dict(items))


def _safe_size(sizes=()):
    _utils._check_numbers("size", sizes)
    return _C.Size(sizes)


def _safe_device(*args):
    if not 1 <= len(args) <= 2 or type(args[0]) is not str or any(type(a) is not int for a in args[1:]):
        raise UnpicklingError("torch.device of what is not a name and a number")
    return _C.device(*args)


def _safe_from_type(func, new_type, args, state):
    if func not in _REBUILD.values() or not isinstance(args, tuple):
        raise UnpicklingError("_rebuild_from_type_v2 with a function of its own")
    new_type = _user_class(new_type)
    return _utils._rebuild_from_type_v2(func, new_type, args, state)


def _user_class(kind):
    """The class that stands for a tensor's type in a file."""
    if kind is _tensor_marker:
        return _C.Tensor
    if kind is _parameter_marker:
        from .nn.parameter import Parameter

        return Parameter
    if not isinstance(kind, type) or not issubclass(kind, _C.Tensor) or kind not in _user_globals.values():
        raise UnpicklingError(f"{kind} is no class of tensors that is allowed")
    return kind


def _tensor_marker(*args):
    raise UnpicklingError("torch.Tensor cannot be called from a file")


def _parameter_marker(data=None, requires_grad=True):
    if not isinstance(data, _C.Tensor):
        raise UnpicklingError("nn.Parameter of what is not a tensor")
    return _utils._rebuild_parameter(data, requires_grad, None)


_REBUILD = {
    f"torch._utils.{name}": getattr(_utils, name)
    for name in (
        "_rebuild_tensor",
        "_rebuild_tensor_v2",
        "_rebuild_tensor_v3",
        "_rebuild_meta_tensor_no_storage",
        "_rebuild_parameter",
        "_rebuild_parameter_with_state",
    )
}


class StorageType:
    """What `torch.FloatStorage` is in a file: the dtype of a storage."""

    def __init__(self, name, dtype):
        self.name = name
        self.dtype = dtype


def _table():
    """Full name -> what stands for it."""
    table = dict(_REBUILD)
    table.update(
        {
            "torch._tensor._rebuild_from_type_v2": _safe_from_type,
            "torch.Tensor": _tensor_marker,
            "torch.nn.parameter.Parameter": _parameter_marker,
            "torch.Size": _safe_size,
            "torch.device": _safe_device,
            "collections.OrderedDict": _safe_ordered_dict,
            "collections.Counter": _safe_counter,
            "_codecs.encode": _safe_encode,
            "builtins.bytearray": _safe_bytearray,
            "builtins.set": _safe_set,
            "builtins.complex": _safe_complex,
        }
    )
    table.update({str(dtype): dtype for dtype in _C._dtypes})
    table["torch.storage.UntypedStorage"] = StorageType("UntypedStorage", _C.uint8)
    for name, dtype in _utils.STORAGE_NAMES.items():
        table[f"torch.{name}"] = table[f"torch.storage.{name}"] = StorageType(name, getattr(_C, dtype))
    return table


_ALLOWED = _table()
_MAKES_TENSORS = {id(f) for f in (*_REBUILD.values(), _safe_from_type, _parameter_marker)}
_CALLABLE = {id(f) for f in _ALLOWED.values() if callable(f)}


# ---- the machine ----


class _Mark:
    pass


class Machine:
    """Runs one pickle. `persistent_load(id)` answers the pickle's references to storages."""

    def __init__(self, data, persistent_load, note_global=None):
        self.data = data
        self.at = 0
        self.stack = []
        self.memo = {}
        self.persistent_load = persistent_load
        self.note_global = note_global  # told of names not allowed, in place of an error
        self.outside = False  # in code that is not the machine's: its errors are its own

    def run(self):
        """The pickled object. UnpicklingError where it is damaged or asks for what is not allowed."""
        try:
            while True:
                code = self.data[self.at]
                self.at += 1
                if code == 0x2E:  # STOP
                    return self.stack.pop()
                step = _STEPS.get(code)
                if step is None:
                    raise UnpicklingError(f"Unsupported operand {code}")
                step(self)
        except UnpicklingError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error) as error:
            if self.outside:
                raise
            raise UnpicklingError(
                f"the pickle is damaged at byte {self.at} of {len(self.data)}: {type(error).__name__}: {error}"
            ) from error

    # -- reading --

    def take(self, n):
        end = self.at + n
        if n < 0 or end > len(self.data):
            raise UnpicklingError(f"the pickle ends within a value of {n} bytes at byte {self.at}")
        part = self.data[self.at : end]
        self.at = end
        return part

    def number(self, form):
        return form.unpack(self.take(form.size))[0]

    def line(self):
        end = self.data.index(b"\n", self.at)
        part = self.data[self.at : end]
        self.at = end + 1
        return part.decode()

    def push(self, value):
        self.stack.append(value)

    def pop_mark(self):
        """What lies above the last mark; the mark goes too."""
        at = len(self.stack) - 1
        while at >= 0 and self.stack[at] is not _Mark:
            at -= 1
        if at < 0:
            raise UnpicklingError("no mark on the stack")
        items = self.stack[at + 1 :]
        del self.stack[at:]
        return items

    # -- names and calls --

    def find(self, module, name):
        if module in ("__builtin__", "builtins"):
            module = "builtins"
        full = f"{module}.{name}"
        if module in _BLOCKED:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked.")
        if full in _user_globals:
            return _user_globals[full]
        if full in _ALLOWED:
            return _ALLOWED[full]
        if self.note_global is not None:
            return self.note_global(full)
        if module == "torch" and name.endswith("Storage"):
            raise UnpicklingError(f"Tenon has no dtype for {full}")
        shown = name if module == "builtins" else full
        raise UnpicklingError(
            f"Unsupported global: GLOBAL {shown} was not an allowed global by default. "
            f"Please use `torch.serialization.add_safe_globals([{shown}])` or the "
            f"`torch.serialization.safe_globals([{shown}])` context manager to allowlist this global if you trust "
            "this class/function."
        )

    def call(self, function, args):
        if not isinstance(args, tuple):
            raise UnpicklingError(f"arguments must be a tuple, not {type(args).__name__}")
        if self.note_global is not None and (isinstance(function, _Unknown) or id(function) in _MAKES_TENSORS):
            return _Unknown("result")
        if id(function) not in _CALLABLE and not _is_user_global(function):
            raise UnpicklingError(f"Trying to call reduce for unrecognized function {function}")
        return function(*args)

    def build(self):
        state = self.stack.pop()
        inst = self.stack[-1]
        if isinstance(inst, _Unknown):
            return
        if type(inst) in (collections.OrderedDict, collections.Counter):
            inst.__dict__.update(state)
        elif isinstance(inst, _C.Tensor) and type(inst).__module__.split(".")[0] in ("tenon", "torch"):
            _utils._set_state(inst, state)
        elif _is_user_global(type(inst)):
            _set_user_state(inst, state)
        else:
            raise UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, "
                f"but got {type(inst)}"
            )

    def new_object(self, args):
        cls = self.stack.pop()
        if isinstance(cls, _Unknown):
            return self.push(cls)
        if cls is _parameter_marker or cls is _safe_ordered_dict:
            return self.push(cls(*args))
        if not isinstance(cls, type) or not _is_user_global(cls):
            raise UnpicklingError(
                "Can only create new object for nn.Parameter or classes allowlisted "
                f"via `add_safe_globals` but got {cls}"
            )
        self.push(cls.__new__(cls, *args))


class _Unknown:
    """Stands for a name that is not allowed while names are only listed."""

    def __init__(self, name):
        self.name = name


def _is_user_global(obj):
    return any(obj is allowed for allowed in _user_globals.values())


def _set_user_state(inst, state):
    """What unpickling does to an object of a class that the user allows."""
    if hasattr(inst, "__setstate__"):
        inst.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:
        inst.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(inst, name, value)


_U1, _U2, _U4, _U8 = (struct.Struct("<" + c) for c in "BHIQ")
_I4, _F8 = struct.Struct("<i"), struct.Struct(">d")
_STEPS = {}


def _step(*codes):
    def register(function):
        for code in codes:
            _STEPS[code[0]] = function
        return function

    return register


def _constant(code, make):
    _STEPS[code[0]] = lambda m: m.push(make())


for _code, _make in (
    (pickle.NONE, lambda: None),
    (pickle.NEWTRUE, lambda: True),
    (pickle.NEWFALSE, lambda: False),
    (pickle.EMPTY_TUPLE, tuple),
    (pickle.EMPTY_LIST, list),
    (pickle.EMPTY_DICT, dict),
    (pickle.EMPTY_SET, set),
    (pickle.MARK, lambda: _Mark),
):
    _constant(_code, _make)


def _sized(code, form, convert):
    _STEPS[code[0]] = lambda m: m.push(convert(m.take(m.number(form))))


def _text(data):
    return str(data, "utf-8", "surrogatepass")


def _latin(data):
    return str(data, "latin1")


def _long(data):
    return int.from_bytes(data, "little", signed=True)


for _code, _form, _convert in (
    (pickle.BINUNICODE, _U4, _text),
    (pickle.SHORT_BINUNICODE, _U1, _text),
    (pickle.BINUNICODE8, _U8, _text),
    (pickle.SHORT_BINSTRING, _U1, _latin),
    (pickle.BINSTRING, _U4, _latin),
    (pickle.SHORT_BINBYTES, _U1, bytes),
    (pickle.BINBYTES, _U4, bytes),
    (pickle.BINBYTES8, _U8, bytes),
    (pickle.BYTEARRAY8, _U8, bytearray),
    (pickle.LONG1, _U1, _long),
    (pickle.LONG4, _U4, _long),
):
    _sized(_code, _form, _convert)


@_step(pickle.PROTO)
def _proto(m):
    version = m.number(_U1)
    if not 2 <= version <= 5:
        raise UnpicklingError(f"unsupported pickle protocol: {version}")


@_step(pickle.FRAME)
def _frame(m):
    m.take(8)


@_step(pickle.BININT)
def _int4(m):
    m.push(m.number(_I4))


@_step(pickle.BININT1)
def _int1(m):
    m.push(m.number(_U1))


@_step(pickle.BININT2)
def _int2(m):
    m.push(m.number(_U2))


@_step(pickle.BINFLOAT)
def _float8(m):
    m.push(m.number(_F8))


@_step(pickle.GLOBAL)
def _global(m):
    module = m.line()
    m.push(m.find(module, m.line()))


@_step(pickle.STACK_GLOBAL)
def _stack_global(m):
    name, module = m.stack.pop(), m.stack.pop()
    if type(name) is not str or type(module) is not str:
        raise UnpicklingError("STACK_GLOBAL requires str")
    m.push(m.find(module, name))


@_step(pickle.REDUCE)
def _reduce(m):
    args = m.stack.pop()
    m.push(m.call(m.stack.pop(), args))


@_step(pickle.NEWOBJ)
def _newobj(m):
    m.new_object(m.stack.pop())


@_step(pickle.BUILD)
def _build(m):
    m.build()


@_step(pickle.BINPERSID)
def _persid(m):
    saved_id = m.stack.pop()
    m.outside = True
    m.push(m.persistent_load(saved_id))
    m.outside = False


@_step(pickle.BINPUT)
def _binput(m):
    m.memo[m.number(_U1)] = m.stack[-1]


@_step(pickle.LONG_BINPUT)
def _long_binput(m):
    m.memo[m.number(_U4)] = m.stack[-1]


@_step(pickle.MEMOIZE)
def _memoize(m):
    m.memo[len(m.memo)] = m.stack[-1]


@_step(pickle.BINGET)
def _binget(m):
    m.push(m.memo[m.number(_U1)])


@_step(pickle.LONG_BINGET)
def _long_binget(m):
    m.push(m.memo[m.number(_U4)])


@_step(pickle.POP)
def _pop(m):
    m.stack.pop()


@_step(pickle.TUPLE)
def _tuple(m):
    m.push(tuple(m.pop_mark()))


@_step(pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3)
def _short_tuple(m):
    n = m.data[m.at - 1] - pickle.TUPLE1[0] + 1
    if len(m.stack) < n:
        raise UnpicklingError("a tuple of more than there is")
    items = tuple(m.stack[-n:])
    del m.stack[-n:]
    m.push(items)


def _container(m, kinds, what):
    target = m.stack[-1]
    if isinstance(target, _Unknown):
        return None
    if type(target) not in kinds:
        raise UnpicklingError(f"Can only {what}, but got {type(target)}")
    return target


@_step(pickle.APPEND)
def _append(m):
    value = m.stack.pop()
    target = _container(m, (list,), "append to lists")
    if target is not None:
        target.append(value)


@_step(pickle.APPENDS)
def _appends(m):
    values = m.pop_mark()
    target = _container(m, (list,), "extend lists")
    if target is not None:
        target.extend(values)


@_step(pickle.ADDITEMS)
def _additems(m):
    values = m.pop_mark()
    target = _container(m, (set,), "add to sets")
    if target is not None:
        target.update(map(_check_key, values))


def _set_items(m, items, name):
    kinds = (dict, collections.OrderedDict, collections.Counter)
    target = _container(m, kinds, f"{name} for dict, collections.OrderedDict, collections.Counter")
    if target is None:
        return
    if len(items) % 2:
        raise UnpicklingError(f"{name} of a key without a value")
    for key, value in zip(items[::2], items[1::2]):
        target[_check_key(key)] = value


@_step(pickle.SETITEM)
def _setitem(m):
    value = m.stack.pop()
    _set_items(m, [m.stack.pop(), value], "SETITEM")


@_step(pickle.SETITEMS)
def _setitems(m):
    _set_items(m, m.pop_mark(), "SETITEMS")


def load(data, persistent_load):
    """The object of a pickle (bytes). UnpicklingError where it is damaged or asks for what is not allowed."""
    return Machine(data, persistent_load).run()


def unknown_globals(data):
    """The names that a pickle (bytes) asks for and that are not allowed, in order."""
    names = []

    def note(full):
        names.append(full)
        return _Unknown(full)

    Machine(data, lambda saved: _Unknown("storage"), note).run()
    return list(dict.fromkeys(names))
