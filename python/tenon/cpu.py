"""torch.cpu: the CPU as a device, so that a program asks it what it asks torch.cuda. Its work is done when a call returns."""

import contextlib

from . import _C, _missing

__all__ = ["Event", "Stream", "StreamContext", "current_device", "current_stream", "device_count", "is_available", "is_initialized",
           "set_device", "stream", "synchronize"]


class Stream:
    """The one stream of the CPU: there is nothing to wait for."""

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        """Nothing."""

    def record_event(self):
        """Nothing."""

    def wait_event(self, event):
        """Nothing."""


class Event:
    """A place in the CPU's work, which is behind as soon as it is there."""

    def query(self) -> bool:
        """True."""
        return True

    def record(self, stream=None):
        """Nothing."""

    def synchronize(self) -> None:
        """Nothing."""

    def wait(self, stream=None):
        """Nothing."""


class StreamContext(contextlib.AbstractContextManager):
    """Nothing changes inside."""

    def __init__(self, stream):
        self.stream = stream

    def __exit__(self, *error):
        return None


_stream = Stream()


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """'cpu'"""
    return "cpu"


def set_device(device) -> None:
    """Nothing: there is one."""


def current_stream(device=None) -> Stream:
    """The one stream."""
    return _stream


def stream(stream) -> StreamContext:
    """Nothing changes inside."""
    return StreamContext(stream)


def synchronize(device=None) -> None:
    """Nothing: work is done when a call returns."""


__getattr__ = _missing.getattr_of(__name__)
