"""Initial values. Each function writes into its tensor, with recording off, and returns it."""

import functools
import math
import warnings

from tenon import _C, _missing
from tenon.autograd import no_grad

__all__ = ["calculate_gain", "uniform_", "normal_", "trunc_normal_", "constant_", "ones_", "zeros_", "eye_", "dirac_",
           "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "orthogonal_", "sparse_", "uniform", "normal",
           "constant", "eye", "dirac", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal", "orthogonal", "sparse"]

_ONE = {"linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid"}


def calculate_gain(nonlinearity, param=None):
    """The factor by which a layer before this nonlinearity should scale; param is the slope of leaky_relu."""
    if nonlinearity in _ONE:
        return 1
    if nonlinearity != "leaky_relu":
        return _C._gain(nonlinearity, 0.0)
    if param is None:
        param = 0.01
    elif isinstance(param, bool) or not isinstance(param, (int, float)):
        raise ValueError(f"negative_slope {param} not a valid number")
    return _C._gain(nonlinearity, param)


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Uniform in a .. b"""
    with no_grad():
        return tensor.uniform_(a, b, **_from(generator))


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normal, of this mean and standard deviation"""
    with no_grad():
        return tensor.normal_(mean, std, **_from(generator))


def _from(generator):
    return {} if generator is None else {"generator": generator}


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal, drawn again where outside a .. b"""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
                      "incorrect.", stacklevel=2)
    return _C._trunc_normal_(tensor, mean, std, a, b, generator)


def constant_(tensor, val):
    """val everywhere"""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    """1 everywhere"""
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """0 everywhere"""
    with no_grad():
        return tensor.zero_()


def eye_(tensor):
    """The identity matrix"""
    return _C._init_eye_(tensor)


def _calculate_fan_in_and_fan_out(tensor):
    return _C._fans(tensor)


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform in +-gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010)"""
    bound = _C._xavier_bound(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal, of standard deviation gain * sqrt(2 / (fan_in + fan_out))"""
    return normal_(tensor, 0.0, _C._xavier_std(tensor, gain), generator)


def _kaiming(of, tensor, a, mode, nonlinearity):
    gain, mode = calculate_gain(nonlinearity, a), mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return of(tensor, gain, mode == "fan_out")


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform in +-gain * sqrt(3 / fan) (He et al. 2015); a is the slope of leaky_relu"""
    if _is_empty(tensor):
        return tensor
    bound = _kaiming(_C._kaiming_bound, tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal, of standard deviation gain / sqrt(fan)"""
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming(_C._kaiming_std, tensor, a, mode, nonlinearity), generator)


def dirac_(tensor, groups=1):
    """Of a convolution's weight: 1 where it hands a channel on as it is, else 0; as many channels of each group as there are"""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups:
        raise ValueError("dim 0 must be divisible by groups")
    with no_grad():
        tensor.zero_()
        middle = tensor
        for size in tensor.shape[2:]:
            middle = middle.select(2, size // 2)
        for part in middle.chunk(groups):
            part.fill_diagonal_(1)
    return tensor


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal, of mean 0, but that share of each column 0"""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, **_from(generator))
        for column in range(columns):
            tensor[_C.randperm(rows)[:zeros], column] = 0
    return tensor


def _orthonormal_rows(x):
    """Rows that span what the first rows of x do, however many: Q of a decomposition x^T = Q R whose R has a positive diagonal. By
    Gram and Schmidt, twice, for once leaves what rounding made; 64 at a time, for those before are products of matrices."""
    x = x.to(_C.float64)
    for begin in range(0, x.size(0), 64):
        block, before = x[begin:begin + 64], x[:begin]
        for _ in range(2):
            block -= (block @ before.t()) @ before
        for i, row in enumerate(block):
            for _ in range(2):
                row -= (block[:i] @ row) @ block[:i]
            row /= row.norm()
    return x


def orthogonal_(tensor, gain=1, generator=None):
    """Orthogonal rows, or columns where there are fewer, of length gain (Saxe et al. 2013); dimensions behind the first are one"""
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.size(0), tensor.numel() // tensor.size(0)
    with no_grad():
        drawn = tensor.new_empty((rows, columns)).normal_(0, 1, **_from(generator))
        made = _orthonormal_rows(drawn if rows < columns else drawn.t().contiguous())
        made = made if rows < columns else made.t()
        return tensor.copy_((made * gain).reshape(tensor.shape))


def _is_empty(tensor):
    if 0 not in tensor.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return True


def _older(new):
    """What PyTorch called the function before its name said that it writes."""
    name = new.__name__[:-1]

    @functools.wraps(new)
    def older(*args, **kwargs):
        warnings.warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2)
        return new(*args, **kwargs)

    older.__name__, older.__doc__ = name, f"Deprecated: {name}_."
    return older


uniform, normal, constant, eye, dirac = map(_older, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal = map(_older, (xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_))
orthogonal, sparse = map(_older, (orthogonal_, sparse_))


__getattr__ = _missing.getattr_of(__name__)
