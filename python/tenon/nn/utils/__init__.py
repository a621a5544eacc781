"""Gradient clipping, parameters as one vector, modules without initial values."""

from tenon import _missing

from .clip_grad import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .init import skip_init

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector",
           "skip_init", "vector_to_parameters"]


__getattr__ = _missing.getattr_of(__name__)
