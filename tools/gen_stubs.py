#!/usr/bin/env python3
"""Writes the .pyi stubs of the Python package.     gen_stubs.py SOURCE SIGNATURES OUT

SOURCE is the folder python/, SIGNATURES what gen_ops says of the operations (a line an entry), OUT the package in the
build. Nothing is imported: signatures come from the list of operations, the methods written in C from the tables in src/*.c, whose
documentation begins with 'name(parameters) -> result', the rest from the Python files themselves; what no table says
(the classes' operators, for example) stands in stubs/_C.in.pyi. Parameters of Python functions get a type where the name
or the default tells one; what gets none is Any.
"""
import ast
import pathlib
import re
import sys
import textwrap

STRING = r'"((?:[^"\\]|\\.)*)"'


def unquote(text):
    """The value of C string literals that stand side by side."""
    return "".join(ast.literal_eval(f'"{part}"') for part in re.findall(STRING, text))


# ---- the list of operations ----

KINDS = {
    "Tensor": "Tensor",
    "Operand": "Tensor | _Number",
    "Number": "_Number",
    "Tensor[]": "Sequence[Tensor]",
    "Tensor[2]": "Sequence[Tensor]",
    "Tensor*": "Tensor",
    "Tensor[]*": "Tensor | Sequence[Tensor]",
    "int": "_int",
    "dim": "_int",
    "float": "_float",
    "bool": "_bool",
    "str": "str",
    "int[]": "Sequence[_int]",
    "int[1]": "_int | Sequence[_int]",
    "size": "_int | Sequence[_int]",
    "dtype": "_dtype",
    "device": "_DeviceLike",
    "object": "Any",
    "memory_format": "memory_format",
    "reduction": "str",
    "Reduction": "_int",
    "nothing": "None",
}
PIECES = "tuple[Tensor, ...]"
RESULTS = {  # of what is written by hand; everything else gives a Tensor
    "allclose": "_bool",
    "broadcast_tensors": PIECES,
    "meshgrid": PIECES,
    "equal": "_bool",
    "is_conj": "_bool",
    "is_neg": "_bool",
    "is_same_size": "_bool",
    "is_set_to": "_bool",
    "chunk": PIECES,
    "split": PIECES,
    "tensor_split": PIECES,
    "unbind": PIECES,
    "var_mean": "tuple[Tensor, Tensor]",
    "std_mean": "tuple[Tensor, Tensor]",
    "nonzero": f"Tensor | {PIECES}",
    "record_stream": "None",
}


SENTENCES = {}  # of functions of torch.nn.functional and torch, by name


def rows(text):
    """(where, name, call, signatures, doc, named) of every entry; named: the class of its results, and their names."""
    for line in text.splitlines():
        where, name, call, named, doc, *signatures = line.split("\t")
        yield re.sub("[ISB]", "M", where), name, call, signatures, doc, named.split()


def parameters(signature):
    """[(kind, optional, name, default or None)] and '*'."""
    for item in re.split(r", (?![^\[]*\])", signature[signature.index("(") + 1 : -1]):
        if item == "*":
            yield "*"
        elif item:
            kind, rest = item.split(" ", 1)
            name, _, default = rest.partition("=")
            yield kind.rstrip("?"), kind.endswith("?"), name.split("@")[0], default or None


def typed(signature, method, one_by_one=False):
    """The parameters as Python writes them; None where the signature is none of a method."""
    out, keyword_only = [], False
    for i, parameter in enumerate(parameters(signature)):
        if parameter == "*":
            keyword_only = keyword_only or out and out[-1].startswith("*")
            out += [] if keyword_only else ["*"]
            continue
        kind, optional, name, default = parameter
        if method and i == 0:
            if kind != "Tensor" and name != "input":
                return None
            out.append("self")
            continue
        hint = KINDS[kind] + (" | None" if optional and kind not in ("object", "nothing") else "")
        if kind.endswith("*"):
            out.append(f"*{name}: {KINDS[kind]}")
            continue
        if kind == "size" and one_by_one:
            out.append(f"*{name}: _int")
            continue
        if kind == "reduction" and default:
            default = f'"{default}"'
        name = f"{name}_" if name in ("from", "self") else name
        out.append(f"{name}: {hint}" + (f" = {default}" if default else ""))
    return ", ".join(out)


