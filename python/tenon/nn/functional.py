"""Functions of layers and losses: what `import tenon.nn.functional as F` gives.

Those that are one operation of the library are the extension's own functions (linear, cross_entropy, ...). The others
are written here with operations of tensors; their gradients, also at the corners (0, the ends of a range, infinities), are
those of PyTorch's functions of the same name.
"""

import math
import warnings

from tenon import _C
from tenon._C import _nn, bool as _bool, float32 as _float32, relu as _relu
from tenon._C import _norm, promote_types as _promote_types, where as _where
from tenon._info import finfo
from tenon.functional import broadcast_shapes as _broadcast_shapes, broadcast_tensors as _broadcast_tensors

from .._written import kind as _kind, need_floating as _need_floating, refuse as _refuse, signature as _signature
from .._functions.arrange import _dim
from ._norms import _no_grad, batch_norm, layer_norm, pad

linear = _nn.linear
one_hot = _nn.one_hot
_cross_entropy = _nn.cross_entropy
_nll_loss = _nn.nll_loss
_mse_loss = _nn.mse_loss
_l1_loss = _nn.l1_loss
_bce_with_logits = _nn.binary_cross_entropy_with_logits
_binary_cross_entropy = _nn.binary_cross_entropy
_silu = _nn.silu
_elu = _nn.elu
_softplus = _nn.softplus
_leaky_relu = _nn.leaky_relu
_smooth_l1_loss = _nn.smooth_l1_loss
_huber_loss = _nn.huber_loss
_kl_div = _nn.kl_div
_dropout = _nn.dropout
_embedding = _nn.embedding

_arguments = lambda text: _C._signature(text)[0]  # raises for arguments that do not fit
_glu_arguments = _arguments("glu(Tensor input, int dim=-1)")
_celu_arguments = _arguments("celu(Tensor input, Number alpha=1.0)")
_threshold_arguments = _arguments("threshold(Tensor input, Number threshold, Number value)")
_embedding_arguments = _arguments("embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False)")
_renorm_arguments = _arguments("embedding_renorm_(Tensor input, Tensor indices, float max_norm, float norm_type)")

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


# ---- activations ----


def _in_place(function, input):
    """Writes function(input) into input. Works on a copy, so that nothing that is kept for backward is written over."""
    return input.copy_(function(input.clone()))


def relu(input, inplace=False):
    """max(input, 0)"""
    return input.relu_() if inplace else _relu(input)


def relu_(input):
    """relu, in place"""
    return input.relu_()


def tanh(input):
    """The hyperbolic tangent"""
    return input.tanh()


def sigmoid(input):
    """1 / (1 + exp(-input))"""
    return input.sigmoid()


def _log1p_exp(x):
    """log(1 + exp(x)) without overflow, of any floating dtype."""
    positive = x > 0
    rest = _where(positive, -x, x).exp().log1p()
    return _where(positive, x + rest, rest)


def _threshold(input, threshold, value, inplace=False):
    """input where it is above threshold, else value"""
    _threshold_arguments(input, threshold, value)
    if input.dtype is _bool:
        _refuse("threshold_*", input)
    value = input.new_full((), value)  # which input's dtype must have
    limit = input.new_full((), threshold)
    if inplace:
        return _in_place(lambda x: _where(x <= limit, value, x), input)
    return _where(input <= limit, value, input)


threshold = _threshold  # as in PyTorch, a name that its parameter has not


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """input limited to min_val .. max_val; no gradient at the ends"""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if input.is_floating_point() and max(abs(min_val), abs(max_val)) > 65504:  # what input's dtype cannot hold is refused
        input.new_full((), min_val), input.new_full((), max_val)
    if not input.is_floating_point():
        if input.dtype is _bool:
            raise NotImplementedError("Bool inputs not supported for hardtanh")
        if not (math.isfinite(min_val) and math.isfinite(max_val)):
            raise RuntimeError("value cannot be converted to type int64_t without overflow")
        return (input.clamp_ if inplace else input.clamp)(int(min_val), int(max_val))
    if inplace:
        return _in_place(lambda x: hardtanh(x, min_val, max_val), input)
    if min_val != min_val or max_val != max_val:
        return input + math.nan
    return _where(input <= min_val, min_val, _where(input >= max_val, max_val, input))


