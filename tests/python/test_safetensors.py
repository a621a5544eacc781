"""tenon.safetensors, and pickle and copy of tensors."""

import copy
import json
import pickle
import struct
import subprocess
import sys

import pytest

import tenon as torch
from tenon import _utils, nn
from tenon import safetensors as st

# what the format's description says: length, header, bytes
HEADER = b'{"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
HEADER += b" " * (-len(HEADER) % 8)
FILE = struct.pack("<Q", len(HEADER)) + HEADER + struct.pack("<2f", 1.5, -2.0)


def test_reads_the_format(tmp_path):
    path = tmp_path / "a.safetensors"
    path.write_bytes(FILE)
    loaded = st.load_file(path)
    assert list(loaded) == ["a"] and loaded["a"].tolist() == [1.5, -2.0] and loaded["a"].dtype == torch.float32
    loaded["a"].add_(1)
    assert path.read_bytes() == FILE, "tensors are memory of their own"
    assert st.load(FILE)["a"].tolist() == [1.5, -2.0]
    assert torch.load(path)["a"].tolist() == [1.5, -2.0]
    assert torch.load(path, map_location="cpu")["a"].tolist() == [1.5, -2.0]
    with pytest.raises(ValueError, match="dict map_location is not supported"):
        torch.load(path, map_location={})


def test_round_trip(tmp_path):
    path = tmp_path / "a.safetensors"
    tensors = {"b": torch.arange(6).reshape(2, 3).t(), "a": torch.tensor(True), "c": torch.ones(2, dtype=torch.bfloat16)}
    st.save_file(tensors, path, {"epoch": "3"})
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
    assert header["b"]["dtype"] == "I64" and header["b"]["shape"] == [3, 2] and header["c"]["dtype"] == "BF16"
    assert header["__metadata__"] == {"epoch": "3"}
    again = st.load_file(str(path))
    for name, tensor in tensors.items():
        assert again[name].dtype == tensor.dtype and again[name].tolist() == tensor.tolist()
    assert st.load(st.save({"x": torch.ones(3)}))["x"].tolist() == [1.0] * 3


def test_safe_open(tmp_path):
    path = tmp_path / "a.safetensors"
    path.write_bytes(FILE)
    with st.safe_open(path, framework="pt") as file:
        assert file.keys() == ["a"] and file.metadata() == {"k": "v"}
        assert file.get_tensor("a").tolist() == [1.5, -2.0]
        part = file.get_slice("a")
        assert part.get_shape() == [2] and part.get_dtype() == "F32" and part[1:].tolist() == [-2.0]
        with pytest.raises(KeyError, match="File does not contain tensor b"):
            file.get_tensor("b")
    with pytest.raises(ValueError, match="framework tf is invalid"):
        st.safe_open(path, framework="tf")


def test_refuses(tmp_path):
    path = tmp_path / "a.safetensors"
    a = torch.arange(4.0)
    with pytest.raises(RuntimeError, match="Some tensors share memory"):
        st.save_file({"a": a, "b": a[:2]}, path)
    with pytest.raises(ValueError, match="Key `a` is invalid, expected torch.Tensor but received <class 'int'>"):
        st.save_file({"a": 1}, path)
    with pytest.raises(ValueError, match="Expected a dict"):
        st.save_file([a], path)
    assert not path.exists()
    path.write_bytes(FILE[:-1])
    with pytest.raises(Exception):
        st.load_file(path)


