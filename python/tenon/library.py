"""Operations of one's own: custom_op, Library, define and impl as PyTorch has them; register_kernel also takes a kernel as text.

    @tenon.library.custom_op("mylib::swiglu", mutates_args=())
    def swiglu(a: Tensor, b: Tensor) -> Tensor:
        return silu(a) * b

    swiglu.register_kernel(["cpu", "cuda"], TEXT, rule="broadcast")

docs/custom-operations.md says how texts are written.
"""

import collections.abc
import contextlib
import inspect
import typing

from . import _C, _ops
from ._kernels import Kernel

__all__ = ["Library", "CustomOpDef", "custom_op", "define", "impl", "infer_schema", "opcheck", "register_autograd", "register_fake",
           "register_kernel", "OpCheckError"]

_Tensor = _C.Tensor

# ---- schemas from annotations ----

_BASES = {_Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", _C.dtype: "ScalarType", _C.device: "Device",
          typing.Union[int, float, bool]: "Scalar"}
_LISTS = (list, collections.abc.Sequence)


def _type_of(annotation):
    """'Tensor?[]' for Sequence[Optional[Tensor]]; None where a schema has no such type."""
    if annotation in _BASES:
        return _BASES[annotation]
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in _LISTS and len(args) == 1:
        inner = _type_of(args[0])
        return inner and inner + "[]"
    rest = [a for a in args if a is not type(None)]
    if len(rest) < len(args):
        inner = _type_of(rest[0] if len(rest) == 1 else typing.Union[tuple(rest)])
        return inner and inner + "?"
    return None


def _default(value):
    return f'"{value}"' if isinstance(value, str) else str(value).removeprefix("torch.").removeprefix("tenon.")


def _returns(annotation, refuse):
    if annotation is None or annotation is type(None):
        return "()"
    if typing.get_origin(annotation) is tuple:
        return "(" + ", ".join(_type_of(a) or refuse(f"Return has unsupported type {a}.") for a in typing.get_args(annotation)) + ")"
    return _type_of(annotation) or refuse(f"Return has unsupported type {annotation}.")


def infer_schema(prototype_function, /, *, mutates_args, op_name=None):
    """The schema that a function's annotations say: '(Tensor a, float k=1.0) -> Tensor'."""
    sig = inspect.signature(prototype_function)

    def refuse(what):
        raise ValueError(f"infer_schema(func): {what} Got func with signature {sig})")

    hints = typing.get_type_hints(prototype_function)
    if not isinstance(mutates_args, collections.abc.Iterable) or (isinstance(mutates_args, str) and mutates_args != "unknown"):
        raise ValueError("mutates_args must either be a sequence of the names of the arguments that are mutated or the string 'unknown'. ")
    if mutates_args != "unknown" and set(mutates_args) - set(sig.parameters):
        refuse(f"{set(mutates_args) - set(sig.parameters)} in mutates_args were not found in the custom op's signature. mutates_args "
               "should contain the names of all args that the custom op mutates, or just the string 'unknown' if you don't know.")
    params, starred = [], False
    for name, p in sig.parameters.items():
        if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            refuse("We do not support positional-only args, varargs, or varkwargs.")
        if name not in hints:
            refuse(f"Parameter {name} must have a type annotation.")
        kind = _type_of(hints[name])
        if kind is None:
            refuse(f"Parameter {name} has unsupported type {hints[name]}. The valid types are Tensor, int, float, bool, str, dtype, "
                   "device, numbers.Number, and Optional and Sequence of them.")
        if p.kind == p.KEYWORD_ONLY and not starred:
            params.append("*")
            starred = True
        if kind.startswith("Tensor") and (mutates_args == "unknown" or name in mutates_args):
            kind = f"Tensor(a{len(params) - starred}!)" + kind[len("Tensor"):]
        if p.default is not p.empty and not isinstance(p.default, (type(None), bool, int, float, str, _C.dtype)):
            refuse(f"Parameter {name} has an unsupported default value type {type(p.default)}.")
        params.append(f"{kind} {name}" + ("" if p.default is p.empty else f"={_default(p.default)}"))
    if sig.return_annotation is sig.empty:
        refuse("No return type annotation was provided. Please add one.")
    return f"{op_name or ''}({', '.join(params)}) -> {_returns(hints.get('return'), refuse)}"


# ---- operations ----


_DEVICES = (None, "cpu", "cuda", "meta")


