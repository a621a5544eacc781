"""Writes random.json: what PyTorch's CPU draws in the calls of ../random_calls.py. Run with a Python that has PyTorch."""

import json
import pathlib
import sys

import torch
import torch.utils.data

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent))
from random_calls import SEEDS, asked, calls  # noqa: E402

drawn = {name: [asked(torch, f, kind, seed) for seed in SEEDS] for name, kind, f in calls(torch)}
torch.manual_seed(3)
torch.randn(3)
state = {"state": bytes(torch.get_rng_state().tolist()).hex(), "next": torch.randn(4).tolist() + torch.rand(3).tolist()}
lines = [f'"{name}": {json.dumps(values)}' for name, values in drawn.items()]
text = '{"version": "%s", "state": %s, "drawn": {\n%s\n}}\n' % (torch.__version__, json.dumps(state), ",\n".join(lines))
(here / "random.json").write_text(text)
