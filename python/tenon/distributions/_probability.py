"""What laws share that are given by probabilities or by their logits."""

from .utils import lazy_property, logits_to_probs, probs_to_logits


def one_of_both(probs, logits):
    """Is it probs that was given? One of both must be."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return probs is not None


class ByProbability:
    """A law of one number, by probs or by logits; the other of both is computed when it is asked for."""

    @property
    def _param(self):
        return self.__dict__["probs" if "probs" in self.__dict__ else "logits"]

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)

    @lazy_property
    def logits(self):
        """The logarithm of the odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self):
        """The probability."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self):
        """The shape of the parameter that was given."""
        return self._param.size()