def relu6(input, inplace=False):
    """input limited to 0 .. 6"""
    return hardtanh(input, 0.0, 6.0, inplace)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """input, multiplied by negative_slope where it is negative"""
    if inplace:
        return _in_place(lambda x: leaky_relu(x, negative_slope), input)
    return _leaky_relu(input, negative_slope)


@_signature("prelu(Tensor input, Tensor weight)")
def prelu(input, weight):
    """leaky_relu whose slopes are trained: one for all, or one for each channel (dimension 1)"""
    n = weight.numel()
    if n != 1:
        channels = input.shape[1] if input.dim() > 1 else 1
        if input.dim() == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        if n != channels:
            raise RuntimeError(f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {n} and "
                               f"channel size = {channels}.")
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    if input.dtype != weight.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {_kind(input)} and {_kind(weight)}")
    _need_floating("prelu_*", input)
    if n != 1:
        weight = weight.reshape([1, n] + [1] * (input.dim() - 2))
    elif input.dim() == 0:
        weight = weight.reshape([])
    high = input > 0  # where input is not multiplied: the slopes of the product are nothing to it, be they infinite
    return _where(high, input, _where(high, 0.0, input) * weight)


def elu(input, alpha=1.0, inplace=False):
    """input, and alpha * (exp(input) - 1) where it is not positive"""
    if inplace:
        return _in_place(lambda x: elu(x, alpha), input)
    return _elu(input, alpha)


def celu(input, alpha=1.0, inplace=False):
    """input, and alpha * (exp(input / alpha) - 1) where it is not positive"""
    _celu_arguments(input, alpha)
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    _need_floating("elu_*", input)
    if inplace:
        return _in_place(lambda x: celu(x, alpha), input)
    low = input <= 0
    return _where(low, alpha * _where(low, input / alpha, 0.0).expm1(), input)


def selu(input, inplace=False):
    """elu scaled so that mean and variance of activations stay (Klambauer et al. 2017)"""
    if inplace:
        return _in_place(selu, input)
    return _SELU_SCALE * elu(input, _SELU_ALPHA)


@_signature("gelu(Tensor input, *, str approximate=none, Tensor? out@found=None)")
def gelu(input, *, approximate="none", out=None):
    """input times the normal distribution's cumulative probability at it; approximate="tanh": by tanh"""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    _need_floating("GeluKernelImpl", input)
    return _nn._gelu(input, approximate == "tanh")


def silu(input, inplace=False):
    """input * sigmoid(input)"""
    if inplace:
        return _in_place(silu, input)
    return _silu(input)


def mish(input, inplace=False):
    """input * tanh(softplus(input))"""
    _need_floating("mish_*", input)
    if inplace:
        return _in_place(mish, input)
    return input * tanh(_log1p_exp(input))


@_signature("softplus(Tensor input, Number beta=1, Number threshold=20, *, Tensor? out@found=None)", kernel="softplus_*")
def softplus(input, beta=1.0, threshold=20.0, *, out=None):
    """log(1 + exp(beta * input)) / beta; input itself where beta * input is above threshold"""
    return _softplus(input, beta, threshold)


@_signature("log_sigmoid(Tensor input, *, Tensor? out@found=None)", kernel="log_sigmoid_*")
def logsigmoid(input, *, out=None):
    """log(sigmoid(input)), exact where the sigmoid is 0 or 1 in its dtype"""
    return (0 - _log1p_exp(-input)).contiguous()


def softsign(input):
    """input / (1 + |input|)"""
    return input / (input.abs() + 1)


def tanhshrink(input):
    """input - tanh(input)"""
    return input - tanh(input)


def hardsigmoid(input, inplace=False):
    """0 up to -3, 1 from 3 on, a straight line between"""
    _need_floating("hardsigmoid_*", input)
    if inplace:
        return _in_place(hardsigmoid, input)
    return hardtanh(input + 3, 0.0, 6.0) / 6


def hardswish(input, inplace=False):
    """input * hardsigmoid(input)"""
    _need_floating("hardswish_*", input)
    if inplace:
        return _in_place(hardswish, input)
    return input * hardtanh(input + 3, 0.0, 6.0) / 6


