"""Batches in page-locked memory, from which a GPU copies by itself."""

import collections.abc

from .... import _C
from .collate import _is_namedtuple, _like_mapping, _like_sequence


def pin_memory(data, device=None):
    """Pins every tensor in `data`: in mappings and sequences, and objects that have a method pin_memory()."""
    if isinstance(data, _C.Tensor):
        return data.pin_memory()
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, collections.abc.Mapping):
        return _like_mapping(data, {key: pin_memory(value) for key, value in data.items()})
    if _is_namedtuple(data):
        return type(data)(*(pin_memory(value) for value in data))
    if isinstance(data, tuple):
        return [pin_memory(value) for value in data]
    if isinstance(data, collections.abc.Sequence):
        return _like_sequence(data, [pin_memory(value) for value in data])
    return data
