"""x[...] and x[...] = v, thousands of random ones against NumPy; gradients; errors."""

import random
import warnings

import numpy as np
import pytest

import tenon as torch
from on_gpus import on_gpus


def basic_item(n, rng):
    r = rng.random()
    if r < 0.35:
        return rng.randrange(-n, n) if n else slice(None)
    bound = [None, *range(-n - 2, n + 3)]
    return slice(rng.choice(bound), rng.choice(bound), rng.choice([None, 1, 2, 3]))


def integers(n, shape, rng):
    return np.array([rng.randrange(-n, n) for _ in range(int(np.prod(shape)))], np.int64).reshape(shape)


def random_index(shape, rng, advanced):
    """A list of items, and for each what NumPy is given: basic ones are applied first, as PyTorch does with numbers."""
    items, dim = [], 0
    shapes = rng.choice([[(3,)], [(3,), (1,)], [(2, 3), (3,)], [(2, 1), (1, 3)], [(4,), (2, 1)], [(0,)]])
    while dim < len(shape):
        r = rng.random()
        n = shape[dim]
        if r < 0.1:
            items.append(None)
            continue
        if r < 0.17 and ... not in [i if i is ... else 0 for i in items]:
            items.append(...)
            dim += rng.randrange(0, len(shape) - dim + 1)
            after = len(shape) - dim
            if rng.random() < 0.3 or not after:  # what is left belongs to the ellipsis
                break
            continue
        if advanced and n and rng.random() < 0.5:
            if rng.random() < 0.2:
                mask = np.array([rng.random() < 0.5 for _ in range(n)])
                mask[: min(n, 3)] = True
                mask[3:] = False
                if n >= 3 and any(s in ((3,), (1,), (2, 3)) for s in shapes) and (0,) not in shapes:
                    items.append(mask)
                    dim += 1
                    continue
            items.append(integers(n, rng.choice(shapes), rng))
        else:
            items.append(basic_item(n, rng))
        dim += 1
        if rng.random() < 0.15:
            break
    return items


def expand(items, ndim):
    """Without '...': slices in its place; all dimensions named."""
    used = sum(1 for i in items if i is not None and i is not ...)
    full = [slice(None)] * (ndim - used)
    at = next((k for k, i in enumerate(items) if i is ...), None)
    return items + full if at is None else items[:at] + full + items[at + 1 :]


def two_steps(items, ndim):
    items = expand(items, ndim)
    first = tuple(slice(None) if isinstance(i, np.ndarray) else i for i in items)
    second = tuple(i if isinstance(i, np.ndarray) else slice(None) for i in items if not isinstance(i, int))
    return first, second


def numpy_get(a, items):
    first, second = two_steps(items, a.ndim)
    return a[first][second]


def numpy_set(a, items, value):
    first, second = two_steps(items, a.ndim)
    view = a[first]
    if isinstance(view, np.ndarray):
        view[second] = value
    else:
        a[first] = value


def as_tensor_index(items, rng):
    out = []
    for i in items:
        if isinstance(i, np.ndarray):
            i = rng.choice([torch.from_numpy, lambda a: a, lambda a: a.tolist()])(i)
            if isinstance(i, torch.Tensor) and i.dtype is torch.int64 and rng.random() < 0.3:
                i = i.to(torch.int32)
        elif isinstance(i, int) and rng.random() < 0.2:
            i = rng.choice([np.int64, np.int32, torch.tensor])(i)
        out.append(i)
    one = len(out) == 1 and not (isinstance(out[0], list) and np.ndim(out[0]) > 1)  # [[0, 1], [1, 1]] is a tuple of lists
    return out[0] if one and rng.random() < 0.5 else tuple(out)


SHAPES = [(5,), (4, 3), (2, 3, 4), (3, 1, 4, 2), (2, 0, 3), (1,), (6, 5)]


