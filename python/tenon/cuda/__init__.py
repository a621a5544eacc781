"""torch.cuda: GPUs. Nothing here touches a driver before it is asked to."""

from tenon import _C, _missing
from tenon._C import AcceleratorError, OutOfMemoryError
from tenon._C import device as _device

from . import memory, random, streams
from ._legacy import *  # noqa: F401,F403
from ._utils import checked_index, get_device_index, is_initialized, lazy_init
from .memory import *  # noqa: F401,F403
from .random import *  # noqa: F401,F403
from .streams import Event, ExternalStream, Stream, StreamContext, current_stream, default_stream, get_stream_from_external, set_stream, stream

_CudaDeviceProperties = _C._cuda._CudaDeviceProperties

# ---- what there is ----


def is_available():
    """Is there a GPU that can be used? Never an error."""
    return _C._cuda.is_available()


def device_count():
    """How many GPUs this process sees; 0 where there is no driver."""
    return _C._cuda.device_count()


def init():
    """Raises what is wrong where no GPU can be used; nothing needs it to be called."""
    lazy_init()


def devices_by_free_memory():
    """Tenon's own: every GPU, the one with most free memory first, equal ones by index; [] where there is none.

    All processes are counted, and nothing is started on any GPU: nn.DataParallel(net, devices_by_free_memory()[:2]).
    """
    return _C._cuda.devices_by_free_memory()


def is_bf16_supported(including_emulation=True):
    """Can the current GPU compute with bfloat16? Every one that Tenon uses can; by hardware from capability 8.0 on."""
    if not is_available():
        return False
    return including_emulation or get_device_capability()[0] >= 8


def is_tf32_supported():
    """Has the current GPU TensorFloat32? From capability 8.0 on."""
    return is_available() and get_device_capability()[0] >= 8


def get_arch_list():
    """The architectures that Tenon compiles its kernels for in this process: those of the GPUs it sees."""
    found = {get_device_capability(i) for i in range(device_count())}
    return [f"sm_{major}{minor}" for major, minor in sorted(found)]


# ---- which GPU ----


def current_device():
    """The index of this thread's current GPU."""
    lazy_init()
    return _C._cuda.current_device()


def set_device(device):
    """Makes a GPU the current one of this thread; a negative index changes nothing.

    Not recommended: say device='cuda:1', or hide GPUs with CUDA_VISIBLE_DEVICES.
    """
    index = get_device_index(device, optional=True)
    if index >= 0:
        _C._cuda.set_device(index)


class device:
    """device(d): a context in which GPU d is the current one; None and negative indices change nothing."""

    def __init__(self, device):
        self.idx = -1 if device is None else get_device_index(device, optional=True)
        self.prev_idx = -1

    def __enter__(self):
        if self.idx >= 0:
            self.prev_idx = current_device()
            _C._cuda.set_device(self.idx)

    def __exit__(self, *_):
        if self.idx >= 0:
            _C._cuda.set_device(self.prev_idx)
        return False


class device_of(device):
    """device_of(t): the same, with the GPU of a tensor; one on the CPU changes nothing."""

    def __init__(self, obj):
        super().__init__(obj.device.index if obj.is_cuda else -1)


def get_device_properties(device=None):
    """What a GPU is: name, major, minor, total_memory (bytes), multi_processor_count ..."""
    return _C._cuda.properties(checked_index(device))


def get_device_name(device=None):
    """The name of a GPU, as its driver says it."""
    return _C._cuda.device_name(checked_index(device))


def get_device_capability(device=None):
    """(major, minor) of its compute capability."""
    return _C._cuda.capability(checked_index(device))


def can_device_access_peer(device, peer_device):
    """Could kernels of one GPU use the other's memory over a link, as the driver says? Copies work either way:
    transfer_stats()['staged'] counts those that went through the host.
    """
    index = checked_index(device)
    peer = get_device_index(peer_device)
    if not 0 <= peer < device_count():
        raise AssertionError("Invalid peer device id")
    return _C._cuda.can_access_peer(index, peer)


def synchronize(device=None):
    """Waits until everything queued on a GPU is done, and raises what went wrong in it."""
    lazy_init()
    _C._cuda.synchronize(-1 if device is None else get_device_index(device, optional=True))


def reset(device=None):
    """Tenon's own: makes a GPU usable again after a failure. Its tensors, streams and events are void from then on.

    Of a GPU that was lost a launch and a copy are tried: where they fail, it raises that the process has to be started again.
    """
    lazy_init()
    _C._cuda.reset(-1 if device is None else get_device_index(device, optional=True))


def set_wait(how):
    """Tenon's own: how threads wait for GPUs, before the first use of one: 'spin', 'yield', 'block' (asleep) or 'auto'.

    TENON_CUDA_WAIT is the same as a variable.
    """
    _C._cuda.set_wait(how)


def ipc_collect():
    """No effect: Tenon shares no GPU memory between processes."""


# ---- what NVML says ----


def _status(device, what):
    physical = _C._cuda.physical(checked_index(device))
    for status in _C._cuda.statuses():
        if status["physical"] == physical and status[what] is not None:
            return status[what]
    raise RuntimeError(f"NVML does not tell the {what} of this GPU")


def utilization(device=None):
    """Per cent of the time in which the GPU computed lately."""
    return _status(device, "utilization")


def memory_usage(device=None):
    """Per cent of the time in which its memory was read or written lately."""
    return _status(device, "memory_utilization")


def temperature(device=None):
    """Degrees Celsius."""
    return _status(device, "temperature")


def power_draw(device=None):
    """Milliwatts."""
    return _status(device, "power_draw")


def device_memory_used(device=None):
    """Bytes in use on the GPU, all processes counted."""
    return _status(device, "memory_used")


# ---- what is made when it is asked for, and what Tenon has not ----


def __getattr__(name):
    if name == "comm":
        import importlib

        return importlib.import_module("tenon.cuda.comm")
    if name == "default_generators":
        return tuple(_C._generator_of(_device("cuda", i)) for i in range(device_count()))
    raise _missing.error(__name__, name)
