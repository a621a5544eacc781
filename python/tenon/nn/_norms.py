"""Normalisation over batches, as layers ask for it."""

import math

from tenon._C import _nn


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """input with mean 0 and variance 1 over its last dimensions (normalized_shape), times weight, plus bias"""
    return _nn.layer_norm(input, normalized_shape, weight, bias, eps)


def pad(input, pad, mode="constant", value=None):
    """input with elements added before and behind: pairs of counts, for the last dimension first

    mode: "constant" (value, 0 if None), "reflect", "replicate" or "circular". Negative counts cut elements off.
    """
    return _nn.pad(input, pad, mode, value)


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """input (N, C, ...) with mean 0 and variance 1 over all but the channels, times weight, plus bias

    training: with the statistics of this batch, which also move the running ones by momentum; else with the running ones.
    """
    if training:
        sizes = input.shape
        if math.prod((sizes[0], *sizes[2:])) == 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {sizes}")
    if eps < 0.0 or training and eps <= 0.0:
        raise ValueError(f"batch_norm eps must be {'positive during training' if training else 'non-negative'}, but got {eps}")
    return _nn.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
