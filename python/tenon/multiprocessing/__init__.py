"""torch.multiprocessing: Python's multiprocessing, whose queues and pipes hand tensors over as memory that both sides share.

Tensors cross without a copy of their own: their memory is moved into a file without a name (memfd), and its descriptor
crosses. It is there as long as a process maps it. From the import of this module on, that holds for Python's own queues too.
GPUs' tensors cross as copies of their bytes.
"""

from multiprocessing import *  # noqa: F401,F403

from tenon import _missing

from . import reductions
from .spawn import ProcessContext, ProcessException, ProcessExitedException, ProcessRaisedException, SpawnContext, spawn, start_processes


def get_all_sharing_strategies():
    """{'file_descriptor'}: the one way that there is."""
    return {"file_descriptor"}


def get_sharing_strategy():
    """'file_descriptor'"""
    return "file_descriptor"


def set_sharing_strategy(new_strategy):
    """Takes 'file_descriptor', which holds anyway: memory has no name in the file system that could be left behind."""
    if new_strategy not in get_all_sharing_strategies():
        raise ValueError(f"the sharing strategy {new_strategy!r} is not in Tenon, which shares by file descriptors")


reductions.init_reductions()

__getattr__ = _missing.getattr_of(__name__)
