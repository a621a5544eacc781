"""Functions of layers and losses: what `import tenon.nn.functional as F` gives.

They are the extension's own functions, which call the library's; what is written here takes older arguments and forms of
calls that PyTorch's functions of the same name take.
"""

import warnings

from tenon import _C, _missing
from tenon._C import _nn, relu as _relu
from tenon._functions.in_place import celu_, rrelu_, selu_, threshold_
from tenon.functional import broadcast_shapes as _broadcast_shapes

from ._losses import (cosine_embedding_loss, gaussian_nll_loss, hinge_embedding_loss, legacy_reduction, margin_ranking_loss,
                      multi_margin_loss, multilabel_margin_loss, multilabel_soft_margin_loss, poisson_nll_loss,
                      soft_margin_loss, triplet_margin_loss, triplet_margin_with_distance_loss)
from ._noise import (alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout, gumbel_softmax, rrelu)
from ._norms import batch_norm, group_norm, instance_norm, layer_norm, local_response_norm, pad, rms_norm

bilinear, linear, one_hot, pdist = _nn.bilinear, _nn.linear, _nn.one_hot, _nn.pdist
conv1d, conv2d, conv3d, conv_tbc = _nn.conv1d, _nn.conv2d, _nn.conv3d, _nn.conv_tbc
conv_transpose1d, conv_transpose2d, conv_transpose3d = _nn.conv_transpose1d, _nn.conv_transpose2d, _nn.conv_transpose3d
pixel_shuffle, pixel_unshuffle = _nn.pixel_shuffle, _nn.pixel_unshuffle
channel_shuffle, native_channel_shuffle = _nn.channel_shuffle, _nn.native_channel_shuffle
gelu, softplus, logsigmoid, prelu = _nn.gelu, _nn.softplus, _nn.logsigmoid, _nn.prelu
hardshrink, softshrink = _nn.hardshrink, _nn.softshrink
pairwise_distance, cosine_similarity, normalize = _nn.pairwise_distance, _nn.cosine_similarity, _nn.normalize
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
_embedding = _nn.embedding

_arguments = lambda text: _C._signature(text)[0]  # raises for arguments that do not fit
_embedding_arguments = _arguments("embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False)")
_elu_arguments = _arguments("elu_(Tensor input, Number alpha=1, Number scale=1, Number input_scale=1)")
_hardtanh_arguments = _arguments("hardtanh_(Tensor input, Number min_val=-1, Number max_val=1)")
_leaky_arguments = _arguments("leaky_relu_(Tensor input, Number negative_slope=0.01)")
_renorm_arguments = _arguments("embedding_renorm_(Tensor input, Tensor indices, float max_norm, float norm_type)")


def _sentence(function):
    """Its documentation is the sentence of the row that it calls."""
    name = function.__name__.lstrip("_")
    function.__doc__ = (getattr(_nn, name, None) or getattr(_C, name)).__doc__.rpartition("\n\n")[2]
    return function


# ---- activations ----


def _in_place(function, input, *args):
    """function(input, *args) into input; of a copy where it is recorded, so that nothing kept for backward is written over."""
    recorded = input.requires_grad and _C.is_grad_enabled()
    return input.copy_(function(input.clone() if recorded else input, *args))


@_sentence
def relu(input, inplace=False):
    return input.relu_() if inplace else _relu(input)


def relu_(input):
    """relu, in place"""
    return input.relu_()


@_sentence
def tanh(input):
    return input.tanh()


@_sentence
def sigmoid(input):
    return input.sigmoid()


@_sentence
def _threshold(input, threshold, value, inplace=False):
    return _in_place(_nn.threshold, input, threshold, value) if inplace else _nn.threshold(input, threshold, value)


threshold = _threshold  # as in PyTorch, a name that its parameter has not


@_sentence
def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _in_place(_hardtanh, input, min_val, max_val) if inplace else _hardtanh(input, min_val, max_val)


def hardtanh_(input, min_val=-1.0, max_val=1.0):
    """hardtanh, in place; of bounds that are the wrong way round the upper one is what comes out"""
    _hardtanh_arguments(input, min_val, max_val)
    return _in_place(_hardtanh, input, min(min_val, max_val), max_val)


def relu6(input, inplace=False):
    """input limited to 0 .. 6"""
    return hardtanh(input, 0.0, 6.0, inplace)


@_sentence
def leaky_relu(input, negative_slope=0.01, inplace=False):
    return _in_place(_nn.leaky_relu, input, negative_slope) if inplace else _nn.leaky_relu(input, negative_slope)


def leaky_relu_(input, negative_slope=0.01):
    """leaky_relu, in place"""
    _leaky_arguments(input, negative_slope)
    return _in_place(_nn.leaky_relu, input, negative_slope)