def _types(device_types):
    if not isinstance(device_types, (str, type(None), list, tuple, set, frozenset)):
        raise TypeError(f"device_types: 'cpu', 'cuda', 'meta', None or several of them were expected, not {type(device_types).__name__}")
    types = (device_types,) if device_types is None or isinstance(device_types, str) else tuple(device_types)
    for t in types:
        if t not in _DEVICES:
            raise ValueError(f"{t!r} is no type of device that there are functions for: 'cpu', 'cuda' and 'meta' are, and None for all others")
    return types


def _put_kernel(operation, device_types, func, options):
    types = _types(device_types)
    if isinstance(func, str):
        types = ("cpu", "cuda") if types == (None,) else types
        if set(types) - {"cpu", "cuda"}:
            raise ValueError(f"a kernel given as text is of 'cpu', 'cuda' or both, not of {types}")
        wrong = [name for name in options if name not in ("entry", "rule", "items", "dtypes", "local")]
        if wrong:
            raise TypeError(f"{', '.join(wrong)}: a kernel given as text takes entry, rule, items, dtypes and local")
        func = Kernel(operation, func, types, **options)
    elif options:
        raise TypeError(f"{', '.join(options)}: of kernels that are given as text")
    elif not callable(func):
        raise TypeError(f"a function, or a kernel's text, was expected, not {type(func).__name__}")
    for t in types:
        operation.kernels[t] = func
    return func


def _callable(what, f):
    if not callable(f):
        raise TypeError(f"{what}: a function was expected, not {type(f).__name__}")
    return f


def _put_autograd(operation, described, backward, setup_context):
    _callable("register_autograd", backward)
    if setup_context is not None:
        _callable("register_autograd: setup_context", setup_context)
    if operation.schema.is_mutable or operation.schema.returns == []:
        raise RuntimeError(f"Cannot register autograd formula for non-functional operator {described} with schema {operation.schema}. Please "
                           "create a functional operator and register an autograd formula for that.")
    if any(a.kw_only and a.type.startswith("Tensor") for a in operation.schema.arguments):
        raise NotImplementedError(f"register_autograd with kwarg-only Tensor args. In the original definition of the op, please make your "
                                  f"tensors not kwarg-only. Got: {operation.schema}")
    operation.backward, operation.setup_context = backward, setup_context


class CustomOpDef:
    """What custom_op makes: the operation, to be called, and to be given more functions."""

    def __init__(self, namespace, name, schema, fn):
        self._namespace, self._name, self._init_fn = namespace, name, fn
        self._qualname = f"{namespace}::{name}"
        self._operation = _ops.define(self._qualname, schema)
        self._operation.definition = repr(self)
        self._schema = schema
        self._opoverload = getattr(getattr(_ops.ops, namespace), name).default
        self.__doc__ = fn.__doc__ or self.__doc__

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args, **kwargs):
        return self._operation(args, kwargs)

    def register_kernel(self, device_types, fn=None, /, **options):
        """The function for types of device ("cpu", "cuda"; None: all others). Or the text of a kernel, with the options
        entry (its name, where the text has several), rule ('same', 'broadcast', 'any': results as input 0; 'fake': what
        register_fake's function says), items ('elements', 'rows', 'whole'), dtypes (floating ones where not said), local."""
        if fn is None:
            return lambda f: _put_kernel(self._operation, device_types, f, options)
        return _put_kernel(self._operation, device_types, fn, options)

    def register_fake(self, fn, /):
        """The function for tensors on meta: results of the right shape and dtype. Returns fn."""
        self._operation.fake = _callable("register_fake", fn)
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """The derivative: backward(ctx, *grads) gives a gradient, or None, for each argument; setup_context(ctx, inputs, output)
        keeps what it needs."""
        _put_autograd(self._operation, self, backward, setup_context)

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type, enabled=True):
        """While it lasts, the kernel of that type of device is used, or not: then the function of all devices is."""
        op = self._operation
        change = (device_type, enabled)  # those that overlap may end in any order: the last that is still there counts
        op.changes.append(change)
        op.disabled = {t for t, on in dict(op.changes).items() if not on}
        try:
            yield
        finally:
            at = next(i for i, c in enumerate(op.changes) if c is change)
            del op.changes[at]
            op.disabled = {t for t, on in dict(op.changes).items() if not on}


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Makes an operation of a function, whose annotations are its schema. name: "mylib::swiglu". mutates_args: names of the tensors
    that it writes to. device_types: those that fn is for; None: all."""

    def make(fn):
        namespace, _, short = name.partition("::") if isinstance(name, str) else (None, None, name)
        if not short or namespace is None:
            raise ValueError(f"custom_op(name): a name with its namespace was expected, as 'mylib::{name}'")
        _callable("custom_op", fn)
        _types(device_types)  # what is wrong takes no name
        op = CustomOpDef(namespace, short, schema or infer_schema(fn, mutates_args=mutates_args), fn)
        _put_kernel(op._operation, device_types, fn, {})
        return op

    return make if fn is None else make(fn)


# ---- by name ----

_KEYS = {"CompositeExplicitAutograd": None, "CompositeImplicitAutograd": None, "default": None, "Meta": "meta"}


def _key(types):
    """Types of device from those, or from PyTorch's dispatch keys."""
    if types in _KEYS:
        return _KEYS[types]
    return types.lower() if isinstance(types, str) else types