def result_of(call, signature, signatures, named):
    if named:  # where some of the signatures have several results, out= says which
        several = "Tensor[" in signature or not any("Tensor[" in s for s in signatures)
        return f"return_types.{named[0]}" if several else "Tensor"
    if call.startswith("atleast_") and "*" in signature:
        return PIECES
    if call == "where" and "other" not in signature:
        return PIECES
    return RESULTS.get(call, "Tensor")


def definition(name, versions, doc, indent):
    """One function, or the overloads of one; versions: [(parameters, result)]."""
    pad = " " * indent
    out = []
    for i, (args, result) in enumerate(versions):
        out += [f"{pad}@overload"] if len(versions) > 1 else []
        line = f"{pad}def {name}({args}) -> {result}:"
        if i == 0 and doc:
            text = textwrap.fill(doc, 118 - indent).replace("\n", f"\n{pad}    ")
            quoted = text.replace("\\", "\\\\").replace('"""', "'''")
            out += [line, f'{pad}    """{quoted}{" " if quoted.endswith(chr(34)) else ""}"""', f"{pad}    ..."]
        else:
            out.append(line + " ...")
    return out


def operations(listing):
    """Lines of the functions of torch, of torch.nn.functional, of torch.special, and of Tensor's methods; by name."""
    doors = {"T": {}, "M": {}, "F": {}, "P": {}}
    for where, name, call, signatures, doc, named in rows(listing):
        for door in where:
            if door == "F" or door == "T":
                SENTENCES[name] = doc if door == "F" else SENTENCES.get(name, doc)
            versions = []
            for signature in signatures:
                result = result_of(call, signature, signatures, named)
                spread = (False, True) if re.match(r"\w+\((Tensor input, )?size \w+(@\w+)?(, \*|\))", signature) else (False,)
                for one_by_one in spread:
                    args = typed(signature, door == "M", one_by_one)
                    if args is not None and (args, result) not in versions:
                        versions.append((args, result))
            doors[door][name] = definition(name, versions, doc, 4 if door == "M" else 0)
    return doors


# ---- the tables in src/*.c ----


def c_methods(text, table):
    """{name: lines} of the table: entries whose documentation begins with a signature."""
    start = re.search(rf"PyMethodDef {table}\[\] = {{", text).end()
    body = text[start : text.index("\n};", start)]
    found = {}
    for m in re.finditer(rf'(?:{{|HAND\()"(\w+)",[^"]*?((?:{STRING}\s*)+)[}})]', body):
        signature, _, doc = unquote(m[2]).partition("\n\n")
        parts = re.fullmatch(r"\w+\((.*)\)(?: -> (.*))?", signature)
        if parts:
            found[m[1]] = (parts[1], parts[2] or "None", doc)
    return found


def as_method(name, entry, indent=4):
    args, result, doc = entry
    args = re.sub(r"\b(int|float|bool|dtype|Number)\b(?!\()", r"_\1", args)
    result = re.sub(r"\b(int|float|bool|dtype)\b", r"_\1", result)
    if indent:
        args = f"self, {args}" if args else "self"
    return definition(name, [(args, result)], doc, indent)


GETSET = {
    "shape": "Size", "dtype": "_dtype", "device": "_device", "ndim": "_int", "itemsize": "_int", "nbytes": "_int",
    "grad": "Tensor | None", "grad_fn": "Node | None", "data": "Tensor", "layout": "layout", "name": "None", "output_nr": "_int", "T": "Tensor", "mT": "Tensor", "H": "Tensor",
}  # fmt: skip