@pytest.mark.parametrize("advanced", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_random_indices(seed, advanced):
    rng = random.Random(seed * 2 + advanced)
    got = 0
    for _ in range(700):
        shape = rng.choice(SHAPES)
        a = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
        t = torch.tensor(a)
        items = random_index(shape, rng, advanced)
        index = as_tensor_index(items, rng)
        if isinstance(index, (list, np.ndarray)) and len(np.shape(index)) and not np.size(index):
            continue  # [] has no dtype to tell what it is
        if any(isinstance(i, list) and not np.size(i) for i in (index if isinstance(index, tuple) else ())):
            continue
        try:
            want = numpy_get(a, items)
        except IndexError:
            with pytest.raises(IndexError):
                t[index]
            continue
        if np.ndim(want) > 8:
            continue
        result = t[index]
        assert result.shape == want.shape, (shape, items)
        assert np.array_equal(result.numpy(), want), (shape, items)
        if not any(isinstance(i, np.ndarray) for i in items) and result.numel():
            assert result._shares_memory(t)  # a view
        value = np.asarray(rng.choice([7.0, np.full(want.shape, 3.0), np.arange(want.size).reshape(want.shape) if want.size < 2 else -1.0,
                                       np.ones(want.shape[-1:])]), np.float32)  # fmt: skip
        expected = a.copy()
        numpy_set(expected, items, value)
        t[index] = rng.choice([torch.tensor, lambda v: v.item() if v.ndim == 0 else torch.tensor(v)])(value)
        assert np.array_equal(t.numpy(), expected), (shape, items)
        got += 1
    assert got > 400


def test_masks():
    rng = np.random.default_rng(0)
    for shape, dims in (((4, 5), 2), ((2, 3, 4), 2), ((2, 3, 4), 3), ((3, 4), 1)):
        a = rng.standard_normal(shape).astype(np.float32)
        m = rng.random(shape[:dims]) < 0.4
        t = torch.tensor(a)
        for mask in (torch.from_numpy(m), m, (m.tolist(),)):
            assert np.array_equal(t[mask].numpy(), a[m]), (mask, shape)
        assert np.array_equal(t[torch.from_numpy(m)].numpy(), a[m])
        t[torch.from_numpy(m)] = 0
        a[m] = 0
        assert np.array_equal(t.numpy(), a)
        t[torch.from_numpy(m)] = torch.arange(float(a[m].size)).reshape(a[m].shape)
        a[m] = np.arange(a[m].size).reshape(a[m].shape)
        assert np.array_equal(t.numpy(), a)
    x = torch.arange(3.0)
    assert x[True].shape == (1, 3) and x[False].shape == (0, 3) and x[torch.tensor(True)].shape == (1, 3)
    assert x[x > 0].tolist() == [1, 2]


def test_views_and_zero_dimensions():
    x = torch.tensor(5.0)
    assert x[()].item() == x[...].item() == 5 and x[None].shape == (1,) and x[None, ..., None].shape == (1, 1)
    x[...] = 3
    x[()] = x + 1
    assert x.item() == 4
    y = torch.zeros(2, 3)
    y[0][1] = 2
    y[1] += 1
    y[:, 2] *= 5
    assert y.tolist() == [[0, 2, 0], [1, 1, 5]]
    assert y[-1, -1].item() == 5 and y[1:, ::2].tolist() == [[1, 5]]


@pytest.mark.parametrize(
    "index, error, text",
    [
        (3, IndexError, "index 3 is out of bounds for dimension 0 with size 2"),
        (-3, IndexError, "index -3 is out of bounds for dimension 0 with size 2"),
        ((0, 3), IndexError, "index 3 is out of bounds for dimension"),
        ((0, 0, 0), IndexError, "too many indices for tensor of dimension 2"),
        ((..., 0, 0, 0, ...), IndexError, "too many indices for tensor of dimension 2"),
        (1.5, IndexError, "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        (slice(None, None, 0), ValueError, "slice step cannot be zero"),
        (torch.tensor([0.5]), IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
        (torch.tensor([5]), IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
        (torch.tensor([True, False, True]), IndexError, "The shape of the mask [3] at index 0 does not match the shape of the indexed "
         "tensor [2, 3] at index 0"),
        ((torch.tensor([0, 1]), torch.tensor([0, 1, 2])), IndexError, "shape mismatch: indexing tensors could not be broadcast together"),
    ],
)  # fmt: skip
def test_errors(index, error, text):
    x = torch.zeros(2, 3)
    with pytest.raises(error) as e:
        x[index]
    assert str(e.value).startswith(text)
    with pytest.raises(error):
        x[index] = 1
    assert x.abs().sum().item() == 0


def test_values_that_do_not_fit():
    x = torch.zeros(2, 3)
    for index, value in ((0, torch.zeros(2)), (slice(None), torch.zeros(3, 2)), (torch.tensor([0, 1]), torch.zeros(4))):
        with pytest.raises(RuntimeError):
            x[index] = value
    with pytest.raises(TypeError, match="can't assign a str to a torch.FloatTensor"):
        x[0] = "a"
    with pytest.raises(TypeError, match="Tensor does not support deleting items"):
        del x[0]
    with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
        torch.tensor(1.0)[0]
    x[0] = torch.tensor([1, 2, 3])
    x[1] = torch.ones(1, 1, 3)  # dimensions of size 1 in front are left out
    assert x.tolist() == [[1, 2, 3], [1, 1, 1]]


def test_gradients():
    """The gradient of sum(x[i] * w) is w added up where i points."""
    rng = random.Random(5)
    for _ in range(150):
        shape = rng.choice([(5,), (4, 3), (2, 3, 4)])
        items = random_index(shape, rng, True)
        a = np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape)
        try:
            where = numpy_get(a, items)
        except IndexError:
            continue
        x = torch.tensor(a, requires_grad=True)
        w = np.random.default_rng(1).standard_normal(where.shape)
        index = tuple(torch.from_numpy(i) if isinstance(i, np.ndarray) else i for i in items)
        (x[index] * torch.tensor(w)).sum().backward()
        want = np.zeros(a.size)
        np.add.at(want, where.astype(np.int64).ravel(), w.ravel())
        assert np.allclose(x.grad.numpy().ravel(), want), (shape, items)


def test_gradients_of_assignment():
    x = torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], requires_grad=True)
    v = torch.tensor([10.0, 20.0], requires_grad=True)
    y = x * 1
    y[:, 1] = v
    y[torch.tensor([0]), torch.tensor([2])] = v[0] * 2
    (y * torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).sum().backward()
    assert x.grad.tolist() == [[1, 0, 0], [4, 0, 6]] and v.grad.tolist() == [2 + 2 * 3, 5]
    with pytest.raises(RuntimeError):
        x[0] = 1  # a leaf that requires grad


@pytest.mark.filterwarnings("ignore:Using a non-tuple")
def test_lists_that_are_tuples():
    x = torch.arange(4.0).reshape(2, 2)
    for index, want in (([[0, 1], [1, 1]], [1, 3]), ([[True, False], [False, True]], [1]), ([slice(None), 0], [0, 2]), ([None, 0], [[0, 1]]),
                        ([[0, 1]], [[0, 1], [2, 3]]), ([0, [1, 0]], [1, 0]), ([..., 0], [0, 2]), ([torch.tensor(0), torch.tensor(1)], 1.0),
                        ([True, False], [[0, 1]]), ([0, 1], [[0, 1], [2, 3]]), (([0, 1],), [[0, 1], [2, 3]])):  # fmt: skip
        assert x[index].tolist() == want, index
        y = x.clone()
        y[index] = -1.0
        assert y[index].eq(-1).all()


def test_index_put():
    x = torch.zeros(4)
    x.index_put_((torch.tensor([1, 1, 3]),), torch.tensor([1.0, 2.0, 5.0]), accumulate=True)
    assert x.tolist() == [0, 3, 0, 5]
    assert x.index_put((torch.tensor([0]),), torch.tensor(9.0)).tolist() == [9, 3, 0, 5] and x[0].item() == 0


def test_lists_that_change_while_they_are_read():
    class Clears:
        def __init__(self, of):
            self.of = of

        def __index__(self):
            self.of.clear()
            return 0

    x = torch.arange(3.0)
    items = [0, 1, 2]
    items[1] = Clears(items)
    with pytest.raises((IndexError, RuntimeError, ValueError)):
        x[items]
    sizes = [2, 3]
    sizes[0] = Clears(sizes)
    assert torch.zeros(sizes).shape == (0, 3)


# ---- what PyTorch 2.15 answered: (dtype, shape, values) or an exception; for what is written (version, values) ----

READ = [
    ("x[torch.tensor(1)]", ("float32", (3, 4), [12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23])),
    ("x[np.array(1)]", ("float32", (3, 4), [12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23])),
    ("x[...,...]", ("float32", (2, 3, 4), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23])),
    ("x[0,...,...]", ("float32", (3, 4), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])),
    ("x[...,0,...,-1]", (IndexError, "index -1 is out of bounds for dimension 3 with size 0")),
    ("x[np.array(True)][0,0]", ("float32", (3, 4), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])),
    ("x[torch.tensor(0,dtype=torch.uint8)]", ("float32", (0, 2, 3, 4), [])),
    ("x[torch.tensor([[True,False,True],[False,True,False]]),0]", ("float32", (3,), [0, 8, 16])),
    ("x[torch.tensor([[True,False,True],[False,True,False]]),None,[0]]", ("float32", (3, 1), [0, 8, 16])),
    ("x[[1.7],0,0]", ("float32", (1,), [12])),
    ("x[np.array([]),0]", ("float32", (0, 4), [])),
    ("x[range(1),0,[0,2]]", ("float32", (2,), [0, 2])),
    ("x[[1,0],...,1]", ("float32", (2, 3), [13, 17, 21, 1, 5, 9])),
    ("x[:,[0,1],0]", ("float32", (2, 2), [0, 4, 12, 16])),
    ("x[0,[[0],[2]],[1,3]]", ("float32", (2, 2), [1, 3, 9, 11])),
    ("x[True,0,False]", ("float32", (0, 3, 4), [])),
    ("x[torch.zeros(2,0,dtype=torch.int64)]", ("float32", (2, 0, 3, 4), [])),
    ("torch.zeros(2,0)[[4]]", ("float32", (1, 0), [])),
    ("torch.zeros(2,0)[:,None,[True]*0]", ("float32", (2, 1, 0), [])),
    ("x[0][...,...,0]", (IndexError, "index 0 is out of bounds for dimension 2 with size 0")),
    ("x[...,...,[0]]", (IndexError, "too many indices for tensor of dimension 3 (got 5)")),
    ("x[...,...,None]", (IndexError, "Dimension out of range (expected to be in range of [-4, 3], but got 6)")),
    ("x[:,:,:,:]", (IndexError, "too many indices for tensor of dimension 3")),
    ("x[0,0,0,0]", (IndexError, "too many indices for tensor of dimension 3")),
    ("x[0,np.bool_(True)]", (IndexError, "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got numpy.bool)")),
    ("x[0,{}]", (IndexError, "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got dict)")),
    ("x[0,np.float64(1)]", (IndexError, "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got numpy.float64)")),
    ("x[2**70]", (ValueError, "Overflow when unpacking long long")),
    ("x[b'a']", (TypeError, "new(): invalid data type 'bytes'")),
    ("x[1j]", (IndexError, "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got complex)")),
    ("x['a':]", (TypeError, "slice indices must be integers or None or have an __index__ method")),
    ("x[1.0:]", (TypeError, "slice indices must be integers or None or have an __index__ method")),
    ("x[torch.tensor([1],dtype=torch.int16)]", (IndexError, "tensors used as indices must be long, int, byte or bool tensors")),
    ("x[torch.tensor(1.)]", (IndexError, "tensors used as indices must be long, int, byte or bool tensors")),
    ("x[0,[0,3]]", (IndexError, "index 3 is out of bounds for dimension 0 with size 3")),
    ("x[[2]]", (IndexError, "index 2 is out of bounds for dimension 0 with size 2")),
    ("x[:,0,[4]]", (IndexError, "index 4 is out of bounds for dimension 0 with size 4")),
    ("x[:,:0][:,[0]]", (IndexError, "index is out of bounds for dimension with size 0")),
    ("x[[True,False,True]]", (IndexError, "The shape of the mask [3] at index 0 does not match the shape of the indexed tensor [2, 3, 4] at index 0")),
    ("x[[0,1],[0,1,2]]", (IndexError, "shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]")),
    ("x[[0],[0],[0],[0]]", (IndexError, "too many indices for tensor of dimension 3")),
    ("torch.tensor(5.)[0]", (IndexError, "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number")),
    ("torch.tensor(5.)[-1]", (IndexError, "index -1 is out of bounds for dimension 0 with size 0")),
    ("torch.tensor(5.)[:]", (IndexError, "slice() cannot be applied to a 0-dim tensor.")),
    ("torch.tensor(5.)[0,]", (IndexError, "too many indices for tensor of dimension 0")),
    ("torch.tensor(5.)[torch.tensor(0)]", (IndexError, "too many indices for tensor of dimension 0")),
    ("torch.tensor(5.)[None,...,True]", ("float32", (1, 1), [5])),
    ("torch.tensor(5.)[torch.tensor(True)]", ("float32", (1,), [5])),
    ("torch.tensor(2.).nonzero(as_tuple=True)", (("int64", (1,), [0]),)),
    ("torch.where(torch.tensor(0.))", (("int64", (0,), []),)),
    ("torch.zeros(2,0).nonzero(as_tuple=True)", (("int64", (0,), []), ("int64", (0,), []))),
    ("torch.tensor([torch.tensor([1.]),torch.tensor([[2.]])])", ("float32", (2,), [1, 2])),
    ("torch.tensor([[1.],torch.tensor([2.])])", ("float32", (2, 1), [1, 2])),
    ("torch.tensor([1,torch.tensor([2])])", ("int64", (2,), [1, 2])),
    ("torch.tensor([torch.tensor([1],dtype=torch.int32)])", ("int32", (1,), [1])),
    ("torch.tensor([torch.tensor(1.)],dtype=torch.int64)", (TypeError, "only integer tensors of a single element can be converted to an index")),
    ("torch.tensor([torch.tensor([1.,2.])])", (ValueError, "only one element tensors can be converted to Python scalars")),
    ("torch.take_along_dim(x[0],torch.tensor([[-1],[0],[-4]]),1)", ("float32", (3, 1), [3, 4, 8])),
    ("torch.take_along_dim(x[0],torch.tensor([3,0],dtype=torch.int32))", ("float32", (2,), [3, 0])),
    ("torch.take_along_dim(x[0],torch.tensor([-1]))", (RuntimeError, "index -1 is out of bounds for dimension 0 with size 12")),
    ("torch.cat([torch.zeros(0),torch.zeros(0,dtype=torch.int64)],1)", ("float32", (0,), [])),
    ("torch.cat([torch.zeros(0)],-7)", ("float32", (0,), [])),
    ("torch.cat([torch.zeros(0),torch.zeros(3)],1)", (IndexError, "Dimension out of range (expected to be in range of [-1, 0], but got 1)")),
    ("torch.cat([])", (ValueError, "torch.cat(): expected a non-empty list of Tensors")),
    ("torch.repeat_interleave(torch.tensor([1,2,0]))", ("int64", (3,), [0, 1, 1])),
    ("torch.repeat_interleave(torch.tensor([0,3],dtype=torch.int32),output_size=3)", ("int32", (3,), [1, 1, 1])),
    ("torch.repeat_interleave(torch.tensor([1.,2.]))", (NotImplementedError, "\"repeat_interleave_cpu\" not implemented for 'Float'")),
    ("torch.repeat_interleave(torch.tensor([[1]]))", (RuntimeError, "repeat_interleave only accept 1D vector as repeat")),
    ("torch.repeat_interleave(torch.tensor([1,2]),output_size=4)", (RuntimeError, "allocated size does not match required size")),
    ("torch.zeros(0,3).unflatten(-1,(3,-1)).shape", (0, 3, 1)),
    ("torch.zeros(2,0).unflatten(0,(1,-1)).shape", (1, 2, 0)),
    ("torch.zeros(0,3).unflatten(0,(0,-1))", (RuntimeError, "unflatten got an unexpected error:")),
    ("torch.zeros(2,3).unflatten(0,())", (RuntimeError, "unflatten: sizes must be non-empty")),
    ("torch.zeros(2,3).unflatten(0,(3,-1))", (RuntimeError, "unflatten: Provided sizes [3, -1] don't multiply up to the size of dim 0 (2) in the input tensor")),
    ("torch.nn.Unflatten(1,(3,-1))(torch.zeros(0,3)).shape", (0, 3, 1)),
    ("torch.zeros(3).scatter(0,torch.tensor([0,0]),torch.tensor([1.,2.]),reduce='add')", ("float32", (3,), [3, 0, 0])),
    ("torch.ones(3).scatter(0,torch.tensor([0,0,2]),torch.tensor([3.,2.,5.,9.]),reduce='multiply')", ("float32", (3,), [6, 1, 5])),
    ("torch.ones(2,2).scatter(1,torch.tensor([[1,1]]),2,reduce='add')", ("float32", (2, 2), [1, 5, 1, 1])),
    ("torch.zeros(3).scatter(0,torch.tensor([0]),2,reduce='mean')", (RuntimeError, "reduce argument must be either add or multiply.")),
    ("torch.zeros(3).scatter(0,torch.tensor([3]),2,reduce='add')", (RuntimeError, "index 3 is out of bounds for dimension 0 with size 3")),
    ("torch.zeros(3).scatter(0,torch.tensor([-1]),2)", (RuntimeError, "index -1 is out of bounds for dimension 0 with size 3")),
    ("x[0].gather(1,torch.tensor([[4]]))", (RuntimeError, "index 4 is out of bounds for dimension 1 with size 4")),
    ("x[0].index_add(0,torch.tensor([3]),torch.ones(1,4))", (RuntimeError, "index 3 is out of bounds for dimension 0 with size 3")),
    ("x[0].index_copy(0,torch.tensor([3]),torch.ones(1,4))", (IndexError, "index_copy_(): index 3 is out of bounds for dimension 0 with size 3")),
    ("x[0].index_select(0,torch.tensor([3]))", (IndexError, "index out of range in self")),
    ("torch.nn.functional.embedding(torch.tensor([3]),x[0])", (IndexError, "index out of range in self")),
    ("x.take(torch.tensor([-25]))", (IndexError, "out of range: tried to access index -25 on a tensor of 24 elements.")),
    ("torch.tensor([1,2]).mean()", (NotImplementedError, "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long")),
    ("torch.tensor([1,2]).std(0)", (NotImplementedError, "std and var only support floating point and complex dtypes")),
    ("torch.tensor([1,2]).norm()", (NotImplementedError, "linalg.vector_norm: Expected a floating point or complex tensor as input. Got Long")),
    ("x.select(0,2**70)", (ValueError, "Overflow when unpacking long long")),
    ("torch.relu(np.float32(1))", (TypeError, "relu(): argument 'input' (position 1) must be Tensor, not numpy.float32")),
]  # fmt: skip

