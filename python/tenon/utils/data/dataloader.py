"""DataLoader: batches from a dataset, in this process or from worker processes."""

import itertools
import multiprocessing
import multiprocessing.context
import os
import warnings
from typing import Generic, TypeVar

from ... import _C
from ._utils.collate import default_collate, default_convert
from ._utils.fetch import MakeFetcher, TensorRows, warn_of_length
from ._utils.pin_memory import pin_memory
from ._utils.worker import get_worker_info
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler, _draw_seed

_T_co = TypeVar("_T_co", covariant=True)

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]


class _DatasetKind:
    Map = 0
    Iterable = 1


class _Endless:
    """The sampler of an iterable dataset: it says only 'one more'."""

    def __iter__(self):
        return itertools.repeat(None)


class DataLoader(Generic[_T_co]):
    """An iterable of batches.

    dataset: map style (`__getitem__`, `__len__`) or an IterableDataset.
    batch_size: samples in a batch; None: samples come one by one, as collate_fn (default_convert) makes them.
    shuffle: another order every epoch. sampler: own order. batch_sampler: own lists of indices.
    num_workers: processes that load ahead; 0 loads in the calling thread.
    collate_fn: from a list of samples to a batch; default_collate.
    pin_memory: batches in page-locked memory, if there is a GPU.
    drop_last: leave out a short last batch.
    timeout: seconds to wait for a worker; 0 waits for ever.
    worker_init_fn: called with the worker's number in each worker before it loads.
    multiprocessing_context: "fork", "spawn", "forkserver" or a context of multiprocessing.
    generator: random numbers of shuffling and of the workers' base seed.
    prefetch_factor: batches loaded ahead per worker (2).
    persistent_workers: workers stay when an epoch ends.
    in_order: batches in the sampler's order; False hands out whatever is ready.

    Worker i has the seed base_seed + i. An exception in a worker is raised here, with its traceback in the text.
    """

    dataset: object
    batch_size: object
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: object
    _iterator = None
    __initialized = False

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor=None,
        persistent_workers=False,
        pin_memory_device="",
        in_order=True,
    ):
        _check_process_options(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        self.persistent_workers = persistent_workers
        self._dataset_kind = _DatasetKind.Map
        if isinstance(dataset, IterableDataset):
            self._dataset_kind = _DatasetKind.Iterable
            _check_no_sampling(shuffle, sampler, batch_sampler)
        shuffle = bool(shuffle)
        _check_sampling(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            sampler = self._default_sampler(shuffle)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self._reported = [None]  # length of an iterable dataset, once it was asked for; iterators share the list
        self.__initialized = True
        self.check_worker_number_rationality()

    def _default_sampler(self, shuffle):
        if self._dataset_kind == _DatasetKind.Iterable:
            return _Endless()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    def __setattr__(self, name, value):
        if self.__initialized and name in (
            "batch_size",
            "batch_sampler",
            "sampler",
            "drop_last",
            "dataset",
            "persistent_workers",
        ):
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self):
        """How workers are started; None is multiprocessing's default."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context):
        self.__multiprocessing_context = _context_of(context, self.num_workers)

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def _make_fetcher(self):
        iterable = self._dataset_kind == _DatasetKind.Iterable
        return MakeFetcher(self.dataset, self._auto_collation, self.collate_fn, iterable, self.drop_last)

    def _get_iterator(self):
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        from ._multiprocess import _MultiProcessingDataLoaderIter

        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self):
        if not self.persistent_workers or self.num_workers == 0:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def __len__(self):
        if self._dataset_kind != _DatasetKind.Iterable:
            return len(self._index_sampler)
        length = self._reported[0] = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self):
        """Warns where more workers are asked for than there are processors to run them."""
        if not self.num_workers:
            return
        try:
            processors, doubt = len(os.sched_getaffinity(0)), ""
        except (AttributeError, OSError):
            processors = os.cpu_count()
            doubt = " (`cpuset` is not taken into account)"
        if processors is None or self.num_workers > processors:
            limit = (
                f"Our suggested max number of worker in current system is {processors}{doubt}, "
                "which is smaller than what this DataLoader is going to create."
                if processors is not None
                else "DataLoader is not able to compute a suggested max number of worker in current system."
            )
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. {limit} "
                "Please be aware that excessive worker creation might get DataLoader running slow or even freeze, "
                "lower the worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=3,
            )


def _check_process_options(num_workers, timeout, prefetch_factor, persistent_workers):
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_no_sampling(shuffle, sampler, batch_sampler):
    """An iterable dataset is its own order."""
    asked = (
        ("shuffle", shuffle, shuffle not in (False, None)),
        ("sampler", sampler, sampler is not None),
        ("batch_sampler", batch_sampler, batch_sampler is not None),
    )
    for name, value, given in asked:
        if given:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
            )


def _check_sampling(batch_size, shuffle, sampler, batch_sampler, drop_last):
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )


def _context_of(context, num_workers):
    if context is None:
        return None
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
            f"but got num_workers={num_workers}"
        )
    if isinstance(context, str):
        valid = multiprocessing.get_all_start_methods()
        if context not in valid:
            raise ValueError(
                f"multiprocessing_context option should specify a valid start method in {valid!r}, "
                f"but got multiprocessing_context={context!r}"
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start "
            f"method, but got multiprocessing_context={context}"
        )
    return context


def _pins(loader):
    """Are batches to be pinned? Says so where there is nothing to pin them for."""
    if not loader.pin_memory:
        return False
    if loader.pin_memory_device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device,"
            f"ignore pin_memory_device='{loader.pin_memory_device}'.",
            stacklevel=5,
        )
    import tenon

    if tenon.cuda.is_available():
        return True
    warnings.warn(
        "'pin_memory' argument is set as true but no accelerator is found, "
        "then device pinned memory won't be used.",
        stacklevel=5,
    )
    return False


class _BaseDataLoaderIter:
    """One epoch's iterator: subclasses give `_next_data()`."""

    def __init__(self, loader):
        self._dataset = loader.dataset
        self._iterable = loader._dataset_kind == _DatasetKind.Iterable
        self._make_fetcher = loader._make_fetcher()
        self._pin_memory = _pins(loader)
        self._base_seed = _draw_seed(loader.generator)
        self._num_workers = loader.num_workers
        self._begin(loader)

    def _begin(self, loader):
        self._index_sampler = loader._index_sampler
        self._sampler_iter = iter(loader._index_sampler)
        self._num_yielded = 0
        self._reported = loader._reported  # not the loader, which may hold this iterator

    def __iter__(self):
        return self

    def __next__(self):
        data = self._next_data()
        if self._pin_memory:
            data = pin_memory(data)
        self._num_yielded += 1
        reported = self._reported[0]
        if reported is not None and self._num_yielded > reported:
            warn_of_length(self._dataset, reported, self._num_yielded, self._num_workers)
        return data

    def __len__(self):
        return len(self._index_sampler)

    def __getstate__(self):
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Loads in the calling thread."""

    def _begin(self, loader):
        super()._begin(loader)
        fetcher = self._make_fetcher()
        blocks = _row_blocks(loader, getattr(fetcher, "rows", None))
        self._batches = blocks if blocks is not None else map(fetcher.fetch, self._sampler_iter)

    def _next_data(self):
        return next(self._batches)


def _row_blocks(loader, rows):
    """An iterator over the batches of rows of tensors in sequential or plain random order; None: something else.

    No list of indices is made: a batch is a slice of the rows, or of the epoch's permutation.
    """
    batches = loader.batch_sampler
    if rows is None or type(batches) is not BatchSampler or batches.sampler is not loader.sampler:
        return None
    sampler, step = loader.sampler, batches.batch_size
    if type(sampler) is SequentialSampler and sampler.data_source is loader.dataset:
        return (rows.slice(start, stop) for start, stop in _steps(len(sampler), step, batches.drop_last))
    if type(sampler) is RandomSampler and sampler.data_source is loader.dataset:
        if sampler.replacement or sampler._num_samples is not None:
            return None
        return _permuted(rows, sampler, step, batches.drop_last)
    return None


def _permuted(rows, sampler, step, drop_last):
    for order in sampler._index_tensors():  # one: the permutation of the epoch
        for start, stop in _steps(len(order), step, drop_last):
            yield rows.select(order[start:stop])


def _steps(n, step, drop_last):
    """(start, stop) of each batch of n samples."""
    end = n - n % step if drop_last else n
    return ((start, min(start + step, n)) for start in range(0, end, step))
