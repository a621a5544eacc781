"""0-dim tensors with a dimension, empty views at the ends of their memory, dimensions of size 1 with any stride. Expected values
are PyTorch 2.15's."""
import os

import pytest

os.environ.setdefault("TENON_FAKE_GPUS", "2")
import tenon as torch  # noqa: E402

F = torch.nn.functional
DEVICES = ["cpu", "cuda"]

# what is called with a dimension, its result on tensor(3.), and the gradient of 5 * the result, where it has one
REDUCTIONS = {
    "sum": (lambda x, d: x.sum(d), 3.0, 5.0),
    "sum keepdim": (lambda x, d: x.sum(d, True), 3.0, 5.0),
    "mean": (lambda x, d: x.mean(d), 3.0, 5.0),
    "mean list": (lambda x, d: x.mean([d], keepdim=True), 3.0, 5.0),
    "prod": (lambda x, d: x.prod(d), 3.0, 5.0),
    "amax": (lambda x, d: x.amax(d), 3.0, 5.0),
    "amin": (lambda x, d: x.amin((d,)), 3.0, 5.0),
    "max": (lambda x, d: x.max(d).values, 3.0, 5.0),
    "min": (lambda x, d: x.min(d).values, 3.0, 5.0),
    "argmax": (lambda x, d: x.argmax(d), 0, None),
    "any": (lambda x, d: x.any(d), True, None),
    "var": (lambda x, d: x.var(d, correction=0), 0.0, 0.0),
    "logsumexp": (lambda x, d: x.logsumexp(d), 3.0, 5.0),
    "norm": (lambda x, d: torch.norm(x, 2, d), 3.0, 5.0),
    "cumsum": (lambda x, d: x.cumsum(d), 3.0, 5.0),
    "cumprod": (lambda x, d: x.cumprod(d), 3.0, 5.0),
    "softmax": (lambda x, d: x.softmax(d), 1.0, 0.0),
    "log_softmax": (lambda x, d: x.log_softmax(d), 0.0, 0.0),
    "flip": (lambda x, d: x.flip([d]), 3.0, 5.0),
    "flip twice": (lambda x, d: x.flip(d).flip(d), 3.0, 5.0),
    "sort": (lambda x, d: x.sort(d).values, 3.0, 5.0),
    "topk": (lambda x, d: x.topk(1, d).values, 3.0, 5.0),
    "squeeze": (lambda x, d: x.squeeze(d), 3.0, 5.0),
    "transpose": (lambda x, d: x.transpose(d, 0), 3.0, 5.0),
    "movedim": (lambda x, d: x.movedim(d, 0), 3.0, 5.0),
    "gather": (lambda x, d: x.gather(d, torch.tensor(0, device=x.device)), 3.0, 5.0),
    "index_select": (lambda x, d: x.index_select(d, torch.tensor([0], device=x.device)), 3.0, 5.0),
    "scatter_add": (lambda x, d: x.scatter_add(d, torch.tensor(0, device=x.device), x), 6.0, 10.0),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_dimension_of_none(name, dim, device):
    function, want, slope = REDUCTIONS[name]
    x = torch.tensor([7.0, 3.0, 9.0], device=device)[1].requires_grad_(slope is not None)
    result = function(x, dim)
    assert result.shape == () and result.item() == pytest.approx(want)
    if slope is not None:
        (5 * result).backward()
        assert x.grad.shape == () and x.grad.item() == pytest.approx(slope, abs=1e-6)


def test_a_dimension_of_none_where_there_must_be_one():
    x, zero = torch.tensor(1.5), torch.tensor(0)
    for call in (
        lambda: x.roll(1, 0),
        lambda: x.roll((1, 1), (-1, 0)),
        lambda: x.repeat_interleave(2, dim=0),
        lambda: x.repeat_interleave(torch.tensor([2]), dim=-1),
        lambda: x.take_along_dim(zero, 0),
        lambda: torch.tensor(3).softmax(1),
        lambda: x.sum(1),
        lambda: x.flip([1]),
    ):
        with pytest.raises(IndexError, match="Dimension (out of range|specified as .* but tensor has no dimensions)"):
            call()
    assert x.roll(1).item() == 1.5 and x.repeat_interleave(2).tolist() == [1.5, 1.5]
    for call in (lambda: x.sum([0, -1]), lambda: x.flip([0, 0]), lambda: x.logsumexp([0, 0])):
        with pytest.raises(RuntimeError, match="dim 0 appears multiple times in the list of dims"):
            call()


def test_prelu_of_none():
    x, w = torch.tensor(-2.0, requires_grad=True), torch.tensor([0.25], requires_grad=True)
    y = F.prelu(x, w)
    y.backward()
    assert y.shape == () and y.item() == -0.5 and x.grad.item() == 0.25 and w.grad.tolist() == [-2.0]
    with pytest.raises(RuntimeError, match="Expected `weight` to be a scalar or 1D tensor, but got: ndim = 2"):
        F.prelu(torch.ones(1, 1), torch.ones(1, 1))


@pytest.mark.parametrize("device", DEVICES)
def test_empty_views_at_both_ends(device):
    x = torch.arange(6.0, device=device).view(2, 3)
    for e in (x[2:], x[:0], x[1:1], x[:, 3:].t(), x[2:].flip(0)):
        assert e.data_ptr() == 0 and e.numel() == 0
        assert e.sum().item() == 0 and e.prod().item() == 1 and e.mean().isnan().item()
        assert e.any().item() is False and e.all().item() is True
        assert (e + 1).shape == e.shape and e.clone().shape == e.shape and e.cpu().tolist() == []
        assert e.sum(-1).tolist() == [0.0] * e.shape[0] and e.cumsum(-1).shape == e.softmax(0).shape == e.shape
        assert torch.cat([e, x.new_ones(1, e.shape[1])]).tolist() == [[1.0] * e.shape[1]] if e.shape[1] else True
        e += 1
        e.zero_()
        e.copy_(torch.ones_like(e))
    assert (x[2:].t() @ x[2:]).tolist() == [[0.0] * 3] * 3 and (x[2:] @ x.t()).shape == (0, 2)
    assert x[:, 3:].matmul(x[2:, :2].reshape(0, 4)).tolist() == [[0.0] * 4] * 2
    assert torch.sort(x[2:], 0).values.shape == (0, 3) and x[2:].nonzero().shape == (0, 2)
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


@pytest.mark.parametrize("device", DEVICES)
def test_strides_that_say_nothing(device):
    # x[1:] and x[:, :, 1:] are RuntimeErrors in PyTorch: the offset of what they do not show is too large for its numbers
    base = torch.arange(4.0, device=device)
    x = base.as_strided((1, 2, 1), (2**62, 1, 2**63 - 1), 1)
    assert (x * 2).tolist() == [[[2.0], [4.0]]] and x.sum((0, 2)).tolist() == [1.0, 2.0]
    assert x.unsqueeze(2).tolist() == [[[[1.0]], [[2.0]]]] and x.expand(3, 1, 2, 1).shape == (3, 1, 2, 1)
    assert x[1:].sum().item() == 0 and x[:, :, 1:].shape == (1, 2, 0) and x.diagonal(0, 0, 2).tolist() == [[1.0], [2.0]]
    assert x.flip(0, 1, 2).tolist() == [[[2.0], [1.0]]] and x.cumsum(0).softmax(2).tolist() == [[[1.0], [1.0]]]
    assert x.clone().stride() == x.double().stride() == x.stride() and x.contiguous().is_contiguous()
    assert torch.zeros(3, 4)[:, 4:].clone().stride() == (4, 1)
    assert torch.zeros(1).expand(1, 1, 1).stride() == (1, 1, 1) and torch.zeros(3, 4).expand(1, 3, 4).stride() == (12, 4, 1)
    assert torch.tensor(1).expand(1, 2, 1).stride() == (0, 0, 0)


def test_repeated_elements_have_memory_of_their_own():
    x = torch.tensor(1.5)
    for y in (x.repeat(3), x.tile(3), x.repeat_interleave(3), torch.ones(1, 1).repeat(1, 3), torch.tensor([1.5]).repeat_interleave(3, dim=0)):
        assert 0 not in y.stride()
        y.view(-1)[0] = 9.0
        assert y.view(-1)[1].item() != 9.0 and x.item() == 1.5


def test_nothing_to_work_on():
    m, e = torch.tensor([[0.0, 1.0]]), torch.zeros(0)
    assert torch.any(m, dim=()).tolist() == torch.all(m, dim=(), keepdim=True).tolist() == [[False, True]]
    assert torch.all(m.to(torch.uint8), dim=()).dtype == torch.uint8 and torch.any(e, dim=()).shape == (0,)
    ints = torch.zeros(0, dtype=torch.int64)
    assert torch.bincount(ints, e, minlength=2).dtype == torch.int64 and torch.bincount(ints, torch.ones(3)).shape == (0,)
    assert torch.ones(2).diff(0, prepend=torch.ones(2)).shape == (2,)
    assert torch.unique(torch.zeros(0, 3), dim=0).shape == (0, 3) and torch.unique(e, dim=0).shape == (0,)
    with pytest.raises(RuntimeError, match="There are 0 sized dimensions, and they aren't selected"):
        torch.unique_consecutive(torch.zeros(3, 0), dim=0)
    with pytest.raises(RuntimeError, match="Expect a 1D vector, but got shape"):
        torch.cartesian_prod(torch.tensor(1.0))
    x = torch.zeros(3, requires_grad=True)
    x[:0].as_strided((1,), (0,)).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("device", DEVICES)
def test_an_integer_of_no_dimensions_wraps_around_as_a_number_does(device):
    # it promotes nothing, and is one of the other's dtype before it divides
    u, below = torch.tensor([3, 5, 6], dtype=torch.uint8, device=device), torch.tensor(-3, device=device)
    i, above = torch.tensor([5, -7, 127], dtype=torch.int8, device=device), torch.tensor(300, device=device)
    for name, want in {"floor_divide": ([84, 50, 42], [0, -1, 2], [8, -7, 0]), "fmod": ([1, 3, 1], [5, -7, 39], [4, 2, 44]),
                       "remainder": ([1, 3, 1], [5, 37, 39], [4, -5, 44]), "maximum": ([253] * 3, [44, 44, 127], [44, 44, 127]),
                       "minimum": ([3, 5, 6], [5, -7, 44], [5, -7, 44])}.items():
        f = getattr(torch, name)
        assert (f(below, u).tolist(), f(i, above).tolist(), f(above, i).tolist()) == want, name
    assert torch.bitwise_left_shift(u, torch.tensor(257, device=device)).tolist() == [6, 10, 12]
    assert u.clone().floor_divide_(below).tolist() == [0, 0, 0]
    # and the dtype of a product between is the common one of all three
    x, a, h = torch.zeros(1, device=device), torch.tensor(1.43, device=device), torch.tensor([1.75], dtype=torch.float16, device=device)
    got = [torch.addcmul(x, a, h, value=3).item(), torch.addcdiv(x, a, h).item(), torch.addcmul(x, a, h).item()]
    assert got == pytest.approx([7.507499694824219, 0.8171428442001343, 2.50249981880188], rel=1e-6)
    whole = torch.zeros(2, dtype=torch.int64, device=device)
    assert torch.addcmul(whole, above, torch.tensor([1, 2], dtype=torch.int8, device=device), value=2).tolist() == [600, 1200]


@pytest.mark.parametrize("device", DEVICES)
def test_nothing_has_no_variance_whatever_the_correction(device):
    e = torch.zeros(2, 0, 3, device=device)
    for correction in (-3, 0, 1.5):
        for f in (torch.std, torch.var):
            assert f(e, None, correction=correction).isnan().item() and f(e, dim=1, correction=correction).isnan().all()
