"""One test function becomes many: over parameters, dtypes and devices, with the names that PyTorch's own runner gives them."""

import functools
import inspect

import torch
from torch_tests.absent import Absent, AbsentDtype


def dtype_name(dtype):
    return str(dtype).split(".")[1]


def is_dtype(value):
    return isinstance(value, (torch.dtype, AbsentDtype))


class Variant:
    """A test with some of its arguments: function, the name's suffix, arguments, decorators that want to see them all."""

    def __init__(self, function, suffix="", arguments=None, decorators=None):
        self.function, self.suffix = function, suffix
        self.arguments, self.decorators = arguments or {}, decorators or (lambda arguments: [])


def join(*suffixes):
    return "_".join(s for s in suffixes if s)


class Parametrizer:
    """A decorator that adds a way of making variants; several on one test multiply."""

    def variants(self, test, cls, device_class):
        raise NotImplementedError

    def __call__(self, test):
        if isinstance(test, Absent):
            return test
        # the decorator that is nearest to the function is applied first, and its suffix stands last
        test.parametrizers = (*getattr(test, "parametrizers", ()), self)
        return test


def multiply(test, parametrizers, cls, device_class):
    """All variants of a test."""
    found = [Variant(test)]
    for parametrizer in parametrizers:
        grown = []
        for old in found:
            for new in parametrizer.variants(old.function, cls, device_class):
                both = {**old.arguments, **new.arguments}
                decorators = functools.partial(lambda o, n, arguments: [*o(arguments), *n(arguments)], old.decorators, new.decorators)
                grown.append(Variant(new.function, join(new.suffix, old.suffix), both, decorators))
        found = grown
    return found


class subtest:
    """One row of parametrize with a name or decorators of its own."""

    def __init__(self, arg_values, name=None, decorators=None):
        self.arg_values, self.name, self.decorators = arg_values, name, decorators or []


class parametrize(Parametrizer):
    def __init__(self, arg_str, arg_values, name_fn=None):
        self.names = [s.strip() for s in arg_str.split(",") if s.strip()]
        self.rows, self.name_fn = arg_values, name_fn

    @staticmethod
    def _said(index, name, value):
        if is_dtype(value):
            return dtype_name(value)
        if isinstance(value, torch.device):
            return str(value)
        if isinstance(value, Absent):
            return value.__name__
        if hasattr(value, "formatted_name"):
            return value.formatted_name
        if isinstance(value, (int, float, str)):
            return f"{name}_{str(value).replace('.', '_')}"
        return f"{name}{index}"

    def variants(self, test, cls, device_class):
        if not self.names:
            yield Variant(test)
            return
        for index, row in enumerate(self.rows):
            name, decorators = None, []
            if isinstance(row, subtest):
                name, decorators, row = row.name, row.decorators, row.arg_values
            values = list(row) if len(self.names) > 1 else [row]
            if name is None and self.name_fn:
                name = self.name_fn(*values)
            elif name is None:
                name = "_".join(self._said(index, n, v) for n, v in zip(self.names, values))
            yield Variant(test, name, dict(zip(self.names, values)), functools.partial(lambda d, arguments: d, decorators))


class reparametrize(Parametrizer):
    """Another parametrizer's variants, changed or left out by a function of suffix and arguments."""

    def __init__(self, parametrizer, adapter_fn):
        self.parametrizer, self.adapter = parametrizer, adapter_fn

    def variants(self, test, cls, device_class):
        for v in self.parametrizer.variants(test, cls, device_class):
            for adapted in self.adapter(v.suffix, v.arguments) or ():
                if adapted is not None:
                    yield Variant(v.function, adapted[0], adapted[1], v.decorators)


class decorateIf(Parametrizer):
    """A decorator for the variants whose arguments satisfy a condition."""

    def __init__(self, decorator, predicate_fn):
        self.decorator, self.predicate = decorator, predicate_fn

    def variants(self, test, cls, device_class):
        yield Variant(test, "", {}, lambda arguments: [self.decorator] if self.predicate(arguments) else [])


class DtypeVariants(Parametrizer):
    """What @dtypes asks for; the name's dtype stands behind the device, so no suffix here."""

    def __init__(self, dtypes):
        self.dtypes = dtypes

    def variants(self, test, cls, device_class):
        for d in self.dtypes:
            yield Variant(test, "", {"dtypes" if isinstance(d, tuple) else "dtype": d})


def _refusing(name):
    """The test of a thing that is not there."""
    from torch_tests.absent import AbsentError

    def refuse(self):
        raise AbsentError(name)

    return refuse


def absent_argument(arguments):
    """The name of the first argument that Tenon lacks."""
    for value in arguments.values():
        for one in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(one, AbsentDtype):
                return f"dtype {one!r}"
            if isinstance(one, Absent):
                return one._absent
    return None


def bind(variant):
    """The method of a variant that takes no argument but self."""
    test = variant.function
    missing = absent_argument(variant.arguments)
    if missing:
        return _refusing(missing)
    for decorator in variant.decorators(variant.arguments):
        test = decorator(test)
    if isinstance(test, Absent):
        return _refusing(test._absent)

    @functools.wraps(test)
    def bound(self):
        return test(self, **variant.arguments)

    del bound.__wrapped__
    bound.__dict__.pop("parametrizers", None)
    return bound


def instantiate_parametrized_tests(cls):
    """Replaces the parametrized tests of a class by their variants."""
    for name in dir(cls):
        test = inspect.getattr_static(cls, name, None)
        parametrizers = getattr(test, "parametrizers", None)
        if parametrizers is None or isinstance(test, Absent):
            continue
        if name in cls.__dict__:
            delattr(cls, name)
        for v in multiply(test, parametrizers, cls, None):
            setattr(cls, join(name, v.suffix) if v.suffix else f"{name}_", bind(v))
    return cls


def refuse_absent(cls):
    """Tests of a class that a missing decorator swallowed become tests that are not applicable."""
    for name, value in list(vars(cls).items()):
        if name.startswith("test") and isinstance(value, Absent):
            setattr(cls, name, _refusing(value._absent))
    return cls
