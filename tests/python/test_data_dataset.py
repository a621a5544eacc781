"""Datasets and samplers of tenon.utils.data. Expected values and texts are PyTorch's."""

import collections

import pytest

import tenon as torch
from tenon.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    random_split,
)


class Squares(Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        return i * i


class Stream(IterableDataset):
    def __init__(self, *values):
        self.values = values

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)


def seeded(seed=7):
    generator = torch.Generator()
    generator.manual_seed(seed)
    return generator


def raises(kind, text):
    """The error's whole text."""

    class Check:
        def __enter__(self):
            self.context = pytest.raises(kind)
            self.info = self.context.__enter__()

        def __exit__(self, *error):
            done = self.context.__exit__(*error)
            assert str(self.info.value) == text
            return done

    return Check()


def test_dataset_is_abstract():
    with raises(NotImplementedError, "Subclasses of Dataset should implement __getitem__."):
        Dataset()[0]
    with raises(TypeError, "object of type 'Dataset' has no len()"):
        len(Dataset())
    assert Dataset[int] is not None


def test_tensor_dataset():
    x, y = torch.arange(6.0).reshape(3, 2), torch.tensor([5, 6, 7])
    data = TensorDataset(x, y)
    assert len(data) == 3
    row, label = data[1]
    assert row.tolist() == [2.0, 3.0] and label.item() == 6
    assert type(data[0]) is tuple and data.tensors == (x, y)
    assert [t.tolist() for t in data[1:]] == [[[2.0, 3.0], [4.0, 5.0]], [6, 7]]
    with pytest.raises(IndexError):
        data[3]
    with raises(AssertionError, "Size mismatch between tensors"):
        TensorDataset(torch.ones(2), torch.ones(3))


def test_concat():
    both = Squares() + Squares()
    assert type(both) is ConcatDataset and len(both) == 20 and both.cumulative_sizes == [10, 20]
    assert (both[0], both[9], both[10], both[19], both[-1], both[-20]) == (0, 81, 0, 81, 81, 0)
    with raises(ValueError, "absolute value of index should not exceed dataset length"):
        both[-21]
    with pytest.raises(IndexError):
        both[20]
    with raises(AssertionError, "datasets should not be an empty iterable"):
        ConcatDataset([])
    with raises(AssertionError, "ConcatDataset does not support IterableDataset"):
        ConcatDataset([Stream(1)])


def test_chain():
    both = Stream(1, 2) + Stream(3)
    assert type(both) is ChainDataset and list(both) == [1, 2, 3] and len(both) == 3
    with raises(AssertionError, "ChainDataset only supports IterableDataset"):
        list(ChainDataset([Squares()]))


def test_stack():
    assert StackDataset(Squares(), range(10))[3] == (9, 3)
    named = StackDataset(a=Squares(), b=range(10))
    assert named[3] == {"a": 9, "b": 3} and len(named) == 10
    assert named.__getitems__([1, 2]) == [{"a": 1, "b": 1}, {"a": 4, "b": 2}]
    assert StackDataset(Squares(), range(10)).__getitems__([1, 2]) == [(1, 1), (4, 2)]
    with raises(ValueError, "At least one dataset should be passed"):
        StackDataset()
    with raises(ValueError, "Size mismatch between datasets"):
        StackDataset(Squares(), range(9))
    with pytest.raises(ValueError, match="but both types are given"):
        StackDataset(Squares(), b=Squares())


def test_stack_checks_nested_getitems():
    class Short(Squares):
        def __getitems__(self, indices):
            return indices[1:]

    with raises(ValueError, "Nested dataset's output size mismatch. Expected 2, got 1"):
        StackDataset(Short()).__getitems__([1, 2])


def test_subset():
    part = Subset(Squares(), [3, 1, 4])
    assert len(part) == 3 and [part[i] for i in range(3)] == [9, 1, 16]
    assert part.__getitems__([2, 0]) == [16, 9]

    class Many(Squares):
        def __getitems__(self, indices):
            return [-i for i in indices]

    assert Subset(Many(), [3, 1, 4]).__getitems__([2, 0]) == [-4, -3]

    class Doubled(Subset):
        def __getitem__(self, i):
            return 2 * super().__getitem__(i)

    assert Doubled(Many(), [3, 1, 4]).__getitems__([2, 0]) == [32, 18]


def test_random_split():
    a, b = random_split(Squares(), [7, 3], generator=seeded())
    assert (len(a), len(b)) == (7, 3) and sorted([*a.indices, *b.indices]) == list(range(10))
    again, _ = random_split(Squares(), [7, 3], generator=seeded())
    other, _ = random_split(Squares(), [7, 3], generator=seeded(8))
    assert again.indices == a.indices != other.indices
    assert sorted([*a, *b]) == [i * i for i in range(10)]
    torch.manual_seed(3)
    first = random_split(Squares(), [10])[0].indices
    torch.manual_seed(3)
    assert random_split(Squares(), [10])[0].indices == first