@_sentence
def elu(input, alpha=1.0, inplace=False):
    return _in_place(_nn.elu, input, alpha) if inplace else _nn.elu(input, alpha)


def _scaled_elu(input, alpha, scale, input_scale):
    x = input.float() if input.itemsize == 2 else input
    below = _C.expm1(x * input_scale) * (alpha * scale)
    return _C.where(x < 0, below, x * scale).to(input.dtype)


def elu_(input, alpha=1.0, scale=1, input_scale=1):
    """elu, in place; scale multiplies the result, input_scale what is raised to a power"""
    _elu_arguments(input, alpha, scale, input_scale)
    if scale == 1 and input_scale == 1 or not input.is_floating_point():
        return _in_place(_nn.elu, input, alpha)
    return _in_place(_scaled_elu, input, alpha, scale, input_scale)


@_sentence
def celu(input, alpha=1.0, inplace=False):
    return _in_place(_nn.celu, input, alpha) if inplace else _nn.celu(input, alpha)


@_sentence
def selu(input, inplace=False):
    return _in_place(_nn.selu, input) if inplace else _nn.selu(input)


@_sentence
def silu(input, inplace=False):
    return _in_place(_nn.silu, input) if inplace else _nn.silu(input)


@_sentence
def mish(input, inplace=False):
    return _in_place(_nn.mish, input) if inplace else _nn.mish(input)


@_sentence
def softsign(input):
    return _nn.softsign(input)


@_sentence
def tanhshrink(input):
    return _nn.tanhshrink(input)


@_sentence
def hardsigmoid(input, inplace=False):
    return _in_place(_nn.hardsigmoid, input) if inplace else _nn.hardsigmoid(input)


@_sentence
def hardswish(input, inplace=False):
    return _in_place(_nn.hardswish, input) if inplace else _nn.hardswish(input)


@_sentence
def glu(input, dim=-1):
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _nn.glu(input, dim)


def _implicit_dim(name, n_dims, stacklevel):
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
                  "argument.", stacklevel=stacklevel)
    return 0 if n_dims in (0, 1, 3) else 1


@_sentence
def softmax(input, dim=None, _stacklevel=3, dtype=None):
    if dim is None:
        dim = _implicit_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax(-input)"""
    if dim is None:
        dim = _implicit_dim("softmin", input.dim(), _stacklevel)
    return softmax(-input, dim, dtype=dtype)


@_sentence
def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    if dim is None:
        dim = _implicit_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


# ---- layers ----


@_sentence
def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
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
        if type(scale_grad_by_freq) is not bool or type(sparse) is not bool:  # refused below: what it does to the weight comes first
            _embedding(input, weight.detach(), None, max_norm, norm_type)
    _embedding_arguments(weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq, sparse)
    if max_norm is None:
        return _embedding(input, weight, padding_idx, scale_grad_by_freq=scale_grad_by_freq)
    return _embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)


# ---- losses ----


def _known(reduction, *more):
    """A reduction that there is, or PyTorch's error."""
    if reduction not in ("mean", "sum", "none", *more):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


@_sentence
def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    return _nll_loss(input, target, weight, reduction, ignore_index)


@_sentence
def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    return _cross_entropy(input, target, weight, reduction, ignore_index, label_smoothing)


def _warn_sizes(input, target):
    warnings.warn(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will "
                  "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
                  stacklevel=3)


@_sentence
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    if target.size() != input.size():
        _warn_sizes(input, target)
    if weight is not None:
        return _weighted(_nn.weighted_mse_loss, reduction, input, target, weight)
    return _mse_loss(input, target, reduction=reduction)


@_sentence
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
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


@_sentence
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    if target.size() != input.size():
        _warn_sizes(input, target)
    return _smooth_l1_loss(input, target, reduction, beta)


@_sentence
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    if target.size() != input.size():
        _warn_sizes(input, target)
    if weight is None:
        return _huber_loss(input, target, reduction, delta)
    return _weighted(_nn.weighted_huber_loss, reduction, input, target, weight, delta=delta)


@_sentence
def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
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


@_sentence
def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean",
                                     pos_weight=None):
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    _known(reduction)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return _bce_with_logits(input, target, weight=weight, pos_weight=pos_weight, reduction=reduction)


@_sentence
def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    _known(reduction)
    if target.size() != input.size():
        raise ValueError(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
                         "deprecated. Please ensure they have the same size.")
    if weight is not None and weight.size() != target.size():
        weight = weight.expand(_broadcast_shapes(target.size(), weight.size()))
    return _binary_cross_entropy(input, target, weight, reduction)


__getattr__ = _missing.getattr_of(__name__)
