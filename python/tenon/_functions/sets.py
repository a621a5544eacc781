"""Functions that look up and compare whole sets of elements."""

from .. import _C
from .._written import signature

__all__ = ["isin", "unique", "unique_consecutive"]
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


_IN = ", *, bool assume_unique=False, bool invert=False, Tensor? out@exact=None)"


@signature("isin(Tensor elements, Tensor test_elements" + _IN, "isin(Tensor elements, Number test_element" + _IN,
           "isin(Number element, Tensor test_elements" + _IN)
def isin(elements=None, test_elements=None, *, assume_unique=False, invert=False, out=None, element=None, test_element=None):
    """For each element: does it stand among test_elements? Numbers may be named element and test_element, as in PyTorch."""
    elements = element if elements is None else elements
    test_elements = test_element if test_elements is None else test_elements
    where = elements.device if isinstance(elements, _C.Tensor) else test_elements.device
    if isinstance(elements, _C.Tensor) and isinstance(test_elements, _C.Tensor) and where != test_elements.device:
        raise RuntimeError(f"Expected all tensors to be on the same device, but got test_elements is on {test_elements.device}, different "
                           f"from other tensors on {where} (when checking argument in method wrapper_CUDA_isin_Tensor_Tensor)")
    return _C._isin(elements, test_elements, invert=invert)
