"""Binomial."""

import tenon as torch

from . import constraints
from ._probability import ByProbability, one_of_both
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Binomial"]


class Binomial(ByProbability, Distribution):
    """How many of total_count trials succeed, each with probability probs"""

    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval,
                       "logits": constraints.real}
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if one_of_both(probs, logits):
            self.total_count, self.probs = broadcast_all(total_count, probs)
            self.total_count = self.total_count.type_as(self.probs)
        else:
            self.total_count, self.logits = broadcast_all(total_count, logits)
            self.total_count = self.total_count.type_as(self.logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs, doc="The mean.")
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count),
                    doc="The most probable value.")
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs), doc="The variance.")

    def expand(self, batch_shape, _instance=None):
        return self._expanded(batch_shape, _instance, "total_count", "probs", "logits")

    def sample(self, sample_shape=torch.Size()):
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        """n log(1 - p) = -n (max(l, 0) + log(1 + exp(-|l|))), l being the logits"""
        value = self._checked(value)
        n, rest = self.total_count, self.total_count - value
        normalizer = n * self.logits.clamp(min=0) + n * torch.log1p(torch.exp(-torch.abs(self.logits))) - torch.lgamma(n + 1)
        return value * self.logits - torch.lgamma(value + 1) - torch.lgamma(rest + 1) - normalizer

    def _one_count(self, what):
        most = int(self.total_count.max())
        if not self.total_count.min() == most:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{what}`.")
        return most

    def entropy(self):
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        most = self._one_count("enumerate_support")
        values = torch.arange(1 + most, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values
