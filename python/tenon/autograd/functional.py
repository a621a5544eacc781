"""Products with Jacobians and Hessians, and these themselves, of functions of tensors. Derivatives forwards are made of two backwards."""

from tenon import _C, _missing

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

_LINEAR = (
    "While computing the hessian, found that the {what} of the user-provided function with respect to input {i} is independent of the "
    "input. This is not allowed in strict mode. You should ensure that your function is {times} differentiable and that the {what} "
    "depends on the inputs (this would be violated by a {kind} function for example)."
)
# what strict says of a derivative that is none, by what was being computed
_NOTHING = {
    "back": "The output of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    "back_trick": "The gradient with respect to the input is independent of entry {i} in the grad_outputs when using the double backward "
    "trick to compute forward mode gradients. This is not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. This is not allowed in "
    "strict mode as it prevents from using the double backward trick to replace forward mode AD.",
}


def _as_tuple(values, what, function):
    """(was it a tuple, the tuple)"""
    if isinstance(values, tuple):
        for i, value in enumerate(values):
            if not isinstance(value, _C.Tensor):
                raise TypeError(f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the value at index {i} has type "
                                f"{type(value)}.")
        return True, values
    if not isinstance(values, _C.Tensor):
        raise TypeError(f"The {what} given to {function} must be either a Tensor or a tuple of Tensors but the given {what} has type {type(values)}.")
    return False, (values,)


def _inputs(inputs, function, create_graph):
    """(was it a tuple, tensors that the function is called with): with the history of what was given where a graph is asked for."""
    was_tuple, inputs = _as_tuple(inputs, "inputs", function)
    return was_tuple, tuple(x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in inputs)


def _outputs(func, inputs, function, strict):
    was_tuple, outputs = _as_tuple(func(*inputs), "outputs of the user-provided function", function)
    for i, output in enumerate(outputs):
        if strict and not output.requires_grad:
            raise RuntimeError(f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
                               "differentiable manner from the input when running in strict mode.")
    return was_tuple, outputs


def _single(func, inputs, function, strict):
    """The one number that the function gives, in a tuple."""
    was_tuple, outputs = _outputs(func, inputs, function, strict)
    if was_tuple:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")
    return outputs


