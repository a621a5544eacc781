"""The recorded graph: its nodes."""

from tenon._C import Node

__all__ = ["Node"]
