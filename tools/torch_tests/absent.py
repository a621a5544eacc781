"""What PyTorch has and Tenon lacks: how a name that is not there becomes a test that is not applicable, by that name.

While a file is collected every unknown name of torch.* is a placeholder, so that imports, decorators and class bodies
work. While a test runs, unknown names are what they are for any program: AttributeError and ModuleNotFoundError. A test that
uses a placeholder gets an AbsentError. `reason` tells both apart from what is a failure.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import sys
import types

import tenon

collecting = True


class AbsentError(AttributeError):
    """A test used a name that Tenon does not have."""


class AbsentDtype:
    """Stands for a dtype that Tenon lacks: it can be named and compared; who makes a tensor of it is not applicable."""

    def __init__(self, name, kind):
        self.name = name
        self.is_complex = kind == "complex"
        self.is_floating_point = kind == "float"
        if not name.startswith("q"):
            self.is_signed = kind != "unsigned"

    def __repr__(self):
        return f"torch.{self.name}"

    def __getattr__(self, name):
        raise AbsentError(f"dtype torch.{self.name}")



_KINDS = {"complex": "complex32 complex64 complex128", "unsigned": "uint16 uint32 uint64 quint8 quint4x2 quint2x4",
          "signed": "qint8 qint32", "float": "float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz"}  # fmt: skip
_ALIASES = {"chalf": "complex32", "cfloat": "complex64", "cdouble": "complex128"}
DTYPES = {name: AbsentDtype(name, kind) for kind, names in _KINDS.items() for name in names.split() if not hasattr(tenon, name)}
DTYPES.update({alias: DTYPES[name] for alias, name in _ALIASES.items()})


# how Python and Tenon refuse complex numbers
_COMPLEX = re.compile(r"unsupported operand.*'complex'|Tenon has no complex numbers|must be .*, not complex|not complex$|got \([^)]*\bcomplex\b")


class Absent:
    """Any name that Tenon lacks, as far as collecting a file goes."""

    def __init__(self, name):
        self.__dict__["_absent"] = name
        self.__dict__["__name__"] = name.rpartition(".")[2]

    def _use(self):
        if not collecting:
            raise AbsentError(self._absent)

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        self._use()
        return Absent(f"{self._absent}.{name}")

    def __call__(self, *args, **kwargs):
        self._use()
        # a decorator that is not there: the test it decorates is not applicable
        return Absent(f"{self._absent}()" if not self._absent.endswith("()") else self._absent)

    def __mro_entries__(self, bases):
        return (_base(self._absent),)

    def __bool__(self):
        self._use()
        return False

    def __iter__(self):
        self._use()
        return iter(())

    def __getitem__(self, key):
        self._use()
        return Absent(f"{self._absent}[]")

    def __or__(self, other):
        return self

    __ror__ = __add__ = __radd__ = __or__

    def __enter__(self):
        raise AbsentError(self._absent)

    def __exit__(self, *error):
        return False


def _base(name):
    """What a class of a test file inherits from in the place of a class that is not there."""

    def refuse(self, *args, **kwargs):
        raise AbsentError(name)

    return type("Absent", (), {"__new__": refuse, "__init_subclass__": classmethod(lambda cls, **kwargs: None)})


class AbsentModule(types.ModuleType):
    """A module of PyTorch that Tenon lacks."""

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if collecting:
            return Absent(f"{self.__name__}.{name}")
        raise AbsentError(f"{self.__name__}.{name}")


# Not of PyTorch, and used by its tests where they are installed: never here, so that no verdict depends on that.
THIRD_PARTY = ("hypothesis", "expecttest", "scipy", "dill", "numba", "torchvision", "psutil", "optree", "pandas")


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers for the modules of the shim, and while a file is collected for those that Tenon lacks."""

    def __init__(self, shims):
        self._shims = shims  # a module's name -> the file that stands for it

    def find_spec(self, name, path=None, target=None):
        if name in self._shims:
            spec = importlib.util.spec_from_file_location(name, self._shims[name])
            spec.submodule_search_locations = []
            return spec
        root = name.split(".")[0]
        if root == "torch" and _has(name):
            importlib.import_module("tenon" + name[5:])
            open_all()
            return None
        if root in THIRD_PARTY and not collecting:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        if not collecting or root not in ("torch", "caffe2", "functorch") + THIRD_PARTY:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return AbsentModule(spec.name)

    def exec_module(self, module):
        pass


