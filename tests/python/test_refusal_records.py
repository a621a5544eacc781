"""Small programs of which PyTorch recorded what they raise or give (tests/data/refusals.txt): the order in which an operation asks
its questions, and its words."""

import sys
from pathlib import Path

import pytest
import tenon as torch
import tenon.nn.functional  # noqa: F401

DATA = Path(__file__).resolve().parents[1] / "data"
sys.path.insert(0, str(DATA))

from make_refusals import outcome  # noqa: E402

CASES = [line.split("\t") for line in (DATA / "refusals.txt").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("program, kind, text", CASES, ids=[case[0] for case in CASES])
def test_refusal(program, kind, text):
    assert outcome(torch, program) == (kind, text)
