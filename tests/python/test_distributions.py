"""Laws beside PyTorch's (data/distributions.json, by data/make_distributions.py): the same numbers of one seed, moments,
densities, supports, divergences; and what their numbers and errors are besides."""

import json
import math
import pathlib
import pickle

import pytest
from distribution_calls import ASKED, asked, divergences, laws

import tenon as torch
import tenon.distributions as D

RECORDED = json.loads((pathlib.Path(__file__).parent / "data" / "distributions.json").read_text())
SPECIAL = hasattr(torch, "lgamma") and hasattr(torch, "special")  # what formulas of some laws are made of

# Where PyTorch's differ, and why: it fails (a float32 number beside float64), or is less exact (fits of 8 and of 4 digits).
OTHERWISE = {("GeneralizedPareto", w): None for w in ("log_prob", "cdf", "expanded")}
EXACT = {"VonMises": 1e-7, "Multinomial": 1e-7}  # the latter's log(n!) is float32, of an integer n


def close(want, got, eps):
    if want is None or isinstance(want, str) or isinstance(got, str):
        return want == got
    if len(want) == 3:
        return want[:2] == got[:2] and close(want[2], got[2], eps)
    return want[0] == got[0] and all(a == b or (a != a and b != b) or abs(a - b) <= eps * (abs(a) + 1) for a, b in zip(want[1], got[1]))


def lacks_special(got):
    return not SPECIAL and "AttributeError" in str(got)


def test_every_law_is_recorded():
    assert set(laws(torch)) == set(RECORDED["laws"]) and len(RECORDED["laws"]) == 40


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RECORDED["laws"])
def test_laws_are_pytorchs(name):
    for what in ASKED:
        if (name, what) in OTHERWISE:
            continue
        try:
            got = asked(torch, name, what)
        except AttributeError as error:
            got = f"AttributeError: {error}"
        if lacks_special(got):
            continue
        eps = 1e-3 if what == "gradients" else EXACT.get(name, 1e-9)
        assert close(RECORDED["laws"][name][what], got, eps), (what, RECORDED["laws"][name][what], got)


def test_divergences_are_pytorchs():
    found = divergences(torch)
    for pair, want in RECORDED["kl"].items():
        if SPECIAL or pair in found:
            assert close(want, found[pair], 1e-8), (pair, want, found[pair])
    assert len(found) > (70 if SPECIAL else 40)


def test_a_divergence_of_ones_own():
    class Mine(D.Normal):
        pass

    @D.register_kl(Mine, D.Normal)
    def _(p, q):
        return torch.tensor(7.0)

    assert D.kl_divergence(Mine(0.0, 1.0), D.Normal(0.0, 1.0)).item() == 7
    assert D.kl_divergence(D.Normal(0.0, 1.0), Mine(0.0, 1.0)).item() == 0
    with pytest.raises(NotImplementedError, match="No KL"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Cauchy(0.0, 1.0))
    with pytest.raises(TypeError, match="Expected type_p to be a Distribution subclass"):
        D.register_kl(int, D.Normal)


def test_parameters_and_values_are_looked_at():
    with pytest.raises(ValueError, match=r"Expected parameter scale \(Tensor of shape \(2,\)\) of distribution Normal\(loc: "
                       r"torch.Size\(\[2\]\), scale: torch.Size\(\[2\]\)\) to satisfy the constraint GreaterThan\(lower_bound=0.0\)"):
        D.Normal(0.0, torch.tensor([1.0, -1.0]))
    D.Normal(0.0, torch.tensor(-1.0), validate_args=False)
    with pytest.raises(ValueError, match="to be within the support"):
        D.Exponential(1.0).log_prob(torch.tensor(-1.0))
    with pytest.raises(ValueError, match="not broadcastable"):
        D.Normal(torch.zeros(3), 1.0).log_prob(torch.zeros(2))
    with pytest.raises(ValueError, match="must be a Tensor"):
        D.Normal(0.0, 1.0).log_prob(1.0)
    for law in (D.Bernoulli, D.Categorical, D.Geometric):
        with pytest.raises(ValueError, match="Either `probs` or `logits` must be specified, but not both."):
            law()
    with pytest.raises(ValueError, match="LessThan"):
        D.Uniform(1.0, 1.0)


