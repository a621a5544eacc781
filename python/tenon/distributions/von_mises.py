"""VonMises."""

import math

import tenon as torch

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Angles in -pi .. pi whose density is as exp(concentration * cos(x - loc))"""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, torch.Size(), validate_args)

    def log_prob(self, value):
        value, k = self._checked(value), self.concentration
        log_bessel = torch.special.i0e(k).log() + k
        return k * torch.cos(value - self.loc) - math.log(2 * math.pi) - log_bessel

    @lazy_property
    def _loc(self):
        return self.loc.to(torch.double)

    @lazy_property
    def _concentration(self):
        return self.concentration.to(torch.double)

    @lazy_property
    def _proposal_r(self):
        k = self._concentration
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        return torch.where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))  # Taylor's where it would cancel

    def sample(self, sample_shape=torch.Size()):
        """By rejection of wrapped Cauchy's numbers (Best and Fisher, Applied Statistics 28, 1979), in double"""
        with torch.no_grad():
            loc, k, r = self._loc, self._concentration, self._proposal_r
            x = torch.empty(self._extended_shape(sample_shape), dtype=loc.dtype, device=loc.device)
            done = torch.zeros(x.shape, dtype=torch.bool, device=loc.device)
            while not done.all():
                u1, u2, u3 = torch.rand((3,) + tuple(x.shape), dtype=loc.dtype, device=loc.device).unbind()
                z = torch.cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                x = torch.where(accept, (u3 - 0.5).sign() * f.acos(), x)
                done = done | accept
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    def expand(self, batch_shape, _instance=None):
        return type(self)(self.loc.expand(batch_shape), self.concentration.expand(batch_shape),
                          validate_args=self.__dict__.get("_validate_args"))

    mean = property(lambda self: self.loc, doc="The circular mean.")
    mode = property(lambda self: self.loc, doc="The most probable value.")

    @lazy_property
    def variance(self):
        """The circular variance."""
        return 1 - torch.special.i1e(self.concentration) / torch.special.i0e(self.concentration)
