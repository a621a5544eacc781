"""Functions put together in Python that PyTorch has in C: their arguments are read by PyTorch's signatures, their dtypes judged
as PyTorch's kernels judge them, and their results written where out= says, or into their operand."""

import functools
import re

from . import _C


def kind(t):
    """What PyTorch's refusals call a dtype, or a tensor's: Float, Half, Long."""
    return (t if isinstance(t, _C.dtype) else t.dtype)._legacy


def refuse(kernel, t):
    """The refusal of a kernel that has not t's dtype. kernel: its name, with a * where the device is named."""
    raise NotImplementedError(f'"{kernel.replace("*", "cuda" if t.is_cuda else "cpu")}" not implemented for \'{kind(t)}\'')


def need_floating(kernel, t):
    """Refuses integers and bool."""
    if not t.is_floating_point():
        refuse(kernel, t)


def signature(*texts, kernel=None):
    """PyTorch's signatures of a function: what fits none of them raises PyTorch's TypeErrors. An 'out' in them, whose body need
    not ask for it, is where the result is written; the word behind it says how its dtype is judged (python/src/out.h). kernel:
    of functions that take floating dtypes alone, what their refusal is called."""
    check, check_method = _C._signature(*texts)
    name, _, rest = texts[0].partition("(")
    out_rule = re.search(r"[?] out@?(\w*)=", rest)

    def decorate(function):
        def called(*args, **kw):
            if kernel is not None:
                need_floating(kernel, args[0] if args else kw["input"])
            return function(*args, **kw)

        compute = called if kernel else function

        @functools.wraps(function)
        def checked(*args, **kw):
            check(*args, **kw)
            out = kw.pop("out", None)
            if out is None:
                return compute(*args, **kw)
            if out_rule[1] in ("made", "spaced"):  # factories make what 'out' keeps
                if kw.get("dtype") not in (None, out.dtype):
                    raise RuntimeError(f"dtype {kind(kw['dtype'])} does not match dtype of out parameter ({kind(out)})")
                kw.update(dtype=out.dtype, device=kw.get("device") or out.device)
            if out_rule[1] == "follow" and not (args[0] if args else kw["input"]).is_floating_point():
                return _C.sum(*args, out=out, **(kw if len(args) > 1 else {"dim": None, **kw}))
            if out_rule[1] == "follow":  # what is summed is summed in the dtype of 'out'
                if kw.get("dtype") not in (None, out.dtype):
                    raise RuntimeError(f"{name}: provided dtype must match dtype of result. Got {kind(out)} and {kind(kw['dtype'])}.")
                if not out.is_floating_point():
                    refuse(name + "_*", out)
                kw.update(dtype=out.dtype)
            return _C._write_out(out, compute(*args, **kw), name, out_rule[1], (*args, *kw.values()))

        @functools.wraps(function)
        def method(self, *args, **kw):
            check_method(self, *args, **kw)
            return compute(self, *args, **kw)

        checked.method, checked.compute, checked.texts = method, compute, texts
        return checked

    return decorate


def as_method(function):
    """The method of a function: takes no out=."""
    return getattr(function, "method", function)
