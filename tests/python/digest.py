"""What results are, bit by bit, so that two commits can be compared: a part of scripts/digest.

python tests/python/digest.py records DEVICE     every record of tests/data/op-vectors that Python runs, in each form, with gradients
python tests/python/digest.py programs DEVICE    the recorded random programs
python tests/python/digest.py training           200 steps of a perceptron on MNIST: on the CPU with 1 and 2 threads, on one fake GPU
                                                 and on two with DataParallel

Prints lines as tests/ops/digest.h has them: operation, dtype, layout, device, how many results, hash. DEVICE is cpu or cuda.
"""

import collections
import gzip
import hashlib
import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).resolve().parents[2]
lines = collections.defaultdict(lambda: [0, 0])


def note(operation, dtype, layout, data):
    """Adds a result to its line; hashes of a line are added up, so that their order says nothing."""
    line = lines[" ".join(str(part).replace(" ", "_") for part in (operation, dtype, layout))]
    line[0] += 1
    line[1] += int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def bits(array):
    """dtype, shape and elements of an array; NaNs are one."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.full_like(array, np.nan), array)
    return f"{array.dtype}{array.shape}".encode() + np.ascontiguousarray(array).tobytes()


def written(device):
    for key, (n, total) in lines.items():
        print(f"{key} {device} {n} {total & (1 << 64) - 1:016x}")
    lines.clear()


def records(device):
    import op_records
    import test_op_vectors as vectors

    import tenon

    for form in op_records.FORMS:
        op_records.noted = lambda name, what, array: note(f"torch.{name}", array.dtype, f"{form}-{what}".replace(" ", "-"), bits(array))
        for name in vectors.there():
            if form != "plain" and form not in vectors.forms().get(name, {}) or name.startswith(("empty", "new_empty")):
                continue
            tenon.manual_seed(1)
            vectors.run_operation(name, form, device)
    written(device)


def programs(device):
    from programs import replay, worker

    import tenon
    import tenon.nn.functional

    replay.noted = lambda op, what: note(f"program:{op}", "-", "-", repr(sorted(what.items())).encode())
    for _, program in worker.programs_of(str(SOURCE / "tests/data/programs/programs.jsonl.gz")):
        replay.replay(tenon, program, device)
    written(device)


def mnist(torch, steps, batch):
    """The first images and labels, in batches."""
    folder = SOURCE / "data" / "mnist"
    images = gzip.decompress((folder / "train-images-idx3-ubyte.gz").read_bytes())[16 : 16 + steps * batch * 784]
    labels = gzip.decompress((folder / "train-labels-idx1-ubyte.gz").read_bytes())[8 : 8 + steps * batch]
    x = torch.from_numpy(np.frombuffer(images, np.uint8).astype(np.float32).reshape(steps, batch, 784) / 255)
    return x, torch.from_numpy(np.frombuffer(labels, np.uint8).astype(np.int64).reshape(steps, batch))


def train(torch, optimizer, where, gpus):
    """200 steps of a perceptron; a line for each 20 of them: the loss and all parameters."""
    steps, device = 200, "cuda:0" if gpus else "cpu"
    torch.manual_seed(7)
    net = torch.nn.Sequential(torch.nn.Linear(784, 100), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(100, 10)).to(device)
    model = torch.nn.DataParallel(net, device_ids=list(range(gpus))) if gpus > 1 else net
    made = {"sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9), "adam": lambda p: torch.optim.Adam(p, lr=0.002)}[optimizer]
    step = made(net.parameters())
    images, labels = mnist(torch, steps, 64)
    for n in range(steps):
        loss = torch.nn.functional.cross_entropy(model(images[n].to(device)), labels[n].to(device))
        step.zero_grad()
        loss.backward()
        step.step()
        if (n + 1) % 20 == 0:
            data = b"".join(bits(t.detach().cpu().numpy()) for t in [loss, *net.parameters()])
            note(f"training-{optimizer}", "float32", f"step-{n + 1:03d}", data)
    written(where)


def training():
    import tenon as torch

    for optimizer in ("sgd", "adam"):
        for threads in (1, 2):
            torch.set_num_threads(threads)
            train(torch, optimizer, f"cpu-{threads}-threads", 0)
        for gpus in (1, 2):
            train(torch, optimizer, f"{gpus}-fakes", gpus)


if __name__ == "__main__":
    os.environ.setdefault("TENON_FAKE_GPUS", "2")
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    {"records": records, "programs": programs, "training": training}[sys.argv[1]](*sys.argv[2:])
