"""Functions of numbers whose arguments are more than a signature says."""

from .. import _C

__all__ = ["cdist"]
METHODS = []


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-distances (..., P, R) between rows of (..., P, M) and rows of (..., R, M)."""
    if compute_mode not in ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"):
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    exact, product = compute_mode == "donot_use_mm_for_euclid_dist", compute_mode == "use_mm_for_euclid_dist"
    return _C._cdist(x1, x2, p, exact, product)
