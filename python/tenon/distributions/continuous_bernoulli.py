"""ContinuousBernoulli."""

import math
from numbers import Number

import tenon as torch

from . import constraints
from ._probability import ByProbability, one_of_both
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ByProbability, ExponentialFamily):
    """Numbers x of 0 .. 1 whose density is as probs^x (1 - probs)^(1 - x) (Loaiza-Ganem and Cunningham 2019)

    lims   between them, near 1/2, where the formulas divide by nothing, Taylor's are taken
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        given = probs if one_of_both(probs, logits) else logits
        (tensor,) = broadcast_all(given)
        if probs is not None:
            if validate_args is not None and not self.arg_constraints["probs"].check(tensor).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(tensor)
        else:
            self.logits = tensor
        self._lims = lims
        shape = torch.Size() if isinstance(given, Number) else tensor.size()
        super().__init__(shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        made = self._expanded(batch_shape, _instance, "probs", "logits")
        made._lims = self._lims
        return made

    def _outside(self):
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self):
        return torch.where(self._outside(), self.probs, self._lims[0] * torch.ones_like(self.probs))

    @lazy_property
    def probs(self):
        """The parameter: the density's weight of 1 to that of 0 is probs to 1 - probs."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _cont_bern_log_norm(self):
        cut = self._cut()
        below = torch.where(cut <= 0.5, cut, torch.zeros_like(cut))
        above = torch.where(cut >= 0.5, cut, torch.ones_like(cut))
        log_norm = torch.log(torch.abs(torch.log1p(-cut) - torch.log(cut))) - torch.where(
            cut <= 0.5, torch.log1p(-2.0 * below), torch.log(2.0 * above - 1.0))
        x = torch.pow(self.probs - 0.5, 2)
        return torch.where(self._outside(), log_norm, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self):
        cut = self._cut()
        mean = cut / (2.0 * cut - 1.0) + 1.0 / (torch.log1p(-cut) - torch.log(cut))
        x = self.probs - 0.5
        return torch.where(self._outside(), mean, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * torch.pow(x, 2)) * x)

    @property
    def variance(self):
        cut = self._cut()
        variance = cut * (cut - 1.0) / torch.pow(1.0 - 2.0 * cut, 2) + 1.0 / torch.pow(torch.log1p(-cut) - torch.log(cut), 2)
        x = torch.pow(self.probs - 0.5, 2)
        return torch.where(self._outside(), variance, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    stddev = property(lambda self: torch.sqrt(self.variance), doc="The standard deviation.")

    def _uniform(self, sample_shape):
        return torch.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device)

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            return self.icdf(self._uniform(sample_shape))

    def rsample(self, sample_shape=torch.Size()):
        return self.icdf(self._uniform(sample_shape))

    def log_prob(self, value):
        value = self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        entropy = torch.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return -entropy + self._cont_bern_log_norm()

    def cdf(self, value):
        value = self._checked(value)
        cut = self._cut()
        known = (torch.pow(cut, value) * torch.pow(1.0 - cut, 1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        found = torch.where(self._outside(), known, value)
        zeros, ones = torch.zeros_like(value), torch.ones_like(value)
        return torch.where(torch.le(value, 0.0), zeros, torch.where(torch.ge(value, 1.0), ones, found))

    def icdf(self, value):
        cut = self._cut()
        known = (torch.log1p(-cut + value * (2.0 * cut - 1.0)) - torch.log1p(-cut)) / (torch.log(cut) - torch.log1p(-cut))
        return torch.where(self._outside(), known, value)

    def entropy(self):
        log0, log1 = torch.log1p(-self.probs), torch.log(self.probs)
        return self.mean * (log0 - log1) - self._cont_bern_log_norm() - log0

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = torch.where(outside, x, (self._lims[0] - 0.5) * torch.ones_like(x))
        known = torch.log(torch.abs(torch.expm1(cut))) - torch.log(torch.abs(cut))
        return torch.where(outside, known, 0.5 * x + torch.pow(x, 2) / 24.0 - torch.pow(x, 4) / 2880.0)