@_signature("hardshrink(Tensor input, Number lambd=0.5, *, Tensor? out@found=None)", kernel="hardshrink_*")
def hardshrink(input, lambd=0.5, *, out=None):
    """0 where |input| <= lambd"""
    return _where(input.abs() <= lambd, 0.0, input)


@_signature("softshrink(Tensor input, Number lambd=0.5, *, Tensor? out@found=None)", kernel="softshrink_check")
def softshrink(input, lambd=0.5, *, out=None):
    """input moved by lambd towards 0, and 0 where it is nearer than that"""
    if not 0 <= lambd <= finfo(input.dtype).max:
        raise RuntimeError(f"lambda must be in range [0, {finfo(input.dtype).max:g}] for input dtype {_kind(input)}, but found {lambd:g}")
    return _where(input > lambd, input - lambd, _where(input < -lambd, input + lambd, input * 0))


def glu(input, dim=-1):
    """One half of input times the sigmoid of the other"""
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    _glu_arguments(input, dim)
    at = _dim(dim, input.dim())
    if input.shape[at] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {at} is size {input.shape[dim]}")
    _need_floating("glu_*", input)
    value, gate = input.chunk(2, dim)
    return value * sigmoid(gate)


def _implicit_dim(name, n_dims, stacklevel):
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
                  "argument.", stacklevel=stacklevel)
    return 0 if n_dims in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(input) / sum(exp(input)) along dim"""
    if dim is None:
        dim = _implicit_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax(-input)"""
    if dim is None:
        dim = _implicit_dim("softmin", input.dim(), _stacklevel)
    return softmax(-input, dim, dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """log(softmax(input)) along dim"""
    if dim is None:
        dim = _implicit_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


# ---- layers ----


def dropout(input, p=0.5, training=True, inplace=False):
    """In training: zeroes elements with probability p and multiplies the rest by 1 / (1 - p)"""
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training:
        return input
    if inplace and input.numel() and p:
        return input.copy_(_dropout(input, p, True))
    return _dropout(input, p, True)


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """Rows of weight that input, of integers, names. See nn.Embedding."""
    if sparse is True and weight.requires_grad and weight.dim() == 2:  # it is about the gradient alone
        raise NotImplementedError("embedding: sparse gradients are not in Tenon")
    if padding_idx is not None and padding_idx != 0:
        n = weight.size(0)
        if padding_idx >= n or padding_idx < -n:
            raise AssertionError("Padding_idx must be within num_embeddings")
        if padding_idx < 0:
            padding_idx += n
    if max_norm is not None:
        _renorm_arguments(weight, input, max_norm, norm_type)
        if weight.dim() != 2:
            raise RuntimeError(f"Expected 2-dimensional tensor, but got {weight.dim()}-dimensional tensor for argument #1 'self' (while "
                               "checking arguments for embedding_renorm_)")
        if not weight.is_floating_point() and input.numel():
            raise NotImplementedError(f"norm(): input dtype should be either floating point or complex. Got {_kind(weight)} instead.")
    _embedding_arguments(weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq, sparse)
    if max_norm is None:
        return _embedding(input, weight, padding_idx, scale_grad_by_freq=scale_grad_by_freq)
    return _embedding(input, weight, padding_idx, max_norm or 5e-324, norm_type, scale_grad_by_freq)  # 0 would be none


@_signature("normalize(Tensor input, object p=2.0, object? dim=1, float eps=1e-12, *, Tensor? out@cast=None)")
def normalize(input, p=2.0, dim=1, eps=1e-12, *, out=None):
    """input divided by its p-norms along dim, none of them taken as less than eps"""
    return input / input.norm(p, dim, True).clamp(min=eps)


# ---- losses ----


def legacy_reduction(size_average, reduce):
    """The reduction that the two older arguments name."""
    average = size_average is None or size_average
    reduction = "none" if not (reduce is None or reduce) else "mean" if average else "sum"
    warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
                  stacklevel=3)
    return reduction


def _reduced(loss, reduction):
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


def _known(reduction, *more):
    """A reduction that there is, or PyTorch's error."""
    if reduction not in ("mean", "sum", "none", *more):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """-input at the target's class, input being logarithms of probabilities (N, C, ...)"""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    return _nll_loss(input, target, weight, reduction, ignore_index)


