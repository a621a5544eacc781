"""Layers and networks: what torch.nn is to PyTorch."""

from . import functional, init, modules, parallel, parameter, utils
from .modules import *
from .parallel import DataParallel
from .parameter import Buffer, Parameter