def attributes(text):
    """Tensor's attributes, as properties with their documentation."""
    start = text.index("py_tensor_getset[] = {")
    for m in re.finditer(rf'{{"([a-zA-Z]\w*)", \w+, (\w+), {STRING}', text[start:]):
        hint = GETSET.get(m[1], "_bool")
        yield from ["    @property", *definition(m[1], [("self", hint)], m[3], 4)]
        if m[2] != "NULL":
            yield from [f"    @{m[1]}.setter", f"    def {m[1]}(self, value: {hint}) -> None: ..."]


# ---- core/dtypes.def ----

DTYPES = []  # of torch: float32, float
CONVERSIONS = []  # of Tensor: float()
CONSTRUCTORS = []  # of torch and torch.cuda: FloatTensor
STORAGES = []  # of torch: FloatStorage


def read_dtypes(text):
    """Fills them."""
    columns = re.search(r"DTYPE\((ID,[^)]*)\)", text.replace("\n *", ""))[1].replace(" ", "").split(",")
    for row in re.findall(r"^DTYPE\((.*)\)$", text, re.M):
        values = dict(zip(columns, (v.strip(' "').replace("NULL", "") for v in row.split(",")), strict=True))
        DTYPES.extend(filter(None, (values["name"], values["older"])))
        CONVERSIONS.extend(filter(None, [values["method"]]))
        CONSTRUCTORS.extend([f"{values['legacy']}Tensor"] if values["has"] == "FULL" else [])
        STORAGES.extend([f"{values['legacy']}Storage"] if values["has"] == "FULL" else [])


def extension(source, signatures):
    doors = operations(signatures)
    read = lambda name: (source / "src" / f"{name}.c").read_text()
    functions = dict(doors["T"])
    for name in ("settings", "generator", "autograd", "storage", "buffer"):
        text = read(name)
        if re.search(r"PyMethodDef functions\[\]", text):
            functions.update({n: as_method(n, e, 0) for n, e in c_methods(text, "functions").items() if n[0] != "_"})
    methods = {**doors["M"], **{n: as_method(n, e) for n, e in c_methods(read("tensor_methods"), "py_tensor_methods").items()}}
    methods.update({n: as_method(n, ("", "Tensor", "Its values in that dtype.")) for n in CONVERSIONS})
    python = ast.parse((source / "tenon" / "_tensor.py").read_text())
    for node in python.body:
        if isinstance(node, ast.FunctionDef) and (node.name[0] != "_" or node.name.startswith("__")):
            node.name = "type" if node.name == "type_" else node.name
            methods[node.name] = function(node, 4, "Tensor")
    for path in sorted((source / "tenon" / "_functions").glob("*.py")):
        methods.update(python_methods(ast.parse(path.read_text())))
    generator = {n: as_method(n, e) for n, e in c_methods(read("generator"), "methods").items()}
    text = (source / "stubs" / "_C.in.pyi").read_text()
    for mark, lines in {
        "# <functions>": functions.values(),
        "    # <attributes>": [list(attributes(read("tensor_attr")))],
        "    # <methods>": methods.values(),
        "    # <generator>": generator.values(),
        "# <dtypes>": [[f"{n}: _dtype" for n in DTYPES]],
    }.items():
        assert mark in text, mark
        text = text.replace(mark, "\n".join(line for part in lines for line in part))
    return text, {**doors["P"], **doors["F"]}


def python_methods(tree):
    """Those functions of a module of _functions/ that its METHODS names, as methods; and, in place, those of IN_PLACE."""
    lists = {ast.unparse(n.targets[0]): n.value for n in tree.body if isinstance(n, ast.Assign)}
    names, in_place = (ast.literal_eval(lists[n]) if n in lists else [] for n in ("METHODS", "IN_PLACE"))
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or node.name not in names:
            continue
        node.args.args[0].arg = "self"
        if node.args.kwonlyargs and node.args.kwonlyargs[-1].arg == "out":
            node.args.kwonlyargs.pop()
            node.args.kw_defaults.pop()
        yield node.name, function(node, 4, "Tensor")
        if node.name in in_place:
            node.name += "_"
            yield node.name, function(node, 4, "Tensor")


