"""Operations with a backward of their own: subclass Function, call apply."""

import functools
import inspect
import warnings
import weakref

from tenon import _C, _missing

_Tensor = _C.Tensor


_FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). "
    "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if "
    "you need to backward through the graph a second time or if you need to access saved tensors after calling backward."
)


class FunctionCtx:
    """What forward leaves for backward. Any attribute may be set on it."""

    _saved = ()  # of save_for_backward, until the graph has them
    _kept = ()  # the same from then on, for who asks outside backward, and where the graph's node may be found; None: freed
    _dirty = ()
    _no_gradient = ()
    _zeros = True
    _nodes = ()  # its node, once for each pass that is running backward
    needs_input_grad = ()

    def save_for_backward(self, *tensors):
        """Keeps tensors (or None) for backward, which finds them in saved_tensors. Writing to one of them in place before
        that is an error there."""
        for t in tensors:
            if t is not None and not isinstance(t, _Tensor):
                raise TypeError(f"save_for_backward can only save variables, but argument {tensors.index(t)} is of type {type(t).__name__}")
        self._saved = tensors

    def save_for_forward(self, *tensors):
        """Taken for PyTorch's sake: Tenon has no forward mode."""

    def mark_dirty(self, *tensors):
        """Says that forward wrote to these inputs in place; it must return them."""
        self._dirty = tensors

    def _check_marks(self, inputs):
        for t in self._no_gradient:
            if not isinstance(t, _Tensor):
                raise RuntimeError(f"mark_non_differentiable only accepts variable arguments, but got {type(t).__name__}")
        for i, t in enumerate(self._dirty):
            if not isinstance(t, _Tensor):
                raise RuntimeError(f"mark_dirty can only accept variables, but argument {i} is of type {type(t).__name__}")
            if not _is_one_of(t, inputs) and any(self.needs_input_grad) and _C.is_grad_enabled():
                warnings.warn("ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been "
                              "mutated should be passed to ctx.mark_dirty().", stacklevel=4)

    def mark_non_differentiable(self, *tensors):
        """Says that these outputs have no gradient."""
        self._no_gradient = tensors

    def set_materialize_grads(self, value):
        """False: backward is given None, not zeros, for outputs that no gradient reached."""
        self._zeros = bool(value)

    @property
    def saved_tensors(self):
        """What save_for_backward kept: in backward, and outside of it from the end of forward until the graph is freed."""
        if self._nodes:
            return _C._saved_tensors(self._nodes[-1])
        if self._kept is None:
            raise RuntimeError(_FREED)
        return self._kept and _saved_outside(*self._kept)

    def _recorded(self, outputs, results):
        """The node has the tensors now. What is left here must lead back to it by no output: that would be a cycle."""
        saved = self._saved
        self._saved = self._dirty = self._no_gradient = ()
        output = next((r for r in results if r is not None and not r.is_leaf), None)
        if saved and output is not None:
            saved = tuple(t.detach() if t is not None and _is_one_of(t, outputs) else t for t in saved)
            versions = [None if t is None else t._version for t in saved]
            self._kept = weakref.ref(output), output._version, saved, versions

    _name = "FunctionCtx"

    def name(self):
        """What the node of the graph is called."""
        return self._name


def _saved_outside(output, version, saved, versions):
    """From the node, which an output leads to that was not written to since; else what was kept beside it, where an output that
    was saved has no history."""
    output = output()
    if output is not None and output._version == version and output.grad_fn is not None:
        return _C._saved_tensors(output.grad_fn)
    for t, was in zip(saved, versions):
        if t is not None and t._version != was:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[{t.type()} {list(t.shape)}] is at version {t._version}; expected version {was} instead."
            )
    return saved


class _Backward:
    """What the graph's node calls."""

    __slots__ = ("ctx", "function", "count")

    def __init__(self, ctx, function, count):
        self.ctx = ctx
        self.function = function
        self.count = count

    def __call__(self, node, gradients, retained):
        ctx = self.ctx
        nodes = ctx.__dict__.setdefault("_nodes", [])
        nodes.append(node)
        try:
            result = self.function._derivative()(ctx, *gradients)
        finally:
            nodes.pop()
            if ctx._kept and not retained:
                ctx._kept = None
        if not isinstance(result, tuple):
            result = (result,)
        if len(result) > self.count and all(r is None for r in result[self.count :]):
            result = result[: self.count]
        if len(result) != self.count:
            raise RuntimeError(
                f"function {self.function.__name__}Backward returned an incorrect number of gradients (expected {self.count}, got {len(result)})"
            )
        for r in result:
            if r is not None and not isinstance(r, _Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(r).__name__})")
        return result


