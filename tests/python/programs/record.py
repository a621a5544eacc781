"""Makes tests/data/programs anew, with the PyTorch that is installed:

PYTHONPATH=build/python:tests/python python3 -m programs.record

Two programs for each operation that both libraries have, and as many of whatever comes, in one gzip file of JSON lines: a
head that says which PyTorch made them, then [seed, [[operation, line, error, what is new to be seen], ...]] of each. entries.txt
beside it: which entries of the list of operations they call.
"""

import gzip
import json
import pathlib
import sys
import warnings

import tenon
import tenon.nn.functional
import torch

from . import entries
from .catalogue import catalogue
from .generate import program

PLACE = pathlib.Path(__file__).resolve().parents[2] / "data" / "programs" / "programs.jsonl.gz"
FIRST = 1_000_000  # seeds that no run of fuzz-beside-torch begins with unasked
EACH, OTHERS = 5, 5000
LARGEST = 6000  # characters of a program


def programs():
    operations = catalogue(tenon)
    wanted = [key for key in sorted(operations) for _ in range(EACH)] + [None] * OTHERS
    for number, focus in enumerate(wanted):
        seed = FIRST + number
        made = program(seed, operations, focus)
        if len(json.dumps(made)) <= LARGEST:
            yield [seed, made]


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    PLACE.parent.mkdir(exist_ok=True)
    head = json.dumps({"torch": torch.__version__.split("+")[0], "python": sys.version.split()[0]})
    made = list(programs())
    entries.write(program for _, program in made)
    lines = [json.dumps(p, separators=(",", ":")) for p in made]
    with open(PLACE, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as f:  # no name, no time: the same bytes each time
        f.write("\n".join([head, *lines, ""]).encode())
    print(f"{len(lines)} programs, {PLACE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
