"""Functions that ask tensors and the process what they are."""

import importlib

from .. import _C

__all__ = ["get_deterministic_debug_mode", "get_device", "get_device_module", "is_inference", "set_deterministic_debug_mode",
           "set_flush_denormal", "to_dlpack"]
METHODS = []


def get_device(input):
    """The index of the GPU that it lives on; -1 on the CPU."""
    return input.get_device()


def is_inference(input):
    """Was it made in inference mode?"""
    return input.is_inference()


def to_dlpack(input):
    """A DLPack capsule of its memory, for a library that takes no tensors."""
    return input.__dlpack__()


def get_device_module(device=None):
    """torch.cuda, torch.cpu ...: the module of a kind of device; without one, of the kind that works here."""
    if device is None:
        kind = "cuda" if _C._cuda.is_available() else "cpu"
    elif isinstance(device, (_C.device, str)):
        kind = _C.device(device).type
    else:
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    if kind not in ("cpu", "cuda"):
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'.")
    return importlib.import_module(f"tenon.{kind}")


_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


def set_deterministic_debug_mode(debug_mode):
    """use_deterministic_algorithms under other words: "default" or 0 is off, "warn" or 1 and "error" or 2 are on."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError(f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}")
        debug_mode = _DEBUG_MODES[debug_mode]
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    _C.use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode():
    """0: off; 1: on, and would warn; 2: on."""
    if not _C.are_deterministic_algorithms_enabled():
        return 0
    return 1 if _C.is_deterministic_algorithms_warn_only_enabled() else 2


def set_flush_denormal(mode):
    """False: Tenon computes with denormal numbers, whichever thread does, and is not told otherwise."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"flush_denormal expects a bool, but got {type(mode).__name__}")
    return False