def define(qualname, schema, *, lib=None, tags=()):
    """Defines the operation qualname ("mylib::f") by its schema: "(Tensor x) -> Tensor". impl gives it functions."""
    if not isinstance(qualname, str) or "::" not in qualname:
        raise ValueError(f"torch.library.define(qualname): a name with its namespace was expected, as 'mylib::{qualname}'")
    _ops.define(qualname, schema)


def impl(qualname, types, func=None, *, lib=None):
    """func is the operation's function for types of device ("cpu", "cuda", "default": all). Without func: a decorator."""
    return register_kernel(qualname, _key(types), func)


def register_kernel(op, device_types, func=None, /, *, lib=None, **options):
    """The same by name or CustomOpDef; func may be a kernel's text: CustomOpDef.register_kernel says more."""
    operation = _ops.find(op)
    types = [_key(t) for t in device_types] if isinstance(device_types, (list, tuple)) else _key(device_types)
    if func is None:
        return lambda f: _put_kernel(operation, types, f, options)
    return _put_kernel(operation, types, func, options)


def register_fake(op, func=None, /, *, lib=None, allow_override=True):
    """The function for tensors on meta. Without func: a decorator."""
    operation = _ops.find(op)

    def put(f):
        operation.fake = _callable("register_fake", f)
        return f

    return put if func is None else put(func)


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """The operation's derivative: CustomOpDef.register_autograd says more."""
    operation = _ops.find(op)
    _put_autograd(operation, operation.definition, backward, setup_context)


class Library:
    """Operations of a namespace, defined and given functions by name. kind: "DEF", "FRAGMENT" or "IMPL"."""

    _defined = set()

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"Unsupported kind: {kind}")
        if kind == "DEF" and ns in Library._defined:
            raise RuntimeError(f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your definitions "
                               "in a single TORCH_LIBRARY block.")
        if kind == "DEF":
            Library._defined.add(ns)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema, alias_analysis="", *, tags=()):
        """Defines an operation: "f(Tensor x) -> Tensor". Returns its name."""
        if not isinstance(schema, str) or "(" not in schema:
            raise RuntimeError(f"{schema!r} is no schema with a name: 'f(Tensor x) -> Tensor' was expected")
        name, bracket, rest = schema.partition("(")
        define(f"{self.ns}::{name.strip()}", bracket + rest)
        return name.strip()

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=True):
        """The function of an operation for a type of device: "CPU", "CUDA", "CompositeExplicitAutograd" (all)."""
        name = op_name if isinstance(op_name, str) else op_name.name()
        qualname = name if "::" in name else f"{self.ns}::{name}"
        register_kernel(qualname, _key(dispatch_key or self.dispatch_key or "default"), fn)


# ---- checking ----


class OpCheckError(Exception):
    """What opcheck found."""


def _values_of(output):
    return [o for o in (output if isinstance(output, (tuple, list)) else (output,)) if isinstance(o, _Tensor)]


def _copies(values, grad=False):
    def one(v):
        if isinstance(v, (list, tuple)):
            return type(v)(one(x) for x in v)
        return v.detach().clone().requires_grad_(grad and v.requires_grad) if isinstance(v, _Tensor) else v

    return [one(v) for v in values]


