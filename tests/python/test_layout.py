"""Functions of layout, pieces that are copies or may be written, gradients of values, windows, modules that pad and shuffle. Values and
errors are PyTorch's."""

import math

import pytest
import tenon as torch
from tenon import nn
from tenon.signal import windows


def error_of(call):
    with pytest.raises(Exception) as caught:
        call()
    return f"{type(caught.value).__name__}: {str(caught.value).splitlines()[0]}"


def test_dim_order_is_that_of_strides():
    assert torch.zeros(2, 3).dim_order() == (0, 1)
    assert torch.zeros(2, 3).t().dim_order() == (1, 0)
    assert torch.zeros(2, 3, 1).permute(2, 0, 1).dim_order() == (0, 1, 2)
    assert torch.zeros(2, 3, 4, 5).permute(0, 2, 3, 1).dim_order() == (0, 3, 1, 2)
    assert torch.zeros(2, 3).expand(4, 2, 3).dim_order() == (0, 1, 2)
    assert torch.zeros(()).dim_order() == ()
    assert torch.zeros(2, 3).dim_order(ambiguity_check=True) == (0, 1)
    said = "RuntimeError: The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
    assert error_of(lambda: torch.zeros(1, 1, 3).dim_order(ambiguity_check=True)) == said


def test_map_asks_a_function_of_python():
    x, y = torch.arange(6.0).reshape(2, 3), torch.arange(3.0)
    assert x.map_(y, lambda a, b: a + b) is x and x.tolist() == [[0, 2, 4], [3, 5, 7]]
    assert x.map2_(y, x, lambda a, b, c: a - b + c).tolist() == [[0, 3, 6], [6, 9, 12]]
    assert torch.zeros(2).bool().map_(torch.tensor([True, False]), lambda a, b: b).tolist() == [True, False]
    assert error_of(lambda: x.map_(3, max)) == "TypeError: map_(): argument 'other' (position 1) must be Tensor, not int"
    assert error_of(lambda: x.map_(x.double(), max)) == "TypeError: map_: expected torch.FloatTensor for 'other' (got torch.DoubleTensor)"
    assert error_of(lambda: x.map_(x, lambda a, b: "")) == "TypeError: must be real number, not str"
    assert error_of(lambda: x.requires_grad_().map_(x, max)).startswith("RuntimeError: Can't call map_() on Variable that requires grad.")


def test_is_nonzero():
    assert torch.tensor([1.0]).is_nonzero() and not torch.tensor(0).is_nonzero()
    assert error_of(lambda: torch.ones(2).is_nonzero()) == "RuntimeError: Boolean value of Tensor with more than one value is ambiguous"


def test_pieces_of_equal_size():
    x = torch.arange(6.0).reshape(2, 3)
    assert [p.tolist() for p in torch.hsplit(x, 3)] == [[[0], [3]], [[1], [4]], [[2], [5]]]
    assert [p.tolist() for p in x.hsplit((1,))] == [[[0], [3]], [[1, 2], [4, 5]]]
    assert [p.tolist() for p in torch.vsplit(x, 2)] == [[[0, 1, 2]], [[3, 4, 5]]]
    assert [p.shape for p in torch.dsplit(x.reshape(1, 2, 3), [1, 2])] == [(1, 2, 1)] * 3
    assert error_of(lambda: torch.hsplit(x, 2)) == ("RuntimeError: torch.hsplit attempted to split along dimension 1, but the size of the "
                                                    "dimension 3 is not divisible by the split_size 2!")
    assert error_of(lambda: torch.dsplit(x, 1)) == ("RuntimeError: torch.dsplit requires a tensor with at least 3 dimension, but got a "
                                                    "tensor with 2 dimensions!")
    assert error_of(lambda: torch.hsplit(x, -1)) == "RuntimeError: number of sections must be larger than 0, got -1"


