"""Layers, activations and losses as modules: what they print, refuse and give."""

import math

import pytest

import tenon as torch
import tenon.nn.functional as F
from tenon import nn

PRINTED = """Linear(in_features=2, out_features=3, bias=False)|nn.Linear(2, 3, bias=False)
Flatten(start_dim=1, end_dim=-1)|nn.Flatten()
Unflatten(dim=1, unflattened_size=(2, 3))|nn.Unflatten(1, (2, 3))
Dropout(p=0.3, inplace=True)|nn.Dropout(0.3, True)
Identity()|nn.Identity(3, a=4)
Embedding(3, 2)|nn.Embedding(3, 2)
Embedding(3, 2, padding_idx=2)|nn.Embedding(3, 2, padding_idx=-1)
Embedding(3, 2, max_norm=1.0, norm_type=1, scale_grad_by_freq=True)|nn.Embedding(3, 2, None, 1.0, 1, True)
ReLU()|nn.ReLU()
ReLU(inplace=True)|nn.ReLU(True)
ReLU6(inplace=True)|nn.ReLU6(True)
Sigmoid()|nn.Sigmoid()
Tanh()|nn.Tanh()
Softmax(dim=None)|nn.Softmax()
LogSoftmax(dim=-1)|nn.LogSoftmax(-1)
Softmin(dim=0)|nn.Softmin(0)
Softmax2d()|nn.Softmax2d()
LeakyReLU(negative_slope=0.2, inplace=True)|nn.LeakyReLU(0.2, True)
ELU(alpha=2.0)|nn.ELU(2.0)
CELU(alpha=1.0, inplace=True)|nn.CELU(inplace=True)
SELU()|nn.SELU()
SiLU(inplace=True)|nn.SiLU(True)
Mish()|nn.Mish()
Softplus(beta=1.0, threshold=20.0)|nn.Softplus()
Softsign()|nn.Softsign()
Tanhshrink()|nn.Tanhshrink()
Threshold(threshold=1.0, value=2.0, inplace=True)|nn.Threshold(1.0, 2.0, True)
Hardtanh(min_val=-2.0, max_val=2.0)|nn.Hardtanh(-2.0, 2.0)
Hardsigmoid()|nn.Hardsigmoid(True)
Hardswish()|nn.Hardswish()
LogSigmoid()|nn.LogSigmoid()
GLU(dim=1)|nn.GLU(1)
PReLU(num_parameters=3)|nn.PReLU(3)
Hardshrink(0.5)|nn.Hardshrink()
Softshrink(0.2)|nn.Softshrink(0.2)
CrossEntropyLoss()|nn.CrossEntropyLoss(torch.ones(2))
MSELoss()|nn.MSELoss()
KLDivLoss()|nn.KLDivLoss(log_target=True)
Bilinear(in1_features=2, in2_features=3, out_features=4, bias=True)|nn.Bilinear(2, 3, 4)
CosineSimilarity()|nn.CosineSimilarity()"""


@pytest.mark.parametrize("line", PRINTED.split("\n"))
def test_printed(line):
    text, expression = line.split("|")
    assert repr(eval(expression)) == text


def test_bilinear():
    m = nn.Bilinear(2, 3, 1)
    assert m.weight.shape == (1, 2, 3) and m.bias.shape == (1,) and nn.Bilinear(2, 3, 1, bias=False).bias is None
    assert float(m.weight.abs().max()) <= 0.5**0.5
    m.load_state_dict({"weight": torch.eye(2, 3).reshape(1, 2, 3), "bias": torch.tensor([1.0])})
    assert m(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0, 3.0])).tolist() == [6.0]
    assert m(torch.ones(4, 5, 2), torch.ones(4, 5, 3)).shape == (4, 5, 1)
    with pytest.raises(ValueError, match=r"^in1_features must be > 0, but got \(in1_features=0\)$"):
        nn.Bilinear(0, 3, 4)


def test_linear():
    m = nn.Linear(3, 2)
    m.load_state_dict({"weight": torch.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]]), "bias": torch.tensor([10.0, 20.0])})
    assert m(torch.tensor([[1.0, 1.0, 1.0], [0.0, 2.0, 0.0]])).tolist() == [[16.0, 21.0], [14.0, 22.0]]
    assert m(torch.ones(3)).tolist() == [16.0, 21.0] and m(torch.ones(4, 5, 3)).shape == (4, 5, 2)
    assert nn.Linear(3, 2, bias=False).bias is None
    made = nn.Linear(3, 2, device="cpu", dtype=torch.float64)
    assert made.weight.dtype == made.bias.dtype == torch.float64
    with pytest.raises(RuntimeError):
        m(torch.ones(2, 4))
    with pytest.raises(RuntimeError):
        nn.Linear(-1, 3)