def test_a_file_that_is_cut_while_it_is_open(tmp_path):
    # in a process of its own: where the file is touched after that, the system ends it (SIGBUS)
    path = tmp_path / "a.safetensors"
    st.save_file({"a": torch.ones(5000), "b": torch.ones(5000)}, path)
    program = """if True:
        import os, sys
        from tenon import safetensors as st
        path = sys.argv[1]
        with st.safe_open(path, framework="pt") as f:
            a, part = f.get_tensor("a"), f.get_slice("b")
            print(part.get_shape(), part.get_dtype(), part[:2].tolist(), sorted(f.keys()), f.offset_keys())
            os.truncate(path, 20800)
            print(a.sum().item(), f.get_tensor("a").sum().item())
            for get in (lambda: f.get_tensor("b"), lambda: part[:1]):
                try:
                    get()
                except OSError as error:
                    print(str(error).split(": ", 1)[1])
    """
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "[5000] F32 [1.0, 1.0] ['a', 'b'] ['a', 'b']",
        "5000.0 5000.0",
        "the file was cut to 20800 bytes while it was read",
        f"the file was cut from {40000 + 8 + len_of_header(path)} to 20800 bytes since it was opened",
    ]


def len_of_header(path):
    with open(path, "rb") as file:
        return struct.unpack("<Q", file.read(8))[0]


def test_models(tmp_path):
    path = str(tmp_path / "m.safetensors")
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    st.save_model(net, path)
    assert sorted(st.load_file(path)) == ["0.bias", "0.weight", "1.bias"]
    other = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    other[1].weight = other[0].weight
    assert st.load_model(other, path) == ([], [])
    x = torch.ones(1, 2)
    assert torch.equal(other(x), net(x))
    with pytest.raises(RuntimeError, match=r'Unexpected key\(s\) in state_dict: "1.bias"'):
        st.load_model(nn.Sequential(nn.Linear(2, 2)), path)


# ---- pickle and copy: the functions behind Tensor.__reduce_ex__ and Tensor.__deepcopy__ ----


def rebuilt(tensor, protocol=4):
    function, args = _utils._reduce_tensor(tensor, protocol)
    return function(*args)


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_reduce(protocol):
    base = torch.arange(24.0).reshape(4, 6)
    for t in (base, base.t(), base[1:3, ::2], torch.tensor(7), torch.empty(0, 2), torch.tensor([True])):
        again = rebuilt(t, protocol)
        assert again.dtype == t.dtype and again.shape == t.shape and torch.equal(again, t)
    assert rebuilt(base.t(), protocol).stride() == (1, 6)
    assert rebuilt(torch.ones(2, requires_grad=True), protocol).requires_grad
    assert rebuilt(torch.empty(2, 3, device="meta"), protocol).device.type == "meta"


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol):
    t = torch.arange(6).reshape(2, 3).t()
    again = pickle.loads(pickle.dumps({"t": t, "d": torch.float32, "dev": torch.device("cuda", 1)}, protocol))
    assert torch.equal(again["t"], t) and again["d"] is torch.float32 and again["dev"] == torch.device("cuda:1")
    p = pickle.loads(pickle.dumps(nn.Parameter(torch.ones(2)), protocol))
    assert type(p) is nn.Parameter and p.requires_grad and p.tolist() == [1.0, 1.0]


def test_deepcopy_helper():
    base = torch.arange(6.0)
    memo = {}
    a, b = _utils._deepcopy_tensor(base, memo), _utils._deepcopy_tensor(base[2:4], memo)
    assert _utils._deepcopy_tensor(base, memo) is a
    a[3] = 100.0
    assert b.tolist() == [2.0, 100.0] and base[3].item() == 3.0
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        _utils._deepcopy_tensor(torch.ones(2, requires_grad=True) * 2, {})


def test_deepcopy():
    x = torch.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    x.note = [1]
    y = copy.deepcopy(x)
    assert y.requires_grad and y.is_leaf and y.grad.tolist() == [3.0, 3.0]
    assert y.note == [1] and y.note is not x.note
    y.grad.zero_()
    assert x.grad.tolist() == [3.0, 3.0]
    base = torch.arange(4.0)
    a, b = copy.deepcopy([base, base[1:]])
    a[1] = 50.0
    assert b[0].item() == 50.0 and base[1].item() == 1.0
    net = nn.Linear(2, 1)
    twin = copy.deepcopy(net)
    assert torch.equal(twin.weight, net.weight) and twin.weight is not net.weight
    assert type(twin.weight) is nn.Parameter
