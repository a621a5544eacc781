"""DataLoader with worker processes: what arrives, in which order, and what happens when something goes wrong."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tenon as torch
from tenon.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
from test_data_dataset import Squares, seeded

METHODS = ["fork", "spawn", "forkserver"]


def lists(loader):
    return [batch.tolist() for batch in loader]


def descriptors():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def children():
    gc.collect()  # what pytest keeps of an exception may hold an iterator
    return [p for p in multiprocessing.active_children() if p.is_alive()]


class Sharded(IterableDataset):
    """0 .. 10, each in one worker."""

    def __iter__(self):
        info = get_worker_info()
        return iter(range(11) if info is None else range(info.id, 11, info.num_workers))


class Mixed(Dataset):
    """Samples with large tensors, arrays, text and numbers."""

    def __len__(self):
        return 6

    def __getitem__(self, i):
        return {"x": torch.full((300, 100), float(i)), "y": np.arange(i, i + 3), "name": f"n{i}", "i": i}


class Failing(Dataset):
    def __init__(self, what):
        self.what = what

    def __len__(self):
        return 8

    def __getitem__(self, i):
        if i == 3:
            self.what()
        return i


def fail_with_value():
    raise ValueError("bad item")


def fail_with_key():
    raise KeyError("kk")


def fail_with_unicode():
    raise UnicodeDecodeError("codec", b"", 1, 2, "why")


def die_of_signal():
    os.kill(os.getpid(), signal.SIGKILL)


def exit_three():
    os._exit(3)


def sleep_long():
    time.sleep(60)


def not_picklable():
    raise type("Local", (Exception,), {})("hidden")


class Reports(Dataset):
    """What a worker knows of itself, and its first random numbers."""

    def __len__(self):
        return 4

    def __getitem__(self, i):
        import random

        info = get_worker_info()
        numbers = (random.random(), float(torch.rand(())), np.random.rand())
        return (info.id, info.num_workers, info.seed, len(info.dataset), os.environ.get("TENON_TEST_WORKER"), numbers)


def mark_environment(worker_id):
    os.environ["TENON_TEST_WORKER"] = str(worker_id)


def fail_to_start(worker_id):
    raise OSError(f"worker {worker_id} will not")


def first(batch):
    return batch[0]


@pytest.mark.parametrize("method", METHODS)
def test_same_batches_as_without(method):
    loader = DataLoader(Mixed(), 4, num_workers=2, multiprocessing_context=method)
    batches = list(loader)
    assert len(batches) == 2
    for got, want in zip(batches, DataLoader(Mixed(), 4)):
        assert got["name"] == want["name"]
        for key in ("x", "y", "i"):
            assert got[key].dtype == want[key].dtype and torch.equal(got[key], want[key])
        got["x"].add_(1)


def test_order():
    for workers in (1, 2):
        loader = DataLoader(Squares(), 3, num_workers=workers)
        assert lists(loader) == [[0, 1, 4], [9, 16, 25], [36, 49, 64], [81]]
    shuffled = DataLoader(Squares(), 3, shuffle=True, num_workers=2, generator=seeded())
    flat = sum(lists(shuffled), [])
    assert sorted(flat) == [i * i for i in range(10)] and flat != sorted(flat)
    loader = DataLoader(Squares(), 3, num_workers=2, in_order=False)
    assert sorted(sum(lists(loader), [])) == [i * i for i in range(10)]


def test_slow_worker_does_not_change_the_order():
    class Uneven(Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, i):
            time.sleep(0.1 if i % 2 == 0 else 0)
            return i

    assert lists(DataLoader(Uneven(), 1, num_workers=2)) == [[i] for i in range(6)]


def test_without_batches():
    assert list(DataLoader(Squares(), None, num_workers=2))[:4] == [0, 1, 4, 9]


def test_iterable():
    assert sorted(sum(lists(DataLoader(Sharded(), 2, num_workers=2)), [])) == list(range(11))
    # in turn from each worker until it has no more
    assert lists(DataLoader(Sharded(), 2, num_workers=2)) == [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9]]
    assert lists(DataLoader(Sharded(), 4, num_workers=2, drop_last=True)) == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert sorted(DataLoader(Sharded(), None, num_workers=2)) == list(range(11))


@pytest.mark.parametrize("prefetch", [1, 2, 700])
def test_prefetch(prefetch):
    loader = DataLoader(range(1500), 1, num_workers=2, prefetch_factor=prefetch)
    assert sum(int(batch) for batch in loader) == sum(range(1500))


def test_large_index_lists():
    loader = DataLoader(range(60000), 30000, num_workers=2)
    assert [int(batch.sum()) for batch in loader] == [sum(range(30000)), sum(range(30000, 60000))]


def test_worker_info_and_seeds():
    loader = DataLoader(
        Reports(), 1, num_workers=2, collate_fn=first, worker_init_fn=mark_environment, generator=seeded()
    )
    reports = list(loader)
    assert [r[0] for r in reports] == [0, 1, 0, 1] and all(r[1] == 2 and r[3] == 4 for r in reports)
    assert [r[4] for r in reports] == ["0", "1", "0", "1"]
    assert reports[1][2] == reports[0][2] + 1, "base seed and the worker's number"
    for draws in zip(*(r[5] for r in reports)):
        assert len(set(draws)) == 4
    assert get_worker_info() is None

    again = DataLoader(Reports(), 1, num_workers=2, collate_fn=first, worker_init_fn=mark_environment, generator=seeded())
    assert list(again) == reports, "the generator decides"
    other = list(again)
    assert other[0][2] != reports[0][2], "the next epoch has other seeds"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_persistent_workers(method):
    def pid(batch):
        return os.getpid()

    if method == "spawn":
        loader = DataLoader(Sharded(), 2, num_workers=2, persistent_workers=True, multiprocessing_context=method)
        assert lists(loader) == lists(loader) == [[0, 2], [1, 3], [4, 6], [5, 7], [8, 10], [9]]
        return
    loader = DataLoader(Squares(), 2, num_workers=2, persistent_workers=True, collate_fn=pid)
    assert set(loader) == set(loader)
    fresh = DataLoader(Squares(), 2, num_workers=2, collate_fn=pid)
    assert set(fresh).isdisjoint(set(fresh))


def test_persistent_workers_after_half_an_epoch():
    loader = DataLoader(range(20), 3, num_workers=2, persistent_workers=True, shuffle=True)
    next(iter(loader))
    assert sorted(sum(lists(loader), [])) == list(range(20))
    assert sorted(sum(lists(loader), [])) == list(range(20))


def test_strides_dtypes_and_objects_cross():
    items = [
        torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1),
        torch.arange(24.0).reshape(4, 6)[:, ::2],
        torch.empty(0, 3, dtype=torch.bfloat16),
        torch.tensor(True),
        torch.ones(2, requires_grad=True),
        torch.ones(100, 100)[0],
        "text",
        None,
        {1, 2},
        [np.zeros((200, 200)), b"bytes"],
    ]
    loader = DataLoader(items, None, num_workers=1, collate_fn=lambda x: x)
    for got, want in zip(loader, items):
        if isinstance(want, torch.Tensor):
            assert got.dtype == want.dtype and got.shape == want.shape and torch.equal(got, want)
            assert got.requires_grad == want.requires_grad
        elif isinstance(want, list):
            assert np.array_equal(got[0], want[0]) and got[1] == want[1]
        else:
            assert got == want
    permuted = next(iter(loader))
    assert permuted.stride() == items[0].stride()


def test_results_of_gradients_are_refused():
    loader = DataLoader([torch.ones(2, requires_grad=True) * 2], None, num_workers=1)
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        list(loader)


# ---- what goes wrong ----


@pytest.mark.parametrize(
    "what, kind, line",
    [
        (fail_with_value, ValueError, "ValueError: bad item"),
        (fail_with_key, KeyError, "KeyError: 'kk'"),
        (fail_with_unicode, RuntimeError, "UnicodeDecodeError: 'codec' codec can't decode bytes"),
        (not_picklable, RuntimeError, "Local: hidden"),
    ],
)
def test_exceptions_cross(what, kind, line):
    name = "Local" if what is not_picklable else line.partition(":")[0]
    name = "RuntimeError" if what is not_picklable else name
    with pytest.raises(kind) as info:
        list(DataLoader(Failing(what), 2, num_workers=2))
    text = str(info.value)
    assert text.startswith(
        f"Caught {name} in DataLoader worker process 1.\nOriginal Traceback (most recent call last):\n"
    )
    assert line in text and f"in {what.__name__}" in text
    del info  # its traceback holds the iterator
    assert not children()


@pytest.mark.parametrize("persistent", [False, True])
def test_an_exception_is_of_one_batch(persistent):
    loader = DataLoader(Failing(fail_with_value), 2, num_workers=2, persistent_workers=persistent)
    iterator = iter(loader)
    assert next(iterator).tolist() == [0, 1]
    with pytest.raises(ValueError):
        next(iterator)
    assert [batch.tolist() for batch in iterator] == [[4, 5], [6, 7]]


def test_init_fn_fails():
    with pytest.raises(OSError, match=r"Caught OSError in DataLoader worker process 0\.\nOriginal Traceback"):
        list(DataLoader(Squares(), num_workers=1, worker_init_fn=fail_to_start))


@pytest.mark.parametrize(
    "what, cause",
    [
        (die_of_signal, "is killed by signal: Killed. "),
        (
            exit_three,
            "exited unexpectedly with exit code 3. Details are lost due to multiprocessing. "
            "Rerunning with num_workers=0 may give better error trace.",
        ),
    ],
)
def test_death_of_a_worker(what, cause):
    iterator = iter(DataLoader(Failing(what), 2, num_workers=2))
    pids = {handle.process.pid for handle in iterator._handles}
    with pytest.raises(RuntimeError, match=r"^DataLoader worker \(pid\(s\) \d+\) exited unexpectedly$") as info:
        list(iterator)
    pid = int(str(info.value).split("pid(s) ")[1].split(")")[0])
    assert pid in pids
    assert str(info.value.__cause__) == f"DataLoader worker (pid {pid}) {cause}"
    assert not children()


def test_timeout():
    iterator = iter(DataLoader(Failing(sleep_long), 2, num_workers=2, timeout=0.5))
    assert next(iterator).tolist() == [0, 1]
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"^DataLoader timed out after 0\.5 seconds$"):
        next(iterator)
    assert time.monotonic() - start < 5
    for handle in iterator._handles:
        handle.process.kill()


def test_left_early_leaves_nothing():
    before = descriptors()
    for _ in range(3):
        for _batch in DataLoader(Mixed(), 2, num_workers=2):
            break
    del _batch
    assert not children() and descriptors() <= before


def test_batches_outlive_the_loader():
    batch = next(iter(DataLoader(Mixed(), 4, num_workers=1)))
    gc.collect()
    assert batch["x"][3, 299, 99].item() == 3.0
    batch["x"].mul_(2)
    assert batch["x"][3].sum().item() == 6.0 * 300 * 100


def test_no_files_in_shared_memory():
    before = set(os.listdir("/dev/shm"))
    batches = list(DataLoader(Mixed(), 2, num_workers=2))
    assert set(os.listdir("/dev/shm")) == before and len(batches) == 3


PROGRAM = """
import os, signal, sys, time
import tenon
from tenon.utils.data import DataLoader, Dataset
class Slow(Dataset):
    def __len__(self): return 1000
    def __getitem__(self, i): time.sleep(0.02); return i
