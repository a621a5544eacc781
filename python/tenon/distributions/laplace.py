"""Laplace."""

import tenon as torch

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Laplace"]


class Laplace(Distribution):
    """Exponential to both sides of loc"""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = property(lambda self: self.loc, doc="The mean.")
    mode = property(lambda self: self.loc, doc="The most probable value.")
    variance = property(lambda self: 2 * self.scale.pow(2), doc="The variance.")
    stddev = property(lambda self: 2**0.5 * self.scale, doc="The standard deviation.")

    def expand(self, batch_shape, _instance=None):
        return self._expanded(batch_shape, _instance, "loc", "scale")

    def rsample(self, sample_shape=torch.Size()):
        eps = torch.finfo(self.loc.dtype).eps
        u = self.loc.new_empty(self._extended_shape(sample_shape)).uniform_(eps - 1, 1)
        return self.loc - self.scale * u.sign() * torch.log1p(-u.abs())

    def log_prob(self, value):
        value = self._checked(value)
        return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale

    def cdf(self, value):
        value = self._checked(value)
        return 0.5 - 0.5 * (value - self.loc).sign() * torch.expm1(-(value - self.loc).abs() / self.scale)

    def icdf(self, value):
        half = value - 0.5
        return self.loc - self.scale * half.sign() * torch.log1p(-2 * half.abs())

    def entropy(self):
        return 1 + torch.log(2 * self.scale)
