"""HalfCauchy."""

import math

import tenon as torch

from ._half import Half
from .cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """|x| of Cauchy's numbers x around 0"""

    _of = Cauchy

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, _instance=self._get_checked_instance(HalfCauchy, _instance))

    scale = property(lambda self: self.base_dist.scale, doc="That of x.")
    mean = property(lambda self: torch.full_like(self.scale, math.inf), doc="The mean.")
    variance = property(lambda self: self.base_dist.variance, doc="The variance.")

    def log_prob(self, value):
        return super().log_prob(torch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device))
