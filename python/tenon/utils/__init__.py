"""Helpers around tensors: `tenon.utils.data` feeds training loops."""

from . import data

__all__ = ["data"]
