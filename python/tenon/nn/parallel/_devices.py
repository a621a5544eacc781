"""Which GPUs are meant."""

from tenon import _C
from tenon.cuda._utils import get_device_index


def device_index(device, optional=False, allow_cpu=False):
    """The index of the GPU that a device, a string or an int names; None, with optional, is the current one. The CPU, where
    it is allowed, is -1."""
    if isinstance(device, str):
        device = _C.device(device)
    if isinstance(device, _C.device) and device.type == "cpu":
        if not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        return -1
    return get_device_index(device, optional)


def device_indices(devices):
    """The same of each."""
    return [d if type(d) is int else device_index(d, True) for d in devices]
