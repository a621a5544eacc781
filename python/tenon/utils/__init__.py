"""Helpers around tensors: `tenon.utils.data` feeds training loops."""

from tenon import _missing

from . import data, deterministic, dlpack

__all__ = ["data", "deterministic", "dlpack"]


__getattr__ = _missing.getattr_of(__name__)
