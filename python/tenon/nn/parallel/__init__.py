"""One model on several GPUs: what torch.nn.parallel is to PyTorch."""

from tenon import _missing

from . import comm
from .data_parallel import DataParallel, data_parallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

__all__ = ["replicate", "scatter", "parallel_apply", "gather", "data_parallel", "DataParallel"]


def __getattr__(name):
    raise _missing.error(__name__, name)
