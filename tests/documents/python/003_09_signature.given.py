import torch

module = torch.nn.Linear(3, 1)
