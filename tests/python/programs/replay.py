"""Runs recorded programs on Tenon, and says where each first differs from its record."""

from .compare import difference, error_difference
from .differences import named
from .interpret import Run, changed


def noted(op, what):
    """What is seen after each line comes here, if it did not raise: tests/python/digest.py puts a function of its own in this
    place."""


def resync(run, op, want, got):
    """Roundings that were allowed are taken back, so that the next line begins with PyTorch's numbers."""
    for name, what in want.items():
        if isinstance(what, list) and repr(what[-1]) != repr(got[name][-1]):
            try:
                run.set_values(name, what[-1])
            except Exception:  # noqa: BLE001: what cannot be written (overlapping elements) keeps its rounding
                pass


def replay(module, program, device):
    """None if all agrees, else {"step", "op", "line", "kind", "want", "got"} of the first difference, and its reason if it is named."""
    run, before = Run(module, device), {}
    for step, (op, line, error, new) in enumerate(program):
        raised = run.step(line)
        want = changed(before, new)
        found = error_difference(error, raised)
        reason = None
        if found is None or found[0] == "error line":
            got = run.observe()
            noted(op, got)
            found = difference(op, line, before, want, got) or found
            resync(run, op, want, got) if found is None else None
        if found:
            out = {"step": step, "op": op, "line": line, "kind": found[0], "want": found[1], "got": found[2]}
            reason = named(out, device, before, want, error, [line for _, line, _, _ in program[: step + 1]])
            if reason is None or found[0] != "error line":
                return {**out, "reason": reason.reason if reason else None}
        before = want
    return None
