"""Functions of numbers: elementwise ones, sums that leave out NaN, products, distances."""

import math

from .. import _C
from .._written import with_out
from .arrange import _dim, _scalar as _kind

__all__ = ["cdist", "count_nonzero", "cov", "cross", "deg2rad", "dist", "frac", "hypot", "kron", "logspace", "nan_to_num",
           "nanmean", "nansum", "positive", "rad2deg", "tensordot", "trapezoid", "trapz", "vdot"]
METHODS = ["count_nonzero", "cov", "cross", "deg2rad", "dist", "frac", "hypot", "kron", "nan_to_num", "nanmean", "nansum",
           "positive", "rad2deg", "vdot"]
IN_PLACE = ["deg2rad", "frac", "hypot", "nan_to_num", "rad2deg"]  # methods NAME_


def positive(input):
    """input itself."""
    if input.dtype == _C.bool:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def _floating(input):
    return input if input.is_floating_point() else input.to(_C.get_default_dtype())


@with_out
def deg2rad(input, *, out=None):
    """Degrees as radians."""
    return _floating(input) * (math.pi / 180)


@with_out
def rad2deg(input, *, out=None):
    """Radians as degrees."""
    return _floating(input) * (180 / math.pi)


@with_out
def frac(input, *, out=None):
    """What is behind the decimal point, with input's sign."""
    if not input.is_floating_point():
        raise NotImplementedError(f'"frac_cpu" not implemented for \'{_kind(input)}\'')
    return input - input.detach().trunc()


@with_out
def hypot(input, other, *, out=None):
    """sqrt(input**2 + other**2), without overflow on the way."""
    a, b = input.abs(), other.abs()
    large = _C.maximum(a.detach(), b.detach())
    scale = _C.where((large > 0) & large.isfinite(), large, 1.0).to(large.dtype)
    a, b = a / scale, b / scale
    small = (a * a + b * b).sqrt() * scale
    infinite = input.detach().isinf() | other.detach().isinf()
    return _C.where(infinite, math.inf, small).to(small.dtype) if infinite.any() else small


@with_out
def nan_to_num(input, nan=None, posinf=None, neginf=None, *, out=None):
    """NaN as nan (0 if not given), infinities as posinf and neginf (the largest and smallest number if not given)."""
    if not input.is_floating_point():
        return input.clone()
    from .._info import finfo

    limits = finfo(input.dtype)
    high, low = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
    result = _C.where(input.isnan(), 0.0 if nan is None else nan, input)
    return _C.where(input == math.inf, high, _C.where(input == -math.inf, low, result))


def _reduce(function, input, dim, keepdim, **kw):
    return function(input, dim, keepdim, **kw) if dim is not None or keepdim else function(input, **kw)


def count_nonzero(input, dim=None):
    """How many elements are not 0: of all, or along dimensions."""
    hits = input != 0
    return hits.sum() if dim is None else hits.sum(dim)


@with_out
def nansum(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The sum of the elements that are not NaN."""
    kept = input.masked_fill(input.isnan(), 0.0) if input.is_floating_point() else input
    return _reduce(_C.sum, kept, dim, keepdim, dtype=dtype)


@with_out
def nanmean(input, dim=None, keepdim=False, *, dtype=None, out=None):
    """The mean of the elements that are not NaN."""
    if not input.is_floating_point():
        raise NotImplementedError(f"nanmean(): expected input to have floating point or complex dtype but got {_kind(input)}")
    count = _reduce(_C.sum, ~input.isnan(), dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


def dist(input, other, p=2):
    """The p-norm of input - other."""
    return _C._norm(input - other, p)


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-distances (..., P, R) between rows of (..., P, M) and rows of (..., R, M)."""
    for name, x in (("X1", x1), ("X2", x2)):
        if not x.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {_kind(x)}")
        if x.dim() < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.dim()}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    return _C._norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


