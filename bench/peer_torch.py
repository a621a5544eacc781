"""The same work in PyTorch, for bench/compare.py: reads names from stdin, answers each with seconds per call."""
import statistics
import sys
import time

import torch
from torch import nn
import torch.nn.functional as F

N, SIDE, IMAGES = 16 << 20, 4096, 57000




def add_4():
    x, y = torch.rand(4), torch.rand(4)
    return lambda: x + y


def add_4_recording():
    x, y = torch.rand(4, requires_grad=True), torch.rand(4)
    return lambda: x + y


def zeros_4():
    return lambda: torch.zeros(4)


def view_4():
    x = torch.rand(4)
    return lambda: x.view(2, 2)


def mul_sum_backward_4():
    x, y = torch.rand(4, requires_grad=True), torch.rand(4)
    return lambda: (x * y).sum().backward()


def perceptron_step():
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x, y = torch.rand(32, 64), torch.randint(0, 10, (32,))

    def run():
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return run


def epoch(batch):
    net = nn.Sequential(nn.Linear(784, 500), nn.ReLU(), nn.Linear(500, 10))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    x, y = torch.rand(IMAGES, 784), torch.randint(0, 10, (IMAGES,))

    def run():
        order = torch.randperm(IMAGES)
        for i in range(0, IMAGES, batch):
            rows = order[i:i + batch]
            loss = F.cross_entropy(net(x[rows]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
    return run


def two():
    return torch.rand(N), torch.rand(N), torch.zeros(N)


def add_new_64MiB():
    a, b, _ = two()
    return lambda: a + b


def add_into_64MiB():
    a, b, c = two()
    return lambda: torch.add(a, b, out=c)


def exp_64MiB():
    a, _, _ = two()
    return lambda: torch.exp(a)


def sum_64MiB():
    a, _, _ = two()
    return lambda: a.sum()


def softmax_4096x1024():
    m = torch.rand(4096, 1024)
    return lambda: torch.softmax(m, 1)


def transpose_64MiB():
    m = torch.rand(SIDE, SIDE)
    return lambda: m.t().contiguous()


def bias_64MiB():
    m, b = torch.rand(SIDE, SIDE), torch.rand(SIDE)
    return lambda: m + b


def column_sum_64MiB():
    m = torch.rand(SIDE, SIDE)
    return lambda: m.sum(0)


def gather_rows_64MiB():
    m, i = torch.rand(SIDE, SIDE), torch.randint(0, SIDE, (SIDE,))
    return lambda: m.index_select(0, i)


def add_int64_64MiB():
    a, b = torch.randint(0, 1000, (N // 2,)), torch.randint(0, 1000, (N // 2,))
    return lambda: a + b


def add_float16_64MiB():
    a, b = torch.rand(2 * N).half(), torch.rand(2 * N).half()
    return lambda: a + b


def sgemm(m, n, k):
    a, b = torch.rand(m, k), torch.rand(k, n)
    return lambda: torch.mm(a, b)


WORK = {name: f for name, f in globals().items()
        if callable(f) and name.split("_")[-1] in ("4", "recording", "step", "64MiB", "4096x1024")}
WORK.update({
    "mnist_epoch_batch_500": lambda: epoch(500),
    "mnist_epoch_batch_64": lambda: epoch(64),
    "sgemm_32x128x64": lambda: sgemm(32, 128, 64),
    "sgemm_256": lambda: sgemm(256, 256, 256),
    "sgemm_1024": lambda: sgemm(1024, 1024, 1024),
    "sgemm_2048": lambda: sgemm(2048, 2048, 2048),
})


# ---- on a GPU ----

GIB = 1 << 30


def gpu_two():
    return torch.rand(GIB // 4, device="cuda"), torch.rand(GIB // 4, device="cuda")


def gpu_rows(f):
    def setup():
        m = torch.rand(16384, 16384, device="cuda")
        return lambda: f(m)
    return setup


def gpu_add_1GiB():
    a, b = gpu_two()
    return lambda: a + b


def gpu_exp_1GiB():
    a, _ = gpu_two()
    return lambda: torch.exp(a)


def gpu_add_4():
    a, b = torch.rand(4, device="cuda"), torch.rand(4, device="cuda")
    return lambda: a + b


def gpu_mnist_step():
    net = nn.Sequential(nn.Linear(784, 500), nn.ReLU(), nn.Linear(500, 10)).cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    x, y = torch.rand(500, 784, device="cuda"), torch.randint(0, 10, (500,), device="cuda")

    def run():
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return run


def gpu_upload(pinned):
    def setup():
        x = torch.ones(GIB // 4)
        x = x.pin_memory() if pinned else x
        return lambda: x.to("cuda", non_blocking=pinned)
    return setup


def gpu_download_pageable():
    x = torch.ones(GIB // 4, device="cuda")
    return lambda: x.cpu()


def gpu_product(kind, n):
    def setup():
        torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
        dtype = torch.bfloat16 if kind == "bf16" else torch.float32
        a, b = torch.rand(n, n, device="cuda").to(dtype), torch.rand(n, n, device="cuda").to(dtype)
        return lambda: a @ b
    return setup


WORK.update({name: f for name, f in list(globals().items())
             if name in ("gpu_add_1GiB", "gpu_exp_1GiB", "gpu_add_4", "gpu_mnist_step", "gpu_download_pageable")})
WORK.update({f"gpu_{kind}_{n}": gpu_product(kind, n)
             for kind in ("bf16", "tf32", "f32") for n in (1024, 2048, 4096, 8192)})
WORK.update({
    "gpu_softmax_rows": gpu_rows(lambda m: torch.softmax(m, 1)),
    "gpu_sum_rows": gpu_rows(lambda m: m.sum(1)),
    "gpu_argmax_rows": gpu_rows(lambda m: m.argmax(1)),
    "gpu_sum_all": gpu_rows(lambda m: m.sum()),
    "gpu_sum_columns": gpu_rows(lambda m: m.sum(0)),
    "gpu_transpose_1GiB": gpu_rows(lambda m: m.t().contiguous()),
    "gpu_upload_pageable": gpu_upload(False),
    "gpu_upload_pinned": gpu_upload(True),
})


def measure(run, on_gpu):
    """The median of nine batches of about 20 ms each, as bench/bench.c measures."""
    def wait():
        if on_gpu:
            torch.cuda.synchronize()

    if on_gpu:
        run()
        run()
        wait()
    calls = 1
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            run()
        wait()
        took = time.perf_counter() - start
        if took > 0.02:
            break
        calls = int(calls * 0.025 / took) + 1 if took > 1e-4 else calls * 10
    times = []
    for _ in range(9):
        start = time.perf_counter()
        for _ in range(calls):
            run()
        wait()
        times.append((time.perf_counter() - start) / calls)
    return statistics.median(times)


def main():
    if len(sys.argv) > 1:
        torch.set_num_threads(int(sys.argv[1]))
    print(f"PyTorch {torch.__version__} {torch.get_num_threads()} threads", flush=True)
    for line in sys.stdin:
        setup = WORK.get(line.strip())
        print(f"{measure(setup(), line.startswith('gpu_')):.9g}" if setup else "unknown", flush=True)
        if line.startswith("gpu_"):
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