def test_random_split_fractions():
    def lengths(total, *fractions):
        return [len(part) for part in random_split(range(total), fractions)]

    assert lengths(10, 0.3, 0.3, 0.4) == [3, 3, 4]
    assert lengths(5, 0.5, 0.25, 0.25) == [3, 1, 1]
    with pytest.warns(UserWarning, match=r"Length of split at index 1 is 0\. This might result in an empty dataset\."):
        assert lengths(2, 0.9, 0.1) == [2, 0]
    text = "Sum of input lengths does not equal the length of the input dataset!"
    for wrong in ([2, 2], [0.5, 0.4], [0.5, 1.4]):
        with raises(ValueError, text):
            random_split(range(5), wrong)
    with raises(ValueError, "Fraction at index 0 is not between 0 and 1"):
        random_split(range(5), [1.5, -0.5])


def test_sequential():
    assert list(SequentialSampler("abc")) == [0, 1, 2] and len(SequentialSampler("abc")) == 3
    with pytest.raises(NotImplementedError):
        iter(Sampler())


def test_random():
    sampler = RandomSampler(range(100), generator=seeded())
    order = list(sampler)
    assert sorted(order) == list(range(100)) and order != list(range(100)) and len(sampler) == 100
    assert list(sampler) != order, "an epoch has an order of its own"
    assert list(RandomSampler(range(100), generator=seeded())) == order
    assert all(type(i) is int for i in order)


def test_random_takes_one_number_from_the_default_generator():
    torch.manual_seed(5)
    first = list(RandomSampler(range(50)))
    torch.manual_seed(5)
    sampler = iter(RandomSampler(range(50)))
    half = [next(sampler) for _ in range(25)]
    torch.rand(10)
    assert half + list(sampler) == first


def test_random_num_samples():
    order = list(RandomSampler(range(3), num_samples=7, generator=seeded()))
    assert len(order) == 7 and sorted(order[:3]) == sorted(order[3:6]) == [0, 1, 2]
    few = list(RandomSampler(range(10), num_samples=4, generator=seeded()))
    assert len(few) == len(set(few)) == 4


def test_random_replacement():
    count = 4 * 1024 + 5
    drawn = collections.Counter(RandomSampler(range(4), replacement=True, num_samples=count, generator=seeded()))
    assert sum(drawn.values()) == count and set(drawn) == {0, 1, 2, 3}
    # binomial(4101, 1/4): mean 1025, standard deviation 28
    assert all(abs(n - count / 4) < 6 * 28 for n in drawn.values())


def test_random_errors():
    with raises(TypeError, "replacement should be a boolean value, but got replacement=1"):
        RandomSampler([1], replacement=1)
    for value in (0, -1, 1.5):
        with raises(ValueError, f"num_samples should be a positive integer value, but got num_samples={value}"):
            RandomSampler([1], num_samples=value)
    with raises(ValueError, "num_samples should be a positive integer value, but got num_samples=0"):
        RandomSampler([])


def test_subset_random():
    order = list(SubsetRandomSampler([5, 7, 9], generator=seeded()))
    assert sorted(order) == [5, 7, 9] and len(SubsetRandomSampler([5, 7, 9])) == 3


def test_weighted():
    assert list(WeightedRandomSampler([0, 1.0, 0], 3)) == [1, 1, 1]
    weights = [1.0, 0.0, 3.0]
    drawn = collections.Counter(WeightedRandomSampler(weights, 4000, generator=seeded()))
    # binomial(4000, 3/4): mean 3000, standard deviation 27
    assert set(drawn) == {0, 2} and abs(drawn[2] - 3000) < 6 * 27
    assert list(WeightedRandomSampler(weights, 9, generator=seeded())) == list(
        WeightedRandomSampler(torch.tensor(weights), 9, generator=seeded())
    )


def test_weighted_without_replacement():
    first = collections.Counter()
    for seed in range(2000):
        drawn = list(WeightedRandomSampler([1.0, 3.0, 0.0], 2, replacement=False, generator=seeded(seed)))
        assert sorted(drawn) == [0, 1]
        first[drawn[0]] += 1
    # the first one is drawn by weight: binomial(2000, 3/4), standard deviation 19.4
    assert abs(first[1] - 1500) < 6 * 19.4


def test_weighted_errors():
    with raises(ValueError, "weights should be a 1d sequence but given weights have shape (1, 1)"):
        WeightedRandomSampler([[1.0]], 1)
    with raises(ValueError, "num_samples should be a positive integer value, but got num_samples=0"):
        WeightedRandomSampler([1.0], 0)
    with raises(ValueError, "replacement should be a boolean value, but got replacement=1"):
        WeightedRandomSampler([1.0], 1, replacement=1)
    with pytest.raises(RuntimeError, match="probability tensor contains either `inf`, `nan` or element < 0"):
        list(WeightedRandomSampler([1.0, -1.0], 1))
    with pytest.raises(RuntimeError, match="invalid multinomial distribution"):
        list(WeightedRandomSampler([0.0], 1))
    with pytest.raises(RuntimeError, match="cannot sample n_sample > prob_dist.size"):
        list(WeightedRandomSampler([1.0], 2, replacement=False))


def test_batch_sampler():
    assert list(BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert (len(BatchSampler(range(5), 2, False)), len(BatchSampler(range(5), 2, True))) == (3, 2)
    for value in (0, -1, True, 1.5):
        with raises(ValueError, f"batch_size should be a positive integer value, but got batch_size={value}"):
            BatchSampler(range(3), value, False)
    with raises(ValueError, "drop_last should be a boolean value, but got drop_last=1"):
        BatchSampler(range(3), 2, 1)
