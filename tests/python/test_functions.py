"""Functions of torch that take their arguments in more than one way, or are put together from others; NumPy is the reference."""
import copy
import math
import pickle
import warnings

import numpy as np
import pytest

import tenon as torch
from on_gpus import on_gpus

RNG = np.random.default_rng(7)


def both(*shape):
    array = RNG.normal(size=shape)
    return array, torch.from_numpy(array)


# ---- einsum ----


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ba", [(2, 3)]),
        ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]),
        ("i,j->ij", [(2,), (3,)]),
        ("i,->i", [(3,), ()]),
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 3)]),
        ("b...ij->b...ji", [(2, 3, 4, 5)]),
        ("...i->...", [(2, 3, 4)]),
        ("ijk,ilm,njm,nlk,abc->", [(2, 3, 4), (2, 5, 6), (7, 3, 6), (7, 5, 4), (2, 2, 3)]),
        ("iij,jk->k", [(3, 3, 4), (4, 2)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        (" i j , j -> i ", [(2, 3), (3,)]),
    ],
)
def test_einsum(equation, shapes):
    arrays, tensors = zip(*(both(*s) for s in shapes))
    np.testing.assert_allclose(torch.einsum(equation, *tensors).numpy(), np.einsum(equation, *arrays), rtol=1e-12, atol=1e-12)


def test_einsum_lists_sizes_of_one_and_gradients():
    (a, x), (b, y) = both(2, 3), both(3, 4)
    np.testing.assert_allclose(torch.einsum(x, [0, 1], y, [1, 2], [2, 0]).numpy(), (a @ b).T, rtol=1e-12)
    np.testing.assert_allclose(torch.einsum("ij,jk->ik", [x, y]).numpy(), a @ b, rtol=1e-12)
    (c, z) = both(1, 4)
    np.testing.assert_allclose(torch.einsum("ij,jk->ik", x, z).numpy(), a.sum(1, keepdims=True) @ c, rtol=1e-12)
    x.requires_grad_()
    torch.einsum("ij,jk->", x, y).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.tile(b.sum(1), (2, 1)), rtol=1e-12)


@pytest.mark.parametrize(
    "equation, shapes, text",
    [
        ("ij->i", [(2, 3, 4)], "does not match the number of dimensions (3) for operand 0 and no ellipsis was given"),
        ("ij,jk->ik", [(2, 3), (2, 4)], "subscript j has size 2 for operand 1 which does not broadcast with previously seen size 3"),
        ("ij->k", [(2, 3)], "output subscript k does not appear in the equation for any input operand"),
        ("ij->ii", [(2, 3)], "output subscript i appears more than once in the output"),
        ("i,j->ij", [(2,)], "fewer operands were provided than specified in the equation"),
        ("i->i", [(2,), (3,)], "more operands were provided than specified in the equation"),
        ("i1->i", [(2, 3)], "invalid subscript given at index 1 in the equation string, subscripts must be in [a-zA-Z]"),
        ("ii->i", [(2, 3)], "subscript i is repeated for operand 0 but the sizes don't match, 3 != 2"),
    ],
)
def test_einsum_says_what_is_wrong(equation, shapes, text):
    with pytest.raises(RuntimeError) as error:
        torch.einsum(equation, *(torch.ones(s) for s in shapes))
    assert str(error.value).startswith("einsum(): ") and str(error.value).endswith(text)


# ---- max and min: a second tensor is no dimension ----


@pytest.mark.parametrize("name, best", [("max", np.maximum), ("min", np.minimum)])
def test_extreme_of_two_tensors(name, best):
    function = getattr(torch, name)
    x = torch.tensor([[3, 1, 2], [0, 5, 4]])
    for other in (torch.tensor(2), torch.tensor(0), torch.tensor([1, 2, 3]), torch.tensor(True)):
        assert function(x, other).tolist() == best(x.numpy(), other.numpy()).tolist()
        assert getattr(x, name)(other).tolist() == best(x.numpy(), other.numpy()).tolist()
    values, indices = function(x, 1)
    assert (values.tolist(), indices.tolist()) == (getattr(x.numpy(), name)(1).tolist(), getattr(x.numpy(), f"arg{name}")(1).tolist())
    assert function(x, dim=0, keepdim=True).values.shape == (1, 3)
    with pytest.raises(IndexError, match="Dimension out of range"):
        function(x, 2)


# ---- tensor_split ----


@pytest.mark.parametrize("where", [2, 3, (2,), (-2,), (1, 3), (3, 1), (-9, 9), (0, 5, 5)])
def test_tensor_split(where):
    array = np.arange(10).reshape(2, 5)
    want = np.array_split(array, where, 1)
    for given in (where, torch.tensor(where)):
        got = torch.tensor_split(torch.from_numpy(array), given, dim=1)
        assert [g.tolist() for g in got] == [w.tolist() for w in want]
    assert len(torch.from_numpy(array).tensor_split(where)) == len(want)


def test_tensor_split_refuses():
    x = torch.arange(5)
    name = "tensor_split expected tensor_indices_or_sections to "
    for given, text in [
        (torch.tensor([1.0]), "have dtype of long"),
        (torch.tensor([[1]]), "be a zero-dimensional or one-dimensional tensor, but got a tensor with 2 dims"),
    ]:
        with pytest.raises(RuntimeError) as error:
            torch.tensor_split(x, given)
        assert str(error.value).startswith(name + text)
    for n in (0, -1):
        with pytest.raises(RuntimeError, match=f"number of sections must be larger than 0, got {n}"):
            torch.tensor_split(x, n)


