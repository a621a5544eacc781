"""FisherSnedecor."""

import math

import tenon as torch

from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The quotient of two means, of df1 and of df2 squares of normal numbers"""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1, df2, validate_args=None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        made = self._expanded(batch_shape, _instance, "df1", "df2")
        made._gamma1, made._gamma2 = (g.expand(torch.Size(batch_shape)) for g in (self._gamma1, self._gamma2))
        return made

    @property
    def mean(self):
        return (self.df2 / (self.df2 - 2)).masked_fill(self.df2 <= 2, math.nan)

    @property
    def mode(self):
        known = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return known.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self):
        df2 = self.df2.masked_fill(self.df2 <= 4, math.nan)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape=torch.Size()):
        shape, tiny = self._extended_shape(sample_shape), torch.finfo(self.df2.dtype).tiny
        x1 = self._gamma1.rsample(sample_shape).view(shape)
        y = x1 / self._gamma2.rsample(sample_shape).view(shape).clamp(min=tiny)
        return y.clamp(min=tiny)

    def log_prob(self, value):
        value = self._checked(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        return ((half1 + half2).lgamma() - half1.lgamma() - half2.lgamma() + half1 * ratio.log() + (half1 - 1) * torch.log(value)
                - (half1 + half2) * torch.log1p(ratio * value))
