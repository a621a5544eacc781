"""Functions that are put together in Python and have no reference records, or whose errors matter; NumPy is the reference."""
import os

import numpy as np
import pytest

os.environ.setdefault("TENON_FAKE_GPUS", "2")
import tenon as torch  # noqa: E402

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("a, b", [((2, 3), (4, 5)), ((2,), (3, 2)), ((1, 2, 3), (2, 2))])
def test_kron(a, b):
    x, y = RNG.normal(size=a), RNG.normal(size=b)
    np.testing.assert_allclose(torch.kron(torch.tensor(x), torch.tensor(y)).numpy(), np.kron(x, y), rtol=1e-15)


@pytest.mark.parametrize("indexing", ["ij", "xy"])
def test_meshgrid(indexing):
    arrays = [np.arange(3), np.arange(4), np.arange(2)]
    for have, want in zip(torch.meshgrid(*map(torch.tensor, arrays), indexing=indexing), np.meshgrid(*arrays, indexing=indexing)):
        np.testing.assert_array_equal(have.numpy(), want)
    with pytest.raises(RuntimeError, match="indexing must be one of"):
        torch.meshgrid(torch.ones(2), indexing="yx")
    with pytest.warns(UserWarning, match="indexing"):
        torch.meshgrid(torch.ones(2))


def test_unique_agrees_with_numpy():
    x = RNG.integers(0, 5, size=(4, 6))
    have = torch.tensor(x).unique(return_inverse=True, return_counts=True)
    for h, w in zip(have, np.unique(x, return_inverse=True, return_counts=True)):
        np.testing.assert_array_equal(h.numpy().ravel(), w.ravel())
    assert torch.unique(torch.tensor([])).tolist() == []
    assert torch.unique_consecutive(torch.tensor([1, 1, 2, 1])).tolist() == [1, 2, 1]


def test_unique_keeps_every_nan():
    assert torch.unique(torch.tensor([float("nan"), 1.0, float("nan")])).isnan().tolist() == [False, True, True]


def test_searchsorted_puts_nan_last():
    x = np.array([-1.0, 0.0, 0.5, np.nan, 2.0])
    line = np.array([0.0, 0.5, 1.0])
    for right in (False, True):
        want = np.searchsorted(line, x, side="right" if right else "left")
        np.testing.assert_array_equal(torch.searchsorted(torch.tensor(line), torch.tensor(x), right=right).numpy(), want)
    with pytest.raises(RuntimeError, match="side can only be"):
        torch.searchsorted(torch.tensor(line), torch.tensor(x), side="middle")


def test_fmod_keeps_the_sign_of_the_input():
    x = np.array([5.5, -5.5, 0.0, 7.0])
    np.testing.assert_array_equal(torch.tensor(x).fmod(-3).numpy(), np.fmod(x, -3))
    np.testing.assert_array_equal(torch.tensor([7, -7]).fmod(3).numpy(), np.fmod([7, -7], 3))


def test_hypot_of_large_numbers_and_infinities():
    x, y = np.array([3e300, np.inf, 0.0]), np.array([4e300, np.nan, 0.0])
    np.testing.assert_allclose(torch.hypot(torch.tensor(x), torch.tensor(y)).numpy(), np.hypot(x, y), rtol=1e-15)


def test_errors_of_composed_functions():
    one, three = torch.ones(3), torch.ones(2, 2, 2)
    for call, text in [
        (lambda: torch.diag(three), r"Supports 1D or 2D tensors\. Got 3D"),
        (lambda: torch.trace(one), "expected a matrix"),
        (lambda: torch.fliplr(one), "must be >= 2-d"),
        (lambda: torch.bincount(torch.tensor([-1])), "1-d non-negative"),
        (lambda: torch.histc(one, bins=0), "bins must be > 0"),
        (lambda: torch.cdist(torch.ones(2, 3), torch.ones(2, 4)), "same number of columns"),
        (lambda: torch.tensordot(torch.ones(2, 3), torch.ones(2, 3), 1), "contracted dimensions need to match"),
        (lambda: torch.rot90(one), "total dims >= 2"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            call()
    for call in (torch.frac, torch.nanmean):
        with pytest.raises(NotImplementedError, match="Long"):
            call(torch.tensor([1]))
    with pytest.raises(IndexError, match="out of"):
        torch.take(one, torch.tensor([3]))


def test_gradients_of_composed_functions():
    double = dict(dtype=torch.float64, requires_grad=True)
    x, y = torch.randn(3, 4, **double), torch.randn(2, 4, **double)
    assert torch.autograd.gradcheck(torch.cdist, (x, y))
    assert torch.autograd.gradcheck(lambda a: torch.diag_embed(a, 1), (x,))
    assert torch.autograd.gradcheck(lambda a, b: torch.kron(a * 1, b * 1), (x, y))
    assert torch.autograd.gradcheck(lambda a: torch.cov(a * 1), (x,))
    assert torch.autograd.gradcheck(lambda a, b: torch.fmod(a, b.abs() + 10), (x[0], y[0]))