loader = DataLoader(Slow(), 2, num_workers=2)
iterator = iter(loader)
next(iterator)
print(*(h.process.pid for h in iterator._handles), flush=True)
{end}
"""


def run_program(end):
    """Runs PROGRAM; returns (exit status, stderr, pids of its workers)."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(end=end)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    killer = threading.Timer(60, process.kill)
    killer.start()
    out, err = process.communicate()
    killer.cancel()
    return process.returncode, err, [int(p) for p in out.split()]


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(pids):
    deadline = time.monotonic() + 10
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(is_running, pids))


def test_ctrl_c_is_clean():
    # a shell in the background leaves SIGINT ignored to its children
    status, err, pids = run_program(
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "[os.kill(p, signal.SIGINT) for p in [h.process.pid for h in iterator._handles] + [os.getpid()]]\nlist(iterator)"
    )
    assert status == -signal.SIGINT
    assert err.count("Traceback") == 1 and err.rstrip().endswith("KeyboardInterrupt")
    assert len(pids) == 2 and gone(pids)


def test_workers_end_with_the_main_process():
    status, err, pids = run_program("os.kill(os.getpid(), signal.SIGKILL)")
    assert status == -signal.SIGKILL and len(pids) == 2 and gone(pids)


def test_end_of_program_in_the_middle():
    status, err, pids = run_program("")
    assert status == 0 and err == "" and gone(pids)
