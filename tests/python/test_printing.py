"""300 tensors of every dtype, shape, range, layout and print option: Tenon's text is PyTorch's.

data/printing.json holds the elements' bits and the text (and the PyTorch that made it); data/make_printing.py made it.
"""
import json
import math
import struct
from pathlib import Path

import pytest

import tenon as torch

DATA = json.loads(Path(__file__).with_name("data").joinpath("printing.json").read_text(encoding="utf-8"))
CODES = {"bool": "?", "uint8": "B", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "float16": "e", "bfloat16": "H",
         "float32": "f", "float64": "d"}


def elements_of(item):
    """The elements as Python numbers, which hold every one of them exactly."""
    raw = bytes.fromhex(item["data"])
    code = CODES[item["dtype"]]
    numbers = list(struct.unpack(f"<{len(raw) // struct.calcsize(code)}{code}", raw))
    if item["dtype"] == "bfloat16":  # the upper half of a float32
        numbers = [struct.unpack("<f", struct.pack("<I", n << 16))[0] for n in numbers]
    n = math.prod(item["shape"])
    return (numbers * -(-n // len(numbers)))[:n] if n else []


def viewed(t, views):
    for name, *arguments in views:
        if name == "slice":
            d, start, stop, step = arguments
            t = t[(slice(None),) * d + (slice(start, stop, step),)]
        else:
            t = getattr(t, name)(*arguments)
    return t


def tensor_of(item):
    dtype = getattr(torch, item["dtype"])
    t = torch.tensor(elements_of(item), dtype=dtype).reshape(item["shape"])
    t = t.to(item.get("device", "cpu"))
    if item.get("grad") == "leaf":
        t.requires_grad_()
    t = viewed(t, item.get("views", []))
    return torch.nn.Parameter(t) if item.get("grad") == "parameter" else t


@pytest.fixture
def restored():
    yield
    torch.set_default_dtype(torch.float32)
    torch.set_printoptions(profile="default", sci_mode=None)


@pytest.mark.parametrize("number", range(len(DATA["items"])))
def test_text(number, restored):
    item = DATA["items"][number]
    t = tensor_of(item)
    torch.set_default_dtype(getattr(torch, item.get("default", "float32")))
    torch.set_printoptions(**item.get("options", {}))
    assert repr(t) == item["text"]
    assert str(t) == item["text"]


def test_there_are_300_of_all_kinds(record_property):
    items = DATA["items"]
    assert len(items) == 300
    assert {i["dtype"] for i in items} == set(CODES)
    assert {len(i["shape"]) for i in items} == set(range(9))
    assert sum("..." in i["text"] for i in items) >= 40
    record_property("count", f"printing: {len(items)} tensors, made with {DATA['made_with']}")


def test_format(restored):
    t = torch.tensor(3.14159)
    assert f"{t:.2f}" == "3.14"
    assert f"{t}" == "3.141590118408203"
    assert f"{torch.tensor(7):4d}" == "   7"
    assert f"{torch.tensor([1, 2])}" == "tensor([1, 2])"
    with pytest.raises(TypeError, match="unsupported format string passed to Tensor.__format__"):
        f"{torch.tensor([1, 2]):.2f}"


def test_options_stay_until_they_are_changed(restored):
    torch.set_printoptions(precision=2)
    torch.set_printoptions(linewidth=20)
    t = torch.tensor([0.125, 1.0, 2.5, 3.75])
    assert repr(t) == "tensor([0.12, 1.00,\n        2.50, 3.75])"
    torch.set_printoptions(profile="default")
    assert repr(t) == "tensor([0.1250, 1.0000, 2.5000, 3.7500])"
    with pytest.raises(TypeError):
        torch.set_printoptions(colour=True)
