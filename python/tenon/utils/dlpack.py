"""Tensors shared with other array libraries through DLPack, without a copy."""

import enum

from .. import _C


class DLDeviceType(enum.IntEnum):
    """Where memory lies, as DLPack counts it; of these, Tenon shares the CPU's and CUDA's."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14


def to_dlpack(tensor):
    """A capsule of the tensor's memory, for one consumer of the time before DLPack 1.0."""
    return tensor.__dlpack__()


def _dl_device(device):
    device = _C.device(device)
    if device.type == "cpu":
        return (int(DLDeviceType.kDLCPU), 0)
    if device.type != "cuda":
        raise BufferError(f"Cannot pack tensors on {device}")
    index = device.index
    if index is None:
        from .. import cuda

        index = cuda.current_device()
    return (int(DLDeviceType.kDLCUDA), _C._cuda.ordinal(index))


def _stream():
    from .. import cuda

    return cuda.current_stream().cuda_stream or 1


def _capsule_of(source, device, copy):
    wants = {"max_version": (1, 0)}
    if copy is not None:
        wants["copy"] = copy
    if device is not None:
        wants["dl_device"] = _dl_device(device)
    kind = wants.get("dl_device", source.__dlpack_device__())[0]
    if kind == DLDeviceType.kDLCUDA:
        wants["stream"] = _stream()
    try:
        return source.__dlpack__(**wants)
    except TypeError:  # an implementation from before version 1.0
        if copy is not None or device is not None:
            raise
        del wants["max_version"]
        return source.__dlpack__(**wants)


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor that shows the memory of another library's array (anything with __dlpack__), or of a capsule.

    device: copied there where it lies elsewhere; copy: True always copies, False never (an error where it is needed).
    """
    if hasattr(ext_tensor, "__dlpack__"):
        tensor = _C._from_dlpack(_capsule_of(ext_tensor, device, copy))
        # one GPU may be several devices (TENON_VISIBLE_DEVICES), which DLPack cannot tell apart
        return tensor if device is None or copy is False else tensor.to(device)
    if device is not None or copy is not None:
        raise ValueError("device and copy kwargs not supported when ext_tensor is already a DLPack capsule.")
    return _C._from_dlpack(ext_tensor)
