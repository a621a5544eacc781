"""Functions of layers and losses: what `import tenon.nn.functional as F` gives.

They are the extension's own functions, which call the library's; what is written here takes older arguments and forms of
calls that PyTorch's functions of the same name take.
"""

import warnings

from tenon import _C
from tenon._C import _nn, relu as _relu
from tenon.functional import broadcast_shapes as _broadcast_shapes

from .._written import kind as _kind, signature as _signature
from ._norms import batch_norm, layer_norm, pad

linear, one_hot = _nn.linear, _nn.one_hot
gelu, softplus, logsigmoid, prelu = _nn.gelu, _nn.softplus, _nn.logsigmoid, _nn.prelu
hardshrink, softshrink = _nn.hardshrink, _nn.softshrink
pairwise_distance, cosine_similarity = _nn.pairwise_distance, _nn.cosine_similarity
_hardtanh = _nn.hardtanh
_cross_entropy = _nn.cross_entropy
_nll_loss = _nn.nll_loss
_mse_loss = _nn.mse_loss
_l1_loss = _nn.l1_loss
_bce_with_logits = _nn.binary_cross_entropy_with_logits
_binary_cross_entropy = _nn.binary_cross_entropy
_smooth_l1_loss = _nn.smooth_l1_loss
_huber_loss = _nn.huber_loss
_kl_div = _nn.kl_div
_dropout = _nn.dropout
_embedding = _nn.embedding

_arguments = lambda text: _C._signature(text)[0]  # raises for arguments that do not fit
_embedding_arguments = _arguments("embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False)")
_renorm_arguments = _arguments("embedding_renorm_(Tensor input, Tensor indices, float max_norm, float norm_type)")

# ---- activations ----


def _or_into(inplace, function, input, *args):
    """function(input, *args); in place, of a copy, so that nothing that is kept for backward is written over."""
    return input.copy_(function(input.clone(), *args)) if inplace else function(input, *args)


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


def _threshold(input, threshold, value, inplace=False):
    """input where it is above threshold, else value"""
    return _or_into(inplace, _nn.threshold, input, threshold, value)


threshold = _threshold  # as in PyTorch, a name that its parameter has not


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """input limited to min_val .. max_val; no gradient at the ends"""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _or_into(inplace, _hardtanh, input, min_val, max_val)


def relu6(input, inplace=False):
    """input limited to 0 .. 6"""
    return hardtanh(input, 0.0, 6.0, inplace)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """input, multiplied by negative_slope where it is negative"""
    return _or_into(inplace, _nn.leaky_relu, input, negative_slope)


def elu(input, alpha=1.0, inplace=False):
    """input, and alpha * (exp(input) - 1) where it is not positive"""
    return _or_into(inplace, _nn.elu, input, alpha)


def celu(input, alpha=1.0, inplace=False):
    """input, and alpha * (exp(input / alpha) - 1) where it is not positive"""
    return _or_into(inplace, _nn.celu, input, alpha)


def selu(input, inplace=False):
    """elu scaled so that mean and variance of activations stay (Klambauer et al. 2017)"""
    return _or_into(inplace, _nn.selu, input)


def silu(input, inplace=False):
    """input * sigmoid(input)"""
    return _or_into(inplace, _nn.silu, input)


def mish(input, inplace=False):
    """input * tanh(softplus(input))"""
    return _or_into(inplace, _nn.mish, input)


def softsign(input):
    """input / (1 + |input|)"""
    return _nn.softsign(input)


def tanhshrink(input):
    """input - tanh(input)"""
    return _nn.tanhshrink(input)


def hardsigmoid(input, inplace=False):
    """0 up to -3, 1 from 3 on, a straight line between"""
    return _or_into(inplace, _nn.hardsigmoid, input)


def hardswish(input, inplace=False):
    """input * hardsigmoid(input)"""
    return _or_into(inplace, _nn.hardswish, input)


def glu(input, dim=-1):
    """One half of input times the sigmoid of the other"""
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _nn.glu(input, dim)


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
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    return _nn.normalize(input, None if isinstance(p, str) else p, dim, eps, p == "nuc")


# ---- losses ----


def legacy_reduction(size_average, reduce):
    """The reduction that the two older arguments name."""
    average = size_average is None or size_average
    reduction = "none" if not (reduce is None or reduce) else "mean" if average else "sum"
    warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
                  stacklevel=3)
    return reduction


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
        return _weighted(_nn.weighted_mse_loss, reduction, input, target, weight)
    return _mse_loss(input, target, reduction=reduction)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """|input - target|"""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    if target.size() != input.size():
        _warn_sizes(input, target)
    if weight is not None:
        return _weighted(_nn.weighted_l1_loss, reduction, input, target, weight)
    return _l1_loss(input, target, reduction=reduction)


def _weighted(function, reduction, *args, **kw):
    """A weighted loss; how it is reduced is judged after its operands."""
    known = reduction in ("mean", "sum", "none")
    loss = function(*args, reduction=reduction if known else "none", **kw)
    if not known:
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    return loss


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
    return _weighted(_nn.weighted_huber_loss, reduction, input, target, weight, delta=delta)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target * (log(target) - input), input being logarithms; with log_target, target being logarithms too"""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    if reduction == "batchmean":
        return _nn._kl_div_batchmean(input, target, log_target=log_target)
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
    return _binary_cross_entropy(input, target, weight, reduction)