def test_linear_initial_values():
    torch.manual_seed(0)
    m = nn.Linear(400, 300)
    for t in (m.weight, m.bias):
        assert t.abs().max().item() <= 1 / 20 and t.abs().max().item() > 0.049
    assert abs(m.weight.std().item() - 0.05 / math.sqrt(3)) < 2e-4 and abs(m.weight.mean().item()) < 5e-4


def test_flatten_and_unflatten():
    x = torch.ones(2, 3, 4)
    assert nn.Flatten()(x).shape == (2, 12) and nn.Flatten(0, 1)(x).shape == (6, 4)
    assert nn.Unflatten(1, (3, 4))(torch.ones(2, 12)).shape == (2, 3, 4)
    assert nn.Unflatten(-1, (-1, 2))(x).shape == (2, 3, 2, 2)
    with pytest.raises(TypeError, match="unflattened_size must be a tuple of ints, but found type int"):
        nn.Unflatten(1, 3)
    with pytest.raises(TypeError, match="unflattened_size must be tuple of ints, but found element of type str at pos 1"):
        nn.Unflatten(1, (2, "a"))
    with pytest.raises(RuntimeError, match=r"unflatten: Provided sizes \[2, 4\] don't multiply up to the size of dim 1 \(6\)"):
        nn.Unflatten(1, (2, 4))(torch.ones(4, 6))


def test_dropout():
    torch.manual_seed(1)
    m = nn.Dropout(0.25)
    y = m(torch.ones(10000))
    kept = (y != 0).sum().item()
    assert abs(kept - 7500) < 200 and y.sum().item() == pytest.approx(kept / 0.75, rel=1e-5)
    x = torch.ones(3)
    assert m.eval()(x) is x
    assert nn.Dropout(1.0)(x).tolist() == [0.0] * 3
    z = torch.ones(1000)
    assert nn.Dropout(0.5, inplace=True)(z) is z and 0 < z.sum().item() < 2000
    for p in (1.5, -1):
        with pytest.raises(ValueError, match=f"dropout probability has to be between 0 and 1, but got {p}"):
            nn.Dropout(p)
        with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1"):
            F.dropout(x, p)