def test_pieces_that_are_copies_or_may_be_written():
    x = torch.arange(6.0).reshape(2, 3)
    for pieces in (torch.split_copy(x, 1), torch.split_with_sizes_copy(x, [1, 1]), torch.unbind_copy(x)):
        assert isinstance(pieces, tuple) and [p.reshape(-1).tolist() for p in pieces] == [[0, 1, 2], [3, 4, 5]]
        assert all(not p._is_view() and p.data_ptr() != x[i].data_ptr() for i, p in enumerate(pieces))
    leaf = torch.ones(4, requires_grad=True)
    y = leaf * 1
    first, second = y.unsafe_chunk(2)
    first.mul_(3)
    (first.sum() + second.sum()).backward()
    assert leaf.grad.tolist() == [3, 3, 1, 1]
    assert [p.tolist() for p in torch.unsafe_split(x, 1)] == [[[0, 1, 2]], [[3, 4, 5]]]
    assert [p.shape for p in x.unsafe_split_with_sizes([1, 2], 1)] == [(2, 1), (2, 2)]


def test_embedding_without_a_padding_row():
    w = torch.arange(6.0).reshape(2, 3).requires_grad_()
    torch.embedding(w, torch.tensor([1, 1, 0])).sum().backward()
    assert w.grad.tolist() == [[1, 1, 1], [2, 2, 2]]
    w.grad = None
    torch.embedding(w, torch.tensor([1, 1, 0]), 1).sum().backward()
    assert w.grad.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_range_warns():
    with pytest.warns(UserWarning, match="torch.range is deprecated"):
        assert torch.range(0, 3).tolist() == [0, 1, 2, 3]


def test_gradient():
    x, y = torch.tensor([1.0, 2, 4, 8]), torch.arange(6.0).reshape(2, 3)
    places = torch.tensor([0.0, 1, 3, 4])
    assert torch.gradient(x)[0].tolist() == [1, 1.5, 3, 4]
    assert torch.gradient(x, edge_order=2)[0].tolist() == [0.5, 1.5, 3, 5]
    assert torch.gradient(x, spacing=(places,))[0].tolist() == pytest.approx([1, 1, 3, 4])
    assert torch.gradient(x, spacing=(places,), edge_order=2)[0].tolist() == pytest.approx([1, 1, 3, 5])
    rows, columns = torch.gradient(y, spacing=[2.0, 4.0])
    assert rows.tolist() == [[1.5] * 3] * 2 and columns.tolist() == [[0.25] * 3] * 2
    assert torch.gradient(torch.tensor(1.0)) == ()
    assert error_of(lambda: torch.gradient(y, dim=(0, 0))) == "RuntimeError: dim 0 appears multiple times in the list of dims"
    assert error_of(lambda: torch.gradient(y, dim=5)) == "IndexError: Dimension out of range (expected to be in range of [-2, 1], but got 5)"
    assert error_of(lambda: torch.gradient(y, edge_order=3)) == "RuntimeError: torch.gradient only supports edge_order=1 and edge_order=2."
    assert error_of(lambda: torch.gradient(y, edge_order=2)) == "RuntimeError: torch.gradient expected each dimension size to be at least edge_order+1"


