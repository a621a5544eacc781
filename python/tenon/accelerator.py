"""torch.accelerator: GPUs, without saying whose. Tenon's accelerators are CUDA's."""

from tenon import _C, _missing, cuda

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "empty_host_cache",
    "get_device_capability",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def is_available():
    """Is there one that can be used? Never an error."""
    return cuda.is_available()


def device_count():
    """How many there are."""
    return cuda.device_count()


def current_accelerator(check_available=False):
    """device(type='cuda') where there is a driver for one, else None. check_available: where there is a device."""
    if check_available and not is_available():
        return None
    return _C.device("cuda") if device_count() else None


def _needed():
    if not device_count():
        raise RuntimeError("Cannot access accelerator device when none is available.")


def _index(device):
    _needed()
    if device is None:
        return cuda.current_device()
    if isinstance(device, (str, _C.device)):
        d = _C.device(device)
        if d.type != "cuda":
            raise ValueError(f"{d.type} doesn't match the current accelerator {current_accelerator()}.")
        return cuda.current_device() if d.index is None else d.index
    return int(device)


def current_device_index():
    """The index of this thread's current device."""
    _needed()
    return cuda.current_device()


def set_device_index(device, /):
    """Makes a device the current one of this thread."""
    cuda.set_device(_index(device))


current_device_idx = current_device_index
set_device_idx = set_device_index


def current_stream(device=None, /):
    """The current stream of a device."""
    return cuda.current_stream(_index(device))


def set_stream(stream):
    """Makes a stream the current one of its device, and that the current device."""
    _needed()
    cuda.set_stream(stream)


def synchronize(device=None, /):
    """Waits until everything queued on a device is done."""
    cuda.synchronize(_index(device))


class device_index:
    """device_index(i): a context in which device i is the current one; None changes nothing."""

    def __init__(self, device, /):
        self.idx = device
        self.prev_idx = -1

    def __enter__(self):
        if self.idx is not None:
            self.prev_idx = current_device_index()
            set_device_index(self.idx)

    def __exit__(self, *_):
        if self.idx is not None:
            set_device_index(self.prev_idx)


def get_device_capability(device=None, /):
    """{'supported_dtypes': the set of dtypes that tensors there can have}"""
    _index(device)
    return {"supported_dtypes": set(_C._dtypes)}


# ---- memory: cuda's, and nothing to tell where there is none ----


def empty_cache():
    """Returns the memory that no tensor uses to the driver."""
    cuda.empty_cache()


def empty_host_cache():
    """Returns the pinned memory that no tensor uses to the driver."""
    cuda.empty_host_cache()


def memory_stats(device_index=None, /):
    """The allocator's numbers as a flat dict; {} where there is no accelerator."""
    return cuda.memory_stats(_index(device_index)) if device_count() else {}


def memory_allocated(device_index=None, /):
    """Bytes in live tensors."""
    return memory_stats(device_index).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device_index=None, /):
    """The most there was of it."""
    return memory_stats(device_index).get("allocated_bytes.all.peak", 0)


def memory_reserved(device_index=None, /):
    """Bytes held from the driver."""
    return memory_stats(device_index).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device_index=None, /):
    """The most there was of it."""
    return memory_stats(device_index).get("reserved_bytes.all.peak", 0)


def reset_peak_memory_stats(device_index=None, /):
    """Sets the peaks to the present values."""
    if device_count():
        cuda.reset_peak_memory_stats(_index(device_index))


def get_memory_info(device_index=None, /):
    """(free, total) bytes, as the driver says, all processes counted."""
    return cuda.mem_get_info(_index(device_index))


__getattr__ = _missing.getattr_of(__name__)
