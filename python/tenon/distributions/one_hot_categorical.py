"""OneHotCategorical, and the same whose gradient is that of the probabilities."""

import tenon as torch

from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    """Categorical's numbers as vectors of zeros and one 1"""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        made = self._get_checked_instance(OneHotCategorical, _instance)
        batch_shape = torch.Size(batch_shape)
        made._categorical = self._categorical.expand(batch_shape)
        super(OneHotCategorical, made).__init__(batch_shape, self.event_shape, validate_args=False)
        made._validate_args = self._validate_args
        return made

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    _param = property(lambda self: self._categorical._param)
    probs = property(lambda self: self._categorical.probs, doc="The probabilities.")
    logits = property(lambda self: self._categorical.logits, doc="The logarithms of the probabilities.")
    param_shape = property(lambda self: self._categorical.param_shape, doc="The shape of the parameter that was given.")
    mean = property(lambda self: self._categorical.probs, doc="The mean.")
    variance = property(lambda self: self._categorical.probs * (1 - self._categorical.probs), doc="The variance.")

    @property
    def mode(self):
        probs = self._categorical.probs
        return torch.nn.functional.one_hot(probs.argmax(dim=-1), num_classes=probs.shape[-1]).to(probs)

    def sample(self, sample_shape=torch.Size()):
        drawn = self._categorical.sample(torch.Size(sample_shape))
        return torch.nn.functional.one_hot(drawn, self._categorical._num_events).to(self._categorical.probs)

    def log_prob(self, value):
        return self._categorical.log_prob(self._checked(value).max(-1)[1])

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n = self.event_shape[0]
        values = torch.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n,) + tuple(self.batch_shape) + (n,)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose numbers have the gradient of the probabilities (Bengio et al. 2013)"""

    has_rsample = True

    def rsample(self, sample_shape=torch.Size()):
        drawn, probs = self.sample(sample_shape), self._categorical.probs
        return drawn + (probs - probs.detach())
