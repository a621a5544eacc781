"""Autograd from Python: modes, backward and grad, functions of one's own, hooks, gradcheck."""
import math
import os
import subprocess
import sys
import warnings

import pytest

os.environ.setdefault("TENON_FAKE_GPUS", "2")
import tenon as torch  # noqa: E402
from tenon.autograd import Function, gradcheck, gradgradcheck


def leaf(*values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


# ---- modes ----


def test_modes():
    x = leaf(1.0, 2.0)
    with torch.no_grad():
        y = x * 2
        assert not y.requires_grad and not torch.is_grad_enabled()
        with torch.enable_grad():
            assert (x * 2).requires_grad
    assert torch.is_grad_enabled()

    @torch.no_grad()
    def without(v):
        return v * 2

    @torch.no_grad
    def bare(v):
        return v * 2

    assert not without(x).requires_grad and not bare(x).requires_grad and torch.is_grad_enabled()
    with torch.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    torch.set_grad_enabled(False)
    assert not torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    with torch.inference_mode():
        assert not (x * 2).requires_grad
    with pytest.raises(ValueError), torch.no_grad():
        raise ValueError
    assert torch.is_grad_enabled()


def test_inference_mode():
    """PyTorch 2.15's answers."""
    normal = torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        made, seen = torch.ones(2), normal[:2]
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled() and made.is_inference()
        assert not seen.is_inference() and seen.requires_grad and (made + 1).is_inference()
        parameter = torch.nn.Parameter(torch.ones(2))
        assert parameter.is_inference() and parameter.requires_grad
        made.add_(1)
        with torch.inference_mode(False):
            assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled() and not torch.ones(2).is_inference()
            assert not (made + 1).is_inference()
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()
    with torch.no_grad():
        with torch.inference_mode(False):
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
    assert made.is_inference() and made.detach().is_inference() and made.data.is_inference() and not made.clone().is_inference()
    assert (normal[:2] + made).requires_grad
    written = "Inplace update to inference tensor outside InferenceMode is not allowed"
    for message, call in ((written, lambda: made.add_(1)), (written, made.zero_), (written, lambda: made.view(2).add_(1)),
                          ("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed", made.requires_grad_),
                          ("Inference tensors cannot be saved for backward", lambda: normal[:2] * made)):
        with pytest.raises(RuntimeError, match=message):
            call()
    assert made.tolist() == [2.0, 2.0]


def test_inference_mode_decorates():
    modes = [f() for f in (torch.inference_mode()(torch.is_inference_mode_enabled), torch.inference_mode(torch.is_inference_mode_enabled),
                           torch.inference_mode(False)(torch.is_inference_mode_enabled))]
    assert modes == [True, True, False] and not torch.is_inference_mode_enabled()
    with torch.inference_mode():
        assert not torch.inference_mode(False)(torch.is_inference_mode_enabled)()


def test_mode_of_a_generator():
    @torch.no_grad()
    def numbers():
        yield torch.is_grad_enabled()
        yield torch.is_grad_enabled()

    seen = []
    for on in numbers():
        seen.append((on, torch.is_grad_enabled()))
    assert seen == [(False, True), (False, True)]


def test_mode_of_a_generator_that_is_closed():
    seen = []

    @torch.no_grad()
    def numbers():
        try:
            yield 1
        finally:
            seen.append(torch.is_grad_enabled())

    next(kept := numbers())
    kept.close()
    assert seen == [False] and torch.is_grad_enabled()


def test_a_class_is_no_function_to_decorate():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):
        torch.no_grad()(type("C", (), {}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.no_grad()(len)


# ---- backward and grad ----


def test_backward_adds():
    x = leaf(1.0, 2.0)
    for _ in range(2):
        (x * x).sum().backward()
    assert x.grad.tolist() == [4.0, 8.0] and x.grad is x.grad
    x.grad = None
    (x * x).backward(torch.tensor([1.0, 10.0], dtype=torch.float64))
    assert x.grad.tolist() == [2.0, 40.0]


def test_several_roots_and_inputs():
    x, y = leaf(3.0), leaf(5.0)
    torch.autograd.backward((x * y, x + y), (leaf(1.0).detach(), leaf(2.0).detach()))
    assert x.grad.tolist() == [7.0] and y.grad.tolist() == [5.0]
    x.grad = y.grad = None
    (x * y).backward(inputs=[x])
    assert x.grad.tolist() == [5.0] and y.grad is None
    with pytest.raises(RuntimeError, match="all inputs have to be Tensors or GradientEdges, but got str"):
        torch.autograd.grad(x * y, "x")
    with pytest.raises(RuntimeError, match="cannot be empty"):
        (x * y).backward(inputs=[])


def test_grad():
    x, y = leaf(3.0), leaf(5.0)
    gx, gy = torch.autograd.grad(x * x * y, (x, y))
    assert gx.tolist() == [30.0] and gy.tolist() == [9.0] and x.grad is None
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph. Set allow_unused=True"):
        torch.autograd.grad(x * x, (x, y))
    assert torch.autograd.grad(x * x, (x, y), allow_unused=True)[1] is None
    assert torch.autograd.grad(x * x, (x, y), materialize_grads=True)[1].tolist() == [0.0]
    (first,) = torch.autograd.grad(x**3, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert first.tolist() == [27.0] and second.tolist() == [18.0]


def test_grad_that_ends_at_a_result():
    x = leaf(1.0, 2.0)
    y = x * x
    assert torch.autograd.grad((y * y).sum(), y)[0].tolist() == [2.0, 8.0]
    y.sum().backward()  # what y saved was not asked for: it is there still
    assert x.grad.tolist() == [2.0, 4.0]
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


def test_errors():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        torch.ones(1).backward()
    loss = (x * x).sum()
    loss.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        loss.backward()
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="one of the variables needed for gradient computation has been modified by an inplace operation"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match=r"Mismatch in shape: grad_output\[0\] has a shape of"):
        (x * 2).backward(torch.ones(3))


def test_nodes():
    x = leaf(1.0)
    y = (x * 2).sum()
    assert y.grad_fn.name() == "SumBackward0" and x.grad_fn is None
    (mul, output), = y.grad_fn.next_functions
    assert mul.name() == "MulBackward0" and output == 0
    accumulate = mul.next_functions[0][0]
    assert accumulate.name() == "AccumulateGrad" and accumulate.variable is x
    y.detach_()
    assert y.grad_fn is None and not y.requires_grad


# ---- functions of one's own ----


class Cube(Function):
    @staticmethod
    def forward(ctx, x, times=1):
        ctx.save_for_backward(x)
        ctx.times = times
        return times * x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        assert ctx.needs_input_grad == (True, False)
        return 3 * ctx.times * x * x * g, None


class SumAndDifference(Function):
    @staticmethod
    def forward(ctx, a, b):
        return a + b, a - b

    @staticmethod
    def backward(ctx, gs, gd):
        return gs + gd, gs - gd


def test_function():
    x = leaf(1.0, 2.0)
    y = Cube.apply(x, 2)
    assert y.tolist() == [2.0, 16.0] and y.grad_fn.name() == "CubeBackward"
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 24.0]
    assert gradcheck(lambda v: Cube.apply(v, 2), (x,)) and gradgradcheck(lambda v: Cube.apply(v, 2), (x,))


def test_function_of_several():
    a, b = leaf(5.0), leaf(3.0)
    s, d = SumAndDifference.apply(a, b)
    assert (s.item(), d.item()) == (8.0, 2.0)
    d.backward()  # no gradient came to s: zeros
    assert a.grad.tolist() == [1.0] and b.grad.tolist() == [-1.0]
    assert gradcheck(lambda p, q: SumAndDifference.apply(p, q)[0] * SumAndDifference.apply(p, q)[1], (a, b))


def test_keywords_and_results_that_are_no_tensors():
    class Scaled(Function):
        @staticmethod
        def forward(ctx, x, a=1, b=2, c=3):
            ctx.needs = ctx.needs_input_grad
            assert ctx.name() == "ScaledBackward"
            return x * a + b * c

        @staticmethod
        def backward(ctx, g):
            return (g * len(ctx.needs),) + (None,) * (len(ctx.needs) - 1)

    x = leaf(1.0)
    for kwargs, value, places in (({}, 7.0, 1), ({"a": 5}, 11.0, 2), ({"b": 0}, 1.0, 3), ({"c": 0, "a": 2}, 2.0, 4)):
        y = Scaled.apply(x, **kwargs)
        assert y.item() == value and torch.autograd.grad(y, x)[0].item() == places
    with pytest.raises(TypeError, match="unexpected keyword argument 'd'"):
        Scaled.apply(x, d=1)
    given = type("Given", (Function,), {"forward": staticmethod(lambda ctx, x, what: what)})
    for what in (5, "text", {"a": 1}, [x], None):
        assert given.apply(x, what) is what


def test_a_graph_of_gradients_warns_once():
    code = "import warnings, tenon as torch\nx = torch.ones(1, requires_grad=True)\nfor _ in range(2):\n    (x * x).backward(create_graph=True)"
    done = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ":".join(sys.path)})
    assert done.returncode == 0 and done.stderr.count("will create a reference cycle between the parameter and its gradient") == 1


