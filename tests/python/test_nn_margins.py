"""Losses by margins and likelihoods, dropout of channels, random activations, lazy layers: how the package calls them. Their
values: tests/ops/loss_margins.c, random_laws.c, and PyTorch's records."""

import copy
import io
import math
import pickle

import pytest

import tenon as torch
import tenon.nn as nn
import tenon.nn.functional as F

X = torch.tensor([[0.1, 0.2, 0.4, 0.8], [1.0, -1.0, 0.5, 0.25]])
SIGNS = torch.tensor([[1.0, -1.0, 1.0, -1.0]] * 2)
CLASSES = torch.tensor([3, 0])
PLACES = torch.tensor([[3, 0, -1, 1], [2, -1, 0, 0]])

LOSSES = [
    (nn.MarginRankingLoss(0.5), (X, X.flip(1), SIGNS), lambda: F.margin_ranking_loss(X, X.flip(1), SIGNS, 0.5)),
    (nn.HingeEmbeddingLoss(2.0), (X, SIGNS), lambda: F.hinge_embedding_loss(X, SIGNS, 2.0)),
    (nn.CosineEmbeddingLoss(0.1), (X, X + 1, SIGNS[:, 0]), lambda: F.cosine_embedding_loss(X, X + 1, SIGNS[:, 0], 0.1)),
    (nn.TripletMarginLoss(2.0, swap=True), (X, X + 1, X - 2), lambda: F.triplet_margin_loss(X, X + 1, X - 2, 2.0, swap=True)),
    (nn.TripletMarginWithDistanceLoss(margin=2.0), (X, X + 1, X - 2), lambda: F.triplet_margin_loss(X, X + 1, X - 2, 2.0)),
    (nn.MultiMarginLoss(2, 0.5), (X, CLASSES), lambda: F.multi_margin_loss(X, CLASSES, 2, 0.5)),
    (nn.MultiLabelMarginLoss(), (X, PLACES), lambda: F.multilabel_margin_loss(X, PLACES)),
    (nn.MultiLabelSoftMarginLoss(), (X, (SIGNS + 1) / 2), lambda: F.multilabel_soft_margin_loss(X, (SIGNS + 1) / 2)),
    (nn.SoftMarginLoss(), (X, SIGNS), lambda: F.soft_margin_loss(X, SIGNS)),
    (nn.GaussianNLLLoss(full=True), (X, X + 1, X.square()), lambda: F.gaussian_nll_loss(X, X + 1, X.square(), full=True)),
    (nn.PoissonNLLLoss(False), (X.abs(), X + 2), lambda: F.poisson_nll_loss(X.abs(), X + 2, False)),
]


@pytest.mark.parametrize("module, inputs, function", LOSSES, ids=lambda x: type(x).__name__ if isinstance(x, nn.Module) else "")
def test_modules_are_their_functions(module, inputs, function):
    assert torch.equal(module(*inputs), function()) and module(*inputs).dim() == 0
    module.reduction = "sum"
    total = module(*inputs)
    module.reduction = "none"
    assert torch.allclose(module(*inputs).sum(), total)
    module.reduction = "odd"
    with pytest.raises(ValueError, match="odd is not"):
        module(*inputs)


def test_torchs_own_count_reductions():
    """Their default is none, which is PyTorch's"""
    each = torch.margin_ranking_loss(X, X.flip(1), SIGNS, 0.5)
    assert each.shape == X.shape
    for function, more in ((torch.hinge_embedding_loss, (2.0,)), (torch.kl_div, ()), (torch.binary_cross_entropy_with_logits, (None, None))):
        each, mean, total = (function(X, SIGNS, *more, reduction) for reduction in (0, 1, 2))
        assert each.shape == X.shape and torch.allclose(each.mean(), mean, equal_nan=True)
        assert torch.allclose(each.sum(), total, equal_nan=True)
    with pytest.raises(TypeError, match="must be int, not str"):
        torch.kl_div(X, X, "mean")


def test_what_functions_refuse():
    with pytest.raises(ValueError, match="margin must be greater than 0, got 0"):
        F.triplet_margin_loss(X, X, X, 0)
    with pytest.raises(RuntimeError, match="All input tensors should have same dimension but got sizes: input1: torch.Size"):
        F.margin_ranking_loss(X, X[0], SIGNS)
    with pytest.raises(ValueError, match="only p == 1 and p == 2 supported"):
        F.multi_margin_loss(X, CLASSES, p=3)
    with pytest.raises(ValueError, match="weight must be one-dimensional"):
        F.multi_margin_loss(X, CLASSES, weight=X)
    with pytest.raises(RuntimeError, match="but got: anchor 2D, positive 1D, and negative 2D inputs"):
        F.triplet_margin_with_distance_loss(X, X[0], X)
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert torch.equal(F.soft_margin_loss(X, SIGNS, size_average=False), F.soft_margin_loss(X, SIGNS, reduction="sum"))
    with pytest.warns(FutureWarning, match="NLLLoss2d has been deprecated"):
        nn.NLLLoss2d()


@pytest.mark.parametrize("kind, shape", [(nn.Dropout1d, (3, 40, 5)), (nn.Dropout2d, (3, 40, 5, 2)), (nn.Dropout3d, (3, 40, 5, 2, 2))])
def test_dropout_of_channels(kind, shape):
    x = torch.ones(shape)
    torch.manual_seed(1)
    y = kind(0.5)(x)
    flat = y.reshape(3, 40, -1)
    assert torch.equal(flat.amin(2), flat.amax(2)) and set(flat.flatten().tolist()) == {0.0, 2.0}
    one = kind(0.5, inplace=True)
    assert one(x) is x and not torch.equal(x, torch.ones(shape))
    assert kind(0.5).eval()(y) is not None and torch.equal(kind(0.5).eval()(y), y)
    assert repr(kind(0.25)) == f"{kind.__name__}(p=0.25, inplace=False)"
    with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1, but got 2"):
        kind(2)