def test_embedding():
    m = nn.Embedding(4, 2, padding_idx=1)
    assert m.weight[1].tolist() == [0.0, 0.0] and m.weight.requires_grad
    y = m(torch.tensor([[0, 1], [3, 0]]))
    assert y.shape == (2, 2, 2) and y[0, 0].tolist() == m.weight[0].tolist()
    y.sum().backward()
    assert m.weight.grad.tolist() == [[2.0, 2.0], [0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
    fixed = nn.Embedding.from_pretrained(torch.ones(3, 2))
    assert not fixed.weight.requires_grad and fixed.num_embeddings == 3
    assert nn.Embedding.from_pretrained(torch.ones(3, 2), freeze=False).weight.requires_grad
    small = nn.Embedding(2, 2, max_norm=1.0, _weight=torch.tensor([[3.0, 4.0], [0.3, 0.4]]))
    assert small(torch.tensor([0, 1])).tolist() == [pytest.approx([0.6, 0.8]), pytest.approx([0.3, 0.4])]


def test_embedding_refuses():
    for padding in (3, -4):
        with pytest.raises(AssertionError, match="Padding_idx must be within num_embeddings"):
            nn.Embedding(3, 2, padding_idx=padding)
    with pytest.raises(AssertionError, match="Shape of weight does not match num_embeddings and embedding_dim"):
        nn.Embedding(3, 2, _weight=torch.ones(2, 2))
    with pytest.raises(AssertionError, match="Embeddings parameter is expected to be 2-dimensional"):
        nn.Embedding.from_pretrained(torch.ones(3))
    with pytest.raises(IndexError):
        nn.Embedding(3, 2)(torch.tensor([5]))


def test_activations_with_conditions():
    with pytest.raises(AssertionError, match=r"max_val \(-2.0\) must be greater than min_val \(2.0\)"):
        nn.Hardtanh(2.0, -2.0)
    with pytest.raises(ValueError, match="Softmax2d: expected input to be 3D or 4D, got 2D instead"):
        nn.Softmax2d()(torch.ones(2, 2))
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax has been deprecated."):
        assert nn.Softmax()(torch.ones(2, 2)).tolist() == [[0.5, 0.5]] * 2
    assert nn.Softmax2d()(torch.ones(1, 4, 2, 2))[0, 0, 0, 0].item() == 0.25
    m = nn.PReLU(2)
    assert m(torch.tensor([[-1.0, -2.0], [3.0, -4.0]])).tolist() == [[-0.25, -0.5], [3.0, -1.0]]


def test_losses_as_modules():
    x, y = torch.tensor([[0.1, 0.7], [1.0, 0.2]]), torch.tensor([1, 0])
    a = math.log(math.exp(0.1) + math.exp(0.7)) - 0.7
    b = math.log(math.exp(1.0) + math.exp(0.2)) - 1.0
    assert nn.CrossEntropyLoss()(x, y).item() == pytest.approx((a + b) / 2, rel=1e-6)
    weighted = nn.CrossEntropyLoss(torch.tensor([1.0, 3.0]), reduction="sum")
    assert weighted(x, y).item() == pytest.approx(3 * a + b, rel=1e-6) and list(weighted.state_dict()) == ["weight"]
    assert nn.CrossEntropyLoss(ignore_index=0)(x, y).item() == pytest.approx(a, rel=1e-6)
    assert nn.NLLLoss(reduction="none")(x, y).tolist() == pytest.approx([-0.7, -1.0])
    z = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    assert nn.MSELoss()(x, z).item() == pytest.approx((0.01 + 0.09 + 0.04) / 4)
    assert nn.L1Loss(reduction="sum")(x, z).item() == pytest.approx(0.6)
    assert nn.HuberLoss(delta=0.2)(x, z).item() == pytest.approx((0.005 + 0.2 * 0.2 + 0.0 + 0.02) / 4)
    assert nn.SmoothL1Loss(beta=0.2)(x, z).item() == pytest.approx((0.025 + 0.2 + 0.0 + 0.1) / 4)
    assert nn.BCELoss()(torch.ones(2) * 0.25, torch.ones(2)).item() == pytest.approx(math.log(4))
    assert nn.BCEWithLogitsLoss(pos_weight=torch.ones(2) * 2)(torch.zeros(2), torch.ones(2)).item() == \
        pytest.approx(2 * math.log(2))
    assert nn.KLDivLoss(reduction="batchmean")(torch.ones(2, 2), torch.ones(2, 2)).item() == -2.0


def test_losses_that_warn_or_refuse():
    x = torch.ones(2)
    with pytest.warns(UserWarning, match=r"Using a target size \(torch.Size\(\[3, 1\]\)\) that is different to the input"):
        nn.MSELoss()(x, torch.ones(3, 1))
    with pytest.warns(UserWarning, match="size_average and reduce args will be deprecated, please use reduction='sum'"):
        assert nn.MSELoss(size_average=False)(x, torch.zeros(2)).item() == 2.0
    with pytest.warns(UserWarning, match="please use reduction='none' instead"):
        assert nn.L1Loss(reduce=False).reduction == "none"
    with pytest.raises(ValueError, match="x is not a valid value for reduction"):
        nn.CrossEntropyLoss(reduction="x")(torch.ones(2, 2), torch.tensor([0, 1]))
    with pytest.raises(ValueError, match=r"Target size \(torch.Size\(\[3\]\)\) must be the same as input size"):
        nn.BCEWithLogitsLoss()(x, torch.ones(3))
    with pytest.raises(ValueError, match="is deprecated. Please ensure they have the same size."):
        nn.BCELoss()(x, torch.ones(3))
    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
        nn.BCELoss()(x * 2, x)
    with pytest.raises(RuntimeError, match="huber_loss does not support non-positive values for delta."):
        nn.HuberLoss(delta=0)(x, x)
    with pytest.raises(RuntimeError, match="smooth_l1_loss does not support negative values for beta."):
        nn.SmoothL1Loss(beta=-1)(x, x)
    with pytest.raises(IndexError, match="Target 5 is out of bounds."):
        nn.CrossEntropyLoss()(torch.ones(2, 2), torch.tensor([0, 5]))
