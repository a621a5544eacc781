"""The worker process of a DataLoader: receives lists of indices, sends batches."""

import multiprocessing
import multiprocessing.connection
import pickle
import random
import sys

from .... import _C
from ...._utils import ExceptionWrapper
from . import transport

# tags of messages; batches carry their number, which is 0 or more
TASK_END = -1  # a worker's iterable dataset has ended
RESUME = -2  # begin another epoch (and, from the worker: has begun)

_info = None


class WorkerInfo:
    """What a worker knows of itself: id, num_workers, seed, dataset (its own copy)."""

    def __init__(self, id, num_workers, seed, dataset):
        self.id = id
        self.num_workers = num_workers
        self.seed = seed
        self.dataset = dataset

    def __repr__(self):
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed}, dataset={self.dataset!r})"


def get_worker_info():
    """In a DataLoader's worker process: its WorkerInfo. None in the main process."""
    return _info


def _seed_everything(seed, base_seed, worker_id):
    """Each worker its own random numbers: Python's, Tenon's and, where it is loaded, NumPy's."""
    random.seed(seed)
    _C.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        words = numpy.random.SeedSequence([base_seed, worker_id]).generate_state(4)
        numpy.random.seed(words)


class _ParentGone(Exception):
    pass


def _next_message(sock):
    """The next message from the main process; waits for it, or for that process to end."""
    parent = multiprocessing.parent_process()
    ready = multiprocessing.connection.wait([sock, parent.sentinel])
    if sock not in ready:
        raise _ParentGone
    tag, payload = transport.receive(sock)
    return tag, transport.unpack(payload)


def _sendable(failure):
    """The failure, or where its exception cannot be pickled one that can and says the same."""
    try:
        pickle.loads(pickle.dumps(failure))
        return failure
    except Exception:
        return failure.as_runtime_error()


class _Worker:
    """The state of one worker process."""

    def __init__(self, sock, make_fetcher, worker_id):
        self.sock = sock
        self.make_fetcher = make_fetcher
        self.where = f"in DataLoader worker process {worker_id}"
        self.fetcher = None
        self.ended = False
        self.failure = None  # of worker_init_fn or of iter(dataset): told in place of the first batch

    def start(self, init_fn, worker_id):
        try:
            if init_fn is not None:
                init_fn(worker_id)
            self.fetcher = self.make_fetcher()
        except Exception:
            self.failure = ExceptionWrapper(where=self.where)

    def resume(self):
        self.ended = False
        transport.send(self.sock, RESUME, None)
        if self.failure is None:
            try:
                self.fetcher = self.make_fetcher()
            except Exception:
                self.failure = ExceptionWrapper(where=self.where)

    def fetch(self, number, index):
        """Sends batch `number`, or why there is none. After the end of an iterable dataset nothing is sent."""
        if self.ended:
            return
        try:
            if self.failure is not None:
                failure, self.failure = self.failure, None
                return transport.send(self.sock, number, _sendable(failure))
            batch = self.fetcher.fetch(index)
        except Exception as error:
            if isinstance(error, StopIteration) and self.fetcher.ends:
                self.ended = True
                return transport.send(self.sock, TASK_END, number)
            return transport.send(self.sock, number, _sendable(ExceptionWrapper(where=self.where)))
        try:
            transport.send(self.sock, number, batch)
        except (BrokenPipeError, ConnectionResetError):
            raise
        except Exception:  # a batch that cannot be pickled
            transport.send(self.sock, number, _sendable(ExceptionWrapper(where=self.where)))


def main(sock, make_fetcher, init_fn, worker_id, num_workers, base_seed):
    """What a worker process runs, until the main process closes the connection or ends."""
    global _info
    seed = base_seed + worker_id
    _C.set_num_threads(1)  # the workers are the parallelism
    _seed_everything(seed, base_seed, worker_id)
    _info = WorkerInfo(worker_id, num_workers, seed, make_fetcher.dataset)
    worker = _Worker(sock, make_fetcher, worker_id)
    try:
        worker.start(init_fn, worker_id)
        while True:
            tag, index = _next_message(sock)
            if tag == RESUME:
                worker.resume()
            else:
                worker.fetch(tag, index)
    except (KeyboardInterrupt, EOFError, BrokenPipeError, ConnectionResetError, _ParentGone):
        pass  # Ctrl-C reaches the main process too, which reports it
    finally:
        sock.close()