def test_function_with_setup_context():
    class Double(Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.factor = 2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor

    x = leaf(1.0)
    Double.apply(x).backward()
    assert x.grad.tolist() == [2.0]


def test_function_in_place():
    class Negate(Function):
        @staticmethod
        def forward(ctx, x):
            x.neg_()
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return -g

    x = leaf(1.0, 2.0)
    y = x * 1
    z = Negate.apply(y)
    assert z is y and y.tolist() == [-1.0, -2.0]
    z.sum().backward()
    assert x.grad.tolist() == [-1.0, -1.0]


def test_functions_that_are_wrong():
    class Wrong(Function):
        result = None

        @staticmethod
        def forward(ctx, x):
            return x * 2

        @classmethod
        def backward(cls, ctx, g):
            if isinstance(cls.result, Exception):
                raise cls.result
            return cls.result

    x = leaf(1.0, 2.0)

    def run(result):
        Wrong.result = result
        Wrong.apply(x).sum().backward()

    with pytest.raises(RuntimeError, match=r"returned an invalid gradient at index 0 - got \[3\] but expected shape compatible with \[2\]"):
        run(torch.ones(3, dtype=torch.float64))
    with pytest.raises(RuntimeError, match=r"returned an incorrect number of gradients \(expected 1, got 2\)"):
        run((torch.ones(2), torch.ones(2)))
    with pytest.raises(RuntimeError, match=r"expected Variable or None \(got str\)"):
        run("gradient")
    with pytest.raises(KeyError, match="mine"):
        run(KeyError("mine"))
    assert x.grad is None
    with pytest.raises(NotImplementedError):
        Function.apply(x)


def test_saved_and_changed():
    x = leaf(1.0, 2.0)
    inner = x * 1
    y = Cube.apply(inner)
    inner.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_tensor_that_is_given_twice():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x, dirty, given):
            y = x if dirty or given else x * 2
            if dirty:
                x.mul_(2)
                ctx.mark_dirty(x)
            return y, y

        @staticmethod
        def backward(ctx, g, h):
            return g + 10 * h, None, None

    for dirty, given, one, want in ((0, 0, True, 60.0), (1, 0, True, 60.0), (0, 1, False, 51.0)):
        x = leaf(1.0)
        a, b = Twice.apply(x.clone(), dirty, given)
        assert (a is b) == one
        (a + 5 * b).backward()  # of one tensor the gradient is the last place's
        assert x.grad.tolist() == [want]


