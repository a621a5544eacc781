import torch
tensor = torch.ones(2, 3)
module = torch.nn.Linear(3, 1)
weight, before = module.weight, tensor
