"""Weights divided by their largest singular value, by a hook: parametrizations.spectral_norm does it without."""

from tenon.autograd import no_grad

from .. import functional as F
from .. import modules
from ..parameter import Parameter, UninitializedParameter

__all__ = ["SpectralNorm", "spectral_norm", "remove_spectral_norm"]


def _output_dim(module):
    """The dimension of a module's weight that counts its results."""
    transposed = tuple(c for c in (getattr(modules, f"ConvTranspose{n}d", None) for n in (1, 2, 3)) if c)
    return 1 if isinstance(module, transposed) else 0


def _as_matrix(weight, dim):
    return weight.movedim(dim, 0).reshape(weight.size(dim), -1)


def _unit(x, eps):
    return F.normalize(x, dim=0, eps=eps)


class SpectralNorm:
    """The hook: before each call the module's weight is weight_orig divided by its largest singular value, which as many steps of the
    power method find, in training, from weight_u and weight_v."""

    def __init__(self, name="weight", n_power_iterations=1, dim=0, eps=1e-12):
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.name, self.dim, self.n_power_iterations, self.eps = name, dim, n_power_iterations, eps

    def reshape_weight_to_matrix(self, weight):
        """A row for each index of dim."""
        return _as_matrix(weight, self.dim)

    def compute_weight(self, module, do_power_iteration):
        """The weight divided by u W v; u and v are written in place, for replicas share them."""
        weight, u, v = (getattr(module, self.name + of) for of in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(_unit(matrix.t().mv(u), self.eps))
                    u.copy_(_unit(matrix.mv(v), self.eps))
                u, v = u.clone(), v.clone()  # backward needs them after the next call, too
        return weight / u.dot(matrix.mv(v))

    def remove(self, module):
        """The weight is a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for of in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + of)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    @staticmethod
    def apply(module, name, n_power_iterations, dim, eps):
        """Puts weight_orig, weight_u and weight_v into the weight's place."""
        if any(isinstance(hook, SpectralNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook, weight = SpectralNorm(name, n_power_iterations, dim, eps), module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError("The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy "
                             "forward before applying spectral normalization")
        with no_grad():
            u, v = (_unit(weight.new_empty(n).normal_(0, 1), eps) for n in hook.reshape_weight_to_matrix(weight).size())
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        return hook


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The module's weight divided by its largest singular value; dim: whose indices are the rows of the matrix that it is."""
    SpectralNorm.apply(module, name, n_power_iterations, _output_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module, name="weight"):
    """The module's weight is one parameter again, divided as it is now."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")
