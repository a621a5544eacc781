"""Helpers around tensors: `tenon.utils.data` feeds training loops."""

from . import data, deterministic, dlpack

__all__ = ["data", "deterministic", "dlpack"]
