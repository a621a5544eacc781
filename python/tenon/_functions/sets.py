"""Functions that look up and compare whole sets of elements."""

from .. import _C

__all__ = ["unique", "unique_consecutive"]
METHODS = ["unique", "unique_consecutive"]


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements, or slices along dim, in order; with the place of each in them, and how often each stands."""
    bool(return_counts), bool(return_inverse)  # PyTorch asks them first
    if dim is None:
        return _C._unique2(input, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts)
    return _C._unique_dim(input, dim, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements, or slices along dim, without those that equal the one before; with places and lengths of the runs."""
    bool(return_counts), bool(return_inverse)
    return _C._unique_consecutive(input, return_inverse=return_inverse, return_counts=return_counts, dim=dim)
