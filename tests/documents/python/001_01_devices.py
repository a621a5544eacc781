import torch
from torch import nn

torch.device('cpu'), torch.device('cuda'), torch.device('cuda:1')
