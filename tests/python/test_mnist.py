"""examples/python/mnist.py: as a program on a small part of MNIST, on the CPU and on a GPU; its files and C's; a state_dict
that PyTorch saved (data/make_mnist_net.py)."""
import gzip
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

os.environ.setdefault("TENON_FAKE_GPUS", "2")
import tenon as torch  # noqa: E402
from tenon.safetensors import load_file  # noqa: E402

SOURCE = Path(__file__).resolve().parents[2]
DATA = Path(__file__).with_name("data")
EXAMPLE = SOURCE / "examples" / "python" / "mnist.py"
MNIST = SOURCE / "data" / "mnist"
COMMAND = Path(os.environ.get("TENON_COMMAND", SOURCE / "build" / "tenon"))


def part_of(name, n, rank):
    """The first n images or labels of a file: the head says how many."""
    data = gzip.decompress((MNIST / f"{name}.gz").read_bytes())
    head = 4 + 4 * rank
    size = 28 * 28 if rank == 3 else 1
    return gzip.compress(data[:4] + n.to_bytes(4, "big") + data[8:head] + data[head : head + n * size])


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """2,000 images to learn from, 500 to be asked about."""
    folder = tmp_path_factory.mktemp("mnist")
    for kind, n in (("train", 2000), ("t10k", 500)):
        (folder / f"{kind}-images-idx3-ubyte.gz").write_bytes(part_of(f"{kind}-images-idx3-ubyte", n, 3))
        (folder / f"{kind}-labels-idx1-ubyte.gz").write_bytes(part_of(f"{kind}-labels-idx1-ubyte", n, 1))
    return folder


def ran(*arguments):
    done = subprocess.run([sys.executable, str(EXAMPLE), *map(str, arguments)], capture_output=True, text=True, timeout=900,
                          check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def accuracy_of(text):
    return float(re.search(r"^accuracy: ([0-9.]+) %$", text, re.M)[1])


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_trains_and_both_files_hold_the_net(device, small, tmp_path):
    saved = tmp_path / "net"
    text = ran("--device", device, "--data", small, "--epochs", 2, "--batch-size", 50, "--save", saved)
    assert accuracy_of(text) >= 80
    for suffix in (".safetensors", ".pt"):
        again = ran("--device", "cpu", "--data", small, "--epochs", 0, "--load", saved.with_suffix(suffix))
        assert accuracy_of(again) == pytest.approx(accuracy_of(text), abs=0.41)  # two images, where devices round apart


def test_c_reads_its_file_and_it_reads_the_file_of_c(small, tmp_path):
    saved = tmp_path / "net"
    ran("--data", small, "--epochs", 1, "--save", saved)
    full = ran("--data", MNIST, "--epochs", 0, "--load", saved.with_suffix(".safetensors"))
    done = subprocess.run([COMMAND, "eval", saved.with_suffix(".safetensors"), "--data", MNIST], capture_output=True, text=True,
                          check=True)
    by_c = float(re.search(r": ([0-9.]+) % of 10000", done.stdout)[1])
    assert by_c == pytest.approx(accuracy_of(full), abs=0.021)

    made = tmp_path / "c.safetensors"
    done = subprocess.run([COMMAND, "train", "--data", MNIST, "--epochs", "1", "--save", made, "--seed", "3"],
                          capture_output=True, text=True, check=True)
    by_c = float(re.search(r"([0-9.]+) % of the test images right", done.stdout)[1])
    assert by_c > 95
    assert accuracy_of(ran("--data", MNIST, "--epochs", 0, "--load", made)) == pytest.approx(by_c, abs=0.021)
    assert {"0.weight", "0.bias", "2.weight", "2.bias"} <= set(load_file(made))


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_a_state_dict_of_pytorch_gives_its_outputs(device, tmp_path):
    spec = importlib.util.spec_from_file_location("mnist_example", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    path = tmp_path / "net.pt"
    path.write_bytes(gzip.decompress((DATA / "mnist_net.pt.gz").read_bytes()))
    net = example.Net()
    net.layers.load_state_dict(torch.load(path, map_location="cpu"))
    net.to(device)
    x = example.MNIST(MNIST, train=False).images[:20].to(device)
    with torch.no_grad():
        out = net(x).cpu().tolist()
    want = json.loads((DATA / "mnist_net.json").read_text(encoding="utf-8"))["outputs"]
    for row, expected in zip(out, want, strict=True):
        assert row == pytest.approx([float.fromhex(v) for v in expected], abs=1e-5, rel=1e-5)
