"""Distribution: what all distributions are."""

import warnings

import tenon as torch

from . import constraints
from .utils import lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A law of random numbers, or a batch of them.

    batch_shape     of the parameters: that many laws
    event_shape     of one number drawn
    validate_args   are parameters and values looked at? Unless said: what set_default_validate_args says
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value):
        """Are parameters and values looked at where validate_args is not said?"""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=torch.Size(), event_shape=torch.Size(), validate_args=None):
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._look_at_parameters()
        super().__init__()

    def _look_at_parameters(self):
        try:
            known = self.arg_constraints
        except NotImplementedError:
            known = {}
            warnings.warn(f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                          "initialize the distribution with `validate_args=False` to turn off validation.", stacklevel=3)
        for name, constraint in known.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # made of others, which are looked at
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                                 f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid "
                                 f"values:\n{value}")

    def expand(self, batch_shape, _instance=None):
        """The same law with its parameters expanded to another batch_shape."""
        raise NotImplementedError

    def _expanded(self, batch_shape, _instance, *names):
        """expand() of a law whose parameters, those of the names that it has, broadcast to batch_shape."""
        made = self._get_checked_instance(type(self), _instance)
        batch_shape = torch.Size(batch_shape)
        for name in names:
            if name in self.__dict__:
                made.__dict__[name] = self.__dict__[name].expand(batch_shape)
        Distribution.__init__(made, batch_shape, validate_args=False)
        made._validate_args = self._validate_args
        return made

    @property
    def batch_shape(self):
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one number drawn."""
        return self._event_shape

    @property
    def arg_constraints(self):
        """What the parameters are to be: constraints by their names."""
        raise NotImplementedError

    @property
    def support(self):
        """The constraint that numbers drawn hold."""
        raise NotImplementedError

    @property
    def mean(self):
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self):
        """The most probable value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self):
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape=torch.Size()):
        """Numbers of shape sample_shape + batch_shape + event_shape, without gradients."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=torch.Size()):
        """The same with gradients for the parameters, where has_rsample."""
        raise NotImplementedError

    def sample_n(self, n):
        """sample of (n,)."""
        warnings.warn("sample_n(n) will be deprecated. Use .sample((n,)) instead.", UserWarning, stacklevel=2)
        return self.sample(torch.Size((n,)))

    def log_prob(self, value):
        """The logarithm of the probability or density at value."""
        raise NotImplementedError

    def cdf(self, value):
        """The probability of at most value."""
        raise NotImplementedError

    def icdf(self, value):
        """The number which at most is drawn with probability value."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """All values, along a new first dimension, where has_enumerate_support."""
        raise NotImplementedError

    def entropy(self):
        """The entropy, in units of log e."""
        raise NotImplementedError

    def perplexity(self):
        """exp(entropy)"""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape=torch.Size()):
        return torch.Size(tuple(sample_shape) + tuple(self._batch_shape) + tuple(self._event_shape))

    def _validate_sample(self, value):
        if not isinstance(value, torch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        event_dims = len(self._event_shape)
        if value.shape[value.dim() - event_dims:] != self._event_shape:
            raise ValueError("The right-most size of value must match event_shape: "
                             f"{value.shape} vs {self._event_shape}.")
        own = tuple(self._batch_shape) + tuple(self._event_shape)
        for a, b in zip(reversed(value.shape), reversed(own)):
            if a != 1 and b != 1 and a != b:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs "
                                 f"{torch.Size(own)}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{self.__class__} does not define `support` to enable sample validation. Please initialize the "
                          "distribution with `validate_args=False` to turn off validation.", stacklevel=3)
            return
        if support is None:
            raise AssertionError("support is None")
        if not support.check(value).all():
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                             f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}")

    def _checked(self, value):
        """value, which was looked at where that is asked for."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ "
                                      "method must also define a custom .expand() method.")
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self):
        names = [name for name in self.arg_constraints if name in self.__dict__]
        text = ", ".join(f"{n}: {v if v.numel() == 1 else v.size()}" for n, v in ((n, self.__dict__[n]) for n in names))
        return f"{self.__class__.__name__}({text})"
