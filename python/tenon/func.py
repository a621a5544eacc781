"""Modules as functions of their parameters: what Tenon has of torch.func."""

from collections.abc import Sequence

from tenon import _missing
from tenon.nn.utils.stateless import _functional_call

__all__ = ["functional_call"]


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """module(*args, **kwargs) with these parameters and buffers, {name: tensor} or several such, in the place of its own.

    tie_weights: what the module has under several names is replaced under all of them. strict: all must be given, and no others.
    """
    given = parameter_and_buffer_dicts
    if isinstance(given, Sequence):
        if not all(isinstance(d, dict) for d in given):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        keys = [k for d in given for k in d]
        repeated = list(dict.fromkeys(k for k in keys if keys.count(k) > 1))
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given = {k: v for d in given for k, v in d.items()}
    elif not isinstance(given, dict):
        raise ValueError(f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(given)}")
    return _functional_call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


__getattr__ = _missing.getattr_of(__name__)
