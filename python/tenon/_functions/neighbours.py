"""The gradient of a function whose values are there: differences of neighbours."""

from .. import _C

__all__ = ["gradient"]
METHODS = []


def _along(input, dim, spacing, edge_order):
    """The gradient along one dimension: second-order differences inside, one-sided ones at the ends. Fornberg, "Generation of finite
    difference formulas on arbitrarily spaced grids" (1988)."""
    n = input.shape[dim]

    def at(start, end):
        return input.narrow(dim, start % n, (end - start))

    if not isinstance(spacing, _C.Tensor):
        inner = (at(2, n) - at(0, n - 2)) / spacing * 0.5 if n > 2 else None
        if edge_order == 1:
            first, last = (at(1, 2) - at(0, 1)) / spacing, (at(n - 1, n) - at(n - 2, n - 1)) / spacing
        else:
            first = (at(0, 1) * -1.5 + at(1, 2) * 2 - at(2, 3) * 0.5) / spacing
            last = (at(n - 1, n) * 1.5 - at(n - 2, n - 1) * 2 + at(n - 3, n - 2) * 0.5) / spacing
        return _C.cat([part for part in (first, inner, last) if part is not None], dim)
    shape = [1] * input.dim()
    shape[dim] = -1
    h = spacing.diff()
    before, after = h[:-1].reshape(shape), h[1:].reshape(shape)
    inner = None
    if n > 2:
        inner = (at(0, n - 2) * (-after / (before * (before + after))) + at(1, n - 1) * ((after - before) / (before * after))
                 + at(2, n) * (before / (after * (before + after))))
    if edge_order == 1:
        first, last = (at(1, 2) - at(0, 1)) / h[0], (at(n - 1, n) - at(n - 2, n - 1)) / h[-1]
    else:
        a, b = h[0], h[1]
        first = at(0, 1) * (-(2 * a + b) / (a * (a + b))) + at(1, 2) * ((a + b) / (a * b)) - at(2, 3) * (a / (b * (a + b)))
        a, b = h[-2], h[-1]
        last = (at(n - 3, n - 2) * (b / (a * (a + b))) - at(n - 2, n - 1) * ((a + b) / (a * b))
                + at(n - 1, n) * ((a + 2 * b) / (b * (a + b))))
    return _C.cat([part for part in (first, inner, last) if part is not None], dim)


def _wrap(dim, n):
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


def gradient(input, *, spacing=None, dim=None, edge_order=1):
    """The gradient of a function whose values input has, along the dimensions dim (all of them), as a tuple. spacing: the distance of
    neighbours, one for each dimension, or a tensor of the coordinates for each."""
    dims = list(range(input.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if spacing is None or isinstance(spacing, (int, float)):
        spacing = [1.0 if spacing is None else spacing] * len(dims)
    if dim is None and not isinstance(spacing, _C.Tensor) and len(spacing) != len(dims):
        raise RuntimeError(f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = "
                           f"{input.dim()}', since dim argument was not given, but got a list of length {len(spacing)}")
    if isinstance(spacing, _C.Tensor) or len(spacing) != len(dims):
        raise RuntimeError("torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the "
                           f"same length, but got a spacing argument of length {len(spacing)} and a dim argument of length {len(dims)}.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = [_wrap(d, input.dim()) for d in dims]
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    for d, one in zip(dims, spacing):
        if input.shape[d] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
        if isinstance(one, _C.Tensor) and one.dim() != 1:
            raise RuntimeError("torch.gradient expected each element of spacing to have one dimension, but got an element with "
                               f"{one.dim()} dimensions!")
    return tuple(_along(input, d, one, edge_order) for d, one in zip(dims, spacing))
