"""Names that PyTorch has and Tenon has not: errors say so, and `python -m tenon --missing` lists a program's. The names are
PyTorch 2.15's (tools/torch_names.py)."""

import copy
import importlib
import importlib.util
import inspect
import json
import pathlib
import pickle
import re
import subprocess
import sys

import pytest

import tenon as torch
from tenon import _missing

TABLE = pathlib.Path(_missing.__file__).with_name("_torch_names.txt")


def python(*arguments, cwd=None):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=cwd, timeout=120)


def error_of(code):
    with pytest.raises((AttributeError, ImportError)) as caught:
        exec(code, {"torch": torch})
    return caught.value


@pytest.mark.parametrize("code, kind, text", [
    ("torch.nn.LSTM", AttributeError,
     "module 'tenon.nn' has no attribute 'LSTM': Tenon does not have recurrent layers; a loop over torch.nn.Linear makes them"),
    ("torch.compile", AttributeError, "module 'tenon' has no attribute 'compile': Tenon does not have a compiler; programs run without it: "
     "leave the call out"),
    ("torch.addmv_", AttributeError, "module 'tenon' has no attribute 'addmv_': Tenon does not have PyTorch's torch.addmv_; torch.Tensor.addmv_ is there"),
    ("torch.lobpcg", AttributeError, "module 'tenon' has no attribute 'lobpcg': Tenon does not have torch.linalg"),
    ("torch.fft.rfft", AttributeError, "module 'tenon' has no attribute 'fft': Tenon does not have complex numbers"),
    ("torch.nn.functional.multi_head_attention_forward", AttributeError,
     "module 'tenon.nn.functional' has no attribute 'multi_head_attention_forward': Tenon does not have attention"),
    ("torch.cuda.amp", AttributeError, "module 'tenon.cuda' has no attribute 'amp': Tenon does not have automatic mixed precision"),
    ("torch.optim.Adafactor", AttributeError, "module 'tenon.optim' has no attribute 'Adafactor': Tenon does not have torch.optim.Adafactor; torch.optim has "
     "SGD, LBFGS, Adam and what is like it"),
    ("torch.nn.Linear(2, 2).compile", AttributeError, "'Linear' object has no attribute 'compile': Tenon does not have a compiler"),
    ("from tenon.nn import Linear, LSTM", ImportError, "cannot import name 'LSTM' from 'tenon.nn': Tenon does not have recurrent layers"),
    ("from tenon import fft", ImportError, "cannot import name 'fft' from 'tenon': Tenon does not have complex numbers"),
    ("from tenon.utils.data import DistributedSampler", ImportError, "cannot import name 'DistributedSampler' from 'tenon.utils.data': Tenon "
     "does not have torch.distributed; torch.nn.DataParallel uses the GPUs of one process"),
])
def test_the_error_says_so(code, kind, text):
    error = error_of(code)
    assert type(error) is kind and str(error).startswith(text) and "\n" not in str(error)


@pytest.mark.parametrize("code, name, text", [
    ("import tenon.fft", "tenon.fft", "Tenon does not have complex numbers"),
    ("import tenon.fft.zork as z", "tenon.fft", "Tenon does not have complex numbers"),
    ("from tenon.fft import rfft", "tenon.fft", "Tenon does not have complex numbers"),
    ("import tenon.nn.utils.rnn", "tenon.nn.utils.rnn", "Tenon does not have recurrent layers; a loop over torch.nn.Linear makes them"),
    ("__import__('importlib').import_module('tenon.jit')", "tenon.jit", "Tenon does not have a compiler; programs run without it: leave the call out"),
])
def test_so_does_the_error_of_an_import(code, name, text):
    error = error_of(code)
    assert type(error) is ModuleNotFoundError and error.name == name and str(error) == f"No module named '{name}': {text}"
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.name == name


def test_the_finder_is_one_and_answers_for_nothing_else():
    ours = [f for f in sys.meta_path if getattr(f, "__module__", None) == "tenon._missing"]
    assert len(ours) == 1 and sys.meta_path[-1] is ours[0]
    _missing.watch_imports()
    assert len([f for f in sys.meta_path if f is ours[0]]) == 1
    for name in ("fft", "torch.fft", "tenon", "tenon.zork", "tenon.nn", "tenonx.fft"):
        assert ours[0].find_spec(name) is None
    assert str(error_of("import tenon.add")) == "No module named 'tenon.add'"  # a function of Tenon's, no module


