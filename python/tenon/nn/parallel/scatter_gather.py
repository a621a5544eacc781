"""Inputs cut over GPUs, outputs joined, whatever they are nested in."""

from tenon import _C

from ._functions import Gather, Scatter

__all__ = ["scatter", "scatter_kwargs", "gather"]

_Tensor = _C.Tensor


def _is_namedtuple(obj):
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


def _scatter(obj, gpus, dim):
    if isinstance(obj, _Tensor):
        return Scatter.apply(gpus, None, dim, obj)
    if isinstance(obj, (tuple, list, dict)) and len(obj):
        columns = [_scatter(item, gpus, dim) for item in (obj.items() if isinstance(obj, dict) else obj)]
        rows = list(zip(*columns))  # as many as the shortest tensor has chunks
        if isinstance(obj, tuple):
            return [type(obj)(*row) for row in rows] if _is_namedtuple(obj) else rows
        return [list(row) if isinstance(obj, list) else type(obj)(row) for row in rows]
    return [obj for _ in gpus]


def scatter(inputs, target_gpus, dim=0):
    """Tensors in inputs (tuples, named tuples, lists, dictionaries, nested as they may be) cut along dim into a chunk for
    each GPU; what is no tensor is shared. Returns a list of such structures, a tuple for a tensor; fewer than GPUs where a
    tensor is short."""
    return _scatter(inputs, target_gpus, dim)


def _has_tensors(obj):
    if isinstance(obj, dict):
        obj = list(obj.items())
    if isinstance(obj, (tuple, list)):
        return any(_has_tensors(item) for item in obj)
    return isinstance(obj, _Tensor)


def scatter_kwargs(inputs, kwargs, target_gpus, dim=0):
    """scatter() of the arguments of a call: a tuple of tuples and a tuple of dictionaries, as many of the one as of the
    other. Arguments without a tensor go where there are chunks of the others."""
    if len(inputs) == 1 and not kwargs and isinstance(inputs[0], _Tensor):
        chunks = Scatter.apply(target_gpus, None, dim, inputs[0])
        return tuple((chunk,) for chunk in chunks), ({},) * len(chunks)
    args = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    if inputs and kwargs and len(args) != len(named):
        if len(args) > len(named) and not _has_tensors(inputs):
            args = args[: len(named)]
        elif len(named) > len(args) and not _has_tensors(kwargs):
            named = named[: len(args)]
    args += [() for _ in range(len(named) - len(args))]
    named += [{} for _ in range(len(args) - len(named))]
    return tuple(args), tuple(named)


def gather(outputs, target_device, dim=0):
    """The outputs of replicas, structures of tensors that are alike, with each of their tensors joined along dim on the
    device ("cpu" too)."""
    first = outputs[0]
    if isinstance(first, _Tensor):
        return Gather.apply(target_device, dim, *outputs)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(first) != len(other) for other in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((key, gather([other[key] for other in outputs], target_device, dim)) for key in first)
    if isinstance(first, (str, bytes)):
        raise TypeError(f"outputs of type '{type(first).__name__}' cannot be gathered")
    columns = (gather(column, target_device, dim) for column in zip(*outputs, strict=True))
    return type(first)._make(columns) if _is_namedtuple(first) else type(first)(columns)
