"""The classes of tenon.nn."""

from tenon import _missing

from . import (activation, adaptive, batchnorm, container, conv, dropout, flatten, instancenorm, lazy, linear, loss,
               margin_loss, module, normalization, padding, pixelshuffle, sparse, utils)
from .activation import *
from .adaptive import *
from .container import *
from .conv import *
from .dropout import *
from .flatten import *
from .lazy import *
from .linear import *
from .loss import *
from .margin_loss import *
from .module import Module
from .normalization import *
from .padding import *
from .pixelshuffle import *
from .sparse import *

__all__ = (["Module"] + activation.__all__ + adaptive.__all__ + container.__all__ + conv.__all__ + dropout.__all__ + flatten.__all__ + lazy.__all__
           + linear.__all__ + loss.__all__ + margin_loss.__all__ + normalization.__all__ + padding.__all__
           + pixelshuffle.__all__ + sparse.__all__)


__getattr__ = _missing.getattr_of(__name__)
