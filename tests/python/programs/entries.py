"""Which entries of the list of operations (src/ops/<family>/rows.def) the recorded programs call."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
FILE = ROOT / "tests" / "data" / "programs" / "entries.txt"  # those that they called when they were recorded


def listed():
    """The names that Python has entries by."""
    names = set()
    for rows in (ROOT / "src" / "ops").glob("*/rows.def"):
        text = rows.read_text(encoding="utf-8")
        for key, name in re.findall(r"^    (torch|method|functional|inplace|self|as)\b[a-z ]*?  +(\w+)", text, re.M):
            if key == "as":
                names.discard(last)
            names.add(last := name)
    return names


def called(programs):
    """What the programs (lists of [operation, line, error, seen]) call."""
    return {name for program in programs for step in program for name in re.findall(r"[.](\w+)\(", step[1])}


def write(programs):
    FILE.write_text("".join(f"{name}\n" for name in sorted(listed() & called(programs))), encoding="utf-8")