def test_once_differentiable():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            assert not torch.is_grad_enabled()
            return g * 2

    x = leaf(1.0)
    Double.apply(x).backward(leaf(1.0), create_graph=True)
    assert x.grad.tolist() == [2.0] and x.grad.requires_grad
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function that was marked with @once_differentiable"):
        x.grad.backward()
    (g,) = torch.autograd.grad(Double.apply(x), x, create_graph=True)
    assert not g.requires_grad


def test_backward_by_another_name_and_marks_that_are_wrong():
    def of(**methods):
        methods = {"forward": lambda ctx, x: x * 2, **methods}
        return type("F", (Function,), {name: staticmethod(f) for name, f in methods.items()})

    x = leaf(1.0)
    of(vjp=lambda ctx, g: g * 3).apply(x).backward()
    assert x.grad.tolist() == [3.0]
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp' for a custom Function is not allowed"):
        of(vjp=lambda ctx, g: g, backward=lambda ctx, g: g).apply(x).backward()
    new = of(forward=lambda ctx, x: [y := x * 2, ctx.mark_dirty(y)][0])
    with pytest.warns(UserWarning, match=r"ctx.mark_dirty\(\) received a tensor that was not an input"):
        assert new.apply(x).grad_fn.name() == "FBackward"
    with pytest.raises(RuntimeError, match="mark_non_differentiable only accepts variable arguments, but got int"):
        of(forward=lambda ctx, x: [x * 2, ctx.mark_non_differentiable(5)][0]).apply(x)
    with pytest.raises(RuntimeError, match="mark_dirty can only accept variables, but argument 0 is of type int"):
        of(forward=lambda ctx, x: [x * 2, ctx.mark_dirty(5)][0]).apply(x)


