"""torch.masked: reductions, normalisations and cumulative functions of the elements that a mask lets through.

A mask is a tensor of bool (or of numbers, of which 0 is false) that broadcasts to the input's shape; None lets all through. What
is masked out counts as the operation's identity: 0 in a sum, -inf in a maximum. Tensors that carry their masks (MaskedTensor)
are not there: a mask is an argument.
"""

import math as _math

import tenon as _torch

__all__ = ["amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median", "norm",
           "normalize", "prod", "softmax", "softmin", "std", "sum", "var"]  # fmt: skip

# What is masked out: a number, or the least and the greatest that the dtype has.
_LEAST, _GREATEST = "least", "greatest"
_IDENTITY = {"sum": 0, "mean": 0, "cumsum": 0, "prod": 1, "cumprod": 1, "norm": 0, "median": _math.nan, "amin": _GREATEST, "argmin": _GREATEST,
             "softmin": _GREATEST}  # fmt: skip
_SMALL_INTEGERS = {_torch.uint8, _torch.bool, _torch.int8, _torch.int16, _torch.int32}


def _identity(operation, dtype):
    value = _IDENTITY.get(operation, _LEAST)
    if not isinstance(value, str):
        return value
    if dtype == _torch.bool:
        raise NotImplementedError(f"identity of {operation} on {dtype} input")
    if dtype.is_floating_point:
        return -_math.inf if value == _LEAST else _math.inf
    limits = _torch.iinfo(dtype)
    return limits.min if value == _LEAST else limits.max


def _mask_of(input, mask):
    """The mask in the input's shape."""
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    mask = mask if mask.dtype == _torch.bool else mask != 0
    return mask if mask.shape == input.shape else mask.expand(input.shape)


def _filled(operation, input, mask, identity=None):
    """The input, with the operation's identity where the mask is false."""
    if mask is None:
        return input
    identity = _identity(operation, input.dtype) if identity is None else identity
    return _torch.where(_mask_of(input, mask), input, _torch.tensor(identity, dtype=input.dtype, device=input.device))


def _dims_of(dim, ndim):
    """The dimensions as a tuple, counted from the front; none are all."""
    if dim is None or isinstance(dim, (tuple, list)) and not dim:
        return tuple(range(ndim))
    dims, limit = [], max(ndim, 1)
    for d in dim if isinstance(dim, (tuple, list)) else (dim,):
        if not -limit <= d < limit:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {d})")
        if d % limit in dims:
            raise RuntimeError(f"dim={d % limit} appears multiple times in the list of dims")
        dims.append(d % limit)
    return tuple(d for d in dims if d < ndim)


def _count(input, dims, keepdim, mask):
    """How many elements of each result the mask lets through."""
    ones = _torch.ones(input.shape, dtype=_torch.int64, device=input.device)
    return (ones if mask is None else _mask_of(input, mask).to(_torch.int64)).sum(dims, keepdim)


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """sum(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor

    The sum of the elements that the mask lets through, along the dimensions; 0 where there are none."""
    dtype = dtype or (_torch.int64 if input.dtype in _SMALL_INTEGERS else input.dtype)
    return _torch.sum(_filled("sum", input, mask), _dims_of(dim, input.dim()), bool(keepdim), dtype=dtype)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """prod(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor

    The product of the elements that the mask lets through, along the dimensions; 1 where there are none."""
    dtype = dtype or (_torch.int64 if input.dtype in _SMALL_INTEGERS else input.dtype)
    result = _filled("prod", input, mask).to(dtype)
    for d in sorted(_dims_of(dim, input.dim()), reverse=True):
        result = result.prod(d, keepdim=bool(keepdim))
    return result


def _extreme(operation, input, dim, keepdim, dtype, mask):
    result = getattr(_torch, operation)(_filled(operation, input, mask), _dims_of(dim, input.dim()), bool(keepdim))
    return result if dtype is None else result.to(dtype)


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """amax(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor

    The greatest of the elements that the mask lets through, along the dimensions; where there are none, the least that the dtype has."""
    return _extreme("amax", input, dim, keepdim, dtype, mask)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """amin(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor

    The least of the elements that the mask lets through, along the dimensions; where there are none, the greatest that the dtype has."""
    return _extreme("amin", input, dim, keepdim, dtype, mask)


def _place(operation, input, dim, keepdim, dtype, mask):
    return getattr(_torch, operation)(_filled(operation, input, mask), dim, bool(keepdim)).to(dtype or input.dtype)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor

    Where the greatest element that the mask lets through is; as PyTorch's, in the input's dtype where none is asked for."""
    return _place("argmax", input, dim, keepdim, dtype, mask)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor

    Where the least element that the mask lets through is; as PyTorch's, in the input's dtype where none is asked for."""
    return _place("argmin", input, dim, keepdim, dtype, mask)


def cumsum(input, dim, *, dtype=None, mask=None):
    """cumsum(input, dim, *, dtype=None, mask=None) -> Tensor

    The sums along a dimension of the elements up to each one; what is masked out adds nothing."""
    (dim,) = _dims_of(dim, input.dim()) or (0,)
    return _torch.cumsum(_filled("cumsum", input, mask), dim, dtype=dtype or input.dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    """cumprod(input, dim, *, dtype=None, mask=None) -> Tensor

    The products along a dimension of the elements up to each one; what is masked out is a factor of 1."""
    (dim,) = _dims_of(dim, input.dim()) or (0,)
    return _torch.cumprod(_filled("cumprod", input, mask), dim, dtype=dtype or input.dtype)


def softmax(input, dim, *, dtype=None, mask=None):
    """softmax(input, dim, *, dtype=None, mask=None) -> Tensor

    The softmax along a dimension of the elements that the mask lets through; 0 for the others, NaN where there are none."""
    return _torch.softmax(_filled("softmax", input, mask), dim, dtype=dtype)


def softmin(input, dim, *, dtype=None, mask=None):
    """softmin(input, dim, *, dtype=None, mask=None) -> Tensor

    The softmax of the negated elements that the mask lets through; 0 for the others, NaN where there are none."""
    return _torch.softmax(-_filled("softmin", input, mask), dim, dtype=dtype)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """log_softmax(input, dim, *, dtype=None, mask=None) -> Tensor

    The logarithm of softmax; -inf for what is masked out, NaN where all is."""
    return _torch.log_softmax(_filled("log_softmax", input, mask), dim, dtype=dtype)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor

    The logarithm of the sum of the exponentials of the elements that the mask lets through, along the dimensions."""
    dims = _dims_of(dim, input.dim())
    return _torch.logsumexp(_filled("logsumexp", input, mask), dims, bool(keepdim)).to(dtype or input.dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None) -> Tensor

    log(exp(input) + exp(other)); what a mask takes out of an operand adds nothing."""
    result = _torch.logaddexp(_filled("logaddexp", input, input_mask), _filled("logaddexp", other, other_mask))
    return result.to(dtype or input.dtype)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """mean(input, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor

    The mean of the elements that the mask lets through, along the dimensions; NaN where there are none."""
    asked = "Input dtype must be either a floating point or complex dtype."
    if dtype is not None:
        asked = f"Optional dtype must be either a floating point or complex dtype. Got: {dtype}"
    if not (dtype or input.dtype).is_floating_point:
        raise ValueError(f"mean(): Could not infer output dtype. {asked}")
    dims = _dims_of(dim, input.dim())
    total = sum(input, dims, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _count(input, dims, bool(keepdim), mask)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """median(input, dim=-1, *, keepdim=False, dtype=None, mask=None) -> Tensor

    The median along a dimension of the elements that the mask lets through, of two in the middle the lower one; NaN where there
    are none. Of floating dtypes alone where a mask is given."""
    dtype = dtype or input.dtype
    dims = _dims_of(dim, input.dim())
    if dim is None or len(dims) > 1:
        raise ValueError("masked median expects a single dimension")
    if not input.dtype.is_floating_point and mask is not None:
        if not bool((_count(input, dims, False, mask) > 0).all()):
            raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
        return _torch.nanmedian(_filled("median", input.to(_torch.float64), mask), dims[0] if dims else -1, bool(keepdim)).values.to(dtype)
    return _torch.nanmedian(_filled("median", input, mask), dims[0] if dims else -1, bool(keepdim)).values.to(dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None) -> Tensor

    The vector norm of order ord of the elements that the mask lets through, along the dimensions."""
    identity = _math.inf if ord == -_math.inf else 0
    return _torch.linalg.vector_norm(_filled("norm", input, mask, identity), ord, _dims_of(dim, input.dim()), bool(keepdim), dtype=dtype)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None) -> Tensor

    The elements that the mask lets through by their norm along a dimension, or by eps where that is larger; 0 for the others."""
    least = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask).clamp_min(eps)
    return _filled("sum", input, mask) / least


def _spread(input, dim, unbiased, correction, keepdim, dtype, mask, root):
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    dims = _dims_of(dim, input.dim())
    asked = dtype or input.dtype
    wide = asked if asked.is_floating_point else _torch.float32
    count = _count(input, dims, True, mask)
    x = input.to(wide)
    average = sum(x, dims, keepdim=True, mask=mask) / count
    squares = sum((x - average).square(), dims, keepdim=keepdim, mask=mask)
    divisor = (count if keepdim else count.reshape(squares.shape)) - correction
    result = squares / divisor.clamp_min(0)
    result = result.sqrt() if root else result
    return result if dtype is None else result.to(dtype)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None) -> Tensor

    The variance of the elements that the mask lets through, along the dimensions; the divisor is their count less correction (1)."""
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask, False)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None) -> Tensor

    The square root of var."""
    return _spread(input, dim, unbiased, correction, keepdim, dtype, mask, True)
