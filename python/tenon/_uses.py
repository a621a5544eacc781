"""What a program uses of PyTorch and Tenon lacks, from its text: `python -m tenon --missing program.py`. Nothing of it is run.

Names are followed through imports, their aliases, plain assignments (`nn = torch.nn`) and chains of attributes. Which objects are
tensors the text does not say: a method that only PyTorch's tensors have is listed as 'perhaps'. So is what stands where its
absence is expected: below `try:` with an except for it, `with contextlib.suppress(...)`, `if hasattr(...)` and `if TYPE_CHECKING`;
and what a name stands for that was imported there. Of a notebook (.ipynb) the cells of code are read, without the lines that only
IPython knows.
"""

import ast
import builtins
import importlib
import json
import re
import sys
import types
import warnings

from . import _missing

_ROOTS = ("torch", "tenon")
_EXPECTED = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}
_PERHAPS = "?"  # before the path of a name that was bound where its absence is expected
_COMMON = {name for kind in (str, bytes, list, dict, set, tuple, int, float, complex, types.GeneratorType) for name in dir(kind)}


def _resolve(path):
    """The object that Tenon has for a name of PyTorch, and None; or None and the part of the name that is missing."""
    parts = path.split(".")
    found, place = importlib.import_module("tenon"), "tenon"
    for i, part in enumerate(parts[1:], 1):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(f"{place}.{part}") if isinstance(found, types.ModuleType) else None
            except ImportError:
                found = None
            if found is None:
                return None, ".".join(parts[: i + 1])
        if not isinstance(found, (types.ModuleType, type)):
            return found, None  # what comes of it only a run can tell
        place = f"{place}.{part}"
    return found, None


def _methods():
    """Names that tensors have in PyTorch, and nothing in Tenon or Python has."""
    known = set(_COMMON)
    for place in ("tenon", "tenon.nn", "tenon.optim", "tenon.optim.lr_scheduler", "tenon.utils.data", "tenon.autograd.graph", "tenon.cuda"):
        for thing in vars(importlib.import_module(place)).values():
            known.update(dir(thing) if isinstance(thing, type) else ())
    return _missing.names()["torch.Tensor"] - known


class _Scope:
    """Names of a function, class or file: what they stand for, as a path of PyTorch; None for anything else."""

    def __init__(self, outer=None, is_class=False):
        self.names = {}
        self.outer = outer
        self.is_class = is_class
        self.globals = set()

    def find(self, name):
        scope = self
        while scope is not None:
            if name in scope.names and (scope is self or not scope.is_class):
                return scope.names[name]
            scope = scope.outer
        return None


