"""torch.utils.checkpoint: the same gradients as without, computed a second time. Texts are PyTorch 2.15's."""

import contextlib
import re
import warnings

import pytest

import tenon as torch
from tenon import nn
from tenon.utils.checkpoint import checkpoint, checkpoint_sequential


def net():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 3), nn.Sigmoid())


def gradients(run, needs=True):
    """Of the input and of the parameters, of a net with dropout that run(net, x) runs."""
    made, x = net(), torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_(needs)
    torch.manual_seed(7)
    y = run(made, x)
    after = torch.rand(1).item()
    y.square().sum().backward()
    return [y.tolist(), x.grad.tolist() if needs else None, after, *(p.grad.tolist() for p in made.parameters())]


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradients_are_those_without(reentrant):
    plain = gradients(lambda f, x: f(x))
    assert gradients(lambda f, x: checkpoint(f, x, use_reentrant=reentrant)) == plain
    assert gradients(lambda f, x: checkpoint_sequential(f, 2, x, use_reentrant=reentrant)) == plain
    assert gradients(lambda f, x: checkpoint(lambda a: checkpoint(f, a, use_reentrant=reentrant), x, use_reentrant=reentrant)) == plain
    other = gradients(lambda f, x: checkpoint(f, x, use_reentrant=reentrant, preserve_rng_state=False))
    assert other[0] == plain[0] and other[3:] != plain[3:]  # another dropout the second time


def test_parameters_alone():
    plain = gradients(lambda f, x: f(x), needs=False)
    assert gradients(lambda f, x: checkpoint(f, x, use_reentrant=False), needs=False) == plain
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True. Gradients will be None"):
        assert not checkpoint(net(), torch.ones(1, 4), use_reentrant=True).requires_grad


def test_it_is_computed_twice_and_nothing_is_kept():
    calls = []

    def f(x, factor):
        calls.append(torch.is_grad_enabled())
        return x * x * factor, 3, x.detach()

    x = torch.tensor([2.0, 3.0], requires_grad=True)
    for reentrant, first in ((True, False), (False, True)):
        calls.clear()
        if reentrant:
            y, three, plain = checkpoint(f, x, 5.0, use_reentrant=True)
        else:
            y, three, plain = checkpoint(f, x, factor=5.0, use_reentrant=False)
        assert three == 3 and calls == [first] and y.requires_grad and (reentrant or not plain.requires_grad)
        x.grad = None
        y.sum().backward()
        assert x.grad.tolist() == [20.0, 30.0] and calls == [first, True]


def test_what_asks_for_no_gradient_gets_no_node():
    assert not checkpoint(torch.sin, torch.ones(2), use_reentrant=False).requires_grad
    with torch.no_grad():
        assert not checkpoint(torch.sin, torch.ones(2, requires_grad=True), use_reentrant=False).requires_grad


def test_contexts_of_both_times():
    seen = []

    @contextlib.contextmanager
    def note(which):
        seen.append(which)
        yield

    x = torch.ones(2, requires_grad=True)
    y = checkpoint(torch.exp, x, use_reentrant=False, context_fn=lambda: (note("first"), note("again")))
    assert seen == ["first"]
    y.sum().backward()
    assert seen == ["first", "again"]


@pytest.mark.parametrize("call, kind, text", [
    (lambda x: checkpoint(torch.sin, x, use_reentrant=True, foo=3), ValueError, "Unexpected keyword arguments: foo"),
    (lambda x: checkpoint(torch.sin, x, use_reentrant=True, debug=True), ValueError, "Passing `context_fn`, `debug`, or `respect_saved_tensors_hooks` is only "
     "supported when use_reentrant=False."),
    (lambda x: checkpoint_sequential([torch.sin], 1, x, use_reentrant=False, foo=1), ValueError, "Unexpected keyword arguments: foo"),
    (lambda x: torch.autograd.grad(checkpoint(torch.sin, x, use_reentrant=True).sum(), x), RuntimeError, "When use_reentrant=True, torch.utils.checkpoint is "
     "incompatible with .grad() or passing an `inputs` parameter to .backward()."),
    (lambda x: checkpoint(torch.sin, x, use_reentrant=True).sum().backward(inputs=[x]), RuntimeError, "When use_reentrant=True, torch.utils.checkpoint is"),
    (lambda x: torch.autograd.grad(checkpoint(torch.sin, x, use_reentrant=False).sum(), x), NotImplementedError, "torch.utils.checkpoint: Tenon computes again in "
     ".backward() alone"),
    (lambda x: checkpoint(lambda a: a.detach(), x, use_reentrant=True).sum().backward(), RuntimeError, "none of output has requires_grad=True, this "
     "checkpoint() is not necessary"),
])
def test_refusals(call, kind, text):
    with pytest.raises(kind, match="^" + re.escape(text)):
        call(torch.ones(2, requires_grad=True))


def test_after_a_refusal_a_pass_is_whole_again():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError):
        torch.autograd.grad(checkpoint(torch.sin, x, use_reentrant=False).sum(), x)
    checkpoint(torch.sin, x, use_reentrant=False).sum().backward()
    assert x.grad.tolist() == pytest.approx([0.5403023] * 2)


def test_the_warning_that_asks_for_use_reentrant():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        checkpoint(torch.sin, torch.ones(1, requires_grad=True))
    assert [str(w.message).partition(" In a future")[0] for w in told] == [
        "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly."]
