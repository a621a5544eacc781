"""From a list of samples to a batch."""

import collections.abc
import contextlib
import copy
import sys

from .... import _C

_ERROR = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"

# the kinds of NumPy arrays that have no tensor of their kind: str, bytes, object
_NOT_NUMBERS = "SUO"


def _is_numpy(value):
    """Is it a NumPy array or scalar? Without importing NumPy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic))


def _is_namedtuple(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _like_mapping(model, items):
    """A mapping of model's type with those items; a dict where the type cannot be made so."""
    with contextlib.suppress(TypeError):
        if isinstance(model, collections.abc.MutableMapping):
            made = copy.copy(model)  # keeps what else the type holds, such as a default_factory
            made.update(items)
            return made
        return type(model)(items)
    return items


def _like_sequence(model, values):
    """A sequence of model's type with those values; a list where the type cannot be made so."""
    with contextlib.suppress(TypeError):
        if isinstance(model, collections.abc.MutableSequence):
            made = copy.copy(model)
            for i, value in enumerate(values):
                made[i] = value
            return made
        if not isinstance(model, range):
            return type(model)(values)
    return values


def default_convert(data):
    """Turns NumPy arrays and scalars, wherever they lie in mappings and sequences, into tensors; leaves all else."""
    if isinstance(data, _C.Tensor):
        return data
    if _is_numpy(data):
        return data if data.dtype.kind in _NOT_NUMBERS else _C.as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        return _like_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if _is_namedtuple(data):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, (str, bytes)):
        return _like_sequence(data, [default_convert(value) for value in data])
    return data


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """Tensors of one shape -> one tensor with a new first dimension."""
    return _C.stack(list(batch), 0)


def _collate_numpy(batch):
    first = batch[0]
    if first.dtype.kind in _NOT_NUMBERS:
        raise TypeError(_ERROR.format(first.dtype))
    if isinstance(first, sys.modules["numpy"].ndarray):
        return collate_tensor_fn([_C.as_tensor(array) for array in batch])
    return _C.as_tensor(batch)


def _collate_sequence(batch, recurse):
    first = batch[0]
    if any(len(sample) != len(first) for sample in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    columns = [recurse(column) for column in zip(*batch)]
    return columns if isinstance(first, tuple) else _like_sequence(first, columns)


def collate(batch, *, collate_fn_map=None):
    """Collates by the type of the first sample: `collate_fn_map` first, then containers, member by member.

    collate_fn_map: from a type, or a tuple of types, to function(batch, *, collate_fn_map).
    """
    first = batch[0]
    table = collate_fn_map or {}
    if type(first) in table:
        return table[type(first)](batch, collate_fn_map=collate_fn_map)
    for kind, function in table.items():
        if isinstance(first, kind):
            return function(batch, collate_fn_map=collate_fn_map)

    def recurse(part):
        return collate(part, collate_fn_map=collate_fn_map)

    return _collate_container(batch, first, recurse)


def _collate_container(batch, first, recurse):
    if isinstance(first, collections.abc.Mapping):
        return _like_mapping(first, {key: recurse([sample[key] for sample in batch]) for key in first})
    if _is_namedtuple(first):
        return type(first)(*(recurse(column) for column in zip(*batch)))
    if isinstance(first, collections.abc.Sequence):
        return _collate_sequence(batch, recurse)
    raise TypeError(_ERROR.format(type(first)))


def _collate_by_kind(batch):
    """default_collate without a table: the kinds that come most often first."""
    first = batch[0]
    if isinstance(first, _C.Tensor):
        return collate_tensor_fn(batch)
    if isinstance(first, float) and not _is_numpy(first):
        return _C.tensor(batch, dtype=_C.float64)
    if isinstance(first, int):
        return _C.tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if _is_numpy(first):
        return _collate_numpy(batch)
    return _collate_container(batch, first, _collate_by_kind)


def default_collate(batch):
    """Makes a batch of a list of samples: a new first dimension wherever samples hold numbers.

    Tensors and NumPy arrays are stacked, numbers become a tensor (float: float64, int: int64), strings and bytes stay
    a list; mappings keep their keys and type, named tuples their type; tuples become lists.
    """
    return _collate_by_kind(batch)
