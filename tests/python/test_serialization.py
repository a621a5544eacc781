"""tenon.save and tenon.load: PyTorch's files, read and written. The .pt files in data/ are PyTorch's own."""

import collections
import io
import os
import pathlib
import pickle
import subprocess
import sys
import zipfile

import pytest

import tenon as torch
from tenon import nn

DATA = pathlib.Path(__file__).parent / "data"


def through(obj, **options):
    """The object saved and loaded again."""
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return torch.load(file, **options)


class Own:
    """A class of the user's."""

    def __init__(self, value):
        self.value = value


def test_values_of_pytorch():
    v = torch.load(DATA / "values.pt")
    expected = {
        "float64": [1.5, -2.25],
        "float32": [[1.5, -2.0, 3.25], [0.0, 4.0, -5.5]],
        "float16": [0.5, 65504.0, -1.0],
        "bfloat16": [1.0, -2.5, 3.0],
        "int64": [2**62, -7],
        "int32": [2**31 - 1, -(2**31)],
        "int16": [-32768, 5],
        "int8": [-128, 127],
        "uint8": [0, 255],
        "bool": [True, False, True],
    }
    for name, values in expected.items():
        assert v[name].dtype == getattr(torch, name) and v[name].tolist() == values
    assert v["zero_dim"].shape == () and v["zero_dim"].item() == 3.5
    assert v["empty"].shape == (0, 3)
    assert v["leaf"].requires_grad and v["leaf"].is_leaf and not v["float32"].requires_grad
    assert type(v["parameter"]) is nn.Parameter and v["parameter"].requires_grad and v["parameter"].item() == 7
    assert type(v["frozen"]) is nn.Parameter and not v["frozen"].requires_grad
    assert type(v["size"]) is torch.Size and v["size"] == (2, 3)
    assert v["dtype"] is torch.bfloat16 and v["device"] == torch.device("cuda", 1)
    assert list(v["ordered"].items()) == [("b", 1), ("a", 2)] and type(v["ordered"]) is collections.OrderedDict
    plain = [1, -1, 2**40, 2**70, 2.5, "text \u00e9", None, True, False, (1,), (1, 2), {3}, b"\x00\xff"]
    assert v["plain"] == plain


@pytest.mark.parametrize("mmap", [False, True])
def test_views_of_pytorch(mmap):
    v = torch.load(DATA / "views.pt", mmap=mmap)
    base = torch.arange(24.0).reshape(4, 6)
    assert torch.equal(v["base"], base) and torch.equal(v["t"], base.t())
    assert torch.equal(v["part"], base[1:3, 1::2]) and torch.equal(v["row"], base[2])
    assert v["t"].stride() == (1, 6) and v["part"].stride() == (6, 2) and v["part"].storage_offset() == 7
    assert v["wide"].shape == (3,) and v["wide"].stride() == (0,)
    v["base"][1, 3] = 100.0
    assert v["t"][3, 1].item() == v["part"][0, 1].item() == 100.0
    assert torch.load(DATA / "views.pt")["base"][1, 3].item() == 9.0, "the file is as it was"


def test_net_of_pytorch():
    saved = torch.load(DATA / "net.pt")
    assert type(saved["state_dict"]) is collections.OrderedDict
    assert list(saved["state_dict"]) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert saved["state_dict"]._metadata["0"] == {"version": 1}
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    net.load_state_dict(saved["state_dict"])
    assert torch.allclose(net(saved["x"]), saved["y"], atol=1e-6)


def test_module_of_pytorch():
    with pytest.raises(pickle.UnpicklingError, match=r"Unsupported global: GLOBAL torch\.nn\.modules\.linear\.Linear"):
        torch.load(DATA / "module.pt")
    net = torch.load(DATA / "module.pt", weights_only=False)
    assert type(net) is nn.Linear and net.weight.shape == (1, 2) and net.in_features == 2


def test_round_trip():
    v = torch.load(DATA / "values.pt")
    again = through(v)
    assert list(again) == list(v)
    for name, value in v.items():
        assert type(again[name]) is type(value)
        if isinstance(value, torch.Tensor):
            assert again[name].dtype == value.dtype and again[name].requires_grad == value.requires_grad
            assert again[name].shape == value.shape and again[name].tolist() == value.tolist()
        else:
            assert again[name] == value