def test_dropout_of_other_sizes():
    with pytest.raises(RuntimeError, match="dropout1d: Expected 2D or 3D input, but received a 1D input"):
        F.dropout1d(torch.ones(3))
    with pytest.warns(UserWarning, match="dropout2d: Received a 2-D input"):
        F.dropout2d(torch.ones(3, 4))
    with pytest.warns(UserWarning, match="assuming that channel-wise 1D dropout behavior is desired"):
        F.dropout2d(torch.ones(3, 4, 5))
    torch.manual_seed(1)
    y = nn.AlphaDropout(0.5)(torch.randn(20000))
    assert abs(y.mean()) < 0.05 and abs(y.std() - 1) < 0.05
    out, mask = torch.native_dropout(torch.ones(8), 0.5, None)
    assert torch.equal(out, mask * 2.0)


def test_functions_that_write_their_argument():
    for write, plain, args in ((torch.celu_, torch.celu, (0.5,)), (torch.selu_, torch.selu, ()), (F.elu_, F.elu, (2.0,)),
                               (F.leaky_relu_, F.leaky_relu, (0.5,)), (F.hardtanh_, F.hardtanh, (-0.5, 0.5)),
                               (torch.threshold_, torch.threshold, (0.3, 7.0)), (torch.rrelu_, torch.rrelu, (0.25, 0.25))):  # fmt: skip
        x = X.clone()
        assert write(x, *args) is x and torch.equal(x, plain(X, *args))
        a, b = X.clone().requires_grad_(), X.clone().requires_grad_()
        write(a * 1, *args).sum().backward()
        plain(b, *args).sum().backward()
        assert torch.equal(a.grad, b.grad)
    for write in (torch.dropout_, torch.alpha_dropout_, torch.feature_dropout_, torch.feature_alpha_dropout_):
        x = torch.ones(30, 40)
        assert write(x, 0.5, True) is x and not torch.equal(x, torch.ones(30, 40))
        assert torch.equal(write(x.clone(), 0.5, False), x)


def test_random_activations():
    x = -torch.ones(1000)
    y = nn.RReLU()(x)
    assert -1 / 3 <= y.min() < y.max() <= -1 / 8 and torch.allclose(nn.RReLU().eval()(x), x * (11 / 48))
    assert repr(nn.RReLU(0.25, 0.5, True)) == "RReLU(lower=0.25, upper=0.5, inplace=True)"
    logits = torch.zeros(50, 4, requires_grad=True)
    hard = F.gumbel_softmax(logits, hard=True)
    assert torch.equal(hard.detach().sum(-1), torch.ones(50)) and set(hard.flatten().tolist()) == {0.0, 1.0}
    hard[:, 0].sum().backward()
    assert logits.grad.abs().sum() > 0
    with pytest.warns(UserWarning, match="`eps` parameter is deprecated"):
        F.gumbel_softmax(logits, eps=1e-3)


def test_lazy_linear():
    lazy = nn.LazyLinear(5)
    assert lazy.has_uninitialized_params() and repr(lazy.weight) == "<UninitializedParameter>"
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter or buffer"):
        lazy.weight.shape
    twin, empty = copy.deepcopy(lazy), lazy.state_dict()
    assert list(empty) == ["weight", "bias"] and nn.parameter.is_lazy(empty["weight"])
    assert nn.parameter.is_lazy(pickle.loads(pickle.dumps(lazy.weight)))
    assert lazy(torch.ones(2, 3)).shape == (2, 5)
    assert type(lazy) is nn.Linear and type(lazy.weight) is nn.Parameter and lazy.in_features == 3
    assert not lazy._forward_pre_hooks and math.isfinite(lazy.weight.sum().item())
    file = io.BytesIO()
    torch.save(lazy.state_dict(), file)
    file.seek(0)
    twin.load_state_dict(torch.load(file))
    assert torch.equal(twin(torch.ones(3)), lazy(torch.ones(3))) and type(twin) is nn.Linear
    with pytest.raises(TypeError, match="unexpected kwargs"):
        nn.factory_kwargs({"colour": 1})
    assert nn.factory_kwargs({"dtype": torch.float64, "factory_kwargs": {"device": "cpu"}}) == {"dtype": torch.float64, "device": "cpu"}


def test_skip_init():
    made = nn.utils.skip_init(nn.Linear, 3, 2)
    assert made.weight.shape == (2, 3) and made.weight.device.type == "cpu" and made.weight.requires_grad
    assert nn.utils.skip_init(nn.Linear, 3, 2, device="meta").weight.is_meta
    with pytest.raises(RuntimeError, match="Module must support a 'device' arg to skip initialization"):
        nn.utils.skip_init(nn.ReLU)
    with pytest.raises(RuntimeError, match="Expected a Module; got"):
        nn.utils.skip_init(int)


def test_a_prefix_is_taken_from_names():
    state = nn.Sequential(nn.Linear(2, 2)).state_dict(prefix="module.")
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["0.weight", "0.bias"] and set(state._metadata) == {"", "0"}
    nn.Sequential(nn.Linear(2, 2)).load_state_dict(state)