# ---- the Python files ----

NAMES = {  # what a parameter of this name is, whatever its default
    **dict.fromkeys("input target other tensor self_ weight src anchor positive negative".split(), "Tensor"),
    **dict.fromkeys("device".split(), "DeviceLike"),
    **dict.fromkeys("dtype".split(), "dtype | None"),
    **dict.fromkeys("generator".split(), "Generator | None"),
    **dict.fromkeys("in_features out_features num_embeddings embedding_dim num_classes start_dim end_dim dim "
                    "last_epoch step_size total_steps epochs steps_per_epoch total_iters T_max T_0 T_mult "
                    "num_workers seed ndigits new_seed upscale_factor num_parameters".split(), "int"),
    "padding_idx": "int | None",
    "batch_size": "int | None",
    "optimizer": "Optimizer",
}  # fmt: skip


def hint(name, default):
    """The type of a parameter, or ''."""
    value = default.value if isinstance(default, ast.Constant) else ...
    if name == "weight" and value is None:
        return "Tensor | None"
    if name in NAMES and not (name in ("dim", "weight", "input", "target") and value is None):
        return NAMES[name] + (" | None" if value is None and "None" not in NAMES[name] and name != "device" else "")
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "float"
    return "str" if isinstance(value, str) else ""


def arguments(a, first_plain):
    """Parameters of a function, with types where they are known."""

    def one(arg, default):
        kind = ast.unparse(arg.annotation) if arg.annotation else "" if first_plain and arg.arg == first else hint(arg.arg, default)
        text = f"{arg.arg}: {kind}" if kind else arg.arg
        return text if default is None else f"{text} = {ast.unparse(default)}" if kind else f"{text}={ast.unparse(default)}"

    plain = a.posonlyargs + a.args
    first = plain[0].arg if plain else None
    defaults = [None] * (len(plain) - len(a.defaults)) + a.defaults
    out = [one(arg, default) for arg, default in zip(plain, defaults)]
    if a.posonlyargs:
        out.insert(len(a.posonlyargs), "/")
    if a.vararg:
        out.append(f"*{a.vararg.arg}")
    elif a.kwonlyargs:
        out.append("*")
    out += [one(arg, default) for arg, default in zip(a.kwonlyargs, a.kw_defaults)]
    if a.kwarg:
        out.append(f"**{a.kwarg.arg}")
    return ", ".join(out)


def function(node, indent, result=None):
    """Lines of the stub of a function; result: what it gives where no annotation says it."""
    pad = " " * indent
    returns = ast.unparse(node.returns) if node.returns else None
    if returns is None and node.name in ("__init__", "__len__", "__bool__"):
        returns = {"__init__": "None", "__len__": "int", "__bool__": "bool"}[node.name]
    elif returns is None and node.name.startswith("is_"):
        returns = "bool"
    args = arguments(node.args, indent > 0)
    if result == "Tensor":  # a method of Tensor, in _C.pyi, where these names are taken
        args = re.sub(r": (bool|int|float|dtype)\b", r": _\1", args).replace("DeviceLike", "_DeviceLike")
        returns = returns and f"_{returns}" if returns in ("bool", "int") else returns
        known = ("new_", "type_as", "unflatten", "index_", "detach_", "apply_", "__reversed__", "__copy__", "__deepcopy__")
        returns = returns or ("Tensor" if node.name.startswith(known) else None)
    decorators = [ast.unparse(d) for d in node.decorator_list]
    out = [f"{pad}@{d}" for d in decorators if d != "_sentence"]
    head = f"{pad}def {node.name}({args}){f' -> {returns}' if returns else ''}:"
    doc = SENTENCES[node.name.lstrip("_")] if "_sentence" in decorators else ast.get_docstring(node)
    if not doc:
        return out + [head + " ..."]
    return out + [head, *quoted_doc(doc, indent + 4), f"{pad}    ..."]


