"""Functions that are put together in Python and have no reference records, or whose errors matter; NumPy is the reference."""
import contextlib
import os
import warnings

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
    u, v = torch.randn(4, **double), torch.randn(4, **double)
    assert torch.autograd.gradcheck(torch.cdist, (x, y))
    assert torch.autograd.gradcheck(lambda a: torch.diag_embed(a, 1), (x,))
    assert torch.autograd.gradcheck(lambda a, b: torch.kron(a * 1, b * 1), (x, y))
    assert torch.autograd.gradcheck(lambda a: torch.cov(a * 1), (x,))
    assert torch.autograd.gradcheck(lambda a, b: torch.fmod(a * 1, (b * 1).abs() + 10), (u, v))


@pytest.mark.parametrize("p", [0.01, 0.5, 0.99])
def test_slopes_of_cdist_where_a_difference_is_0(p):
    x, y = (torch.tensor([[v, -0.75]], requires_grad=True) for v in (0.25, 1.25))
    torch.cdist(x, y, p=p).sum().backward()
    assert x.grad.tolist() == [[pytest.approx(-1.0), 0.0]] and y.grad.tolist() == [[pytest.approx(1.0), 0.0]]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_slopes_at_infinity_and_nan(device):
    F, inf, nan = torch.nn.functional, float("inf"), float("nan")
    zero = torch.zeros(4, device=device)
    for f, want in (
        (lambda x: F.smooth_l1_loss(x, zero, reduction="sum"), [1.0, -1.0, nan, 0.5]),
        (lambda x: F.smooth_l1_loss(zero, x, reduction="sum"), [1.0, -1.0, nan, 0.5]),
        (lambda x: F.huber_loss(x, zero, reduction="sum"), [1.0, -1.0, nan, 0.5]),
        (F.elu, [1.0, 0.0, 1.0, 1.0]),
        (F.celu, [1.0, 0.0, 1.0, 1.0]),
    ):
        x = torch.tensor([inf, -inf, nan, 0.5], device=device, requires_grad=True)
        f(x).sum().backward()
        np.testing.assert_equal(x.grad.cpu().numpy(), np.float32(want))


