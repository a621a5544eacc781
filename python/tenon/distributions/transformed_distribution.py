"""TransformedDistribution."""

import tenon as torch

from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """What transforms, one or a list of them, make of the numbers of a law"""

    arg_constraints = {}

    def __init__(self, base_distribution, transforms, validate_args=None):
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif isinstance(transforms, list):
            if not all(isinstance(t, Transform) for t in transforms):
                raise ValueError("transforms must be a Transform or a list of Transforms")
            self.transforms = transforms
        else:
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        transform = ComposeTransform(self.transforms)
        self.base_dist = self._fitted(base_distribution, transform)
        shape = transform.forward_shape(torch.Size(tuple(self.base_dist.batch_shape) + tuple(self.base_dist.event_shape)))
        own = len(self.base_dist.event_shape)
        dims = max(transform.codomain.event_dim, own + transform.codomain.event_dim - transform.domain.event_dim)
        if len(shape) < dims:
            raise AssertionError(f"forward_shape length {len(shape)} is less than event_dim {dims}")
        cut = len(shape) - dims
        super().__init__(torch.Size(shape[:cut]), torch.Size(shape[cut:]), validate_args=validate_args)

    @staticmethod
    def _fitted(base, transform):
        """The law, expanded to what the transform takes, and with events of as many dimensions as it takes."""
        shape = torch.Size(tuple(base.batch_shape) + tuple(base.event_shape))
        if len(shape) < transform.domain.event_dim:
            raise ValueError(f"base_distribution needs to have shape with size at least {transform.domain.event_dim}, but got "
                             f"{shape}.")
        widest = transform.inverse_shape(transform.forward_shape(shape))
        if tuple(shape) != tuple(widest):
            base = base.expand(torch.Size(widest[: len(widest) - len(base.event_shape)]))
        more = transform.domain.event_dim - len(base.event_shape)
        return Independent(base, more) if more > 0 else base

    def expand(self, batch_shape, _instance=None):
        made = self._get_checked_instance(TransformedDistribution, _instance)
        batch_shape = torch.Size(batch_shape)
        shape = torch.Size(tuple(batch_shape) + tuple(self.event_shape))
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
        made.base_dist = self.base_dist.expand(torch.Size(shape[: len(shape) - len(self.base_dist.event_shape)]))
        made.transforms = self.transforms
        super(TransformedDistribution, made).__init__(batch_shape, self.event_shape, validate_args=False)
        made._validate_args = self._validate_args
        return made

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        support, more = self.transforms[-1].codomain, len(self.event_shape) - self.transforms[-1].codomain.event_dim
        return constraints.independent(support, more) if more > 0 else support

    has_rsample = property(lambda self: self.base_dist.has_rsample, doc="Has rsample gradients?")

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            x = self.base_dist.sample(sample_shape)
            for transform in self.transforms:
                x = transform(x)
            return x

    def rsample(self, sample_shape=torch.Size()):
        x = self.base_dist.rsample(sample_shape)
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value):
        y = self._checked(value)
        dims, total = len(self.event_shape), 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            total = total - _sum_rightmost(transform.log_abs_det_jacobian(x, y), dims - transform.domain.event_dim)
            y = x
        return total + _sum_rightmost(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))

    def _turned(self, value):
        """value, or 1 - value where the transforms turn the order."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value):
        for transform in self.transforms[::-1]:
            value = transform.inv(value)
        return self._turned(self.base_dist.cdf(self.base_dist._checked(value)))

    def icdf(self, value):
        value = self.base_dist.icdf(self._turned(value))
        for transform in self.transforms:
            value = transform(value)
        return value
