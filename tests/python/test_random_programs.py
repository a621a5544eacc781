"""Random programs whose results PyTorch recorded (tests/data/programs), on the CPU and on fake GPUs: values, dtypes, shapes,
strides, aliasing, versions, gradients, errors. scripts/fuzz-beside-torch makes fresh ones."""

import collections
import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from on_gpus import gpus
from programs import compare, entries, tolerance
from programs.differences import ANY, DIFFERENCES

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE.parent / "data" / "programs" / "programs.jsonl.gz"
OPEN = PROGRAMS.with_name("open.txt")  # seeds of programs that disagree for bugs that are known and not mended yet


@pytest.fixture(scope="module")
def programs():
    with gzip.open(PROGRAMS, "rt", encoding="utf-8") as f:
        next(f)
        return dict(map(json.loads, f))


def sampled(device):
    return (device == "cuda" or "libasan" in os.environ.get("LD_PRELOAD", "")) and os.environ.get("TENON_TEST_SAMPLE") != "0"


def replayed(device):
    """{seed: what differs, or None}, by a process of its own: a program that ends it is named. On fake GPUs and under a sanitizer
    every third, unless all are asked for (TENON_TEST_SAMPLE=0)."""
    env = {**os.environ, **gpus(1), "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, sys.path)])}
    command = [sys.executable, "-W", "ignore", "-m", "programs.worker", "replay", device, str(PROGRAMS), "0"]
    command += ["3"] if sampled(device) else []
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)
    found = {seed: what for _, seed, what in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == 0, f"after {len(found)} programs: {done.stderr[-3000:]}"
    return found


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_recorded_programs(programs, device, record_property):
    found = replayed(device)
    wanted = list(programs)
    assert list(found) in (wanted, wanted[::3] if sampled(device) else wanted)
    known = {int(s) for s in re.findall(r"^\d+", OPEN.read_text(encoding="utf-8"), re.M)} if OPEN.exists() else set()
    wrong = {s: w for s, w in found.items() if w and not w["reason"]}
    counts = collections.Counter(w["kind"] for w in wrong.values())
    record_property("count", f"python: random programs on {device}: {len(found) - len(wrong)} of {len(found)} agree "
                             f"({sum(1 for w in found.values() if w and w['reason'])} until a named difference) {dict(counts)}")  # fmt: skip
    new = [f"{s}: {w['kind']} of {w['line']}\n  PyTorch: {w['want']}\n  Tenon:   {w['got']}" for s, w in wrong.items() if s not in known]
    assert not new, f"{len(new)} programs\n" + "\n".join(new[:40])


def test_every_operation_is_there(programs, record_property):
    """Each entry of the list of operations that the programs called when they were recorded is called by one of them: an
    entry that came later has tests of its own."""
    recorded = set(entries.FILE.read_text(encoding="utf-8").split())
    wanted = recorded & entries.listed()
    record_property("count", f"python: recorded programs call {len(wanted)} entries of the list of operations")
    assert wanted, "entries.txt names nothing that is in the list"
    assert wanted <= entries.called(programs.values())


def test_the_judge():
    """The comparison sees what it is there to see, and lets no more pass than rounding."""
    seen = {"v0": ["float32", [2], [1], 0, "v0", 0, 0, 1, [1.0, 2.0]]}

    def says(op, **changed):
        fields = dict(zip(compare.FIELDS, seen["v0"]))
        fields.update(changed)
        return compare.difference(op, "v0 = f(v0)", seen, seen, {"v0": list(fields.values())})

    assert says("exp") is None
    for field, other in [("dtype", "float64"), ("shape", [1, 2]), ("strides", [2]), ("offset", 1), ("aliasing", "v1"), ("version", 1),
                         ("requires_grad", 1), ("is_leaf", 0), ("value", [1.0, 2.5])]:  # fmt: skip
        assert says("exp", **{field: other})[0] == field
    one_ulp = 2.0**-22
    assert says("exp", value=[1.0, 2.0 + one_ulp]) is None and says("neg", value=[1.0, 2.0 + one_ulp])[0] == "value"
    assert says("neg", value=[1.0, float("nan")])[0] == "value"
    assert compare.difference("neg", "", {}, seen, {})[0] == "result" and compare.difference("neg", "", {}, {}, seen)[0] == "result"
    assert compare.error_difference(["IndexError", "x"], None)[0] == "error class"
    assert compare.error_difference(["IndexError", "x"], ["IndexError", "y"])[0] == "error line"
    assert compare.error_difference(["RuntimeError", "on cpu!"], ["RuntimeError", "on cuda:0!"]) is None
    refusal = "\"{}\" not implemented for '{}'"
    for kernel, dtype, same in [("abs_cuda", "Bool", True), ("abs_cuda", "Half", False), ("abs", "Bool", False)]:
        found = compare.error_difference(["NotImplementedError", refusal.format("abs_cpu", "Bool")], ["NotImplementedError", refusal.format(kernel, dtype)])
        assert (found is None) is same
    assert tolerance.bound("add", "", "int64", {}, 3) == 0.0


def test_named_differences():
    """Each has a reason of one line, and names an operation."""
    for d in DIFFERENCES:
        assert d.reason and "\n" not in d.reason and (d.when or d.operation not in (".*", ".+", ANY)), d
