"""MixtureSameFamily."""

import tenon as torch

from . import constraints
from .categorical import Categorical
from .constraints import MixtureSameFamilyConstraint
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """Numbers of one of several laws, the last batch dimension of component_distribution, which mixture_distribution draws"""

    arg_constraints = {}
    has_rsample = False

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        mixed, components = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for a, b in zip(reversed(mixed), reversed(components)):
            if a != 1 and b != 1 and a != b:
                raise ValueError(f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                                 f"`component_distribution.batch_shape` ({components})")
        km = mixture_distribution.logits.shape[-1]
        kc = component_distribution.batch_shape[-1]
        if km is not None and kc is not None and km != kc:
            raise ValueError(f"`mixture_distribution component` ({km}) does not equal `component_distribution.batch_shape[-1]` "
                             f"({kc})")
        self._num_component = km
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(components, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        batch_shape = torch.Size(batch_shape)
        made = self._get_checked_instance(MixtureSameFamily, _instance)
        made._component_distribution = self._component_distribution.expand(tuple(batch_shape) + (self._num_component,))
        made._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        made._num_component = self._num_component
        made._event_ndims = self._event_ndims
        super(MixtureSameFamily, made).__init__(batch_shape, self.event_shape, validate_args=False)
        made._validate_args = self._validate_args
        return made

    @constraints.dependent_property
    def support(self):
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    mixture_distribution = property(lambda self: self._mixture_distribution, doc="What draws the component.")
    component_distribution = property(lambda self: self._component_distribution, doc="The components.")

    def _probs(self):
        return self._mixture_distribution.probs.reshape(self._mixture_distribution.probs.shape + (1,) * self._event_ndims)

    @property
    def mean(self):
        return torch.sum(self._probs() * self._component_distribution.mean, dim=-1 - self._event_ndims)

    @property
    def variance(self):
        probs, dim = self._probs(), -1 - self._event_ndims
        inside = torch.sum(probs * self._component_distribution.variance, dim=dim)
        between = torch.sum(probs * (self._component_distribution.mean - self.mean.unsqueeze(dim)).pow(2.0), dim=dim)
        return inside + between

    def cdf(self, x):
        x = x.unsqueeze(-1 - self._event_ndims)
        return torch.sum(self._component_distribution.cdf(x) * self._mixture_distribution.probs, dim=-1)

    def log_prob(self, x):
        x = self._checked(x).unsqueeze(-1 - self._event_ndims)
        components = self._component_distribution.log_prob(x)
        return torch.logsumexp(components + torch.log_softmax(self._mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            which = self.mixture_distribution.sample(sample_shape)
            numbers = self.component_distribution.sample(sample_shape)
            which = which.reshape(tuple(which.shape) + (1,) * (self._event_ndims + 1))
            shape = tuple(which.shape[: dim + 1]) + tuple(self.event_shape)
            return torch.gather(numbers, dim, which.expand(shape)).squeeze(dim)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
