"""The code blocks of the five documents, run as they stand and with 'import tenon as torch'; and each document's program.

tests/documents/run.py does it; TENON_FAKE_BIN names the folder of what answers as nvidia-smi (build/fake-bin).
"""
import importlib.util
import os
from pathlib import Path

import pytest

DOCUMENTS = Path(__file__).resolve().parents[1] / "documents"
_spec = importlib.util.spec_from_file_location("documents_run", DOCUMENTS / "run.py")
run = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(run)

SMI = Path(os.environ.get("TENON_FAKE_BIN", run.ROOT / "build" / "fake-bin"))
BLOCKS = run.blocks()


@pytest.mark.parametrize("mode", ["unmodified", "imports"])
@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: b.test)
def test_block(block, mode):
    wrong = run.run_block(block, mode, SMI)
    assert wrong is None, wrong


@pytest.mark.parametrize("name", run.SCRIPTS)
def test_program(name):
    wrong = run.run_script(name, SMI, [run.sys.executable, "-m", "tenon"])
    assert wrong is None, wrong


def test_every_block_is_listed_and_expected():
    tests = {b.test for b in BLOCKS}
    assert len(tests) == len(BLOCKS) == 74
    expected = {p.name.removesuffix(".out").removesuffix(".c") for p in (DOCUMENTS / "expected").iterdir()}
    assert expected == tests
    code = {p.name.split(".")[0] for p in (DOCUMENTS / "python").iterdir()}
    assert code == {b.name for b in BLOCKS} | {"000_imports"}
    assert {p.stem for p in (DOCUMENTS / "c").glob("*.c")} <= code


def test_comparison_tells_a_difference():
    text = run.expected_text("003_05_to")
    same = text.replace("#1", "140")
    assert run.matches(text, same)
    assert not run.matches(text, same.replace("x_gpu:\ndevice: cpu", "x_gpu:\ndevice: cuda:0"))
    assert not run.matches(text, same[: same.rindex("140")] + "141\n")
    apart = run.expected_text("000_09_apart")
    first = apart.splitlines()[0]
    assert run.matches(apart, f"{first}\n  add(...): move operand 2\n")
    assert not run.matches(apart, f"{first}\n")
    assert run.matches(apart, f"{first}\n", with_help=False)
