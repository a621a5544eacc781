"""Files without a name, whose memory processes share by their descriptors."""

import os
import tempfile


def anonymous(size, name):
    """The descriptor of one of that size; name is what the system lists it by."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create(name, os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    try:
        os.truncate(fd, size)
    except BaseException:
        os.close(fd)
        raise
    return fd
