"""Signals that come while the host waits for a GPU: their handlers run before the work is done."""

from on_gpus import START, on_gpus

# 800 additions of 50 ms each are queued before each wait: 40 seconds, which no test here waits for. So a handler that saw
# the work unfinished ran while the wait lasted, and not when it was over.
SLOW = {"TENON_FAKE_GPU_FAULTS": "slowstream=50ms"}
QUEUED = START + """
import os, signal, threading, time

class Stop(Exception):
    pass

def queue():
    stream = cuda.Stream()
    with cuda.stream(stream):
        x = torch.zeros(4, device="cuda")
        large = torch.zeros(1 << 19, device="cuda")  # more than one chunk of a copy
        for _ in range(800):
            x += 1
        large += x[0]
        return stream, stream.record_event(), x, large

def leave():  # without the work that is queued
    os._exit(0)

"""


@on_gpus(1, QUEUED, **SLOW)
def test_handlers_run_while_the_host_waits():
    def handler(*args):
        seen.append(end.query())
        if len(seen) == 2:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise Stop

    signal.signal(signal.SIGALRM, handler)
    pinned = torch.zeros(4).pin_memory()
    for wait in (lambda: cuda.synchronize(), lambda: stream.synchronize(), lambda: end.synchronize(), lambda: x[0].item(),
                 lambda: x.tolist(), lambda: large.cpu(), lambda: pinned.copy_(x), lambda: x.nonzero()):
        seen = []
        stream, end, x, large = queue()
        with cuda.stream(stream):
            signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
            with pytest.raises(Stop):  # the first time the handler returns, and the wait goes on
                wait()
        assert len(seen) >= 2 and not any(seen) and end.query() is False
    assert torch.ones(3, device="cuda").sum().item() == 3  # another stream: the GPU is as usable as before
    leave()


@on_gpus(1, QUEUED, **SLOW)
def test_ctrl_c_ends_the_wait():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background begins with SIGINT ignored
    stream, end, x, large = queue()
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        stream.synchronize()
    assert end.query() is False
    # what a handler calls of the library finds the thread as it was: its stream, and the wait goes on after it
    signal.signal(signal.SIGALRM, lambda *args: seen.append(torch.ones(2, device="cuda").sum().item()))
    seen, other = [], cuda.Event()
    y = torch.zeros(4, device="cuda")
    for _ in range(12):
        y += 1
    other.record()
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    assert y.tolist() == [12] * 4 and other.query() is True
    while not seen:
        time.sleep(0.01)
    assert seen == [2] and end.query() is False
    leave()
