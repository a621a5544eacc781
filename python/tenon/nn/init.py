"""Initial values. Each function writes into its tensor, with recording off, and returns it."""

import warnings

from tenon import _C, _missing
from tenon.autograd import no_grad

__all__ = ["calculate_gain", "uniform_", "normal_", "trunc_normal_", "constant_", "ones_", "zeros_", "eye_",
           "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_"]

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


def _is_empty(tensor):
    if 0 not in tensor.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return True


__getattr__ = _missing.getattr_of(__name__)
