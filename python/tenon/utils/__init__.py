"""Helpers around tensors: `tenon.utils.data` feeds training loops."""

import importlib

from tenon import _missing

from . import data, deterministic, dlpack

__all__ = ["data", "deterministic", "dlpack"]


def __getattr__(name):
    if name == "checkpoint":  # imported when it is first asked for
        return importlib.import_module("tenon.utils.checkpoint")
    raise _missing.error(__name__, name)
