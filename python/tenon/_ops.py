"""Operations that programs define: their schemas, what a call of one does, and torch.ops, where they are found."""

import re

from . import _C
from .autograd.function import Function

_Tensor = _C.Tensor

# ---- schemas: "mylib::swiglu(Tensor a, Tensor b, float k=1.0) -> Tensor" ----

_TYPE = re.compile(r"(Tensor|SymInt|int|float|bool|str|Scalar|ScalarType|Device)(\(\w+!?\))?(\?)?(\[\d*\])?(\?)?$")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*::[A-Za-z_]\w*(?:\.\w+)?")
_LITERALS = {"None": None, "True": True, "False": False}


class Argument:
    """One argument of a schema."""

    __slots__ = ("name", "type", "default", "has_default", "kw_only", "mutated")

    def __init__(self, text, kw_only):
        head, _, default = (part.strip() for part in text.partition("="))
        self.type, _, self.name = head.rpartition(" ")
        found = _TYPE.match(self.type)
        if not found or not self.name.isidentifier():
            raise RuntimeError(f"'{text}' is no argument of a schema: 'Tensor x', 'float k=1.0' ... were expected")
        self.mutated = bool(found[2] and "!" in found[2])
        self.has_default = bool(default)
        self.default = _literal(default) if default else None
        self.kw_only = kw_only
        if self.default is not None and not found[4] and not self.takes(self.default):
            raise RuntimeError(f"'{text}' is no argument of a schema: its default is no {found[1]}")

    def takes(self, value):
        """Is the value one of the argument's type?"""
        return _takes(self.type, value)

    def declared(self):
        """The type as PyTorch's messages have it."""
        base, _, inner, several, outer = _TYPE.match(self.type).groups()
        one = f"Optional[{base}]" if inner else base
        listed = f"List[{one}]" if several else one
        return (f"Optional[{listed}]" if outer else listed).replace("SymInt", "int")


def _takes(kind, value):
    base, _, inner, several, outer = _TYPE.match(kind).groups()
    if value is None:
        return bool(outer or (inner and not several))
    if several:
        return isinstance(value, (list, tuple)) and all(_is(base, v) or (v is None and inner) for v in value)
    return _is(base, value)


def _literal(text):
    if text in _LITERALS:
        return _LITERALS[text]
    if text[0] in "\"'":
        return text[1:-1]
    if text[0] == "[":
        return [_literal(part.strip()) for part in text[1:-1].split(",") if part.strip()]
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return getattr(_C, text, text)  # float32


def _is(base, value):
    if base == "Tensor":
        return isinstance(value, _Tensor)
    if base == "bool":
        return isinstance(value, bool)
    if base == "str":
        return isinstance(value, str)
    if base == "ScalarType":
        return isinstance(value, _C.dtype)
    if base == "Device":
        return isinstance(value, (str, int, _C.device))
    if isinstance(value, _Tensor):
        return value.numel() == 1
    if base in ("int", "SymInt"):
        return hasattr(type(value), "__index__") and not isinstance(value, float)
    return isinstance(value, (bool, int, float)) or hasattr(type(value), "__float__")


