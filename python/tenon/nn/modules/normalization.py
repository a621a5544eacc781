"""Layers that normalise."""

import numbers

from tenon import _C

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["BatchNorm1d", "LayerNorm"]


class LayerNorm(Module):
    """functional.layer_norm with a trained weight and bias, unless elementwise_affine (or bias) is False."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        new = lambda: Parameter(_C.empty(self.normalized_shape, device=device, dtype=dtype))
        self.register_parameter("weight", new() if elementwise_affine else None)
        self.register_parameter("bias", new() if elementwise_affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"


class BatchNorm1d(Module):
    """functional.batch_norm of (N, C) or (N, C, L), with running statistics and, if affine, a trained weight and bias."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, bias=True):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        new = lambda: _C.empty(num_features, device=device, dtype=dtype)
        self.register_parameter("weight", Parameter(new()) if affine else None)
        self.register_parameter("bias", Parameter(new()) if affine and bias else None)
        self.register_buffer("running_mean", new() if track_running_stats else None)
        self.register_buffer("running_var", new() if track_running_stats else None)
        steps = _C.tensor(0, dtype=_C.int64, device=device) if track_running_stats else None
        self.register_buffer("num_batches_tracked", steps)
        self.reset_parameters()

    def reset_running_stats(self):
        """Mean 0, variance 1, no batch seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            init.ones_(self.running_var)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Weight 1, bias 0, running statistics as at the start."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input):
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")
        momentum = 0.0 if self.momentum is None else self.momentum
        tracked = self.running_mean is not None
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the plain mean of all batches
                momentum = 1.0 / self.num_batches_tracked.item()
        kept = not self.training or self.track_running_stats
        return F.batch_norm(input, self.running_mean if kept else None, self.running_var if kept else None, self.weight, self.bias,
                            self.training or not tracked, momentum, self.eps)

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, bias={self.bias is not None}, "
                f"track_running_stats={self.track_running_stats}")
