"""kl_divergence, and register_kl: formulas of pairs of laws."""

import functools
import math
import warnings

import tenon as torch

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant

__all__ = ["register_kl", "kl_divergence"]

_registered = {}  # pairs of classes: the formula that was registered
_found = {}  # the same of classes that derive from them


def register_kl(type_p, type_q):
    """A decorator: the function of p and q is the divergence for laws of these classes, and of those that derive from them."""
    for kind, name in ((type_p, "type_p"), (type_q, "type_q")):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def decorator(fun):
        _registered[type_p, type_q] = fun
        _found.clear()
        return fun

    return decorator


@functools.total_ordering
class _Closeness:
    """Of classes that others derive from: the nearer one is less, by one place after the other."""

    def __init__(self, *types):
        self.types = types

    def __eq__(self, other):
        return self.types == other.types

    def __le__(self, other):
        for a, b in zip(self.types, other.types):
            if not issubclass(a, b):
                return False
            if a is not b:
                break
        return True


def _formula(type_p, type_q):
    fits = [(p, q) for p, q in _registered if issubclass(type_p, p) and issubclass(type_q, q)]
    if not fits:
        return NotImplemented
    by_p = min(_Closeness(*pair) for pair in fits).types
    by_q = tuple(reversed(min(_Closeness(*reversed(pair)) for pair in fits).types))
    if _registered[by_p] is not _registered[by_q]:
        warnings.warn(f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({by_p[0].__name__}, "
                      f"{by_q[1].__name__})", RuntimeWarning, stacklevel=3)
    return _registered[by_p]


def kl_divergence(p, q):
    """The Kullback-Leibler divergence KL(p || q): the mean of log p(x) - log q(x) of numbers x of p."""
    kinds = type(p), type(q)
    if kinds not in _found:
        _found[kinds] = _formula(*kinds)
    if _found[kinds] is NotImplemented:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type "
                                  f"{q.__class__.__name__}")
    return _found[kinds](p, q)


def _infinite_like(tensor):
    return torch.full_like(tensor, torch.inf)


def _x_log_x(tensor):
    return torch.special.xlogy(tensor, tensor)


# ---- laws of one family ----


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p, q):
    softplus = torch.nn.functional.softplus
    t1 = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    t1 = t1.masked_fill(q.probs == 0, torch.inf).masked_fill(p.probs == 0, 0)
    t2 = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return t1 + t2.masked_fill(q.probs == 1, torch.inf).masked_fill(p.probs == 1, 0)


@register_kl(Beta, Beta)
def _kl_beta_beta(p, q):
    p_total, q_total = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    t1 = q.concentration1.lgamma() + q.concentration0.lgamma() + p_total.lgamma()
    t2 = p.concentration1.lgamma() + p.concentration0.lgamma() + q_total.lgamma()
    return (t1 - t2 + (p.concentration1 - q.concentration1) * torch.digamma(p.concentration1)
            + (p.concentration0 - q.concentration0) * torch.digamma(p.concentration0) + (q_total - p_total) * torch.digamma(p_total))


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p, q):
    if (p.total_count < q.total_count).any():  # values of q that p does not have
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return torch.where(p.total_count > q.total_count, torch.inf, kl)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p, q):
    t = p.probs * (p.logits - q.logits)
    t = torch.where(q.probs == 0, torch.inf, t)
    return torch.where((p.probs == 0).expand_as(t), 0, t).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p, q):
    return (p.mean * (p.logits - q.logits) + p._cont_bern_log_norm() + torch.log1p(-p.probs) - q._cont_bern_log_norm()
            - torch.log1p(-q.probs))


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p, q):
    p_total, q_total = p.concentration.sum(-1), q.concentration.sum(-1)
    t2 = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    t4 = p.concentration.digamma() - p_total.digamma().unsqueeze(-1)
    return p_total.lgamma() - q_total.lgamma() - t2 + ((p.concentration - q.concentration) * t4).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    """By the function whose gradients are the means of the statistics"""
    if not type(p) == type(q):  # noqa: E721
        raise NotImplementedError("The cross KL-divergence between different exponential families cannot be computed using "
                                  "Bregman divergences")
    of_p, of_q = [x.detach().requires_grad_() for x in p._natural_params], q._natural_params
    log_normalizer = p._log_normalizer(*of_p)
    gradients = torch.autograd.grad(log_normalizer.sum(), of_p, create_graph=True)
    result = q._log_normalizer(*of_q) - log_normalizer
    for a, b, gradient in zip(of_p, of_q, gradients):
        result = result - _sum_rightmost((b - a) * gradient, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p, q):
    return (q.concentration * (p.rate / q.rate).log() + torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
            + (p.concentration - q.concentration) * torch.digamma(p.concentration)
            + (q.rate - p.rate) * (p.concentration / p.rate))


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p, q):
    ratio, moved_q, moved_p = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    t3 = torch.exp(moved_q + (1 + ratio).lgamma() - moved_p)
    return (-ratio.log() - moved_q + moved_p) + ratio * euler_constant + t3 - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p, q):
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p, q):
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p, q):
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * torch.exp(-apart / p.scale) - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p, q):
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p, q):
    ratio, alphas = p.scale / q.scale, q.alpha / p.alpha
    result = q.alpha * ratio.log() - alphas.log() + alphas - 1
    return torch.where(p.support.lower_bound < q.support.lower_bound, torch.inf, result)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return torch.where((q.low > p.low) | (q.high < p.high), torch.inf, result)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p, q):
    """Chyzak and Nielsen 2019"""
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(Independent, Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# ---- laws of two families ----


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p, q):
    return -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm()