# ---- round, bits ----


@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 3])
def test_round_to_decimals(decimals):
    array = RNG.normal(scale=300, size=20)
    x = torch.from_numpy(array.copy())
    np.testing.assert_allclose(torch.round(x, decimals=decimals).numpy(), np.round(array, decimals), rtol=1e-15)
    assert x.round_(decimals=decimals) is x
    np.testing.assert_allclose(x.numpy(), np.round(array, decimals), rtol=1e-15)
    whole = torch.tensor([15, 25])
    if decimals:
        with pytest.raises(NotImplementedError, match="\"round_cpu\" not implemented for 'Long'"):
            whole.round(decimals=decimals)
    else:
        assert whole.round().tolist() == [15, 25]


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"])
def test_bits(name):
    reference = getattr(np, {"bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift"}.get(name, name))
    a, b = np.array([12, 10, -7]), np.array([1, 3, 2])
    x, y = torch.from_numpy(a.copy()), torch.from_numpy(b)
    function = getattr(torch, name)
    assert function(x, y).tolist() == getattr(x, name)(y).tolist() == reference(a, b).tolist()
    assert function(x, 2).tolist() == reference(a, 2).tolist()
    assert function(5, y).tolist() == reference(5, b).tolist()
    assert getattr(x, name + "_")(y) is x
    assert x.tolist() == reference(a, b).tolist()
    with pytest.raises(RuntimeError):
        function(torch.ones(2), torch.ones(2))


def test_bitwise_not():
    x = torch.tensor([0, 5, -1])
    assert torch.bitwise_not(x).tolist() == (~x).tolist() == [-1, -6, 0]
    assert torch.tensor([True, False]).bitwise_not().tolist() == [False, True]
    assert x.bitwise_not_() is x and x.tolist() == [-1, -6, 0]


# ---- torch.nn.functional ----


def test_normalize_by_the_number_of_elements():
    x = torch.tensor([[3.0, 0.0, -4.0], [0.0, 0.0, 5.0]])
    assert torch.nn.functional.normalize(x, p=0.0, dim=1).tolist() == [[1.5, 0.0, -2.0], [0.0, 0.0, 5.0]]


def test_hardtanh_keeps_integers():
    x = torch.tensor([-3, 0, 9])
    assert torch.nn.functional.hardtanh(x).tolist() == [-1, 0, 1]
    six = torch.nn.functional.relu6(x)
    assert six.dtype == torch.int64 and six.tolist() == [0, 0, 6]
    with pytest.raises(RuntimeError, match="Bool inputs not supported for hardtanh"):
        torch.nn.functional.hardtanh(torch.tensor([True]))


# ---- rows that the library got later ----


@pytest.mark.parametrize("name", ["tan", "asin", "acos", "atan", "arcsin", "arccos", "arctan", "sinh", "cosh", "exp2", "expm1"])
def test_unary(name):
    array = RNG.uniform(-0.9, 0.9, size=7)
    x = torch.from_numpy(array.copy())
    np.testing.assert_allclose(getattr(torch, name)(x).numpy(), getattr(np, name)(array), rtol=1e-14)
    assert getattr(x, name + "_")() is x
    np.testing.assert_allclose(x.numpy(), getattr(np, name)(array), rtol=1e-14)


def test_copies_beside_each_other():
    array = np.arange(6).reshape(2, 3)
    x = torch.from_numpy(array)
    assert x.repeat(2, 1, 2).tolist() == x.repeat((2, 1, 2)).tolist() == np.tile(array, (2, 1, 2)).tolist()
    assert torch.tile(x, (2,)).tolist() == np.tile(array, 2).tolist()
    assert torch.roll(x, 1).tolist() == np.roll(array, 1).tolist()
    assert x.roll((1, -1), (0, 1)).tolist() == np.roll(array, (1, -1), (0, 1)).tolist()
    assert x.repeat_interleave(2).tolist() == np.repeat(array, 2).tolist()
    assert x.repeat_interleave(torch.tensor([1, 2]), dim=0).tolist() == np.repeat(array, [1, 2], 0).tolist()


def test_argsort_takes_stable():
    x = torch.tensor([3, 1, 2, 1])
    assert torch.argsort(x).tolist() == x.argsort(stable=True).tolist() == [1, 3, 2, 0]
    assert x.argsort(dim=0, descending=True, stable=True).tolist() == [0, 2, 1, 3]


def test_sort_and_topk():
    array = RNG.normal(size=(3, 5))
    x = torch.from_numpy(array)
    values, indices = torch.sort(x, 1, descending=True)
    assert values.tolist() == (-np.sort(-array, 1)).tolist() and indices.tolist() == np.argsort(-array, 1).tolist()
    assert x.sort(stable=True, dim=0).indices.tolist() == np.argsort(array, 0, kind="stable").tolist()
    assert x.topk(2).values.tolist() == (-np.sort(-array, 1))[:, :2].tolist()
    assert torch.topk(x, 2, largest=False).indices.tolist() == np.argsort(array, 1)[:, :2].tolist()


def test_norm():
    x = torch.tensor([[3.0, 4.0], [6.0, 8.0]])
    assert torch.norm(x).item() == pytest.approx(math.sqrt(125))
    assert x.norm(dim=1).tolist() == [5.0, 10.0] and x.norm(1, 0, True).tolist() == [[9.0, 12.0]]
    assert x.norm(math.inf).item() == 8.0 and torch.norm(x, "fro", 1).tolist() == [5.0, 10.0]


