"""What a program uses of PyTorch and Tenon lacks, from its text: `python -m tenon --missing program.py`. Nothing of it is run.

Names are followed through imports, their aliases, plain assignments (`nn = torch.nn`) and chains of attributes. Which objects are
tensors the text does not say: a method that only PyTorch's tensors have is listed as 'perhaps'. So is what stands where its
absence is expected: below `try:` with an except for it, and below `if hasattr(...)`.
"""

import ast
import importlib
import sys
import types
import warnings

from . import _missing

_ROOTS = ("torch", "tenon")
_EXPECTED = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}
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
        key = (node.lineno, path)
        self.used[key] = self.used.get(key, False) or not self.expected

    def bind(self, name, path):
        self.scope.names[name] = path

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
                    self.bind(name, f"{base}.{name}")
                continue
            self.use(node, f"{base}.{alias.name}")
            self.bind(alias.asname or alias.name, f"{base}.{alias.name}")

    # ---- uses ----

    def visit_Name(self, node):
        path = self.scope.find(node.id)
        if isinstance(node.ctx, ast.Load) and path and path != "torch":
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
        self.scope = _Scope(self.scope)
        for x in every:
            self.bind(x.arg, None)
        for child in node.body if isinstance(node.body, list) else [node.body]:
            self.visit(child)
        self.scope = self.scope.outer

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
        kinds = {n.id for h in node.handlers for n in ast.walk(h.type or ast.Name("Exception")) if isinstance(n, ast.Name)}
        self.guarded(node.body, bool(kinds & _EXPECTED))
        self.guarded([child for h in node.handlers for child in h.body] + node.orelse + node.finalbody, False)

    visit_TryStar = visit_Try

    def visit_If(self, node):
        asks = [n.func.id for n in ast.walk(node.test) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
        self.guarded([node.test, *node.body], "hasattr" in asks)
        self.guarded(node.orelse, False)


def missing_in(source, filename):
    """[(line, name, certain)] of what Tenon lacks, in the program's order. SyntaxError or ValueError: it is no Python."""
    reader = _Reader()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a strange escape, say: Python says it when the program runs
        reader.visit(ast.parse(source, filename))
    methods = _methods() - reader.own
    found = {}
    for (line, name), certain in reader.used.items():
        if name.startswith("."):
            if name[1:] in methods:
                found.setdefault((line, f"torch.Tensor{name}"), False)
            continue
        lacks = _resolve(name)[1]
        if lacks and (_missing.is_pytorchs(lacks) or not lacks.rpartition(".")[2].startswith("_")):
            found[line, lacks] = found.get((line, lacks), False) or certain
    return sorted((line, name, certain) for (line, name), certain in found.items())


def _line(path, line, name, certain):
    known = _missing.is_pytorchs(name)
    why = _missing.lacking(name) if known else "neither Tenon nor PyTorch has such a public name"
    return f"{path}:{line}: {'' if certain else 'perhaps '}{name}: {why}"


def report(paths):
    """What is missing in each file, as lines, and the exit status: 0 for nothing, 1 for something, 2 for a file that cannot be read
    as Python, of which standard error is told."""
    status, lines = 0, []
    for path in paths:
        try:
            with open(path, "rb") as file:
                found = missing_in(file.read(), path)
        except OSError as error:
            sys.stderr.write(f"python -m tenon --missing: can't open file {path!r}: {error.strerror or error}\n")
            status = 2
            continue
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = f", line {error.lineno}" if getattr(error, "lineno", None) else ""
            text = getattr(error, "msg", None) or str(error) or "nested too deeply"
            sys.stderr.write(f"python -m tenon --missing: {path}{line}: this is not a Python program: {text}\n")
            status = 2
            continue
        lines += [_line(path, *one) for one in found]
    status = status or int(len(lines) > 0)
    if not status:
        lines = [f"{', '.join(paths)}: Tenon has every name that the program{'' if len(paths) == 1 else 's'} uses"]
    return lines, status
