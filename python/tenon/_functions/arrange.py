"""Functions that arrange elements anew: grids, diagonals, triangles, rotations."""

import warnings

from .. import _C
from .._written import kind, refuse, signature, tensors_alone

__all__ = ["diag", "diag_embed", "diagflat", "diff", "empty_permuted", "empty_strided", "fliplr", "flipud", "meshgrid", "rot90", "take",
           "trace", "tril_indices", "triu_indices"]
METHODS = ["diag", "diag_embed", "diagflat", "diff", "fliplr", "flipud", "rot90", "take", "trace"]


def _dim(d, n):
    """A dimension counted from the front; n: how many there are."""
    n = max(n, 1)
    if not -n <= d < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
    return d % n


_TAIL = "dtype? dtype=None, object? layout=None, device? device=None, bool? pin_memory=False, bool? requires_grad=False)"


@signature("empty_strided(int[] size, int[] stride, *, " + _TAIL)
def empty_strided(size, stride, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """Uninitialised, with these strides."""
    if len(size) != len(stride):
        raise RuntimeError(f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})")
    n = 0 if 0 in size else 1 + sum((s - 1) * step for s, step in zip(size, stride))
    if min(size, default=0) >= 0 and (min(stride, default=0) < 0 or n > 2**60):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    memory = _C.empty(size if min(size, default=0) < 0 else n, dtype=dtype, device=device, pin_memory=pin_memory)
    return memory.as_strided(size, stride).detach().requires_grad_(bool(requires_grad))  # detached: it is no view


@signature("empty_permuted(int[] size, int[] physical_layout, *, " + _TAIL)
def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """Uninitialised, whose dimensions lie in memory in the order of physical_layout."""
    n = len(size)
    if len(physical_layout) != n:
        raise RuntimeError("Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
                           f"{n} is not equal to len(physical_layout) = {len(physical_layout)}")
    stride, step = [None] * n, 1
    for i in reversed(range(n)):
        d = physical_layout[i]
        if not 0 <= d < n:
            raise RuntimeError(f"Dimension out of range (expected to be between 0 and {n - 1}, but got {d} at index {i}).  NB: "
                               "negative dims not currently supported; file an issue if you want it.")
        if stride[d] is not None:
            raise RuntimeError("Duplicate dim not allowed")
        stride[d], step = step, step * max(size[d], 1)
    return empty_strided(size, stride, dtype=dtype, device=device, pin_memory=pin_memory, requires_grad=requires_grad)


def meshgrid(*tensors, indexing=None):
    """The coordinates of a grid: for each 1-D tensor one of the grid's shape; indexing: "ij" (rows first) or "xy"."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    if indexing is None:
        warnings.warn("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2)
        indexing = "ij"
    tensors_alone(tensors)
    if not isinstance(indexing, str):
        raise TypeError(f"meshgrid(): argument 'indexing' must be str, not {type(indexing).__name__}")
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in tensors:
        if t.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got a tensor with {t.dim()} dimensions")
        if t.dtype != tensors[0].dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
        if t.device != tensors[0].device:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same device")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    swap = indexing == "xy" and len(tensors) >= 2
    if swap:
        tensors = (tensors[1], tensors[0]) + tensors[2:]
    shape, n = [t.numel() for t in tensors], len(tensors)
    grids = [t.reshape([1] * i + [-1] + [1] * (n - 1 - i)).expand(shape) for i, t in enumerate(tensors)]
    if swap:
        grids[:2] = grids[1], grids[0]
    return tuple(grids)


@signature("diag_embed(Tensor input, int offset=0, int dim1=-2, int dim2=-1)")
def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Matrices in dimensions dim1 and dim2, whose diagonal (offset above the main one) is input's last dimension."""
    n = input.dim() + 1
    first, second = _dim(dim1, n), _dim(dim2, n)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = input.shape[-1] + abs(offset)
    shape = list(input.shape[:-1])
    for d in sorted((first, second)):
        shape.insert(d, size)
    result = _C.zeros(shape, dtype=input.dtype, device=input.device)
    result.diagonal(offset, dim1, dim2).copy_(input)
    return result


@signature("diag(Tensor input, int diagonal=0, *, Tensor? out@cast=None)")
def diag(input, diagonal=0, *, out=None):
    """A matrix with this diagonal, of a 1-D tensor; of a matrix, its diagonal."""
    if input.dim() not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.dim()}D")
    return diag_embed(input, diagonal) if input.dim() == 1 else _C.cat((input.diagonal(diagonal),))


