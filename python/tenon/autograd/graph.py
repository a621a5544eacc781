"""The recorded graph: its nodes."""

from tenon import _missing
from tenon._C import Node

__all__ = ["Node"]


__getattr__ = _missing.getattr_of(__name__)
