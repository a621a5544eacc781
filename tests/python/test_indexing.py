"""x[...] and x[...] = v, thousands of random ones against NumPy; gradients; errors."""

import random

import numpy as np
import pytest

import tenon as torch


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
        result = t[index]
        assert result.shape == want.shape, (shape, items)
        assert np.array_equal(result.numpy(), want), (shape, items)
        if not any(isinstance(i, np.ndarray) for i in items) and result.numel():
            assert result._shares_memory(t)  # a view
        value = np.asarray(rng.choice([7.0, np.full(want.shape, 3.0), np.arange(want.size).reshape(want.shape) if want.size < 2 else -1.0,
                                       np.ones(want.shape[-1:])]), np.float32)  # fmt: skip
        expected = a.copy()
        numpy_set(expected, items, value)
        t[index] = rng.choice([torch.tensor, lambda v: v, lambda v: v.item() if v.ndim == 0 else torch.tensor(v).double()])(value)
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
        ((..., ...), IndexError, "an index can only have a single ellipsis ('...')"),
        (1.5, IndexError, "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices"),
        ("a", TypeError, "new(): invalid data type 'str'"),
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
    x[0] = [1, 2, 3]
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
