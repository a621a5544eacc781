"""How the sweep calls each public operation: from what tools/gen_ops says that Python calls it (python_entries.txt), by its
signature, and from bench/sweep_calls.txt, where a signature does not say it. bench/sweep_worker.py has what the names of
arguments stand for.
"""
import pathlib
from typing import NamedTuple

HERE = pathlib.Path(__file__).parent
KINDS = ("unary", "binary", "ternary")  # of rows.h: elementwise
MOVING = ("activation", "arrange", "copy", "elementwise")  # families that are held against the bytes they move

# Arguments by what signatures call them, then by their type; a parameter that has neither needs a line in sweep_calls.txt.
BY_NAME = {
    "condition": "m", "mask": "m", "target": "t", "dim": "1", "dim0": "0", "dim1": "1", "axis0": "0", "axis1": "1", "p": "v",
    "start_dim": "0", "diagonal": "0", "mat2": "w", "mat1": "x", "vec2": "y[0]",
}
BY_TYPE = {"Tensor": "y", "Operand": "y", "Number": "v", "float": "v", "bool": "True", "Tensor[]": "[x, y]", "Tensor*": "x, y",
           "Tensor[]*": "x, y"}


class Call(NamedTuple):
    """One line of the sweep: its name, the Python expression, whether the bytes it moves are its limit, and whether it takes out=."""

    name: str
    code: str
    limit: str  # "move", "fill" (it reads nothing) or ""
    out: bool


def entries(text):
    """Lines of python_entries.txt: (row, kind, family, rule, where, name, callee, signatures)."""
    for line in text.splitlines():
        *head, signatures = line.split("\t", 7)
        yield *head, signatures.split("\t")


def operations(text):
    """{key: (row's kind, family, where, name, signature)}: of each row the entry that is found first with each function of its
    own; forms in place and other names of the same function are left out where there is another."""
    found = {}
    for row, kind, family, _, where, name, callee, signatures in entries(text):
        if "I" in where or "B" in where:
            continue
        key = (row, callee)
        if key not in found:
            found[key] = (kind, family, where, name, signatures[0])
    named = {}
    for (row, _), of in found.items():
        name = of[3] if of[3].startswith("_") else _shown(of[2], of[3])
        if name not in named:
            named[name] = of
    return named


def _shown(where, name):
    """As users write it: F.relu6, special.zeta, x.fill_, add."""
    if "P" in where and "T" not in where:
        return f"special.{name}"
    if "S" in where:  # also where torch has it: into a copy
        return f"x.{name}"
    return f"F.{name}" if "T" not in where and "F" in where else name if "T" in where else f"x.{name}"


def derived(signature):
    """The arguments that are needed, by their names and types; None where one of them says too little."""
    inside = signature[signature.index("(") + 1:signature.rindex(")")]
    given = []
    for i, part in enumerate(p.strip() for p in inside.split(",")):
        if part == "*" or "=" in part:
            break
        kind, name = part.split(" ", 1)
        name = name.split("@")[0]
        value = BY_NAME.get(name) or BY_TYPE.get(kind.rstrip("?"))
        if i == 0 and kind in ("Tensor", "Operand"):
            value = "x"
        if value is None:
            return None
        given.append(value)
    return ", ".join(given) if given else None


def written(text):
    """sweep_calls.txt: {name: [lines]}; a line is arguments, '= expression', or '- reason'."""
    lines = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, rest = line.partition(" ")
            lines.setdefault(name, []).append(rest.strip())
    return lines


def _call(name, where, arguments):
    """The expression: what writes into its tensor writes into z, a copy of x."""
    if name.startswith("x."):
        first, _, rest = arguments.partition(",")
        first = "z" if name.endswith("_") and first == "x" else first
        return f"{first}.{name[2:]}({rest.strip()})"
    if name.startswith("_"):
        return None  # what a public function calls: its line is an expression
    return f"{name}({arguments})" if name.startswith("F.") else f"torch.{name}({arguments})"


def calls(text, lines=None):
    """(the calls, {name: reason} of those that are left out, [names nobody says how to call])"""
    lines = written((HERE / "sweep_calls.txt").read_text()) if lines is None else lines
    found, out, unknown = [], {}, []
    known = operations(text)
    for name, (kind, family, where, _, signature) in known.items():
        limit = "fill" if family == "factory" else "move" if kind in KINDS or family in MOVING else ""
        for given in lines.get(name, [derived(signature)]):
            if given and given.startswith("- "):
                out[name] = given[2:]
                continue
            code = None if given is None else given[2:] if given.startswith("= ") else _call(name, where, given)
            if code is None:
                unknown.append(name)
            else:
                found.append(Call(shown(code), code, limit, "Tensor? out" in signature and code.startswith(f"torch.{name}(")))
    for name in lines:
        if name not in known:  # functions of Python's own
            found += [Call(shown(g[2:]), g[2:], "", False) for g in lines[name] if g.startswith("= ")]
    return found, out, unknown


def stale(text, lines):
    """Names of sweep_calls.txt that are neither a row's nor expressions of Python's own functions."""
    return [name for name in lines if name not in operations(text) and not all(g.startswith("= ") for g in lines[name])]


def shown(code):
    return code.removeprefix("torch.")
