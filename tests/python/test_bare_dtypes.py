"""The dtypes that have few operations, uint32 and its like: PyTorch's results and errors (data/make_bare.py) on the CPU and on
a fake GPU, and what files and other libraries make of them."""

import io
import json
import os
import pathlib

os.environ.setdefault("TENON_FAKE_GPUS", "2")

import numpy as np
import pytest
import tenon as torch
from tenon import safetensors

RECORDS = json.loads((pathlib.Path(__file__).parent / "data" / "bare.json").read_text())
NAMES = sorted({r[0] for r in RECORDS})

# where Tenon means to differ
DIFFERENCES = {
    # what int32 does not hold is its largest number before it wraps, as for int8 and int16: C says nothing of it
    ("uint16", "torch.tensor([3e9, 70000.7], dtype=torch.float64).to(d)"): ["torch.uint16", [65535, 4464]],
}


def values(name, device="cpu"):
    d = getattr(torch, name)
    m = torch.iinfo(d).max
    x, s = torch.tensor([m, 1, m - 1, 0], dtype=d), torch.tensor(1, dtype=d)
    f, b, i = torch.tensor([0.5, 1.0, 2.0, 3.0]), torch.tensor([True, False, True, False]), torch.tensor([3, 0, 2, 0])
    tensors = {"x": x, "s": s, "f": f, "b": b, "i": i}
    return {**{k: t.to(device) for k, t in tensors.items()}, "m": m, "d": d, "torch": torch, "np": np}


def result(value):
    if isinstance(value, torch.Tensor):
        if value.device.type == "meta":
            return [str(value.dtype), list(value.shape)]
        return [str(value.dtype), value.double().tolist() if value.is_floating_point() else value.tolist()]
    return str(value)


def same(got, want):
    if isinstance(want, list) and len(want) == 2 and isinstance(want[0], str) and want[0].startswith("torch.") and "float" in want[0]:
        return got[0] == want[0] and np.allclose(got[1], want[1], rtol=1e-6, equal_nan=True)
    return got == want


@pytest.mark.parametrize("name, expression, want", RECORDS, ids=[f"{r[0]}-{r[1]}" for r in RECORDS])
def test_as_in_pytorch(name, expression, want):
    want = DIFFERENCES.get((name, expression), want)
    if isinstance(want, dict):
        (kind, text), = want.items()
        with pytest.raises(Exception) as error:
            eval(expression, values(name))
        assert (type(error.value).__name__, str(error.value).splitlines()[0]) == (kind, text)
    else:
        assert same(result(eval(expression, values(name))), want)


# what is of the host alone
ON_THE_HOST = ("numpy", "dlpack", "meta", "type()", "repr(x)", "zeros(", "ones(", "full(", "tensor(", "rand", "eye", "arange", "linspace")


@pytest.mark.parametrize("name, expression, want",
                         [r for r in RECORDS if isinstance(r[2], list) and not any(w in r[1] for w in ON_THE_HOST)])
def test_on_gpus_too(name, expression, want):
    here = values(name, "cuda")
    want = DIFFERENCES.get((name, expression), want)
    if isinstance(want, dict):
        with pytest.raises(NotImplementedError):
            eval(expression, here)
    else:
        assert same(result(eval(expression, here)), want)


@pytest.mark.parametrize("name", NAMES)
def test_files(name, tmp_path):
    x = values(name)["x"].view(2, 2).t()
    d, numbers = x.dtype, x.tolist()
    safetensors.save_file({"x": x.contiguous()}, str(tmp_path / "a.safetensors"))
    with safetensors.safe_open(str(tmp_path / "a.safetensors"), "pt") as f:
        assert f.get_slice("x").get_dtype() == {"uint16": "U16", "uint32": "U32", "uint64": "U64"}[name]
        assert f.get_tensor("x").tolist() == numbers and f.get_tensor("x").dtype is d
    for protocol in (2, 5):
        file = io.BytesIO()
        torch.save({"x": x, "y": x[1]}, file, pickle_protocol=protocol)
        file.seek(0)
        back = torch.load(file)
        assert back["x"].tolist() == numbers and back["x"].dtype is d and back["x"].stride() == (1, 2)
        assert back["y"].untyped_storage().data_ptr() == back["x"].untyped_storage().data_ptr() or back["y"].tolist() == numbers[1]


def test_files_of_pytorch():
    """bare.pt (data/make_bare.py): uint32 and its like lie in untyped storages."""
    for mmap in (False, True):
        for weights_only in (False, True):
            back = torch.load(pathlib.Path(__file__).parent / "data" / "bare.pt", weights_only=weights_only, mmap=mmap)
            for name in NAMES:
                assert back[name].dtype is getattr(torch, name) and back[name].tolist() == values(name)["x"].view(2, 2).t().tolist()
                assert back[name].stride() == (1, 2)
