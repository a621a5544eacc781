"""Tensors between GPUs: what torch.cuda.comm has."""

import warnings

from tenon import _C

from ._devices import device_index

__all__ = ["broadcast", "broadcast_coalesced", "reduce_add", "reduce_add_coalesced", "scatter", "gather"]


def _sizes(shape):
    return "[" + ", ".join(str(n) for n in shape) + "]"


def _check_outputs(out):
    for i, t in enumerate(out):
        if not t.is_cuda:
            raise RuntimeError(f"Expected all output tensors to be CUDA tensors, but output tensor at index {i} has device "
                               f"'{t.device}'")


def _dimension(dim, tensor):
    """dim counted from the front."""
    n = max(tensor.dim(), 1)
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


def broadcast(tensor, devices=None, *, out=None):
    """Copies of a tensor on GPUs: new ones on devices, or in the tensors of out. Returns a tuple; on its own device the
    tensor stands for itself."""
    if (devices is None) == (out is None):
        raise RuntimeError(f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and out={out}")
    if devices is not None:
        copies = _C._parallel_broadcast([tensor], [device_index(d) for d in devices])
        return tuple(tensor if t.device == tensor.device else t for (t,) in copies)
    _check_outputs(out)
    for i, t in enumerate(out):
        if t.shape != tensor.shape:
            raise RuntimeError("Expected all output tensors to have same shape as the source tensor "
                               f"{_sizes(tensor.shape)}, but output tensor at index {i} has shape {_sizes(t.shape)}")
    for t in out:
        t.copy_(tensor, non_blocking=True)
    return tuple(out)


def broadcast_coalesced(tensors, devices, buffer_size=10485760):
    """Copies of tensors, which are all on the first of the devices, on each of them: a tuple of lists. buffer_size is
    taken for PyTorch's sake: the library copies without a buffer between."""
    ids = [device_index(d) for d in devices]
    tensors = list(tensors)
    for t in tensors:
        if ids and t.get_device() != ids[0]:
            raise RuntimeError(f"All tensors must be on devices[0]: {ids[0]}")
    return tuple(_C._parallel_broadcast(tensors, ids))


def reduce_add(inputs, destination=None):
    """The sum of tensors of one shape, one of which is on the destination, there; the current GPU unless said."""
    destination = device_index(destination, optional=True)
    size = inputs[0].size()
    rooted = False
    for i, t in enumerate(inputs):
        if t.device.type == "cpu":
            raise AssertionError(f"reduce_add expects all inputs to be on GPUs, but input {i} is on CPU")
        rooted = rooted or t.get_device() == destination
        if t.size() != size:
            got, expected = "x".join(str(n) for n in t.size()), "x".join(str(n) for n in size)
            raise ValueError(f"input {i} has invalid size: got {got}, but expected {expected}")
    if not rooted:
        raise RuntimeError("reduce_add expects destination to be on the same GPU with one of the tensors")
    return inputs[0] if len(inputs) == 1 else _C._parallel_reduce_add(inputs, destination)


def reduce_add_coalesced(inputs, destination=None, buffer_size=10485760):
    """reduce_add of the first tensors of all lists, of the second ones, and so on: a tuple."""
    return tuple(reduce_add(group, destination) for group in zip(*inputs, strict=True))


def cut(tensor, ids, sizes, dim, step=None):
    """The chunks of a tensor on GPUs, as part of a step if there is one."""
    if sizes is not None and len(sizes) == len(ids):
        n = tensor.shape[_dimension(dim, tensor)]
        if sum(sizes) != n:
            raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension "
                               f"{dim}), but got split_sizes={list(sizes)}")
    return _C._parallel_scatter(tensor, ids, dim, sizes, step)


def scatter(tensor, devices=None, chunk_sizes=None, dim=0, streams=None, *, out=None):
    """A tensor cut along dim: chunks on devices, of chunk_sizes or equal ones, or into the tensors of out. Returns a
    tuple. streams is taken for PyTorch's sake: copies are ordered with the current streams."""
    if out is None:
        return cut(tensor, [device_index(d) for d in devices], chunk_sizes, dim)
    if devices is not None:
        raise RuntimeError(f"'devices' must not be specified when 'out' is specified, but got devices={devices}")
    if chunk_sizes is not None:
        raise RuntimeError("'chunk_sizes' must not be specified when 'out' is specified, but got "
                           f"chunk_sizes={chunk_sizes}")
    dim = _dimension(dim, tensor)
    if not out:
        raise RuntimeError("Expected at least one output tensor to scatter to")
    _check_outputs(out)
    for i, t in enumerate(out):
        if t.dim() != tensor.dim() or t.shape[:dim] + t.shape[dim + 1 :] != tensor.shape[:dim] + tensor.shape[dim + 1 :]:
            raise RuntimeError(f"Output tensor at index {i} has incorrect shape: {_sizes(t.shape)}. Expected same shape "
                               f"except for scatter dim {dim} as the source tensor: {_sizes(tensor.shape)}")
    total = sum(t.shape[dim] for t in out)
    if total != tensor.shape[dim]:
        raise RuntimeError(f"Total size for output tensors along scatter dim {dim} does not match the source tensor size "
                           f"at dim {dim}. Expected {tensor.shape[dim]}, but got total size {total}")
    for t, chunk in zip(out, tensor.split([t.shape[dim] for t in out], dim)):
        t.copy_(chunk, non_blocking=True)
    return tuple(out)


def joined_shape(tensors, dim):
    """The shape of tensors joined along dim. RuntimeError for what cannot be."""
    if not tensors:
        raise RuntimeError("Expected at least one tensor to gather from")
    dim = _dimension(dim, tensors[0])
    expected = list(tensors[0].shape)
    for i, t in enumerate(tensors):
        if not t.is_cuda:
            raise RuntimeError(f"Expected all input tensors to be CUDA tensors, but tensor at index {i} has device "
                               f"'{t.device}'")
        if t.dim() != len(expected):
            raise RuntimeError("Expected all input tensors to have the same number of dimensions, but tensor at index "
                               f"{i}has {t.dim()} dimensions, (expected {len(expected)})")
        if expected:
            expected[dim] = t.shape[dim]
        if list(t.shape) != expected:
            raise RuntimeError(f"Tensor at index {i} has invalid shape {_sizes(t.shape)}, but expected {_sizes(expected)}")
    if expected:
        expected[dim] = sum(t.shape[dim] for t in tensors)
    return expected


def gather(tensors, dim=0, destination=None, *, out=None):
    """Tensors on GPUs joined along dim, in a new tensor on the destination ("cpu" too; the current GPU unless said), or
    in out."""
    tensors = list(tensors)
    if out is None:
        if destination == -1:
            warnings.warn("Using -1 to represent CPU tensor is deprecated. Please use a device object or string instead, "
                          'e.g., "cpu".', FutureWarning, stacklevel=2)
            destination = "cpu"
        joined_shape(tensors, dim)
        return _C._parallel_gather(tensors, device_index(destination, optional=True, allow_cpu=True), dim)
    if destination is not None:
        raise RuntimeError("'destination' must not be specified when 'out' is specified, but got "
                           f"destination={destination}")
    expected = joined_shape(tensors, dim)
    if list(out.shape) != expected:
        raise RuntimeError(f"Expected out tensor to have shape {_sizes(expected)}, but got {_sizes(out.shape)}")
    for part, t in zip(out.split([t.shape[dim] for t in tensors], dim), tensors):
        part.copy_(t, non_blocking=True)
    return out
