"""The recorded graph: its nodes."""

from tenon import _C, _missing
from tenon._C import Node

__all__ = ["Node", "increment_version"]


def increment_version(tensor):
    """Says of a tensor, or of several, that its memory was written to: by who did so behind autograd's back. Graphs that have saved it
    refuse then, as they do after any write."""
    if isinstance(tensor, _C.Tensor):
        tensor = (tensor,)
    if not hasattr(tensor, "__iter__"):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for t in tensor:
        if t.is_inference():  # which no graph has saved
            continue
        t.detach().as_strided((0,), (1,), 0).zero_()


__getattr__ = _missing.getattr_of(__name__)
