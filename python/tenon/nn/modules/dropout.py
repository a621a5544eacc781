"""Dropout, of elements and of channels. In eval mode they return their input."""

from .. import functional as F
from .module import Module

__all__ = ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"]


class _Dropout(Module):
    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """In training mode zeroes elements with probability p and multiplies the rest by 1 / (1 - p); in eval mode returns
    its input."""

    def forward(self, input):
        if not self.training:
            return input
        return F.dropout(input, self.p, True, self.inplace)


class Dropout1d(_Dropout):
    """functional.dropout1d: whole channels of [N, C, L] or [C, L]"""

    def forward(self, input):
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """functional.dropout2d: whole channels of [N, C, H, W]"""

    def forward(self, input):
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """functional.dropout3d: whole channels of [N, C, D, H, W] or [C, D, H, W]"""

    def forward(self, input):
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Dropout):
    """Dropout to the least value of selu, scaled and shifted so that mean and variance stay (Klambauer et al. 2017)"""

    def forward(self, input):
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_Dropout):
    """AlphaDropout of whole channels, [N, C, ...]"""

    def forward(self, input):
        return F.feature_alpha_dropout(input, self.p, self.training)
