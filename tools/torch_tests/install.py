"""Makes `import torch` mean Tenon, and torch.testing the shim."""

import os
import sys

_SHIM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shim")
_PLACES = {"torch.testing": "testing.py", "torch.testing._internal": "internal.py"}


def shims():
    """module -> file."""
    found = {name: os.path.join(_SHIM, file) for name, file in _PLACES.items()}
    for file in os.listdir(_SHIM):
        if file.endswith(".py") and file not in _PLACES.values():
            found[f"torch.testing._internal.{file[:-3]}"] = os.path.join(_SHIM, file)
    return found


def install(collecting=False):
    """Tenon as torch; collecting: names that are not there are placeholders until `run_phase`."""
    from torch_tests import absent

    absent.collecting = collecting
    if any(isinstance(f, absent.Finder) for f in sys.meta_path):
        return
    import tenon

    tenon.install_as_torch()
    sys.meta_path.insert(0, absent.Finder(shims()))
    for name in ("nn.functional", "optim.lr_scheduler", "autograd.functional", "cuda.comm", "multiprocessing", "profiler", "storage", "utils.checkpoint",
                 "utils.data", "utils.dlpack"):
        try:
            __import__(f"tenon.{name}")
        except ImportError:
            pass
    absent.open_all()


def run_phase():
    """From now on names that are not there are errors, as they are for any program."""
    from torch_tests import absent

    absent.open_all()
    absent.collecting = False
