"""Trains a small network on MNIST, as a PyTorch tutorial would: a Dataset, a DataLoader, an nn.Module, a loss, an optimizer.

    python examples/python/mnist.py                                   from data/mnist, on the CPU
    python examples/python/mnist.py --device cuda:0 --epochs 3
    python examples/python/mnist.py --load mnist.safetensors --epochs 0   tests what was saved; 'tenon train' saves such, too

With the four imports changed ('import torch', 'from torch import nn', 'from torch.utils.data import ...',
'from safetensors.torch import ...') PyTorch runs the same program.
"""
import argparse
import gzip
import struct
from pathlib import Path

import tenon as torch
from tenon import nn
from tenon.safetensors import load_file, save_file
from tenon.utils.data import DataLoader, Dataset


class MNIST(Dataset):
    """The images, scaled to 0 .. 1, and what they show."""

    def __init__(self, folder, train):
        name = "train" if train else "t10k"
        self.images = self.read(folder / f"{name}-images-idx3-ubyte.gz").float() / 255
        self.labels = self.read(folder / f"{name}-labels-idx1-ubyte.gz").long()

    @staticmethod
    def read(path):
        """An IDX file: two zero bytes, the type of the elements (8: bytes), how many dimensions; their sizes; the elements."""
        data = gzip.decompress(path.read_bytes())
        _, kind, rank = struct.unpack_from(">HBB", data)
        if kind != 8:
            raise ValueError(f"{path}: not an IDX file of bytes")
        shape = struct.unpack_from(f">{rank}I", data, 4)
        return torch.frombuffer(bytearray(data), dtype=torch.uint8, offset=4 + 4 * rank).reshape(shape)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.images[index], self.labels[index]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.layers = nn.Sequential(nn.Linear(28 * 28, 500), nn.ReLU(), nn.Linear(500, 10))

    def forward(self, x):
        return self.layers(self.flatten(x))


def train(model, loader, loss_fn, optimizer, device):
    model.train()
    total = 0.0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = loss_fn(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def test(model, loader, device):
    """Per cent of the images that are recognised."""
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            right += (model(x).argmax(1) == y).sum().item()
    return 100 * right / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", help="cpu, cuda, cuda:1 ...")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, default=Path("data/mnist"), help="folder of the four files")
    parser.add_argument("--save", type=Path, default=Path("mnist"), help="writes SAVE.safetensors and SAVE.pt")
    parser.add_argument("--load", type=Path, help="a .safetensors or .pt file to begin with")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    device = torch.device(args.device)
    model = Net().to(device)
    if args.load:
        state = torch.load(args.load, map_location=device) if args.load.suffix == ".pt" else load_file(args.load)
        model.layers.load_state_dict({k: v for k, v in state.items() if not k.startswith("optimizer.")})
    print(model)

    test_loader = DataLoader(MNIST(args.data, train=False), batch_size=1000)
    if args.epochs:
        train_loader = DataLoader(MNIST(args.data, train=True), batch_size=args.batch_size, shuffle=True)
        loss_fn = nn.CrossEntropyLoss()
        optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
        for epoch in range(args.epochs):
            loss = train(model, train_loader, loss_fn, optimizer, device)
            scheduler.step()
            print(f"epoch {epoch + 1}: loss {loss:.4f}, accuracy {test(model, test_loader, device):.2f} %")
    print(f"accuracy: {test(model, test_loader, device):.2f} %")

    if args.epochs:
        save_file(model.layers.state_dict(), args.save.with_suffix(".safetensors"))
        torch.save(model.layers.state_dict(), args.save.with_suffix(".pt"))
        print(f"saved: {args.save}.safetensors, {args.save}.pt")


if __name__ == "__main__":
    main()
