"""Layers that normalise."""

import numbers
import warnings

from tenon import _C

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "CrossMapLRN2d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
           "LayerNorm", "LocalResponseNorm", "RMSNorm", "SyncBatchNorm"]


class _Affine(Module):
    """What has a trained weight and bias, or None."""

    def reset_parameters(self):
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(_Affine):
    """functional.layer_norm with a trained weight and bias, unless elementwise_affine (or bias) is False."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        new = lambda: Parameter(_C.empty(self.normalized_shape, device=device, dtype=dtype))
        self.register_parameter("weight", new() if elementwise_affine else None)
        self.register_parameter("bias", new() if elementwise_affine and bias else None)
        self.reset_parameters()

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"


class RMSNorm(Module):
    """functional.rms_norm with a trained weight, unless elementwise_affine is False."""

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        weight = Parameter(_C.empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self):
        """Weight 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input):
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Affine):
    """functional.group_norm with a trained weight and bias, unless affine (or bias) is False."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        new = lambda: Parameter(_C.empty(num_channels, device=device, dtype=dtype))
        self.register_parameter("weight", new() if affine else None)
        self.register_parameter("bias", new() if affine and bias else None)
        self.reset_parameters()

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class LocalResponseNorm(Module):
    """functional.local_response_norm."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """(N, C, H, W) divided by (k + alpha / size * the sum of squares over size neighbouring channels)^beta, as Lua's Torch did it: an even
    size takes one channel less, and the square of the first channel counts for all that are far from it, too."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input):
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        channels, reach = input.size(1), (self.size - 1) // 2
        squares = input * input
        sums = squares.clone()
        for d in range(1, min(reach, channels - 1) + 1):
            sums[:, d:] += squares[:, :-d]
            sums[:, :-d] += squares[:, d:]
        sums[:, reach + 1:] += squares[:, :1]
        return input * (sums * (self.alpha / self.size) + self.k) ** -self.beta

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class _Channels(_Affine):
    """What layers have that normalise channel by channel: running statistics and, if affine, a trained weight and bias."""

    def __init__(self, num_features, eps, momentum, affine, track_running_stats, device, dtype, bias):
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
        super().reset_parameters()

    def _check_dim(self, input):
        if input.dim() not in self._dims:
            wanted = " or ".join(f"{d}D" for d in self._dims)
            raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, bias={self.bias is not None}, "
                f"track_running_stats={self.track_running_stats}")


class _Batches(_Channels):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input):
        self._check_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        tracked = self.running_mean is not None
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the plain mean of all batches
                momentum = 1.0 / self.num_batches_tracked.item()
        kept = not self.training or self.track_running_stats
        return F.batch_norm(input, self.running_mean if kept else None, self.running_var if kept else None, self.weight, self.bias,
                            self.training or not tracked, momentum, self.eps)


class BatchNorm1d(_Batches):
    """functional.batch_norm of (N, C) or (N, C, L), with running statistics and, if affine, a trained weight and bias."""

    _dims = (2, 3)


class BatchNorm2d(_Batches):
    """functional.batch_norm of (N, C, H, W), with running statistics and, if affine, a trained weight and bias."""

    _dims = (4,)


class BatchNorm3d(_Batches):
    """functional.batch_norm of (N, C, D, H, W), with running statistics and, if affine, a trained weight and bias."""

    _dims = (5,)


class SyncBatchNorm(_Batches):
    """functional.batch_norm of (N, C, ...). Processes that train together share its statistics in PyTorch; Tenon has one."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None, device=None,
                 dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)
        self.process_group = process_group

    def _check_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """The module, in which a SyncBatchNorm with the same parameters and statistics stands for each BatchNorm."""
        made = module
        if isinstance(module, _Batches):
            made = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group,
                       bias=module.bias is not None)
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                setattr(made, name, getattr(module, name))
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


class _Instances(_Channels):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None, *,
                 bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def _of_instances(self, input):
        return F.instance_norm(input, self.running_mean, self.running_var, self.weight, self.bias,
                               self.training or not self.track_running_stats, 0.0 if self.momentum is None else self.momentum, self.eps)

    def forward(self, input):
        self._check_dim(input)
        alone = input.dim() == self._dims[0]  # an instance without a batch
        dim = 0 if alone else 1
        if input.size(dim) != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={dim} to match num_features ({self.num_features}), but got: "
                                 f"{input.size(dim)}.")
            warnings.warn(f"input's size at dim={dim} does not match num_features. You can silence this warning by not passing in "
                          "num_features, which is not used because affine=False")
        return self._of_instances(input.unsqueeze(0)).squeeze(0) if alone else self._of_instances(input)


class InstanceNorm1d(_Instances):
    """functional.instance_norm of (N, C, L) or (C, L); running statistics and a trained weight and bias where they are asked for."""

    _dims = (2, 3)


class InstanceNorm2d(_Instances):
    """functional.instance_norm of (N, C, H, W) or (C, H, W); running statistics and a trained weight and bias where they are asked
    for."""

    _dims = (3, 4)


class InstanceNorm3d(_Instances):
    """functional.instance_norm of (N, C, D, H, W) or (C, D, H, W); running statistics and a trained weight and bias where they are
    asked for."""

    _dims = (4, 5)
