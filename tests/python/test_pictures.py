"""tenon.transforms and tenon.datasets: what torchvision's documentation says of them, worked out by hand; files made here."""

import gzip
import pickle

import pytest

import tenon as torch
from tenon import datasets, transforms as T

IMAGE = torch.arange(24, dtype=torch.uint8).reshape(1, 4, 6)


def test_dtypes_and_normalisation():
    assert T.ToTensor()(torch.tensor([[[0, 51, 255]]], dtype=torch.uint8)).tolist() == [[[0.0, pytest.approx(0.2), 1.0]]]
    numpy = pytest.importorskip("numpy")
    array = numpy.arange(12, dtype=numpy.uint8).reshape(2, 2, 3)
    assert T.ToTensor()(array).mul(255).round().tolist() == [[[0, 3], [6, 9]], [[1, 4], [7, 10]], [[2, 5], [8, 11]]]
    assert T.ToTensor()(array[:, :, 0]).shape == (1, 2, 2) and T.ToTensor()(array.astype("float32")).max() == 11
    with pytest.raises(TypeError, match="pic should be PIL Image or ndarray. Got <class 'str'>"):
        T.ToTensor()("picture")
    x = torch.tensor([[[0.5, 1.0]], [[2.0, 4.0]]])
    assert T.Normalize([0.5, 2.0], (0.5, 4.0))(x).tolist() == [[[0.0, 1.0]], [[0.0, 0.5]]] and x[0, 0, 0] == 0.5
    with pytest.raises(TypeError, match="Input tensor should be a float tensor. Got torch.uint8."):
        T.Normalize(0, 1)(IMAGE)
    with pytest.raises(ValueError, match="std evaluated to zero after conversion to torch.float32"):
        T.Normalize([0.0, 0.0], [1.0, 0.0])(x)
    halves = torch.tensor([[[0.0, 0.5, 1.0]]])
    assert T.ConvertImageDtype(torch.uint8)(halves).tolist() == [[[0, 127, 255]]]
    assert T.ConvertImageDtype(torch.float64)(IMAGE)[0, 0, 5] == 5 / 255
    assert T.ConvertImageDtype(torch.int16)(IMAGE)[0, 0, 5] == 5 * 128 and T.ConvertImageDtype(torch.uint8)(IMAGE.short() * 128)[0, 0, 5] == 5
    with pytest.raises(RuntimeError, match="The cast from torch.float32 to torch.int64 cannot be performed safely"):
        T.ConvertImageDtype(torch.int64)(halves)


def test_crops_flips_and_edges():
    assert T.CenterCrop(2)(IMAGE).tolist() == [[[8, 9], [14, 15]]]
    assert T.CenterCrop((6, 2))(IMAGE)[0, :, 0].tolist() == [0, 2, 8, 14, 20, 0]
    assert T.Pad((1, 0))(IMAGE)[0, 0].tolist() == [0, 0, 1, 2, 3, 4, 5, 0] and T.Pad((0, 1, 2, 0), 7)(IMAGE)[0, :, 6].tolist() == [7] * 5
    assert T.Pad(1, padding_mode="edge")(IMAGE)[0, 0].tolist() == [0, 0, 1, 2, 3, 4, 5, 5]
    assert T.Pad(1, padding_mode="reflect")(IMAGE)[0, 0].tolist() == [7, 6, 7, 8, 9, 10, 11, 10]
    assert T.RandomHorizontalFlip(1.0)(IMAGE)[0, 0].tolist() == [5, 4, 3, 2, 1, 0] and T.RandomHorizontalFlip(0.0)(IMAGE) is IMAGE
    assert T.RandomVerticalFlip(1.0)(IMAGE)[0, :, 0].tolist() == [18, 12, 6, 0]
    seen = {tuple(T.RandomCrop(2)(IMAGE).flatten().tolist()) for _ in range(400)}
    assert seen == {(6 * i + j, 6 * i + j + 1, 6 * i + j + 6, 6 * i + j + 7) for i in range(3) for j in range(5)}
    assert T.RandomCrop((4, 6))(IMAGE) is IMAGE and T.RandomCrop(8, pad_if_needed=True)(IMAGE).shape == (1, 8, 8)
    assert T.RandomCrop(4, padding=2)(IMAGE).shape == (1, 4, 4)
    with pytest.raises(ValueError, match=r"Required crop size \(5, 5\) is larger than input image size \(4, 6\)"):
        T.RandomCrop(5)(IMAGE)
    both = T.Compose([T.CenterCrop(2), T.ToTensor(), T.Lambda(lambda x: x + 1)])
    assert both(IMAGE)[0, 0, 0] == 1 + 8 / 255
    assert repr(both) == "Compose(\n    CenterCrop(size=(2, 2))\n    ToTensor()\n    Lambda()\n)"


