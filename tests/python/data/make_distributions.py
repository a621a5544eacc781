"""Writes distributions.json: what PyTorch's laws of ../distribution_calls.py are. Run with a Python that has PyTorch."""

import json
import pathlib
import sys
import warnings

import torch
import torch.distributions

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent))
from distribution_calls import ASKED, asked, divergences, laws  # noqa: E402

warnings.simplefilter("ignore")
known = {name: {what: asked(torch, name, what) for what in ASKED} for name in laws(torch)}
lines = [f'"{name}": {json.dumps(values)}' for name, values in known.items()]
pairs = [f'"{name}": {json.dumps(values)}' for name, values in divergences(torch).items()]
text = '{"version": "%s", "laws": {\n%s\n}, "kl": {\n%s\n}}\n' % (torch.__version__, ",\n".join(lines), ",\n".join(pairs))
(here / "distributions.json").write_text(text)