def _compare(what, got, want, atol=0.0, rtol=0.0):
    for g, w in zip(_values_of(got), _values_of(want), strict=True):
        if tuple(g.shape) != tuple(w.shape) or g.dtype != w.dtype:
            raise OpCheckError(f"{what}: {g.dtype} {tuple(g.shape)} and {w.dtype} {tuple(w.shape)} are not equal!")
        if g.device.type != "meta" and not _C.allclose(g.double(), w.cpu().to(g.device).double(), atol=atol, rtol=rtol, equal_nan=True):
            raise OpCheckError(f"{what}: values differ")


def _test_schema(op, values):
    given = _copies(values)
    with _no_grad():
        first = op.run(given)
        if not op.schema.is_mutable:
            for was, now in zip(_ops._tensors(values), _ops._tensors(given)):
                _compare("an input that is not in mutates_args was written to", now, was.detach())
            _compare("the same call twice", op.run(_copies(values)), first)
    if len(op.schema.returns) != (len(first) if isinstance(first, tuple) else 0 if first is None else 1):
        raise OpCheckError(f"the schema says {len(op.schema.returns)} results: {op.schema}")


def _test_autograd_registration(op, values):
    if any(t.requires_grad for t in _ops._tensors(values)) and not op.backward and not op.schema.is_mutable:
        raise OpCheckError(f"inputs require grad, and there is no derivative: register_autograd gives {op.qualname} one")


def _test_faketensor(op, values):
    if not op.fake and "meta" not in op.kernels:
        raise OpCheckError(f"There was no fake impl registered for {op.definition}. Please use `{op.name}.register_fake` to add an fake impl.")
    with _no_grad():
        far = [v.detach().to("meta") if isinstance(v, _Tensor) else v for v in values]
        _compare(f"comparing {op.qualname} on meta and on the device, mismatched tensor metadata", op.run(far), op.run(_copies(values)))


def _test_gradients(op, values):
    from .autograd import gradcheck

    wanted = [v for v in values if isinstance(v, _Tensor) and v.requires_grad]
    if not wanted or not op.backward or any(v.dtype != _C.float64 for v in wanted):
        return
    rest = [not (isinstance(v, _Tensor) and v.requires_grad) for v in values]

    def f(*xs):
        xs = iter(xs)
        return op.record([v if fixed else next(xs) for v, fixed in zip(values, rest)])

    gradcheck(f, tuple(_copies(wanted, grad=True)))


def _test_devices(op, values):
    """Every GPU that is there against the CPU; of kernels given as text, what the library checks of its own operations, too."""
    from . import cuda

    first = next(_ops._tensors(values), None)
    if op.schema.is_mutable or first is None or first.device.type != "cpu":
        return
    picked = op._pick(values)
    if isinstance(picked, Kernel):
        picked.check(_copies(values))
    if not (op.kernels.get("cuda") or op.kernels.get(None)):
        return
    slack = 1e-9 if first.dtype == _C.float64 else 2e-5 if first.dtype == _C.float32 else 3e-2
    with _no_grad():
        for i in range(min(cuda.device_count(), 2)):
            far = [v.detach().to(f"cuda:{i}") if isinstance(v, _Tensor) else v for v in values]
            _compare(f"cuda:{i} beside the CPU", op.run(far), op.run(_copies(values)), atol=slack, rtol=slack)


def _no_grad():
    from .autograd.grad_mode import no_grad

    return no_grad()


_TESTS = {"test_schema": _test_schema, "test_autograd_registration": _test_autograd_registration, "test_faketensor": _test_faketensor,
          "test_gradients": _test_gradients, "test_devices": _test_devices}


def opcheck(op, args, kwargs=None, *, test_utils=tuple(_TESTS), raise_exception=True, atol=None, rtol=None):
    """Checks an operation on a call: what the schema says of inputs and results, whether there is a derivative, shapes on meta, the
    gradient of float64 inputs against differences, GPUs against the CPU. What each test said, by name; or OpCheckError.
    test_aot_dispatch_dynamic is taken, and checks nothing: Tenon compiles no graphs."""
    operation = _ops.find(op)
    values, results = operation.schema.bind(args, kwargs or {}), {}
    for name in (test_utils,) if isinstance(test_utils, str) else test_utils:
        if name not in _TESTS and not name.startswith("test_aot"):
            raise RuntimeError(f"opcheck: there is no {name}; there are {', '.join(_TESTS)}")
        try:
            _TESTS.get(name, lambda op, values: None)(operation, values)
            results[name] = "SUCCESS"
        except Exception as e:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {e}") from e
            results[name] = e
    return results