WRITTEN = [
    ("x[[0,1],[0,1]]=torch.zeros(1,2,4)", (1, [0, 0, 0, 0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 0, 0, 0, 20, 21, 22, 23])),
    ("x[x>3]=torch.zeros(1,1,20)", (1, [0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
    ("x[True]=torch.zeros(1,1,2,3,4)", (1, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
    ("x[torch.tensor(True)]=torch.zeros(1,1)", (1, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
    ("x[0,0]=torch.zeros(1,1,1,4)", (1, [0, 0, 0, 0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23])),
    ("x[...,...]=7", (1, [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7])),
    ("x[False]='a'", (TypeError, "can't assign a str to a torch.FloatTensor")),
    ("x[False]=torch.zeros(7)", (0, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23])),
    ("x[False,]=torch.zeros(7)", (RuntimeError, "shape mismatch: value tensor of shape [7] cannot be broadcast to indexing result of shape [0, 2, 3, 4]")),
    ("x[torch.tensor([True,False])]=5", (1, [5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23])),
    ("x[torch.tensor([1,0]).byte()]=5", (RuntimeError, "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")),
    ("x[torch.tensor([1,0]).byte()]=torch.zeros(1,3,4)", (1, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23])),
    ("x[0]=[1.,2.,3.,4.]", (TypeError, "can't assign a list to a torch.FloatTensor")),
    ("x[0]=np.ones(4)", (TypeError, "can't assign a numpy.ndarray to a torch.FloatTensor")),
    ("x[0]=np.float32(1)", (TypeError, "can't assign a numpy.float32 to a torch.FloatTensor")),
    ("x[0]=np.float64(1)", (1, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23])),
    ("x[0]=np.int16(1)", (1, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23])),
    ("x[0]=None", (TypeError, "can't assign a NoneType to a torch.FloatTensor")),
    ("x[[0,1]]=torch.ones(2,3,4,dtype=torch.float64)", (RuntimeError, "Index put requires the source and destination dtypes match, got Float for the destination and Double for the source.")),
    ("x[[0,1]]=torch.tensor(1)", (RuntimeError, "Index put requires the source and destination dtypes match, got Float for the destination and Long for the source.")),
    ("x[x>3]=torch.tensor(1,device='cpu')", (1, [0, 1, 2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])),
    ("x[x>3]=torch.tensor([[1]],dtype=torch.int8,device='cpu')", (1, [0, 1, 2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])),
    ("x[:]=torch.ones(3,4,dtype=torch.int8)", (1, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])),
    ("x[0,:,0]=torch.zeros(1,2)", (RuntimeError, "The expanded size of the tensor (3) must match the existing size (2) at non-singleton dimension 0.  Target sizes: [3].  Tensor sizes: [2]")),
    ("x[:,[0,1]]=torch.zeros(3,4)", (RuntimeError, "shape mismatch: value tensor of shape [3, 4] cannot be broadcast to indexing result of shape [2, 2, 4]")),
    ("x[[2]]=torch.zeros(2)", (RuntimeError, "shape mismatch: value tensor of shape [2] cannot be broadcast to indexing result of shape [1, 3, 4]")),
    ("x[:,[3]]=torch.zeros(1)", (IndexError, "index 3 is out of bounds for dimension 0 with size 3")),
    ("x[:,[3]]=1", (IndexError, "index 3 is out of bounds for dimension 1 with size 3")),
    ("x[[5],[3]]=1", (IndexError, "index 5 is out of bounds for dimension 0 with size 2")),
    ("x[[5],[]]=1", (1, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23])),
    ("x[:,[]]=torch.zeros(2)", (RuntimeError, "shape mismatch: value tensor of shape [2] cannot be broadcast to indexing result of shape [2, 0, 4]")),
    ("x[:,[]]=1", (1, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23])),
    ("e[torch.tensor([[True,False,True],[False,True,False]])]=5", (1, [5, 5, 5, 5, 5, 5])),
    ("e[torch.tensor([[True,False,True],[False,True,False]])]=torch.tensor([5.,6.,7.])", (1, [5, 7, 6, 5, 7, 6])),
    ("e[[0,1]]=torch.tensor([7.,8.,9.])", (1, [7, 8, 9, 7, 8, 9])),
    ("e[[0,1]]=4", (1, [4, 4, 4, 4, 4, 4])),
    ("e[:,[0]]+=1", (1, [1, 1, 2, 1, 1, 2])),
    ("e[0]=1", (1, [1, 1, 1, 1, 1, 1])),
    ("x.half()[0]=1e30", (RuntimeError, "value cannot be converted to type c10::Half without overflow")),
    ("b[[0]]=300", (RuntimeError, "value cannot be converted to type uint8_t without overflow")),
    ("b[0]=-1", (1, [255, 255, 2, 3])),
    ("b[[0]]=2.5", (1, [2, 2, 2, 3])),
    ("b[[0,1],[0,1]]=2**40", (RuntimeError, "value cannot be converted to type uint8_t without overflow")),
    ("x.index_fill_(1,torch.tensor([0,-1]),7)", (1, [7, 7, 7, 7, 4, 5, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 16, 17, 18, 19, 7, 7, 7, 7])),
    ("x.index_fill_(-1,torch.tensor(0),torch.tensor(7))", (1, [7, 1, 2, 3, 7, 5, 6, 7, 7, 9, 10, 11, 7, 13, 14, 15, 7, 17, 18, 19, 7, 21, 22, 23])),
    ("x.index_fill_(3,torch.tensor(0),7)", (IndexError, "Dimension out of range (expected to be in range of [-3, 2], but got 3)")),
    ("x.index_fill_(0,torch.tensor([[0]]),7)", (RuntimeError, "Index has to be a vector/scalar")),
    ("x.index_fill_(0,torch.tensor([0.]),7)", (IndexError, "index_fill_(): Expected dtype int64 for index.")),
    ("x.index_fill_(0,torch.tensor([2]),7)", (IndexError, "index 2 is out of bounds for dimension 0 with size 2")),
    ("x.index_fill_(0,torch.tensor([0]),torch.zeros(1))", (RuntimeError, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with 1 dimension(s).")),
    ("s.index_fill_(0,torch.tensor([0]),1)", (1, [1])),
    ("s.index_fill_(-1,torch.tensor([0,0]),1)", (1, [1])),
    ("x.index_put_((torch.tensor([0,0]),torch.tensor([1,1])),torch.tensor(2.),accumulate=True)", (1, [0, 1, 2, 3, 8, 9, 10, 11, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23])),
    ("x.index_put_((torch.tensor(0),),torch.zeros(1,1,3,4))", (RuntimeError, "shape mismatch: value tensor of shape [1, 1, 3, 4] cannot be broadcast to indexing result of shape [3, 4]")),
    ("x.index_put_([torch.tensor([True,False])],torch.zeros(4))", (1, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23])),
    ("x.index_put_(([0],),torch.tensor(1.))", (TypeError, "expected Tensor as element 0 in argument 0, but got list")),
    ("x.index_put_((torch.tensor([0]),),1.)", (TypeError, "index_put_(): argument 'values' (position 2) must be Tensor, not float")),
    ("x.index_put_((torch.tensor([0]),)*4,torch.tensor(1.))", (IndexError, "too many indices for tensor of dimension 3 (got 4)")),
    ("x.scatter_(0,torch.tensor([[[0]],[[0]]]),torch.ones(2,1,1),reduce='add')", (1, [2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23])),
    ("x.scatter_(0,torch.tensor([[[0]],[[0]]]),3,reduce='multiply')", (1, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23])),
]  # fmt: skip