@with_out
def tensordot(a, b, dims=2, *, out=None):
    """Products summed over dims of a and as many of b: the last and first ones, or a pair of lists."""
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        left, right = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        pair = dims.tolist() if isinstance(dims, _C.Tensor) else dims
        left, right = ([d] if isinstance(d, int) else list(d) for d in pair)
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
    return (a @ b).reshape(shape)


@with_out
def kron(input, other, *, out=None):
    """The Kronecker product: other, multiplied by each element of input, side by side."""
    n = max(input.dim(), other.dim())
    a, b = [1] * (n - input.dim()) + list(input.shape), [1] * (n - other.dim()) + list(other.shape)
    product = input.reshape([s for m in a for s in (m, 1)]) * other.reshape([s for m in b for s in (1, m)])
    return product.reshape([m * k for m, k in zip(a, b)])


def _cross(input, other, dim):
    input, other = _C.broadcast_to(input, _both(input, other)), _C.broadcast_to(other, _both(input, other))
    dim = _dim(dim, input.dim())
    a, b = input.unbind(dim), other.unbind(dim)
    return _C.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], dim)


def _both(a, b):
    from ..functional import broadcast_shapes

    return broadcast_shapes(a.shape, b.shape)


@with_out
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
    return _cross(input, other, dim)


@with_out
def vdot(input, other, *, out=None):
    """The dot product of two vectors."""
    return _C.dot(input, other)


@with_out
def logspace(start, end, steps, base=10.0, *, dtype=None, device=None, layout=None, requires_grad=False, out=None):
    """base to the power of steps numbers, evenly spaced from start to end."""
    at = lambda v: v.item() if isinstance(v, _C.Tensor) else v
    dtype = _C.get_default_dtype() if dtype is None else dtype
    ends = [at(start), at(end)] if dtype.is_floating_point else [int(at(start)), int(at(end))]
    powers = _C.linspace(*ends, steps, dtype=_C.float64, device=device)
    return _C.pow(float(base), powers).to(dtype).requires_grad_(requires_grad)


def trapezoid(y, x=None, *, dx=None, dim=-1):
    """The integral of y along a dimension by the rule of trapezoids, at the places x, or dx apart."""
    if x is not None and dx is not None:
        raise TypeError("trapezoid() received both x and dx")
    dim = _dim(dim, y.dim())
    if y.shape[dim] == 0:
        return y.new_zeros([n for d, n in enumerate(y.shape) if d != dim])
    n = y.shape[dim] - 1
    pairs = y.narrow(dim, 1, n) + y.narrow(dim, 0, n)
    if x is None:
        return pairs.sum(dim) * (1 if dx is None else dx) / 2.0
    if x.dim() == 1:
        if x.numel() != y.shape[dim]:
            raise RuntimeError("trapezoid: There must be one `x` value for each sample point")
        return (pairs * (x[1:] - x[:-1]).reshape([-1] + [1] * (y.dim() - 1 - dim))).sum(dim) / 2.0
    at = dim - y.dim() + x.dim()
    return (pairs * (x.narrow(at, 1, n) - x.narrow(at, 0, n))).sum(dim) / 2.0


trapz = trapezoid


def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariances of variables (rows) over observations (columns), which may be weighed."""
    if input.dim() > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions")
    if input.dtype == _C.bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = _floating(input).reshape(1, -1) if input.dim() < 2 else _floating(input)
    weights = None
    for w in (fweights, aweights):
        if w is not None:
            weights = w if weights is None else weights * w
    if weights is None:
        total = x.shape[1]
        centred = x - x.mean(1, True)
        product = centred @ centred.t()
        over = total - correction
    else:
        total = weights.sum()
        centred = x - (x * weights).sum(1, True) / total
        product = centred @ (centred * weights).t()
        over = total - correction * (total if aweights is None else (weights * aweights).sum()) / total
        over = over.clamp_min(0)
    if not isinstance(over, _C.Tensor):
        over = _C.tensor(float(max(over, 0)), dtype=x.dtype, device=x.device)
    result = product / over
    return result.reshape(()) if result.numel() == 1 else result
