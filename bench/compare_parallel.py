"""DataParallel beside PyTorch's, on logical devices of one GPU (or on several): prints a Markdown table.

    python bench/compare_parallel.py [--rounds 3] [--devices 0,0,0,0] [--peer PYTHON] BUILD_FOLDER [NAME...]

Each row is a step of bench_parallel: on 0 (the module alone), 1, 2 or 4 devices. Tenon sees --devices as
TENON_VISIBLE_DEVICES; PyTorch is given the same numbers as device_ids. Where its DataParallel does not take one GPU several
times, its four pieces (scatter, replicate, parallel_apply, gather) are called one after the other, and the head of the table
says so. On one GPU nothing is gained by sharing: what shows is what DataParallel costs.
"""
import argparse
import os
import statistics
import sys
import time

COUNTS = (0, 1, 2, 4)
MODELS = {"perceptron": (64, 128, 32), "digits": (784, 500, 128)}
TITLES = {"perceptron": "64-128-10, batch 32", "digits": "784-500-10, batch 128"}
ROWS = [f"parallel_{model}_{kind}_{n}" for model in MODELS for kind in ("train", "eval") for n in COUNTS]


# ---- in the peer: answers names with seconds a step ----


def shared(torch, net, ids):
    """net over the devices as PyTorch does it: by DataParallel, or piece by piece; and which of them."""
    from torch.nn import parallel

    def pieces(x):
        parts = parallel.scatter(x, ids)
        replicas = parallel.replicate(net, ids[: len(parts)])
        outputs = parallel.parallel_apply(replicas, [(part,) for part in parts], devices=ids[: len(parts)])
        return parallel.gather(outputs, ids[0])

    if len(set(ids)) == len(ids):
        return torch.nn.DataParallel(net, device_ids=ids), "DataParallel"
    try:
        whole = torch.nn.DataParallel(net, device_ids=ids)
        x = torch.rand(4 * len(ids), next(net.parameters()).shape[1], device=f"cuda:{ids[0]}")
        whole(x).sum().backward()
        if torch.allclose(whole(x), net(x), atol=1e-5):
            return whole, "DataParallel"
    except (RuntimeError, ValueError, AssertionError):
        pass
    return pieces, "its four pieces by hand"


def step_of(torch, name, devices):
    _, model, kind, count = name.split("_")
    inputs, hidden, batch = MODELS[model]
    ids = devices[: int(count)] or devices[:1]
    main = f"cuda:{ids[0]}"
    nn = torch.nn
    net = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, 10)).to(main)
    x, y = torch.rand(batch, inputs, device=main), torch.randint(0, 10, (batch,), device=main)
    run = shared(torch, net, ids)[0] if int(count) else net
    if model == "perceptron":
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    else:
        optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)

    def train():
        loss = nn.functional.cross_entropy(run(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def evaluate():
        with torch.no_grad():
            run(x).argmax(1)

    net.train(kind == "train")
    return train if kind == "train" else evaluate


def seconds_of(torch, step, devices):
    def batch(n):
        start = time.perf_counter()
        for _ in range(n):
            step()
        for device in set(devices):
            torch.cuda.synchronize(device)
        return time.perf_counter() - start

    batch(5)
    calls = 1
    while (took := batch(calls)) < 0.02:
        calls = int(calls * 0.025 / took) + 1 if took > 1e-4 else calls * 10
    return statistics.median(batch(calls) / calls for _ in range(9))


def serve(devices):
    import torch

    way = shared(torch, torch.nn.Linear(8, 8).to(f"cuda:{devices[0]}"), devices[:2])[1]
    print(f"PyTorch {torch.__version__} by {way}", flush=True)
    for line in sys.stdin:
        print(f"{seconds_of(torch, step_of(torch, line.strip(), devices), devices):.9g} 0 -", flush=True)


# ---- the table ----


def measure(name, ours, peer, rounds):
    """Medians of both, and of their ratio within a round."""
    tenon, torch, ratio = [], [], []
    for _ in range(rounds):
        tenon.append(ours.ask(name)[0])
        if peer:
            torch.append(peer.ask(name)[0])
            ratio.append(torch[-1] / tenon[-1])
    return statistics.median(tenon), statistics.median(torch) if torch else None, statistics.median(ratio) if ratio else None


def table(names, ours, peer, rounds):
    from compare import time_text

    print("| work | devices | PyTorch | more than alone | Tenon | more than alone | PyTorch / Tenon |\n"
          "|---|---|---|---|---|---|---|")
    alone = (None, None)
    for name in names:
        _, model, kind, count = name.split("_")
        tenon, torch, ratio = measure(name, ours, peer, rounds)
        if count == "0":
            alone = (tenon, torch)
        more = [time_text(t - a) if t and a and count != "0" and t > a else "-" for t, a in zip((tenon, torch), alone)]
        title = f"{TITLES[model]}, {'training' if kind == 'train' else 'evaluation'}"
        print(f"| {title} | {count if count != '0' else 'the module alone'} | {time_text(torch) if torch else '-'} | {more[1]} "
              f"| {time_text(tenon)} | {more[0]} | {f'{ratio:.1f}x' if ratio else '-'} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", nargs="?")
    parser.add_argument("names", nargs="*", help="rows to measure; all of them if none is named")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--devices", default="0,0,0,0", help="GPUs, by number; one may come several times")
    parser.add_argument("--peer", help="an interpreter that has PyTorch and a GPU")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    o = parser.parse_args()
    devices = [int(d) for d in o.devices.split(",")]
    if o.serve:
        return serve(devices)
    if not o.build:
        parser.error("BUILD_FOLDER is missing")
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from compare import Server

    env = dict(os.environ)
    if "TENON_FAKE_GPUS" not in env:
        env["TENON_VISIBLE_DEVICES"] = o.devices
    ours = Server([f"{o.build}/bench/bench_parallel", "--serve"], env)
    peer = Server([o.peer, os.path.abspath(__file__), "--serve", "--devices", o.devices]) if o.peer else None
    them = peer.line() if peer else "no PyTorch at hand"
    where = f"fake GPUs: {env['TENON_FAKE_GPUS']}" if "TENON_FAKE_GPUS" in env else f"GPUs {o.devices}"
    print(f"{where}; {them}; {o.rounds} rounds, alternating, medians\n")
    names = [name for name in ROWS if not o.names or any(n in name for n in o.names)]
    table([n for n in names if int(n.rsplit("_", 1)[1]) <= len(devices)], ours, peer, o.rounds)


if __name__ == "__main__":
    main()
