"""tenon.nn.functional against the values and gradients that PyTorch gave (tests/data/make_python_golden.py)."""

import json
import os

import pytest

os.environ.setdefault("TENON_FAKE_GPUS", "2")
import tenon as torch  # noqa: E402
import tenon.nn.functional as F

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "golden", "python_functional.json")
with open(GOLDEN) as f:
    RECORDS = json.load(f)


def flat(x):
    return [v for row in x for v in flat(row)] if isinstance(x, list) else [x]


def check(record, x, **names):
    x = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    value = eval(record["expression"], {"F": F, "torch": torch, "x": x, **names})
    assert flat(value.tolist()) == pytest.approx(flat(record["value"]), rel=1e-11, abs=1e-14, nan_ok=True)
    # unequal weights: a gradient that went to the wrong place shows
    (value * torch.arange(1, value.numel() + 1).reshape(value.shape)).sum().backward()
    # PyTorch rounds 1 / 6 of hardsigmoid and 1e-12 of binary_cross_entropy to float32
    assert flat(x.grad.tolist()) == pytest.approx(flat(record["gradient"]), rel=3e-8, abs=1e-13, nan_ok=True)


@pytest.mark.parametrize("record", RECORDS["activations"], ids=lambda r: r["expression"])
def test_activation(record):
    check(record, RECORDS["points"])


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("record", RECORDS["losses"], ids=lambda r: r["expression"] + " " + r["r"])
def test_loss(record):
    y = torch.tensor(RECORDS["target"], dtype=torch.float64)
    w = torch.tensor(RECORDS["weight"], dtype=torch.float64)
    check(record, RECORDS["input"], y=y, w=w, r=record["r"])


IN_PLACE = ["hardtanh", "relu6", "leaky_relu", "elu", "celu", "selu", "silu", "mish", "hardsigmoid", "hardswish", "relu"]


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name):
    function = getattr(F, name)
    x = torch.tensor(RECORDS["points"], requires_grad=True)
    y = x * 1
    out = function(y, inplace=True)
    assert out is y and y.tolist() == function(x).tolist()
    out.sum().backward()
    gradient, x.grad = x.grad, None
    function(x).sum().backward()
    assert gradient.tolist() == x.grad.tolist()


def test_infinities_and_nan():
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([inf, -inf, nan])
    for function, expected in ((F.elu, [inf, -1.0, nan]), (F.softplus, [inf, 0.0, nan]), (F.logsigmoid, [0.0, -inf, nan]),
                               (F.hardtanh, [1.0, -1.0, nan]), (F.leaky_relu, [inf, -inf, nan]),
                               (F.softshrink, [inf, -inf, nan])):
        assert function(x).tolist() == pytest.approx(expected, nan_ok=True), function.__name__


def test_slopes_at_zero():
    """PyTorch's choices: those of the branch below zero."""
    for function, slope in ((F.elu, 1.0), (lambda x: F.elu(x, 2.0), 2.0), (F.leaky_relu, 0.01), (F.silu, 0.5), (F.softplus, 0.5)):
        x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
        function(x * torch.tensor([1.0, -1.0], dtype=torch.float64)).sum().backward()
        assert x.grad.tolist() == [slope, -slope]


def test_half_precision_does_not_overflow():
    y = F.softplus(torch.tensor([-3.0, 15.0, 20.0], dtype=torch.float16))
    assert y.dtype == torch.float16 and y.tolist() == pytest.approx([0.0486, 15.0, 20.0], rel=1e-3)


