"""torch.multiprocessing: tensors in memory that processes share."""

import gc
import multiprocessing
import os
import subprocess
import sys

import pytest

import tenon as torch
import tenon.multiprocessing as mp
from tenon import nn


def descriptors():
    gc.collect()
    return sum("memfd:tenon" in os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}"))


def write(i, queue, shared, parameter, done):
    shared[i] = i + 10
    with torch.no_grad():
        parameter[i] += 1
    queue.put((i, torch.full((3,), float(i), dtype=torch.float64), shared, parameter))
    done.wait()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_write_to_one_memory(method):
    context = mp.get_context(method)
    queue, done = context.Queue(), context.Event()
    shared, parameter = torch.zeros(4).share_memory_(), nn.Parameter(torch.zeros(2))
    parameter.share_memory_()
    view = shared[1:]
    assert shared.is_shared() and view.is_shared() and parameter.is_shared() and parameter.requires_grad and parameter.is_leaf
    started = mp.start_processes(write, (queue, shared, parameter, done), nprocs=2, join=False, start_method=method)
    assert len(started.pids()) == 2 and isinstance(started, mp.ProcessContext)
    got = sorted((queue.get(timeout=60) for _ in range(2)), key=lambda g: g[0])
    done.set()
    while not started.join():
        pass
    assert shared.tolist() == [10, 11, 0, 0] and view.tolist() == [11, 0, 0] and parameter.tolist() == [1, 1]
    assert [g[1].tolist() for g in got] == [[0.0] * 3, [1.0] * 3] and got[0][1].dtype == torch.float64
    assert all(type(g[3]) is nn.Parameter and g[3].requires_grad for g in got)
    got[0][2][3] = 7  # what comes back is the same memory
    assert got[1][2][3] == 7 and shared[3] == 7 and got[1][3].tolist() == [1, 1]


def ends(i):
    if i == 1:
        raise ValueError("not this one")
    if i == 2:
        os.kill(os.getpid(), 9)


def test_what_a_process_raises_is_raised():
    with pytest.raises(mp.ProcessRaisedException) as caught:
        mp.start_processes(ends, nprocs=2, start_method="fork")
    assert str(caught.value).startswith("\n\n-- Process 1 terminated with the following error:\nTraceback (most recent call last):\n")
    assert "ValueError: not this one" in str(caught.value) and caught.value.error_index == 1
    with pytest.raises(mp.ProcessExitedException, match="process 2 terminated with signal SIGKILL") as caught:
        mp.start_processes(ends_but_one, nprocs=3, start_method="fork")
    assert (caught.value.error_index, caught.value.exit_code, caught.value.signal_name) == (2, -9, "SIGKILL")
    assert mp.start_processes(ends, nprocs=1, start_method="fork") is None


def ends_but_one(i):
    ends(i if i != 1 else 0)


def test_layouts_dtypes_and_what_does_not_share():
    receive, send = mp.Pipe(duplex=False)
    whole = torch.arange(12).reshape(3, 4)
    for sent in (whole.t(), whole[1:, ::2], torch.tensor(True), torch.ones(2, 3, dtype=torch.bfloat16), torch.zeros(0, 3), torch.ones(2, device="meta"),
                 torch.ones(3, requires_grad=True)):
        send.send(sent)
        got = receive.recv()
        assert got.shape == sent.shape and got.dtype == sent.dtype and got.device == sent.device and got.requires_grad == sent.requires_grad
        assert sent.is_meta or (got.tolist() == sent.tolist() and got.stride() == sent.stride())
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        send.send(torch.ones(2, requires_grad=True) * 2)
    sub = torch.ones(2)
    sub.label = "kept"
    send.send(sub)
    assert receive.recv().label == "kept"
    assert not torch.ones(1).is_shared() and not torch.ones(1, device="meta").is_shared()
    empty = torch.zeros(0)
    assert empty.share_memory_() is empty


def test_modules_share_their_parameters():
    net = nn.Linear(2, 3)
    assert net.share_memory() is net and all(p.is_shared() for p in net.parameters())
    net(torch.ones(1, 2)).sum().backward()
    assert net.weight.grad.shape == (3, 2)
    with torch.no_grad():
        net.weight.add_(1)
    assert net.weight.is_shared()


def test_nothing_is_left():
    before = descriptors()
    tensors = [torch.ones(10).share_memory_() for _ in range(20)]
    assert descriptors() == before + 40  # the file's, and the mapping's own
    again = tensors[0]
    address = again.data_ptr()
    assert again.share_memory_() is again and again.data_ptr() == address
    del tensors, again
    assert descriptors() == before


def test_strategies():
    assert mp.get_all_sharing_strategies() == {"file_descriptor"} and mp.get_sharing_strategy() == "file_descriptor"
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(ValueError, match="file_system"):
        mp.set_sharing_strategy("file_system")
    assert mp.Queue and mp.get_context is multiprocessing.get_context


def test_it_is_imported_late():
    program = "import sys, tenon, tenon.utils.data; print([m for m in sys.modules if m.startswith(('tenon.multi', 'tenon.testing', 'tenon.storage'))])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr
