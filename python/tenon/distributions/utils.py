"""What distributions share: parameters that broadcast, probabilities and logits, properties that are computed once."""

import functools
from numbers import Number

import tenon as torch

__all__ = ["broadcast_all", "logits_to_probs", "clamp_probs", "probs_to_logits", "lazy_property", "tril_matrix_to_vec",
           "vec_to_tril_matrix"]

euler_constant = 0.57721566490153286060


def broadcast_all(*values):
    """The values as tensors of one shape. Numbers have the dtype and device of the first tensor, or the defaults."""
    if not all(isinstance(v, (torch.Tensor, Number)) for v in values):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing "
                         "__torch_function__.")
    first = next((v for v in values if isinstance(v, torch.Tensor)), None)
    like = {"dtype": torch.get_default_dtype()} if first is None else {"dtype": first.dtype, "device": first.device}
    return torch.broadcast_tensors(*(v if isinstance(v, torch.Tensor) else torch.tensor(v, **like) for v in values))


def _standard_normal(shape, dtype, device):
    return torch.normal(torch.zeros(shape, dtype=dtype, device=device), torch.ones(shape, dtype=dtype, device=device))


def _sum_rightmost(value, dim):
    """The sum over the last dim dimensions."""
    return value if dim == 0 else value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def logits_to_probs(logits, is_binary=False):
    """Probabilities: by sigmoid where they are binary, else by softmax over the last dimension."""
    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, -1)


def clamp_probs(probs):
    """Probabilities that are neither 0 nor 1."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    """log(p / (1 - p)) where they are binary, else log(p)."""
    clamped = clamp_probs(probs)
    return torch.log(clamped) - torch.log1p(-clamped) if is_binary else torch.log(clamped)


class lazy_property:
    """A property that is computed at its first use and then is an attribute."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)

    def __get__(self, instance, obj_type=None):
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """What the class has of it: a property, to who looks at it there."""

    def __init__(self, wrapped):
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat, diag=0):
    """The elements on and below a diagonal of each matrix (the last two dimensions), row by row."""
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = torch.tril_indices(n, n, diag, device=mat.device).unbind(0)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec, diag=0):
    """The matrices whose elements on and below a diagonal vec holds, row by row, in its last dimension; 0 elsewhere."""
    count = vec.shape[-1]
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if not round(n, 6).is_integer():
        raise ValueError(f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of a "
                         "square D x D matrix.")
    n = round(n)
    rows, columns = torch.tril_indices(n, n, diag, device=vec.device).unbind(0)
    flat = torch.zeros(vec.shape[:-1] + (n * n,), dtype=vec.dtype, device=vec.device)
    places = (rows * n + columns).expand(vec.shape)
    return flat.scatter(-1, places, vec).reshape(vec.shape[:-1] + (n, n))