def _is_one_of(tensor, others):
    return any(tensor is o for o in others)


def _bound(forward, args, kwargs):
    """All arguments of a call by their places, those with a default too: setup_context sees them, and backward answers them."""
    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def _placed(forward, args, kwargs):
    """Arguments behind ctx by their places, as far as any is given."""
    bound = inspect.signature(forward).bind(None, *args, **kwargs)
    last = max(i for i, name in enumerate(bound.signature.parameters) if name in bound.arguments)
    bound.apply_defaults()
    return bound.args[1 : max(last, len(args)) + 1]


class Function:
    """An operation with its derivative: define static methods forward(ctx, ...) and backward(ctx, *grad_outputs); call
    YourFunction.apply(...). backward returns a gradient, or None, for each argument of forward.

    forward may also be defined without ctx, beside setup_context(ctx, inputs, output).
    """

    @staticmethod
    def forward(*args, **kwargs):
        """forward(ctx, *args), or forward(*args) beside setup_context: the outputs. Written by the subclass."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Keeps in ctx what backward needs, after a forward that takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """The gradient of each argument of forward, from those of its outputs. Written by the subclass."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
        )

    # backward under JAX's name: a subclass has one of both
    vjp = backward

    @classmethod
    def _derivative(cls):
        if cls.vjp is Function.vjp:
            return cls.backward
        if cls.backward is not Function.backward:
            raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                               "implement one of them.")
        return cls.vjp

    @classmethod
    def apply(cls, *args, **kwargs):
        """Calls forward, and records that backward belongs to it."""
        apart = cls.setup_context is not Function.setup_context
        if apart and (kwargs or cls.forward.__defaults__):
            args = _bound(cls.forward, args, kwargs)
        elif kwargs:
            args = _placed(cls.forward, args, kwargs)
        ctx = FunctionCtx()
        ctx._name = f"{cls.__name__}Backward"
        inputs = tuple(a if isinstance(a, _Tensor) else None for a in args)
        ctx.needs_input_grad = tuple(a is not None and a.requires_grad for a in inputs)
        before = _C._set_grad_enabled(False)
        try:
            if apart:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        finally:
            _C._set_grad_enabled(before)
        return cls._record(ctx, inputs, output)

    @classmethod
    def _record(cls, ctx, inputs, output):
        single = not isinstance(output, tuple)
        outputs = (output,) if single else output
        tensors = tuple(o if isinstance(o, _Tensor) else None for o in outputs)
        ctx._check_marks(inputs)
        results = _C._function_apply(
            cls.__name__,
            _Backward(ctx, cls, len(inputs)),
            inputs,
            tensors,
            tuple(ctx._saved),
            tuple(o is not None and _is_one_of(o, ctx._no_gradient) for o in tensors),
            tuple(i is not None and _is_one_of(i, ctx._dirty) for i in inputs),
            ctx._zeros,
        )
        if ctx._saved or ctx._dirty or ctx._no_gradient:
            ctx._recorded(tensors, results)
        results = tuple(o if t is None else r for o, t, r in zip(outputs, tensors, results))
        return results[0] if single else results


class _Once(Function):
    """Its inputs, of which there is no derivative."""

    @staticmethod
    def forward(ctx, *tensors):
        return tuple(t.detach() for t in tensors)

    @staticmethod
    def backward(ctx, *gradients):
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def _without_derivative(outputs):
    places = [i for i, t in enumerate(outputs) if isinstance(t, _Tensor) and t.is_floating_point()]
    passed = _Once.apply(*(outputs[i].detach().requires_grad_() for i in places))
    outputs = list(outputs)
    for i, t in zip(places, passed):
        outputs[i] = t
    return tuple(outputs)


def once_differentiable(backward):
    """For a backward whose result cannot be differentiated again: who tries is told so."""

    @functools.wraps(backward)
    def wrapped(ctx, *gradients):
        before = _C._set_grad_enabled(False)
        try:
            outputs = backward(ctx, *gradients)
        finally:
            _C._set_grad_enabled(before)
        if not before or not any(isinstance(g, _Tensor) and g.requires_grad for g in gradients):
            return outputs
        return _without_derivative(outputs if isinstance(outputs, tuple) else (outputs,))

    return wrapped


__getattr__ = _missing.getattr_of(__name__)
