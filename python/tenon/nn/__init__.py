"""Layers and networks: what torch.nn is to PyTorch."""

from tenon import _missing

from . import functional, init, modules, parallel, parameter, utils
from .modules import *
from .parallel import DataParallel
from .parameter import Buffer, Parameter


__getattr__ = _missing.getattr_of(__name__)