def test_linalg():
    """Values: NumPy's."""
    a, b, c = RNG.normal(size=(4, 5)), RNG.normal(size=(5, 2)), RNG.normal(size=(2, 4))
    ta, tb, tc = map(torch.from_numpy, (a, b, c))
    close = lambda got, want: np.allclose(got.numpy(), want, rtol=1e-12, atol=1e-13)
    assert close(torch.linalg.multi_dot([ta, tb, tc]), a @ b @ c) and close(torch.chain_matmul(ta, tb, tc), a @ b @ c)
    out = torch.empty(4, 2, dtype=torch.float64)
    assert torch.linalg.multi_dot((ta, tb), out=out) is out and close(out, a @ b)
    assert close(torch.linalg.matrix_power(ta @ tb @ tc, 3), np.linalg.matrix_power(a @ b @ c, 3))
    assert close((tc @ ta @ tb).matrix_power(2), np.linalg.matrix_power(c @ a @ b, 2))
    assert close(torch.linalg.vecdot(ta, ta[0]), a @ a[0]) and close(torch.linalg.vecdot(ta, ta, dim=0), (a * a).sum(0))
    assert close(torch.linalg.cross(ta[:, :3], ta[:, 1:4]), np.cross(a[:, :3], a[:, 1:4]))
    assert close(torch.linalg.vander(ta[0], N=4), np.vander(a[0], 4, increasing=True))
    assert close(torch.vander(ta[0]), np.vander(a[0])) and close(torch.corrcoef(ta), np.corrcoef(a))
    assert close(torch.linalg.vector_norm(ta, 3, dim=1), np.linalg.norm(a, 3, axis=1))
    assert close(torch.linalg.vector_norm(ta), np.linalg.norm(a)) and close(torch.linalg.matmul(ta, tb), a @ b)
    assert torch.linalg.diagonal(ta, offset=1).tolist() == np.diagonal(a, 1).tolist()
    assert torch.inner(ta, ta[1]).shape == (4,) and close(torch.inner(ta, ta), np.inner(a, a))


def test_nuclear_norm():
    """Values: of [[3, 0], [4, 5]] the singular values are sqrt(45) and sqrt(5); errors: PyTorch 2.15's."""
    x = torch.tensor([[3.0, 0.0], [4.0, 5.0]], dtype=torch.float64)
    norm = math.sqrt(45) + math.sqrt(5)
    assert torch.norm(x, "nuc").item() == pytest.approx(norm, rel=1e-15)
    assert x.norm(p="nuc", dim=(1, 0), keepdim=True).tolist() == [[pytest.approx(norm, rel=1e-15)]]
    batch = RNG.normal(size=(4, 2, 3))
    want = np.linalg.svd(batch, compute_uv=False).sum(-1)
    assert torch.norm(torch.from_numpy(batch), "nuc", dim=[1, 2]).tolist() == pytest.approx(want.tolist(), rel=1e-13)
    want = np.linalg.svd(batch.transpose(1, 0, 2), compute_uv=False).sum(-1)
    got = torch.norm(torch.from_numpy(batch), "nuc", dim=(0, -1), keepdim=True)
    assert got.shape == (1, 2, 1) and got.flatten().tolist() == pytest.approx(want.tolist(), rel=1e-13)
    out = torch.empty((), dtype=torch.float64)
    assert torch.norm(x.float(), "nuc", dtype=torch.float64, out=out) is out and out.item() == pytest.approx(norm, rel=1e-15)
    assert torch.norm(torch.zeros(0, 3), "nuc").item() == 0 and torch.norm(torch.ones(2, 0, 3), "nuc", (1, 2)).tolist() == [0, 0]
    assert torch.norm(torch.empty(2, 5, 3, device="meta"), "nuc", (0, 1)).shape == (3,)


def test_gradient_of_the_nuclear_norm():
    array = RNG.normal(size=(3, 5))
    x = torch.from_numpy(array).requires_grad_()
    norm = torch.norm(x, "nuc")
    assert norm.grad_fn.name() == "SumBackward1"
    (grad,) = torch.autograd.grad(norm, x, create_graph=True)
    u, _, v = np.linalg.svd(array, full_matrices=False)
    assert np.abs(grad.detach().numpy() - u @ v).max() < 1e-13
    with pytest.raises(RuntimeError, match="derivative for polar is not implemented"):
        grad.sum().backward()


@pytest.mark.parametrize("call, error, text", [
    (lambda x: torch.norm(torch.ones(3), "nuc"), RuntimeError, "The input tensor A must have at least 2 dimensions."),
    (lambda x: torch.norm(x, "nuc"), RuntimeError, "linalg.matrix_norm: dim must be a 2-tuple. Got 0 1 2"),
    (lambda x: torch.norm(x, "nuc", dim=1), RuntimeError, "linalg.matrix_norm: dim must be a 2-tuple. Got 1"),
    (lambda x: torch.norm(x, "nuc", dim=()), RuntimeError, "linalg.matrix_norm: dim must be a 2-tuple. Got "),
    (lambda x: torch.norm(x, "nuc", dim=(1, -2)), RuntimeError, "dims must be different. Got (1, 1)"),
    (lambda x: torch.norm(x, "nuc", dim=(1, 5)), IndexError,
     "Dimension out of range (expected to be in range of [-3, 2], but got 5)"),
    (lambda x: torch.norm(x[0].half(), "nuc"), NotImplementedError, "Low precision dtypes not supported. Got Half"),
    (lambda x: torch.norm(x[0].long(), "nuc"), NotImplementedError,
     "linalg.matrix_norm: Expected a floating point or complex tensor as input. Got Long"),
    (lambda x: torch.norm(x[0], "nuc", dtype=torch.int64), RuntimeError,
     "linalg.matrix_norm: dtype should be floating point or complex, but got Long"),
    (lambda x: torch.norm(x[0] * math.nan, "nuc"), RuntimeError,
     "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."),
    (lambda x: torch.norm(x, "foo"), RuntimeError, "linalg.matrix_norm: Order foo not supported."),
])
def test_nuclear_norm_fails(call, error, text):
    with pytest.raises(error) as raised:
        call(torch.ones(2, 3, 4))
    assert text in str(raised.value)