def _has(name):
    ours = "tenon" + name[5:]
    try:
        return ours in sys.modules or importlib.util.find_spec(ours) is not None
    except ModuleNotFoundError:
        return False


def _open(module):
    """From now on names that the module lacks are placeholders while a file is collected."""
    if "_torch_tests_open" in module.__dict__:
        return
    module.__dict__["_torch_tests_open"] = True
    before = module.__dict__.get("__getattr__")
    said = "torch" + module.__name__[5:]

    def __getattr__(name):
        if before is not None:
            try:
                found = before(name)
            except AttributeError:
                pass
            else:
                open_all()  # a module that is imported when it is first asked for
                return found
        if said == "torch" and name in DTYPES:
            return DTYPES[name]
        if collecting and not (name.startswith("__") and name.endswith("__")):
            return Absent(f"{said}.{name}")
        raise AttributeError(f"module '{said}' has no attribute '{name}'", name=name, obj=module)

    module.__getattr__ = __getattr__


def open_all():
    """Opens every module of Tenon that is loaded."""
    for name, module in list(sys.modules.items()):
        if (name == "tenon" or name.startswith("tenon.")) and isinstance(module, types.ModuleType):
            _open(module)


def _is_ours(thing):
    """Whether the thing that lacks an attribute is Tenon's: a module, a class or an object of a class of it."""
    if isinstance(thing, types.ModuleType):
        return thing.__name__.split(".")[0] in ("tenon", "torch")
    kind = thing if isinstance(thing, type) else type(thing)
    return any(k.__module__.split(".")[0] in ("tenon", "torch") for k in kind.__mro__)


def _said(thing):
    if isinstance(thing, types.ModuleType):
        return "torch" + thing.__name__[5:] if thing.__name__.startswith("tenon") else thing.__name__
    kind = thing if isinstance(thing, type) else type(thing)
    kind = next((k for k in kind.__mro__ if k.__module__.split(".")[0] in ("tenon", "torch")), kind)
    return kind.__name__


def _raised_in_tenon(error):
    """Whether code of the package asked for the name; __getattr__ of Module only answers."""
    frame, last = error.__traceback__, None
    while frame is not None:
        if frame.tb_frame.f_code.co_name != "__getattr__":
            last = frame
        frame = frame.tb_next
    package = os.path.dirname(sys.modules["tenon"].__file__) + os.sep  # the tests may lie in a folder tenon too
    return last is not None and last.tb_frame.f_code.co_filename.startswith(package)


def _reason_of(error):
    if isinstance(error, AbsentError):
        return str(error)
    text = str(error)
    if "AbsentDtype" in text:
        named = [name for name in DTYPES if f"torch.{name}" in text]
        return "a dtype that is not there" if not named else f"dtype torch.{named[0]}"
    if isinstance(error, (TypeError, RuntimeError)) and _COMPLEX.search(text):
        return "complex numbers"
    patched = re.search(r"<module 'tenon([\w.]*)'.* does not have the attribute '(\w+)'", text)
    if patched:  # unittest.mock's words
        return f"torch{patched[1]}.{patched[2]}"
    if isinstance(error, AttributeError) and error.name and _is_ours(error.obj):
        # the package's own code never asks for a name it lacks: that would be its defect
        if _raised_in_tenon(error) and not isinstance(error.obj, types.ModuleType):
            return None
        if isinstance(error.obj, types.ModuleType) and hasattr(error.obj, error.name):
            return None
        return f"{_said(error.obj)}.{error.name}"
    if isinstance(error, ImportError):
        name = error.name or ""
        if name.split(".")[0] in ("torch", "tenon", "caffe2", "functorch") + THIRD_PARTY:
            missing = text.split("'")[1] if text.startswith("cannot import name") else ""
            return f"{name}.{missing}".rstrip(".").replace("tenon", "torch", 1)
    return None


def reason(error):
    """The name of what is not there if that is why the test ended, else None."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        why = _reason_of(error)
        if why:
            return why
        error = error.__cause__ or (error.__context__ if not error.__suppress_context__ else None)
    return None