@pytest.mark.parametrize("code, kind, text", [
    ("torch.nn.Liner", AttributeError, "module 'tenon.nn' has no attribute 'Liner'"),
    ("torch.zork", AttributeError, "module 'tenon' has no attribute 'zork'"),
    ("torch._zork", AttributeError, "module 'tenon' has no attribute '_zork'"),
    ("torch.nn.Linear(2, 2).zork", AttributeError, "'Linear' object has no attribute 'zork'"),
    ("import tenon.zork", ModuleNotFoundError, "No module named 'tenon.zork'"),
])
def test_a_name_that_pytorch_has_not_is_pythons_own(code, kind, text):
    error = error_of(code)
    assert type(error) is kind and str(error) == text
    assert error.name == text.rpartition("'")[0].rpartition("'")[2]


def test_pythons_suggestions_stay():
    said = python("-c", "import tenon; tenon.nn.Liner").stderr.splitlines()[-1]
    assert said == "AttributeError: module 'tenon.nn' has no attribute 'Liner'. Did you mean: 'Linear'?"
    assert re.fullmatch(r"cannot import name 'zork' from 'tenon' \(.*__init__.py\)", str(error_of("from tenon import zork")))


def test_asking_is_no_error():
    assert not hasattr(torch, "fft") and not hasattr(torch.nn, "LSTM") and not hasattr(torch.Tensor, "det")
    assert not hasattr(torch.ones(1), "det") and not hasattr(torch.nn.Linear(1, 1), "compile")
    assert getattr(torch, "compile", None) is None
    assert importlib.util.find_spec("tenon.fft") is None and importlib.util.find_spec("tenon.zork") is None
    assert importlib.util.find_spec("tenon.nn.functional") is not None
    net = torch.nn.Linear(2, 3)
    assert copy.deepcopy(net).weight.shape == pickle.loads(pickle.dumps(net)).weight.shape == (3, 2)
    for module in (torch, torch.nn, torch.nn.functional, torch.optim, torch.utils.data):
        assert inspect.unwrap(module) is module and dict(inspect.getmembers(module)) and inspect.getsourcefile(module)
    with pytest.raises(ImportError) as caught:
        exec("from tenon.nn import LSTM")
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_every_name_of_the_table_is_there_or_said_to_be_missing():
    missing = 0
    for place, names in _missing.names().items():
        ours = sys.modules.get("tenon" + place.removeprefix("torch"))
        if ours is None or not hasattr(ours, "__getattr__"):
            continue
        for name in names:
            try:
                getattr(ours, name)
            except AttributeError as error:
                missing += 1
                assert f"has no attribute '{name}': Tenon does not have " in str(error), (place, name)
    assert missing > 800


