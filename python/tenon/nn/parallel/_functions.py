"""Scatter, Gather, Broadcast, ReduceAddCoalesced: the differentiable pieces, under PyTorch's names.

The library records their derivatives itself: what a piece does in backward is another piece. Each takes part in the step of
the DataParallel that calls it, if one does (current.step).
"""

import threading
import warnings

from tenon import _C
from tenon.autograd import Function

from . import comm
from ._devices import device_index, device_indices


class _Current(threading.local):
    """What this thread's DataParallel is at: its step, and what is inside its module; None outside."""

    step = None
    inside = None


current = _Current()


def _require_gpus(name, tensors):
    for t in tensors:
        if t.device.type == "cpu":
            raise AssertionError(f"{name} function not implemented for CPU tensors")


class Scatter(Function):
    """apply(target_gpus, chunk_sizes, dim, input): a tuple of chunks, one on each GPU; fewer where input is short."""

    @classmethod
    def apply(cls, target_gpus, chunk_sizes, dim, input):
        """The chunks; chunk_sizes is None for equal ones."""
        return comm.cut(input, device_indices(target_gpus), chunk_sizes, dim, current.step)


class Gather(Function):
    """apply(target_device, dim, *inputs): the inputs joined on the device; scalars become a vector."""

    @classmethod
    def apply(cls, target_device, dim, *inputs):
        """The joined tensor."""
        _require_gpus("Gather", inputs)
        if target_device != "cpu":
            target_device = device_index(target_device, True)
        if dim == 0 and all(t.dim() == 0 for t in inputs):
            inputs = [t.view(1) for t in inputs]
            warnings.warn("Was asked to gather along dimension 0, but all input tensors were scalars; will instead "
                          "unsqueeze and return a vector.", stacklevel=2)
        if target_device == -1 or len(inputs) == 0:
            return comm.gather(inputs, dim, target_device)
        try:
            return _C._parallel_gather(inputs, target_device, dim, current.step)
        except RuntimeError as error:
            failed = error
        try:
            comm.joined_shape(inputs, dim)  # says what is wrong in PyTorch's words, where it is this
            raise failed
        finally:
            del failed  # which holds this frame


class Broadcast(Function):
    """apply(target_gpus, *inputs): copies of all inputs on the first GPU, then on the second, and so on."""

    @classmethod
    def apply(cls, target_gpus, *inputs):
        """A flat tuple of the copies."""
        _require_gpus("Broadcast", inputs)
        ids = device_indices(target_gpus)
        if not inputs:
            return ()
        return tuple(t for copies in _C._parallel_broadcast(inputs, ids, current.step) for t in copies)


class ReduceAddCoalesced(Function):
    """apply(destination, num_inputs, *grads): what Broadcast gave, summed for each input on the destination."""

    @classmethod
    def apply(cls, destination, num_inputs, *grads):
        """A tuple of num_inputs sums."""
        lists = [grads[i : i + num_inputs] for i in range(0, len(grads), num_inputs)]
        return comm.reduce_add_coalesced(lists, destination)
