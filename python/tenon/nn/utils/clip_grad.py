"""Gradient clipping. Parameters without a gradient are passed over."""

import math

from tenon import _C
from tenon.autograd import no_grad


def _list_of(parameters):
    return [parameters] if isinstance(parameters, _C.Tensor) else list(parameters)


def _gradients(parameters):
    return [p.grad for p in parameters if p.grad is not None]


def _norm(t, norm_type):
    t = t.detach()
    if norm_type == 2.0:
        return t.square().sum().sqrt()
    if math.isinf(norm_type):
        return t.abs().max() if norm_type > 0 else t.abs().min()
    if norm_type == 0.0:
        return (t != 0).sum().to(t.dtype)
    if norm_type == 1.0:
        return t.abs().sum()
    return t.abs().pow(norm_type).sum().pow(1.0 / norm_type)


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors together, as if they were one vector: a 0-dim tensor."""
    tensors = _list_of(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return _C.tensor(0.0)
    with no_grad():
        device = tensors[0].device
        norms = [_norm(t, norm_type).to(device) for t in tensors]
        total = norms[0] if len(norms) == 1 else _norm(_C.stack(norms), norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot "
                           "be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                           "`error_if_nonfinite=False`")
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales the gradients by max_norm / (total_norm + 1e-6) where that is below 1."""
    gradients = _gradients(_list_of(parameters))
    if not gradients:
        return
    with no_grad():
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for gradient in gradients:
            gradient.mul_(factor.to(gradient.device))


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales all gradients so that the norm of all of them together is at most max_norm. Returns the norm before."""
    parameters = _list_of(parameters)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Limits each element of each gradient to -clip_value .. clip_value."""
    limit = float(clip_value)
    with no_grad():
        for gradient in _gradients(_list_of(parameters)):
            gradient.clamp_(-limit, limit)