def _split(text):
    """At the commas outside brackets and strings."""
    parts, depth, start = [], 0, 0
    for found in re.finditer(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[\[\](),]""", text):
        if found[0] == "," and not depth:
            parts.append(text[start : found.start()])
            start = found.end()
        depth += (found[0] in ("[", "(")) - (found[0] in ("]", ")"))
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


class Schema:
    """What an operation takes and gives."""

    def __init__(self, name, text):
        if not isinstance(text, str):
            raise TypeError(f"{name}: a schema as '(Tensor x) -> Tensor' was expected, not {type(text).__name__}")
        found = re.match(r"\s*\((.*)\)\s*->\s*(.+?)\s*$", text, re.S)
        if not found:
            raise RuntimeError(f"'{text}' is no schema: '(Tensor x) -> Tensor' was expected")
        self.name, self.text, self.arguments = name, text.strip(), []
        kw_only = False
        for part in _split(found[1]):
            if part == "*":
                kw_only = True
            else:
                self.arguments.append(Argument(part, kw_only))
        for i, a in enumerate(self.arguments):
            before = self.arguments[:i]
            if any(a.name == b.name for b in before):
                raise RuntimeError(f"'{text}' is no schema: two arguments are named {a.name}")
            if not a.has_default and not a.kw_only and any(b.has_default for b in before):
                raise RuntimeError(f"'{text}' is no schema: {a.name} has no default, and stands behind an argument that has one")
        returns = found[2]
        self.single = not returns.startswith("(")
        self.returns = [returns] if self.single else _split(returns[1:-1])
        self._kinds = [r.split()[0] for r in self.returns]  # "Tensor out" has a name
        wrong = next((k for k in self._kinds if not _TYPE.match(k)), None)
        if wrong or not (self.single or returns.endswith(")")):
            raise RuntimeError(f"'{text}' is no schema: a result is none of Tensor, Tensor[], int, float, bool, str, Scalar, or (several)")
        self.is_mutable = any(a.mutated for a in self.arguments)

    def __str__(self):
        return self.name + self.text

    def check(self, output):
        """What a function gave is what the schema says. PyTorch says so of some functions and passes others on."""
        if not self.returns:
            return
        several = isinstance(output, (tuple, list)) and not self.single
        values = output if several else (output,)
        if several and len(output) != len(self.returns):
            raise RuntimeError(f"{self.name}: its function returned {len(output)} values where the schema says {len(self.returns)}: {self}")
        for value, kind in zip(values, self._kinds):
            if not several and not self.single:
                kind = f"{len(self.returns)} results"
            elif _takes(kind, value):
                continue
            got = "None" if value is None else f"a value of type '{type(value).__name__}'"
            raise RuntimeError(f"{self.name}: its function returned {got} where the schema says {kind}: {self}")

    def bind(self, args, kwargs):
        """All arguments in their order, defaults filled in; PyTorch's errors."""
        places = [a for a in self.arguments if not a.kw_only]
        if len(args) > len(places):
            raise RuntimeError(f"{self.name}() expected at most {len(places)} argument(s) but received {len(args)} argument(s). "
                               f"Declaration: {self}")
        left, values = dict(kwargs), []
        for i, a in enumerate(self.arguments):
            if not a.kw_only and i < len(args):
                value = args[i]
            elif a.name in left:
                value = left.pop(a.name)
            elif a.has_default:
                values.append(a.default)
                continue
            else:
                raise RuntimeError(f"{self.name}() is missing value for argument '{a.name}'. Declaration: {self}")
            if not a.takes(value):
                raise RuntimeError(f"{self.name}() Expected a value of type '{a.declared()}' for argument '{a.name}' but instead "
                                   f"found type '{type(value).__name__}'.\nPosition: {i}\nValue: {value!r}\nDeclaration: {self}")
            values.append(value)
        if left:
            raise RuntimeError(f"Unknown keyword argument '{next(iter(left))}' for operator '{self.name}'. Schema: {self}")
        return values


# ---- an operation ----


def _tensors(values):
    for v in values:
        if isinstance(v, _Tensor):
            yield v
        elif isinstance(v, (list, tuple)):
            yield from _tensors(v)


def _flat(values):
    """The values with lists opened, and how they were."""
    flat, form = [], []
    for v in values:
        if isinstance(v, (list, tuple)) and any(isinstance(t, _Tensor) for t in v):
            form.append((type(v), len(v)))
            flat.extend(v)
        else:
            form.append(None)
            flat.append(v)
    return flat, form


def _built(flat, form):
    flat = iter(flat)
    return [next(flat) if f is None else list(next(flat) for _ in range(f[1])) for f in form]


def _without_history(output, values):
    """What a call gives that is not recorded: the function may have recorded on its own. Inputs stay what they are."""
    if isinstance(output, (list, tuple)):
        bare = [_without_history(t, values) for t in output]
        return bare if isinstance(output, list) else tuple(bare)
    if isinstance(output, _Tensor) and output.requires_grad and not any(output is t for t in _tensors(values)):
        return output.detach()
    return output


def _memory(t):
    return None if t.device.type == "meta" or not t.numel() else t.untyped_storage().data_ptr()


class Operation:
    """A program's own operation: its schema, a function for each type of device, its derivative."""

    def __init__(self, qualname, schema):
        self.qualname = qualname
        self.namespace, self.name = qualname.split("::")
        self.schema = Schema(qualname, schema)
        self.kernels = {}  # by type of device; None: of all others
        self.disabled = set()
        self.changes = []  # of set_kernel_enabled that last: what 'disabled' is made of
        self.fake = self.backward = self.setup_context = None
        self.definition = f"<OpOverload(op='{self.namespace}.{self.name}', overload='default')>"
        self.function = type(f"GeneratedBackwardFor_{self.namespace}_{self.name}_default", (_Recorded,), {"operation": self})

    # calls

    def __call__(self, args, kwargs):
        values = self.schema.bind(args, kwargs)
        if _C.is_grad_enabled() and not self.schema.is_mutable and any(t.requires_grad for t in _tensors(values)):
            return self.record(values)
        before = _C._set_grad_enabled(False)
        try:
            return _without_history(self.run(values), values)
        finally:
            _C._set_grad_enabled(before)

    def record(self, values):
        flat, form = _flat(values)
        output = self.function.apply(*flat, form)  # last: errors count the gradients of the others
        return list(output) if self.schema.single and isinstance(output, tuple) else output

    def run(self, values):
        """The function for the device of the tensors, without recording."""
        places, named = self._arguments(values)
        output = self._pick(values)(*places, **named)
        self.schema.check(output)
        if not self.schema.is_mutable:
            self._check_apart(values, output)
        return output

    def _arguments(self, values):
        places = [v for v, a in zip(values, self.schema.arguments) if not a.kw_only]
        return places, {a.name: v for v, a in zip(values, self.schema.arguments) if a.kw_only}

    def _pick(self, values):
        kind = next((t.device.type for t in _tensors(values)), "cpu")
        if kind == "meta" and self.fake:
            return self.fake
        if kind == "meta" and "meta" not in self.kernels:
            raise RuntimeError(f"There was no fake impl registered for {self.definition}. This is necessary for results of tensors on "
                               f"meta. Please use `{self.name}.register_fake` to add an fake impl.")
        f = self.kernels.get(kind) if kind not in self.disabled else None
        f = f or self.kernels.get(None)
        if f:
            return f
        there = ", ".join(sorted(k.upper() for k in self.kernels)) or "none"
        raise NotImplementedError(f"Could not run '{self.qualname}' with arguments from the '{kind.upper()}' backend. "
                                  f"'{self.qualname}' is only available for these backends: [{there}].\n  "
                                  f"torch.library.register_kernel('{self.qualname}', '{kind}', function) gives it one")

    def _check_apart(self, values, output):
        outputs = list(_tensors((output,)))
        inputs = list(_tensors(values))
        seen = {_memory(t) for t in inputs} - {None}
        for t in outputs:
            at = _memory(t)
            if any(t is x for x in inputs) or at in seen:
                raise RuntimeError(f"{self.qualname}: The output of this custom operator (1) must not also be an input to this custom "
                                   "operator and (2) may not alias any inputs to this custom operator or other returns. The most "
                                   "common way to trigger this error is if we have y = custom_op(x) and y and x are the same "
                                   "Tensor. Please instead return a clone of the offending output tensor(s) (e.g. return "
                                   "x.clone()) or refactor the custom operator to not return y.")
            if at is not None:
                seen.add(at)

    # backward

    def save(self, ctx, values, output):
        """What setup_context keeps of a call."""
        if not self.setup_context:
            return
        places, named = self._arguments(values)
        if named:
            self.setup_context(ctx=ctx, inputs=tuple(places), keyword_only_inputs=named, output=output)
        else:
            self.setup_context(ctx=ctx, inputs=tuple(places), output=output)


class _Recorded(Function):
    """A call that autograd records. Lists of tensors are opened: the graph knows tensors."""

    @classmethod
    def forward(cls, ctx, *flat):
        *flat, form = flat
        values = _built(flat, form)
        output = cls.operation.run(values)
        marks = iter(ctx.needs_input_grad[:-1])
        ctx._form = form
        ctx.needs_input_grad = tuple(next(marks) if f is None else [next(marks) for _ in range(f[1])] for f in form)
        output = tuple(output) if isinstance(output, list) else output
        cls.operation.save(ctx, values, output)
        return output

    @classmethod
    def backward(cls, ctx, *gradients):
        op = cls.operation
        if not op.backward:
            raise RuntimeError(f"Trying to backward through {op.namespace}.{op.name}.default but no autograd formula was registered. "
                               "Please use register_autograd to add one.")
        if op.schema.single and op.schema.returns[0].endswith("[]"):
            gradients = (list(gradients),)
        result = op.backward(ctx, *gradients)
        result = list(result) if isinstance(result, tuple) else [result]
        places = sum(not a.kw_only for a in op.schema.arguments)
        if len(result) != places:
            raise RuntimeError(f"{op.qualname}: its backward returned {len(result)} gradients, one for each of {places} arguments "
                               "was expected")
        flat = []
        for r, f in zip(result + [None] * (len(ctx._form) - places), ctx._form):
            if f is None:
                flat.append(r)
            elif r is None:
                flat.extend([None] * f[1])
            elif not isinstance(r, (list, tuple)) or len(r) != f[1]:
                got = f"{len(r)} of them" if isinstance(r, (list, tuple)) else f"{type(r).__name__}"
                raise RuntimeError(f"{op.qualname}: its backward returned {got} for a list of {f[1]} tensors: a list of {f[1]} gradients, "
                                   "or None, was expected")
            else:
                flat.extend(r)
        return (*flat, None)


# ---- all of them, and torch.ops ----

operations = {}


def define(qualname, schema):
    """Makes the operation."""
    if not isinstance(qualname, str) or not _NAME.fullmatch(qualname):
        raise RuntimeError(f"{qualname!r} is no name of an operation: one with its namespace was expected, as 'mylib::swiglu'")
    if qualname in operations:
        raise RuntimeError(f"Tried to register an operator ({qualname}{schema}) with the same name and overload name multiple times. "
                           "Each overload's schema should only be registered with a single call to def().")
    operations[qualname] = op = Operation(qualname, schema)
    return op


def find(op):
    """The operation that a name, an overload or a CustomOpDef names."""
    if isinstance(op, Operation):
        return op
    if isinstance(op, (OpOverload, OpOverloadPacket)):
        return op._operation
    if not isinstance(op, str):
        op = getattr(op, "_qualname", op)
    if op not in operations:
        raise RuntimeError(f"operator {op} does not exist")
    return operations[op]


class OpOverload:
    """torch.ops.mylib.swiglu.default: an operation as it is called."""

    def __init__(self, operation):
        self._operation = operation
        self._schema = operation.schema
        self.__name__ = f"{operation.name}.default"

    def name(self):
        """The qualified name: mylib::swiglu."""
        return self._operation.qualname

    def __call__(self, /, *args, **kwargs):
        return self._operation(args, kwargs)

    def __repr__(self):
        return f"<OpOverload(op='{self._operation.namespace}.{self._operation.name}', overload='default')>"

    def __str__(self):
        return f"{self._operation.namespace}.{self._operation.name}.default"


class OpOverloadPacket:
    """torch.ops.mylib.swiglu. An operation has one overload: default."""

    def __init__(self, operation):
        self._operation = operation
        self._qualified_op_name = operation.qualname
        self.default = OpOverload(operation)
        self.__name__ = operation.name

    def overloads(self):
        """The names of its overloads."""
        return ["default"]

    def __call__(self, /, *args, **kwargs):
        return self._operation(args, kwargs)

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self):
        return f"{self._operation.namespace}.{self._operation.name}"


class _Namespace:
    """torch.ops.mylib."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        op = operations.get(f"{self._name}::{name}")
        if op is None:
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")
        packet = OpOverloadPacket(op)
        setattr(self, name, packet)
        return packet

    def __dir__(self):
        return [q.split("::")[1] for q in operations if q.startswith(f"{self._name}::")]


class _Ops:
    """torch.ops: operations of programs, by namespace and name."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        space = _Namespace(name)
        setattr(self, name, space)
        return space

    def __dir__(self):
        return sorted({q.split("::")[0] for q in operations})


ops = _Ops()
