"""NegativeBinomial."""

import tenon as torch

from . import constraints
from ._probability import ByProbability, one_of_both
from .distribution import Distribution
from .gamma import Gamma
from .utils import broadcast_all, lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ByProbability, Distribution):
    """How many trials succeed, each with probability probs, before total_count have failed"""

    arg_constraints = {"total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
                       "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        if one_of_both(probs, logits):
            self.total_count, self.probs = broadcast_all(total_count, probs)
            self.total_count = self.total_count.type_as(self.probs)
        else:
            self.total_count, self.logits = broadcast_all(total_count, logits)
            self.total_count = self.total_count.type_as(self.logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    mean = property(lambda self: self.total_count * torch.exp(self.logits), doc="The mean.")
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0),
                    doc="The most probable value.")
    variance = property(lambda self: self.mean / torch.sigmoid(-self.logits), doc="The variance.")

    def expand(self, batch_shape, _instance=None):
        return self._expanded(batch_shape, _instance, "total_count", "probs", "logits")

    @lazy_property
    def _gamma(self):
        return Gamma(concentration=self.total_count, rate=torch.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            return torch.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value):
        value = self._checked(value)
        log_sigmoid, n = torch.nn.functional.logsigmoid, self.total_count
        normalizer = -torch.lgamma(n + value) + torch.lgamma(1.0 + value) + torch.lgamma(n)
        normalizer = normalizer.masked_fill(n + value == 0.0, 0.0)  # none of none is sure
        return n * log_sigmoid(-self.logits) + value * log_sigmoid(self.logits) - normalizer