@signature("diagflat(Tensor input, int offset=0)")
def diagflat(input, offset=0):
    """A matrix with all elements of input along its diagonal."""
    return diag_embed(input.reshape(-1), offset)


@signature("trace(Tensor input)")
def trace(input):
    """The sum of a matrix' diagonal."""
    if input.dim() != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.dim()}")
    if input.dtype == _C.bool:
        refuse("trace", input)
    return input.diagonal().sum()


_TAIL = ", *, dtype? dtype=None, object? layout=None, device? device=None, bool? pin_memory=False, bool? requires_grad=False)"


def _triangle(name, rows, columns, keep, dtype, device, requires_grad):
    for what, n in (("row", rows), ("col", columns)):
        if n < 0:
            raise RuntimeError(f"{what} must be non-negative, got{n}")
    indices = keep(_C.ones(rows, columns, dtype=_C.bool, device=device)).nonzero().t()
    if dtype is not None and dtype not in (_C.int64, _C.int32, _C.int16):
        refuse(name if indices.device.type == "cpu" else name + "_cuda", indices.new_empty(0, dtype=dtype))
    return _C.cat((indices.to(_C.int64 if dtype is None else dtype),)).requires_grad_(bool(requires_grad))


@signature("tril_indices(int row, int col, int offset=0" + _TAIL)
def tril_indices(row, col, offset=0, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """The rows and columns, as (2, n), of the elements on and below a diagonal."""
    return _triangle("tril_indices", row, col, lambda t: t.tril(offset), dtype, device, requires_grad)


@signature("triu_indices(int row, int col, int offset=0" + _TAIL)
def triu_indices(row, col, offset=0, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """The rows and columns, as (2, n), of the elements on and above a diagonal."""
    return _triangle("triu_indices", row, col, lambda t: t.triu(offset), dtype, device, requires_grad)


@signature("fliplr(Tensor input)")
def fliplr(input):
    """Columns in reverse order."""
    if input.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return input.flip(1)


@signature("flipud(Tensor input)")
def flipud(input):
    """Rows in reverse order."""
    if input.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return input.flip(0)


@signature("rot90(Tensor input, int k=1, int[] dims=0)")
def rot90(input, k=1, dims=(0, 1)):
    """Turned k times by a right angle, from the first of dims towards the second."""
    dims = tuple(dims)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.dim() < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.dim()}")
    first, second = (_dim(d, input.dim()) for d in dims)
    if first == second:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    k %= 4
    if k == 1:
        return input.flip(second).transpose_(first, second)
    if k == 2:
        return input.flip((first, second))
    return input.flip(first).transpose_(first, second) if k == 3 else input.clone()


@signature("take(Tensor input, Tensor index, *, Tensor? out@taken=None)")
def take(input, index, *, out=None):
    """The elements at these places, counted through all of input row by row."""
    if index.dtype != _C.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {kind(index)}")
    n = input.numel()
    if n == 0 and index.numel():
        raise IndexError("take(): tried to take from an empty tensor")
    if index.numel() and not (-n <= index.min().item() and index.max().item() < n):
        wrong = next(i for i in index.reshape(-1).tolist() if not -n <= i < n)
        raise IndexError(f"out of range: tried to access index {wrong} on a tensor of {n} elements.")
    index = _C.where(index < 0, index + n, index)
    return input.reshape(-1).index_select(0, index.reshape(-1)).reshape(index.shape)


@signature("diff(Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None, *, Tensor? out@cast=None)")
def diff(input, n=1, dim=-1, prepend=None, append=None, *, out=None):
    """Differences of neighbours along a dimension, n times over; prepend and append are joined to input first."""
    if input.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if n == 0 and prepend is None and append is None:
        return input.clone()
    dim = _dim(dim, input.dim())
    parts = [t for t in (prepend, input, append) if t is not None]
    for t in parts:
        if t.dim() != input.dim():
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for d in range(t.dim()):
            if d != dim and t.shape[d] != input.shape[d]:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the differencing "
                    f"dimension; input.size({d}) = {input.shape[d]}, but got tensor.size({d}) = {t.shape[d]}"
                )
    if n == 0:
        return input.clone()
    if len(parts) > 1:
        input = _C.cat(parts, dim)
    for _ in range(min(n, input.shape[dim])):
        size = max(input.shape[dim] - 1, 0)
        after, before = input.narrow(dim, min(1, input.shape[dim]), size), input.narrow(dim, 0, size)
        input = after ^ before if input.dtype == _C.bool else after - before
    return input