def test_refusals():
    x = torch.ones(3)
    for error, text, call in (
            (RuntimeError, "Halving dimension must be even, but dimension 0 is size 3", lambda: F.glu(x)),
            (RuntimeError, "Mismatch of parameter numbers and input channel size. Found parameter numbers = 2 and channel "
             "size = 3.", lambda: F.prelu(torch.ones(2, 3), torch.ones(2))),
            (ValueError, "min_val cannot be greater than max_val", lambda: F.hardtanh(x, 2.0, 1.0)),
            (RuntimeError, "lambda must be", lambda: F.softshrink(x, -1.0)),
            (ValueError, "x is not a valid value for reduction", lambda: F.smooth_l1_loss(x, x, reduction="x")),
            (ValueError, "x is not a valid value for reduction", lambda: F.mse_loss(x, x, reduction="x")),
            (ValueError, "None is not a valid value for reduction", lambda: F.huber_loss(x, x, reduction=None)),
            (ValueError, "3 is not a valid value for reduction", lambda: F.kl_div(x, x, reduction=3)),
            (RuntimeError, "huber_loss does not support non-positive values for delta.", lambda: F.huber_loss(x, x, delta=0)),
            (RuntimeError, "smooth_l1_loss does not support negative values", lambda: F.smooth_l1_loss(x, x, beta=-1)),
            (RuntimeError, "kl_div: Integral inputs not supported.", lambda: F.kl_div(x, x.long(), reduction="sum")),
            (NotImplementedError, "\"huber_cpu\" not implemented for 'Long'", lambda: F.huber_loss(x.long(), x.long())),
            (NotImplementedError, "\"smooth_l1_cpu\" not implemented for 'Long'", lambda: F.smooth_l1_loss(x.long(), x.long())),
            (NotImplementedError, "\"silu_cpu\" not implemented for 'Long'", lambda: F.silu(x.long())),
            (NotImplementedError, "\"elu_cpu\" not implemented for 'Bool'", lambda: F.elu(x.bool())),
            (NotImplementedError, "\"softplus_cpu\" not implemented for 'Long'", lambda: F.softplus(x.long())),
            (NotImplementedError, "\"leaky_relu_cpu\" not implemented for 'Long'", lambda: F.leaky_relu(x.long())),
            (NotImplementedError, "Bool inputs not supported for hardtanh", lambda: F.hardtanh(x.bool())),
            (TypeError, "silu(): argument 'input' (position 1) must be Tensor, not list", lambda: F.silu([1.0])),
            (TypeError, "leaky_relu(): argument 'negative_slope' (position 2) must be Number, not str",
             lambda: F.leaky_relu(x, "a")),
            (TypeError, "huber_loss(): argument 'delta' (position 4) must be float, not str", lambda: F.huber_loss(x, x, delta="a")),
            (ValueError, "Weights and input must have the same size.", lambda: F.huber_loss(x, x, weight=torch.ones(1)))):
        with pytest.raises(error) as caught:
            call()
        assert str(caught.value).startswith(text)


def test_one_hot_and_linear_are_there():
    assert F.one_hot(torch.tensor([1, 0]), 3).tolist() == [[0, 1, 0], [1, 0, 0]]
    assert F.linear(torch.ones(1, 2), torch.ones(3, 2), torch.ones(3)).tolist() == [[3.0, 3.0, 3.0]]
    assert F.linear(torch.ones(1, 2), torch.ones(3, 2)).tolist() == [[2.0, 2.0, 2.0]]


INF, NAN = float("inf"), float("nan")