# ---- hooks ----


def test_hooks():
    x = leaf(1.0, 2.0)
    y = x * 3
    seen = []
    handle = y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g * 10)
    (y + y).sum().backward()
    assert seen == [[2.0, 2.0]] and x.grad.tolist() == [60.0, 60.0]
    handle.remove()
    assert len(seen) == 1
    x.grad = None
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p is x and p.grad.tolist()))
    (x * 2).sum().backward()
    assert seen[-1] == [2.0, 2.0]


def test_hooks_that_are_wrong():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        torch.ones(1).register_hook(print)
    for add, wrong, error, text in (
        (x.register_hook, "text", TypeError, "expected Variable, but hook returned 'str'"),
        (x.register_post_accumulate_grad_hook, 5, TypeError, "expected Variable, but hook returned 'int'"),
        (x.register_post_accumulate_grad_hook, x, RuntimeError, "Tensor post accumulate grad hooks should return None."),
    ):
        handle = add(lambda g, wrong=wrong: wrong)
        with pytest.raises(error, match=text):
            (x * 2).backward()
        handle.remove()
    x.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"):
        (x * 2).register_post_accumulate_grad_hook(print)


def test_retain_grad():
    x = leaf(2.0)
    y = x * x
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # one that is kept may be asked for before it is there
        assert y.grad is None and y.retains_grad and not x.retains_grad
    (y * 3).backward()
    assert y.grad.tolist() == [3.0] and x.grad.tolist() == [12.0]


def test_views_whose_history_is_lost():
    a = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        b = a[:]
        assert repr(b) == "tensor([1.], requires_grad=True)" and b.is_leaf
        b *= 2
    assert repr(b) == "tensor([2.], grad_fn=<Invalid>)"
    for use in (lambda: b.grad_fn, lambda: b * 2):
        with pytest.raises(RuntimeError, match="A view was created in no_grad mode and its base"):
            use()


def test_the_way_through_pinned_memory():
    x = leaf(1.0, 2.0)
    pinned = x.pin_memory()
    assert pinned.is_pinned() and pinned.requires_grad and torch.autograd.grad((pinned * pinned).sum(), x)[0].tolist() == [2.0, 4.0]
    assert gradgradcheck(lambda v: v.pin_memory() ** 2, (x,))


def test_data_cannot_be_deleted():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="Deleting tensor data is not allowed. Delete tensor instead!"):
        del x.data
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got NoneType"):
        x.data = None


def test_grad_of_a_computed_tensor_warns():
    y = leaf(2.0) * 2
    with pytest.warns(UserWarning, match="that is not a leaf Tensor is being accessed"):
        assert y.grad is None


# ---- what is kept for backward ----

# Operations of non-leaves x, y; which of x, y and the result may be written to before backward, as in PyTorch 2.15. Tenon keeps
# less than PyTorch in 60 more forms (norms, hypot, gather, elu and other activations, whose masks and places it keeps), and more
# in two: a number / x keeps x, which PyTorch multiplies by its reciprocal, and kron both operands, which PyTorch keeps too
# without noticing that they were written to.
KEPT = [
    ("x / y", "r"), ("x / 2", "xr"), ("x.div_(y)", "xr"), ("x.div_(2)", "xr"), ("x * y", "r"), ("x + y", "xyr"),
    ("x.clamp(0.2, 0.5)", "r"), ("x.clamp_(0.2, 0.5)", "xr"), ("x.clamp_(min=0.2)", "xr"), ("x.clamp_(max=0.5)", "xr"),
    ("x.clamp_(y, y + 1)", "xr"), ("x.clamp_(y)", "xr"), ("x.clamp_(max=y)", "xr"), ("x.clamp_min_(0.2)", "xr"),
    ("x.clip_(0.2, 0.5)", "xr"), ("x.exp()", "x"), ("x.exp_()", ""), ("x.sigmoid_()", ""), ("x.sin_()", "xr"),
    ("F.normalize(x)", "r"), ("F.softsign(x)", "r"), ("x.square_()", "xr"), ("torch.where(x > 0.3, x, y)", "xyr"),
]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("expression, free", KEPT, ids=[e for e, _ in KEPT])
def test_what_may_be_written_to(expression, free, device):
    for written in "-xyr":
        leaves = [torch.tensor([[0.1, 0.7], [0.4, 0.9]], device=device, requires_grad=True) for _ in range(2)]
        x, y = (t.clone() for t in leaves)
        r = eval(expression, {"torch": torch, "F": torch.nn.functional, "x": x, "y": y})
        if written != "-":
            {"x": x, "y": y, "r": r}[written].detach()[r.detach() > 0] = 2.0
        if written in "-" + free or (written == "y" and "y" not in expression):
            r.sum().backward()
        else:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                r.sum().backward()


