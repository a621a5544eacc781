"""Functions of numbers whose arguments are more than a signature says."""

from .. import _C
from .._written import signature

__all__ = ["cdist", "nansum", "tensordot"]
METHODS = []


@signature("nansum(Tensor input, int[1]? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor? out@follow=None)")
def nansum(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The sum of the elements that are not NaN."""
    return _C._nansum(input, dim, keepdim, dtype=dtype)


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-distances (..., P, R) between rows of (..., P, M) and rows of (..., R, M)."""
    if compute_mode not in ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"):
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return _C._cdist(x1, x2, p, compute_mode == "donot_use_mm_for_euclid_dist")


@signature("tensordot(object a, object b, object? dims=2, *, Tensor? out@cast=None)")
def tensordot(a, b, dims=2, *, out=None):
    """Products summed over dims of a and as many of b: the last and first ones, or a pair of lists."""
    if isinstance(dims, _C.Tensor) and dims.numel() == 1:
        dims = int(dims)
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return _C._tensordot(a, b, list(range(a.dim() - dims, a.dim())), list(range(dims)))
    if not isinstance(dims, (tuple, list, _C.Tensor)):
        raise RuntimeError("tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, "
                           f"but got dims={dims}")
    left, right = dims.tolist() if isinstance(dims, _C.Tensor) else dims
    return _C._tensordot(a, b, left, right)
