"""Normalisation over features and over batches, and padding."""

from tenon import _C


_HALVES = (_C.float16, _C.bfloat16)


def _check_dtypes(input, tensors):
    """Parameters and statistics are of the input's dtype; beside one of 16 bits they may all be of float32."""
    tensors = [t for t in tensors if t is not None]
    if not tensors or all(t.dtype == input.dtype for t in tensors):
        return
    if tensors[0].dtype == input.dtype:
        names = [t.type().split(".")[-1].removesuffix("Tensor") for t in (input, *tensors) if t is input or t.dtype != input.dtype]
        raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}")
    if input.dtype == _C.float64 and tensors[0].dtype == _C.float32:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    if input.dtype not in _HALVES or any(t.dtype != _C.float32 for t in tensors):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """input with mean 0 and variance 1 over its last dimensions (normalized_shape), times weight, plus bias"""
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
    _check_dtypes(input, (weight, bias))
    x = input.float() if input.dtype in _HALVES else input
    dims = tuple(range(-len(shape), 0))
    centred = x - x.mean(dims, True)
    x = centred * ((centred * centred).mean(dims, True) + eps).rsqrt()
    x = x if weight is None else x * weight
    return (x if bias is None else x + bias).to(input.dtype)


def _check_channels(input, tensors):
    for name, t in tensors:
        if t is not None and t.numel() != input.shape[1]:
            raise RuntimeError(f"{name} should contain {input.shape[1]} elements not {t.numel()}")


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """input (N, C, ...) with mean 0 and variance 1 over all but the channels, times weight, plus bias

    training: with the statistics of this batch, which also move the running ones by momentum; else with the running ones.
    """
    if input.dim() < 2:
        if input.numel():
            raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
        return input.clone()
    count = input.numel() // input.shape[1] if input.shape[1] else 0
    if training and count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    if not training and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when training=False")
    _check_channels(input, [("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)])
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


def pad(input, pad, mode="constant", value=None):
    """input with elements added before and behind: pairs of counts, for the last dimension first

    mode: "constant" (value, 0 if None), "reflect", "replicate" or "circular". Negative counts cut elements off.
    """
    pad = tuple(pad)
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) // 2 > input.dim():
        raise RuntimeError("Padding length should be less than or equal to two times the input dimension but got padding length "
                           f"{len(pad)} and input of dimension {input.dim()}")
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if mode != "constant" and value is not None and value != 0:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    result = input
    for i in range(len(pad) // 2):
        before, after, dim = pad[2 * i], pad[2 * i + 1], input.dim() - 1 - i
        if mode == "constant":
            result = _pad_line(result, dim, before, after, 0 if value is None else value)
            continue
        n = input.shape[dim]
        if mode == "reflect" and max(before, after) >= n:
            raise RuntimeError("Argument #4: Padding size should be less than the corresponding input dimension, but got: "
                               f"padding ({before}, {after}) at dimension {dim} of input {list(input.shape)}")
        if mode == "circular" and max(before, after) > n:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if mode == "circular" and n + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        result = result.index_select(dim, _places(mode, n, before, after, input.device))
    return result.clone() if mode == "constant" and max(pad, default=0) <= 0 else result