# ---- .data ----


def test_writes_through_data_are_not_seen():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    data = x.data
    data.add_(1)
    data[0] = 7
    view = data.view(2, 1)
    view.mul_(2)
    assert x._version == 0 and (data._version, view._version) == (3, 3) and x.data._version == 0
    y.backward()
    assert x.grad.tolist() == [28.0, 12.0]  # of the values that x has now, as in PyTorch
    y = (x * x).sum()
    x.detach().add_(1)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0 instead"):
        y.backward()
    p = leaf(1.0)
    p.data = x.data[:1]  # p's own writes count as ever
    y = (p * p).sum()
    with torch.no_grad():
        p.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


# ---- gradcheck ----


def test_gradcheck():
    x, y = leaf(0.5, 1.5), leaf(2.0, 3.0)
    assert gradcheck(lambda a, b: (a * b.exp()).sum() + a.sin(), (x, y))
    assert gradgradcheck(lambda a: a.exp() * a, (x,))

    class Bad(Function):
        @staticmethod
        def forward(ctx, v):
            ctx.save_for_backward(v)
            return v * v

        @staticmethod
        def backward(ctx, g):
            return 3 * ctx.saved_tensors[0] * g

    with pytest.raises(torch.autograd.GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(Bad.apply, (x,))
    assert gradcheck(Bad.apply, (x,), raise_exception=False) is False
    with pytest.raises(ValueError, match="expects at least one input tensor to require gradient"):
        gradcheck(torch.exp, (x.detach(),))
    assert gradcheck(lambda v: (v * 2, v.detach()), (x,)) and gradcheck(lambda v: (), (x,))
    with pytest.raises(torch.autograd.GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda v: v.detach(), (x,))  # no history, though it depends on v
    # the input itself is moved, and is afterwards as it was: also one that is no argument, a view, and one of no dimension
    assert gradcheck(lambda v: x * 2 + v, (x,)) and x.tolist() == [0.5, 1.5] and x._version == 0
    whole = leaf(1.0, 2.0, 3.0, 4.0)
    assert gradcheck(lambda v: v * v.sum(), (whole.reshape(2, 2).t(),)) and gradcheck(torch.exp, (leaf(1.5)[0],))
    with pytest.raises(torch.autograd.GradcheckError):
        gradcheck(lambda v: x.detach() * v, (x,))


def test_shapes_changed_in_place_keep_their_history():
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    y = x * 2
    row, same = y[0], y
    assert y.transpose_(0, 1) is same and y.shape == (3, 2) and y.stride() == (1, 3)
    assert y._version == 1
    (y.squeeze() * torch.arange(6.0).view(3, 2)).sum().backward(retain_graph=True)
    assert torch.equal(x.grad, torch.tensor([[0.0, 4.0, 8.0], [2.0, 6.0, 10.0]]))
    row.sum().backward()  # a view taken before: it shows the same elements
    assert torch.equal(x.grad, torch.tensor([[2.0, 6.0, 10.0], [2.0, 6.0, 10.0]]))
    view = (x * 3)[:, :1]
    view.squeeze_(1).unsqueeze_(0).t_()
    assert view.shape == (2, 1)
    x.grad = None
    (view * torch.tensor([[1.0], [2.0]])).sum().backward()
    assert torch.equal(x.grad, torch.tensor([[3.0, 0.0, 0.0], [6.0, 0.0, 0.0]]))
    for write in (lambda: x[0].unsqueeze_(0), lambda: x.t_(), lambda: x.add_(1), lambda: x[0].mul_(2)):  # x is a view too
        with pytest.raises(RuntimeError, match="^a view of a leaf Variable that requires grad is being used in an in-place"):
            write()
    with pytest.raises(RuntimeError, match="^a leaf Variable that requires grad is being used in an in-place operation.$"):
        x.detach().clone().requires_grad_().t_()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_gradients_of_views_that_overlap(device):
    """as_strided with elements that are shown, or that the input has, more than once; values are PyTorch's."""
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU, not even a fake one")

    def slopes(base, size, stride, offset):
        base = base.requires_grad_()
        y = base.as_strided(size, stride, offset)
        (y * torch.arange(1.0, y.numel() + 1, device=device).reshape(y.shape)).sum().backward()
        return base.grad.tolist()

    line = torch.arange(8.0, device=device)
    assert slopes(line.clone(), (2, 2, 2, 2), (1, 1, 1, 1), 0) == [1.0, 19.0, 51.0, 49.0, 16.0, 0.0, 0.0, 0.0]
    assert slopes(line.clone(), (3, 4), (2, 0), 1) == [0.0, 10.0, 0.0, 26.0, 0.0, 42.0, 0.0, 0.0]
    assert slopes(line[:3].expand(2, 3), (2, 2), (1, 1), 0) == [[0.5, 2.5, 2.0], [0.5, 2.5, 2.0]]
    folded = torch.arange(10.0, device=device).as_strided((3, 3), (2, 1), 1)
    assert slopes(folded.detach(), (4,), (2,), 0) == [[0.0, 2.0, 0.0], [0.0, 3.0, 0.0], [0.0, 4.0, 0.0]]
    assert slopes(folded.detach(), (2, 2), (1, 1), 2) == [[0.0, 1.0, 2.5], [2.5, 4.0, 0.0], [0.0, 0.0, 0.0]]
    x = torch.tensor([0.0, 1.0, math.nan, -2.0], device=device, requires_grad=True)
    zero_norm = torch.norm(x, 0)
    assert zero_norm.item() == 3 and torch.autograd.grad(zero_norm, [x])[0].tolist() == [0.0] * 4
    v = torch.arange(5.0, device=device, requires_grad=True)
    nowhere = torch.zeros(5, dtype=torch.bool, device=device)
    for accumulate in (True, False):
        put = torch.ones(5, 5, device=device).index_put((nowhere,), v, accumulate)
        assert torch.autograd.grad(put.sum(), [v])[0].tolist() == [0.0] * 5


def test_variable_makes_tensors():
    """The class of the time when tensors had no gradients: everything is one, and calling it shows a tensor's memory."""
    from tenon.autograd import Variable

    x = torch.ones(2)
    v = Variable(x, requires_grad=True)
    assert isinstance(x, Variable) and type(v) is torch.Tensor and v.requires_grad and not x.requires_grad
    assert v.data_ptr() == x.data_ptr() and v.is_leaf and not Variable(v).requires_grad
    with pytest.raises(TypeError, match="Variable data has to be a tensor, but got int"):
        Variable(3)


def test_setup_context_sees_defaults():
    class Power(torch.autograd.Function):
        @staticmethod
        def forward(x, y=3):
            return torch.pow(x, y)

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.y = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * ctx.y * torch.pow(x, ctx.y - 1), None

    for call, grad in ((lambda x: Power.apply(x), 12.0), (lambda x: Power.apply(x, 2), 4.0), (lambda x: Power.apply(x, y=2), 4.0)):
        x = torch.tensor(2.0, requires_grad=True)
        call(x).backward()
        assert x.grad.item() == grad


def test_a_function_may_be_called_backward_something():
    class BackwardHook(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(RuntimeError, match="^Output 0 of BackwardHook is a view and is being modified inplace"):
        BackwardHook.apply(torch.ones(2, requires_grad=True) * 1).add_(1)


def test_pieces_whose_whole_was_written_to_say_so():
    whole = torch.ones(2, requires_grad=True).exp()
    piece = whole.unbind()[1]
    whole[()] = -4.0
    with pytest.raises(RuntimeError, match=r"^Output 1 of Unbind is a view and its base or another view of its base has been modified inplace\."):
        piece.is_leaf  # noqa: B018
