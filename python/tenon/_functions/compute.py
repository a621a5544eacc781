"""Functions of numbers: elementwise ones, sums that leave out NaN, products, distances."""

import math

from .. import _C
from .._written import kind as _kind, refuse, signature
from .arrange import _dim

__all__ = ["cdist", "cov", "cross", "logspace", "nansum", "tensordot", "trapezoid", "trapz"]
METHODS = ["cov", "cross"]


def _times(input, number):
    """input * number, of which backward needs nothing kept, as of PyTorch's: so it can be walked again."""
    if not input.is_floating_point() or isinstance(number, bool):
        return input * number
    return _C.rsub(input, -0.0, alpha=-number)


@signature("nansum(Tensor input, int[1]? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor? out@follow=None)")
def nansum(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The sum of the elements that are not NaN."""
    return _C._nansum(input, dim, keepdim, dtype=dtype)


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-distances (..., P, R) between rows of (..., P, M) and rows of (..., R, M)."""
    if compute_mode not in ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"):
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return _C._cdist(x1, x2, p, compute_mode == "donot_use_mm_for_euclid_dist")


_tensordot_arguments = _C._signature("tensordot(Tensor input, Tensor other, int[] dims_self, int[] dims_other)")[0]


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
        left, right = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        if not isinstance(dims, (tuple, list, _C.Tensor)):
            raise RuntimeError("tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, "
                               f"but got dims={dims}")
        left, right = dims.tolist() if isinstance(dims, _C.Tensor) else dims
    _tensordot_arguments(a, b, left, right)
    if len(left) != len(right):
        raise RuntimeError("both dimension lists should have same length")
    left, right = [_dim(d, a.dim()) for d in left], [_dim(d, b.dim()) for d in right]
    for i, j in zip(left, right):
        if a.shape[i] == 1 != b.shape[j]:
            b = b.sum(j, True, dtype=b.dtype)
        elif b.shape[j] == 1 != a.shape[i]:
            a = a.sum(i, True, dtype=a.dtype)
        elif a.shape[i] != b.shape[j]:
            raise RuntimeError(f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has size "
                               f"{b.shape[j]} in dim {j}")
    rows, columns = [d for d in range(a.dim()) if d not in left], [d for d in range(b.dim()) if d not in right]
    inner = math.prod(a.shape[d] for d in left)
    shape = [a.shape[d] for d in rows] + [b.shape[d] for d in columns]
    a = a.permute(rows + left).reshape(math.prod(a.shape[d] for d in rows), inner)
    b = b.permute(right + columns).reshape(inner, math.prod(b.shape[d] for d in columns))
    if a.dtype == b.dtype == _C.bool and a.shape[0] == b.shape[1] == 1:
        refuse("dot", a)
    return (a @ b).reshape(shape)


def _cross(input, other, dim):
    input, other = _C.broadcast_to(input, _both(input, other)), _C.broadcast_to(other, _both(input, other))
    dim = _dim(dim, input.dim())
    a, b = input.unbind(dim), other.unbind(dim)
    return _C.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], dim)


def _both(a, b):
    from ..functional import broadcast_shapes

    return broadcast_shapes(a.shape, b.shape)


@signature("cross(Tensor input, Tensor other, int? dim=None, *, Tensor? out@cast=None)")
def cross(input, other, dim=None, *, out=None):
    """The cross product of vectors of three elements along a dimension: the first of size 3 where none is given."""
    if input.dim() != other.dim():
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if dim is None:
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    at = _dim(dim, input.dim())
    if input.shape[at] != 3 or other.shape[at] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[at]} and {other.shape[at]}")
    if input.dtype == other.dtype == _C.bool:
        refuse("cross", input)
    return _cross(input, other, dim)


_SPACE = (", int steps, float base=10.0, *, Tensor? out@spaced=None, dtype? dtype=None, object? layout=None, device? device=None, "
          "bool? pin_memory=False, bool? requires_grad=False)")


def _fits(numbers, dtype):
    from .._info import finfo

    for n in numbers:
        if abs(n) > finfo(dtype).max and abs(n) != math.inf:
            what = {_C.float16: "c10::Half", _C.bfloat16: "c10::BFloat16"}.get(dtype, "float")
            raise RuntimeError(f"value cannot be converted to type {what} without overflow")


