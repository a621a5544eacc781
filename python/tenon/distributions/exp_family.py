"""ExponentialFamily: laws whose densities are exp(<parameters, statistics> - a function of the parameters)."""

import tenon as torch

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A law whose logarithm of the density is <natural parameters, statistics of x> - F(natural parameters) + k(x). The entropy
    is that of F and its gradients (Nielsen and Nock 2010)."""

    @property
    def _natural_params(self):
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError

    def entropy(self):
        """The entropy, in units of log e."""
        parameters = [p.detach().requires_grad_() for p in self._natural_params]
        log_normalizer = self._log_normalizer(*parameters)
        gradients = torch.autograd.grad(log_normalizer.sum(), parameters, create_graph=True)
        result = log_normalizer - self._mean_carrier_measure
        for parameter, gradient in zip(parameters, gradients):
            result = result - (parameter * gradient).reshape(tuple(self._batch_shape) + (-1,)).sum(-1)
        return result
