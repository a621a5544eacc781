"""Normalisation over batches, where PyTorch has it."""

from tenon import _missing

from .lazy import LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d
from .normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm
from .normalization import _Batches as _BatchNorm
from .normalization import _Channels as _NormBase

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "SyncBatchNorm"]


__getattr__ = _missing.getattr_of(__name__)
