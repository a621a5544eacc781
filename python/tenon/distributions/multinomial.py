"""Multinomial."""

import tenon as torch

from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """How often each of K comes in total_count draws, in proportion to probs [..., K], or with logits"""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    mean = property(lambda self: self.probs * self.total_count, doc="The mean.")
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs), doc="The variance.")
    logits = property(lambda self: self._categorical.logits, doc="The logarithms of the probabilities.")
    probs = property(lambda self: self._categorical.probs, doc="The probabilities.")
    param_shape = property(lambda self: self._categorical.param_shape, doc="The shape of the parameter that was given.")

    def expand(self, batch_shape, _instance=None):
        made = self._get_checked_instance(Multinomial, _instance)
        batch_shape = torch.Size(batch_shape)
        made.total_count = self.total_count
        made._categorical = self._categorical.expand(batch_shape)
        super(Multinomial, made).__init__(batch_shape, self.event_shape, validate_args=False)
        made._validate_args = self._validate_args
        return made

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    def sample(self, sample_shape=torch.Size()):
        drawn = self._categorical.sample(torch.Size((self.total_count,) + tuple(sample_shape)))
        drawn = drawn.permute(*range(1, drawn.dim()), 0)  # the draws of one number lie last
        counts = torch.zeros(self._extended_shape(sample_shape), dtype=torch.long, device=drawn.device)
        return counts.scatter_add(-1, drawn, torch.ones_like(drawn)).type_as(self.probs)

    def entropy(self):
        n = torch.tensor(self.total_count)
        own = self._categorical.entropy() * n - torch.lgamma(n + 1)
        support = self._binomial.enumerate_support(expand=False)[1:]
        rest = (torch.exp(self._binomial.log_prob(support)) * torch.lgamma(support + 1)).sum((0, -1))
        return own + rest

    def log_prob(self, value):
        value = self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -torch.inf), 0)
        return torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1) + (logits * value).sum(-1)
