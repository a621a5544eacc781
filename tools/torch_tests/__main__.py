"""scripts/torch-tests: runs files of PyTorch's tests on Tenon, on the CPU and on fake GPUs, and counts."""

import argparse
import collections
import fnmatch
import json
import os
import selectors
import signal
import subprocess
import sys
import time

from torch_tests import files

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = """test_indexing test_type_promotion test_view_ops test_dlpack test_optim test_reductions test_tensor_creation_ops
test_shape_ops test_sort_and_select test_numpy_interop test_dataloader nn/test_module_hooks nn/test_load_state_dict
test_serialization distributed/test_data_parallel test_nn test_torch test_autograd""".split()


class Run:
    """One file: a worker process, started again behind a test that ended it or took too long."""

    def __init__(self, folder, file, only, limit, leave):
        self.folder, self.file, self.only, self.limit = folder, file, only, limit
        self.leave = " ".join(pattern for pattern in leave if pattern.startswith(file + "::"))
        self.results = {}  # test -> (outcome, message, trace)
        self.error = None

    def _start(self, skip):
        environment = dict(os.environ)
        paths = [os.path.join(HERE, "site"), os.path.dirname(HERE), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(p for p in paths if p)
        read, write = os.pipe()
        command = [sys.executable, "-m", "torch_tests.worker", self.folder, self.file, "--skip", str(skip), "--only", self.only]
        command += ["--leave", self.leave, "--out", str(write)]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command, env=environment, pass_fds=[write], start_new_session=True, **quiet)
        os.close(write)
        return process, os.fdopen(read, "rb", buffering=0)

    progress, began = None, time.monotonic()

    def _lines(self, pipe):
        """What the worker says; None when it says nothing for too long."""
        waiting, kept = selectors.DefaultSelector(), b""
        waiting.register(pipe, selectors.EVENT_READ)
        while True:
            if not waiting.select(self.limit):
                yield None
                return
            read = pipe.read(65536)
            if not read:
                return
            *lines, kept = (kept + read).split(b"\n")
            yield from (json.loads(line) for line in lines)

    def _keep(self, test, outcome, message, trace):
        self.results[test] = outcome, message, trace
        if self.progress:
            print(f"{time.monotonic() - self.began:7.1f}", outcome, f"{self.file}::{test}", message[:300].split("\n")[0], file=self.progress, flush=True)

    def run(self):
        skip, total = 0, None
        while total is None or skip < total:
            process, pipe = self._start(skip)
            current, late, done = None, False, False
            for said in self._lines(pipe):
                late = said is None
                if late:
                    break
                if "collected" in said:
                    total, self.error = said["collected"], said.get("trace")
                elif "begin" in said:
                    current = said
                elif "end" in said:
                    self._keep(current["test"], said["outcome"], said["message"], said["trace"])
                    skip, current = said["end"] + 1, None
                done = done or "done" in said
            _end(process)
            pipe.close()
            if total is None or self.error:
                self.error = self.error or "the process ended while it read the file"
                return
            if current is not None:
                why = f"took more than {self.limit} s" if late else f"ended the process: {_how(process.returncode)}"
                self._keep(current["test"], "failed", why, "")
                skip = current["begin"] + 1
            elif done or skip >= total:
                return


def _how(code):
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"status {code}"


def _end(process):
    """Its whole process group: workers of a DataLoader too."""
    try:
        process.wait(1)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def differences(path=os.path.join(HERE, "differences.txt")):
    """[(pattern of file::Class.test, reason)]"""
    found = []
    with open(path) as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                pattern, _, reason = line.strip().partition("  ")
                found.append((pattern, reason.strip()))
    return found


def count(run, named):
    """Counter of outcomes, failures that are unlisted or open [(id, message, trace)], patterns that matched a failure."""
    counts, failures, used = collections.Counter(), [], set()
    for test, (outcome, message, trace) in run.results.items():
        where = f"{run.file}::{test}"
        device = "cuda" if "_cuda" in test.lower() or test.split(".")[0].endswith("CUDA") else "cpu"
        if outcome == "failed":
            listed = {pattern: reason for pattern, reason in named if fnmatch.fnmatchcase(where, pattern)}
            used.update(listed)
            outcome = "failed" if not listed else "open" if list(listed.values())[0].startswith("open") else "listed"
            if outcome != "listed":
                failures.append((where, message, trace))
        counts[outcome, device] += 1
    return counts, failures, used


