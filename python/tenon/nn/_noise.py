"""Dropout and random activations: what functional.py has of them."""

import warnings

from tenon import _C
from tenon._C import _nn


def _probability(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _dropped(function, input, p, training, inplace):
    """function(input, p, training), or written into input."""
    made = function(input, p, training)
    return input.copy_(made) if inplace and made is not input else made


def dropout(input, p=0.5, training=True, inplace=False):
    """In training: zeroes elements with probability p and multiplies the rest by 1 / (1 - p)"""
    _probability(p)
    if not training:
        return input
    if inplace and input.numel() and p:
        return input.copy_(_nn.dropout(input, p, True))
    return _nn.dropout(input, p, True)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """In training: dropout to the least value of selu, scaled and shifted so that mean and variance stay"""
    _probability(p)
    return _dropped(_C.alpha_dropout, input, p, training, inplace)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """In training: alpha_dropout of whole channels, [N, C, ...]"""
    _probability(p)
    return _dropped(_C.feature_alpha_dropout, input, p, training, inplace)


def _of_channels(input, p, training, inplace, batched):
    if batched:
        return _dropped(_C.feature_dropout, input, p, training, inplace)
    if inplace:
        _dropped(_C.feature_dropout, input.unsqueeze(0), p, training, True)
        return input
    return _C.feature_dropout(input.unsqueeze(0), p, training).squeeze(0)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """In training: zeroes whole channels of [N, C, L] or [C, L] with probability p, the rest times 1 / (1 - p)"""
    _probability(p)
    dims = input.dim()
    if dims not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {dims}D input. Note that dropout1d exists to "
                           "provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an "
                           "optional batch dimension (i.e. 2D or 3D inputs).")
    return _of_channels(input, p, training, inplace, dims == 3)


def _warn_dims(name, dims, spatial, allowed):
    warnings.warn(f"{name}: Received a {dims}-D input to {name}, which is deprecated and will result in an error in a future "
                  "release. To retain the behavior and silence this warning, please use dropout instead. Note that "
                  f"{name} exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a channel "
                  f"dimension, and an optional batch dimension (i.e. {allowed} inputs).", stacklevel=3)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """In training: zeroes whole channels of [N, C, H, W] with probability p, the rest times 1 / (1 - p)"""
    _probability(p)
    dims = input.dim()
    if dims not in (3, 4):
        _warn_dims("dropout2d", dims, 2, "3D or 4D")
    if dims == 3:
        warnings.warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
                      "desired - input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will "
                      "change in a future release to interpret the input as one without a batch dimension, i.e. shape (C, "
                      "H, W). To maintain the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
                      stacklevel=2)
    return _of_channels(input, p, training, inplace, True)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """In training: zeroes whole channels of [N, C, D, H, W] or [C, D, H, W] with probability p, the rest times 1 / (1 - p)"""
    _probability(p)
    dims = input.dim()
    if dims not in (4, 5):
        _warn_dims("dropout3d", dims, 3, "4D or 5D")
    return _of_channels(input, p, training, inplace, dims == 5)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """input, where it is not above 0 times slopes between lower and upper: in training random ones, else their mean"""
    made = _C.rrelu(input, lower, upper, training)
    return input.copy_(made) if inplace else made


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """softmax((logits + noise) / tau) along dim, of Gumbel's noise

    hard   1 where it is largest, else 0, with the gradient of the soft result
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    return _nn.gumbel_softmax(logits, tau, hard, dim)
