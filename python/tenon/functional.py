"""Functions on tensors that are written in Python, of operations that Tenon has."""

from . import _C
from ._einsum import einsum

__all__ = ["broadcast_shapes", "einsum", "is_storage", "norm"]


def broadcast_shapes(*shapes):
    """The shape that all of these broadcast to."""
    for s in shapes:
        if not isinstance(s, (int, tuple, list)):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {s}")
    shapes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    result = [1] * max((len(s) for s in shapes), default=0)
    for shape in shapes:
        for i, n in enumerate(shape, len(result) - len(shape)):
            if n < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({n}): ({n})")
            if n != 1 and result[i] not in (1, n):
                raise RuntimeError(
                    "Shape mismatch: objects cannot be broadcast to a single shape: "
                    + " and ".join(str(tuple(s)) for s in shapes)
                )
            if n != 1:
                result[i] = n
    return _C.Size(result)


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """The p-norm of the elements over dimensions, or all of them. p: a number, infinity, 'fro', which is 2; or 'nuc', the sum
    of the singular values of the matrices in two dimensions."""
    given = {} if out is None else {"out": out}
    if isinstance(p, str):
        if p not in ("fro", "nuc"):
            raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
        if p == "nuc":
            if dim is not None and not isinstance(dim, int) and not len(dim):
                raise RuntimeError("linalg.matrix_norm: dim must be a 2-tuple. Got ")
            return _C._nuclear_norm(input, dim, keepdim, dtype=dtype, **given)
        p = 2
    return _C._norm(input, p, dim, keepdim, dtype=dtype, **given)


def is_storage(obj):
    """Is it the memory behind a tensor?"""
    from .storage import TypedStorage, UntypedStorage

    return isinstance(obj, (TypedStorage, UntypedStorage))
