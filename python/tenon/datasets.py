"""Pictures with classes, from files on disk: what torchvision.datasets has of it. Nothing is downloaded."""

import io
import os
import pickle

from tenon import _C
from tenon.utils.data import Dataset

__all__ = ["CIFAR10", "CIFAR100", "FashionMNIST", "ImageFolder", "MNIST"]


class _Pictures(Dataset):
    """data, targets, and what is done with each: an item is (the picture as bytes (C, H, W), or what transform makes of it; its class)."""

    def __init__(self, root, transform, target_transform):
        self.root, self.transform, self.target_transform = os.path.expanduser(root), transform, target_transform

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        picture, target = self._picture(index), int(self.targets[index])
        return (self.transform(picture) if self.transform else picture,
                self.target_transform(target) if self.target_transform else target)

    def _file(self, folders, names):
        """The first of these files that there is."""
        for folder in folders:
            for name in names:
                path = os.path.join(self.root, folder, name)
                if os.path.exists(path):
                    return path
        raise RuntimeError(f"Dataset not found. Tenon downloads nothing: put {' or '.join(names)} into "
                           + " or ".join(os.path.join(self.root, folder) for folder in folders))


def _read_idx(path, dims):
    """The bytes of an IDX file, plain or compressed, as a tensor."""
    tensor = _C.load_idx(path)
    if tensor.dtype != _C.uint8 or tensor.dim() != dims:
        raise ValueError(f"{path}: this is no IDX file of bytes in {dims} dimensions")
    return tensor


class MNIST(_Pictures):
    """Handwritten digits, 28 x 28: the four IDX files, compressed or not, in root/MNIST/raw or root."""

    classes = ["0 - zero", "1 - one", "2 - two", "3 - three", "4 - four", "5 - five", "6 - six", "7 - seven", "8 - eight", "9 - nine"]

    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        super().__init__(root, transform, target_transform)
        self.train = train
        folders, part = [os.path.join(type(self).__name__, "raw"), ""], "train" if train else "t10k"
        images, labels = (f"{part}-{kind}-ubyte" for kind in ("images-idx3", "labels-idx1"))
        self.data = _read_idx(self._file(folders, [images, images + ".gz"]), 3)
        self.targets = _read_idx(self._file(folders, [labels, labels + ".gz"]), 1).long()
        if len(self.data) != len(self.targets):
            raise ValueError(f"{len(self.data)} pictures and {len(self.targets)} classes in {self.root}")

    @property
    def class_to_idx(self):
        """{the name of a class: its number}"""
        return {name: i for i, name in enumerate(self.classes)}

    def _picture(self, index):
        return self.data[index].unsqueeze(0)


class FashionMNIST(MNIST):
    """Clothes, 28 x 28: the four IDX files, compressed or not, in root/FashionMNIST/raw or root."""

    classes = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


class _PlainUnpickler(pickle.Unpickler):
    """Reads lists, texts, bytes and NumPy's arrays, and nothing that could run."""

    _TAKEN = {("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode"), ("numpy.core.multiarray", "_reconstruct"),
              ("numpy._core.multiarray", "_reconstruct")}

    def find_class(self, module, name):
        if (module, name) not in self._TAKEN:
            raise pickle.UnpicklingError(f"a file of pictures asks for {module}.{name}, which it has no use for")
        return super().find_class(module, name)


class CIFAR10(_Pictures):
    """Pictures of 10 kinds of things, 3 x 32 x 32: the Python version's files in root/cifar-10-batches-py."""

    _folder, _train, _test, _meta = "cifar-10-batches-py", [f"data_batch_{i}" for i in range(1, 6)], ["test_batch"], "batches.meta"
    _labels, _names = "labels", "label_names"

    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        super().__init__(root, transform, target_transform)
        self.train = train
        parts = [self._read(name) for name in (self._train if train else self._test)]
        self.data = _C.cat([_C.from_numpy(part["data"]).reshape(-1, 3, 32, 32) for part in parts])
        self.targets = [label for part in parts for label in part[self._labels]]
        self.classes = self._read(self._meta)[self._names]
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}

    def _read(self, name):
        with open(self._file([self._folder], [name]), "rb") as file:
            return _PlainUnpickler(io.BytesIO(file.read()), encoding="latin1").load()

    def _picture(self, index):
        return self.data[index]


class CIFAR100(CIFAR10):
    """Pictures of 100 kinds of things, 3 x 32 x 32: the Python version's files in root/cifar-100-python."""

    _folder, _train, _test, _meta, _labels, _names = "cifar-100-python", ["train"], ["test"], "meta", "fine_labels", "fine_label_names"


class ImageFolder(_Pictures):
    """Pictures in folders, one for each class: root/cat/1.png. An item's picture is PIL's, in RGB, as PIL must be installed."""

    extensions = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")

    def __init__(self, root, transform=None, target_transform=None, loader=None, is_valid_file=None):
        super().__init__(root, transform, target_transform)
        self.loader = loader or self._load
        self.classes = sorted(entry.name for entry in os.scandir(self.root) if entry.is_dir())
        if not self.classes:
            raise FileNotFoundError(f"Couldn't find any class folder in {self.root}.")
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        wanted = is_valid_file or (lambda path: path.lower().endswith(self.extensions))
        self.samples = self.imgs = self.data = [
            (path, i) for name, i in self.class_to_idx.items()
            for folder, _, files in sorted(os.walk(os.path.join(self.root, name), followlinks=True))
            for path in (os.path.join(folder, file) for file in sorted(files)) if wanted(path)]
        self.targets = [target for _, target in self.samples]
        empty = sorted(set(self.classes) - {self.classes[i] for i in self.targets})
        if empty:
            raise FileNotFoundError(f"Found no valid file for the classes {', '.join(empty)}. Supported extensions are: "
                                    f"{', '.join(self.extensions)}")

    @staticmethod
    def _load(path):
        try:
            from PIL import Image
        except ImportError as error:
            raise ImportError("ImageFolder reads pictures with PIL, which is not installed: pip install pillow, or give a loader of your "
                              "own") from error
        with open(path, "rb") as file:
            return Image.open(file).convert("RGB")

    def _picture(self, index):
        return self.loader(self.samples[index][0])
