"""Writes cycles.json: how many objects PyTorch still holds after each program of tests/python/cycles.py and a collection. Run
where PyTorch is installed:

    python3 tests/python/data/make_cycles.py > tests/python/data/cycles.json
"""

import json
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import cycles  # noqa: E402

print(json.dumps({name: cycles.left(torch, name) for name in cycles.PROGRAMS}, indent=0))
