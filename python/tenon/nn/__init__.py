"""Layers and networks: what torch.nn is to PyTorch."""

from tenon import _missing

from . import functional, init, modules, parallel, parameter, utils
from .modules import *
from .parallel import DataParallel
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter


def factory_kwargs(kwargs):
    """device and dtype of kwargs, by themselves or inside its factory_kwargs, as a dictionary."""
    if kwargs is None:
        return {}
    known = {"device", "dtype", "memory_format"}
    if any(key not in known | {"factory_kwargs"} for key in kwargs):
        raise TypeError(f"unexpected kwargs {kwargs.keys() - known - {'factory_kwargs'}}")
    made = dict(kwargs.get("factory_kwargs", {}))
    for key in known & kwargs.keys():
        if key in made:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        made[key] = kwargs[key]
    return made


__getattr__ = _missing.getattr_of(__name__)
