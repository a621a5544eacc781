"""Parametrizations that are ready: weight_norm, spectral_norm."""

from tenon import _C
from tenon.autograd import no_grad

from ..modules.module import Module
from . import parametrize
from .spectral_norm import _as_matrix, _output_dim, _unit
from .weight_norm import _product

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return _product(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        return _C.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """The module's weight is original0, its length for each index of dim (None: of all of it), times the direction of original1."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def older(state_dict, prefix, *rest):  # what nn.utils.weight_norm wrote
        names = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in names):
            for i, key in enumerate(names):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(older)
    return module


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        n = weight.ndim
        if not -n <= dim < n:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{n}, {n - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim, self.eps = dim % n, eps
        if n > 1:
            self.n_power_iterations = n_power_iterations
            matrix = _as_matrix(weight, self.dim)
            u, v = [matrix.new_empty(size).normal_(0, 1) for size in matrix.size()]
            self.register_buffer("_u", _unit(u, eps))
            self.register_buffer("_v", _unit(v, eps))
            self._step(matrix, 15)

    def _step(self, matrix, times):
        """The power method, in place, for replicas share both vectors."""
        with no_grad():
            for _ in range(times):
                self._u.copy_(_unit(matrix.mv(self._v), self.eps))
                self._v.copy_(_unit(matrix.t().mv(self._u), self.eps))

    def forward(self, weight):
        if weight.ndim == 1:
            return _unit(weight, self.eps)
        matrix = _as_matrix(weight, self.dim)
        if self.training:
            self._step(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # backward needs them after the next call, too
        return weight / u.dot(matrix.mv(v))

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The module's weight divided by its largest singular value; dim: whose indices are the rows of the matrix that it is."""
    weight = getattr(module, name, None)
    if not isinstance(weight, _C.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    dim = _output_dim(module) if dim is None else dim
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Not there: it takes decompositions of matrices (torch.linalg), which Tenon does not have. nn.init.orthogonal_ makes orthogonal
    weights to begin with."""
    raise NotImplementedError("parametrizations.orthogonal: Tenon does not have decompositions of matrices (torch.linalg.matrix_exp, "
                              "householder_product, solve); nn.init.orthogonal_ is there")
