"""Pareto."""

from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .utils import broadcast_all

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """scale * exp(x) of exponential numbers x of rate alpha"""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        steps = [ExpTransform(), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(Exponential(self.alpha, validate_args=validate_args), steps, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        made = self._get_checked_instance(Pareto, _instance)
        made.scale = self.scale.expand(batch_shape)
        made.alpha = self.alpha.expand(batch_shape)
        return super().expand(batch_shape, _instance=made)

    @property
    def mean(self):
        a = self.alpha.clamp(min=1)  # up to 1 it is infinite
        return a * self.scale / (a - 1)

    mode = property(lambda self: self.scale, doc="The most probable value.")

    @property
    def variance(self):
        a = self.alpha.clamp(min=2)  # up to 2 it is infinite
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.greater_than_eq(self.scale)

    def entropy(self):
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
