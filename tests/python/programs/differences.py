"""The differences from PyTorch that are meant. Each names its operation, what differs and how, and why."""

import collections
import re

# operation, kind, wanted, got: regular expressions that match the whole; device: where (None: everywhere)
Difference = collections.namedtuple("Difference", "operation kind wanted got reason device", defaults=(None,))

DIFFERENCES = [
    Difference("flag", "version", r"v\d+: \d+", r"\d+",
               "x.data = y counts as a write: a graph that saved x would go on with other numbers, and is told so"),
    Difference("topk", "value", r"[rv]\d+\[1\]\[\d+\] = \d+ \(int64\)", r"\d+", "topk does not say which of equal elements it names"),
    Difference("sort|topk|max|min", "result", r"r\d+ = \{'(sort|topk|max|min)_out': .*", r"\{'(sort|topk|max|min)': .*",
               "named tuples of out= forms are of the operation's own class: one class for what has the same fields"),
    Difference("type", "result", r".* = torch\.\w+Tensor", r"torch\.cuda\.\w+Tensor", "the type's name says the device", "cuda"),
    Difference("addmm|addmm_|baddbmm|baddbmm_", "value", rf"[rv]\d+\[\d+\] = (nan|inf|-inf) .*", "nan|inf|-inf",
               "alpha, which is infinite or multiplies what is, is applied to the product and not to its terms: infinity or NaN"),
]


def named(found, device):
    """The Difference that explains what was found, or None."""
    for d in DIFFERENCES:
        fits = re.fullmatch(d.operation, found["op"]) and re.fullmatch(d.kind, found["kind"]) and d.device in (None, device)
        if fits and re.fullmatch(d.wanted, str(found["want"])) and re.fullmatch(d.got, str(found["got"])):
            return d
    return None