def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    """nll_loss of log_softmax(input), the target being classes, or probabilities of input's shape"""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    return _cross_entropy(input, target, weight, reduction, ignore_index, label_smoothing)


def _warn_sizes(input, target):
    warnings.warn(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
                  "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
                  stacklevel=3)


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """(input - target)^2"""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    if target.size() != input.size():
        _warn_sizes(input, target)
    if weight is not None:
        _check_weight(input, weight)
        return _weighted((input - target).square(), weight, reduction)
    return _mse_loss(input, target, reduction=reduction)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """|input - target|"""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    if target.size() != input.size():
        _warn_sizes(input, target)
    if weight is not None:
        _check_weight(input, weight)
        return _weighted((input - target).abs(), weight, reduction)
    return _l1_loss(input, target, reduction=reduction)


def _check_weight(input, weight):
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")


def _weighted(loss, weight, reduction):
    """Weighted elements; their mean is that of the weights, too."""
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == "mean" else _reduced(loss, reduction)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """(input - target)^2 / (2 beta) where the difference is below beta, |input - target| - beta / 2 elsewhere"""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    if target.size() != input.size():
        _warn_sizes(input, target)
    if beta == 0.0:
        return _l1_loss(input, target, reduction=reduction)
    return _smooth_l1_loss(input, target, reduction, beta)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """(input - target)^2 / 2 where the difference is at most delta, delta * (|input - target| - delta / 2) elsewhere"""
    if target.size() != input.size():
        _warn_sizes(input, target)
    if weight is None:
        return _huber_loss(input, target, reduction, delta)
    _check_weight(input, weight)
    loss = _huber_loss(input, target, "none", delta)
    return _reduced(loss * weight, reduction)  # the mean stays one over the elements, unlike mse_loss's


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target * (log(target) - input), input being logarithms; with log_target, target being logarithms too"""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    if reduction == "batchmean":
        loss = _kl_div(input, target, "sum", log_target=log_target)
        return loss / input.shape[0] if input.dim() else loss
    if reduction == "mean":
        warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support size."
                      "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
                      "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
                      stacklevel=2)
    return _kl_div(input, target, reduction, log_target=log_target)


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean",
                                     pos_weight=None):
    """Binary cross entropy of sigmoid(input), without computing it"""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    _known(reduction)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return _bce_with_logits(input, target, weight=weight, pos_weight=pos_weight, reduction=reduction)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """-(target * log(input) + (1 - target) * log(1 - input)), no logarithm being taken as less than -100"""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    _known(reduction)
    if target.size() != input.size():
        raise ValueError(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
                         "deprecated. Please ensure they have the same size.")
    if weight is not None and weight.size() != target.size():
        weight = weight.expand(_broadcast_shapes(target.size(), weight.size()))
    if target.dtype != input.dtype:
        raise RuntimeError(f"Found dtype {_kind(target)} but expected {_kind(input)}")
    _need_floating("binary_cross_entropy", input)
    if ((input < 0) | (input > 1)).any():
        raise RuntimeError("all elements of input should be between 0 and 1")
    return _binary_cross_entropy(input, target, weight, reduction)


@_signature("pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False)")
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of x1 - x2 + eps along the last dimension"""
    difference = x1 - x2 + float(eps)
    return _norm(difference if difference.is_floating_point() else difference / 1, p, -1, keepdim)


@_signature("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08)")
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between x1 and x2, broadcast, along dim, their norms not taken as less than eps"""
    dtype, eps = _promote_types(x1.dtype, x2.dtype), float(eps)
    if eps < 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    if not dtype.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {_kind(dtype)}")
    x1, x2 = _broadcast_tensors(*(x if x.is_floating_point() else x.to(dtype) for x in (x1, x2)))
    norms = [_norm(x, 2, dim, True) for x in (x1, x2)]
    with _no_grad():  # the norm's slope counts below eps too: its value alone is raised
        lifted = [_where(n < eps, eps - n, 0.0) for n in norms]
    n1, n2 = (n + up for n, up in zip(norms, lifted))
    return ((x1 / n1) * (x2 / n2)).sum(dim)
