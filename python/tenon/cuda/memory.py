"""torch.cuda.memory: what a GPU's memory is used for."""

import collections

from tenon import _C

from ._utils import checked_index, get_device_index, is_initialized, lazy_init

__all__ = [
    "empty_cache",
    "empty_host_cache",
    "get_allocator_backend",
    "host_memory_stats",
    "list_gpu_processes",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_summary",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "reset_transfer_stats",
    "set_per_process_memory_fraction",
    "transfer_stats",
]


def memory_stats(device=None):
    """The allocator's numbers as a flat, sorted dict: 'allocated_bytes.all.current' and so on. {} before a GPU is used.

    Of PyTorch's statistics there are those of all pools together ('all'); bytes that were allocated and freed in all are
    not counted.
    """
    if not _C._cuda.device_count():
        return collections.OrderedDict()
    index = get_device_index(device, optional=True)
    return collections.OrderedDict(sorted(_C._cuda.memory_stats(index).items()))


def memory_allocated(device=None):
    """Bytes in live tensors, each rounded up to a multiple of 512."""
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device=None):
    """The most there was of it since reset_peak_memory_stats()."""
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device=None):
    """Bytes held from the driver: in tensors, or kept for the next ones."""
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device=None):
    """The most there was of it since reset_peak_memory_stats()."""
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


def memory_cached(device=None):
    """The older name of memory_reserved."""
    return memory_reserved(device)


def max_memory_cached(device=None):
    """The older name of max_memory_reserved."""
    return max_memory_reserved(device)


def memory_summary(device=None, abbreviated=False):
    """The statistics as a table. abbreviated changes nothing: Tenon's has no further rows."""
    index = get_device_index(device, optional=True)
    lazy_init()
    return _C._cuda.memory_summary(index)


def memory_snapshot(mempool_id=None, include_traces=True):
    """What the allocators of all GPUs hold: a list of segments, dicts as PyTorch's, each with its 'blocks'.

    A block has one frame, the line that asked for it, where that is known. Private pools are not there: any mempool_id but None is
    an error; include_traces changes nothing.
    """
    if mempool_id is not None:
        raise NotImplementedError("Tenon has no private memory pools")
    segments = [s for i in range(_C._cuda.device_count()) for s in _C._cuda.memory_snapshot(i)]
    return sorted(segments, key=lambda s: (s["device"], s["address"]))


def mem_get_info(device=None):
    """(free, total) bytes, as the driver says, all processes counted."""
    index = get_device_index(device, optional=True)
    lazy_init()
    return _C._cuda.mem_get_info(index)


def empty_cache():
    """Returns the memory that no tensor uses to the driver, on every GPU."""
    for index in range(_C._cuda.device_count()):
        _C._cuda.empty_cache(index)


def empty_host_cache():
    """Returns the pinned memory that no tensor uses to the driver."""
    _C._cuda.empty_pinned_cache()


def host_memory_stats():
    """Numbers of the pinned memory, as a flat dict."""
    return collections.OrderedDict(sorted(_C._cuda.pinned_memory_stats().items()))


def reset_peak_memory_stats(device=None):
    """Sets the peaks to the present values."""
    if _C._cuda.device_count():
        _C._cuda.reset_peak_memory_stats(get_device_index(device, optional=True))


def reset_max_memory_allocated(device=None):
    """The older name of reset_peak_memory_stats."""
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device=None):
    """The older name of reset_peak_memory_stats."""
    reset_peak_memory_stats(device)


def set_per_process_memory_fraction(fraction, device=None):
    """No more than this share (0 to 1, a float) of a GPU's memory is reserved from now on."""
    lazy_init()
    index = get_device_index(device, optional=True)
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    _C._cuda.set_memory_fraction(fraction, index)


def list_gpu_processes(device=None):
    """Who computes on a GPU, and the memory they use, as text."""
    index = checked_index(device)
    physical = _C._cuda.physical(index)
    if physical < 0:
        return "NVML was not found, so nobody can tell: it comes with NVIDIA's driver"
    lines = [f"GPU:{physical}"]
    found = _C._cuda.processes(physical)
    if not found:
        lines.append("no processes are running")
    for pid, used, _ in found:
        amount = f"{used / 2**20:>12.3f}" if used is not None else f"{'?':>12}"
        lines.append(f"process {pid:>10d} uses {amount} MB GPU memory")
    return "\n".join(lines)


def get_allocator_backend():
    """'native': the caching allocator is Tenon's own."""
    return "native"


def transfer_stats(device=None):
    """Tenon's own: what crossed between a GPU and elsewhere, (copies, bytes) each, and how often the host waited."""
    if not _C._cuda.device_count():
        return {}
    return _C._cuda.transfer_stats(get_device_index(device, optional=True))


def reset_transfer_stats(device=None):
    """Tenon's own: counts transfers from 0 again."""
    if _C._cuda.device_count():
        _C._cuda.reset_transfer_stats(get_device_index(device, optional=True))
