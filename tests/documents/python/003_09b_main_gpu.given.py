import torch
from torch import nn

inputs = torch.randn(16, 3)
net = nn.Linear(3, 3).to("cuda:2")