WARNED = [
    ("x[torch.tensor([1, 0], dtype=torch.uint8)]", "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."),
    ("x[[[0, 1], [1, 1]]]", "Using a non-tuple sequence for multidimensional indexing is deprecated"),
    ("x[[torch.tensor(0), 1]]", "Using a non-tuple sequence for multidimensional indexing is deprecated"),
    ("e.__setitem__([0, 1], torch.ones(2, 3))", "Use of index_put_ on expanded tensors is deprecated."),
    ("e.__setitem__([0, 1], 1)", "Use of index_fill_ on expanded tensors is deprecated."),
    ("e.__setitem__(e > 1, 1)", "Use of masked_fill_ on expanded tensors is deprecated."),
    ("torch.tensor([torch.tensor([1.0], requires_grad=True)])", "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior."),
    ("x[[0, 1]]", None),
    ("x[torch.tensor(1, dtype=torch.uint8)]", None),
    ("x.__setitem__([0, 1], 1)", None),
]  # fmt: skip


def operands():
    return {"torch": torch, "np": np, "x": torch.arange(24.0).reshape(2, 3, 4), "e": torch.arange(3.0).expand(2, 3),
            "b": torch.arange(4, dtype=torch.uint8).reshape(2, 2), "s": torch.tensor(5.0)}  # fmt: skip


