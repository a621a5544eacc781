#!/usr/bin/env python3
"""Makes mnist_net.pt.gz, a state_dict that PyTorch saved of examples/python/mnist.py's layers, and mnist_net.json, what
PyTorch's net of these weights gives for the first 20 test images. Run with a Python that has PyTorch, after training:

    python tests/python/data/make_mnist_net.py mnist.pt

So that the file is small, all weights but the largest are set to zero and the rest is rounded to bfloat16.
"""
import gzip
import io
import json
import sys
from pathlib import Path

import torch
from torch import nn

FOLDER = Path(__file__).resolve().parent
MNIST = FOLDER.parents[2] / "data" / "mnist"


def pruned(t, share):
    limit = t.abs().flatten().quantile(1 - share) if t.numel() < 10**6 else 0
    return torch.where(t.abs() >= limit, t, 0).bfloat16().float()


def main():
    state = torch.load(sys.argv[1])
    state = {k: pruned(v, 0.04 if v.numel() > 10000 else 1.0) for k, v in state.items()}
    net = nn.Sequential(nn.Linear(784, 500), nn.ReLU(), nn.Linear(500, 10))
    net.load_state_dict(state)
    images = gzip.decompress((MNIST / "t10k-images-idx3-ubyte.gz").read_bytes())
    x = torch.frombuffer(bytearray(images), dtype=torch.uint8, offset=16).reshape(-1, 784)[:20].float() / 255
    with torch.no_grad():
        out = net(x)
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    (FOLDER / "mnist_net.pt.gz").write_bytes(gzip.compress(file.getvalue(), 9, mtime=0))
    made = {"made_with": f"PyTorch {torch.__version__}", "outputs": [[v.hex() for v in row] for row in out.tolist()]}
    (FOLDER / "mnist_net.json").write_text(json.dumps(made, indent=0) + "\n", encoding="utf-8")
    print((FOLDER / "mnist_net.pt.gz").stat().st_size, "bytes;", out.argmax(1).tolist())


if __name__ == "__main__":
    main()