def test_transforms_have_inverses_and_slopes():
    x = torch.linspace(-2, 2, 9, dtype=torch.float64)
    for t in (D.ExpTransform(), D.SigmoidTransform(), D.TanhTransform(), D.SoftplusTransform(), D.AffineTransform(1.0, -3.0),
              D.ComposeTransform([D.AffineTransform(0.5, 2.0), D.ExpTransform()])):
        a = x.clone().requires_grad_()
        y = t(a)
        (slope,) = torch.autograd.grad(y.sum(), a)
        assert torch.allclose(t.inv(y), x) and torch.allclose(t.log_abs_det_jacobian(x, y), slope.abs().log())
        assert torch.allclose(t.inv.log_abs_det_jacobian(y, x), -slope.abs().log()) and t.inv.inv is t
    for t in (D.StickBreakingTransform(), D.CorrCholeskyTransform()):
        v = x[:6].reshape(2, 3) if isinstance(t, D.CorrCholeskyTransform) else x[:8].reshape(2, 4)
        y = t(v)
        assert t.codomain.check(y).all() and torch.allclose(t.inv(y), v) and y.shape == t.forward_shape(v.shape)
        assert t.inverse_shape(y.shape) == v.shape
    both = D.StackTransform([D.ExpTransform(), D.TanhTransform()])
    assert torch.equal(both(x[:2]), torch.stack([x[0].exp(), x[1].tanh()]))
    parts = D.CatTransform([D.ExpTransform(), D.TanhTransform()], lengths=[2, 3])
    assert torch.equal(parts(x[:5]), torch.cat([x[:2].exp(), x[2:5].tanh()]))
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        D.ExpTransform(cache_size=2)
    kept = D.ExpTransform(cache_size=1)
    assert kept.inv(kept(x)) is x


def test_constraints_and_the_transforms_that_lead_to_them():
    c, x = D.constraints, torch.linspace(-3, 3, 6, dtype=torch.float64)
    for constraint in (c.positive, c.unit_interval, c.greater_than(2.0), c.less_than(-1.0), c.interval(-2.0, 5.0), c.simplex):
        for registry in (D.biject_to, D.transform_to):
            assert constraint.check(registry(constraint)(x)).all()
    assert c.integer_interval(0, 3).check(torch.tensor([-1.0, 0.0, 1.5, 3.0])).tolist() == [False, True, False, True]
    assert c.one_hot.check(torch.eye(3)).all() and not c.one_hot.check(torch.ones(3))
    assert c.lower_cholesky.check(D.transform_to(c.lower_cholesky)(x[:4].reshape(2, 2)))
    assert [str(s) for s in (c.real, c.simplex, c.positive, c.independent(c.real, 1))] == [
        "Real()", "Simplex()", "GreaterThan(lower_bound=0.0)", "IndependentConstraint(Real(), 1)"]
    with pytest.raises(NotImplementedError, match="Cannot transform _Boolean constraints"):
        D.biject_to(c.boolean)
    with pytest.raises(ValueError, match="Cannot determine validity of dependent constraint"):
        c.dependent.check(x)


def test_gradients_reach_parameters_through_drawn_numbers():
    shape = torch.tensor([0.5, 2.0, 20.0], requires_grad=True)
    D.Gamma(shape, 2.0).rsample((1000,)).mean(0).sum().backward()
    assert torch.allclose(shape.grad, torch.full((3,), 0.5), atol=0.1)
    mean = torch.zeros(2, requires_grad=True)
    D.StudentT(5.0, mean, 1.0).rsample((10,)).sum().backward()
    assert mean.grad.tolist() == [10.0, 10.0]
    assert not D.Normal(mean, 1.0).sample().requires_grad


def test_laws_are_pickled():
    law = pickle.loads(pickle.dumps(D.Independent(D.Normal(torch.zeros(3), 2.0), 1)))
    assert math.isclose(law.log_prob(torch.zeros(3)).item(), -3 * math.log(2 * math.sqrt(2 * math.pi)), rel_tol=1e-6)
