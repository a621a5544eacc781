#!/usr/bin/env python3
"""Runs the code blocks of the five documents (blocks.list) and compares what they print with expected/.

    python3 tests/documents/run.py                      unmodified, under 'python -m tenon'
    python3 tests/documents/run.py --imports            with 'import tenon as torch' for 'import torch'
    python3 tests/documents/run.py --scripts            each document's blocks as one program
    /path/to/python tests/documents/run.py --reference  PyTorch itself, where a block needs no GPU

Options: --smi FOLDER: what answers as nvidia-smi (build/fake-bin); names of blocks: only these.
How expected/ is written is said in run.cmake, which does the same for the C twins.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PLACEHOLDERS = {
    r"\{random\}": r" *-?[0-9][-+.0-9e]*",
    r"\{version\}": r"[0-9][^\n]*",
    r"\{name\}": r"[^\n]+",
    r"\{date\}": r"[^\n]+",
    r"\{no\ GPU\}": r"(Found no NVIDIA driver on your system[^\n]*|No CUDA GPUs are available)",
}
# What of a document makes one program. The second document's blocks show values as a notebook does: a program of them
# prints nothing, and must end well.
SCRIPTS = {
    "000": (["000_10_complete"], 1, "000_10_complete"),
    "000@cpu": (["000_10_complete"], 0, "000_10_complete@cpu"),
    "001": (["001_01_devices", "001_02_device_count", "001_03_try_gpu", "001_04_default", "001_05_ones", "001_06_net",
             "001_07_forward", "001_08_weight"], 1, None),
    "002": (["002_01_imports", "002_02_create", "002_03_numpy", "002_04_handle", "002_05_ordinal"], 1, "*"),
    "003": (["003_03_dtype", "003_04_device", "003_05_to"], 0, "*"),
    "004": (["004_01_check", "004_02_moves", "004_03_apart", "004_04_modules", "004_05_forward"], 1, "*"),
}


class Block:
    def __init__(self, row):
        self.test, self.lines, gpus, after, *visible = row.split()
        self.visible = visible[0] if visible else None
        self.name = self.test.partition("@")[0]
        self.gpus = int(gpus)
        self.after = [] if after == "-" else after.split(",")
        self.shell = (HERE / "python" / f"{self.name}.sh").exists()
        self.needs_gpu = self.gpus > 0

    def command(self, show, flags):
        if self.shell:
            return ["sh", str(HERE / "python" / f"{self.name}.sh")]
        return [*show, *flags, *self.after, self.name]


def blocks():
    rows = (HERE / "blocks.list").read_text(encoding="utf-8").splitlines()
    return [Block(row) for row in rows if row[:1].isdigit()]


def expected_text(test):
    return (HERE / "expected" / f"{test}.out").read_text(encoding="utf-8")


def pattern_of(text, with_help):
    help_lines = "(  [^\n]*\n)+" if with_help else ""
    pattern = re.escape(text).replace(re.escape("  ...\n"), help_lines)
    for placeholder, meaning in PLACEHOLDERS.items():
        pattern = pattern.replace(placeholder.replace("\\ ", re.escape(" ")), meaning)
    return pattern


def with_numbered_ids(text):
    seen = []

    def number(match):
        if match[1] not in seen:
            seen.append(match[1])
        return f"id: #{seen.index(match[1]) + 1}\n"

    return re.sub(r"id: ([0-9]+)\n", number, text)


def matches(text, printed, with_help=True):
    return re.fullmatch(pattern_of(text, with_help), with_numbered_ids(printed)) is not None


def environment(gpus, smi, visible=None):
    env = {k: v for k, v in os.environ.items() if k not in ("CUDA_VISIBLE_DEVICES", "TENON_FAKE_GPUS")}
    if gpus:
        env["TENON_FAKE_GPUS"] = str(gpus)
    else:
        env["CUDA_VISIBLE_DEVICES"] = "-1"
    if visible:
        env["CUDA_VISIBLE_DEVICES"] = visible
    env["PATH"] = f"{smi}{os.pathsep}{env.get('PATH', '')}"
    env["PYTHONIOENCODING"] = "utf-8"
    return env


def run(command, gpus, smi, visible=None):
    """(stdout, stderr, status) of a command in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, env=environment(gpus, smi, visible), capture_output=True, text=True,
                              encoding="utf-8", timeout=300, check=False)
    return done.stdout, done.stderr, done.returncode


def run_block(block, mode, smi):
    """None if it prints what it should, else what is wrong."""
    show = str(HERE / "show.py")
    command = {"unmodified": [sys.executable, "-m", "tenon", show], "imports": [sys.executable, show, "--imports"],
               "reference": [sys.executable, show]}[mode]
    out, err, status = run(block.command(command, []), block.gpus, smi, block.visible)
    text = expected_text(block.test)
    if status == 0 and err == "" and matches(text, out, with_help=mode != "reference"):
        return None
    return f"status {status}\nstderr: {err}\nprinted:\n{out}\nexpected:\n{text}"


def script_expectation(names, expected):
    """What the program prints, and how its last error begins ('' where it ends well)."""
    if expected is None:
        return "", ""
    tests = names if expected == "*" else [expected]
    text = "".join(expected_text(t) for t in tests)
    error = re.search(r"^\w+Error: .*", text, re.MULTILINE | re.DOTALL)
    return (text[:error.start()], error[0]) if error else (text, "")


def run_script(name, smi, interpreter):
    names, gpus, expected = SCRIPTS[name]
    text, error = script_expectation(names, expected)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        parts = [(HERE / "python" / f"{n}.py").read_text(encoding="utf-8") for n in names]
        program.write_text("\n".join(parts), encoding="utf-8")
        out, err, status = run([*interpreter, str(program)], gpus, smi)
    good = matches(text, out) and (status == 0 and err == "" if not error else status == 1)
    if good and error:
        with_help = interpreter[-1] == "tenon"
        last = re.search(r"^[\w.]*?(\w+Error: .*)", err, re.MULTILINE | re.DOTALL)
        good = last is not None and matches(error, last[1], with_help)
    return None if good else f"status {status}\nstderr: {err}\nprinted:\n{out}\nexpected:\n{text}{error}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--imports", dest="mode", action="store_const", const="imports", default="unmodified")
    parser.add_argument("--reference", dest="mode", action="store_const", const="reference")
    parser.add_argument("--scripts", action="store_true")
    parser.add_argument("--smi", type=Path, default=ROOT / "build" / "fake-bin")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    wrong = {}
    ran = 0
    if options.scripts:
        interpreter = [sys.executable] if options.mode == "reference" else [sys.executable, "-m", "tenon"]
        for name, (_, gpus, _) in SCRIPTS.items():
            if options.mode == "reference" and gpus:
                continue
            ran += 1
            wrong[name] = run_script(name, options.smi, interpreter)
    for block in [] if options.scripts else blocks():
        if options.names and block.name not in options.names and block.test not in options.names:
            continue
        if options.mode == "reference" and (block.needs_gpu or block.shell):
            continue
        ran += 1
        wrong[block.test] = run_block(block, options.mode, options.smi)
    for name, what in wrong.items():
        print(f"not ok {name}\n{what}" if what else f"ok {name}")
    failed = sum(what is not None for what in wrong.values())
    print(f"count: {'scripts' if options.scripts else 'blocks'} of the documents ({options.mode}): "
          f"{ran - failed} of {ran} print what they should")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
