"""Which GPU is meant, and what is raised where there is none."""

from tenon import _C


def get_device_index(device, optional=False):
    """The index that a device, a string or an int names; with optional, None and 'cuda' are the current GPU."""
    if isinstance(device, int):
        return int(device)
    if isinstance(device, str):
        device = _C.device(device)
    if isinstance(device, _C.device):
        if device.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {device}")
        index = device.index
    elif device is None:
        index = None
    else:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    if index is not None:
        return index
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return _C._cuda.current_device()


def checked_index(device):
    """The same, of a GPU that is there."""
    lazy_init()
    index = get_device_index(device, optional=True)
    if not 0 <= index < _C._cuda.device_count():
        raise AssertionError("Invalid device id")
    return index


_asked = False


def lazy_init():
    """Raises what is wrong where no GPU can be used: no driver, none visible, a child of fork(). Makes no context."""
    global _asked
    _C._cuda.device_name(0)
    _asked = True


def is_initialized():
    """Was a GPU asked for, or used, by this process?"""
    count = _C._cuda.device_count()
    return count > 0 and (_asked or any(_C._cuda.memory_stats(i)["num_device_alloc"] for i in range(count)))