def quoted_doc(doc, indent):
    pad = " " * indent
    text = doc.replace("\\", "\\\\").replace('"""', "'''")
    lines = [f"{pad}{line}" if line else "" for line in text.split("\n")]
    lines[0] = f'{pad}"""{lines[0].strip()}'
    lines[-1] += ' """' if lines[-1].endswith('"') else '"""'
    return lines


def value_hint(value, types):
    if isinstance(value, ast.Constant) and value.value is not None:
        return type(value.value).__name__
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "Parameter":
        return "Parameter"
    return types.get(ast.unparse(value), "") if isinstance(value, ast.Name) else ""


def class_lines(node):
    out = [f"class {node.name}({', '.join(map(ast.unparse, node.bases))}):" if node.bases else f"class {node.name}:"]
    if ast.get_docstring(node):
        out += quoted_doc(ast.get_docstring(node), 4)
    methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
    seen = set(methods)
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            names = item.args.args + item.args.kwonlyargs
            defaults = [None] * (len(item.args.args) - len(item.args.defaults)) + item.args.defaults + item.args.kw_defaults
            types = {a.arg: hint(a.arg, d) for a, d in zip(names, defaults)}
            for assign in ast.walk(item):
                target = assign.targets[0] if isinstance(assign, ast.Assign) else None
                if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self" and target.attr[0] != "_":
                    if target.attr not in seen:
                        out.append(f"    {target.attr}: {value_hint(assign.value, types) or 'Any'}")
                        seen.add(target.attr)
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and (item.name[0] != "_" or item.name.startswith("__")):
            out += function(item, 4)
        elif isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name) and item.targets[0].id not in seen:
            for target in item.targets:
                if isinstance(target, ast.Name) and target.id[0] != "_":
                    same = isinstance(item.value, ast.Name)
                    out.append(f"    {target.id} = {ast.unparse(item.value)}" if same else f"    {target.id}: ClassVar[Any]")
    return out + ["    ..."] if len(out) == 1 else out


def exported(value, folder):
    """The list that __all__ is: a literal, or sums of literals and of other modules' lists."""
    if isinstance(value, ast.BinOp):
        return exported(value.left, folder) + exported(value.right, folder)
    if isinstance(value, ast.Attribute):  # linear.__all__
        return exported_by(folder / f"{ast.unparse(value.value)}.py")
    return [n for e in value.elts for n in (exported(e.value, folder) if isinstance(e, ast.Starred) else [e.value])]


def exported_by(path):
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return exported(node.value, path.parent)
    raise ValueError(f"{path} has no __all__")


def assigned(node, functional, folder, root):
    """A name of a module: an alias, an operation of torch.nn.functional, or a value."""
    value = ast.unparse(node.value)
    for target in node.targets:
        for name in [ast.unparse(t) for t in (target.elts if isinstance(target, ast.Tuple) else [target])]:
            operation = re.fullmatch(r"_(?:nn|special)\.(\w+)", value)
            if name == "__all__":
                yield f"__all__ = {exported(node.value, folder)!r}"
            elif value.startswith("TypeVar("):
                yield f"{name} = {value}"
            elif not name.isidentifier() or name[0] == "_" or (root and name in DTYPES):
                continue
            elif operation and operation[1] == name:
                yield from (re.sub(r"\b_(int|float|bool|dtype)\b", r"\1", line) for line in functional[name])
            elif isinstance(node.value, (ast.Name, ast.Attribute)) and not isinstance(target, ast.Tuple) and value != name:
                yield f"{name} = {value}"
            else:
                yield f"{name}: {value_hint(node.value, {}) or 'Any'}"


