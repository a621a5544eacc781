"""Derivatives checked against differences."""

import itertools

from tenon import _C


class GradcheckError(RuntimeError):
    """A derivative that does not agree with the differences."""


def _tensors(values):
    values = (values,) if isinstance(values, _C.Tensor) else tuple(values)
    return tuple(v for v in values if isinstance(v, _C.Tensor))


def _numerical(f, inputs, which, output, eps):
    """d(output)/d(inputs[which]) by central differences: a list of columns, one for each element of the input."""
    x = inputs[which].data  # the input itself is moved: f may know it by another way than its argument

    def value():
        return _tensors(f(*inputs))[output].detach().clone()

    columns = []
    for index in itertools.product(*map(range, x.shape)):
        was = x[index].item()
        try:
            x[index] = was + eps
            high = value()
            x[index] = was - eps
            low = value()
        finally:
            x[index] = was
        columns.append(((high - low) / (2 * eps)).reshape(-1))
    return columns


def _analytical(outputs, inputs, which, output):
    from . import grad

    out, x = outputs[output], inputs[which]
    rows = []
    for index in itertools.product(*map(range, out.shape)):
        seed = _C.zeros_like(out)
        seed[index] = 1
        (g,) = grad(out, (x,), seed, retain_graph=True, allow_unused=True)
        rows.append(_C.zeros_like(x).reshape(-1) if g is None else g.reshape(-1))
    return rows


def _compare(f, inputs, outputs, which, output, eps, atol, rtol):
    numerical = _numerical(f, inputs, which, output, eps)
    rows = _analytical(outputs, inputs, which, output)
    for i, column in enumerate(numerical):
        for k, row in enumerate(rows):
            a, n = row[i].item(), column[k].item()
            if not abs(a - n) <= atol + rtol * abs(n):
                raise GradcheckError(
                    f"Jacobian mismatch for output {output} with respect to input {which},\nnumerical:{n}\nanalytical:{a}\n"
                    f"(element {k} of the output, element {i} of the input)\n"
                )


def _compare_with_nothing(f, inputs, outputs, which, eps):
    """Outputs without a history must not depend on the inputs."""
    for output in range(len(outputs)):
        if any((column != 0).any().item() for column in _numerical(f, inputs, which, output, eps)):
            raise GradcheckError("Numerical gradient for function expected to be zero")


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, check_undefined_grad=True, **ignored):
    """Compares the gradients of func, for inputs in float64 that require grad, with central differences.

    True where |analytical - numerical| <= atol + rtol * |numerical| everywhere; otherwise GradcheckError, or False where
    raise_exception is off. The other options of PyTorch's gradcheck are taken and change nothing.
    """
    inputs = (inputs,) if isinstance(inputs, _C.Tensor) else tuple(inputs)
    checked = [i for i, x in enumerate(inputs) if isinstance(x, _C.Tensor) and x.requires_grad]
    if not checked:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.")
    try:
        outputs = _tensors(func(*inputs))
        differentiable = [i for i, out in enumerate(outputs) if out.requires_grad]
        for which in checked:
            if not differentiable:
                _compare_with_nothing(func, inputs, outputs, which, eps)
            for output in differentiable:
                _compare(func, inputs, outputs, which, output, eps, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, **ignored):
    """gradcheck of the gradients of func."""
    from . import grad

    inputs = (inputs,) if isinstance(inputs, _C.Tensor) else tuple(inputs)
    outputs = _tensors(func(*inputs))
    if grad_outputs is None:
        seeds = tuple(_C.ones_like(o).requires_grad_() for o in outputs)
    else:
        seeds = _tensors(grad_outputs)

    def first(*args):
        xs, gs = args[: len(inputs)], args[len(inputs) :]
        wanted = tuple(x for x in xs if isinstance(x, _C.Tensor) and x.requires_grad)
        return grad(_tensors(func(*xs)), wanted, gs, create_graph=True, allow_unused=True)

    return gradcheck(first, inputs + seeds, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)
