"""Functions that arrange elements anew: grids, diagonals, triangles, rotations."""

import warnings

from .. import _C
from .._written import tensors_alone

__all__ = ["meshgrid"]
METHODS = []


def _dim(d, n):
    """A dimension counted from the front; n: how many there are."""
    n = max(n, 1)
    if not -n <= d < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
    return d % n


def meshgrid(*tensors, indexing=None):
    """The coordinates of a grid: for each 1-D tensor one of the grid's shape; indexing: "ij" (rows first) or "xy"."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    if indexing is None:
        warnings.warn("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2)
        indexing = "ij"
    tensors_alone(tensors)
    if not isinstance(indexing, str):
        raise TypeError(f"meshgrid(): argument 'indexing' must be str, not {type(indexing).__name__}")
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in tensors:
        if t.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got a tensor with {t.dim()} dimensions")
        if t.dtype != tensors[0].dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
        if t.device != tensors[0].device:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same device")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    swap = indexing == "xy" and len(tensors) >= 2
    if swap:
        tensors = (tensors[1], tensors[0]) + tensors[2:]
    shape, n = [t.numel() for t in tensors], len(tensors)
    grids = [t.reshape([1] * i + [-1] + [1] * (n - 1 - i)).expand(shape) for i, t in enumerate(tensors)]
    if swap:
        grids[:2] = grids[1], grids[0]
    return tuple(grids)