def test_gelu():
    x = torch.tensor([-1.0, 0.0, 2.0], dtype=torch.float64)
    exact = [v * 0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x.tolist()]
    assert torch.nn.GELU()(x).tolist() == pytest.approx(exact, abs=1e-12)
    near = [0.5 * v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))) for v in x.tolist()]
    assert torch.nn.functional.gelu(x, approximate="tanh").tolist() == pytest.approx(near, abs=1e-12)
    assert repr(torch.nn.GELU("tanh")) == "GELU(approximate='tanh')"
    with pytest.raises(RuntimeError, match="approximate argument must be either none or tanh."):
        torch.nn.functional.gelu(x, approximate="x")


def test_repeats_beyond_all_memory():
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        torch.ones(24).repeat_interleave(2**62)
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        torch.ones(3).repeat(2**62)
    with pytest.raises(RuntimeError, match="repeats sum to more than a tensor can hold"):
        torch.ones(2).repeat_interleave(torch.tensor([2**62, 2**62 - 1]))
    assert torch.ones(0).repeat(2**62).shape == (0,)


def test_in_place_calls_that_fail_change_nothing():
    x = torch.ones(2, 2)
    with pytest.raises(RuntimeError):
        x.addmm_(torch.ones(2, 3), torch.ones(2, 3), beta=5)
    assert x.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    x.addmm_(torch.ones(2, 3), torch.ones(3, 2), beta=2, alpha=3)
    assert x.tolist() == [[11.0, 11.0], [11.0, 11.0]]
    i = torch.tensor([1, 5, 9])
    with pytest.raises(RuntimeError, match="result type"):
        i.clamp_(3, 6.5)
    assert i.tolist() == [1, 5, 9] and i.clamp_(3, 6).tolist() == [3, 5, 6]


def test_out_is_for_functions_not_for_methods():
    x, o = torch.tensor([3.0, 4.0]), torch.empty(2)
    for method in (lambda: x.add(1, out=o), lambda: x.hypot(x, out=o), lambda: x.exp(out=o), lambda: x.deg2rad_(out=o), lambda: x.mul_(2, out=o)):
        with pytest.raises(TypeError, match="got an unexpected keyword argument 'out'|takes no keyword arguments|invalid combination of arguments"):
            method()
    pair = (torch.empty(0), torch.empty(0, dtype=torch.int64))
    for function in (torch.sort, torch.max, torch.min, torch.topk):
        got = function(x.clone(), 1, out=pair) if function is torch.topk else function(x.clone(), 0, out=pair)
        assert type(got).__name__ == function.__name__ and got[0] is pair[0] and got.indices is pair[1]
    with pytest.raises(TypeError, match="^expected tuple of 2 elements but got 1$"):
        torch.sort(x, out=(o,))
    with pytest.raises(TypeError, match=r"^hypot\(\): argument 'out' must be Tensor, not tuple$"):
        torch.hypot(x, x, out=(o,))
    with pytest.raises(RuntimeError, match="^result type Float can't be cast to the desired output type Long$"):
        torch.hypot(x, x, out=torch.empty(2, dtype=torch.int64))
    with pytest.raises(RuntimeError, match=r"^hypot\(\): functions with out=... arguments don't support automatic differentiation"):
        torch.hypot(x.clone().requires_grad_(), x, out=o)
    with pytest.raises(RuntimeError, match=r"^output with shape \[2\] doesn't match the broadcast shape \[3, 2\]$"):
        x.hypot_(torch.ones(3, 2))
    with pytest.raises(RuntimeError, match=r"^output with shape \[2\] doesn't match the broadcast shape \[3, 2\]$"):
        x.lerp_(torch.ones(3, 2), 0.5)
    with pytest.raises(RuntimeError, match="^Bad in-place call: input tensor size .2. and output tensor size .3, 2. should match$"):
        x.addmm_(torch.ones(3, 4), torch.ones(4, 2))
    assert torch.equal(torch.tensor([3, 4]).eq_(3), torch.tensor([1, 0]))
# ---- what PyTorch's own tests asked for (scripts/torch-tests) ----


@pytest.mark.parametrize("name", ["hstack", "vstack", "dstack", "column_stack"])
def test_stacks_take_tuples_of_tensors(name):
    stack = getattr(torch, name)
    with pytest.raises(TypeError, match=rf"^{name}\(\): argument 'tensors' \(position 1\) must be tuple of Tensors, not Tensor$"):
        stack(torch.ones(2, 2))
    with pytest.raises(TypeError, match="^expected Tensor as element 1 in argument 0, but got int$"):
        stack((torch.ones(2), 5))
    with pytest.raises(RuntimeError, match=f"^{name} expects a non-empty TensorList$"):
        stack(())