def test_round_trip_of_views():
    base = torch.arange(24.0).reshape(4, 6)
    again = through([base, base.t(), base[1:3, 1::2], base[0, :1].expand(3)])
    assert [t.stride() for t in again] == [(6, 1), (1, 6), (6, 2), (0,)]
    assert again[2].storage_offset() == 7
    again[0][1, 3] = 100.0
    assert again[1][3, 1].item() == again[2][0, 1].item() == 100.0
    assert base[1, 3].item() == 9.0


def test_same_object_stays_one():
    t = torch.ones(2)
    again = through([t, t])
    assert again[0] is again[1]


def test_own_attributes():
    t, p = torch.ones(2), nn.Parameter(torch.ones(2))
    t.note, p.note = "t", "p"
    assert through(t).note == "t" and through(p).note == "p" and type(through(p)) is nn.Parameter


def test_gradients_are_not_saved():
    x = torch.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    assert through(x).grad is None
    y = through(x * 2)
    assert y.is_leaf and y.requires_grad and y.tolist() == [2.0, 2.0]


def test_meta():
    t = through(torch.empty(2, 3, device="meta"))
    assert t.device.type == "meta" and t.shape == (2, 3)


def test_records():
    """The archive: names, alignment, texts; as PyTorch writes it."""
    file = io.BytesIO()
    torch.save({"a": torch.arange(3), "b": torch.ones(2, 2).t()}, file)
    with zipfile.ZipFile(file) as archive:
        names = [e.filename for e in archive.infolist()]
        assert archive.testzip() is None
        assert archive.read("archive/version") == b"3\n" and archive.read("archive/byteorder") == b"little"
        assert archive.read("archive/.format_version") == b"1"
        assert archive.read("archive/.storage_alignment") == b"64"
        assert archive.read("archive/data/0") == (0).to_bytes(8, "little") + b"\1" + bytes(7) + b"\2" + bytes(7)
        pickled = archive.read("archive/data.pkl")
    assert names == [
        "archive/data.pkl",
        "archive/.format_version",
        "archive/.storage_alignment",
        "archive/byteorder",
        "archive/data/0",
        "archive/data/1",
        "archive/version",
        "archive/.data/serialization_id",
    ]
    assert b"ctorch._utils\n_rebuild_tensor_v2\n" in pickled and b"ctorch\nLongStorage\n" in pickled
    assert b"tenon" not in pickled and pickled[:2] == b"\x80\x02"


def starts_of_records(data):
    """Where each record's bytes begin, read from the local headers."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for entry in archive.infolist():
            head = data[entry.header_offset : entry.header_offset + 30]
            name, extra = int.from_bytes(head[26:28], "little"), int.from_bytes(head[28:30], "little")
            yield entry.header_offset + 30 + name + extra


def test_records_are_aligned():
    for n in range(1, 80, 7):
        file = io.BytesIO()
        torch.save({"x" * n: torch.ones(n)}, file)
        assert all(start % 64 == 0 for start in starts_of_records(file.getvalue()))


def test_deterministic_and_named_after_the_file(tmp_path):
    torch.save(torch.ones(2), tmp_path / "my.model.pt")
    first = (tmp_path / "my.model.pt").read_bytes()
    torch.save(torch.ones(2), str(tmp_path / "my.model.pt"))
    assert (tmp_path / "my.model.pt").read_bytes() == first
    assert zipfile.ZipFile(tmp_path / "my.model.pt").namelist()[0] == "my.model/data.pkl"
    assert torch.load(tmp_path / "my.model.pt").tolist() == [1.0, 1.0]


def test_protocols():
    for protocol in (2, 3, 4, 5):
        file = io.BytesIO()
        values = {"t": torch.arange(3), "l": [1] * 300, "s": "x" * 300, "b": b"y" * 300}
        torch.save(values, file, pickle_protocol=protocol)
        file.seek(0)
        again = torch.load(file)
        assert again["t"].tolist() == [0, 1, 2] and again["l"] == [1] * 300 and again["b"] == b"y" * 300
    with pytest.raises(ValueError, match="pickle_protocol"):
        torch.save(1, io.BytesIO(), pickle_protocol=1)


def test_same_memory_as_two_types():
    memory = bytearray(16)
    a, b = torch.frombuffer(memory, dtype=torch.float32), torch.frombuffer(memory, dtype=torch.int32)
    with pytest.raises(RuntimeError, match="Cannot save multiple tensors or storages that view the same data as"):
        torch.save([a, b], io.BytesIO())


# ---- where tensors go ----


def run(program, **environment):
    """What a program prints in a process with that environment."""
    done = subprocess.run(
        [sys.executable, "-c", "import io, sys, tenon as torch\nDATA = sys.argv[1]\n" + program, str(DATA)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_gpu_tensor_without_gpu():
    program = """
