"""Makes the .pt fixtures of this folder with a real PyTorch: python make_pt.py (the version is in README.md)."""

import collections
import os

import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))


def path(name):
    return os.path.join(HERE, name)


def values():
    """One tensor of every dtype, 0-d and empty ones, and what else state dicts hold."""
    return {
        "float64": torch.tensor([1.5, -2.25], dtype=torch.float64),
        "float32": torch.tensor([[1.5, -2.0, 3.25], [0.0, 4.0, -5.5]]),
        "float16": torch.tensor([0.5, 65504.0, -1.0], dtype=torch.float16),
        "bfloat16": torch.tensor([1.0, -2.5, 3.0], dtype=torch.bfloat16),
        "int64": torch.tensor([2**62, -7]),
        "int32": torch.tensor([2**31 - 1, -(2**31)], dtype=torch.int32),
        "int16": torch.tensor([-32768, 5], dtype=torch.int16),
        "int8": torch.tensor([-128, 127], dtype=torch.int8),
        "uint8": torch.tensor([0, 255], dtype=torch.uint8),
        "bool": torch.tensor([True, False, True]),
        "zero_dim": torch.tensor(3.5),
        "empty": torch.empty(0, 3),
        "leaf": torch.tensor([1.0, 2.0], requires_grad=True),
        "parameter": nn.Parameter(torch.tensor([[7.0]])),
        "frozen": nn.Parameter(torch.tensor([8.0]), requires_grad=False),
        "size": torch.Size([2, 3]),
        "dtype": torch.bfloat16,
        "device": torch.device("cuda", 1),
        "ordered": collections.OrderedDict([("b", 1), ("a", 2)]),
        "plain": [1, -1, 2**40, 2**70, 2.5, "text \u00e9", None, True, False, (1,), (1, 2), {3}, b"\x00\xff"],
    }


def views():
    """Views of one storage: offsets, steps, transposed, expanded."""
    base = torch.arange(24.0).reshape(4, 6)
    return {"base": base, "t": base.t(), "part": base[1:3, 1::2], "row": base[2], "wide": base[0, :1].expand(3)}


def net():
    """A small net with fixed weights, its state, an input and the output of it."""
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    state = model.state_dict()
    for i, tensor in enumerate(state.values()):
        tensor.copy_(torch.linspace(-1 - i, 1, tensor.numel()).reshape(tensor.shape))
    x = torch.tensor([[0.5, -1.0, 2.0], [3.0, 0.25, -0.75]])
    return {"state_dict": state, "x": x, "y": model(x).detach()}


class Unknown:
    """A class that no other program has."""


def main():
    torch.save(values(), path("values.pt"))
    torch.save(views(), path("views.pt"))
    torch.save(net(), path("net.pt"))
    torch.save(torch.arange(4), path("legacy.pt"), _use_new_zipfile_serialization=False)
    torch.save({"a": torch.ones(2), "print": print}, path("global.pt"))
    torch.save({"system": os.system}, path("blocked.pt"))
    torch.save(nn.Linear(2, 1), path("module.pt"))
    cuda = torch.ones(3)
    torch.save({"cuda": cuda}, path("cuda.pt"))
    with open(path("cuda.pt"), "rb") as file:  # no GPU here: the same file with another location, of equal length
        data = file.read()
    import zipfile
    import io

    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename.endswith("data.pkl"):
                content = content.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
            new.writestr(entry.filename, content)
    with open(path("cuda.pt"), "wb") as file:
        file.write(out.getvalue())


if __name__ == "__main__":
    main()
