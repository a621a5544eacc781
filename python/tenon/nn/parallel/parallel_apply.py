"""Modules that run at the same time, each on its GPU."""

import os
from collections import deque
from queue import SimpleQueue
from threading import Thread

from tenon import _C
from tenon._utils import ExceptionWrapper
from tenon.cuda import current_stream
from tenon.cuda import device as on_device
from tenon.cuda import stream as on_stream

from ._devices import device_index
from ._functions import current
from .replicate import only_queues
from ..modules.module import _collect

__all__ = ["parallel_apply"]

# ---- threads that are kept ----

_idle = []  # the queues of those that wait for work; append and pop are atomic


class _Work:
    """Calls function(0), function(1) ... that threads share: each takes one that nobody has begun."""

    __slots__ = ("function", "open", "done")

    def __init__(self, function, n):
        self.function, self.open, self.done = function, deque(range(n)), SimpleQueue()

    def take(self):
        """The number of a call that nobody has begun; None where there is none left."""
        try:
            return self.open.popleft()
        except IndexError:
            return None


def _serve(jobs):
    while True:
        work = jobs.get()
        i = work.take()
        if i is not None:  # the thread that asked was not quicker
            try:
                result = work.function(i)
            except BaseException:  # it is the caller's, not this thread's
                result = ExceptionWrapper(where=f"in replica {i}")
        _idle.append(jobs)  # before the caller goes on: its next call finds this thread again
        if i is not None:
            work.done.put((i, result))
        work = result = None  # a thread that waits keeps nothing alive


def _wake(work):
    """Has a thread that waits look at the work, or a new one: a daemon, which ends with the interpreter."""
    try:
        jobs = _idle.pop()
    except IndexError:
        jobs = SimpleQueue()
        try:
            Thread(target=_serve, args=(jobs,), name="tenon-replica", daemon=True).start()
        except RuntimeError:  # no more threads: the caller does it
            return
    jobs.put(work)


os.register_at_fork(after_in_child=_idle.clear)  # a child has the queues, not the threads


def _side_by_side(function, n):
    """[function(0), function(1) ...], each in a thread of its own: the first in this one, which then also takes what no
    other has begun. All that have begun have ended when it returns."""
    work, results, running = _Work(function, n), [None] * n, n
    i = work.take()
    for _ in range(1, n):
        _wake(work)
    try:
        while i is not None:
            running -= 1
            results[i] = function(i)
            i = work.take()
    finally:  # where this thread was interrupted, what nobody has begun is left
        while work.take() is not None:
            running -= 1
        for _ in range(running):
            i, results[i] = work.done.get()
        work.function = None  # who comes later has nothing to do, and keeps nothing alive
    return results


# ---- the call ----


def _first_tensor(obj):
    if isinstance(obj, _C.Tensor):
        return obj
    if isinstance(obj, dict):
        obj = obj.items()
    elif not isinstance(obj, (list, tuple)):
        return None
    return next((t for t in map(_first_tensor, obj) if t is not None), None)


def _place(device, input):
    """The index of the GPU of a module: the one that was said, that of its input, or the current one."""
    t = _first_tensor(input) if device is None else None
    return t.get_device() if t is not None and t.is_cuda else device_index(device, True)


def _call_on(index, stream, module, args, kwargs):
    with on_device(index), on_stream(stream):
        return module(*args, **kwargs)


def apply(modules, inputs, kwargs, ids, step, queueing):
    """The outputs of modules[i](*inputs[i], **kwargs[i]) on GPU ids[i], as part of a step if there is one. queueing: by
    this thread, one after the other. An exception is that of the first module that failed."""
    grad, inferred = _C.is_grad_enabled(), _C.is_inference_mode_enabled()
    streams = None if step else [current_stream(d) if d >= 0 else None for d in ids]

    def run(i):
        _C._set_grad_enabled(grad)
        _C._set_inference_mode(inferred)
        try:
            args = inputs[i]
            args = tuple(args) if isinstance(args, (list, tuple)) else (args,)
            if step:
                return step.call(i, modules[i], args, kwargs[i])
            return _call_on(ids[i], streams[i], modules[i], args, kwargs[i])
        except (Exception, SystemExit):
            return ExceptionWrapper(where=f"in replica {i} on device {ids[i]}")

    before, current.step = current.step, None  # what a module scatters or gathers itself is no part of the step
    try:
        outputs = [run(i) for i in range(len(modules))] if queueing else _side_by_side(run, len(modules))
    finally:
        current.step = before
        _C._set_grad_enabled(grad)
        _C._set_inference_mode(inferred)
    for output in outputs:
        if isinstance(output, ExceptionWrapper):
            output.reraise()
    return outputs


def _check_length(modules, other, what):
    if len(modules) != len(other):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of {what} {len(other)}")


def _inside(modules):
    found = {}
    for module in modules:
        _collect(module, found)
    return found


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None):
    """The outputs of modules[i](*inputs[i], **kwargs_tup[i]) on devices[i], by default the GPU of the input (PyTorch: always
    the current one), and the current one where that is on none: a list.

    Each runs in a thread of its own, with this one's gradient mode and streams; modules that are of tenon.nn throughout and
    have no hooks run in this one, as they only queue work. An exception is raised when all have ended: it is that of the
    first module that failed, of the same class.
    """
    _check_length(modules, inputs, "inputs")
    if kwargs_tup is not None:
        _check_length(modules, kwargs_tup, "kwargs_tup")
    else:
        kwargs_tup = ({},) * len(modules)
    if devices is not None:
        _check_length(modules, devices, "devices")
    else:
        devices = [None] * len(modules)
    if not _C._cuda.is_available():
        raise AssertionError("No available accelerator found.")
    if not modules:
        return []
    ids = [_place(d, x) for d, x in zip(devices, inputs)]
    step = current.step
    if step is not None and ids != step.device_ids[: len(ids)]:
        step = None
    queueing = getattr(modules, "queueing", None)
    if queueing is None:
        queueing = only_queues(_inside(modules))
    return apply(modules, inputs, kwargs_tup, ids, step, queueing)