def imports(tree, text, root=False):
    """Imports. Names that a stub gives to others are written twice; private ones are there only where the text has them."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield ast.unparse(node)
        if not isinstance(node, ast.ImportFrom):
            continue
        names = []
        if node.module == "_legacy":  # which makes its names from the list
            names = [f"{n} as {n}" for n in CONSTRUCTORS + (["set_default_tensor_type"] if root else [])]
        for alias in [] if names else node.names:
            name = alias.asname or alias.name
            if alias.name == "*" or (name[0] == "_" and re.search(rf"\b{name}\b", text)):
                names.append(ast.unparse(alias))
            elif name[0] != "_":
                names.append(f"{alias.name} as {name}")
        if names:
            yield f"from {'.' * node.level}{node.module or ''} import {', '.join(names)}"


def module(path, functional, classes=()):
    tree = ast.parse(path.read_text())
    out = [*quoted_doc(ast.get_docstring(tree) or path.stem, 0), "from collections.abc import Sequence", "from typing import Any, ClassVar", ""]
    body = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name[0] != "_":
            body += function(node, 0)
        elif isinstance(node, ast.ClassDef):
            body += class_lines(node)
        elif isinstance(node, ast.Assign):
            body += assigned(node, functional, path.parent, path.parent.name == "tenon" and path.stem == "__init__")
    text = "\n".join([*body, *classes])
    text = "\n".join([*imports(tree, text, path.parent.name == "tenon"), text])
    needed = [n for n in ("Tensor", "dtype", "Generator") if re.search(rf"\b{n}\b", text) and not re.search(rf"\bas {n}\b", text)]
    uses = [f"from tenon._C import {n}" for n in needed]
    if re.search(r"\bDeviceLike\b", text):
        uses.append("from tenon._C import _DeviceLike")
        text = text.replace("DeviceLike", "_DeviceLike").replace("__DeviceLike", "_DeviceLike")
    if "_Number" in text:
        uses.append("from tenon._C import _Number")
    if re.search(r": Optimizer\b", text) and "class Optimizer" not in text and " Optimizer as" not in text:
        uses.append("from tenon.optim.optimizer import Optimizer")
    return "\n".join(out + uses + [text, ""])


def named_results(listing):
    """The classes of torch.return_types."""
    for name, *fields in sorted({tuple(named) for *_, named in rows(listing) if named}):
        yield f"class {name}(tuple[Tensor, ...]):"
        yield from quoted_doc(f"What {name}() gives.", 4)
        yield from (f"    {field}: Tensor" for field in fields)


def lazy(path):
    """What tenon/__init__.py imports when it is first asked for."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_LAZY":
            yield from (f"from . import {n} as {n}" for n in sorted(ast.literal_eval(node.value)))
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_FROM_LAZY":
            yield from (f"from .{m} import {n} as {n}" for n, m in ast.literal_eval(node.value).items())


def main(source, signatures, dtypes, out):
    source, out = pathlib.Path(source), pathlib.Path(out)
    read_dtypes(pathlib.Path(dtypes).read_text())
    listing = pathlib.Path(signatures).read_text()
    text, functional = extension(source, listing)
    stubs = {pathlib.Path("_C.pyi"): text}
    package = source / "tenon"
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package)
        if not any(part[0] == "_" and part not in ("__init__", "_functions") for part in inside.with_suffix("").parts):
            stubs[inside.with_suffix(".pyi")] = module(path, functional, named_results(listing) if path.stem == "return_types" else ())
    stubs[pathlib.Path("storage.pyi")] += "\n".join([*(f"class {n}(TypedStorage): ..." for n in STORAGES), ""])
    stubs[pathlib.Path("__init__.pyi")] += "\n".join([*lazy(package / "__init__.py"), *(f"from .storage import {n} as {n}" for n in STORAGES), ""])
    for name, text in stubs.items():
        ast.parse(text, str(name))
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
