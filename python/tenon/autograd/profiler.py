"""torch.autograd.profiler: names of pieces of a program. Tenon records no profile, so they are taken and nothing is done with them."""

import contextlib

from tenon import _missing

__all__ = ["record_function"]


class record_function(contextlib.ContextDecorator):
    """with record_function("name"): what is inside runs as it would without. Also a decorator."""

    def __init__(self, name, args=None):
        self.name, self.args = name, args

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


__getattr__ = _missing.getattr_of(__name__)