@signature(*(f"logspace({a} start, {b} end{_SPACE}" for a in ("Number", "Tensor") for b in ("Number", "Tensor")))
def logspace(start, end, steps, base=10.0, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, out=None):
    """base to the power of steps numbers, evenly spaced from start to end."""
    for name, v in (("start", start), ("end", end)):
        if isinstance(v, _C.Tensor) and v.dim():
            raise RuntimeError("logspace only supports 0-dimensional start and end tensors, but got "
                               f"{name} with {v.dim()} dimension(s).")
    at = lambda v: v.item() if isinstance(v, _C.Tensor) else v
    dtype = _C.get_default_dtype() if dtype is None else dtype
    ends = [at(start), at(end)]
    if dtype.is_floating_point and steps > 1:
        _fits(ends, dtype)
    elif not dtype.is_floating_point and steps != 1:  # from integer to integer; a single one is rounded down when it is there
        ends = [int(e) for e in ends]
    powers = _C.linspace(*ends, steps, dtype=_C.float64, device=device)
    return _C.pow(float(base), powers).to(dtype).requires_grad_(requires_grad)


_ALONG = ("{}(Tensor y, Tensor x, *, int dim=-1)", "{}(Tensor y, *, Number dx=1, int dim=-1)")


@signature(*(a.format("trapezoid") for a in _ALONG))
def trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integral of y along a dimension by the rule of trapezoids, at the places x, or dx apart."""
    if y.dim() == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if isinstance(dx, bool):
        raise RuntimeError("trapezoid: Currently, we only support dx as a real number.")
    dim = _dim(dim, y.dim())
    if y.shape[dim] == 0:
        return y.new_zeros([n for d, n in enumerate(y.shape) if d != dim])
    if y.dtype == _C.bool or x is not None and x.dtype == _C.bool:
        which = "`y`" if x is None else "`x` or `y`"
        raise NotImplementedError(f"trapezoid: received a bool input for {which}, but bool is not supported")
    if x is None:
        ends = y.select(dim, 0) + y.select(dim, -1)
        return _times(y.sum(dim) - _times(ends, 0.5), 1.0 if dx is None else dx)
    n = y.shape[dim] - 1
    pairs = y.narrow(dim, 1, n) + y.narrow(dim, 0, n)
    if x.dim() == 1:
        if x.numel() != y.shape[dim]:
            raise RuntimeError("trapezoid: There must be one `x` value for each sample point")
        return (pairs * (x[1:] - x[:-1]).reshape([-1] + [1] * (y.dim() - 1 - dim))).sum(dim) / 2.0
    x = x.reshape([1] * (y.dim() - x.dim()) + list(x.shape))  # PyTorch's x without steps has a distance of 0
    at = dim - y.dim() + x.dim()
    steps = x.narrow(at, 1, x.shape[at] - 1) - x.narrow(at, 0, x.shape[at] - 1)
    return (pairs * steps).sum(dim) / 2.0


@signature(*(a.format("trapz") for a in _ALONG))
def trapz(y, x=None, *, dx=None, dim=-1):
    """trapezoid, by its older name."""
    return trapezoid.compute(y, x, dx=float(dx) if isinstance(dx, bool) else dx, dim=dim)


def _check_weights(input, fweights, aweights):
    """PyTorch's demands on weights of observations."""
    n = input.shape[-1] if input.dim() else 1
    for name, w, whole in (("fweights", fweights, True), ("aweights", aweights, False)):
        if w is None:
            continue
        if w.dim() > 1:
            raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} with {w.dim()} dimensions")
        if whole == w.is_floating_point() or w.dtype == _C.bool:
            raise RuntimeError(f"cov(): expected {name} to have {'integral' if whole else 'floating point'} dtype but got {name} with "
                               f"{_kind(w)} dtype")
        if w.numel() != n:
            raise RuntimeError(f"cov(): expected {name} to have the same numel as there are observations in the input but got "
                               f"{w.numel()} != {n}")
        if n and w.min().item() < 0:
            raise RuntimeError(f"cov(): {name} cannot be negative")
    if n == 0 and (fweights is not None or aweights is not None):
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")


@signature("cov(Tensor input, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None)")
def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariances of variables (rows) over observations (columns), which may be weighed."""
    if input.dim() > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions")
    if input.dtype == _C.bool:
        raise NotImplementedError("cov(): bool dtype is not supported for input")
    _check_weights(input, fweights, aweights)
    x = input.reshape(1, -1) if input.dim() < 2 else input  # sums of integers wrap around, as PyTorch's
    weights = None
    for w in (fweights, aweights):
        if w is not None:
            weights = w if weights is None else weights * w
    if weights is None:
        total = x.shape[1]
        centred = x - x.sum(1, True) / total
        product = centred @ centred.t()
        over = total - correction
    else:
        total = weights.sum()
        centred = x - (x * weights).sum(1, True) / total
        product = centred @ (centred * weights).t()
        over = total - correction * (total if aweights is None else (weights * aweights).sum()) / total
        over = over.clamp_min(0)
    if not isinstance(over, _C.Tensor):
        over = _C.tensor(float(max(over, 0)), dtype=product.dtype, device=x.device)
    result = product / over
    return result.reshape(()) if result.numel() == 1 else result
