"""torch.backends.cudnn: Tenon does not use cuDNN; the flags that programs set are kept, without effect."""

import contextlib

from tenon import _missing

enabled = False
benchmark = False
deterministic = False
allow_tf32 = False


def is_available():
    """False."""
    return False


def version():
    """None: there is none."""
    return None


@contextlib.contextmanager
def flags(**values):
    """A context with other flags."""
    before = {name: globals()[name] for name in values}
    globals().update(values)
    try:
        yield
    finally:
        globals().update(before)


__getattr__ = _missing.getattr_of(__name__)
