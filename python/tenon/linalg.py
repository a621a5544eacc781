"""torch.linalg: products, norms of vectors, and powers of matrices; what needs a decomposition is not there."""

from tenon import _C, _missing
from tenon._C import matmul

__all__ = ["cross", "diagonal", "matmul", "matrix_power", "multi_dot", "vander", "vecdot", "vector_norm"]


def _out(out):
    return {} if out is None else {"out": out}


def cross(input, other, *, dim=-1, out=None):
    """The cross products of vectors of three elements along a dimension, the last unless said; other dimensions broadcast."""
    return _C.cross(input, other, dim, **_out(out))


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """A view of the diagonals of matrices, by default those in the last two dimensions."""
    return _C.diagonal(A, offset, dim1, dim2)


def matrix_power(A, n, *, out=None):
    """Square matrices, the last two dimensions, multiplied by themselves: A^n, n not negative."""
    return _C.matrix_power(A, n, **_out(out))


def multi_dot(tensors, *, out=None):
    """The product of matrices, in the order that costs least; the first may be a row, the last a column, in one dimension."""
    return _C._multi_dot(tensors, **_out(out))


def vander(x, *, N=None):
    """Powers of each element in a last dimension, N of them (by default as many as x's last dimension has), from 1 up."""
    return _C._vander(x, N=N)


def vecdot(x, y, *, dim=-1, out=None):
    """The sums of products along a dimension; x and y broadcast."""
    return _C._vecdot(x, y, dim=dim, **_out(out))


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    """The norms of that order, a number or infinity, of the elements over dimensions, or over all."""
    return _C._norm(x, ord, dim, keepdim, dtype=dtype, **_out(out))


__getattr__ = _missing.getattr_of(__name__)
