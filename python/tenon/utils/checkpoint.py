"""torch.utils.checkpoint: what a part of a net computed is not kept, but computed again in the backward pass.

Gradients of what the part uses besides its arguments reach .grad by .backward() alone: autograd.grad through a checkpoint, and
.backward(inputs=...), are errors. What else use_reentrant=False is in PyTorch holds.
"""

import contextlib
import warnings

from tenon import _C, _missing, random
from tenon.autograd import Function, _pass, backward, enable_grad

__all__ = ["CheckpointFunction", "checkpoint", "checkpoint_sequential", "noop_context_fn"]


def noop_context_fn():
    """Two contexts that change nothing: of the forward, and of its second time."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def _devices(args):
    """Indices of the GPUs of the arguments."""
    return sorted({a.device.index for a in args if isinstance(a, _C.Tensor) and a.is_cuda})


class _Numbers:
    """The states of the generators, and a context in which they are as they were."""

    def __init__(self, args):
        self.devices = _devices(args)
        self.cpu = _C.get_rng_state()
        self.gpus = [_C._generator_of(f"cuda:{d}").get_state() for d in self.devices]

    @contextlib.contextmanager
    def again(self):
        with random.fork_rng(self.devices):
            _C.set_rng_state(self.cpu)
            for device, state in zip(self.devices, self.gpus):
                _C._generator_of(f"cuda:{device}").set_state(state)
            yield


def _alone(args):
    """The arguments without their history."""
    return [a.detach().requires_grad_(a.requires_grad) if isinstance(a, _C.Tensor) else a for a in args]


class CheckpointFunction(Function):
    """What checkpoint() puts into the graph."""

    @staticmethod
    def forward(ctx, run, preserve_rng_state, contexts, *args):
        """run(*args), of which the arguments alone are kept. contexts: of use_reentrant=False, else None."""
        ctx.run, ctx.contexts = run, contexts
        ctx.numbers = _Numbers(args) if preserve_rng_state else None
        tensors = [i for i, a in enumerate(args) if isinstance(a, _C.Tensor)]
        ctx.places, ctx.rest = tensors, [None if isinstance(a, _C.Tensor) else a for a in args]
        if contexts is None:
            outputs = run(*args)
        else:
            with contexts[0], enable_grad():  # who asks for a gradient is seen by computing it
                outputs = run(*_alone(args))
            outputs, plain = CheckpointFunction._without_history(outputs)
            ctx.mark_non_differentiable(*plain)
        ctx.save_for_backward(*(args[i] for i in tensors))
        return outputs

    @staticmethod
    def _without_history(outputs):
        """(the outputs detached, those that ask for no gradient)"""
        single = not isinstance(outputs, tuple)
        made, plain = [], []
        for o in (outputs,) if single else outputs:
            alone = o.detach() if isinstance(o, _C.Tensor) else o
            made.append(alone)
            if isinstance(o, _C.Tensor) and not o.requires_grad:
                plain.append(alone)
        return (made[0] if single else tuple(made)), plain

    @staticmethod
    def backward(ctx, *gradients):
        """Computes it again, and goes backwards through that."""
        if getattr(_pass, "partial", False):
            if ctx.contexts is None:
                raise RuntimeError("When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                                   ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing "
                                   "the `inputs` argument.")
            raise NotImplementedError("torch.utils.checkpoint: Tenon computes again in .backward() alone, not in .grad() nor where an `inputs` "
                                      "parameter is passed to .backward()")
        args = list(ctx.rest)
        for i, tensor in zip(ctx.places, ctx.saved_tensors):
            args[i] = tensor
        args = _alone(args)
        with ctx.numbers.again() if ctx.numbers else contextlib.nullcontext(), ctx.contexts[1] if ctx.contexts else contextlib.nullcontext():
            with enable_grad():
                outputs = ctx.run(*args)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, gradients) if isinstance(o, _C.Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, None, *(a.grad if isinstance(a, _C.Tensor) else None for a in args))


def _named(function, count, names):
    """function, of which all arguments behind the first count are given by name."""
    return lambda *args: function(*args[:count], **dict(zip(names, args[count:])))


_EXPLICIT = (
    "the use_reentrant parameter should be passed explicitly. {more} use_reentrant=False is recommended, but if you need to preserve the current "
    "default behavior, you can pass use_reentrant=True. Refer to docs for more details on the differences between the two variants."
)


def checkpoint(function, *args, use_reentrant=None, preserve_rng_state=True, context_fn=noop_context_fn, determinism_check="default", debug=False,
               early_stop=True, **kwargs):  # fmt: skip
    """function(*args, **kwargs), whose intermediate results are computed again in the backward pass instead of being kept.

    preserve_rng_state: with the same random numbers; context_fn: gives contexts for the first and the second time. determinism_check,
    debug and early_stop are taken, and change nothing.
    """
    if use_reentrant is None:
        warnings.warn("torch.utils.checkpoint: " + _EXPLICIT.format(
            more="In a future release, calling checkpoint without use_reentrant will raise an exception."), stacklevel=2)  # fmt: skip
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise ValueError("Passing `context_fn`, `debug`, or `respect_saved_tensors_hooks` is only supported when use_reentrant=False.")
        if not any(isinstance(a, _C.Tensor) and a.requires_grad for a in args):
            warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
        return CheckpointFunction.apply(function, preserve_rng_state, None, *args)
    if not _C.is_grad_enabled():
        return function(*args, **kwargs)
    return _recomputed(function, args, kwargs, preserve_rng_state, context_fn())


def _recomputed(function, args, kwargs, preserve_rng_state, contexts):
    """use_reentrant=False: parameters that the function uses are asked for their gradients, whatever its arguments are."""
    run = _named(function, len(args), kwargs) if kwargs else function
    asks = _C.zeros((0,), requires_grad=True)  # so that there is a node

    def of_all(_, *values):
        return run(*values)

    return CheckpointFunction.apply(of_all, preserve_rng_state, contexts, asks, *args, *kwargs.values())


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """A sequence of modules in that many segments, each of which is a checkpoint, but for the last."""
    if use_reentrant is None:
        warnings.warn("torch.utils.checkpoint.checkpoint_sequential: " + _EXPLICIT.format(
            more="In a future release, we will raise an exception if use_reentrant is not passed."), stacklevel=2)  # fmt: skip
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def of(start, end):
        def run(x):
            for f in functions[start:end]:
                x = f(x)
            return x

        return run

    size, end = len(functions) // segments, 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(of(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return of(end, len(functions))(input)


__getattr__ = _missing.getattr_of(__name__)