def _vector(v, like, was_tuple, function, of):
    """v for these tensors; of: what they are, where no v was given."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if {of} a single Tensor with a single element.")
        return (_C.ones_like(like[0]),)
    _, v = _as_tuple(v, "v", function)
    if len(v) != len(like):
        if was_tuple:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (one, other) in enumerate(zip(v, like)):
        if one.shape != other.shape:
            raise RuntimeError(f"{f'Entry {i} in ' if was_tuple else ''}v has invalid size: should be {other.shape} but got {one.shape}.")
    return tuple(one.detach() if not one.requires_grad else one for one in v)


_OF_INPUT = "the input to the user-provided function is"
_OF_OUTPUT = "the user-provided function returns"


def _grad(outputs, inputs, v=None, create_graph=False, retain_graph=None):
    """autograd.grad of those outputs that have a history: None for inputs that they do not depend on."""
    from . import grad

    pairs = [(o, None if v is None else v[i]) for i, o in enumerate(outputs) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    seeds = None if v is None else tuple(s for _, s in pairs)
    return grad(tuple(o for o, _ in pairs), inputs, seeds, create_graph=create_graph, retain_graph=retain_graph, allow_unused=True)


def _filled(gradients, like, strict, create_graph, stage):
    """Zeros in the place of None, which strict refuses."""
    made = []
    for i, (g, other) in enumerate(zip(gradients, like)):
        if strict and g is None:
            raise RuntimeError(_NOTHING[stage].format(i=i))
        if strict and create_graph and not g.requires_grad:
            what = "hessian" if "double" in stage else "jacobian"
            raise RuntimeError(f"The {what} of the user-provided function is independent of input {i}. This is not allowed in strict mode when "
                               "create_graph=True.")
        made.append(_C.zeros_like(other) if g is None else g)
    return tuple(made)


def _must_depend(gradients, strict, what, times, kind):
    for i, g in enumerate(gradients):
        if strict and g is None:
            raise RuntimeError(_NOTHING["back"].format(i=i))
        if strict and not g.requires_grad:
            raise RuntimeError(_LINEAR.format(what=what, i=i, times=times, kind=kind))


def _given(values, was_tuple, create_graph):
    """As the caller wants it."""
    values = values if create_graph else tuple(v.detach() for v in values)
    return values if was_tuple else values[0]


def _recording(on=True):
    from .grad_mode import set_grad_enabled

    return set_grad_enabled(on)


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, v times the Jacobian of func at inputs): one backward pass."""
    with _recording():
        many_inputs, inputs = _inputs(inputs, "vjp", create_graph)
        many_outputs, outputs = _outputs(func, inputs, "vjp", strict)
        v = _vector(v, outputs, many_outputs, "vjp", _OF_OUTPUT)
    with _recording(create_graph or _C.is_grad_enabled()):
        result = _filled(_grad(outputs, inputs, v, create_graph), inputs, strict, create_graph, "back")
    return _given(outputs, many_outputs, create_graph), _given(result, many_inputs, create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, the Jacobian of func at inputs times v): two backward passes."""
    with _recording():
        many_inputs, inputs = _inputs(inputs, "jvp", create_graph)
        v = _vector(v, inputs, many_inputs, "jvp", _OF_INPUT)
        many_outputs, outputs = _outputs(func, inputs, "jvp", strict)
        seeds = tuple(_C.zeros_like(o, requires_grad=True) for o in outputs)
        gradients = _grad(outputs, inputs, seeds, create_graph=True)
        if strict:
            _filled(gradients, inputs, strict, False, "back")
    with _recording(create_graph or _C.is_grad_enabled()):
        result = _filled(_grad(gradients, seeds, v, create_graph), outputs, strict, create_graph, "back_trick")
    return _given(outputs, many_outputs, create_graph), _given(result, many_outputs, create_graph)


def _rows(output, i, inputs, create_graph, strict):
    """The gradients of each element of an output: for each input, a row for each element."""
    rows = [[] for _ in inputs]
    for element in output.reshape(-1).unbind() if output.numel() else ():
        gradients = _grad((element,), inputs, create_graph=create_graph, retain_graph=True)
        for k, (g, x) in enumerate(zip(gradients, inputs)):
            if strict and g is None:
                raise RuntimeError(f"Output {i} of the user-provided function is independent of input {k}. This is not allowed in strict mode.")
            if strict and create_graph and not g.requires_grad:
                raise RuntimeError(f"The jacobian of the user-provided function is independent of input {k}. This is not allowed in strict mode "
                                   "when create_graph=True.")
            rows[k].append(_C.zeros_like(x) if g is None else g)
    return rows


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """d(output)/d(input) for each output and input, of shape output.shape + input.shape, by a backward pass for each element of the outputs.

    One tensor where func takes and gives one; tuples, of outputs outside and of inputs inside, where it has several. vectorize and
    strategy are taken, and change nothing of what is computed.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than inputs, '
                             '"forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".')
    if strategy == "forward-mode" and create_graph:
        raise NotImplementedError("torch.autograd.functional.jacobian: `create_graph=True` and `strategy=\"forward-mode\"` are not supported together "
                                  "(yet). Please either set `create_graph=False` or `strategy=\"reverse-mode\"`.")
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError("Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`.")
    if strict and vectorize:
        raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please either set "
                           "`strict=False` or `vectorize=False`.")
    with _recording():
        many_inputs, inputs = _inputs(inputs, "jacobian", create_graph)
        many_outputs, outputs = _outputs(func, inputs, "jacobian", strict)
        made = []
        for i, output in enumerate(outputs):
            rows = _rows(output, i, inputs, create_graph, strict)
            each = tuple(_C.stack(r).view(output.shape + x.shape) if r else _C.zeros(output.shape + x.shape, dtype=output.dtype, device=output.device)
                         for r, x in zip(rows, inputs))  # fmt: skip
            made.append(_given(each, many_inputs, create_graph))
    return tuple(made) if many_outputs else made[0]


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of a function that gives one number: for each pair of inputs, of the shapes of both."""
    many_inputs, inputs = _as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def number(*xs):
        return _single(func, xs, "hessian", strict)[0].squeeze()

    def first(*xs):
        if outer_jacobian_strategy == "forward-mode":
            xs = tuple(x.requires_grad_() if x.is_leaf else x for x in xs)
        result = jacobian(number, xs, create_graph=True)
        _must_depend(result, strict, "jacobian", "twice", "linear")
        return result

    made = jacobian(first, inputs, create_graph=create_graph, strict=strict, vectorize=vectorize, strategy=outer_jacobian_strategy)
    return made if many_inputs else made[0][0]


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, v times the Hessian of func at inputs), of a function that gives one number."""
    with _recording():
        many_inputs, inputs = _inputs(inputs, "vhp", create_graph)
        v = _vector(v, inputs, many_inputs, "vhp", _OF_INPUT)
        outputs = _single(func, inputs, "vhp", strict)
        first = _grad(outputs, inputs, create_graph=True)
        _must_depend(first, strict, "jacobian", "twice", "linear")
    with _recording(create_graph or _C.is_grad_enabled()):
        result = _filled(_grad(first, inputs, v, create_graph), inputs, strict, create_graph, "double_back")
    return _given(outputs, False, create_graph), _given(result, many_inputs, create_graph)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, the Hessian of func at inputs times v), of a function that gives one number. vhp gives the same for less."""
    with _recording():
        many_inputs, inputs = _inputs(inputs, "hvp", create_graph)
        v = _vector(v, inputs, many_inputs, "hvp", _OF_INPUT)
        outputs = _single(func, inputs, "hvp", strict)
        first = _grad(outputs, inputs, create_graph=True)
        _must_depend(first, strict, "jacobian", "twice", "linear")
        seeds = tuple(_C.zeros_like(x, requires_grad=True) for x in inputs)
        second = _grad(first, inputs, seeds, create_graph=True)
        _must_depend(second, strict, "hessian", "thrice", "quadratic")
    with _recording(create_graph or _C.is_grad_enabled()):
        result = _filled(_grad(second, seeds, v, create_graph), inputs, strict, create_graph, "double_back_trick")
    return _given(outputs, False, create_graph), _given(result, many_inputs, create_graph)


__getattr__ = _missing.getattr_of(__name__)