@pytest.mark.parametrize("call, error, text", [
    (lambda x: torch.movedim(x, (0, 0), (0, 1)), RuntimeError, "movedim: repeated dim in `source` ([0, 0])"),
    (lambda x: torch.movedim(x, (0, 1), (1, 1)), RuntimeError, "movedim: repeated dim in `destination` ([1, 1])"),
    (lambda x: torch.tensor(1.0).tensor_split(10, 0), RuntimeError,
     "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"),
    (lambda x: torch.broadcast_shapes(1.5), RuntimeError,
     "Input shapes should be of type ints, a tuple of ints, or a list of ints, got 1.5"),
    (lambda x: x.half().uniform_(-1e5, 1e5), RuntimeError, "from is out of bounds for c10::Half"),
    (lambda x: x.uniform_(0, 1e39), RuntimeError, "to is out of bounds for float"),
    (lambda x: x.uniform_(-3e38, 3e38), RuntimeError,
     "uniform_ expects to-from <= std::numeric_limits<Float>::max(), but found to=3e+38 and from=-3e+38 which result in to-from "
     "to exceed the limit")])
def test_errors_as_pytorch_says_them(call, error, text):
    with pytest.raises(error) as caught:
        call(torch.ones(2, 3, 4))
    assert str(caught.value) == text


@pytest.mark.parametrize("shape, to, strides", [
    ((5,), (1, 1, 5), (5, 5, 1)), ((5,), (2, 1, 5), (0, 5, 1)), ((1, 5), (1, 1, 5), (5, 5, 1)), ((3, 1), (1, 3, 4), (3, 1, 0)),
    ((1,), (1, 1, 1), (1, 1, 1)), ((), (1, 1), (0, 0)), ((5,), (3, 5), (0, 1))])
def test_a_new_dimension_of_one_is_as_unsqueeze_makes_it(shape, to, strides):
    assert torch.ones(shape).expand(to).stride() == strides


def test_ravel_is_contiguous():
    x = torch.arange(10)[::2]
    assert x.ravel().is_contiguous() and x.ravel().tolist() == [0, 2, 4, 6, 8]
    y = torch.arange(6).view(2, 3)
    assert y.ravel().data_ptr() == y.data_ptr()


def test_older_constructors_take_the_cpu():
    assert torch.LongTensor(2, device="cpu").shape == (2,)
    with pytest.raises(RuntimeError, match="legacy constructor expects device type: cpu but device type: meta was passed"):
        torch.FloatTensor(2, device="meta")


@pytest.mark.parametrize("call, error, text", [
    (lambda: torch.diff(torch.ones(3), prepend=torch.ones(2, 2)), RuntimeError,
     "diff expects prepend or append to be the same dimension as input"),
    (lambda: torch.diff(torch.ones(3, 4), dim=0, prepend=torch.ones(2, 3)), RuntimeError,
     "diff expects the shape of tensor to prepend or append to match that of input except along the differencing dimension; "
     "input.size(1) = 4, but got tensor.size(1) = 3"),
    (lambda: torch.ones(6).unflatten("a", (2, 3)), TypeError, "unflatten(): argument 'dim' (position 1) must be int, not str"),
    (lambda: torch.ones(6).unflatten(0, ("b", 2)), TypeError,
     "unflatten(): argument 'sizes' (position 2) must be tuple of ints, but found element of type str at pos 0"),
    (lambda: torch.ones(6).unflatten(0, ()), RuntimeError, "unflatten: sizes must be non-empty"),
    (lambda: torch.ones(3).type(float), ValueError, "invalid type: 'float'")])