COLUMNS = "passed failed listed open absent skipped".split()


def _cells(counts):
    return [f"{counts[c, 'cpu']} + {counts[c, 'cuda']}" for c in COLUMNS]


def table(rows):
    head = "| file | passed | failed | named differences | open | not applicable | skipped by PyTorch |\n"
    head += "|---|---|---|---|---|---|---|\n"
    return head + "".join(f"| {file} | {' | '.join(_cells(counts))} |\n" for file, counts, _ in rows)


def absences(rows):
    """What the tests that are not applicable lack, most often first."""
    names = collections.Counter(m.split("()")[0] for _, _, r in rows for o, m, _ in r.results.values() if o == "absent")
    return names.most_common()


def _arguments():
    parser = argparse.ArgumentParser(prog="torch-tests", description=__doc__)
    parser.add_argument("files", nargs="*", help="as test_indexing or nn/test_module_hooks; all of the list without one")
    parser.add_argument("--tests", metavar="FOLDER", help="PyTorch's folder test; also TENON_TORCH_TESTS; else Debian's is fetched")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="tests whose Class.test matches")
    parser.add_argument("--timeout", type=float, default=120, metavar="SECONDS", help="for one test (120)")
    parser.add_argument("--gpus", default="2", help="fake GPUs (2); 0: the CPU alone")
    parser.add_argument("--list", metavar="FILE", help="writes every failure's id and first line there")
    parser.add_argument("--progress", metavar="FILE", help="writes a line there as each test ends")
    parser.add_argument("--traces", action="store_true", help="prints each failure with its traceback")
    parser.add_argument("--absent", action="store_true", help="prints what the tests that are not applicable lack")
    parser.add_argument("--table", metavar="FILE", help="writes the table of counts there")
    return parser.parse_args()


def _report(options, rows, failures):
    if options.list:
        with open(options.list, "w") as out:
            for where, message, _ in failures:
                print(where, (message.splitlines() or [""])[0][:300], file=out, sep="\t")
    if options.absent:
        for name, times in absences(rows):
            print(f"{times:6} {name}")
    if options.table:
        with open(options.table, "w") as out:
            out.write(table(rows))


def main():
    options = _arguments()
    folder = files.folder(options.tests)
    os.environ["TENON_FAKE_GPUS" if options.gpus != "0" else "CUDA_VISIBLE_DEVICES"] = options.gpus if options.gpus != "0" else ""
    named = differences()
    too_slow = [pattern for pattern, reason in named if reason.startswith("too slow")]
    rows, failures, used, broken = [], [], set(), False
    progress = open(options.progress, "a") if options.progress else None
    for file in [f.removesuffix(".py") for f in options.files] or FILES:
        began, run = time.monotonic(), Run(folder, file, options.only, options.timeout, too_slow)
        run.progress = progress
        run.run()
        counts, new, matched = count(run, named)
        rows.append((file, counts, run))
        failures += new
        used |= matched
        cells = ", ".join(f"{c} {cell}" for c, cell in zip(COLUMNS, _cells(counts)))
        print(f"{file}: {cells} (cpu + cuda), {time.monotonic() - began:.0f} s", flush=True)
        for where, message, trace in new:
            print(f"  FAILED {where}: {(message.splitlines() or [''])[0][:200]}")
            if options.traces:
                print(trace)
        if run.error:
            broken = True
            print(f"  not collected: {run.error}")
    if options.only == "*":
        for pattern, reason in named:
            if pattern not in used and any(pattern.startswith(file + "::") for file, _, run in rows if not run.error):
                print(f"note: a named difference that no longer fails: {pattern}")
    _report(options, rows, failures)
    sys.exit(1 if failures or broken else 0)


if __name__ == "__main__":
    main()
