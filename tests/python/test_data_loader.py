"""DataLoader in one process: arguments, orders, batches. Expected values and texts are PyTorch's."""

import os
import subprocess
import sys
import warnings

import pytest

import tenon as torch
from tenon.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    SequentialSampler,
    Subset,
    TensorDataset,
    random_split,
)
from test_data_dataset import Squares, Stream, raises, seeded


def lists(loader):
    return [batch.tolist() for batch in loader]


def test_batches():
    loader = DataLoader(Squares(), 4)
    assert lists(loader) == [[0, 1, 4, 9], [16, 25, 36, 49], [64, 81]] and len(loader) == 3
    loader = DataLoader(Squares(), 4, drop_last=True)
    assert lists(loader) == [[0, 1, 4, 9], [16, 25, 36, 49]] and len(loader) == 2
    assert len(DataLoader(Squares())) == 10 and lists(DataLoader(Squares()))[3] == [9]


def test_without_batches():
    assert list(DataLoader(Squares(), None))[:3] == [0, 1, 4]
    assert len(DataLoader(Squares(), None)) == 10


def test_orders():
    loader = DataLoader(Squares(), 3, shuffle=True, generator=seeded())
    first, second = sum(lists(loader), []), sum(lists(loader), [])
    assert sorted(first) == sorted(second) == [i * i for i in range(10)] and first != second
    assert sum(lists(DataLoader(Squares(), 3, shuffle=True, generator=seeded())), []) == first
    assert lists(DataLoader(Squares(), 2, sampler=[3, 1, 2])) == [[9, 1], [4]]
    assert lists(DataLoader(Squares(), batch_sampler=[[1, 2, 3], [4]])) == [[1, 4, 9], [16]]
    assert lists(DataLoader(Squares(), batch_sampler=BatchSampler(SequentialSampler(range(3)), 2, False))) == [
        [0, 1],
        [4],
    ]


def test_default_generator_decides_the_order():
    def order():
        torch.manual_seed(11)
        return sum(lists(DataLoader(Squares(), 3, shuffle=True)), [])

    assert order() == order()


def test_collate_fn():
    assert list(DataLoader(Squares(), 4, collate_fn=sum)) == [14, 126, 145]
    assert list(DataLoader(Squares(), None, collate_fn=lambda x: -x))[:3] == [0, -1, -4]


def test_getitems():
    class Many(Squares):
        def __getitems__(self, indices):
            return [-i for i in indices]

    assert lists(DataLoader(Many(), 4)) == [[0, -1, -2, -3], [-4, -5, -6, -7], [-8, -9]]


def test_iterable():
    assert lists(DataLoader(Stream(1, 2, 3), 2)) == [[1, 2], [3]]
    assert lists(DataLoader(Stream(1, 2, 3), 2, drop_last=True)) == [[1, 2]]
    assert list(DataLoader(Stream(1, 2, 3), None)) == [1, 2, 3]
    assert len(DataLoader(Stream(1, 2, 3), 2)) == 2 and len(DataLoader(Stream(1, 2, 3), 2, drop_last=True)) == 1
    assert lists(DataLoader(Stream(), 2)) == []


def test_iterable_longer_than_it_said():
    class Liar(Stream):
        def __len__(self):
            return 1

    loader = DataLoader(Liar(1, 2), None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [x for x in loader] == [1, 2], "nobody has asked for the length"
    assert len(loader) == 1
    with pytest.warns(UserWarning, match=r"was reported to be 1\(when accessing len\(dataloader\)\), but 2 samples"):
        assert list(loader) == [1, 2]


def test_iterable_has_no_samplers():
    for name, value in (("shuffle", True), ("sampler", [1]), ("batch_sampler", [[1]])):
        with raises(
            ValueError,
            f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}",
        ):
            DataLoader(Stream(1), **{name: value})
    DataLoader(Stream(1), shuffle=False)


@pytest.mark.parametrize(
    "options, kind, text",
    [
        ({"batch_size": 0}, ValueError, "batch_size should be a positive integer value, but got batch_size=0"),
        ({"shuffle": True, "sampler": [1]}, ValueError, "sampler option is mutually exclusive with shuffle"),
        (
            {"batch_size": 2, "batch_sampler": [[1]]},
            ValueError,
            "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last",
        ),
        (
            {"batch_size": None, "drop_last": True},
            ValueError,
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last",
        ),
        (
            {"num_workers": -1},
            ValueError,
            "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.",
        ),
        ({"timeout": -1}, ValueError, "timeout option should be non-negative"),
        (
            {"prefetch_factor": 2},
            ValueError,
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None.",
        ),
        ({"num_workers": 1, "prefetch_factor": -1}, ValueError, "prefetch_factor option should be non-negative"),
        ({"persistent_workers": True}, ValueError, "persistent_workers option needs num_workers > 0"),
        (
            {"multiprocessing_context": "fork"},
            ValueError,
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
            "but got num_workers=0",
        ),
        (
            {"num_workers": 1, "multiprocessing_context": 3},
            TypeError,
            "multiprocessing_context option should be a valid context object or a string specifying the start method, "
            "but got multiprocessing_context=3",
        ),
    ],
)
def test_bad_options(options, kind, text):
    with raises(kind, text):
        DataLoader(Squares(), **options)


