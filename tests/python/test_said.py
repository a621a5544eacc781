"""Storages, versions, torch.testing and torch.autograd.functional beside what PyTorch answered (data/make_said.py)."""

import json
import pathlib
import re
import warnings

import pytest

import tenon as torch
import tenon.autograd.functional
import tenon.testing  # noqa: F401

SAID = json.loads((pathlib.Path(__file__).parent / "data" / "said.json").read_text())["groups"]


def names_of(group):
    names = {"torch": torch}
    exec(re.sub(r"\bfrom torch\b", "from tenon", SAID[group]["setup"]), names)
    return names


def as_torch(text):
    """Tenon's classes under PyTorch's names."""
    return re.sub(r"\btenon\.", "torch.", text)


@pytest.mark.parametrize("group", SAID)
def test_it_says_the_same(group):
    if group == "assert_close":
        pytest.importorskip("numpy")
    names = names_of(group)
    differ = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for expression, kind, text in SAID[group]["said"]:
            try:
                got = "", repr(eval(expression, names))
            except Exception as error:
                got = type(error).__name__, str(error)
            if (got[0], as_torch(got[1])) != (kind, text):
                differ.append((expression, got, (kind, text)))
    assert not differ, "\n".join(map(str, differ))
