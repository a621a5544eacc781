"""Layers in evaluation with the batch normalisation behind them in their weights."""

import copy


from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _fused(weight, bias, mean, var, eps, scale, shift, shape):
    """weight and bias of a layer whose results, normalised, are scaled and shifted. shape: of one number an output, beside weight."""
    bias_dtype, wants = (weight.dtype, False) if bias is None else (bias.dtype, bias.requires_grad)
    factor = (var + eps).rsqrt()
    factor = factor if scale is None else factor * scale
    moved = (-mean if bias is None else bias - mean) * factor
    moved = moved if shift is None else moved + shift
    return (Parameter((weight * factor.reshape(shape)).to(weight.dtype), weight.requires_grad), Parameter(moved.to(bias_dtype), wants))


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """Weight and bias of a convolution (transposed, if transpose) with a batch normalisation in them."""
    rest = [1] * (conv_w.dim() - 2)
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [1, -1, *rest] if transpose else [-1, 1, *rest])


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """Weight and bias of a linear layer with a batch normalisation in them."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _copy_for(layer, bn):
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    return copy.deepcopy(layer)


def _numbers_of(bn):
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    return bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A copy of the convolution that does what both do, one after the other, in evaluation."""
    fused = _copy_for(conv, bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(fused.weight, fused.bias, *_numbers_of(bn), transpose)
    return fused


def fuse_linear_bn_eval(linear, bn):
    """A copy of the linear layer that does what both do, one after the other, in evaluation."""
    fused = _copy_for(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
                             f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}")
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, *_numbers_of(bn))
    return fused
