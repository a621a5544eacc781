"""Losses by margins and likelihoods: what functional.py has of them."""

import warnings

from tenon import _C
from tenon._C import _nn

_pairwise_distance = _nn.pairwise_distance


def legacy_reduction(size_average, reduce):
    """The reduction that the two older arguments name."""
    average = size_average is None or size_average
    reduction = "none" if not (reduce is None or reduce) else "mean" if average else "sum"
    warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
                  stacklevel=3)
    return reduction


def _judged(loss, reduction, sentence="{} is not valid"):
    """loss(reduction) of a function that looks at the reduction last."""
    known = reduction in ("mean", "sum", "none")
    value = loss(reduction if known else "none")
    if not known:
        raise ValueError(sentence.format(reduction))
    return value


# ---- margins ----


def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """max(0, margin - target * (input1 - input2)), the target being 1 or -1"""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    if reduction in ("mean", "sum", "none") and not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
                           f"{input1.size()}, input2: {input2.size()}, target: {target.size()} ")
    return _nn.margin_ranking_loss(input1, input2, target, margin, reduction)


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """input where the target is 1, max(0, margin - input) where it is -1"""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    return _nn.hinge_embedding_loss(input, target, margin, reduction)


def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """1 - cosine where the target is 1, max(0, cosine - margin) where it is -1"""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    return _nn.cosine_embedding_loss(input1, input2, target, margin, reduction)


def _positive(margin):
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None,
                        reduction="mean"):
    """max(0, margin + distance(anchor, positive) - distance(anchor, negative))

    swap   the negative's distance is the lesser of those from the anchor and from the positive
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    if reduction in ("mean", "sum", "none"):
        _positive(margin)
    return _nn.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction)


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False,
                                      reduction="mean"):
    """triplet_margin_loss with a distance of your own: distance_function(a, b), pairwise_distance unless said"""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    _positive(margin)
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of dimensions, "
                           f"but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs")
    distance = _pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _C.minimum(far, distance(positive, negative))
    loss = _C.clamp_min(margin + near - far, 0)
    return loss.sum() if reduction == "sum" else loss.mean() if reduction == "mean" else loss


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Mean over classes j but the target t of weight[t] * max(0, margin - input[t] + input[j])^p"""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    if reduction in ("mean", "sum", "none"):
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError("weight must be one-dimensional")
    return _nn.multi_margin_loss(input, target, p, margin, weight, reduction)


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """Sum over targets t and other classes j of max(0, 1 - input[t] + input[j]), by the number of classes

    target   int64, of input's shape: classes, up to the first -1
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    return _nn.multilabel_margin_loss(input, target, reduction)


# ---- likelihoods ----


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target * input)), the target being 1 or -1"""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    return _nn.soft_margin_loss(input, target, reduction)


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Mean over classes (the last dimension) of the binary cross entropy of sigmoid(input)"""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    return _judged(lambda known: _nn.multilabel_soft_margin_loss(input, target, weight, known), reduction)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """(log(var) + (input - target)^2 / var) / 2, var not being taken as less than eps

    var    a tensor, of input's shape, of that without the last dimension, or broadcasting to it; or a float
    full   with the constant log(2 pi) / 2
    """
    return _judged(lambda known: _nn.gaussian_nll_loss(input, target, var, full, eps, known), reduction)


def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    """exp(input) - target * input or, without log_input, input - target * log(input + eps)

    full   with Stirling's approximation of log(target!)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    return _nn.poisson_nll_loss(input, target, log_input, full, eps, reduction)