def test_errors_of_shapes_and_types(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


def test_small_things_of_tensors():
    assert torch.ones(3, 4).new(size=(2,)).shape == (2,) and torch.ones(3, 4).stride(dim=-1) == 1
    assert torch.ones(3).type(torch.Tensor).dtype is torch.float32
    assert torch.zeros(3)[3:].data_ptr() == 0 and torch.zeros(2, 0).data_ptr() == 0
    assert torch.tensor([2**64, 1.5]).tolist() == [2.0**64, 1.5] and torch.tensor(2**64, dtype=torch.float64).item() == 2.0**64


def test_copies_keep_the_order_of_dimensions():
    x = torch.ones(4, 6)[::2].t()
    assert [y.stride() for y in (x.clone(), x.double(), torch.empty_like(x), x.abs())] == [(1, 6)] * 4
    assert torch.ones(4, 6)[:, ::2].clone().stride() == (3, 1) and torch.ones(3, 1).expand(3, 4).clone().stride() == (4, 1)


def test_strides_of_new_tensors_are_pytorchs():
    """Of elementwise results, copies, sorts and gradients: also in dimensions of one element and of none."""
    x = torch.zeros(2, 3, 4)
    gap = x[:, ::2].transpose(0, 2)  # not dense
    row = torch.zeros(1, 4).mT  # contiguous, with strides (1, 4)
    empty = torch.zeros(0, 3).transpose(1, 0)
    assert [t.stride() for t in (gap.clone(), gap + 1, gap.double(), torch.zeros_like(gap))] == [(1, 4, 8)] * 4
    assert [t.stride() for t in (row > 0, row.neg(), row.clone(), row * row, row.pow(2))] == [(1, 4), (1, 1), (1, 4), (1, 1), (1, 1)]
    assert [t.stride() for t in (empty - 4, empty.neg(), empty.clone())] == [(1, 3), (1, 1), (1, 3)]
    assert [t.stride() for t in x.transpose(0, 2).sort(1)] == [(1, 4, 12)] * 2
    assert torch.ones(2, 3).nonzero().stride() == (1, 6) and torch.zeros(2, 3).nonzero().stride() == (1, 0)
    assert torch.zeros(1, 3).diag_embed(dim1=0).stride() == (3, 3, 1)
    leaf = torch.zeros(2, 3, requires_grad=True)
    (leaf.t() * torch.ones(3, 2)).sum().backward()
    assert leaf.grad.stride() == (3, 1)
    turned = torch.zeros(3, 2).t().requires_grad_()
    turned.backward(torch.ones(2, 3))
    assert turned.grad.stride() == (1, 2)


@pytest.mark.parametrize("copy", [lambda x: x.repeat(1), lambda x: x.tile([1]), lambda x: x[:1].tile([2]), lambda x: x.repeat_interleave(1),
                                  lambda x: x[::2].ravel()])  # fmt: skip
def test_a_copy_shares_no_memory(copy):
    x = torch.zeros(4)
    copy(x).fill_(1)
    assert x.tolist() == [0, 0, 0, 0]


def test_round_with_decimals_of_16_bits():
    """x * 10^d is taken in float32, where float16 has no room for it."""
    x = torch.tensor([2.7949, 1.005, -3.335, 100.25, 0.0449], dtype=torch.float16)
    assert torch.round(x, decimals=2).tolist() == [2.7890625, 1.0, -3.33984375, 100.25, 0.040008544921875]
    assert torch.round(x, decimals=5).tolist() == x.tolist()
    y = torch.tensor([2.7949, -3.335], dtype=torch.bfloat16)
    assert torch.round(y, decimals=2).tolist() == [2.796875, -3.328125] and torch.round(y, decimals=5).tolist() == y.tolist()


def test_round_with_decimals_writes_once():
    x = torch.tensor([1.2345, -0.5])
    assert x.round_(decimals=2).tolist() == pytest.approx([1.23, -0.5]) and x._version == 1


def test_out_of_ranges_keeps_its_shape(device="cpu"):
    """arange, linspace and logspace fill what has as many elements, in the order of its dimensions."""
    x = torch.zeros(2, 3, device=device)
    out = x[:, 1:]
    assert torch.arange(4, out=out) is out and x.tolist() == [[0, 0, 1], [0, 2, 3]]
    torch.linspace(4, 1, 4, out=out)
    assert x.tolist() == [[0, 4, 3], [0, 2, 1]]
    torch.logspace(0, 3, 4, base=2, out=out)
    assert x.tolist() == [[0, 1, 2], [0, 4, 8]]
    whole = torch.zeros(2, dtype=torch.int64, device=device)
    with pytest.warns(UserWarning, match=r"^The number of elements in the out tensor of shape \[2\] is 2 which does not match the computed "
                      r"number of elements 3\..*resized to a tensor of shape \(3,\)\.$"):
        torch.arange(3, out=whole)
    assert torch.logspace(0, 3, 4, base=2, out=whole).tolist() == [1, 2, 4, 8] and torch.linspace(0, 3, 2, out=whole).tolist() == [0, 3]
    for fill in (torch.arange, lambda n, out: torch.linspace(0, 1, n, out=out), lambda n, out: torch.logspace(0, 1, n, out=out)):
        with pytest.raises(RuntimeError, match="^unsupported operation: more than one element of the written-to"):
            fill(4, out=torch.zeros(1, device=device).expand(4))
    made = torch.zeros(0, device=device)
    assert torch.full((2,), 5.0, out=made, requires_grad=True).requires_grad and made.tolist() == [5, 5]


def test_ends_of_linspace_are_numbers_or_0d():
    end = torch.tensor(3, dtype=torch.int64)
    for start in (0, torch.tensor(0.0, requires_grad=True)):
        r, power = torch.linspace(start, end, 4), torch.logspace(start, end, 4, base=2)
        assert r.tolist() == [0, 1, 2, 3] and power.tolist() == [1, 2, 4, 8] and not r.requires_grad and not power.requires_grad
    with pytest.raises(RuntimeError, match=r"got start with 0 dimension\(s\) and end with 1 dimension\(s\)\.$"):
        torch.linspace(end, torch.ones(1), 2)
    for function in (torch.linspace, torch.logspace):
        with pytest.raises(RuntimeError, match=f"^{function.__name__} only supports 0-dimensional .* but got end with 2 dim"):
            function(0, torch.ones(1, 1), 2)


V = torch.arange(1, 10)


@pytest.mark.parametrize("call, error, text", [
    (lambda: torch.nonzero(V, as_tuple=True, out=V.clone()), RuntimeError, "nonzero does not support the out kwarg when as_tuple is True"),
    (lambda: torch.nonzero(V, out=torch.zeros(())), RuntimeError,
     "nonzero: Expected out tensor to have scalar type Long but got scalar typeFloat"),
    (lambda: V.roll(()), RuntimeError, "`shifts` required"), (lambda: V.roll((), 0), RuntimeError, "`shifts` required"),
    (lambda: V.tensor_split(torch.tensor(1.5)), RuntimeError,
     "tensor_split expected tensor_indices_or_sections to have dtype of long, but got Float"),
    (lambda: torch.searchsorted(V, V, out=V.int()), RuntimeError,
     "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag is "
     "True, but we got output tensor's dtype Int and out_int32 flag is False"),
    (lambda: torch.searchsorted(V, V, sorter=V[:3]), RuntimeError,
     "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor [9]and got sorter tensor [3]"),
    (lambda: torch.searchsorted(V, V, sorter=V.float()), RuntimeError,
     "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype Float"),
    (lambda: torch.searchsorted(V, 2, sorter=V), RuntimeError, "torch.searchsorted(): sorter index out of range"),
    (lambda: torch.searchsorted(V.view(3, 3), 1), RuntimeError,
     "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries tensor dim(2) and "
     "input value's dim(0) numel(1)"),
    (lambda: torch.multinomial(torch.ones(3), 2, out=torch.ones(2)), RuntimeError, "multinomial expects Long tensor out, got: Float"),
    (lambda: V.clone().apply_(lambda v: "a"), TypeError, "'str' object cannot be interpreted as an integer"),
    (lambda: torch.arange(1.175494351e-38, 3.402823466e38), RuntimeError, "invalid size, possible overflow?"),
    (lambda: type("F", (torch.FloatTensor,), {}), TypeError, "type 'torch.FloatTensor' is not an acceptable base type"),
    (lambda: torch.Tensor(2, device="cuda"), RuntimeError, "legacy constructor expects device type: cpu but device type: cuda was passed"),
    (lambda: V.new((2,), device="cuda"), RuntimeError, "legacy constructor expects device type: cpu but device type: cuda was passed"),
    (lambda: torch.Tensor(V, device="cpu"), RuntimeError, "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not "
     "supported.  Use torch.tensor(...) or torch.as_tensor(...) instead."),
    (lambda: V.new(V, device="cpu"), RuntimeError, "Legacy tensor new of the form tensor.new(tensor, device=device) is not supported.  Use "
     "torch.as_tensor(...) instead.")])  # fmt: skip
def test_refusals_are_pytorchs(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).split("\n")[0] == text


BETWEEN_DEVICES = [
    (lambda: torch.multinomial(torch.ones(3), 2, out=V.cuda()), RuntimeError,
     "Expected all tensors to be on the same device, but found at least two devices, cpu and cuda:0!"),
    (lambda: torch.take_along_dim(V, V.cuda(), 0), RuntimeError,
     "Expected tensor to have cpu Device, but got tensor with cuda:0 Device (while checking arguments for torch.take_along_dim())"),
    (lambda: torch.asarray(V.cuda(), device="cuda:1", copy=False), ValueError, "can't alias tensor from device 'cuda:0' to 'cuda:1'."),
]


@on_gpus(2)
def test_between_devices():
    from test_functions import BETWEEN_DEVICES, V, test_out_of_ranges_keeps_its_shape, test_refusals_are_pytorchs

    test_out_of_ranges_keeps_its_shape("cuda")
    for call, error, text in BETWEEN_DEVICES:
        test_refusals_are_pytorchs(call, error, text)
    with torch.device("cuda"):
        for data in (3, V, V.numpy(), [1, 2]):
            assert torch.asarray(data).device.type == torch.as_tensor(data).device.type == torch.tensor(data).device.type == "cuda"


def test_searchsorted_halves_as_pytorch_does():
    nan, rows = math.nan, torch.tensor([[[1, 3, 5], [2, 4, 6]], [[1, 2, 3], [4, 5, 6]]]).permute(2, 1, 0)
    assert torch.searchsorted(torch.tensor([1, 3, 2, 4, 0]), torch.tensor([2, 3, 1, 0, 5])).tolist() == [1, 5, 0, 0, 5]  # in no order
    assert torch.searchsorted(rows.double(), rows.int()).tolist() == [[[0, 0], [0, 1]], [[2, 0], [0, 1]], [[2, 0], [0, 0]]]
    for right in (False, True):
        assert torch.searchsorted(torch.tensor([0.0, 1, nan]), torch.tensor([2.0, nan, 0.5]), right=right).tolist() == [3, 3, 1]
    assert torch.searchsorted(torch.tensor([3, 1, 2]), 2, sorter=torch.tensor([1, 2, 0])).item() == 1
    assert torch.bucketize(V, V[::2], right=True, out_int32=True).tolist() == [1, 1, 2, 2, 3, 3, 4, 4, 5]
    assert torch.searchsorted(torch.ones(0), torch.ones(2)).tolist() == [0, 0] and torch.searchsorted(V, torch.ones(0)).shape == (0,)


def test_data_that_is_no_list():
    class Sequence:
        def __len__(self):
            return 3

        def __getitem__(self, i):
            raise TypeError

    with pytest.raises(ValueError, match="^could not determine the shape of object type 'Sequence'$"):
        torch.tensor(Sequence())
    itself = [0]
    itself.append(itself)
    for data in (itself, [[1, 2], itself]):
        with pytest.raises(TypeError, match=r"^new\(\): self-referential lists are incompatible$"):
            torch.tensor(data)
    array = np.arange(3.0)
    array.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.tensor(array).tolist() == [0, 1, 2]  # copied: nothing to warn of
    size = torch.Size((2, 3))
    assert type(pickle.loads(pickle.dumps(size))) is torch.Size and pickle.loads(pickle.dumps(size)) == copy.copy(size) == size


# ---- out= that shows memory of the input ----

# PyTorch clears its out before it reads the input, so that these come out by whatever was overwritten (sum(l, -1, out=l[:, 0]): 6,
# 18, 30); here the input is read first
OVER = {
    "sum": (lambda l, o: torch.sum(l, -1, out=o), 0, [6.0, 22.0, 38.0]),
    "sum of a part": (lambda l, o: torch.sum(l[:, 1:], -1, out=o), 0, [6.0, 18.0, 30.0]),
    "mean": (lambda l, o: torch.mean(l, -1, out=o), 0, [1.5, 5.5, 9.5]),
    "prod": (lambda l, o: torch.prod(l, -1, out=o), 2, [0.0, 840.0, 7920.0]),
    "amax": (lambda l, o: torch.amax(l, -1, out=o), 0, [3.0, 7.0, 11.0]),
    "matmul": (lambda l, o: torch.matmul(l[:, :3], l[:3, 3], out=o), 0, [29.0, 113.0, 197.0]),
    "expanded": (lambda l, o: torch.sum(l[:, 2:3].expand(3, 4), -1, out=o), 2, [8.0, 24.0, 40.0]),
}


@pytest.mark.parametrize("name", OVER)
def test_out_that_shows_the_input(name):
    function, column, want = OVER[name]
    l = torch.arange(12.0).view(3, 4)
    rest = [c for c in range(4) if c != column]
    assert function(l, l[:, column]).tolist() == want and l[:, column].tolist() == want
    assert l[:, rest].tolist() == torch.arange(12.0).view(3, 4)[:, rest].tolist()


def test_out_that_is_the_input_itself():
    l = torch.arange(12.0).view(3, 4)
    assert torch.sum(l, -1, out=l) is l and l.tolist() == [6.0, 22.0, 38.0]
    x = torch.tensor(3.0)
    assert torch.sum(x, -1, out=x) is x and x.item() == 3.0


I = torch.tensor([2, 1, 0, 3])
ONES = torch.ones(4)
# which sharing PyTorch refuses: of the first tensor 'p'art or 'a'll of it, of the others
SHARING = {
    "gather": (lambda x, o: torch.gather(x, 0, I, out=o), "pa"),
    "gather by": (lambda x, o: torch.gather(I, 0, x, out=o), "p"),
    "scatter": (lambda x, o: torch.scatter(x, 0, I, ONES, out=o), "p"),
    "scatter src": (lambda x, o: torch.scatter(ONES, 0, I, x, out=o), "pa"),
    "scatter_add": (lambda x, o: torch.scatter_add(x, 0, I, ONES, out=o), "p"),
    "index_add src": (lambda x, o: torch.index_add(ONES, 0, I, x, out=o), "pa"),
    "index_copy": (lambda x, o: torch.index_copy(x, 0, I, ONES, out=o), "p"),
    "index_select": (lambda x, o: torch.index_select(x, 0, I, out=o), "pa"),
    "take_along_dim": (lambda x, o: torch.take_along_dim(x, I, 0, out=o), "pa"),
    "masked_select": (lambda x, o: torch.masked_select(x, ONES > 0, out=o), "pa"),
    "cat": (lambda x, o: torch.cat([x], out=o), "pa"),
    "cumsum": (lambda x, o: torch.cumsum(x, 0, out=o), "p"),
    "where": (lambda x, o: torch.where(I > 1, x, ONES, out=o), "p"),
    "sort": (lambda x, o: torch.sort(x, out=(o, I.clone())), "p"),
    "max": (lambda x, o: torch.max(x.view(2, 2), 0, out=(o[:2], I[:2].clone())), "pa"),
    "frac": (lambda x, o: torch.frac(x, out=o), "p"),
    "softmax": (lambda x, o: torch.softmax(x, 0, out=o), ""),
}


@pytest.mark.parametrize("name", SHARING)
def test_out_that_would_be_read_while_it_is_written(name):
    function, refused = SHARING[name]
    for which, at in (("p", 1), ("a", 0)):
        memory = torch.tensor([0, 1, 2, 3, 0]) if name == "gather by" else torch.tensor([0.5, 1, 2, 3, 4])
        x, out = memory[:4], memory[at : at + 4]
        if which in refused:
            with pytest.raises(RuntimeError, match="^unsupported operation: some elements of the input tensor and the written-to tensor refer"):
                function(x, out)
        else:
            want = function(x.clone(), torch.empty_like(out))
            got = function(x, out)
            assert torch.equal(*((got, want) if isinstance(got, torch.Tensor) else (got[0], want[0])))


def test_unique_of_what_requires_grad_is_no_view():
    x = torch.tensor([[2.0, 1.0, 2.0]], requires_grad=True)
    for kw in ({}, {"dim": 1}):
        u = x.unique(**kw)
        assert u.mul_(2).flatten().tolist() == [2.0, 4.0] and u.grad_fn is not None


def test_result_type_takes_pytorchs_names():
    whole = torch.ones(2, dtype=torch.int8)
    assert torch.result_type(tensor=whole, other=2.0) is torch.float32 and torch.result_type(scalar=2, tensor=whole) is torch.int8
    assert torch.result_type(scalar1=1, scalar2=2) is torch.int64


def test_every_bfloat16_as_int32_and_float64():
    """Truncated, the limits beyond them, 0 for NaN: the same whatever lies beside an element."""
    def whole(v):
        return 0 if v != v else int(max(-2.0**31, min(2.0**31 - 1, v)))

    short = torch.arange(65536, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
    floats = short.to(torch.float32)
    expected = [whole(v) for v in floats.tolist()]
    for x in (short, floats):
        assert x.to(torch.int32).tolist() == expected
        assert x[::3].to(torch.int32).tolist() == expected[::3]
        for n in (1, 7, 15, 16, 17, 33, 1025):
            assert x[32639:32639 + n].to(torch.int32).tolist() == expected[32639:32639 + n]
    assert torch.equal(torch.nan_to_num(short.to(torch.float64)), torch.nan_to_num(floats.to(torch.float64)))