def shown(r):
    if isinstance(r, tuple):
        return tuple(r) if isinstance(r, torch.Size) else tuple(shown(i) for i in r)
    return str(r.dtype)[6:], tuple(r.shape), r.reshape(-1).tolist()


def answer(code, written):
    names = operands()
    try:
        if not written:
            return shown(eval(code, names))
        exec(code, names)
        return names[code[0]]._version, names[code[0]].reshape(-1).tolist()
    except Exception as e:
        return type(e), str(e).split("\n")[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code, want", READ)
def test_read_as_in_pytorch(code, want):
    assert answer(code, False) == want


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code, want", WRITTEN)
def test_written_as_in_pytorch(code, want):
    assert answer(code, True) == want


@on_gpus(1)
def test_as_in_pytorch_on_a_gpu():
    """The same tables. What a kernel meets is told later: places out of bounds have tests of their own."""
    import test_indexing

    warnings.simplefilter("ignore")
    torch.set_default_device("cuda")
    late = ("index ", "out of range", "index_copy_(): index ")
    wrong = []
    for code, want in test_indexing.READ + test_indexing.WRITTEN:
        refused = isinstance(want[0], type)
        told = test_indexing.answer(code, (code, want) in test_indexing.WRITTEN)
        if refused and want[1].startswith(late):
            try:
                cuda.synchronize()
            except IndexError:
                pass
        elif told != ((want[0], want[1].replace("torch.FloatTensor", "torch.cuda.FloatTensor")) if refused else want):
            wrong.append((code, want, told))
    assert not wrong, wrong
    x = torch.zeros(3, 2)
    x[torch.tensor(1)].fill_(5)
    x[torch.tensor(2), torch.tensor(-1)].add_(7)
    assert x.tolist() == [[0, 0], [5, 5], [0, 7]]
    assert x[torch.tensor(1)]._shares_memory(x)


@pytest.mark.parametrize("code, text", WARNED)
def test_warnings(code, text):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        eval(code, operands())
    assert [str(w.message).startswith(text) for w in told] == [True] if text else not told


def test_views_by_tensors():
    """0-dim integers make views, from wherever they come; everything else a copy."""
    x = torch.zeros(2, 3)
    for index in (torch.tensor(1), np.array(1), np.int64(1), torch.tensor(1, dtype=torch.int16), (torch.tensor(1), slice(0, 2))):
        x[index].add_(1)
    assert x.tolist() == [[0, 0, 0], [5, 5, 4]]
    for index in ([1], torch.tensor([1]), True, torch.tensor(True)):
        x[index].add_(1)
    assert x.sum().item() == 14


def test_gradients_of_empty_and_expanded_writes():
    v = torch.tensor(2.0, requires_grad=True)
    x = torch.zeros(3, requires_grad=True) * 1
    x[[]] = v
    x.sum().backward()
    assert v.grad.item() == 0 and x._version == 1
    w = torch.tensor([1.0], requires_grad=True)
    y = torch.zeros(2, 2)
    y[torch.tensor([[True, False], [True, True]])] = w[0].double()  # converted, as one value is
    y.sum().backward()
    assert w.grad.tolist() == [3]


def test_unique_requires_grad():
    x = torch.tensor([[2.0, 1.0], [2.0, 1.0]], requires_grad=True)
    for of, name in ((lambda: torch.unique(x), "_unique2"), (lambda: x.unique(dim=0), "unique_dim"),
                     (lambda: x.unique_consecutive(), "unique_consecutive"), (lambda: torch.unique(x, return_counts=True)[0], "_unique2")):  # fmt: skip
        assert of().requires_grad
        with pytest.raises(NotImplementedError, match=f"^the derivative for '{name}' is not implemented"):
            of().sum().backward()
        with torch.no_grad():
            assert not of().requires_grad


def test_to_a_numbered_cpu():
    x = torch.ones(2)
    assert x.to("cpu") is x and x.cpu() is x and x.to(torch.float32) is x
    for y in (x.to("cpu:0"), x.to(torch.device("cpu", 0)), x.to("cpu:0", torch.float32)):
        assert y is not x and not y._shares_memory(x) and y.device == x.device == torch.device("cpu")


@pytest.mark.parametrize(
    "code, name",
    [
        ("a.exp2()", "Exp2Backward0"), ("a.expm1()", "Expm1Backward0"), ("a.log1p()", "Log1PBackward0"), ("a.log2()", "Log2Backward0"),
        ("a.log10()", "Log10Backward0"), ("a.atan2(b)", "Atan2Backward0"), ("a.log_softmax(0)", "LogSoftmaxBackward0"), ("a.max()", "MaxBackward1"),
        ("a + b", "AddBackward0"), ("a.pow(2)", "PowBackward0"), ("torch.nn.functional.embedding(torch.tensor([0]), a)", "EmbeddingBackward0"),
    ],
)  # fmt: skip
def test_names_of_nodes(code, name):
    a, b = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2)
    assert eval(code, {"torch": torch, "a": a, "b": b}).grad_fn.name() == name


