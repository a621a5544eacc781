"""The parts of scripts/fuzz-beside-torch that run in processes of their own, since programs may end them.

python -m programs.worker generate FIRST COUNT FILE [NAMES]   programs of these seeds, one JSON line each; each about one of the
                                                       operations NAMES (by commas), if there are any
python -m programs.worker replay DEVICE FILE FROM [BY] [number, seed, what differs or null] of each BY-th program from there on, a line
                                                       each
python -m programs.worker reduce DEVICE FILE           of a file of [lines, what differs]: the same, reduced
python -m programs.worker open                         tests/data/programs/open.txt anew: what of the records disagrees, on cpu or on cuda
"""

import gzip
import json
import os
import pathlib
import subprocess
import sys
import warnings


def generate(first, count, path, names=""):
    import tenon
    import torch

    from .catalogue import catalogue
    from .generate import program

    torch.set_num_threads(1)
    operations = catalogue(tenon)
    chosen = [key for key in sorted(operations) if key[1] in names.split(",")] or [None]
    with open(path, "a", encoding="utf-8") as out:
        for seed in range(int(first), int(first) + int(count)):
            out.write(f"{seed} ")
            out.flush()
            out.write(json.dumps(program(seed, operations, chosen[seed % len(chosen)])) + "\n")


def programs_of(path):
    """(seed, program) of a file that generate() wrote, or of tests/data/programs."""
    if path.endswith(".gz"):
        with gzip.open(path, "rt", encoding="utf-8") as f:
            next(f)
            yield from map(json.loads, f)
        return
    with open(path, encoding="utf-8") as f:
        for line in f:
            seed, _, program = line.partition(" ")
            yield int(seed), json.loads(program)


def replay_all(device, path, start, by="1"):
    import tenon
    import tenon.nn.functional

    from .replay import replay

    for number, (seed, program) in enumerate(programs_of(path)):
        if number >= int(start) and number % int(by) == 0:
            print(json.dumps([number, seed, replay(tenon, program, device)]), flush=True)


def reduce_all(device, path):
    import tenon
    import tenon.nn.functional
    import torch

    from .reduce import reduced

    torch.set_num_threads(1)
    with open(path, encoding="utf-8") as cases:
        for lines, found in map(json.loads, cases):
            print(json.dumps(reduced(tenon, lines, found, device)), flush=True)


def write_open():
    """Tenon alone is needed. Only what is no defect of the day should be left to it."""
    folder = pathlib.Path(__file__).resolve().parents[2] / "data" / "programs"
    wrong = {}
    for device in ("cuda", "cpu"):
        command = [sys.executable, "-W", "ignore", "-m", "programs.worker", "replay", device, str(folder / "programs.jsonl.gz"), "0"]
        done = subprocess.run(command, env={"TENON_FAKE_GPUS": "1", **os.environ}, capture_output=True, text=True, check=True)
        wrong.update({seed: what for _, seed, what in map(json.loads, done.stdout.splitlines()) if what and not what["reason"]})
    (folder / "open.txt").write_text("".join(f"{seed} {w['kind']} of {w['op']}\n" for seed, w in sorted(wrong.items())), encoding="utf-8")
    print(f"{len(wrong)} programs are open")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"generate": generate, "replay": replay_all, "reduce": reduce_all, "open": write_open}[sys.argv[1]](*sys.argv[2:])