def test_attributes():
    loader = DataLoader(Squares(), 2, shuffle=True)
    assert (loader.batch_size, loader.num_workers, loader.drop_last) == (2, 0, False)
    assert loader.prefetch_factor is None and DataLoader(Squares(), num_workers=1).prefetch_factor == 2
    for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
        with raises(ValueError, f"{name} attribute should not be set after DataLoader is initialized"):
            setattr(loader, name, None)
    loader.pin_memory = False


def test_too_many_workers_warn():
    with pytest.warns(UserWarning, match="This DataLoader will create 10000 worker processes in total. Our suggested"):
        DataLoader(Squares(), num_workers=10000)


PIN_MEMORY = """
import warnings
import tenon as torch
from tenon.utils.data import DataLoader, TensorDataset
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    batches = list(DataLoader(TensorDataset(torch.arange(4)), 2, pin_memory=True, num_workers=WORKERS))
print([b[0].tolist() for b in batches], [b[0].is_pinned() for b in batches], [b[0].device.type for b in batches])
print(*(w.message for w in caught))
"""


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("gpus", [0, 1])
def test_pin_memory(workers, gpus):
    done = subprocess.run(
        [sys.executable, "-c", PIN_MEMORY.replace("WORKERS", str(workers))],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "0" if gpus else "", "TENON_FAKE_GPUS": "1" if gpus else ""},
        capture_output=True,
        text=True,
    )
    warning = (
        "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used."
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"[[0, 1], [2, 3]] {[bool(gpus)] * 2} ['cpu', 'cpu']",
        "" if gpus else warning,
    ]


def test_iterator_cannot_be_pickled():
    import pickle

    with pytest.raises(NotImplementedError):
        pickle.dumps(iter(DataLoader(Squares())))


def test_errors_of_the_dataset_pass():
    class Bad(Squares):
        def __getitem__(self, i):
            raise KeyError("key")

    with pytest.raises(KeyError, match="^'key'$"):
        list(DataLoader(Bad()))


# ---- rows of tensors: the short way gives what the long way gives ----


class Slow(Dataset):
    """The same samples as a dataset, without anything that a loader could know about it."""

    def __init__(self, dataset):
        self.dataset = dataset

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, i):
        return self.dataset[i]


def rows(n=23):
    x = torch.arange(n * 6).reshape(n, 2, 3).permute(0, 2, 1)
    return TensorDataset(x, torch.arange(n).to(torch.float32), torch.arange(n) % 2 == 0)


def batches_of(dataset, **options):
    return list(DataLoader(dataset, generator=seeded(), **options))


@pytest.mark.parametrize("options", [{}, {"shuffle": True}, {"sampler": [3, 3, 22, -1]}, {"drop_last": True}])
@pytest.mark.parametrize("part", [False, True])
def test_rows_equal_collated_samples(options, part):
    dataset = rows()
    if part:
        dataset = random_split(dataset, [17, 6], generator=seeded(2))[0]
        options = {**options, "sampler": [3, 3, 16]} if "sampler" in options else options
    fast, slow = batches_of(dataset, batch_size=5, **options), batches_of(Slow(dataset), batch_size=5, **options)
    assert len(fast) == len(slow)
    for a, b in zip(fast, slow):
        assert type(a) is type(b) is list and len(a) == len(b) == 3
        for x, y in zip(a, b):
            assert x.dtype == y.dtype and x.shape == y.shape and x.stride() == y.stride()
            assert torch.equal(x, y)


@pytest.mark.parametrize("options", [{}, {"shuffle": True}, {"sampler": [0, 1]}])
def test_rows_are_copies(options):
    dataset = rows()
    before = dataset.tensors[0].clone()
    for batch in DataLoader(dataset, 23, **options):
        batch[0].add_(1)
    assert torch.equal(dataset.tensors[0], before)


def test_rows_out_of_range():
    with pytest.raises(IndexError, match="index 23 is out of bounds for dimension 0 with size 23"):
        batches_of(rows(), batch_size=2, sampler=[0, 23])


def test_subclasses_go_the_long_way():
    class Negated(TensorDataset):
        def __getitem__(self, i):
            return tuple(-t for t in super().__getitem__(i))

    assert lists(DataLoader(Negated(torch.arange(3)), 3, collate_fn=lambda b: b[2][0])) == [-2]
    assert [b[0].tolist() for b in DataLoader(Negated(torch.arange(3)), 3)] == [[0, -1, -2]]
    assert [b[0].tolist() for b in DataLoader(Subset(Negated(torch.arange(3)), [2, 1]), 3)] == [[-2, -1]]


def test_rows_with_gradients():
    x = torch.arange(4.0).requires_grad_()
    for (batch,) in DataLoader(TensorDataset(x), 2):
        batch.sum().backward()
    assert x.grad.tolist() == [1.0] * 4


class Growing(torch.utils.data.Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return i


@pytest.mark.parametrize("options", [{}, {"batch_size": 2}, {"shuffle": True}, {"batch_size": None}, {"num_workers": 1},
                                     {"num_workers": 1, "persistent_workers": True}])
def test_the_length_is_asked_for_at_each_epoch(options):
    dataset = Growing(4)
    loader = DataLoader(dataset, **options)
    for n in (4, 7, 0 if not options.get("shuffle") else 1, 3):
        dataset.n = n
        seen = sorted(i for batch in loader for i in (batch.tolist() if isinstance(batch, torch.Tensor) else [batch]))
        assert seen == list(range(n)) and len(loader) == (n if options.get("batch_size", 1) in (1, None) else (n + 1) // 2)
