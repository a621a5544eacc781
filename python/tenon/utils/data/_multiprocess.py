"""The iterator of a DataLoader with worker processes."""

import collections
import multiprocessing
import os
import select
import signal
import socket
import time
import weakref

from ..._utils import ExceptionWrapper
from ._utils import transport, worker
from .dataloader import _BaseDataLoaderIter

_JOIN_SECONDS = 5  # a worker that does not end by itself in this time is ended

# This process's ends of all connections to workers. A child has no business with them: were it to hold them, a worker
# would not notice the end of this process.
_own_ends = weakref.WeakSet()


def _close_inherited():
    for sock in list(_own_ends):
        sock.close()


os.register_at_fork(after_in_child=_close_inherited)


class _Handle:
    """A worker as the main process sees it."""

    def __init__(self, context, args):
        self.sock, theirs = socket.socketpair()
        _own_ends.add(self.sock)
        self.number = args[-3]
        self.open = True  # has more to give in this epoch
        self.process = context.Process(target=worker.main, args=(theirs, *args), daemon=True)
        try:
            self.process.start()
        except BaseException:
            self.sock.close()
            raise
        finally:
            theirs.close()


def _end(handles, owner):
    """Ends the workers: first they are told, by closing the connection; then they are made to."""
    if os.getpid() != owner:
        return  # a forked child's copy of the iterator
    for handle in handles:
        handle.sock.close()
    deadline = time.monotonic() + _JOIN_SECONDS
    for handle in handles:
        handle.process.join(max(0, deadline - time.monotonic()))
        if handle.process.is_alive():
            handle.process.terminate()
            handle.process.join(1)
        if handle.process.is_alive():
            handle.process.kill()
            handle.process.join()


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Hands lists of indices to the workers in turn, keeps what comes back early, gives batches in order."""

    def __init__(self, loader):
        self._handles = []
        super().__init__(loader)
        context = loader.multiprocessing_context or multiprocessing.get_context()
        self._finalizer = weakref.finalize(self, _end, self._handles, os.getpid())
        for i in range(loader.num_workers):
            args = (self._make_fetcher, loader.worker_init_fn, i, loader.num_workers, self._base_seed)
            self._handles.append(_Handle(context, args))
        self._turn.extend(self._handles)
        self._fill()

    def _begin(self, loader):
        super()._begin(loader)
        self._timeout = loader.timeout
        self._in_order = loader.in_order
        self._persistent = loader.persistent_workers
        self._ahead = max(1, loader.prefetch_factor) * loader.num_workers
        self._sent = 0  # tasks handed out in this epoch
        self._next = 0  # the batch that is due
        self._owner = {}  # handed out and not answered: number of the batch -> worker
        self._ready = {}  # answered and not due: number -> payload
        self._gone = set()  # numbers that will have no batch: an iterable dataset ended before
        self._turn = collections.deque(self._handles)

    def _reset(self, loader):
        """Another epoch with the same workers: what is left of the last one is thrown away."""
        for handle in self._handles:
            self._post(handle, worker.RESUME, None)
        waiting = set(self._handles)
        while waiting:
            for handle in self._wait():
                tag, _ = self._receive(handle)
                if tag == worker.RESUME:
                    waiting.discard(handle)
        for handle in self._handles:
            handle.open = True
        self._begin(loader)
        self._fill()

    # ---- talking to the workers ----

    def _dead(self, handle):
        """Raises what PyTorch raises when a worker has died."""
        handle.process.join(1)
        pid, code = handle.process.pid, handle.process.exitcode
        self._shutdown()
        if code is not None and code < 0:
            what = f"is killed by signal: {signal.strsignal(-code)}. "
        else:
            what = (
                f"exited unexpectedly with exit code {code}. Details are lost due to multiprocessing. "
                "Rerunning with num_workers=0 may give better error trace."
            )
        cause = RuntimeError(f"DataLoader worker (pid {pid}) {what}")
        raise RuntimeError(f"DataLoader worker (pid(s) {pid}) exited unexpectedly") from cause

    def _wait(self, timeout=None, writable=None):
        """Workers that have sent something, or have died; `writable`: or until that worker takes something."""
        poll = select.poll()  # unlike select(), it takes descriptors beyond 1024
        by_fd = {}
        for handle in self._handles:
            by_fd[handle.sock.fileno()] = handle
            poll.register(handle.sock, select.POLLIN | (select.POLLOUT if handle is writable else 0))
        events = poll.poll(None if timeout is None else max(0, timeout) * 1000)
        return [by_fd[fd] for fd, event in events if event & ~select.POLLOUT]

    def _receive(self, handle):
        try:
            return transport.receive(handle.sock)
        except (EOFError, ConnectionResetError):
            self._dead(handle)

    def _take(self, handle):
        """Reads one message of a worker and notes what it says."""
        tag, payload = self._receive(handle)
        if tag == worker.TASK_END:
            handle.open = False
            ended = [n for n, owner in self._owner.items() if owner is handle]
            self._gone.update(ended)
            for number in ended:
                del self._owner[number]
        elif tag >= 0:
            self._owner.pop(tag, None)
            self._ready[tag] = payload

    def _post(self, handle, tag, obj):
        """Sends a message; reads meanwhile, so that both sides never wait for each other's full buffers."""

        def read():
            for other in self._wait(writable=handle):
                self._take(other)

        try:
            transport.send(handle.sock, tag, obj, when_full=read)
        except (BrokenPipeError, ConnectionResetError):
            self._dead(handle)

    # ---- the epoch ----

    def _fill(self):
        """Hands out tasks until enough are under way."""
        while len(self._owner) + len(self._ready) < self._ahead and self._hand_out():
            pass

    def _next_worker(self):
        """Whose turn it is: in order round robin, else who has least to do. None: all have ended."""
        if not self._in_order:
            busy = collections.Counter(self._owner.values())
            return min((h for h in self._handles if h.open), key=lambda h: busy[h], default=None)
        for _ in range(len(self._turn)):
            handle = self._turn[0]
            self._turn.rotate(-1)
            if handle.open:
                return handle
        return None

    def _hand_out(self):
        handle = self._next_worker()
        if handle is None:
            return False
        try:
            index = next(self._sampler_iter)
        except StopIteration:
            return False
        number = self._sent
        self._sent += 1
        self._owner[number] = handle
        self._post(handle, number, index)
        return True

    def _due(self):
        """The number of a batch that may be given out now; None: not arrived. StopIteration at the end."""
        if not self._in_order and self._ready:
            return next(iter(self._ready))
        while self._in_order and self._next in self._gone:
            self._gone.discard(self._next)
            self._next += 1
        if self._in_order and self._next in self._ready:
            return self._next
        if not self._owner and not self._ready:
            if self._hand_out():
                return None
            if not self._persistent:
                self._shutdown()
            raise StopIteration
        return None

    def _next_data(self):
        if not self._finalizer.alive:
            raise StopIteration
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else None
        while (number := self._due()) is None:
            left = None if deadline is None else deadline - time.monotonic()
            handles = self._wait(left)
            if not handles and left is not None and deadline <= time.monotonic():
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
            for handle in handles:
                self._take(handle)
            self._fill()
        data = transport.unpack(self._ready.pop(number))
        self._next = number + 1
        self._fill()
        if isinstance(data, ExceptionWrapper):  # of this batch alone: the next ones are still to be had
            data.reraise()
        return data

    def _shutdown(self):
        self._finalizer()
