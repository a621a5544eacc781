"""Functions that count, look up and compare whole sets of elements."""

import math

from .. import _C
from .._written import kind, refuse, signature
from ..autograd.function import Function
from .arrange import _dim

__all__ = ["bincount", "histc", "isin", "unique", "unique_consecutive"]
METHODS = ["bincount", "histc", "unique", "unique_consecutive"]


def _key(value):
    """An order of numbers, and of rows of them, in which NaN stands last."""
    if isinstance(value, list):
        return [_key(v) for v in value]
    return (1, 0.0) if value != value else (0, value)


def _no_derivative(node, name):
    """A function whose result requires grad, and whose backward says that PyTorch has none for it either."""

    def backward(ctx, *grads):
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return type(node, (Function,), {"forward": staticmethod(lambda ctx, input, box: box[0].clone()), "backward": staticmethod(backward)})


_NODES = {
    (True, False): _no_derivative("Unique2", "_unique2"),
    (True, True): _no_derivative("UniqueDim", "unique_dim"),
    (False, False): _no_derivative("UniqueConsecutive", "unique_consecutive"),
    (False, True): _no_derivative("UniqueDimConsecutive", "unique_dim_consecutive"),
}


def _groups(input, dim, order, return_inverse, return_counts):
    """unique, and unique_consecutive: of the elements, or of the slices along a dimension."""
    sliced = dim is not None
    if dim is not None:
        dim = _dim(dim, input.dim())
        moved = input.movedim(dim, 0) if input.dim() else input
        if not moved.numel() and (moved.shape[0] or 0 in moved.shape[1:]):
            raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
        values = moved.reshape(moved.shape[0], -1).tolist() if moved.numel() else []
    else:
        moved = input.reshape(-1)
        values = moved.tolist()
    places = sorted(range(len(values)), key=lambda i: _key(values[i])) if order else range(len(values))
    first, inverse, counts, last = [], [0] * len(values), [], None
    for i in places:
        if last is None or values[i] != values[last]:
            first.append(i)
            counts.append(0)
        last = i
        inverse[i] = len(first) - 1
        counts[-1] += 1
    whole = lambda v: _C.tensor(v, dtype=_C.int64, device=input.device)
    result = moved.detach().index_select(0, whole(first))
    if sliced and input.dim():
        result = result.movedim(0, dim)
    if input.requires_grad and _C.is_grad_enabled():
        result = _NODES[order, sliced].apply(input, [result])
    results = [result]
    if return_inverse:
        results.append(whole(inverse).reshape(input.shape) if dim is None else whole(inverse))
    if return_counts:
        results.append(whole(counts))
    return results[0] if len(results) == 1 else tuple(results)


_RUNS = "bool return_inverse=False, bool return_counts=False"
_unique_arguments = _C._signature(f"_unique2(Tensor input, bool sorted=True, {_RUNS})")[0]
_unique_dim_arguments = _C._signature(f"unique_dim(Tensor input, int dim, bool sorted=True, {_RUNS})")[0]
_consecutive_arguments = _C._signature(f"unique_consecutive(Tensor input, {_RUNS}, int? dim=None)")[0]


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements, or slices along dim, in order; with the place of each in them, and how often each stands."""
    bool(return_counts), bool(return_inverse)  # PyTorch asks them first
    if dim is None:
        _unique_arguments(input, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts)
    else:
        _unique_dim_arguments(input, dim, sorted=sorted, return_inverse=return_inverse, return_counts=return_counts)
    return _groups(input, dim, True, return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements, or slices along dim, without those that equal the one before; with places and lengths of the runs."""
    bool(return_counts), bool(return_inverse)
    _consecutive_arguments(input, return_inverse=return_inverse, return_counts=return_counts, dim=dim)
    return _groups(input, dim, False, return_inverse, return_counts)


@signature("bincount(Tensor input, Tensor? weights=None, int minlength=0)")
def bincount(input, weights=None, minlength=0):
    """How often each whole number from 0 stands in a 1-D tensor, or the sum of its weights."""
    if input.is_floating_point() or input.dtype == _C.bool:
        refuse("bincount_*", input)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if input.dim() != 1 or (input.numel() and input.min().item() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if not input.numel():
        return _C.zeros(minlength, dtype=_C.int64, device=input.device)
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    n = max(minlength, input.max().item() + 1)
    if weights is None:
        weights = _C.ones_like(input, dtype=_C.int64)
    elif weights.dtype != _C.float32:
        weights = weights.to(_C.float64)
    total = _C.zeros(n, dtype=weights.dtype, device=input.device)
    return total.index_add(0, input.to(_C.int64), weights.detach())


@signature("histc(Tensor input, int bins=100, Number min=0, Number max=0, *, Tensor? out@histogram=None)")
def histc(input, bins=100, min=0, max=0, *, out=None):
    """How many elements fall into each of bins equal parts of [min, max]; of the elements' range where both are equal."""
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    x = input.detach().reshape(-1)
    if min == max and x.numel():
        min, max = x.min().item(), x.max().item()
    if not (math.isfinite(min) and math.isfinite(max)):
        raise RuntimeError(f"torch.histc: range of [{min:g}, {max:g}] is not finite")
    if min == max:
        min, max = min - 1, max + 1
    if min > max:
        raise RuntimeError("torch.histc: max must be larger than min")
    if not x.is_floating_point():
        refuse("linspace_cpu" if x.dtype == _C.bool else "histogram_cpu", x)
    x = x[(x >= min) & (x <= max)]
    place = ((x - min) * bins / (max - min)).to(_C.int64).clamp(0, bins - 1)
    return _C.zeros(bins, dtype=input.dtype, device=input.device).index_add(0, place, _C.ones_like(x))


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