for where in (None, "cuda:1"):
    try:
        torch.load(DATA + ("/cuda.pt" if where is None else "/net.pt"), map_location=where)
    except RuntimeError as error:
        print(error)
"""
    text = (
        "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running "
        "on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to "
        "the CPU."
    )
    assert run(program, CUDA_VISIBLE_DEVICES="", TENON_FAKE_GPUS="") == [text, text]


def test_gpu_tensors():
    program = """
def through(t, **options):
    file = io.BytesIO()
    torch.save(t, file)
    file.seek(0)
    return torch.load(file, **options), file.getvalue()
print(torch.load(DATA + "/cuda.pt")["cuda"])
t = torch.arange(4.0).cuda()
again, data = through([t, t[1:]])
print(again[0].device, again[0].tolist(), again[1].storage_offset(), data.count(b"cuda:0"))
again[0][1] = 9.0
print(again[1].tolist())
print(through(t, map_location="cpu")[0].device, through(t.cpu(), map_location="cuda")[0].device)
print(through(t, map_location=lambda s, l: s.cuda(0) if l == "cuda:0" else s)[0].device)
try:
    through(t, map_location="cuda:99")
except RuntimeError as error:
    print(error)
"""
    assert run(program, TENON_FAKE_GPUS="1") == [
        "tensor([1., 1., 1.], device='cuda:0')",
        "cuda:0 [0.0, 1.0, 2.0, 3.0] 1 1",
        "[9.0, 2.0, 3.0]",
        "cpu cuda:0",
        "cuda:0",
        "Attempting to deserialize object on CUDA device 99 but torch.cuda.device_count() is 1. Please use torch.load "
        "with map_location to map your storages to an existing device.",
    ]


@pytest.mark.parametrize(
    "where",
    ["cpu", b"cpu", torch.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage, lambda s, l: s.cpu()],
)
def test_map_location(where):
    t = torch.load(DATA / "cuda.pt", map_location=where)["cuda"]
    assert t.device == torch.device("cpu") and t.tolist() == [1.0] * 3


def test_map_location_functions():
    seen = []

    def note(storage, location):
        seen.append((location, storage.nbytes(), len(storage), storage.dtype, str(storage.device)))
        return storage

    torch.load(DATA / "cuda.pt", map_location=note)
    assert seen == [("cuda:0", 12, 3, torch.float32, "cpu")]
    assert through(torch.ones(1), map_location=lambda storage, location: None).tolist() == [1.0]
    assert through(torch.ones(1), map_location={"cuda:0": "cuda:1"}).device.type == "cpu"
    assert through(torch.ones(2), map_location="meta").device.type == "meta"
    with pytest.raises(TypeError, match="'int' object is not callable"):
        through(torch.ones(1), map_location=3)
    with pytest.raises(TypeError, match="map_location must return a storage or None"):
        through(torch.ones(1), map_location=lambda storage, location: 3)


# ---- files ----


def test_paths_and_files(tmp_path):
    path = tmp_path / "a.pt"
    for name in (path, str(path), os.fsencode(path)):
        torch.save(torch.ones(1), name)
        assert torch.load(name).item() == 1
    with open(path, "wb") as file:
        torch.save(torch.zeros(1), file)
    with open(path, "rb") as file:
        assert torch.load(file).item() == 0

    class OnlyWrite:
        data = b""

        def write(self, data):
            self.data += data

    sink = OnlyWrite()
    torch.save(torch.ones(2), sink)
    assert torch.load(io.BytesIO(sink.data)).tolist() == [1.0, 1.0]


def test_arguments(tmp_path):
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like object with a 'write'"):
        torch.save(1, 3)
    with pytest.raises(AttributeError, match="You can only torch.load from a file that is seekable"):
        torch.load(3)
    with pytest.raises(RuntimeError, match="^Parent directory .*missing does not exist.$"):
        torch.save(1, tmp_path / "missing" / "a.pt")
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "missing.pt")
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        torch.load(io.BytesIO(), mmap=True)
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"):
        torch.load(DATA / "values.pt", pickle_module=pickle, weights_only=True)
    with pytest.raises(RuntimeError, match="zip format only"):
        torch.save(1, io.BytesIO(), _use_new_zipfile_serialization=False)


def test_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.pt"
    torch.save(torch.ones(1), path)
    old = path.read_bytes()
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        torch.save([torch.zeros(1), lambda: 0], path)
    from tenon import _zip

    def fail(self):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_zip.ArchiveWriter, "close", fail)
    with pytest.raises(OSError, match="No space left"):
        torch.save(torch.zeros(1), path)
    assert path.read_bytes() == old and os.listdir(tmp_path) == ["a.pt"]


def test_save_keeps_mode_and_links(tmp_path):
    path, link = tmp_path / "a.pt", tmp_path / "link.pt"
    torch.save(torch.ones(1), path)
    path.chmod(0o640)
    link.symlink_to(path)
    torch.save(torch.zeros(1), link)
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640 and torch.load(path).item() == 0


def test_mmap_is_private(tmp_path):
    path = tmp_path / "a.pt"
    torch.save(torch.arange(1000.0), path)
    t = torch.load(path, mmap=True)
    t.add_(1)
    assert t[0].item() == 1 and torch.load(path)[0].item() == 0


# ---- user classes ----


def test_own_classes_need_consent():
    file = io.BytesIO()
    torch.save(Own(torch.ones(2)), file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError) as info:
        torch.load(file)
    name = f"{Own.__module__}.Own"
    text = str(info.value)
    assert text.startswith("Weights only load failed. This file can still be loaded, to do so you have two options, ")
    assert (
        f"WeightsUnpickler error: Unsupported global: GLOBAL {name} was not an allowed global by default. Please use "
        f"`torch.serialization.add_safe_globals([{name}])` or the `torch.serialization.safe_globals([{name}])` context "
        "manager to allowlist this global if you trust this class/function." in text
    )
    file.seek(0)
    assert torch.serialization.get_unsafe_globals_in_checkpoint(file) == [name]
    file.seek(0)
    assert torch.load(file, weights_only=False).value.tolist() == [1.0, 1.0]
    file.seek(0)
    with torch.serialization.safe_globals([Own]):
        assert torch.serialization.get_safe_globals() == [Own]
        assert torch.load(file).value.tolist() == [1.0, 1.0]
    assert torch.serialization.get_safe_globals() == []
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError):
        torch.load(file)


def test_add_and_clear_safe_globals():
    try:
        torch.serialization.add_safe_globals([(Own, f"{Own.__module__}.Own")])
        assert through(Own(3)).value == 3
    finally:
        torch.serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        through(Own(3))
    with pytest.raises(ValueError, match="Expected tuple of length 2"):
        torch.serialization.add_safe_globals([(Own,)])
    with pytest.raises(TypeError, match="Expected second item in tuple to be str"):
        torch.serialization.add_safe_globals([(Own, 3)])


def test_modules():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    with pytest.raises(pickle.UnpicklingError):
        through(net)
    again = through(net, weights_only=False)
    x = torch.ones(1, 2)
    assert torch.equal(again(x), net(x)) and type(again[0]) is nn.Linear


def test_optimizer_state():
    net = nn.Linear(2, 1)
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    state = through(optimizer.state_dict())
    assert state["param_groups"] == optimizer.state_dict()["param_groups"]
    for got, want in zip(state["state"].values(), optimizer.state_dict()["state"].values()):
        assert torch.equal(got["exp_avg"], want["exp_avg"])


def test_a_file_is_whole_when_save_returns(tmp_path):
    with open(tmp_path / "one.pt", "wb") as f:
        torch.save(torch.arange(3), f)
        assert torch.load(tmp_path / "one.pt").tolist() == [0, 1, 2]  # by its name, before it is closed
