"""HalfNormal."""

import math

import tenon as torch

from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform

__all__ = ["HalfNormal"]


class HalfNormal(TransformedDistribution):
    """|x| of normal numbers x of mean 0 and standard deviation scale"""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale, validate_args=None):
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, _instance=self._get_checked_instance(HalfNormal, _instance))

    scale = property(lambda self: self.base_dist.scale, doc="The standard deviation of x.")
    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi), doc="The mean.")
    mode = property(lambda self: torch.zeros_like(self.scale), doc="The most probable value.")
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi), doc="The variance.")

    def log_prob(self, value):
        value = self._checked(value)
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -torch.inf)

    def cdf(self, value):
        return 2 * self.base_dist.cdf(self._checked(value)) - 1

    def icdf(self, prob):
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)
