"""Tenon beside PyTorch and beside what the machine can do: alternating, same threads, same run; prints a Markdown table.

    python bench/compare.py [--rounds 3] [--threads N] [--peer PYTHON] BUILD_FOLDER [NAME...]

PYTHON is an interpreter that has PyTorch; without one only the limits are compared with. Each figure is the median over
the rounds; ratios are taken within a round, because these machines drift. Exits with 0 whatever the figures are: a
benchmark is not a test.
"""
import argparse
import os
import platform
import statistics
import subprocess
import sys

# name, program, what it is, >= times PyTorch, limit and how it is called, >= of that limit (either: one of the two is enough)
ROWS = [
    ("add_4", "small", "add of 4 floats, new result", 10, None, None),
    ("add_4_recording", "small", "the same, recording gradients", 5, None, None),
    ("zeros_4", "small", "zeros of 4 floats", 5, None, None),
    ("view_4", "small", "view of 4 floats", 5, None, None),
    ("mul_sum_backward_4", "small", "(x * y).sum().backward(), 4 floats", 5, None, None),
    ("perceptron_step", "train", "step of a 64-128-10 perceptron, batch 32, SGD", 8, None, None),
    ("mnist_epoch_batch_500", "train", "MNIST epoch, 784-500-10, AdamW, batch 500", 2, None, None),
    ("mnist_epoch_batch_64", "train", "MNIST epoch, batch 64", 2.5, None, None),
    ("add_new_64MiB", "memory", "c = a + b, new 64 MiB result", None, "limit_add", 0.8),
    ("add_into_64MiB", "memory", "add into an existing 64 MiB tensor", None, "limit_add", 0.8),
    ("exp_64MiB", "memory", "exp, 64 MiB", 1.3, "limit_exp", 0.9),
    ("sum_64MiB", "memory", "sum, 64 MiB", None, "limit_read", 0.95),
    ("softmax_4096x1024", "memory", "row softmax, 4096 x 1024, new result", 2, "limit_copy", None),
    ("transpose_64MiB", "memory", "transposed copy, 64 MiB", 1, "limit_copy", 0.5),
    ("bias_64MiB", "memory", "bias broadcast, 64 MiB", 1, "limit_copy", 0.5),
    ("column_sum_64MiB", "memory", "column sum, 64 MiB", 1, "limit_read", 0.5),
    ("gather_rows_64MiB", "memory", "gather of rows, 64 MiB", 1, "limit_copy", 0.5),
    ("add_int64_64MiB", "memory", "int64 add, 64 MiB", 1, "limit_add", 0.5),
    ("add_float16_64MiB", "memory", "float16 add, 64 MiB", 1, "limit_add", 0.5),
    ("sgemm_32x128x64", "product", "sgemm 32 x 128 x 64", 1.5, None, None),
    ("sgemm_256", "product", "sgemm 256", 0.98, None, None),
    ("sgemm_1024", "product", "sgemm 1024", 0.98, None, None),
    ("sgemm_2048", "product", "sgemm 2048", 0.98, None, None),
    ("own_256", "product", "own product 256, beside OpenBLAS", None, "blas_256", 0.8),
    ("own_1024", "product", "own product 1024, beside OpenBLAS", None, "blas_1024", 0.8),
    ("own_2048", "product", "own product 2048, beside OpenBLAS", None, "blas_2048", 0.8),
]
# On a GPU: --gpu. A product's row is beside PyTorch's alone.
GPU_ROWS = [(f"gpu_{kind}_{n}", "gpu", f"{kind} product, {n}", 0.98, None, None)
            for n in (1024, 2048, 4096, 8192) for kind in ("bf16", "tf32", "f32")] + [
    ("gpu_add_1GiB", "gpu", "add, 1 GiB", 1, "limit_device_copy", 0.95),
    ("gpu_exp_1GiB", "gpu", "exp, 1 GiB", 1, "limit_device_copy", 0.95),
    ("gpu_softmax_rows", "gpu", "softmax over rows, 16384 x 16384", 1.1, "limit_device_copy", None),
    ("gpu_sum_rows", "gpu", "sum over rows", 1.1, "limit_device_copy", None),
    ("gpu_argmax_rows", "gpu", "argmax over rows", 1.1, "limit_device_copy", None),
    ("gpu_sum_all", "gpu", "sum of all", 1, "limit_device_copy", None),
    ("gpu_sum_columns", "gpu", "sum over columns", 1, "limit_device_copy", None),
    ("gpu_transpose_1GiB", "gpu", "transposed copy, 1 GiB", 1, "limit_device_copy", None),
    ("gpu_add_4", "gpu", "add of 4 floats: call to queue (must be <= 3 us)", None, None, None),
    ("gpu_mnist_step", "gpu", "MNIST training step, batch 500, AdamW", 1, None, None),
    ("gpu_upload_pageable", "gpu", "pageable copy to the device, 1 GiB", 2, "limit_link", None),
    ("gpu_upload_pinned", "gpu", "pinned copy to the device, 1 GiB", None, "limit_link", 0.95),
    ("gpu_download_pageable", "gpu", "copy to the host, 1 GiB", 1, "limit_link", None),
]
EITHER = {"exp_64MiB"}


