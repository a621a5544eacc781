"""Functions that write into their first argument, of activations and dropout."""

from tenon import _C

__all__ = ["alpha_dropout_", "celu_", "dropout_", "feature_alpha_dropout_", "feature_dropout_", "rrelu_", "selu_", "threshold_"]


_threshold_arguments = _C._signature("threshold_(Tensor input, Number threshold, Number value)")[0]


def _written(function, input, *args):
    """function(input, *args) into input. What is recorded is of a copy: nothing that is kept for backward is written over."""
    recorded = input.requires_grad and _C.is_grad_enabled()
    return input.copy_(function(input.clone() if recorded else input, *args))


def celu_(input, alpha=1.0):
    """celu, in place"""
    return _written(_C.celu, input, alpha)


def selu_(input):
    """selu, in place"""
    return _written(_C.selu, input)


def threshold_(input, threshold, value):
    """threshold, in place"""
    _threshold_arguments(input, threshold, value)
    return _written(_C.threshold, input, threshold, value)


def rrelu_(input, lower=0.125, upper=0.3333333333333333, training=False, generator=None):
    """rrelu, in place"""
    return _written(_C.rrelu, input, lower, upper, training, generator)


def dropout_(input, p, train):
    """dropout, in place"""
    return _written(_C.dropout, input, p, train)


def alpha_dropout_(input, p, train):
    """alpha_dropout, in place"""
    return _written(_C.alpha_dropout, input, p, train)


def feature_dropout_(input, p, train):
    """feature_dropout, in place"""
    return _written(_C.feature_dropout, input, p, train)


def feature_alpha_dropout_(input, p, train):
    """feature_alpha_dropout, in place"""
    return _written(_C.feature_alpha_dropout, input, p, train)
