"""Samplers: in which order, and in which groups, a DataLoader asks its dataset for samples."""

import itertools
from typing import Generic, TypeVar

from ... import _C

_T_co = TypeVar("_T_co", covariant=True)

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

_BLOCK = 1024  # indices drawn with replacement come in blocks: one call a block, and bounded memory


def _draw_seed(generator=None):
    """A seed below 2^63 from `generator`; None is the default generator."""
    return int(_C.empty((), dtype=_C.int64).random_(generator=generator).item())


def _check_count(name, value):
    if type(value) is not int or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


def _check_flag(name, value):
    if not isinstance(value, bool):
        raise TypeError(f"{name} should be a boolean value, but got {name}={value}")


class Sampler(Generic[_T_co]):
    """An iterable of indices, or of lists of indices. Subclasses give `__iter__()` and, where it is known, `__len__()`."""

    def __iter__(self):
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """0, 1, 2 ... in order."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices in random order; with `replacement`, drawn one by one and so with repetitions.

    `num_samples` (the dataset's length) may be larger than the dataset: further permutations follow. Without a
    `generator`, each epoch takes one number from the default generator and goes on from that, so that what else draws
    random numbers during the epoch does not change the order.
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        _check_flag("replacement", replacement)
        _check_count("num_samples", self.num_samples)

    @property
    def num_samples(self):
        """How many indices an epoch has."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def _index_tensors(self):
        """The epoch's indices as int64 tensors."""
        n, left = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            generator = _C.Generator()
            generator.manual_seed(_draw_seed())
        while left > 0:
            if self.replacement:
                block = _C.randint(0, n, (min(left, _BLOCK),), dtype=_C.int64, generator=generator)
            else:
                block = _C.randperm(n, generator=generator)[:left]
            left -= len(block)
            yield block

    def __iter__(self):
        return itertools.chain.from_iterable(block.tolist() for block in self._index_tensors())

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order, each once."""

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        for i in _C.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices 0 .. len(weights) - 1 with probabilities in proportion to their weights (which need not add up to 1).

    Without `replacement` an index comes at most once, so `num_samples` indices of positive weight must exist.
    """

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        _check_count("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        weights = _C.as_tensor(weights, dtype=_C.float64)
        if weights.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(weights.shape)}"
            )
        self.weights = weights
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        return iter(_multinomial(self.weights, self.num_samples, self.replacement, self.generator))

    def __len__(self):
        return self.num_samples


def _multinomial(weights, count, replacement, generator):
    """`count` indices drawn by weight, as a list of ints."""
    if not bool(((weights >= 0) & (weights < float("inf"))).all()):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    total = float(weights.sum())
    if total <= 0:
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if not replacement and count > len(weights):
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if replacement:
        return _draw_by_weight(weights, total, count, generator)
    # Efraimidis and Spirakis (2006): the largest u^(1/w) are a sample without replacement; here as log(u) / w
    uniform = _C.rand(len(weights), dtype=_C.float64, generator=generator).tolist()
    logs = _C.tensor([max(u, 2.0**-1074) for u in uniform], dtype=_C.float64).log().tolist()
    keys = [log / w if w > 0 else float("-inf") for log, w in zip(logs, weights.tolist())]
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=True)[:count]


def _draw_by_weight(weights, total, count, generator):
    """Inversion of the cumulative weights: index i where the sum of the weights before it first exceeds u * total."""
    import bisect

    cumulative = list(itertools.accumulate(weights.tolist()))
    last = max(i for i, w in enumerate(weights.tolist()) if w > 0)  # rounding must not run past the end
    uniform = _C.rand(count, dtype=_C.float64, generator=generator).tolist()
    return [min(bisect.bisect_right(cumulative, u * cumulative[-1]), last) for u in uniform]


class BatchSampler(Sampler[list]):
    """Groups a sampler's indices into lists of `batch_size`; `drop_last` leaves out a short last one."""

    def __init__(self, sampler, batch_size, drop_last):
        _check_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self):
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self):
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