class Server:
    """A program that answers each name with seconds per call (and, Tenon's, with the work of one call and its unit)."""

    def __init__(self, command, env=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def line(self):
        return self.process.stdout.readline().strip()

    def ask(self, name):
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        words = self.line().split()
        if not words:
            sys.exit(f"compare.py: {self.process.args} ended while measuring {name}")
        return None if words[0] in ("unknown", "unable") else [float(w) for w in words[:2]]


def time_text(seconds):
    for scale, unit in ((1e-9, "ns"), (1e-6, "us"), (1e-3, "ms")):
        if seconds < scale * 1e3:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds:.3g} s"


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            return next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def rate(answer):
    """Work per second; of rows that only have a time, calls per second."""
    return (answer[1] or 1) / answer[0]


def measure(row, servers, peer, rounds):
    name, program, _, _, limit, _ = row
    seconds, peers, ratios, shares = [], [], [], []
    for _ in range(rounds):
        theirs = peer.ask(name) if peer else None
        ours = servers[program].ask(name)
        top = servers[program].ask(limit) if limit else None
        seconds.append(ours[0])
        if theirs:
            peers.append(theirs[0])
            ratios.append(theirs[0] / ours[0])
        if top:
            shares.append(rate(ours) / rate(top))
    median = statistics.median
    return (median(seconds), median(peers) if peers else None, median(ratios) if ratios else None,
            median(shares) if shares else None)


def verdict(row, ratio, share):
    name, _, _, times, _, part = row
    met = [ok for ok in (ratio >= times if times and ratio else None, share >= part if part and share else None)
           if ok is not None]
    if not met:
        return "-"
    return "yes" if (any(met) if name in EITHER else all(met)) else "NO"


def print_row(row, seconds, peer, ratio, share):
    _, _, title, times, _, part = row
    need = (" or " if row[0] in EITHER else ", ").join(
        ([f"{times:g}x"] if times else []) + ([f"{part:g} of limit"] if part else []))
    print(f"| {title} | {time_text(peer) if peer else '-'} | {time_text(seconds)} | {f'{ratio:.2f}x' if ratio else '-'} | "
          f"{f'{share:.2f}' if share else '-'} | {need} | {verdict(row, ratio, share)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("names", nargs="*", help="rows to measure; all of them if none is named")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--gpu", action="store_true", help="the rows of cuda:0")
    parser.add_argument("--peer", help="an interpreter that has PyTorch")
    o = parser.parse_args()

    env = dict(os.environ, TENON_NUM_THREADS=str(o.threads))
    rows = GPU_ROWS if o.gpu else ROWS
    servers = {p: Server([f"{o.build}/bench/bench_{p}", "--serve"], env) for p in sorted({row[1] for row in rows})}
    folder = os.path.dirname(os.path.abspath(__file__))
    peer = Server([o.peer, f"{folder}/peer_torch.py", str(o.threads)]) if o.peer else None
    them = peer.line() if peer else "no PyTorch at hand"
    print(f"{processor()}, {o.threads} threads; {them}; {o.rounds} rounds, alternating, medians\n")
    print("| work | PyTorch | Tenon | PyTorch / Tenon | of the limit | must be >= | met |\n|---|---|---|---|---|---|---|")
    for row in rows:
        if not o.names or any(n in row[0] for n in o.names):
            print_row(row, *measure(row, servers, peer, o.rounds))


if __name__ == "__main__":
    main()
