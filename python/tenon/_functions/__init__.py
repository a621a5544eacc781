"""Functions of torch and methods of Tensor of one name, put together from the library's operations."""

from .. import _C
from . import compute, in_place, layout, neighbours, objects, sets
from .compute import *
from .in_place import *
from .neighbours import *
from .objects import *
from .sets import *

__all__ = compute.__all__ + in_place.__all__ + neighbours.__all__ + objects.__all__ + sets.__all__


def _install():
    """Puts those that are methods too into the class."""
    for module in (compute, layout, neighbours, sets):
        for name in module.METHODS:
            setattr(_C.Tensor, name, getattr(module, name))


_install()
