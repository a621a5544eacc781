"""Datasets: samples by index (map style) or one after another (iterable style)."""

import bisect
import itertools
import math
import warnings
from typing import Generic, TypeVar

from ... import _C

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]


class Dataset(Generic[_T_co]):
    """A map from indices to samples. Subclasses give `__getitem__(index)` and, for samplers, `__len__()`.

    A subclass that can fetch many samples at once may give `__getitems__(indices) -> list`; DataLoader prefers it.
    `a + b` is the concatenation of two datasets.
    """

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T_co]):
    """A stream of samples: subclasses give `__iter__()`.

    With worker processes every worker walks a copy of the dataset: `get_worker_info()` inside `__iter__` tells which
    part of the stream is this worker's, or else each sample comes once per worker.
    """

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Rows of tensors with the same size in dimension 0; sample i is the tuple of their i-th rows.

    A DataLoader over it with the default collate_fn fetches a batch with one indexing operation per tensor.
    """

    def __init__(self, *tensors):
        if any(t.size(0) != tensors[0].size(0) for t in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(t[index] for t in self.tensors)

    def __len__(self):
        return self.tensors[0].size(0)


def _fetch_many(dataset, indices):
    """The samples of several indices, by the dataset's own `__getitems__` where it has one."""
    many = getattr(dataset, "__getitems__", None)
    if not callable(many):
        return [dataset[i] for i in indices]
    samples = many(indices)
    if len(samples) != len(indices):
        raise ValueError(
            f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(samples)}"
        )
    return samples


class StackDataset(Dataset):
    """Several datasets of one length side by side: samples are tuples, or dicts where datasets came by keyword."""

    def __init__(self, *args, **kwargs):
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or"
                "``dict``- (via ``kwargs``) like input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        parts = list(args or kwargs.values())
        self._length = len(parts[0])
        if any(len(part) != self._length for part in parts):
            raise ValueError("Size mismatch between datasets")

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: part[index] for name, part in self.datasets.items()}
        return tuple(part[index] for part in self.datasets)

    def __getitems__(self, indices):
        if isinstance(self.datasets, dict):
            columns = [_fetch_many(part, indices) for part in self.datasets.values()]
            return [dict(zip(self.datasets, row)) for row in zip(*columns)]
        return list(zip(*(_fetch_many(part, indices) for part in self.datasets)))

    def __len__(self):
        return self._length


class ConcatDataset(Dataset[_T_co]):
    """Map-style datasets one after another."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(part, IterableDataset) for part in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence):
        """Lengths of the parts, added up."""
        return list(itertools.accumulate(len(part) for part in sequence))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        part = bisect.bisect_right(self.cumulative_sizes, idx)
        before = self.cumulative_sizes[part - 1] if part else 0
        return self.datasets[part][idx - before]


class ChainDataset(IterableDataset):
    """Iterable datasets one after another, each started when the one before has ended."""

    def __init__(self, datasets):
        super().__init__()
        self.datasets = datasets

    def _parts(self):
        for part in self.datasets:
            if not isinstance(part, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield part

    def __iter__(self):
        for part in self._parts():
            yield from part

    def __len__(self):
        return sum(len(part) for part in self._parts())


class Subset(Dataset[_T_co]):
    """Those samples of a dataset that a sequence of indices names."""

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx):
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices):
        cls = type(self)
        if cls.__getitem__ is not Subset.__getitem__ and cls.__getitems__ is Subset.__getitems__:
            return [self[i] for i in indices]
        many = getattr(self.dataset, "__getitems__", None)
        chosen = [self.indices[i] for i in indices]
        return many(chosen) if callable(many) else [self.dataset[i] for i in chosen]

    def __len__(self):
        return len(self.indices)


def _lengths_of(fractions, total):
    """Fractions of a dataset's length as whole numbers; what rounding down leaves goes to the first parts, one each."""
    lengths = []
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        lengths.append(math.floor(total * fraction))
    for i in range(total - sum(lengths)):
        lengths[i % len(lengths)] += 1
    for i, length in enumerate(lengths):
        if length == 0:
            warnings.warn(
                f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=3
            )
    return lengths


def random_split(dataset, lengths, generator=None):
    """Cuts a dataset at random into Subsets of the given lengths, or fractions that add up to 1.

    The order is one permutation from `generator`; None is the default generator.
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of(lengths, len(dataset))
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = _C.randperm(sum(lengths), generator=generator).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, order[end - length : end]) for length, end in zip(lengths, ends)]
