"""torch.masked: what PyTorch 2.15 gives where its records (test_op_vectors.py) say nothing: what is wholly masked out, integers, masks
that broadcast, refusals."""
import math

import pytest

import tenon as torch

X = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
MASK = [[True, False, True], [False, False, False]]
nan, inf = math.nan, math.inf


@pytest.fixture
def x():
    return torch.tensor(X)


@pytest.fixture
def mask():
    return torch.tensor(MASK)


# (function, arguments, result)
GIVEN = [
    ("sum", {"dim": 1}, [4.0, 0.0]),
    ("prod", {"dim": 1}, [3.0, 1.0]),
    ("amax", {"dim": 1}, [3.0, -inf]),
    ("amin", {"dim": 1, "keepdim": True}, [[1.0], [inf]]),
    ("argmax", {"dim": 1}, [2.0, 0.0]),
    ("mean", {"dim": 1}, [2.0, nan]),
    ("median", {"dim": 1}, [1.0, nan]),
    ("std", {"dim": 1, "unbiased": False}, [1.0, nan]),
    ("var", {"dim": 1, "correction": 1.5}, [4.0, nan]),
    ("var", {"dim": 1, "correction": -4}, [1 / 3, 0.0]),
    ("norm", {"ord": -inf, "dim": 1}, [1.0, inf]),
    ("norm", {"ord": 0, "dim": 1}, [2.0, 0.0]),
    ("cumsum", {"dim": 1}, [[1.0, 1.0, 4.0], [0.0, 0.0, 0.0]]),
    ("cumprod", {"dim": -1}, [[1.0, 1.0, 3.0], [1.0, 1.0, 1.0]]),
    ("logsumexp", {"dim": 0}, [1.0, -inf, 3.0]),
]


@pytest.mark.parametrize(("name", "arguments", "result"), GIVEN)
def test_values(x, mask, name, arguments, result):
    got = getattr(torch.masked, name)(x, mask=mask, **arguments)
    assert got.dtype == torch.float32
    same = (got - torch.tensor(result)).abs() < 1e-6
    assert bool((same | (got == torch.tensor(result)) | (got.isnan() & torch.tensor(result).isnan())).all())


def test_masks(x, mask):
    assert torch.masked.sum(x, mask=mask.float()).item() == 4 and torch.masked.sum(x, mask=mask.int() * 2).item() == 4
    assert torch.masked.sum(x, 1, mask=mask[0]).tolist() == [4, 10]
    softmax = torch.masked.softmax(x, 1, mask=mask)
    assert softmax[0, 1] == 0 and softmax[1].isnan().all() and math.isclose(softmax[0].sum().item(), 1, rel_tol=1e-6)
    assert torch.masked.log_softmax(x, 1, mask=mask)[0, 1] == -inf
    both = torch.masked.logaddexp(x, x, input_mask=mask)
    assert both[1].tolist() == X[1] and math.isclose(both[0, 0].item(), 1 + math.log(2), rel_tol=1e-6)


def test_dtypes(x, mask):
    i = x.int()
    assert torch.masked.sum(i, mask=mask).dtype == torch.int64 and torch.masked.cumsum(i, 1, mask=mask).dtype == torch.int32
    assert torch.masked.amax(i, 1, mask=mask).tolist() == [3, -(2**31)] and torch.masked.amin(x.to(torch.uint8), 1, mask=mask).tolist() == [1, 255]
    assert torch.masked.argmin(i, 1).dtype == torch.int32 and torch.masked.argmin(x, dtype=torch.int64).dtype == torch.int64
    assert torch.masked.var(i, dtype=torch.float64).item() == 3.5 and torch.masked.var(i).dtype == torch.float32
    assert torch.masked.amax(x.bool()).item() is True


def test_gradients(x, mask):
    x.requires_grad_()
    (torch.masked.mean(x, 0, mask=mask) * torch.tensor([1.0, 0.0, 2.0])).nansum().backward()
    assert x.grad.tolist() == [[1, 0, 2], [0, 0, 0]]


REFUSED = [
    ("sum", {"mask": [MASK]}, IndexError, "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"),
    ("sum", {"mask": [True] * 5}, RuntimeError, "The expanded size of the tensor (3) must match the existing size (5) at non-singleton dimension 1."),
    ("sum", {"dim": 5}, IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 5)"),
    ("prod", {"dim": (0, -2)}, RuntimeError, "dim=0 appears multiple times in the list of dims"),
    ("mean", {"dtype": "int32"}, ValueError, "mean(): Could not infer output dtype. Optional dtype must be either a floating point or complex dtype. Got: torch.int32"),
    ("var", {"dim": 1, "unbiased": True, "correction": 2}, AssertionError, "Only one of unbiased and correction may be given"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "error", "text"), REFUSED)
def test_refusals(x, name, arguments, error, text):
    given = {k: torch.tensor(v) if k == "mask" else getattr(torch, v) if k == "dtype" else v for k, v in arguments.items()}
    with pytest.raises(error) as refused:
        getattr(torch.masked, name)(x, **given)
    assert str(refused.value).startswith(text)


def test_refusals_of_dtypes(x, mask):
    for name in ("amax", "argmin", "logsumexp"):
        with pytest.raises(NotImplementedError, match=f"identity of {name} on torch.bool input"):
            getattr(torch.masked, name)(x.bool(), mask=mask)
    with pytest.raises(ValueError, match=r"masked median expects no fully masked out rows if dtype is not floating point"):
        torch.masked.median(x.int(), 1, mask=mask)
    with pytest.raises(ValueError, match=r"mean\(\): Could not infer output dtype. Input dtype must be either"):
        torch.masked.mean(x.int())
