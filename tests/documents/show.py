"""Runs blocks one after the other, as cells of a notebook, and prints what the last of them prints and shows.

    python -m tenon show.py [BLOCK ...] BLOCK           'import torch' as it stands
    python show.py --imports [BLOCK ...] BLOCK          'import tenon as torch' in its place

As in a notebook the indentation of a whole block is taken away, and the value of an expression that ends it is shown.
NAME.given.py, where there is one, makes what the block takes for granted; NAME.then.py prints what the block made. An
error is printed as the last lines of its traceback; in a block before the last one it ends the run.
"""
import ast
import contextlib
import io
import pprint
import re
import sys
import textwrap
from pathlib import Path

BLOCKS = Path(__file__).resolve().parent / "python"


def source_of(name, imports):
    path = BLOCKS / f"{name}.py"
    text = textwrap.dedent(path.read_text(encoding="utf-8"))
    if imports:
        text = re.sub(r"^import torch$", "import tenon as torch", text, flags=re.MULTILINE)
        text = re.sub(r"^(from|import) torch\b", r"\1 tenon", text, flags=re.MULTILINE)
    return text, str(path)


def run_cell(name, imports, space):
    text, path = source_of(name, imports)
    tree = ast.parse(text, path)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, path, "exec"), space)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), path, "eval"), space)
        if value is not None:
            pprint.pprint(value)


def exists(name):
    return (BLOCKS / f"{name}.py").exists()


def silence():
    return contextlib.redirect_stdout(io.StringIO())


def main():
    names = sys.argv[1:]
    imports = names[:1] == ["--imports"]
    names = names[imports:]
    space = {"__name__": "__main__"}
    for name in names:
        last = name is names[-1]
        if exists(f"{name}.given"):
            with silence():
                run_cell(f"{name}.given", imports, space)
        try:
            with contextlib.nullcontext() if last else silence():
                run_cell(name, imports, space)
        except Exception as error:
            if not last:
                raise
            print(f"{type(error).__name__}: {error}")
        if last and exists(f"{name}.then"):
            run_cell(f"{name}.then", imports, space)


if __name__ == "__main__":
    main()
