"""Gumbel."""

import math

import tenon as torch

from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """-log(-log(u)) of uniform numbers u, times scale, plus loc"""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        info = torch.finfo(self.loc.dtype)
        base = Uniform(torch.full_like(self.loc, info.tiny), torch.full_like(self.loc, 1 - info.eps),
                       validate_args=validate_args)
        super().__init__(base, self._steps(self.loc, self.scale), validate_args=validate_args)

    @staticmethod
    def _steps(loc, scale):
        return [ExpTransform().inv, AffineTransform(loc=0, scale=-torch.ones_like(scale)), ExpTransform().inv,
                AffineTransform(loc=loc, scale=-scale)]

    def expand(self, batch_shape, _instance=None):
        made = self._get_checked_instance(Gumbel, _instance)
        made.loc = self.loc.expand(batch_shape)
        made.scale = self.scale.expand(batch_shape)
        return super().expand(batch_shape, _instance=made)

    def log_prob(self, value):
        y = (self.loc - self._checked(value)) / self.scale
        return (y - y.exp()) - self.scale.log()

    mean = property(lambda self: self.loc + self.scale * euler_constant, doc="The mean.")
    mode = property(lambda self: self.loc, doc="The most probable value.")
    stddev = property(lambda self: (math.pi / math.sqrt(6)) * self.scale, doc="The standard deviation.")
    variance = property(lambda self: self.stddev.pow(2), doc="The variance.")

    def entropy(self):
        return self.scale.log() + (1 + euler_constant)
