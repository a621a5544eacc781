"""Normalisation over features and over batches, and padding."""

import math

from tenon import _C

from .._written import kind, need_floating, refuse

_pad_arguments = _C._signature("pad(Tensor input, int[] pad, str mode=constant, float? value=None)")[0]
_layer_norm_arguments = _C._signature("layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05)")[0]
_batch_norm_arguments = _C._signature("batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
                                      "bool training, float momentum, float eps)")[0]


_HALVES = (_C.float16, _C.bfloat16)


def _check_dtypes(input, tensors):
    """Parameters and statistics are of the input's dtype; beside one of 16 bits they may all be of float32."""
    tensors = [t for t in tensors if t is not None]
    if not tensors or all(t.dtype == input.dtype for t in tensors):
        return
    if tensors[0].dtype == input.dtype:
        other = next(t for t in tensors if t.dtype != input.dtype)
        raise RuntimeError(f"expected scalar type {kind(input)} but found {kind(other)}")
    if input.dtype == _C.float64 and tensors[0].dtype == _C.float32:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    if input.dtype not in _HALVES or any(t.dtype != _C.float32 for t in tensors):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """input with mean 0 and variance 1 over its last dimensions (normalized_shape), times weight, plus bias"""
    _layer_norm_arguments(input, normalized_shape, weight, bias, eps)
    shape = tuple(normalized_shape)
    if not shape:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but "
                           "got normalized_shape = []")
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(t.shape) != shape:
            raise RuntimeError(f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(t.shape)} "
                               f"and normalized_shape = {list(shape)}")
    if tuple(input.shape[-len(shape):]) != shape:
        sizes = ", ".join(["*", *map(str, shape)])
        raise RuntimeError(f"Given normalized_shape={list(shape)}, expected input with shape [{sizes}], but got input of "
                           f"size{list(input.shape)}")
    need_floating("LayerNormKernelImpl", input)
    _check_dtypes(input, (weight, bias))
    x = input.float() if input.dtype in _HALVES else input
    dims = tuple(range(-len(shape), 0))
    centred = x - x.mean(dims, True)
    x = centred * ((centred * centred).mean(dims, True) + eps).rsqrt()
    x = x if weight is None else x * weight
    return (x if bias is None else x + bias).to(input.dtype)


def _check_channels(input, training, running_mean, running_var, weight, bias):
    """That there are as many of everything as channels."""
    channels = input.shape[1] if input.dim() > 1 else 0
    for name, t in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if t is None:
            if name.startswith("running") and not training:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
        elif t.numel() != channels and input.shape != (0,):
            raise RuntimeError(f"{name} should contain {channels} elements not {t.numel()}")


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
    _batch_norm_arguments(input, weight, bias, running_mean, running_var, training, momentum, eps)
    if input.dim() != 1 and input.numel() == 0:
        empty = input.clone()  # with the history that it would have
        for factor in (weight, bias):
            empty = empty if factor is None else empty * factor.sum()
        return empty.to(input.dtype)
    _check_channels(input, training, running_mean, running_var, weight, bias)
    if input.numel() == 0:
        return input.clone()
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if input.dim() < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    count = input.numel() // input.shape[1]
    need_floating("batch_norm", input)
    _check_dtypes(input, (weight, bias, running_mean, running_var))
    line = [1, -1] + [1] * (input.dim() - 2)
    x = input.float() if input.dtype in _HALVES else input
    if training:
        dims = [d for d in range(x.dim()) if d != 1]
        mean = x.mean(dims, True)
        centred = x - mean
        var = (centred * centred).mean(dims, True)
        with _no_grad():
            if running_mean is not None:
                running_mean.mul_(1 - momentum).add_(mean.detach().reshape(-1).to(running_mean.dtype), alpha=momentum)
            if running_var is not None:
                unbiased = var.detach().reshape(-1) * (count / (count - 1))
                running_var.mul_(1 - momentum).add_(unbiased.to(running_var.dtype), alpha=momentum)
    else:
        centred, var = x - running_mean.reshape(line), running_var.reshape(line)
    x = centred * (var + eps).rsqrt()
    x = x if weight is None else x * weight.reshape(line)
    return (x if bias is None else x + bias.reshape(line)).to(input.dtype)