def test_batch_norm_keeps_running_statistics():
    x = RNG.normal(size=(5, 3, 4)) * 2 + 1
    layer = torch.nn.BatchNorm1d(3, dtype=torch.float64)
    mean, var = x.mean((0, 2)), x.var((0, 2))
    np.testing.assert_allclose(layer(torch.tensor(x)).detach().numpy(),
                               (x - mean[:, None]) / np.sqrt(var + 1e-5)[:, None], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(layer.running_mean.numpy(), 0.1 * mean, rtol=1e-12)
    np.testing.assert_allclose(layer.running_var.numpy(), 0.9 + 0.1 * x.var((0, 2), ddof=1), rtol=1e-12)
    assert layer.num_batches_tracked.item() == 1 and len(layer.state_dict()) == 5
    layer.eval()
    want = (x - 0.1 * mean[:, None]) / np.sqrt(layer.running_var.numpy() + 1e-5)[:, None]
    np.testing.assert_allclose(layer(torch.tensor(x)).detach().numpy(), want, rtol=1e-12, atol=1e-12)
    assert layer.num_batches_tracked.item() == 1


def test_errors_of_norms_and_padding():
    F = torch.nn.functional
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        F.batch_norm(torch.ones(1, 3), None, None, training=True)
    with pytest.raises(ValueError, match=r"expected 2D or 3D input \(got 1D input\)"):
        torch.nn.BatchNorm1d(3)(torch.ones(3))
    with pytest.raises(RuntimeError, match="running_mean should contain 4 elements not 3"):
        torch.nn.BatchNorm1d(3)(torch.ones(3, 4))
    with pytest.raises(RuntimeError, match=r"Given normalized_shape=\[2\], expected input with shape \[\*, 2\]"):
        F.layer_norm(torch.ones(2, 3), (2,))
    with pytest.raises(RuntimeError, match="divisible by 2"):
        F.pad(torch.ones(3), (1,))
    with pytest.raises(RuntimeError, match="must be non-negative"):
        F.pad(torch.ones(3), (-2, -2))


def test_layer_norm_layer():
    x = RNG.normal(size=(4, 6))
    layer = torch.nn.LayerNorm(6, dtype=torch.float64)
    want = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(layer(torch.tensor(x)).detach().numpy(), want, rtol=1e-12, atol=1e-12)
    assert repr(layer) == "LayerNorm((6,), eps=1e-05, elementwise_affine=True, bias=True)"


@pytest.mark.parametrize("dtype, want", [(torch.float16, -2.609375), (torch.bfloat16, -2.609375)])
def test_norms_of_mixed_dtypes(dtype, want):
    F = torch.nn.functional
    x = torch.tensor([[1.0, 2.0, 7.5], [3.0, -1.0, 0.25]], dtype=dtype)
    w, b = torch.tensor([0.3, 1.7, -2.1], requires_grad=True), torch.tensor([0.1, 0.2, 0.33])
    y = F.layer_norm(x, (3,), w, b)  # rounded once, as PyTorch does
    assert y.dtype == dtype and y[0, 2].item() == want
    y.sum().backward()
    assert w.grad.dtype == torch.float32
    line = torch.zeros(3)
    assert F.batch_norm(x, line.clone(), line + 1, w, b, training=True).dtype == dtype
    assert F.batch_norm(x, line, line + 1).dtype == dtype
    for w, b, text in (
        (w.double(), b.double(), "mixed dtype (CPU): expect parameter to have scalar type of Float"),
        (w.to(dtype), b, f"expected scalar type {'Half' if dtype == torch.float16 else 'BFloat16'} but found Float"),
    ):
        for f in (lambda: F.layer_norm(x, (3,), w, b), lambda: F.batch_norm(x, None, None, w, b, training=True)):
            with pytest.raises(RuntimeError) as caught:
                f()
            assert str(caught.value) == text
    with pytest.raises(RuntimeError, match="all inputs must share same datatype"):
        F.layer_norm(x.double(), (3,), torch.ones(3))


def test_older_constructors():
    assert torch.Tensor(torch.Size([])).shape == torch.ones(2).new(torch.Size([])).shape == ()
    assert torch.FloatTensor(2, 3).shape == (2, 3)
    assert torch.LongTensor([1, 2]).dtype == torch.int64 and torch.LongTensor([1, 2]).tolist() == [1, 2]
    assert torch.DoubleTensor().tolist() == [] and torch.BoolTensor([1, 0]).tolist() == [True, False]
    assert isinstance(torch.ones(2), torch.FloatTensor) and not isinstance(torch.ones(2), torch.DoubleTensor)
    assert not isinstance(torch.ones(2, device="cuda"), torch.FloatTensor) and not isinstance(1.0, torch.FloatTensor)
    with pytest.raises(TypeError):
        torch.FloatTensor(torch.ones(2, dtype=torch.float64))
    assert torch.ones(2, dtype=torch.float64).type(torch.LongTensor).dtype == torch.int64


def test_older_constructors_on_a_gpu():
    of = torch.cuda
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="The torch.cuda.[*]DtypeTensor constructors are no longer recommended"):
            of.FloatTensor(2)
    finally:
        torch.set_warn_always(False)
    assert of.FloatTensor([1, 2]).device == torch.device("cuda:0") and of.LongTensor(2, 3).dtype == torch.int64
    assert of.HalfTensor.is_cuda and not torch.HalfTensor.is_cuda and of.HalfTensor.dtype == torch.float16
    x = torch.ones(2, device="cuda")
    assert isinstance(x, of.FloatTensor) and not isinstance(x.cpu(), of.FloatTensor) and not isinstance(x.double(), of.FloatTensor)
    assert torch.ones(2).type(of.DoubleTensor).type() == x.type("torch.cuda.DoubleTensor").type() == "torch.cuda.DoubleTensor"
    assert x.type(torch.IntTensor).device.type == "cpu" and repr(of.IntTensor) == "<class 'torch.cuda.IntTensor'>"
    with pytest.raises(RuntimeError, match="legacy constructor expects device type: cuda but device type: cpu was passed"):
        of.FloatTensor(2, device="cpu")
    try:
        torch.set_default_tensor_type("torch.cuda.HalfTensor")
        assert torch.ones(2).type() == torch.tensor([1.0]).type() == "torch.cuda.HalfTensor"
        assert torch.tensor([1]).type() == "torch.cuda.LongTensor"
    finally:
        torch.set_default_tensor_type(torch.FloatTensor)
    assert torch.ones(2).type() == "torch.FloatTensor"


