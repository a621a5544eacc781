"""Several processes of one function: torch.multiprocessing.spawn."""

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback

from tenon import _missing

__all__ = ["ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext", "spawn", "start_processes"]


class ProcessException(Exception):
    """A process of those that were started has failed: which one (error_index), and its number (error_pid)."""

    def __init__(self, msg, error_index, pid):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """It has raised an exception, whose traceback is the message."""

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """It has ended with an exit code that is not 0, or by a signal."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(fn, i, args, error_file):
    """What a process does."""
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent has been interrupted, too
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """Processes that have been started, and what becomes of them."""

    def __init__(self, processes, error_files):
        self.processes, self.error_files = processes, error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self):
        """Their numbers."""
        return [int(process.pid) for process in self.processes]

    def _end_others(self, grace_period):
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        end = time.monotonic() + (30 if grace_period is None else grace_period)
        for process in self.processes:
            process.join(max(0, end - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()

    def join(self, timeout=None, grace_period=None):
        """Waits for the next ones to end. True: all have; False: not yet. Ends all of them and raises where one has failed."""
        if not self.sentinels:
            return True
        ready = multiprocessing.connection.wait(list(self.sentinels), timeout=timeout)
        failed = None
        for sentinel in ready:
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index
                break
        if failed is None:
            return not self.sentinels
        self._end_others(grace_period)
        self._raise(failed)

    def _raise(self, index):
        process, file = self.processes[index], self.error_files[index]
        if os.path.exists(file) and os.path.getsize(file):
            with open(file, "rb") as opened:
                text = pickle.load(opened)
            raise ProcessRaisedException(f"\n\n-- Process {index} terminated with the following error:\n{text}", index, process.pid)
        code = process.exitcode
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<Unknown signal {-code}>"
            raise ProcessExitedException(f"process {index} terminated with signal {name}", index, process.pid, code, name)
        raise ProcessExitedException(f"process {index} terminated with exit code {code}", index, process.pid, code)

    def __del__(self):
        for file in self.error_files:
            try:
                os.unlink(file)
            except OSError:
                pass


class SpawnContext(ProcessContext):
    """Those that spawn() has started."""


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Starts nprocs processes that call fn(i, *args), i counting from 0. join: waits for all; otherwise gives their ProcessContext.

    Where one fails, the others are ended, and what it raised is raised here, with its traceback.
    """
    context = multiprocessing.get_context(start_method)
    processes, files = [], []
    for i in range(nprocs):
        handle, name = tempfile.mkstemp(prefix="tenon-multiprocessing-", suffix=".pickle")
        os.close(handle)
        os.unlink(name)
        process = context.Process(target=_run, args=(fn, i, args, name), daemon=daemon)
        process.start()
        processes.append(process)
        files.append(name)
    started = (SpawnContext if start_method == "spawn" else ProcessContext)(processes, files)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """start_processes, by start method spawn."""
    if start_method != "spawn":
        import warnings

        warnings.warn(f"This method only supports start_method=spawn (got: {start_method}).\nTo use a different start_method use:\n\t\t"
                      " torch.multiprocessing.start_processes(...)", FutureWarning, stacklevel=2)
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")


__getattr__ = _missing.getattr_of(__name__)
