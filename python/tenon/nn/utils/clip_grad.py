"""Gradient clipping. Parameters without a gradient are passed over."""

import math
import warnings

from tenon import _C


def _list_of(parameters):
    return [parameters] if isinstance(parameters, _C.Tensor) else list(parameters)


def _gradients(parameters):
    return [p.grad for p in parameters if p.grad is not None]


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors together, as if they were one vector: a 0-dim tensor."""
    tensors = _list_of(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return _C.tensor(0.0)
    total = _C._total_norm(tensors, norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot "
                           "be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                           "`error_if_nonfinite=False`")
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales the gradients by max_norm / (total_norm + 1e-6) where that is below 1."""
    gradients = _gradients(_list_of(parameters))
    if gradients:
        _C._clip_to_norm(gradients, float(max_norm), total_norm)


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales all gradients so that the norm of all of them together is at most max_norm. Returns the norm before."""
    parameters = _list_of(parameters)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Deprecated: clip_grad_norm_."""
    warnings.warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.", FutureWarning,
                  stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Limits each element of each gradient to -clip_value .. clip_value."""
    gradients = _gradients(_list_of(parameters))
    if gradients:
        _C._clip_values(gradients, float(clip_value))