@pytest.mark.parametrize("strides", [(6, 1, 2), (2, 6, 1), (10, 3, 1), (10, 0, 3), (10, 1, 1)])
def test_random_integers_lie_as_what_they_are_like(strides):
    x = torch.empty_strided((4, 3, 2), strides).fill_(1.0)
    y = torch.randint_like(x, 3, 9)
    assert y.stride() == torch.exp(x).stride() and not y._is_view() and y._version == 0 and set(y.flatten().tolist()) <= set(range(3, 9))
    assert torch.randint_like(x, 9, requires_grad=True).requires_grad


def test_warnings_of_data():
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="Creating a tensor from a list of numpy.ndarrays is extremely slow"):
            assert torch.tensor([np.array([0]), np.array([1])]).tolist() == [[0], [1]]
        with pytest.warns(UserWarning, match="The given buffer is not writable"):
            assert torch.frombuffer(b"ab", dtype=torch.uint8).tolist() == [97, 98]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            torch.frombuffer(bytearray(b"ab"), dtype=torch.uint8)
            torch.tensor([np.float32(1)]), torch.tensor(np.ones((2, 2))), torch.tensor([[1.0]])
    finally:
        torch.set_warn_always(False)


def test_what_is_a_view_of_what():
    x = torch.arange(6.0).reshape(2, 3).clone()
    for view in (x[0], x.T, x.view(6), x.unbind()[1], x.expand(2, 2, 3), x[..., None], x.split(1)[0], x[0][1:]):
        assert view._is_view() and view._base is x
    for own in (x, x.detach(), x.data, x + 1, x.clone(), x.index_select(0, torch.tensor([1])), torch.empty_strided((2,), (3,))):
        assert not own._is_view() and own._base is None
    y = torch.ones(2, 3, requires_grad=True)
    assert y[0]._base is y and y[0].detach()._base is None and torch.cuda.FloatTensor(2)[0]._is_view()


@pytest.mark.parametrize("size, dim, correction, warns", [
    ((1,), None, 1, True), ((4, 3), 0, 4, True), ((4, 3), 0, 4.5, True), ((4, 3), 0, 3.5, False), ((1, 3), 0, 0, False), ((0,), None, 0, True),
    ((4, 0), 0, 1, True), ((0, 4), 1, 1, True), ((), None, 1, True), ((), None, 0, False)])
def test_too_few_elements_to_vary(size, dim, correction, warns):
    for name in ("var", "std", "var_mean", "std_mean"):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            getattr(torch, name)(torch.ones(size), dim, correction=correction)
            getattr(torch, name)(torch.ones(size, device="meta"), dim, correction=correction)
        text = (f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel divided by "
                "output numel).")
        assert [str(w.message) for w in said] == [text] * warns
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning) if warns else contextlib.nullcontext():
            torch.ones(size).std(dim, correction=correction)


def test_shapes_change_in_place():
    x = torch.arange(6).reshape(1, 2, 3)
    place = x.data_ptr()
    assert x.squeeze_() is x and x.shape == (2, 3)
    assert x.t_() is x and x.tolist() == [[0, 3], [1, 4], [2, 5]] and x.stride() == (1, 3)
    assert x.unsqueeze_(0).shape == (1, 3, 2) and x.transpose_(0, 2).shape == (2, 3, 1) and x.squeeze_(2).shape == (2, 3)
    assert x.data_ptr() == place
    leaf = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        leaf.unsqueeze_(0)
    assert leaf.shape == (2,) and (leaf * 2).unsqueeze_(0).shape == (1, 2)
