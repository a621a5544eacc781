#!/usr/bin/env python3
"""Runs the guide as its reader would, in every language.     guide.py SOURCE SCRATCH FOLDER...

The python blocks of a page are one program, the c blocks another: each goes on where the one before it ended. C is what
stands inside main(), in an open scope. A text block is what each block since the last text block prints; a block without
one prints what the comments behind its print() and tn_print() say, or nothing. '<!-- gpus: 2 -->' begins new programs that
see such fake GPUs. sh blocks are commands, run in the page's folder after what stands above them; '<!-- NAME -->' writes
a block to a file for them. Pages of the same name have the same blocks in every folder: only comments are translated.

The commands and the compiler find Tenon as an installed one: PATH, PKG_CONFIG_PATH and PYTHONPATH are the caller's.
"""

import ast
import io
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tokenize

MARK = "\x01"
HEAD = "#include <stdio.h>\n#include <string.h>\n#include <tenon/tenon.h>\n\nint main(void)\n{\n    tn_scope *scope = tn_scope_open();\n"
TAIL = "    tn_scope_close(scope);\n    return 0;\n}\n"
checks = 0


def ok(what):
    global checks
    checks += 1
    print(f"ok {what}", flush=True)


def fail(where, what):
    print(f"{where}: {what}")
    sys.exit(1)


class Block:
    def __init__(self, kind, name, gpus, line):
        self.kind, self.name, self.gpus, self.line, self.text = kind, name, gpus, line, ""


def blocks_of(page):
    blocks, block, name, gpus, program = [], None, None, "0", 0
    for number, line in enumerate(page.read_text().splitlines(), 1):
        said = re.fullmatch(r"<!-- (?:gpus: (\w+)|([\w.]+)) -->", line)
        if block is not None and line == "```":
            block = None
        elif block is not None:
            block.text += line + "\n"
        elif said and said[1]:
            gpus, program = said[1], program + 1
        elif said:
            name = said[2]
        elif line.startswith("```"):
            block = Block(line[3:], name, (gpus, program), number + 1)
            blocks.append(block)
            name = None
    return blocks


def promised(block):
    """What the comments behind its prints say."""
    if block.kind == "python":
        found = re.findall(r"^ *print\(.*\)  # (.*)$", block.text, re.M)
    else:
        found = re.findall(r"^ *(?:tn_print|puts|printf)\(.*\); */\* (.*) \*/$", block.text, re.M)
    return "".join(f"{line}\n" for line in found)


def run(command, where, folder, gpus):
    environment = {k: v for k, v in os.environ.items() if k not in ("TENON_FAKE_GPUS", "CUDA_VISIBLE_DEVICES")}
    environment["TENON_FAKE_GPUS"] = gpus
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        fail(where, f"exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def python_program(blocks, page, folder):
    """One program, as a file of the page's own lines, so that tracebacks name them."""
    program = folder / "program.py"
    lines = []
    for block in blocks:
        lines += [""] * (block.line - 2 - len(lines)) + [f"print({MARK!r}, flush=True)"] + block.text.splitlines()
    program.write_text("\n".join(lines) + "\n")
    return [sys.executable, program.name]


def c_program(blocks, page, folder):
    body = "".join(f'    puts("\\001");\n#line {b.line} "{page.stem}.c"\n' + b.text for b in blocks)
    (folder / "program.c").write_text(HEAD + body + TAIL)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "tenon"], capture_output=True, text=True, check=True).stdout
    strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable"]
    run(["cc", *strict, "program.c", "-o", "program", *shlex.split(flags)], f"{page}: the C blocks", folder, "0")
    return ["./program"]


def programs(blocks, page, folder):
    """What each python and c block prints."""
    printed = {}
    for kind, build in (("python", python_program), ("c", c_program)):
        sessions = {}
        for block in blocks:
            if block.kind == kind and not block.name:
                sessions.setdefault(block.gpus, []).append(block)
        for (gpus, _), members in sessions.items():
            command = build(members, page, folder)
            parts = run(command, f"{page}: the {kind} blocks from line {members[0].line}", folder, gpus).split(f"{MARK}\n")
            printed.update(zip(members, parts[1:], strict=True))
    return printed


def check_page(page, folder, label, source):
    folder.mkdir(parents=True)
    (folder / "data").symlink_to(source / "data")  # a reader stands in the repository
    blocks = blocks_of(page)
    for block in blocks:
        if block.name:
            (folder / block.name).write_text(block.text)
    printed = programs(blocks, page, folder)
    waiting = []
    for block in [*blocks, None]:
        if block and block.kind == "sh":
            (folder / "block.sh").write_text(block.text)
            printed[block] = run(["sh", "-eu", "block.sh"], f"{page}:{block.line}", folder, block.gpus[0])
        if block and block.kind == "text":
            compare(waiting, block.text, printed, page, label)
            waiting = []
        elif block in printed:
            same_kind = [w for w in waiting if w.kind == block.kind]
            compare(same_kind, None, printed, page, label)
            waiting = [w for w in waiting if w not in same_kind] + [block]
        elif block is None:
            compare(waiting, None, printed, page, label)


def compare(blocks, text, printed, page, label):
    for block in blocks:
        if block.kind == "sh" and text is None:
            ok(f"{label}:{block.line}: runs")
            continue
        expected = promised(block) if text is None else text
        if printed[block] != expected:
            fail(f"{page}:{block.line}", f"the page says\n{expected}but it prints\n{printed[block]}")
        ok(f"{label}:{block.line}: {block.kind}, prints what the page says")


def bare(block):
    """The block without its comments."""
    if block.kind == "python":
        tokens = tokenize.generate_tokens(io.StringIO(block.text).readline)
        ast.parse(block.text)
        return [t.string for t in tokens if t.type not in (tokenize.COMMENT, tokenize.NL)]
    return re.sub(r"/\*.*?\*/|#.*", "", block.text, flags=re.S).split()


def check_languages(folders):
    pages = [sorted(p.name for p in folder.glob("*.md")) for folder in folders]
    if any(p != pages[0] for p in pages):
        fail(" and ".join(map(str, folders)), f"not the same pages: {pages}")
    for name in pages[0]:
        versions = [blocks_of(folder / name) for folder in folders]
        for group in zip(*versions):
            first = group[0]
            if any((b.kind, b.name, b.gpus, bare(b)) != (first.kind, first.name, first.gpus, bare(first)) for b in group):
                lines = ", ".join(f"{folder / name}:{b.line}" for folder, b in zip(folders, group))
                fail(lines, "not the same block")
        if len({len(v) for v in versions}) != 1:
            fail(name, "not the same number of blocks in every language")
        ok(f"{name}: the same {len(versions[0])} blocks in every language")


def main(source, scratch, *folders):
    paths = [pathlib.Path(source, folder) for folder in folders]
    check_languages(paths)
    for name, path in zip(folders, paths):
        for page in sorted(path.glob("*.md")):
            check_page(page, pathlib.Path(scratch, "guide", name, page.stem), f"{name}/{page.name}", pathlib.Path(source).resolve())
    print(f"count: {checks} checks of the guide")


if __name__ == "__main__":
    main(*sys.argv[1:])