# ---- what PyTorch's own tests asked for (scripts/torch-tests) ----


def test_what_is_written_while_it_is_read(device="cpu"):
    """Refused where the result would depend on the order; an expanded tensor's masked elements are written with a warning."""
    y, ind = torch.arange(6.0, device=device), torch.tensor([2, 1, 0], device=device)
    for write in (lambda: y.index_put_((ind,), y[0]), lambda: y.index_put_((ind,), y[:3]), lambda: ind.index_put_((ind,), ind),
                  lambda: ind.index_put_((ind,), ind.clone()), lambda: ind.index_put_((ind.clone(),), ind),
                  lambda: ind.index_fill_(0, ind, 0), lambda: y[:-1].__ilshift__(y[1:]), lambda: y[:-1].__irshift__(y[1:]),
                  lambda: y[:-1].add_(y[1:].view(1, 5))):  # fmt: skip
        with pytest.raises(RuntimeError, match="^unsupported operation: some elements of the input tensor and the written-to tensor refer"):
            write()
    assert y.tolist() == [0, 1, 2, 3, 4, 5] and ind.tolist() == [2, 1, 0]
    leaf = torch.ones(1, device=device, requires_grad=True)  # in PyTorch's order: leaves, memory, shapes; logical ones write leaves
    for write, text in ((lambda: leaf.add_(y), "a leaf Variable"), (lambda: leaf.expand(3).add_(y), "a view of a leaf Variable"),
                        (lambda: leaf.expand(3).logical_or_(y), "unsupported operation: more than one"),
                        (lambda: leaf.logical_or_(y), "output with shape")):  # fmt: skip
        with pytest.raises(RuntimeError, match=f"^{text}"):
            write()
    assert leaf.logical_not_().tolist() == [0] and leaf.requires_grad
    mask = torch.tensor([True, False, True, False, False, False], device=device)
    for value in (7.0, torch.tensor(7.0, device=device)):
        x = torch.zeros(3, 1, device=device)
        with pytest.warns(UserWarning, match="^Use of masked_fill_ on expanded tensors is deprecated"):
            assert x.expand(3, 6).masked_fill_(mask, value).tolist() == [[7.0] * 6] * 3 and x.tolist() == [[7.0]] * 3
        with pytest.warns(UserWarning, match="^Use of masked_fill_"):
            assert torch.zeros(1, device=device).expand(6).masked_fill_(mask < 0, value).tolist() == [0.0] * 6
    with pytest.raises(RuntimeError, match="at least one index must be given"):
        torch.rand([]).index_put([], torch.tensor([1.0]), True)


