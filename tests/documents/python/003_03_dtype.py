import torch

x = torch.ones((3,3))
print(x.dtype)
x = x.to(torch.float64)
print(x.dtype)