class _Reader(ast.NodeVisitor):
    def __init__(self):
        self.scope = _Scope()
        self.used = {}  # (line, name) to whether it is certain
        self.own = set()  # names that the program gives to attributes and methods itself
        self.foreign = set()  # names of other packages, whose attributes are theirs
        self.expected = 0  # how many guards around
        self.instead = 0  # how many handlers of such guards around
        self.later = []  # bodies of functions, which run when the names around them are all there
        self.late_globals = False

    def read(self, tree):
        self.visit(tree)
        first, used = self.later, dict(self.used)
        self.run(first)
        if self.late_globals:  # names that functions give to the file: for the functions before them
            self.used = used
            self.run(first)

    def run(self, bodies):
        while bodies:
            self.later = []
            for scope, body, self.expected in bodies:
                self.scope = scope
                for child in body:
                    self.visit(child)
            bodies = self.later

    # ---- names ----

    def path_of(self, node):
        """'torch.nn.Conv2d' for such a chain; or None."""
        rest = []
        while isinstance(node, ast.Attribute):
            rest.append(node.attr)
            node = node.value
        base = self.scope.find(node.id) if isinstance(node, ast.Name) else None
        return ".".join([base, *reversed(rest)]) if base else None

    def use(self, node, path):
        key = (node.lineno, path.removeprefix(_PERHAPS))
        self.used[key] = self.used.get(key, False) or not (self.expected or path.startswith(_PERHAPS))

    def bind(self, name, path):
        scope = self.scope
        if name in scope.globals:
            self.late_globals = True
            while scope.outer is not None:
                scope = scope.outer
        if self.instead and path is None and scope.names.get(name):
            return  # `x = None` below `except ImportError`
        if self.expected and path and not path.startswith(_PERHAPS) and _resolve(path)[1]:
            path = _PERHAPS + path
        scope.names[name] = path

    # ---- imports ----

    def visit_Import(self, node):
        for alias in node.names:
            root, path = alias.name.partition(".")[0], alias.name
            if root not in _ROOTS:
                self.foreign.add(alias.asname or root)
                self.bind(alias.asname or root, None)
                continue
            path = "torch" + path[len(root) :]
            self.use(node, path)
            self.bind(alias.asname or root, path if alias.asname else "torch")

    def visit_ImportFrom(self, node):
        root = (node.module or "").partition(".")[0]
        if node.level or root not in _ROOTS:
            self.foreign.update(alias.asname or alias.name for alias in node.names)
            for alias in node.names:
                self.bind(alias.asname or alias.name, None)
            return
        base = "torch" + node.module[len(root) :]
        self.use(node, base)
        for alias in node.names:
            if alias.name == "*":
                for name in _missing.names().get(base, ()):
                    if not hasattr(builtins, name):  # whoever says `complex` means Python's
                        self.bind(name, f"{base}.{name}")
                continue
            self.use(node, f"{base}.{alias.name}")
            self.bind(alias.asname or alias.name, f"{base}.{alias.name}")

    # ---- uses ----

    def visit_Name(self, node):
        path = self.scope.find(node.id)
        if isinstance(node.ctx, ast.Load) and path and path.removeprefix(_PERHAPS) != "torch":
            self.use(node, path)

    def visit_Attribute(self, node):
        path = self.path_of(node)
        if path:
            if isinstance(node.ctx, ast.Load):
                self.use(node, path)
            return
        if not isinstance(node.ctx, ast.Load):
            self.own.add(node.attr)
        self.visit(node.value)

    def visit_Call(self, node):
        of = node.func
        if isinstance(of, ast.Attribute) and not self.path_of(of) and not self.is_foreign(of):
            self.used.setdefault((of.end_lineno, f".{of.attr}"), False)
        self.generic_visit(node)

    def is_foreign(self, node):
        while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
            node = node.func if isinstance(node, ast.Call) else node.value
        return isinstance(node, ast.Name) and node.id in self.foreign or isinstance(node, ast.Constant)

    # ---- what gives names another meaning ----

    def visit_Assign(self, node):
        self.visit(node.value)
        path = self.path_of(node.value)
        for target in node.targets:
            self.assign(target, path)

    def visit_AnnAssign(self, node):
        self.visit(node.annotation)
        if node.value:
            self.visit(node.value)
        self.assign(node.target, self.path_of(node.value) if node.value else None)

    def visit_NamedExpr(self, node):
        self.visit(node.value)
        self.assign(node.target, self.path_of(node.value))

    def visit_Global(self, node):
        self.scope.globals.update(node.names)

    def assign(self, target, path=None):
        if isinstance(target, ast.Name):
            self.bind(target.id, path)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for t in target.elts:
                self.assign(t)
        else:
            self.visit(target.value if isinstance(target, ast.Starred) else target)

    def visit_For(self, node):
        self.visit(node.iter)
        self.assign(node.target)
        for child in node.body + node.orelse:
            self.visit(child)

    visit_AsyncFor = visit_For

    def visit_comprehension(self, node):
        self.visit(node.iter)
        self.assign(node.target)
        for test in node.ifs:
            self.visit(test)

    def visit_comprehended(self, node):
        self.scope = _Scope(self.scope)
        for generator in node.generators:
            self.visit(generator)
        for part in ("key", "value", "elt"):
            if hasattr(node, part):
                self.visit(getattr(node, part))
        self.scope = self.scope.outer

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_comprehended

    def visit_withitem(self, node):
        self.visit(node.context_expr)
        if node.optional_vars:
            self.assign(node.optional_vars)

    def visit_function(self, node):
        a = node.args
        for part in [*getattr(node, "decorator_list", ()), *a.defaults, *(d for d in a.kw_defaults if d)]:
            self.visit(part)
        every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(x for x in (a.vararg, a.kwarg) if x)]
        for annotation in [x.annotation for x in every if x.annotation] + [r for r in [getattr(node, "returns", None)] if r]:
            self.visit(annotation)
        if hasattr(node, "name"):
            self.own.add(node.name)
            self.bind(node.name, None)
        scope = _Scope(self.scope)
        scope.names = {x.arg: None for x in every}
        self.later.append((scope, node.body if isinstance(node.body, list) else [node.body], self.expected))

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_function

    def visit_ClassDef(self, node):
        for part in [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]:
            self.visit(part)
        self.bind(node.name, None)
        self.scope = _Scope(self.scope, is_class=True)
        for child in node.body:
            self.visit(child)
        self.own.update(self.scope.names)
        self.scope = self.scope.outer

    # ---- guards ----

    def guarded(self, nodes, is_guarded):
        self.expected += is_guarded
        for node in nodes:
            self.visit(node)
        self.expected -= is_guarded

    def visit_Try(self, node):
        expected = any(_names_expected(h.type) for h in node.handlers)
        self.guarded(node.body, expected)
        self.instead += expected
        self.guarded([child for h in node.handlers for child in h.body], False)
        self.instead -= expected
        self.guarded(node.orelse + node.finalbody, False)

    visit_TryStar = visit_Try

    def visit_With(self, node):
        calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        suppressed = any(_last(c.func) == "suppress" and any(map(_names_expected, c.args)) for c in calls)
        self.guarded(node.items, False)
        self.guarded(node.body, suppressed)

    visit_AsyncWith = visit_With

    def visit_If(self, node):
        nodes = [part if isinstance(part, list) else [part] for part in (node.body, node.orelse)]
        asks, denies = _asks(node.test)
        self.guarded([node.test], asks)
        self.guarded(nodes[0], asks and not denies)
        self.guarded(nodes[1], asks and denies)

    visit_IfExp = visit_If

    def visit_BoolOp(self, node):
        asks = False
        for part in node.values:
            asks = asks or _asks(part)[0]
            self.guarded([part], asks)