ONE_ELEMENT = [((), (1,)), ((1,), ()), ((), ()), ((1,), (1,)), ((3,), ())]


@pytest.mark.parametrize("to, of", ONE_ELEMENT)
def test_index_copy_of_one_element(to, of, device="cpu"):
    for index in (torch.tensor(0, device=device), torch.tensor([0], device=device)):
        x, src = torch.zeros(to, device=device, requires_grad=True), torch.full(of, 2.0, device=device, requires_grad=True)
        r = x.index_copy(0, index, src)
        assert r.shape == to and r.flatten()[0].item() == 2.0
        r.sum().backward()
        assert src.grad.shape == of and src.grad.sum().item() == 1 and x.grad.sum().item() == x.numel() - 1
        with torch.no_grad():
            assert x.index_copy_(0, index, src).flatten()[0].item() == 2.0


@on_gpus(1)
def test_writes_on_a_gpu():
    from test_indexing import ONE_ELEMENT, test_index_copy_of_one_element, test_what_is_written_while_it_is_read

    test_what_is_written_while_it_is_read("cuda")
    for to, of in ONE_ELEMENT:
        test_index_copy_of_one_element(to, of, "cuda")


@pytest.mark.parametrize("to, index, of, error, text", [
    ((3,), [0, 1], (), IndexError, "When source is scalar, index should have one element (got 2)"),
    ((3, 2), [1], (2,), IndexError, "When source and destination are not scalars, their dimensionality must match. Source dimensionality (1), "
     "destination dimensionality (2)"),
    ((3, 2), [1, 2], (1, 2), IndexError, "Number of indices (2) should be equal to source.size(dim) (1)"),
    ((3, 2), [1], (1, 3), RuntimeError, "Source/destination tensor must have same slice shapes. Destination slice shape: 2 at dimension 0 and "
     "source slice shape: 3 at dimension 0.")])  # fmt: skip
def test_index_copy_refuses(to, index, of, error, text):
    with pytest.raises(error) as caught:
        torch.zeros(to).index_copy_(0, torch.tensor(index), torch.ones(of))
    assert str(caught.value).split("\n")[0] == "index_copy_(): " + text


def test_each_mask_of_bytes_warns():
    rows, columns = torch.tensor([1, 0, 1, 1, 0], dtype=torch.uint8), torch.ones(3, dtype=torch.uint8)
    with pytest.warns(UserWarning, match="^indexing with dtype torch.uint8 is now deprecated") as said:
        assert torch.zeros(5, 7, 3)[rows, :, columns].shape == (3, 7)
    assert len(said) == 2


def test_an_element_is_written_to_what_shows_it():
    """A value of no dimensions is a number, also where it lies in what is written."""
    for whole in (slice(None), torch.tensor([True, True, True]), Ellipsis):
        x = torch.arange(3.0)
        x[whole] = x[1]
        assert x.tolist() == [1.0, 1.0, 1.0]
