"""tenon.nn.init: distributions by their moments, gains, refusals."""

import math

import pytest

import tenon as torch
from tenon.nn import Parameter, init


@pytest.mark.parametrize("name,param,gain", [("linear", None, 1), ("conv2d", None, 1), ("sigmoid", None, 1),
                                             ("tanh", None, 5 / 3), ("relu", None, math.sqrt(2)), ("selu", None, 0.75),
                                             ("leaky_relu", None, math.sqrt(2 / 1.0001)), ("leaky_relu", 0.2, math.sqrt(2 / 1.04))])
def test_gain(name, param, gain):
    assert init.calculate_gain(name, param) == pytest.approx(gain, rel=1e-15)


def test_gain_refuses():
    with pytest.raises(ValueError, match="Unsupported nonlinearity q"):
        init.calculate_gain("q")
    with pytest.raises(ValueError, match="negative_slope True not a valid number"):
        init.calculate_gain("leaky_relu", True)


def test_constants():
    t = Parameter(torch.zeros(2, 3))
    assert init.constant_(t, 4) is t and t.tolist() == [[4.0] * 3] * 2 and t.grad_fn is None
    assert init.ones_(t).sum().item() == 6 and init.zeros_(t).sum().item() == 0
    assert init.eye_(t).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    with pytest.raises(ValueError, match="Only tensors with 2 dimensions are supported"):
        init.eye_(torch.ones(2))


UNIFORM = [(lambda t: init.uniform_(t, -2.0, 2.0), 2.0), (lambda t: init.xavier_uniform_(t, gain=2.0), 2 * math.sqrt(6 / 500)),
           (lambda t: init.kaiming_uniform_(t, nonlinearity="relu"), math.sqrt(6 / 300)),
           (lambda t: init.kaiming_uniform_(t, a=1, mode="fan_out"), math.sqrt(3 / 200))]
NORMAL = [(lambda t: init.normal_(t, 3.0, 0.5), 3.0, 0.5), (init.xavier_normal_, 0.0, math.sqrt(2 / 500)),
          (lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="relu"), 0.0, math.sqrt(2 / 200))]


@pytest.mark.parametrize("call,bound", UNIFORM)
def test_uniform(call, bound):
    torch.manual_seed(2)
    t = torch.empty(200, 300)
    assert call(t) is t
    assert 0.999 * bound < t.abs().max().item() <= bound * (1 + 1e-6)
    assert t.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.02) and abs(t.mean().item()) < 0.02 * bound


@pytest.mark.parametrize("call,mean,std", NORMAL)
def test_normal(call, mean, std):
    torch.manual_seed(3)
    t = Parameter(torch.empty(200, 300))
    assert call(t) is t and t.requires_grad and t.grad_fn is None
    assert t.std().item() == pytest.approx(std, rel=0.02) and t.mean().item() == pytest.approx(mean, abs=0.02 * std)


def test_trunc_normal():
    torch.manual_seed(4)
    t = init.trunc_normal_(torch.empty(50000), mean=1.0, std=2.0, a=-1.0, b=3.0)
    assert t.min().item() >= -1 and t.max().item() <= 3
    # one standard deviation to each side: variance 1 - 2 phi(1) / (2 Phi(1) - 1) of the full one
    phi = math.exp(-0.5) / math.sqrt(2 * math.pi)
    inside = math.erf(1 / math.sqrt(2))
    assert t.mean().item() == pytest.approx(1.0, abs=0.02)
    assert t.std().item() == pytest.approx(2 * math.sqrt(1 - 2 * phi / inside), rel=0.02)
    with pytest.warns(UserWarning, match="mean is more than 2 std from"):
        far = init.trunc_normal_(torch.empty(100), std=0.01, a=1.0, b=2.0)
    assert far.min().item() >= 1 and far.max().item() <= 2


def test_fan_of_more_dimensions():
    assert init._calculate_fan_in_and_fan_out(torch.empty(4, 3, 5, 2)) == (30, 40)


def test_refusals():
    vector = torch.ones(3)
    for call in (init.xavier_uniform_, init.xavier_normal_, init.kaiming_uniform_, init.kaiming_normal_):
        with pytest.raises(ValueError, match="Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"):
            call(vector)
    with pytest.raises(ValueError, match=r"Mode x not supported, please use one of \['fan_in', 'fan_out'\]"):
        init.kaiming_uniform_(torch.ones(3, 2), mode="x")
    with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
        init.kaiming_uniform_(torch.ones(0, 2))