# What PyTorch 2.15 gives at infinities, NaN, 0, the ends of ranges, and ties: operands a and b, their gradients.
CORNERS = [
    ('F.smooth_l1_loss(a, b, reduction="none")', [INF, -INF, 0.0, 1.0, -1.0, 3.0, NAN], [0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0],
     [1.0, -1.0, 0.0, 1.0, -1.0, 0.0, NAN], [-1.0, 1.0, 0.0, -1.0, 1.0, 0.0, NAN]),
    ('F.smooth_l1_loss(a, b, reduction="none", beta=0.5)', [INF, 0.5, -0.5, 0.25], [-INF, 0.0, 0.0, 0.0],
     [1.0, 1.0, -1.0, 0.5], [-1.0, -1.0, 1.0, -0.5]),
    ('F.huber_loss(a, b, reduction="none", delta=2.0)', [INF, -INF, 2.0, -2.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
     [2.0, -2.0, 2.0, -2.0, 1.0, 0.0], [-2.0, 2.0, -2.0, 2.0, -1.0, 0.0]),
    ("F.elu(a)", [NAN, -INF, INF, 0.0, -1.0], None,
     [1.0, 0.0, 1.0, 1.0, 0.367879], None),
    ("F.celu(a, 2.0)", [NAN, -INF, INF, 0.0, -1.0], None,
     [1.0, 0.0, 1.0, 1.0, 0.606531], None),
    ('F.binary_cross_entropy(a, b, reduction="none")', [0.0, 0.0, 1.0, 1.0, 0.5], [0.0, 1.0, 0.0, 1.0, 0.25],
     [0.0, -1e12, 1e12, 0.0, 1.0], [INF, INF, -INF, -INF, -0.0]),
    ("torch.atan2(a, b)", [0.0, -0.0, 0.0, 1.0, INF], [0.0, 0.0, -1.0, 0.0, 1.0],
     [0.0, 0.0, -1.0, 0.0, 0.0], [-0.0, 0.0, -0.0, -1.0, NAN]),
    ("F.prelu(a.reshape(1, -1), b)", [INF, 1.0, -2.0, 0.0, -1.0], [INF, INF, 3.0, 0.5, 0.0],
     [1.0, 1.0, 3.0, 0.5, 0.0], [0.0, 0.0, -2.0, 0.0, -1.0]),
    ("torch.norm(a.reshape(2, 2), 3, 1)", [0.0, 0.0, 1.0, 2.0], None,
     [0.0, 0.0, 0.23112, 0.924482], None),
    ("torch.norm(a.reshape(2, 2), 0.5, 1)", [0.0, 4.0, 1.0, 4.0], None,
     [0.0, 1.0, 3.0, 1.5], None),
    ("torch.norm(a.reshape(2, 2), -1, 1)", [0.0, 4.0, 1.0, 4.0], None,
     [0.0, 0.0, 0.64, 0.04], None),
    ("F.normalize(a.reshape(2, 2))", [0.0, 0.0, 3.0, 4.0], None,
     [1e12, 1e12, 0.032, -0.024], None),
    ("F.normalize(a.reshape(2, 2), 3.0)", [0.0, 0.0, 0.0, 2.0], None,
     [1e12, 1e12, 0.5, 0.0], None),
    ('F.pairwise_distance(a.reshape(2, 2), b.reshape(2, 2), p=float("inf"), eps=0.0)', [1.0, 5.0, 0.0, 0.0], [0.0, 1.0, 0.0, 2.0],
     [0.0, 1.0, 0.0, -1.0], [-0.0, -1.0, -0.0, 1.0]),
    ("F.pairwise_distance(a.reshape(2, 2), b.reshape(2, 2), p=3.0, eps=0.0)", [1.0, 5.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0],
     [0.061857, 0.989717, 0.0, 0.0], [-0.061857, -0.989717, -0.0, -0.0]),
    ("a / b", [INF, 1.0, 0.0, 2.0], [2.0, INF, 0.0, 4.0],
     [0.5, 0.0, INF, 0.25], [-INF, -0.0, NAN, -0.125]),
]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_gradients_at_corners(device):
    for expression, a, b, *expected in CORNERS:
        a, b = (None if v is None else torch.tensor(v, device=device, requires_grad=True) for v in (a, b))
        y = eval(expression, {"F": F, "torch": torch, "a": a, "b": b})
        y.backward(torch.ones_like(y))
        for x, grad in zip((a, b), expected):
            assert x is None or x.grad.tolist() == pytest.approx(grad, rel=2e-6, abs=1e-6, nan_ok=True), expression
