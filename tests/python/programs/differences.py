"""The differences from PyTorch that are meant. Each names its operation, what differs and how, and why."""

import collections
import re

# operation, kind, wanted, got: regular expressions that match the whole; device: where (None: everywhere)
Difference = collections.namedtuple("Difference", "operation kind wanted got reason device", defaults=(None,))

DIFFERENCES = []


def named(found, device):
    """The Difference that explains what was found, or None."""
    for d in DIFFERENCES:
        fits = re.fullmatch(d.operation, found["op"]) and re.fullmatch(d.kind, found["kind"]) and d.device in (None, device)
        if fits and re.fullmatch(d.wanted, str(found["want"])) and re.fullmatch(d.got, str(found["got"])):
            return d
    return None
