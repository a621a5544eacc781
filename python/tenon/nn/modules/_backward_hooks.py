"""Backward hooks of modules.

The tensors that enter a module, and those that leave it, pass one identity node each. The node behind the outputs sees
the gradients that come in; the one before the inputs, all that go out, and nothing of what other users of the same
tensors send them.
"""

import warnings

from tenon._C import Tensor
from tenon.autograd import Function


class BackwardHookFunction(Function):
    """Its inputs unchanged; on the way back the gradients pass through `see`, which may exchange them."""

    @staticmethod
    def forward(ctx, see, *tensors):
        ctx.see = see
        ctx.set_materialize_grads(False)
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx, *gradients):
        return (None,) + tuple(ctx.see(gradients))


class Boundary:
    """One call of a module that has backward hooks."""

    def __init__(self, module, pre_hooks, hooks):
        self.module = module
        self.pre_hooks = pre_hooks
        self.hooks = hooks
        self.grad_outputs = None
        self.n_inputs = 0
        self.input_places = ()
        self.n_outputs = 0
        self.output_places = ()

    def inputs(self, args):
        self.n_inputs = len(args)
        args, self.input_places = self._through(args, self._leave)
        return args

    def outputs(self, result):
        single = not isinstance(result, tuple)
        if single and not isinstance(result, Tensor):
            warnings.warn("For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                          f"received {type(result)}", stacklevel=2)
        values = (result,) if single else result
        self.n_outputs = len(values)
        values, self.output_places = self._through(values, self._enter)
        return values[0] if single else values

    @staticmethod
    def _through(values, see):
        places = tuple(i for i, v in enumerate(values) if getattr(v, "requires_grad", False))
        if not places:
            return values, places
        passed = BackwardHookFunction.apply(see, *(values[i] for i in places))
        if not isinstance(passed, tuple):
            passed = (passed,)
        kind, values = type(values), list(values)
        for place, value in zip(places, passed):
            values[place] = value
        return tuple(values) if kind is tuple else kind(*values), places  # others than tuple itself are named ones

    def _enter(self, gradients):
        grads = _spread(gradients, self.output_places, self.n_outputs)
        for hook in self.pre_hooks:
            changed = hook(self.module, grads)
            if changed is not None:
                grads = _tuple_of(changed, len(grads), "grad_output")
        self.grad_outputs = grads
        if not self.input_places:
            if self.hooks:
                warnings.warn("Full backward hook is firing when gradients are computed with respect to module outputs "
                              "since no inputs require gradients.", stacklevel=3)
            for hook in self.hooks:
                changed = hook(self.module, (None,) * self.n_inputs, grads)
                if changed is not None and not (isinstance(changed, tuple) and all(c is None for c in changed)):
                    raise RuntimeError("Backward hook for Modules where no input requires gradient should always "
                                       "return None or None for all gradients.")
        return tuple(grads[i] for i in self.output_places)

    def _leave(self, gradients):
        if self.grad_outputs is None:  # they came round the outputs, as in the second of two derivatives
            return gradients
        grads = _spread(gradients, self.input_places, self.n_inputs)
        for hook in self.hooks:
            changed = hook(self.module, grads, self.grad_outputs)
            if changed is not None:
                grads = _tuple_of(changed, len(grads), "grad_input")
        self.grad_outputs = None
        return tuple(grads[i] for i in self.input_places)


def _spread(gradients, places, n):
    grads = [None] * n
    for place, gradient in zip(places, gradients):
        grads[place] = gradient
    return tuple(grads)


def _tuple_of(changed, n, what):
    changed = changed if isinstance(changed, tuple) else (changed,)
    if len(changed) != n:
        raise RuntimeError(f"Backward hook returned an invalid number of {what}, got {len(changed)}, but expected {n}")
    return changed
