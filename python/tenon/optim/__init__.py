"""Optimisers and learning-rate schedules: what torch.optim is to PyTorch."""

from tenon import _missing

from . import lr_scheduler
from .adagrad import Adagrad
from .adam import Adam, AdamW
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .sgd import SGD

__all__ = ["Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "SGD", "lr_scheduler"]


__getattr__ = _missing.getattr_of(__name__)
