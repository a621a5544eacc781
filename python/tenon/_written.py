"""Results that go into a tensor that is there: out=, and in-place forms, of functions put together in Python."""

import functools

from . import _C


def with_out(function):
    """The function, with its result written into the tensor that out= names. Its signature says out=None; its body is not
    asked."""

    @functools.wraps(function)
    def written(*args, out=None, **kw):
        result = function(*args, **kw)
        if out is None:
            return result
        name = function.__name__
        if not isinstance(out, _C.Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
        if result.requires_grad:
            raise RuntimeError(f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                               "arguments requires grad.")
        return _C._write_out(out, result, name)

    written.without_out = function
    return written


def _no_out(function, kw):
    if "out" in kw:
        raise TypeError(f"{function.__name__}() got an unexpected keyword argument 'out'")


def as_method(function):
    """The method of a function: takes no out=."""
    inner = getattr(function, "without_out", None)
    if inner is None:
        return function

    @functools.wraps(inner)
    def method(self, *args, **kw):
        _no_out(inner, kw)
        return inner(self, *args, **kw)

    return method


def in_place(function):
    """The method NAME_ of a function: computes beside its first operand, then writes into it. Where that is recorded, of a
    copy, so that nothing that is kept for backward is written over."""

    def method(self, *args, **kw):
        _no_out(method, kw)
        recorded = _C.is_grad_enabled() and any(isinstance(x, _C.Tensor) and x.requires_grad for x in (self, *args))
        return _C._put_into(self, function(self.clone() if recorded else self, *args, **kw))

    method.__name__ = method.__qualname__ = function.__name__ + "_"
    method.__doc__ = f"{function.__name__}, in place"
    return method
