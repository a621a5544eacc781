"""Activations: the functions of functional.py as modules."""

from tenon import _C
from tenon._C import log_softmax, relu, sigmoid, softmax, tanh

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["ReLU", "ReLU6", "RReLU", "Sigmoid", "Tanh", "Softmax", "Softmax2d", "LogSoftmax", "Softmin", "LeakyReLU", "PReLU", "ELU",
           "CELU", "SELU", "GELU", "SiLU", "Mish", "Softplus", "Softsign", "Tanhshrink", "Threshold", "Hardtanh", "Hardsigmoid",
           "Hardswish", "LogSigmoid", "GLU", "Hardshrink", "Softshrink"]


class _WithInplace(Module):
    """An activation that has inplace= and nothing else."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class ReLU(_WithInplace):
    """max(input, 0)"""

    def forward(self, input):
        return input.relu_() if self.inplace else relu(input)


class Sigmoid(Module):
    """1 / (1 + exp(-input))"""

    def forward(self, input):
        return sigmoid(input)


class Tanh(Module):
    """Hyperbolic tangent"""

    def forward(self, input):
        return tanh(input)


class SELU(_WithInplace):
    """functional.selu"""

    def forward(self, input):
        return F.selu(input, self.inplace)


class GELU(Module):
    """functional.gelu"""

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class SiLU(_WithInplace):
    """input * sigmoid(input)"""

    def forward(self, input):
        return F.silu(input, self.inplace)


class Mish(_WithInplace):
    """input * tanh(softplus(input))"""

    def forward(self, input):
        return F.mish(input, self.inplace)


class Hardsigmoid(_WithInplace):
    """functional.hardsigmoid"""

    def forward(self, input):
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self):
        return ""


class Hardswish(_WithInplace):
    """functional.hardswish"""

    def forward(self, input):
        return F.hardswish(input, self.inplace)

    def extra_repr(self):
        return ""


class Softsign(Module):
    """input / (1 + |input|)"""

    def forward(self, input):
        return F.softsign(input)


class Tanhshrink(Module):
    """input - tanh(input)"""

    def forward(self, input):
        return F.tanhshrink(input)


class LogSigmoid(Module):
    """log(sigmoid(input))"""

    def forward(self, input):
        return F.logsigmoid(input)


class _AlongDim(Module):
    """An activation along one dimension."""

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def extra_repr(self):
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """exp(input) / sum(exp(input)) along dim"""

    def forward(self, input):
        dim = self.dim
        return softmax(input, dim) if dim is not None else F.softmax(input)


class LogSoftmax(_AlongDim):
    """log(softmax(input)) along dim"""

    def forward(self, input):
        dim = self.dim
        return log_softmax(input, dim) if dim is not None else F.log_softmax(input)


class Softmin(_AlongDim):
    """softmax(-input)"""

    def forward(self, input):
        return F.softmin(input, self.dim)


class Softmax2d(Module):
    """softmax over the channels of images [N, C, H, W] or [C, H, W]"""

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return softmax(input, -3)


class GLU(_AlongDim):
    """One half of input times the sigmoid of the other"""

    def __init__(self, dim=-1):
        super().__init__(dim)

    def forward(self, input):
        return F.glu(input, self.dim)


class LeakyReLU(Module):
    """input, multiplied by negative_slope where it is negative"""

    def __init__(self, negative_slope=0.01, inplace=False):
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self):
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class RReLU(Module):
    """input, where it is negative times slopes between lower and upper: in training random ones, else their mean"""

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """LeakyReLU whose slope, one for all or one for each channel, is trained"""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(_C.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """The slopes as they were at first."""
        init.constant_(self.weight, self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class ELU(Module):
    """input, and alpha * (exp(input) - 1) where it is not positive"""

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input):
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self):
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class CELU(ELU):
    """input, and alpha * (exp(input / alpha) - 1) where it is not positive"""

    def forward(self, input):
        return F.celu(input, self.alpha, self.inplace)


class Softplus(Module):
    """log(1 + exp(beta * input)) / beta"""

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self):
        return f"beta={self.beta}, threshold={self.threshold}"


class Threshold(Module):
    """input where it is above threshold, else value"""

    def __init__(self, threshold, value, inplace=False):
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self):
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class Hardtanh(Module):
    """input limited to min_val .. max_val"""

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False):
        super().__init__()
        if max_val <= min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    """input limited to 0 .. 6"""

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class Hardshrink(Module):
    """0 where |input| <= lambd"""

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        return F.hardshrink(input, self.lambd)

    def extra_repr(self):
        return f"{self.lambd}"


class Softshrink(Hardshrink):
    """input moved by lambd towards 0"""

    def forward(self, input):
        return F.softshrink(input, self.lambd)
