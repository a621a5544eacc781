"""Dropout."""

from .. import functional as F
from .module import Module

__all__ = ["Dropout"]


class Dropout(Module):
    """In training mode zeroes elements with probability p and multiplies the rest by 1 / (1 - p); in eval mode returns
    its input."""

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input):
        if not self.training:
            return input
        return F.dropout(input, self.p, True, self.inplace)

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"
