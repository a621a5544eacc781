"""Parameters as one vector, and back."""

from tenon import _C


def parameters_to_vector(parameters):
    """All elements of all parameters, one after the other."""
    parameters = list(parameters)
    _check_devices(parameters)
    return _C.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    """Makes the parameters show the elements of vec, one after the other."""
    if not isinstance(vec, _C.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {_name_of(vec)}")
    parameters = list(parameters)
    _check_devices(parameters)
    start = 0
    for parameter in parameters:
        n = parameter.numel()
        parameter.data = vec[start:start + n].view_as(parameter).data
        start += n


def _name_of(x):
    from ..modules.module import typename

    return typename(x)


def _check_devices(parameters):
    if len({p.device for p in parameters}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