@register_kl(Beta, Exponential)
def _kl_beta_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p, q):
    mean_log = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    return (-p.entropy() - (q.concentration * q.rate.log() - q.concentration.lgamma()) - (q.concentration - 1) * mean_log
            + q.rate * p.mean)


def _of_normal(p, q, second):
    """KL of a law of this mean and second moment about q.loc to a normal one"""
    return -p.entropy() + (q.scale.pow(2) * (2 * math.pi)).log() * 0.5 + second / (2 * q.scale.pow(2))


@register_kl(Beta, Normal)
def _kl_beta_normal(p, q):
    return _of_normal(p, q, p.variance + (p.mean - q.loc).pow(2))


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p, q):
    result = -p.entropy() + (q.high - q.low).log()
    return torch.where((q.low > p.support.lower_bound) | (q.high < p.support.upper_bound), torch.inf, result)


@register_kl(ContinuousBernoulli, Exponential)
def _kl_continuous_bernoulli_exponential(p, q):
    return -p.entropy() - torch.log(q.rate) + q.rate * p.mean


@register_kl(ContinuousBernoulli, Normal)
def _kl_continuous_bernoulli_normal(p, q):
    return _of_normal(p, q, p.variance + (p.mean - q.loc).pow(2))


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p, q):
    result = -p.entropy() + (q.high - q.low).log()
    out = torch.max(torch.ge(q.low, p.support.lower_bound), torch.le(q.high, p.support.upper_bound))
    return torch.where(out, torch.full_like(result, torch.inf), result)


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p, q):
    ratio = q.rate / p.rate
    return -q.concentration * torch.log(ratio) + ratio + q.concentration.lgamma() + q.concentration * euler_constant - (
        1 + euler_constant)


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p, q):
    product, ratio = p.rate * q.scale, q.loc / q.scale
    return product.log() - 1 + product.reciprocal() - ratio + torch.exp(ratio) * product / (product + 1)


@register_kl(Exponential, Normal)
def _kl_exponential_normal(p, q):
    squares = q.scale.pow(2) * p.rate.pow(2)
    return 0.5 * torch.log(squares * 2 * math.pi) - 1 + squares.reciprocal() - q.loc / q.scale.pow(2) / p.rate + (
        0.5 * q.loc.pow(2) / q.scale.pow(2))


@register_kl(Gamma, Exponential)
def _kl_gamma_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p, q):
    product, ratio = p.rate * q.scale, q.loc / q.scale
    t1 = (p.concentration - 1) * p.concentration.digamma() - p.concentration.lgamma() - p.concentration
    t2 = product.log() + p.concentration / product
    return t1 + t2 + torch.exp(ratio) * (1 + product.reciprocal()).pow(-p.concentration) - ratio


@register_kl(Gamma, Normal)
def _kl_gamma_normal(p, q):
    variance = q.scale.pow(2)
    t1 = 0.5 * torch.log(p.rate.pow(2) * variance * 2 * math.pi) - p.concentration - p.concentration.lgamma()
    t2 = 0.5 * (p.concentration.pow(2) + p.concentration) / (p.rate.pow(2) * variance)
    t3 = q.loc * p.concentration / (p.rate * variance)
    return t1 + (p.concentration - 1) * p.concentration.digamma() + t2 - t3 + 0.5 * q.loc.pow(2) / variance


@register_kl(Gumbel, Normal)
def _kl_gumbel_normal(p, q):
    return _of_normal(p, q, p.variance + (p.mean - q.loc).pow(2))


@register_kl(Laplace, Normal)
def _kl_laplace_normal(p, q):
    return _of_normal(p, q, p.variance + (p.mean - q.loc).pow(2))


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p, q):
    ratio, square = p.loc / q.scale, (p.scale / q.scale).pow(2)
    moved = q.loc / q.scale
    return ratio - moved + torch.exp(-ratio + 0.5 * square + moved) - 0.5 * (1 + torch.log(square * 2 * math.pi))


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p, q):
    apart = p.loc - q.loc
    ratio, z = p.scale / q.scale, apart / p.scale
    t1 = torch.log(ratio)
    t2 = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * z.pow(2)) + apart * torch.erf(math.sqrt(0.5) * z)
    return -t1 + t2 / q.scale - 0.5 * (1 + math.log(math.pi / 2))


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p, q):
    product = p.scale * q.rate
    result = (p.alpha / product).log() - p.alpha.reciprocal() + p.alpha * product / (p.alpha - 1) - 1
    return torch.where(p.alpha <= 1, torch.inf, result)


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p, q):
    common = p.scale.log() + p.alpha.reciprocal()
    result = (p.alpha.log() - common + q.concentration.lgamma() - q.concentration * q.rate.log()
              + (1 - q.concentration) * common + q.rate * p.alpha * p.scale / (p.alpha - 1) - 1)
    return torch.where(p.alpha <= 1, torch.inf, result)


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p, q):
    variance, common = 2 * q.scale.pow(2), p.scale / (p.alpha - 1)
    result = ((math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log() - p.alpha.reciprocal()
              + (p.alpha * common.pow(2) / (p.alpha - 2) + (p.alpha * common - q.loc).pow(2)) / variance - 1)
    return torch.where(p.alpha <= 2, torch.inf, result)


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p, q):
    width = p.high - p.low
    t2 = (q.concentration1 - 1) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    t3 = (q.concentration0 - 1) * (_x_log_x(1 - p.high) - _x_log_x(1 - p.low) + width) / width
    t4 = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    result = t3 + t4 - width.log() - t2
    return torch.where((p.high > q.support.upper_bound) | (p.low < q.support.lower_bound), torch.inf, result)


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p, q):
    result = -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm()
    out = torch.max(torch.ge(p.high, q.support.upper_bound), torch.le(p.low, q.support.lower_bound))
    return torch.where(out, torch.full_like(result, torch.inf), result)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponetial(p, q):
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return torch.where(p.low < q.support.lower_bound, torch.inf, result)


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p, q):
    width = p.high - p.low
    t3 = (1 - q.concentration) * (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    result = -width.log() + q.concentration.lgamma() - q.concentration * q.rate.log() + t3 + q.rate * (p.high + p.low) / 2
    return torch.where(p.low < q.support.lower_bound, torch.inf, result)


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p, q):
    common = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return common.log() + 0.5 * (high + low) - common * (torch.exp(-high) - torch.exp(-low))


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p, q):
    width = p.high - p.low
    second = (width.pow(2) / 12 + ((p.high + p.low - 2 * q.loc) / 2).pow(2))
    return (math.sqrt(math.pi * 2) * q.scale / width).log() + 0.5 * second / q.scale.pow(2)


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p, q):
    width = p.high - p.low
    mean_log = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    result = mean_log * (q.alpha + 1) - (q.alpha * q.scale.pow(q.alpha) * width).log()
    return torch.where(p.low < q.support.lower_bound, torch.inf, result)


# ---- laws of which p has values that q has not ----


def _never(p, q):
    shape = getattr(p, "probs", None)
    if shape is None:
        shape = getattr(p, "rate", None)
    if shape is None:
        shape = getattr(p, "loc", None)
    if shape is None:
        shape = p.concentration if hasattr(p, "concentration") else p.scale
    return _infinite_like(shape)


for _p, _qs in {
    Beta: (Pareto,), ContinuousBernoulli: (Pareto,), Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform), Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform), Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}.items():
    for _q in _qs:
        register_kl(_p, _q)(_never)
