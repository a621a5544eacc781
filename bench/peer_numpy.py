"""The smallest row in NumPy, for bench/compare_python.py: reads names from stdin, answers each with seconds per call."""
import statistics
import sys
import time

import numpy as np


def add_4():
    x, y = np.random.rand(4).astype(np.float32), np.random.rand(4).astype(np.float32)
    return lambda: x + y


def seconds(f):
    """The median of 15 samples of about 2 ms."""
    f()
    begin, n = time.perf_counter(), 0
    while time.perf_counter() - begin < 2e-3:
        f()
        n += 1
    samples = []
    for _ in range(15):
        begin = time.perf_counter()
        for _ in range(n):
            f()
        samples.append((time.perf_counter() - begin) / n)
    return statistics.median(samples)


def main():
    print(f"NumPy {np.__version__}", flush=True)
    for line in sys.stdin:
        work = globals().get(line.strip())
        print(seconds(work()) if work else "unknown", flush=True)


if __name__ == "__main__":
    main()
