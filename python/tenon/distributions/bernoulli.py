"""Bernoulli."""

from numbers import Number

import tenon as torch

from . import constraints
from ._probability import ByProbability, one_of_both
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Bernoulli"]


class Bernoulli(ByProbability, ExponentialFamily):
    """1 with probability probs, else 0"""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, validate_args=None):
        given = probs if one_of_both(probs, logits) else logits
        (tensor,) = broadcast_all(given)
        if probs is not None:
            self.probs = tensor
        else:
            self.logits = tensor
        shape = torch.Size() if isinstance(given, Number) else tensor.size()
        super().__init__(shape, validate_args=validate_args)

    mean = property(lambda self: self.probs, doc="The mean.")
    variance = property(lambda self: self.probs * (1 - self.probs), doc="The variance.")

    @property
    def mode(self):
        """1 or 0; NaN where both are as probable."""
        return (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, torch.nan)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(batch_shape, _instance, "probs", "logits")

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        value = self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        return -torch.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return torch.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        values = torch.arange(2, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values

    @property
    def _natural_params(self):
        return (torch.log(self.probs) - torch.log1p(-self.probs),)

    def _log_normalizer(self, x):
        return torch.log1p(torch.exp(x))
