import os
import subprocess

import torch
from torch import nn

share = {}  # of the batch, by the GPU that had it


class FooNet(nn.Module):
    def __init__(self, neural_num, layers):
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(neural_num, neural_num, bias=False) for _ in range(layers))

    def forward(self, x):
        print("batch size in forward: {}\n".format(x.size(0)), end="")
        share[x.device.index] = x.size(0)
        for linear in self.linears:
            x = torch.relu(linear(x))
        return x


def physical_numbers():
    said = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
    return {line.split("GPU-")[1].rstrip(")"): line.split()[1].rstrip(":") for line in said.splitlines()}
