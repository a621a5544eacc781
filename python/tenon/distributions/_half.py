"""What the laws of |x| share, of a number x that lies evenly around 0."""

import math

import tenon as torch

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform


class Half(TransformedDistribution):
    """|x|, of a law of x with a scale."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _of = None  # the law of x

    def __init__(self, scale, validate_args=None):
        super().__init__(self._of(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    mode = property(lambda self: torch.zeros_like(self.scale), doc="The most probable value.")

    def log_prob(self, value):
        value = self._checked(value)
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -torch.inf)

    def cdf(self, value):
        return 2 * self.base_dist.cdf(self._checked(value)) - 1

    def icdf(self, prob):
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)
