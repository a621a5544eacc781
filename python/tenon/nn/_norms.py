"""Normalisation over batches, as layers ask for it."""

import math

from tenon._C import _nn


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """input with mean 0 and variance 1 over its last dimensions (normalized_shape), times weight, plus bias"""
    return _nn.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """input divided by the root of the mean of its squares over its last dimensions (normalized_shape), times weight"""
    return _nn.rms_norm(input, normalized_shape, weight, eps)


def _more_than_one(sizes):
    if math.prod((sizes[0], *sizes[2:])) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {sizes}")


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """input (N, C, ...) with mean 0 and variance 1 over each of num_groups groups of channels, times weight, plus bias"""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    if num_groups > 0:  # else the library says what is wrong
        _more_than_one([input.size(0) * input.size(1) // num_groups, num_groups] + list(input.size()[2:]))
    return _nn.group_norm(input, num_groups, weight, bias, eps)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    """input (N, C, ...) with mean 0 and variance 1 over each channel of each instance, times weight, plus bias

    use_input_stats: with the statistics of the instances, which also move the running ones by momentum; else with those.
    """
    if use_input_stats:
        sizes = input.size()
        if math.prod(sizes[2:]) == 1:
            raise ValueError(f"Expected more than 1 spatial element when training, got input size {sizes}")
    return _nn.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """input (N, C, ...) divided by (k + alpha * the mean of squares over size neighbouring channels)^beta"""
    return _nn.local_response_norm(input, size, alpha, beta, k)


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
        _more_than_one(input.size())
    if eps < 0.0 or training and eps <= 0.0:
        raise ValueError(f"batch_norm eps must be {'positive during training' if training else 'non-negative'}, but got {eps}")
    return _nn.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
