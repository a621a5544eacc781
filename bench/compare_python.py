"""Tenon's Python package beside PyTorch and NumPy: the same program text in each (peer_torch.py, run by `python -m tenon`
for Tenon), alternating, same threads; prints a Markdown table.

    python bench/compare_python.py [--rounds 3] [--threads N] --peer PYTHON PACKAGE_FOLDER [NAME...]

PYTHON is an interpreter that has PyTorch and NumPy; PACKAGE_FOLDER has the folder tenon. Exits with 0 whatever the figures
are: a benchmark is not a test.
"""
import argparse
import os
import statistics
import subprocess
import sys

from compare import Server, processor, time_text

# name, what it is, >= times PyTorch
ROWS = [
    ("add_4", "add of 4 floats, new result", 5),
    ("add_4_recording", "the same, recording gradients", 5),
    ("zeros_4", "zeros of 4 floats", None),
    ("view_4", "view of 4 floats", None),
    ("mul_sum_backward_4", "(x * y).sum().backward(), 4 floats", None),
    ("perceptron_step", "step of a 64-128-10 perceptron, batch 32, SGD", 5),
    ("mnist_epoch_batch_500", "MNIST epoch, 784-500-10, AdamW, batch 500", None),
    ("mnist_epoch_batch_64", "MNIST epoch, batch 64", None),
]

IMPORT = """
import os, time
resident = lambda: int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
before, begin = resident(), time.perf_counter()
import {0}
print(time.perf_counter() - begin, resident() - before)
"""


def imported(python, name, env):
    """(seconds, bytes more resident) of importing it in a new interpreter; NaN where it is not there."""
    done = subprocess.run([python, "-c", IMPORT.format(name)], env=env, capture_output=True, text=True, check=False)
    return [float(w) for w in done.stdout.split()] or [float("nan")] * 2


def print_import(peer, env, rounds):
    theirs = [imported(peer, "torch", None) for _ in range(rounds)]
    ours = [imported(sys.executable, "tenon", env) for _ in range(rounds)]
    median = lambda which, i: statistics.median(r[i] for r in which)
    them, us = median(theirs, 0), median(ours, 0)
    print(f"| import | - | {time_text(them)}, {median(theirs, 1) / 1e6:.0f} MB | {time_text(us)}, {median(ours, 1) / 1e6:.0f} MB "
          f"| {them / us:.0f}x | <= 60 ms, <= 30 MB | {'yes' if us <= 0.06 and median(ours, 1) <= 30e6 else 'NO'} |", flush=True)


def print_row(row, tenon, torch, numpy, rounds):
    name, title, need = row
    ours, theirs, arrays = [], [], []
    for _ in range(rounds):
        theirs.append(torch.ask(name)[0])
        ours.append(tenon.ask(name)[0])
        answer = numpy.ask(name)
        if answer:
            arrays.append(answer[0])
    median = statistics.median
    ratio = median(t / o for t, o in zip(theirs, ours))
    met = "-" if need is None else "yes" if ratio >= need else "NO"
    print(f"| {title} | {time_text(median(arrays)) if arrays else '-'} | {time_text(median(theirs))} | {time_text(median(ours))} | "
          f"{ratio:.1f}x | {f'{need}x' if need else ''} | {met} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("package")
    parser.add_argument("names", nargs="*", help="rows to measure; all of them if none is named")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--peer", required=True, help="an interpreter that has PyTorch and NumPy")
    o = parser.parse_args()

    folder = os.path.dirname(os.path.abspath(__file__))
    env = dict(os.environ, PYTHONPATH=os.path.abspath(o.package))
    threads = str(o.threads)
    tenon = Server([sys.executable, "-m", "tenon", f"{folder}/peer_torch.py", threads], env)
    torch = Server([o.peer, f"{folder}/peer_torch.py", threads])
    numpy = Server([o.peer, f"{folder}/peer_numpy.py"])
    tenon.line()
    print(f"{processor()}, {o.threads} threads; {torch.line()}; {numpy.line()}; Python {sys.version.split()[0]}; {o.rounds} rounds, "
          "alternating, medians\n")
    print("| work, from Python | NumPy | PyTorch | Tenon | PyTorch / Tenon | must be >= | met |\n|---|---|---|---|---|---|---|")
    for row in ROWS:
        if not o.names or any(n in row[0] for n in o.names):
            print_row(row, tenon, torch, numpy, o.rounds)
    if not o.names or "import" in o.names:
        print_import(o.peer, env, o.rounds)


if __name__ == "__main__":
    main()