def _names_tool():
    path = pathlib.Path(__file__).resolve().parents[2] / "tools" / "missing_names.py"
    spec = importlib.util.spec_from_file_location("missing_names", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def test_every_missing_name_has_a_reason_and_no_other_has():
    tool = _names_tool()
    assert tool.without_reason() == [], "a pattern in _missing.py says why, or a line in tools/names_to_come.txt"
    assert tool.reasons_of_what_is_there() == [], "tools/missing_names.py --update; patterns of _missing.py are edited by hand"
    later = tool.to_come()
    assert len(set(later)) == len(later) and [n for n in later if tool.reason_of(n)] == []
    assert set(later) <= set(tool.absent()), "tools/missing_names.py --update deletes what is there by now"


def test_the_document_of_names_is_that_of_this_package():
    tool = _names_tool()
    text = tool.DOCUMENT.read_text()
    assert text == "\n".join(tool.document()) + "\n", "tools/missing_names.py --update writes it"
    shown = set(re.findall(r"`([\w.]+)`", text))
    assert set(tool.absent()) <= shown and "Tensor.add" not in shown


def test_what_is_said_to_be_there_is():
    for _, text in _missing._INSTEAD:
        for name in re.findall(r"torch(?:\.\w+)+", text.partition(";")[2]):
            thing = torch
            for part in name.split(".")[1:]:
                thing = getattr(thing, part)


def test_the_table_is_small_and_read_late():
    assert TABLE.stat().st_size < 60_000
    program = ("import tenon, tenon.nn, tenon.optim, tenon.utils.data; from tenon import _missing; print(_missing.names.cache_info().currsize);"
               "hasattr(tenon, '_no'); print(_missing.names.cache_info().currsize); hasattr(tenon, 'fft'); print(_missing.names.cache_info().currsize)")
    assert python("-c", program).stdout.split() == ["0", "0", "1"]


def test_under_the_name_torch():
    program = """
def shown(code):
    try:
        exec(code)
    except ImportError as error:
        print(type(error).__name__, error)
shown("import torch.distributed as dist")
shown("from torch.nn import GRU")
shown("import torch.zork")
shown("from torch.fft import rfft")
shown("from torch import fft")
shown("import torch.nn.utils.rnn as rnn")
"""
    lines = python("-m", "tenon", "-c", program).stdout.splitlines()
    assert lines[0].startswith("ModuleNotFoundError Tenon has no module 'tenon.distributed'")
    assert lines[0].endswith("; Tenon does not have torch.distributed; torch.nn.DataParallel uses the GPUs of one process")
    assert lines[1].startswith("ImportError cannot import name 'GRU' from 'tenon.nn': Tenon does not have recurrent layers")
    assert lines[2].endswith("(tenon.install_as_torch)")
    assert lines[3].startswith("ModuleNotFoundError") and lines[3].endswith("; Tenon does not have complex numbers")
    assert lines[4] == "ImportError cannot import name 'fft' from 'tenon': Tenon does not have complex numbers"
    assert lines[5].endswith("; Tenon does not have recurrent layers; a loop over torch.nn.Linear makes them")


# ---- python -m tenon --missing ----

PROGRAM = """\
import torch
import torch.nn as nn, numpy as np
import torch.nn.functional as F
from torch.utils.data import DataLoader, DistributedSampler
from torch import optim, Tensor
from torch.nn.modules.rnn import GRU as Cell
try:
    from torch.cuda.amp import autocast
except ImportError:
    autocast = None
N = nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 2, 3)
        self.lstm = N.LSTM(3, 4)
        self.fc = nn.Linear(2, 2)

    def ormqr(self):
        pass

    def forward(self, x):
        x = F.scaled_dot_product_attention(F.relu(self.gru(x)), 2)
        y = x.lu().sum()
        z = np.lobpcg(x).det() + self.ormqr()
        if hasattr(torch, "compile"):
            self.c = torch.compile(self.fc)
        return torch.fft.rfft(y), x.name, torch.zork, torch._C._zork


def shadowed(torch, nn=None):
    F = [nn.LSTM for nn in (torch,)]
    return torch.lstm_cell, F


optimizer = optim.Adafactor([]), torch.optim.SGD([], lr=0.1)
x = [torch.lobpcg(i) for i in range(3)], "{}".format(1).index("1"), torch.device("cpu").type
"""


def test_a_program_is_read(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = python("-m", "tenon", "--missing", "program.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    lines = [line.split(": ") for line in done.stdout.splitlines()]
    assert [(place, name) for place, name, *_ in lines] == [
        ("program.py:4", "torch.utils.data.DistributedSampler"),
        ("program.py:6", "torch.nn.modules.rnn"),
        ("program.py:8", "perhaps torch.cuda.amp"),
        ("program.py:17", "torch.nn.GRU"),
        ("program.py:18", "torch.nn.LSTM"),
        ("program.py:25", "torch.nn.functional.scaled_dot_product_attention"),
        ("program.py:26", "perhaps torch.Tensor.lu"),
        ("program.py:29", "perhaps torch.compile"),
        ("program.py:30", "torch._C._zork"),
        ("program.py:30", "torch.fft"),
        ("program.py:30", "torch.zork"),
        ("program.py:38", "torch.optim.Adafactor"),
        ("program.py:39", "torch.lobpcg"),
    ]
    assert lines[3][2] == "Tenon does not have recurrent layers; a loop over torch.nn.Linear makes them"
    assert lines[8][2] == "Tenon does not have what PyTorch keeps to itself"
    assert lines[10][2] == "neither Tenon nor PyTorch has such a public name"


def listed(tmp_path, text, name="program.py"):
    """What is said of a program: [(line, name)]."""
    (tmp_path / name).write_text(text)
    done = python("-m", "tenon", "--missing", name, cwd=tmp_path)
    assert done.stderr == "" and done.returncode == ("Tenon has every name" not in done.stdout), done.stderr
    places = [line.removeprefix(f"{name}:").split(": ")[:2] for line in done.stdout.splitlines()]
    return [] if not done.returncode else [(place if ":" in place else int(place), what) for place, what in places]


@pytest.mark.parametrize("text, found", [
    # a name that is given another meaning where it is missing keeps the one that it has
    ("try:\n    import torch\nexcept ImportError:\n    torch = None\ntorch.lobpcg(1)\n", [(5, "torch.lobpcg")]),
    ("try:\n    import torch.fft as f\nexcept ImportError:\n    f = None\nif f:\n    f.rfft(1)\n",
     [(2, "perhaps torch.fft"), (5, "perhaps torch.fft"), (6, "perhaps torch.fft")]),
    # functions run when the file has been
    ("def f():\n    return torch.lobpcg(1)\nimport torch\n", [(2, "torch.lobpcg")]),
    ("def f():\n    return t.lobpcg(1)\ndef g():\n    global t\n    import torch as t\n", [(2, "torch.lobpcg")]),
    ("def f():\n    def g():\n        return nn.LSTM\n    import torch.nn as nn\n", [(3, "torch.nn.LSTM")]),
    # what PyTorch keeps to itself
    ("import torch._dynamo\nfrom torch._six import inf\ntorch._dynamo.reset()\n",
     [(1, "torch._dynamo"), (2, "torch._six"), (3, "torch._dynamo")]),
    # guards
    ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from torch.fft import rfft\n", [(3, "perhaps torch.fft")]),
    ("import contextlib, torch\nwith contextlib.suppress(AttributeError):\n    torch.compile\nwith open('x'):\n    torch.lobpcg\n",
     [(3, "perhaps torch.compile"), (5, "torch.lobpcg")]),
    ("import torch\nx = torch.compile if hasattr(torch, 'compile') else torch.lobpcg\n", [(2, "perhaps torch.compile"), (2, "torch.lobpcg")]),
    ("import torch\nhasattr(torch, 'compile') and torch.compile(1)\n", [(2, "perhaps torch.compile")]),
    ("import torch\nif not hasattr(torch, 'compile'):\n    torch.lobpcg\nelse:\n    torch.compile\n",
     [(3, "torch.lobpcg"), (5, "perhaps torch.compile")]),
    ("import torch\ntry:\n    torch.compile(1)\nexcept AttributeError:\n    torch.lobpcg\n", [(3, "perhaps torch.compile"), (5, "torch.lobpcg")]),
    # what Python has under the same name
    ("from torch import *\nx = complex(1), set(), range(2), lobpcg(x)\n", [(2, "torch.lobpcg")]),
    ("import torch\nif (n := torch.nn):\n    n.LSTM\n", [(3, "torch.nn.LSTM")]),
    ("import torch\nx = " + " + ".join(["1"] * 2000) + " + torch.lobpcg(1)\n", [(2, "torch.lobpcg")]),
])
def test_how_names_are_followed(tmp_path, text, found):
    assert listed(tmp_path, text) == found


def test_a_notebook_is_read(tmp_path):
    cells = [("markdown", ["import torch.fft"]),
             ("code", ["%matplotlib inline\n", "x = 1  # really?\n", "!pip install torch\n", "import torch\n", "files = !ls\n", "torch.lobpcg?"]),
             ("code", "%%bash\nfor i in torch.lobpcg"),
             ("code", "if True:\n    %time x = 1\ntorch.lobpcg(x)")]
    text = json.dumps({"cells": [{"cell_type": kind, "source": source} for kind, source in cells], "nbformat": 4})
    assert listed(tmp_path, text, "book.ipynb") == [("cell 4:3", "torch.lobpcg")]
    (tmp_path / "book.ipynb").write_text(json.dumps({"cells": [{"cell_type": "code", "source": "x = 1\ndef f(:"}]}))
    done = python("-m", "tenon", "--missing", "book.ipynb", cwd=tmp_path)
    assert done.returncode == 2 and "book.ipynb, cell 1:2: this is not a Python program" in done.stderr
    (tmp_path / "book.ipynb").write_text("[1]")
    done = python("-m", "tenon", "--missing", "book.ipynb", cwd=tmp_path)
    assert done.returncode == 2 and "a notebook without cells" in done.stderr and len(done.stderr.splitlines()) == 1


def test_programs_that_lack_nothing(tmp_path):
    root = pathlib.Path(__file__).parents[2]
    done = python("-m", "tenon", "--missing", str(root / "examples/python/mnist.py"))
    assert (done.returncode, done.stderr) == (0, "") and len(done.stdout.splitlines()) == 1
    assert done.stdout.endswith("mnist.py: Tenon has every name that the program uses\n")
    ours = [str(p) for p in sorted((root / "tests/python").glob("test_nn_*.py"))]
    done = python("-m", "tenon", "--missing", *ours)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("content, text", [
    (b"import torch\ndef f(:\n", "program.py, line 2: this is not a Python program: invalid syntax"),
    (b"\x7fELF\x02\x01\x00\x00", "program.py"),
    (b"x = '\xff'\n", "program.py"),
    (b"(" * 5000, "program.py"),
    (None, "can't open file 'program.py': No such file or directory"),
])
def test_what_is_no_program(tmp_path, content, text):
    if content is not None:
        (tmp_path / "program.py").write_bytes(content)
    done = python("-m", "tenon", "--missing", "program.py", cwd=tmp_path)
    assert done.returncode == 2 and not done.stdout and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("python -m tenon --missing: ") and text in done.stderr
    assert content is None or "this is not a Python program" in done.stderr


def test_the_option_asks_for_a_program():
    done = python("-m", "tenon", "--missing")
    assert done.returncode == 2 and "--missing: needs an argument" in done.stderr