def idx(data, *shape):
    return bytes([0, 0, 8, len(shape)]) + b"".join(n.to_bytes(4, "big") for n in shape) + bytes(data)


def test_mnist(tmp_path):
    with pytest.raises(RuntimeError, match=r"Dataset not found. Tenon downloads nothing: put train-images-idx3-ubyte or train-images"):
        datasets.MNIST(tmp_path, download=True)
    raw = tmp_path / "FashionMNIST" / "raw"
    raw.mkdir(parents=True)
    (raw / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(range(12), 2, 2, 3)))
    (raw / "t10k-labels-idx1-ubyte").write_bytes(idx([7, 9], 2))
    data = datasets.FashionMNIST(str(tmp_path), train=False, transform=T.ToTensor(), target_transform=lambda c: -c)
    assert len(data) == 2 and data[1][1] == -9 and data[1][0].shape == (1, 2, 3) and data[1][0][0, 0, 0] == 6 / 255
    assert data.data.dtype == torch.uint8 and data.targets.tolist() == [7, 9] and data.class_to_idx["Ankle boot"] == 9
    (raw / "t10k-labels-idx1-ubyte").write_bytes(idx([7, 9], 3))
    with pytest.raises(ValueError, match="is 3 bytes, the file has 2"):
        datasets.FashionMNIST(tmp_path, train=False)
    (raw / "t10k-labels-idx1-ubyte").write_bytes(idx([7, 9], 2, 1))
    with pytest.raises(ValueError, match="this is no IDX file of bytes in 1 dimensions"):
        datasets.FashionMNIST(tmp_path, train=False)


def test_cifar(tmp_path):
    numpy = pytest.importorskip("numpy")
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    pictures = numpy.arange(2 * 3072, dtype=numpy.int64).astype(numpy.uint8).reshape(2, 3072)
    (folder / "test").write_bytes(pickle.dumps({"data": pictures, "fine_labels": [3, 99]}))
    (folder / "meta").write_bytes(pickle.dumps({"fine_label_names": ["apple", "beaver"]}))
    data = datasets.CIFAR100(tmp_path, train=False)
    assert len(data) == 2 and data[1][1] == 99 and data[0][0].shape == (3, 32, 32) and data[0][0][1, 0, 5] == (1024 + 5) % 256
    assert data.classes == ["apple", "beaver"]
    (folder / "meta").write_bytes(pickle.dumps(print))
    with pytest.raises(pickle.UnpicklingError, match="asks for builtins.print"):
        datasets.CIFAR100(tmp_path, train=False)
    with pytest.raises(RuntimeError, match="cifar-10-batches-py"):
        datasets.CIFAR10(tmp_path)


def test_folders(tmp_path):
    for name in ("dog/1.png", "cat/b.JPG", "cat/a.png", "cat/notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    data = datasets.ImageFolder(tmp_path, transform=T.ToTensor(), loader=lambda path: IMAGE)
    assert [(path[len(str(tmp_path)) + 1:], c) for path, c in data.samples] == [("cat/a.png", 0), ("cat/b.JPG", 0), ("dog/1.png", 1)]
    assert data.classes == ["cat", "dog"] and len(data) == 3 and data[2][1] == 1 and data[0][0].dtype == torch.float32
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="Found no valid file for the classes empty"):
        datasets.ImageFolder(tmp_path)
