"""What differs between what PyTorch recorded after a line and what is seen now."""

import math
import re

from .interpret import FIELDS
from .tolerance import bound


def on_cpu(text):
    """A message, or what was printed, as it would read on the CPU, where it was recorded."""
    text = re.sub(r",\s*device='cuda:0'", "", text or "").replace("torch.cuda.", "torch.")
    return re.sub(r"\s+", " ", re.sub(r"\bcuda(:0)?\b", "cpu", text))


def on_a_gpu(text):
    """A refusal's dtype, if a GPU's kernel refuses it: what PyTorch calls that kernel, the record of its CPU cannot say."""
    return re.fullmatch(r'"\w*(?:cuda|host_softmax)\w*"( not implemented for .*)', text)


def error_difference(want, got):
    """(kind, wanted, got) of what was raised, or None."""
    if want is None and got is None:
        return None
    if want is None or got is None or want[0] != got[0]:
        return "error class", want and ": ".join(want), got and ": ".join(got)
    kernel = on_a_gpu(got[1])
    same = want[1].endswith(kernel[1]) if kernel else on_cpu(want[1]) == on_cpu(got[1])
    if want[1] != got[1] and not same:
        return "error line", want[1], got[1]
    return None


def near(want, got, most):
    if type(want) is not type(got):
        return False
    if not isinstance(want, float):
        return want == got
    if math.isnan(want) or math.isnan(got):
        return math.isnan(want) and math.isnan(got)
    if want == got:
        return want != 0 or most != 0 or math.copysign(1, want) == math.copysign(1, got)
    return math.isfinite(got) and abs(want - got) <= most


def value_difference(want, got, most):
    """Where two lists of numbers differ: an index, or None."""
    for i, (a, b) in enumerate(zip(want, got)):
        if not near(a, b, most(a)):
            return i
    return None


def field_difference(name, want, got, most):
    """(kind, wanted, got) of one tensor; most(x): how far from x a value may be."""
    for field, a, b in zip(FIELDS, want, got):
        if field == "value":
            at = value_difference(a, b, most)
            if at is not None:
                return "gradient" if ".grad" in name else "value", f"{name}[{at}] = {a[at]!r} ({want[0]})", f"{b[at]!r}"
        elif a != b:
            return field, f"{name}: {a}", f"{b}"
    return None


def other_difference(name, want, got):
    """Of results that are no tensors. A float in them may differ in its last digits."""
    if isinstance(want, dict) and isinstance(got, dict) and want.keys() == got.keys():
        (key,) = want
        if key == "float":
            ok = near(float(want[key]), float(got[key]), 1e-6 * abs(want[key]))
        elif isinstance(want[key], list) and len(want[key]) == len(got[key]):
            return next((d for d in map(other_difference, [name] * len(want[key]), want[key], got[key]) if d), None)
        else:
            ok = want[key] == got[key]
    else:
        ok = type(want) is type(got) and (want == got or isinstance(want, str) and on_cpu(want) == on_cpu(got))
    return None if ok else ("result", f"{name} = {want}"[:200], f"{got}"[:200])


def difference(op, line, before, want, got):
    """(kind, wanted, got) of the first thing that differs between two observations, or None."""
    for name in want:
        if name not in got:
            return ("gradient" if ".grad" in name else "result"), f"{name} is there", "it is not"
        a, b = want[name], got[name]
        if isinstance(a, list) != isinstance(b, list):
            return "result", f"{name} = {a}"[:200], f"{b}"[:200]
        if isinstance(a, list):
            found = field_difference(name, a, b, lambda x, dtype=a[0]: bound(op, line, dtype, before, x))
        else:
            found = other_difference(name, a, b)
        if found:
            return found
    extra = [name for name in got if name not in want]
    return ("gradient" if ".grad" in extra[0] else "result", f"no {extra[0]}", f"{got[extra[0]]}"[:200]) if extra else None
