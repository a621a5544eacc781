"""Functions on tensors that are written in Python, of operations that Tenon has."""

from operator import index

from . import _C
from ._einsum import einsum
from ._written import signature, tensors_alone

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "column_stack",
    "dstack",
    "einsum",
    "hstack",
    "is_same_size",
    "is_storage",
    "moveaxis",
    "movedim",
    "norm",
    "row_stack",
    "vstack",
]


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


def _list(tensors):
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        return tuple(tensors[0])
    return tensors


def broadcast_tensors(*tensors):
    """The tensors, expanded to one shape."""
    shape = broadcast_shapes(*(t.shape for t in tensors_alone(tensors)))
    return tuple(t if t.shape == shape else t.expand(shape) for t in tensors)  # as PyTorch: no view where none is needed


def _at_least(name, tensors, raise_one):
    if len(tensors) == 1 and not isinstance(tensors[0], (_C.Tensor, tuple, list)):
        kind = type(tensors[0]).__name__
        raise TypeError(f"{name}() received an invalid combination of arguments - got ({kind}), but expected one of:\n"
                        " * (Tensor input)\n * (tuple of Tensors tensors)\n")
    tensors = tensors_alone(_list(tensors))
    raised = tuple(raise_one(t) for t in tensors)
    return raised[0] if len(raised) == 1 and isinstance(tensors[0], _C.Tensor) else raised


def atleast_1d(*tensors):
    """The tensors, those of no dimension with one."""
    return _at_least("atleast_1d", tensors, lambda t: t.reshape(1) if t.dim() == 0 else t)


def atleast_2d(*tensors):
    """The tensors, with two dimensions at least: new ones in front."""
    return _at_least("atleast_2d", tensors, lambda t: t.reshape(1, 1) if t.dim() == 0 else t.unsqueeze(0) if t.dim() == 1 else t)


def _three(t):
    return t.reshape(1, 1, 1) if t.dim() == 0 else t[None, :, None] if t.dim() == 1 else t.unsqueeze(-1) if t.dim() == 2 else t


def atleast_3d(*tensors):
    """The tensors, with three dimensions at least."""
    return _at_least("atleast_3d", tensors, _three)


def _stacked(name, tensors, raised):
    """The tensors of a stack, each raised to the dimensions it needs."""
    if not isinstance(tensors, (tuple, list)):
        kind = type(tensors).__name__
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {kind}")
    if not tensors_alone(tensors):
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return tuple(raised(t) for t in tensors)


@signature("hstack(Tensor[] tensors, *, Tensor? out@cat=None)")
def hstack(tensors, *, out=None):
    """Joined along the second dimension; 1-D ones along the first."""
    tensors = _stacked("hstack", tensors, atleast_1d)
    return _C.cat(tensors, 0 if tensors[0].dim() == 1 else 1)


@signature("vstack(Tensor[] tensors, *, Tensor? out@cat=None)")
def vstack(tensors, *, out=None):
    """Joined along the first dimension, 1-D ones as rows."""
    return _C.cat(_stacked("vstack", tensors, atleast_2d), 0)


@signature("row_stack(Tensor[] tensors, *, Tensor? out@cat=None)")
def row_stack(tensors, *, out=None):
    """Joined along the first dimension, 1-D ones as rows: vstack."""
    return vstack.compute(tensors)


@signature("dstack(Tensor[] tensors, *, Tensor? out@cat=None)")
def dstack(tensors, *, out=None):
    """Joined along the third dimension."""
    return _C.cat(_stacked("dstack", tensors, atleast_3d), 2)


@signature("column_stack(Tensor[] tensors, *, Tensor? out@cat=None)")
def column_stack(tensors, *, out=None):
    """Joined along the second dimension, 1-D ones as columns."""
    return _C.cat(_stacked("column_stack", tensors, lambda t: t.reshape(t.numel(), 1) if t.dim() <= 1 else t), 1)


_MOVED = ("{}(Tensor input, int[] source, int[] destination)", "{}(Tensor input, int source, int destination)")


@signature(*(m.format("movedim") for m in _MOVED))
def movedim(input, source, destination):
    """Dimensions at other places; the others keep their order."""
    source = tuple(source) if isinstance(source, (tuple, list)) else (index(source),)
    destination = tuple(destination) if isinstance(destination, (tuple, list)) else (index(destination),)
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number of "
            f"dims as destination ({list(destination)} dims)"
        )
    n = max(input.dim(), 1)
    for d in source + destination:
        if not -n <= d < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
    place = dict(zip((d % n for d in destination), (s % n for s in source)))
    if len({s % n for s in source}) != len(source):
        raise RuntimeError(f"movedim: repeated dim in `source` ({list(source)})")
    if len(place) != len(source):
        raise RuntimeError(f"movedim: repeated dim in `destination` ({list(destination)})")
    rest = (d for d in range(input.dim()) if d not in place.values())
    return input.permute(tuple(place[d] if d in place else next(rest) for d in range(input.dim())))


@signature(*(m.format("moveaxis") for m in _MOVED))
def moveaxis(input, source, destination):
    """movedim, by NumPy's name."""
    return movedim.compute(input, source, destination)


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


def cartesian_prod(*tensors):
    """Every choice of one element from each 1-D tensor, as rows."""
    for t in tensors_alone(tensors):
        if t.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    if any(t.dtype != tensors[0].dtype for t in tensors):
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    shape = tuple(t.numel() for t in tensors)
    columns = []
    for i, t in enumerate(tensors):
        columns.append(t.reshape((1,) * i + (-1,) + (1,) * (len(tensors) - 1 - i)).expand(shape).reshape(-1))
    return _C.stack(columns, 1)


def block_diag(*tensors):
    """A matrix with these matrices along its diagonal, zeros elsewhere."""
    tensors = tuple(atleast_2d(t) for t in tensors_alone(tensors)) if tensors else (_C.empty(1, 0),)
    width = sum(t.shape[1] for t in tensors)
    rows, at = [], 0
    for t in tensors:
        left = _C.zeros(t.shape[0], at, dtype=t.dtype, device=t.device)
        right = _C.zeros(t.shape[0], width - at - t.shape[1], dtype=t.dtype, device=t.device)
        rows.append(_C.cat((left, t, right), 1))
        at += t.shape[1]
    return _C.cat(rows, 0)


@signature("is_same_size(Tensor input, Tensor other)")
def is_same_size(input, other):
    """Have both the same shape?"""
    return input.shape == other.shape


def is_storage(obj):
    """Is it the memory behind a tensor?"""
    from ._tensor import UntypedStorage

    return isinstance(obj, UntypedStorage)


_C.Tensor.movedim, _C.Tensor.moveaxis = movedim.method, moveaxis.method