def _last(node):
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


def _names_expected(kind):
    """Does an `except kind:` stand for a name that is missing? A bare one does."""
    return kind is None or any(_last(n) in _EXPECTED for n in ast.walk(kind))


def _asks(test):
    """Does a condition ask whether a name is there, or whether it is a type checker that reads? And does it ask for no?"""
    def asks(n):
        return _last(n.func) == "hasattr" if isinstance(n, ast.Call) else _last(n) == "TYPE_CHECKING"

    denied = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    return any(map(asks, ast.walk(test))), denied


# ---- notebooks ----

_IPYTHON = re.compile(r"\s*([%!?]|[\w, .]+=\s*[%!]|[\w.]+\?+\s*$)")


def _cells(content):
    """A notebook's code as one program, and the cell and line in it that each line was; ValueError: it is no notebook."""
    try:
        cells = json.loads(content)["cells"]
        texts = [(i, "".join(c["source"])) for i, c in enumerate(cells, 1) if c["cell_type"] == "code"]
    except (KeyError, TypeError):
        raise ValueError("a notebook without cells") from None
    lines, places = [], []
    for i, text in texts:
        foreign = text.lstrip().startswith("%%") and not re.match(r"%%(time|timeit|capture)\b", text.lstrip())
        for k, line in enumerate(text.splitlines(), 1):
            if foreign or _IPYTHON.match(line) and not line.lstrip().startswith("#"):
                line = line[: len(line) - len(line.lstrip())] + "pass"
            lines.append(line)
            places.append(f"cell {i}:{k}")
    return "\n".join(lines) + "\n", places


def missing_in(source, filename):
    """[(line, name, certain)] of what Tenon lacks, in the program's order. SyntaxError or ValueError: it is no Python."""
    reader = _Reader()
    limit = sys.getrecursionlimit()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a strange escape, say: Python says it when the program runs
        try:
            sys.setrecursionlimit(max(limit, 50_000))  # some for each level of what Python's parser takes
            reader.read(ast.parse(source, filename))
        finally:
            sys.setrecursionlimit(limit)
    methods = _methods() - reader.own
    found = {}
    for (line, name), certain in reader.used.items():
        if name.startswith("."):
            if name[1:] in methods:
                found.setdefault((line, f"torch.Tensor{name}"), False)
            continue
        lacks = _resolve(name)[1]
        if lacks and not lacks.endswith("__"):
            found[line, lacks] = found.get((line, lacks), False) or certain
    return sorted((line, name, certain) for (line, name), certain in found.items())


def _line(path, line, name, certain):
    if _missing.is_pytorchs(name):
        why = _missing.lacking(name)
    elif name.rpartition(".")[2].startswith("_"):
        why = "Tenon does not have what PyTorch keeps to itself"
    else:
        why = "neither Tenon nor PyTorch has such a public name"
    return f"{path}:{line}: {'' if certain else 'perhaps '}{name}: {why}"


def _place(places, line, word="line "):
    return places[min(line, len(places)) - 1] if places else f"{word}{line}"


def report(paths):
    """What is missing in each file, as lines, and the exit status: 0 for nothing, 1 for something, 2 for a file that cannot be read
    as Python, of which standard error is told."""
    status, lines = 0, []
    for path in paths:
        places = None
        try:
            with open(path, "rb") as file:
                content = file.read()
            if path.endswith(".ipynb"):
                content, places = _cells(content)
            found = missing_in(content, path)
        except OSError as error:
            sys.stderr.write(f"python -m tenon --missing: can't open file {path!r}: {error.strerror or error}\n")
            status = 2
            continue
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None)
            line = f", {_place(places, line)}" if line else ""
            text = getattr(error, "msg", None) or str(error) or "nested too deeply"
            sys.stderr.write(f"python -m tenon --missing: {path}{line}: this is not a Python program: {text}\n")
            status = 2
            continue
        lines += [_line(path, _place(places, line, ""), name, certain) for line, name, certain in found]
    status = status or int(len(lines) > 0)
    if not status:
        lines = [f"{', '.join(paths)}: Tenon has every name that the program{'' if len(paths) == 1 else 's'} uses"]
    return lines, status