def _no_grad():
    from tenon.autograd.grad_mode import no_grad

    return no_grad()


def _places(mode, n, before, after, device):
    """Which element of a line of n stands at each place of the padded line."""
    if mode == "circular":  # what negative counts cut off is not there to come round
        start, kept = max(-before, 0), n - max(-before, 0) - max(-after, 0)
        return _C.arange(-max(before, 0), kept + max(after, 0), device=device).remainder(max(kept, 1)) + start
    place = _C.arange(-before, n + after, device=device)
    if mode == "replicate":
        return place.clamp(0, n - 1)
    return (n - 1) - ((n - 1) - place.abs()).abs()


def _pad_line(input, dim, before, after, value):
    """A constant before and behind the elements along a dimension; where negative, elements are cut off."""
    n = input.shape[dim]
    if n + before + after < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    start, end = max(-before, 0), n - max(-after, 0)
    parts = [input.narrow(dim, start, end - start)]
    for at, size in ((0, before), (len(parts), after)):
        if size > 0:
            shape = list(input.shape)
            shape[dim] = size
            parts.insert(0 if at == 0 else len(parts), _C.full(shape, value, dtype=input.dtype, device=input.device))
    return _C.cat(parts, dim) if len(parts) > 1 else parts[0]


def _can_pad(input, pad, mode, value):
    """PyTorch pads the last one, two or three of a batch's or a sample's dimensions otherwise than by a constant."""
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    n, dims = len(pad) // 2, input.dim()
    if n not in (1, 2, 3) or dims - n not in (1, 2):
        raise NotImplementedError(f"Padding size {len(pad)} is not supported for {dims}D input tensor.")
    if mode == "circular":
        return
    if not all(input.shape[1:] if dims == n + 2 else input.shape):
        raise RuntimeError(f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
                           f"input, but got: {list(input.shape)}")
    for i in range(n):
        size = input.shape[dims - 1 - i]
        if mode == "reflect" and max(pad[2 * i], pad[2 * i + 1]) >= size:
            raise RuntimeError("Argument #4: Padding size should be less than the corresponding input dimension, but got: "
                               f"padding ({pad[2 * i]}, {pad[2 * i + 1]}) at dimension {dims - 1 - i} of input {list(input.shape)}")
        if size + pad[2 * i] + pad[2 * i + 1] < 1:
            ways = [(f"{'WHD'[k]}: ", input.shape[dims - 1 - k], pad[2 * k] + pad[2 * k + 1]) for k in reversed(range(n))]
            raise RuntimeError(f"input ({' '.join(w + str(have) for w, have, _ in ways)}) is too small. Calculated output "
                               + " ".join(w + str(have + more) for w, have, more in ways))
    if input.dtype == _C.bool:
        refuse(f"{'reflection' if mode == 'reflect' else 'replication'}_pad{n}d", input)


def pad(input, pad, mode="constant", value=None):
    """input with elements added before and behind: pairs of counts, for the last dimension first

    mode: "constant" (value, 0 if None), "reflect", "replicate" or "circular". Negative counts cut elements off.
    """
    _pad_arguments(input, pad, mode, value)
    pad = tuple(pad)
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) // 2 > input.dim():
        raise RuntimeError("Padding length should be less than or equal to two times the input dimension but got padding length "
                           f"{len(pad)} and input of dimension {input.dim()}")
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if mode != "constant":
        _can_pad(input, pad, mode, value)
    result = input
    for i in range(len(pad) // 2):
        before, after, dim = pad[2 * i], pad[2 * i + 1], input.dim() - 1 - i
        if mode == "constant":
            result = _pad_line(result, dim, before, after, 0 if value is None else value)
            continue
        n = input.shape[dim]
        if mode == "circular" and max(before, after) > n:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if mode == "circular" and n + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        result = result.index_select(dim, _places(mode, n, before, after, input.device))
    return result.clone() if mode == "constant" and max(pad, default=0) <= 0 else result
