"""Threads: eight of Python's on two GPUs, buffers freed by the library's own, fork."""

import os
import subprocess
import sys

from on_gpus import on_gpus


@on_gpus(2)
def test_eight_threads_on_two_gpus():
    import threading

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x * x

    errors = []
    start = threading.Barrier(8)

    def work(k):
        try:
            start.wait()
            device = torch.device("cuda", k % 2)
            stream = cuda.Stream(device=device)
            with cuda.device(device), cuda.stream(stream):
                for i in range(12):
                    host = torch.arange(64.0).reshape(8, 8) + k
                    x = host.to(device).requires_grad_()
                    seen = []
                    x.register_hook(lambda g, seen=seen: seen.append(g.shape))
                    y = (Cube.apply(x) + (x @ x).relu()).sum()
                    y.backward()
                    want = 3 * host * host + host.sum(0).unsqueeze(1) + host.sum(1)
                    want = 3 * host * host + (torch.ones(8, 8) @ host.t()) + (host.t() @ torch.ones(8, 8))
                    assert torch.allclose(x.grad.cpu(), want, rtol=1e-4), (k, i)
                    assert seen == [(8, 8)]
                    other = x.detach().to(torch.device("cuda", 1 - k % 2))
                    assert torch.equal(other.cpu(), host)
                    assert torch.cat([x.detach(), x.detach()]).sum().item() == 2 * host.sum().item()
            assert cuda.current_stream(device) != stream
        except BaseException as e:
            errors.append(f"{k}: {type(e).__name__}: {e}")

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors, errors


@on_gpus(1)
def test_arrays_are_freed_from_any_thread():
    import gc
    import threading
    import time
    import weakref

    import numpy as np

    class Array(np.ndarray):
        pass

    gone = []
    for i in range(50):
        a = np.full(1000, float(i), np.float32).view(Array)
        weakref.finalize(a, gone.append, i)
        t = torch.from_numpy(a)
        g = t.to("cuda", non_blocking=True)
        w = t.clone().requires_grad_()
        y = (w * t).sum()  # the graph holds the array, too
        other = threading.Thread(target=y.backward)
        del a, t, y
        other.start()
        other.join()
        del other
        assert g.sum().item() == 1000 * i
    cuda.synchronize()
    for _ in range(100):
        gc.collect()
        if len(gone) == 50:
            break
        time.sleep(0.01)
    assert sorted(gone) == list(range(50))


@on_gpus(1)
def test_a_list_that_changes_while_it_is_joined():
    import threading

    stop = threading.Event()
    pieces = []

    def change():
        while not stop.is_set():
            pieces.clear()
            pieces.extend(torch.ones(20000) for _ in range(4))

    other = threading.Thread(target=change)
    other.start()
    try:
        for _ in range(300):
            try:
                r = torch.cat(pieces)
            except (RuntimeError, ValueError):  # none at that moment
                continue
            assert r.numel() % 20000 == 0 and bool((r == 1).all())
    finally:
        stop.set()
        other.join()


@on_gpus(1)
def test_fork():
    import os

    a = torch.ones(100000)
    b = a.cuda() + 1
    assert (a + a).sum().item() == 200000 and b.sum().item() == 200000
    child = os.fork()
    if child == 0:
        try:
            x = torch.arange(100000.0, requires_grad=True)
            (x * a).sum().backward()
            assert x.grad.sum().item() == 100000 and (torch.ones(200, 200) @ torch.ones(200, 200)).sum().item() == 200**3
            with pytest.raises(RuntimeError) as e:
                torch.ones(2, device="cuda")
            assert "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method" in str(e.value)
            with pytest.raises(RuntimeError):
                b + 1
        except BaseException as e:
            print(type(e).__name__, e, flush=True)
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert (b + 1).sum().item() == 300000


AT_EXIT = """
import numpy as np, tenon as torch, threading, atexit
a = np.ones(100000, np.float32)
t = torch.from_numpy(a)
g = t.to("cuda", non_blocking=True)
x = torch.ones(3, requires_grad=True)
x.register_hook(print)
x.me = x
kept = [torch.from_dlpack(t), memoryview(t), t.__dlpack__(), (x * 2).grad_fn]
threading.Thread(target=lambda: (x * x).sum().backward()).start()
torch.kept = kept
"""


def test_the_end_of_the_interpreter():
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", AT_EXIT],
            env=dict(os.environ, TENON_FAKE_GPUS="1", PYTHONPATH=os.pathsep.join(os.path.abspath(p) for p in sys.path if p)),
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0 and done.stdout == "tensor([2., 2., 2.])\n", done.stderr
