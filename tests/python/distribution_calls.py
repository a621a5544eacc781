"""Laws and what is asked of them: what data/make_distributions.py asks of PyTorch and test_distributions.py of Tenon."""


def laws(t):
    """{name: law}, most of them a batch, in float64, where formulas have room"""
    d = t.distributions

    def v(*numbers):
        return t.tensor(numbers, dtype=t.float64)

    parts = v(0.1, 0.2, 0.3, 0.4)
    rows = t.stack([parts, parts.flip(0)])
    return {
        "Bernoulli": d.Bernoulli(v(0.0, 0.25, 0.5, 1.0)),
        "Bernoulli, logits": d.Bernoulli(logits=v(-2.0, 0.5)),
        "Beta": d.Beta(v(0.5, 2.0, 3.0), v(0.5, 3.0, 1.0)),
        "Binomial": d.Binomial(10, v(0.2, 0.5, 0.75)),
        "Binomial, logits": d.Binomial(40, logits=v(-1.0, 0.0, 2.0)),
        "Categorical": d.Categorical(rows),
        "Categorical, logits": d.Categorical(logits=v(0.5, -1.0, 2.0)),
        "Cauchy": d.Cauchy(v(0.0, 1.0), v(1.0, 0.5)),
        "Chi2": d.Chi2(v(1.0, 4.0)),
        "ContinuousBernoulli": d.ContinuousBernoulli(v(0.1, 0.4995, 0.8)),
        "Dirichlet": d.Dirichlet(t.stack([v(0.5, 1.0, 2.0), v(3.0, 2.0, 1.5)])),
        "Exponential": d.Exponential(v(0.5, 2.0)),
        "FisherSnedecor": d.FisherSnedecor(v(3.0, 5.0), v(6.0, 9.0)),
        "Gamma": d.Gamma(v(0.5, 2.0, 9.0), v(1.0, 0.5, 3.0)),
        "GeneralizedPareto": d.GeneralizedPareto(v(0.0, 1.0, 2.0), v(1.0, 2.0, 0.5), v(0.25, 0.0, -0.5)),
        "Geometric": d.Geometric(v(0.2, 0.75)),
        "Gumbel": d.Gumbel(v(0.0, 1.0), v(1.0, 2.0)),
        "HalfCauchy": d.HalfCauchy(v(1.0, 2.0)),
        "HalfNormal": d.HalfNormal(v(1.0, 2.0)),
        "Independent": d.Independent(d.Normal(rows, 1 + rows), 1),
        "InverseGamma": d.InverseGamma(v(3.0, 4.0), v(1.0, 0.5)),
        "Kumaraswamy": d.Kumaraswamy(v(2.0, 3.0), v(1.5, 4.0)),
        "Laplace": d.Laplace(v(0.0, 1.0), v(1.0, 2.0)),
        "LogNormal": d.LogNormal(v(0.0, 1.0), v(1.0, 0.5)),
        "LogisticNormal": d.LogisticNormal(v(0.0, 1.0, -1.0), v(1.0, 0.5, 2.0)),
        "MixtureSameFamily": d.MixtureSameFamily(d.Categorical(v(0.25, 0.75)), d.Normal(v(-1.0, 2.0), v(1.0, 0.5))),
        "Multinomial": d.Multinomial(5, rows),
        "NegativeBinomial": d.NegativeBinomial(v(3.0, 5.0), v(0.25, 0.5)),
        "Normal": d.Normal(v(0.0, 1.0), v(1.0, 2.0)),
        "OneHotCategorical": d.OneHotCategorical(rows),
        "OneHotCategoricalStraightThrough": d.OneHotCategoricalStraightThrough(rows),
        "Pareto": d.Pareto(v(1.0, 2.0), v(3.0, 2.5)),
        "Poisson": d.Poisson(v(0.5, 4.0, 30.0)),
        "RelaxedBernoulli": d.RelaxedBernoulli(v(0.5), v(0.25, 0.75)),
        "RelaxedOneHotCategorical": d.RelaxedOneHotCategorical(v(0.5), rows),
        "StudentT": d.StudentT(v(3.0, 5.0), v(0.0, 1.0), v(1.0, 2.0)),
        "TransformedDistribution": d.TransformedDistribution(
            d.Normal(v(0.0, 1.0), v(1.0, 2.0)), [d.TanhTransform(), d.AffineTransform(1.0, 2.0)]),
        "Uniform": d.Uniform(v(0.0, 1.0), v(1.0, 3.0)),
        "VonMises": d.VonMises(v(0.0, 1.0), v(1.0, 4.0)),
        "Weibull": d.Weibull(v(1.0, 2.0), v(1.5, 3.0)),
    }


def flat(value):
    """Shape and numbers of a tensor."""
    return [list(value.shape), [float(x) for x in value.reshape(-1).tolist()]]


def tried(f):
    """What f() gives, or the name of its error."""
    try:
        return flat(f())
    except Exception as error:
        return type(error).__name__


ASKED = ("mean", "mode", "variance", "stddev", "entropy", "log_prob", "cdf", "icdf", "sample", "gradients", "support", "text",
         "expanded", "enumerated")


def gradients_of(t, law):
    """Those of numbers drawn, or of their probabilities, for the parameters that were given."""
    names = [n for n in ("loc", "scale", "concentration", "concentration1", "rate", "df", "low") if isinstance(law.__dict__.get(n), t.Tensor)]
    for name in names:
        law.__dict__[name] = law.__dict__[name].clone().requires_grad_()
    t.manual_seed(9)
    value = law.rsample((2,)) if law.has_rsample else law.log_prob(law.sample((2,)))
    found = t.autograd.grad(value.sum(), [law.__dict__[n] for n in names], allow_unused=True)
    return t.cat([g.reshape(-1) for g in found if g is not None])


def asked(t, name, what):
    law = laws(t)[name]
    t.manual_seed(4)
    if what in ("mean", "mode", "variance", "stddev"):
        return tried(lambda: getattr(law, what))
    if what in ("entropy",):
        return tried(law.entropy)
    if what == "sample":
        return tried(lambda: law.sample((7,)))
    if what in ("log_prob", "cdf"):
        return tried(lambda: getattr(law, what)(law.sample((7,))))
    if what == "icdf":
        return tried(lambda: law.icdf(t.tensor([[0.125], [0.5], [0.75]], dtype=t.float64)))
    if what == "gradients":
        return tried(lambda: gradients_of(t, law)) if name in SIMPLE else None
    if what == "support":
        return str(law.support)
    if what == "text":
        return repr(law)
    if what == "expanded":
        wide = law.expand((3, *law.batch_shape))
        return [list(wide.batch_shape), list(wide.event_shape), tried(lambda: wide.log_prob(wide.sample()))]
    return tried(law.enumerate_support)


SIMPLE = ("Normal", "Uniform", "Gamma", "Exponential", "Laplace", "Cauchy", "Dirichlet", "Poisson")


def divergences(t):
    """{pair: KL(p || q)} of all pairs of laws that have one"""
    found, every = {}, laws(t)
    for p in every:
        for q in every:
            a, b = every[p], every[q]
            if a.batch_shape[-1:] not in (b.batch_shape[-1:], ()):
                continue
            value = tried(lambda: t.distributions.kl_divergence(a, b))
            if not isinstance(value, str):
                found[f"{p} {q}"] = value
    return found
