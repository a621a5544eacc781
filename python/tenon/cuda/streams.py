"""torch.cuda.Stream and torch.cuda.Event."""

from tenon import _C

from ._utils import get_device_index

__all__ = ["Event", "ExternalStream", "Stream", "StreamContext", "get_stream_from_external"]


StreamContext = _C._cuda.StreamContext


class Stream(_C._cuda.Stream):
    """Stream(device=None, priority=0): work on a GPU that runs in order, beside that of other streams.

    device: the GPU, by default the current one; priority: 0, or -1 for one that goes first. Used with 'with', it is the
    current stream inside.
    """

    device_type = 1  # PyTorch's number of CUDA

    def __new__(cls, device=None, priority=0, **unknown):
        if unknown:
            raise TypeError(f"Stream() got an unexpected keyword argument '{next(iter(unknown))}'")
        index = -1 if device is None else get_device_index(device, optional=True)
        return super().__new__(cls, index, priority)

    def record_event(self, event=None):
        """Records the event (a new one) here; returns it."""
        if event is None:
            event = Event()
        event.record(self)
        return event

    def __enter__(self):
        context = StreamContext(self)
        context.__enter__()
        self.__dict__.setdefault("_contexts", []).append(context)
        return self

    def __exit__(self, *error):
        self._contexts.pop().__exit__(*error)


class Event(_C._cuda.Event):
    """Event(enable_timing=False, blocking=False, interprocess=False): a mark on a stream.

    enable_timing: elapsed_time() may be asked; blocking: who waits for it sleeps rather than spins; interprocess is not
    there in Tenon.
    """


class ExternalStream(Stream):
    """ExternalStream(stream_ptr, device=None): a stream that another library made, by its handle, an int (of CuPy's: stream.ptr).

    It is not destroyed with this object: whoever made it keeps it until the tensors that were made or used on it are gone.
    """

    def __new__(cls, stream_ptr, device=None, **unknown):
        if unknown:
            raise TypeError(f"ExternalStream() got an unexpected keyword argument '{next(iter(unknown))}'")
        return cls._external(stream_ptr, -1 if device is None else get_device_index(device, optional=True))


def get_stream_from_external(data_ptr, device=None):
    """The Stream of that handle, an int, which another library made: as ExternalStream."""
    return Stream._external(data_ptr, -1 if device is None else get_device_index(device, optional=True))


def current_stream(device=None):
    """The current stream of this thread on a GPU."""
    return Stream._current(-1 if device is None else get_device_index(device, optional=True))


def default_stream(device=None):
    """The default stream of a GPU."""
    return Stream._default(-1 if device is None else get_device_index(device, optional=True))


def stream(stream):
    """A context in which the stream, and its GPU, are the current ones; None changes nothing."""
    return StreamContext(stream)


def set_stream(stream):
    """Makes a stream the current one of its GPU, and that the current GPU. torch.cuda.stream() is the better way."""
    if stream is not None:
        _C._cuda.set_stream(stream)
