"""Gradients: what torch.autograd is to PyTorch."""

from _thread import _local

from tenon import _C, _missing

from . import anomaly_mode, function, functional, grad_mode, graph, profiler
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from .gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = [
    "Function",
    "GradcheckError",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]


class _VariableMeta(type):
    """Every tensor is a Variable, and calling the class makes a tensor."""

    def __instancecheck__(cls, other):
        return isinstance(other, _C.Tensor)

    def __call__(cls, data=None, requires_grad=False, volatile=False):
        if data is None:
            data = _C.empty(0)
        if not isinstance(data, _C.Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)


class Variable(metaclass=_VariableMeta):
    """PyTorch's name of the time when tensors had no gradients: Variable(data, requires_grad=False) shows data's memory."""


_pass = _local()  # .partial: does the pass on this thread end before the leaves?


def _as_tuple(tensors):
    return (tensors,) if isinstance(tensors, _C.Tensor) else tuple(tensors)


def _check_gradients(outputs, gradients):
    if gradients is None:
        return None
    gradients = (gradients,) if gradients is None or isinstance(gradients, _C.Tensor) else tuple(gradients)
    if len(gradients) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(gradients)} gradients")
    for i, (output, gradient) in enumerate(zip(outputs, gradients)):
        if gradient is not None and gradient.shape != output.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {gradient.shape} and output[{i}] has a shape of "
                f"{output.shape}."
            )
    return gradients


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Adds the gradients of the sum of tensors to the .grad of the leaves that they depend on.

    grad_tensors: what each tensor's gradient is taken to be (None: 1, for tensors of one element); inputs: only these
    leaves get their gradient; retain_graph: the graph can be walked again; create_graph: gradients can be
    differentiated.
    """
    tensors = _as_tuple(tensors)
    if inputs is not None and len(_as_tuple(inputs)) == 0:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    gradients = _check_gradients(tensors, grad_tensors if grad_tensors is not None else grad_variables)
    retain_graph = create_graph if retain_graph is None else retain_graph
    before, _pass.partial = getattr(_pass, "partial", False), inputs is not None
    try:
        _C._backward(tensors, gradients, retain_graph, create_graph, None if inputs is None else _as_tuple(inputs))
    finally:
        _pass.partial = before


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """The gradients of the sum of outputs with respect to inputs, as a tuple; .grad of the leaves stays as it is."""
    if is_grads_batched:
        raise NotImplementedError("grad(is_grads_batched=True): Tenon has no vmap; call grad once per row")
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    outputs, inputs = _as_tuple(outputs), _as_tuple(inputs)
    for x in inputs:
        if not isinstance(x, _C.Tensor):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(x).__name__}")
    retain_graph = create_graph if retain_graph is None else retain_graph
    gradients, before = _check_gradients(outputs, grad_outputs), getattr(_pass, "partial", False)
    _pass.partial = True
    try:
        result = _C._grad(outputs, inputs, gradients, retain_graph, create_graph, bool(allow_unused) or materialize_grads)
    finally:
        _pass.partial = before
    if materialize_grads:
        result = tuple(_C.zeros_like(i, requires_grad=create_graph) if g is None else g for g, i in zip(result, inputs))
    return result


__getattr__ = _missing.getattr_of(__name__)