@pytest.mark.parametrize("name, formula", [
    ("cosine", lambda i, n: math.sin(math.pi * (i + 0.5) / (n + 1))),
    ("exponential", lambda i, n: math.exp(-abs(i - n / 2))),
    ("gaussian", lambda i, n: math.exp(-((i - n / 2) ** 2) / 2)),
    ("bartlett", lambda i, n: 1 - abs(2 * i / n - 1)),
    ("hann", lambda i, n: math.sin(math.pi * i / n) ** 2),
    ("hamming", lambda i, n: 0.54 - 0.46 * math.cos(2 * math.pi * i / n)),
    ("blackman", lambda i, n: 0.42 - 0.5 * math.cos(2 * math.pi * i / n) + 0.08 * math.cos(4 * math.pi * i / n)),
    ("nuttall", lambda i, n: sum(a * math.cos(2 * math.pi * k * i / n) for k, a in enumerate((0.3635819, -0.4891775, 0.1365995, -0.0106411)))),
])  # fmt: skip
def test_windows(name, formula):
    make = getattr(windows, name)
    for length in (2, 5, 16):
        for sym in (True, False):
            last = length - 1 if sym else length
            want = [formula(i, last) for i in range(length)]
            assert make(length, sym=sym, dtype=torch.float64).tolist() == pytest.approx(want, abs=1e-12)
    assert make(0).tolist() == [] and make(1).tolist() == [1]
    assert make(3, requires_grad=True).requires_grad
    assert error_of(lambda: make(-1)).startswith("ValueError: ")
    assert "expects float32 or float64 dtypes, got: torch.int64" in error_of(lambda: make(3, dtype=torch.int64))


def test_windows_of_their_own():
    assert windows.kaiser(5, dtype=torch.float64).tolist() == pytest.approx(torch.kaiser_window(5, False, 12.0, dtype=torch.float64).tolist())
    assert windows.general_cosine(5, a=[0.46, 0.23, 0.31]).tolist() == pytest.approx([0.54, 0.15, 1, 0.15, 0.54], abs=1e-6)
    assert error_of(lambda: windows.general_cosine(5, a=[])) == "ValueError: Coefficients cannot be empty"
    assert error_of(lambda: windows.exponential(5, center=1.0)) == "ValueError: Center must be None for symmetric windows"
    assert error_of(lambda: windows.exponential(5, tau=-1.0)) == "ValueError: Tau must be positive, got: -1.0 instead."
    assert error_of(lambda: windows.gaussian(5, std=-1.0)) == "ValueError: Standard deviation must be positive, got: -1.0 instead."
    assert error_of(lambda: windows.kaiser(5, beta=-1.0)) == "ValueError: beta must be non-negative, got: -1.0 instead."


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_modules_that_pad(dims):
    x = torch.arange(2.0 * 3**dims).reshape(1, 2, *[3] * dims)
    pads = tuple(range(2 * dims)) if dims == 1 else (1, 0) * dims
    for name, mode in (("Zero", "constant"), ("Reflection", "reflect"), ("Replication", "replicate"), ("Circular", "circular")):
        of = getattr(nn, f"{name}Pad{dims}d")
        assert torch.equal(of(pads)(x), nn.functional.pad(x, pads, mode)) and of(pads).padding == pads
        assert torch.equal(of(1)(x), nn.functional.pad(x, (1, 1) * dims, mode))
        assert repr(of(1)) == f"{name}Pad{dims}d({(1, 1) * dims})"
    constant = getattr(nn, f"ConstantPad{dims}d")(1, 3.5)
    assert torch.equal(constant(x), nn.functional.pad(x, (1, 1) * dims, value=3.5))
    assert repr(constant) == f"ConstantPad{dims}d(padding={(1, 1) * dims}, value=3.5)"
    around = getattr(nn, f"CircularPad{dims}d")(1)
    assert error_of(lambda: around(torch.ones(2))) in (f"ValueError: expected {dims + 1}D or {dims + 2}D input (got 1D input)",)


def test_modules_that_shuffle():
    x = torch.arange(16.0).reshape(1, 4, 2, 2)
    assert torch.equal(nn.PixelUnshuffle(2)(nn.PixelShuffle(2)(x)), x)
    assert nn.ChannelShuffle(2)(x)[0, :, 0, 0].tolist() == [0, 8, 4, 12]
    assert [repr(m(2)) for m in (nn.PixelShuffle, nn.PixelUnshuffle, nn.ChannelShuffle)] == [
        "PixelShuffle(upscale_factor=2)", "PixelUnshuffle(downscale_factor=2)", "ChannelShuffle(groups=2)"]  # fmt: skip
