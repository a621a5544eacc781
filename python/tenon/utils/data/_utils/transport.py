"""How batches cross from a worker process: as anonymous shared memory, handed over a socket.

A message is a fixed header and a payload. The payload is the batch pickled (protocol 5) with the bytes of its tensors
and NumPy arrays beside the pickle, not in it:

    table of 64-bit lengths (pickle, buffer 0, buffer 1, ...) | pickle | buffer 0 | buffer 1 ...   each on 64 bytes

Small payloads follow the header. Larger ones lie in a file without a name (memfd) whose descriptor travels with the
header: the receiver maps it, and tensors show the mapping without a copy. Nothing has a name that could be left behind,
whoever dies; the kernel frees the memory with the last mapping.
"""

import io
import mmap
import os
import pickle
import socket
import struct

from .... import _C
from ...._memory_file import anonymous
from ...._utils import dense, dtype_name

_HEADER = struct.Struct("<qqqB7x")  # tag, number of sections, bytes of payload, is there a descriptor?
_LENGTH = struct.Struct("<q")
_ALIGN = 64
_INLINE = 16384  # payloads up to this are cheaper copied than mapped


def _rebuild(buffer, dtype, size, stride):
    """A tensor over a section of the payload."""
    dtype = getattr(_C, dtype)
    if not buffer.nbytes:
        return _C.empty(size, dtype=dtype)
    flat = _C.frombuffer(buffer, dtype=dtype)
    return flat.as_strided(size, stride)


def _rebuild_meta(dtype, size):
    return _C.empty(size, dtype=getattr(_C, dtype), device="meta")


def _rebuild_leaf(tensor):
    return tensor.requires_grad_()


class _BatchPickler(pickle.Pickler):
    """Pickles a batch; the memory of tensors goes to buffer_callback."""

    def reducer_override(self, obj):
        if not isinstance(obj, _C.Tensor):
            return NotImplemented
        if obj.requires_grad and not obj.is_leaf:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
                "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor "
                "before serializing (e.g., putting it on the queue)."
            )
        if obj.requires_grad:
            return _rebuild_leaf, (obj.detach(),)
        dtype = dtype_name(obj.dtype)
        if obj.device.type == "meta":
            return _rebuild_meta, (dtype, tuple(obj.shape))
        if obj.device.type != "cpu":
            raise RuntimeError(
                f"a DataLoader worker returned a tensor on {obj.device}: workers hand over CPU tensors; "
                "move the batch in the main process (pin_memory=True makes that copy fast)"
            )
        flat, stride = dense(obj)
        return _rebuild, (pickle.PickleBuffer(_C._bytes(flat)), dtype, tuple(obj.shape), tuple(stride))


def _up(n):
    return -(-n // _ALIGN) * _ALIGN


def _layout(lengths):
    """Where each section begins, and the size of all."""
    at, starts = _up(_LENGTH.size * len(lengths)), []
    for n in lengths:
        starts.append(at)
        at += _up(n)
    return starts, at


def _message(tag, obj):
    """(bytes to send, descriptor to send with the first of them or None)."""
    buffers, stream = [], io.BytesIO()
    _BatchPickler(stream, 5, buffer_callback=buffers.append).dump(obj)
    sections = [stream.getbuffer(), *(b.raw() for b in buffers)]
    starts, size = _layout([s.nbytes for s in sections])
    table = b"".join(_LENGTH.pack(s.nbytes) for s in sections)
    header = _HEADER.pack(tag, len(sections), size, size > _INLINE)
    if size <= _INLINE:
        payload = bytearray(size)
        _fill(payload, table, sections, starts)
        return header + payload, None
    fd = anonymous(size, "tenon-batch")
    try:
        with mmap.mmap(fd, size) as memory:
            _fill(memory, table, sections, starts)
    except BaseException:
        os.close(fd)
        raise
    return header, fd


def send(sock, tag, obj, when_full=None):
    """Sends an object under a tag, an int. Blocks until the socket took it; or calls when_full() in place of that."""
    data, fd = _message(tag, obj)
    ancillary = [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", fd))]
    flags = 0 if when_full is None else socket.MSG_DONTWAIT
    try:
        left = memoryview(data)
        while left:
            try:
                left = left[sock.sendmsg([left], ancillary, flags) :]
                ancillary = []
            except BlockingIOError:
                when_full()
    finally:
        if fd is not None:
            os.close(fd)


def _fill(memory, table, sections, starts):
    memory[: len(table)] = table
    with memoryview(memory) as view:
        for section, start in zip(sections, starts):
            view[start : start + section.nbytes] = section


def receive(sock):
    """(tag, payload) of the next message, the payload for `unpack`; EOFError if the other side is gone."""
    header, fds, _, _ = socket.recv_fds(sock, _HEADER.size, 1)
    try:
        header += _read(sock, _HEADER.size - len(header))
        tag, count, size, mapped = _HEADER.unpack(header)
        memory = mmap.mmap(fds[0], size) if mapped else _read(sock, size)
    finally:
        for fd in fds:
            os.close(fd)
    return tag, (memory, count)


def _read(sock, n):
    data = bytearray(n)
    with memoryview(data) as view:
        got = 0
        while got < n:
            step = sock.recv_into(view[got:])
            if not step:
                raise EOFError("the other side has closed the connection")
            got += step
    return data


def unpack(payload):
    """The object of a payload. Its tensors and arrays show the payload's memory."""
    memory, count = payload
    view = memoryview(memory)
    lengths = [_LENGTH.unpack_from(view, i * _LENGTH.size)[0] for i in range(count)]
    starts, _ = _layout(lengths)
    sections = [view[start : start + n] for start, n in zip(starts, lengths)]
    return pickle.loads(sections[0], buffers=sections[1:])
