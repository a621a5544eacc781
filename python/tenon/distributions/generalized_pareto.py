"""GeneralizedPareto."""

import tenon as torch

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """loc + scale * (u^-concentration - 1) / concentration of uniform numbers u; of concentration 0 exponential"""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(batch_shape, _instance, "loc", "scale", "concentration")

    def rsample(self, sample_shape=torch.Size()):
        return self.icdf(torch.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def _by_zero(self):
        """Where concentration is 0, and it with 1 there."""
        zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return zero, torch.where(zero, torch.ones_like(self.concentration), self.concentration)

    def _z(self, x):
        return (x - self.loc) / self.scale

    def log_prob(self, value):
        z = self._z(self._checked(value))
        zero, c = self._by_zero()
        y = 1 / c + torch.ones_like(z)
        other = torch.where(y == 0, y, y * torch.log1p(c * z))
        return -self.scale.log() - torch.where(zero, z, other)

    def log_survival_function(self, value):
        """The logarithm of the probability of more than value."""
        z = self._z(self._checked(value))
        zero, c = self._by_zero()
        return torch.where(zero, -z, -torch.log1p(c * z) / c)

    def log_cdf(self, value):
        """The logarithm of the probability of at most value."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value):
        return torch.exp(self.log_cdf(value))

    def icdf(self, value):
        zero, c = self._by_zero()
        log_rest = torch.log1p(-value)
        other = self.loc + self.scale / c * torch.expm1(-c * log_rest)
        return torch.where(zero, self.loc - self.scale * log_rest, other)

    @property
    def mean(self):
        there = self.concentration < 1
        c = torch.where(there, self.concentration, 0.5)
        return torch.where(there, self.loc + self.scale / (1 - c), torch.nan)

    @property
    def variance(self):
        there = self.concentration < 0.5
        c = torch.where(there, self.concentration, 0.25)
        return torch.where(there, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), torch.nan)

    mode = property(lambda self: self.loc, doc="The most probable value.")

    def entropy(self):
        return torch.broadcast_to(torch.log(self.scale) + self.concentration + 1, self._batch_shape)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        upper = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, torch.inf)
        return constraints.interval(self.loc, upper)
