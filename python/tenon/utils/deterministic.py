"""fill_uninitialized_memory: whether use_deterministic_algorithms(True) also fills what torch.empty and its siblings make, with NaN or
the largest integer, so that reading it too early gives the same bits in every run, and is seen. At first it does."""

import sys
import types

from .. import _C


class _Deterministic(types.ModuleType):
    @property
    def fill_uninitialized_memory(self):
        """Is it filled?"""
        return _C._fill_uninitialized()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode):
        _C._fill_uninitialized(mode)


sys.modules[__name__].__class__ = _Deterministic
