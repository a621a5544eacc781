"""From indices to a batch: one fetcher per kind of dataset, and a shorter way for rows of tensors."""

import warnings

from .... import _C
from ..dataset import Subset, TensorDataset
from .collate import default_collate


class MakeFetcher:
    """What makes a fetcher, in this process or in another one: called once an epoch."""

    def __init__(self, dataset, batched, collate_fn, iterable, drop_last):
        self.dataset = dataset
        self.batched = batched
        self.collate_fn = collate_fn
        self.iterable = iterable
        self.drop_last = drop_last

    def __call__(self):
        if self.iterable:
            return IterableFetcher(self.dataset, self.batched, self.collate_fn, self.drop_last)
        return MapFetcher(self.dataset, self.batched, self.collate_fn)


class MapFetcher:
    """Fetches by index from a map-style dataset. `batched`: the index is a list, and the samples are collated."""

    ends = False  # its StopIteration would be an error of the dataset

    def __init__(self, dataset, batched, collate_fn):
        self.dataset = dataset
        self.collate_fn = collate_fn
        self.batched = batched
        self.many = getattr(dataset, "__getitems__", None)
        self.rows = TensorRows.of(dataset) if batched and collate_fn is default_collate else None

    def fetch(self, index):
        """The batch of a list of indices, or the sample of one."""
        if not self.batched:
            return self.collate_fn(self.dataset[index])
        if self.rows is not None:
            batch = self.rows.take(index)
            if batch is not None:
                return batch
        if callable(self.many):
            return self.collate_fn(self.many(index))
        return self.collate_fn([self.dataset[i] for i in index])


class IterableFetcher:
    """Takes samples from an iterable dataset, as many as the list of indices is long."""

    ends = True

    def __init__(self, dataset, batched, collate_fn, drop_last):
        self.samples = iter(dataset)
        self.collate_fn = collate_fn
        self.batched = batched
        self.drop_last = drop_last
        self.ended = False

    def fetch(self, index):
        """The next batch or sample; StopIteration at the end."""
        if self.ended:
            raise StopIteration
        if not self.batched:
            return self.collate_fn(next(self.samples))
        samples = []
        for _ in index:
            try:
                samples.append(next(self.samples))
            except StopIteration:
                self.ended = True
                break
        if not samples or (self.drop_last and len(samples) < len(index)):
            raise StopIteration
        return self.collate_fn(samples)


class TensorRows:
    """Batches of a TensorDataset, or of a Subset of one, by one index_select per tensor.

    What comes out equals collating the samples one by one, and is its own memory. `of` answers None where that would
    not hold: subclasses may do something else with an index, and gradients would take another way.
    """

    def __init__(self, tensors, indices):
        self.tensors = tensors
        self.indices = indices  # int64 tensor: row of each sample; None: sample i is row i

    @classmethod
    def of(cls, dataset):
        """The rows behind a dataset, or None."""
        indices = None
        if type(dataset) is Subset and type(dataset.dataset) is TensorDataset:
            dataset, indices = dataset.dataset, dataset.indices
        if type(dataset) is not TensorDataset or not dataset.tensors:
            return None
        if any(type(t) is not _C.Tensor or t.requires_grad for t in dataset.tensors):
            return None
        if indices is not None:
            indices = _index_tensor(indices)
            if indices is None or not _in_range(indices, dataset.tensors[0].size(0)):
                return None
        return cls(dataset.tensors, indices)

    def take(self, index):
        """The batch of a list of ints; None if some index is not 0 <= i < length (the slow way knows what to do)."""
        index = _index_tensor(index)
        size = (self.tensors[0] if self.indices is None else self.indices).size(0)
        if index is None or not _in_range(index, size):
            return None
        return self.select(index)

    def select(self, index):
        """The batch of an int64 tensor of indices that are known to be in range."""
        if self.indices is not None:
            index = self.indices.index_select(0, index)
        return [t.index_select(0, index.to(t.device)) for t in self.tensors]

    def slice(self, start, stop):
        """The batch of the samples start .. stop - 1."""
        if self.indices is not None:
            return self.select(_C.arange(start, stop))
        parts = [t[start:stop] for t in self.tensors]
        return [part.clone() if part.is_contiguous() else part.contiguous() for part in parts]


def _index_tensor(indices):
    """Ints as an int64 tensor; None if they are something else."""
    if isinstance(indices, range):
        indices = list(indices)
    if type(indices) is not list or not indices or type(indices[0]) is not int:
        return None
    try:
        made = _C.tensor(indices)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None
    return made if made.dtype == _C.int64 and made.dim() == 1 else None


def _in_range(index, size):
    return 0 <= int(index.min()) and int(index.max()) < size


def warn_of_length(dataset, reported, fetched, workers):
    """An iterable dataset gave more samples than its len() had said."""
    text = (
        f"Length of IterableDataset {dataset} was reported to be {reported}"
        f"(when accessing len(dataloader)), but {fetched} samples have been fetched. "
    )
    if workers:
        text += (
            "For multiprocessing data-loading, this could be caused by not properly configuring the "
            "IterableDataset replica at each worker. Please see "
            "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
        )
    warnings.warn(text, stacklevel=3)
