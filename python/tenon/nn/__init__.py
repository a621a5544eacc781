"""Layers and networks: what torch.nn is to PyTorch."""

from . import functional, init, modules, parameter, utils
from .modules import *
from .parameter import Buffer, Parameter
