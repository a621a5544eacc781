"""Geometric."""

import tenon as torch

from . import constraints
from ._probability import ByProbability, one_of_both
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Geometric"]


class Geometric(ByProbability, Distribution):
    """How many trials fail before one succeeds, each with probability probs"""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        if one_of_both(probs, logits):
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        super().__init__(self._param.size(), validate_args=validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            value = self.probs
            invalid = value[value <= 0]
            raise ValueError(f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                             f"{self!r} to be positive but found invalid values:\n{invalid}")

    mean = property(lambda self: 1.0 / self.probs - 1.0, doc="The mean.")
    mode = property(lambda self: torch.zeros_like(self.probs), doc="The most probable value.")
    variance = property(lambda self: (1.0 / self.probs - 1.0) / self.probs, doc="The variance.")

    def expand(self, batch_shape, _instance=None):
        return self._expanded(batch_shape, _instance, "probs", "logits")

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            u = self.probs.new_empty(self._extended_shape(sample_shape)).uniform_(torch.finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        value = self._checked(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self):
        return torch.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
