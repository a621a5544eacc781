"""Hooks around forward and backward."""

import collections

import pytest

import tenon as torch
from tenon import nn


class Double(nn.Module):
    def forward(self, x, plus=0):
        if plus == "fail":
            raise ValueError("no")
        return x * 2 + plus


def test_forward_pre_hook():
    m = Double()
    first = m.register_forward_pre_hook(lambda module, args: args[0] + 1)
    assert m(torch.ones(1)).item() == 4
    m.register_forward_pre_hook(lambda module, args: (args[0] * 10,), prepend=True)
    assert m(torch.ones(1)).item() == 22
    first.remove()
    first.remove()
    assert m(torch.ones(1)).item() == 20
    m.register_forward_pre_hook(lambda module, args, kwargs: (args, {"plus": 5}), with_kwargs=True)
    assert m(torch.ones(1), plus=1).item() == 25
    m.register_forward_pre_hook(lambda module, args, kwargs: (1, 2, 3), with_kwargs=True)
    with pytest.raises(RuntimeError, match="forward pre-hook must return None or a tuple of"):
        m(torch.ones(1))


def test_forward_hook():
    m, log = Double(), []
    m.register_forward_hook(lambda module, args, out: log.append((module is m, len(args), out.item())))
    m.register_forward_hook(lambda module, args, kwargs, out: out + kwargs["plus"], with_kwargs=True)
    with m.register_forward_hook(lambda module, args, out: out * 100, prepend=True):
        assert m(torch.ones(1), plus=3).item() == 503
    assert m(torch.ones(1), plus=3).item() == 8
    assert log == [(True, 1, 500.0), (True, 1, 5.0)]


def test_always_called_hook():
    m, log = Double(), []
    m.register_forward_hook(lambda module, args, out: log.append("usual"))
    m.register_forward_hook(lambda module, args, out: log.append(out), always_call=True)
    with pytest.raises(ValueError, match="no"):
        m(torch.ones(1), plus="fail")
    assert log == [None]


def test_hooks_inside_sequential_and_of_all_modules():
    from tenon.nn.modules.module import register_module_forward_hook

    inner, log = nn.ReLU(), []
    net = nn.Sequential(inner, nn.Identity())
    handle = register_module_forward_hook(lambda module, args, out: log.append(type(module).__name__))
    inner.register_forward_hook(lambda *a: log.append("own"))
    net(torch.ones(1))
    assert log == ["ReLU", "own", "Identity", "Sequential"]
    handle.remove()
    net(torch.ones(1))
    assert log[4:] == ["own"]


def test_full_backward_hook():
    m = nn.Linear(2, 2)
    log = []
    with torch.no_grad():
        m.weight.fill_(1)
    handle = m.register_full_backward_hook(lambda module, grad_in, grad_out: log.append((grad_in, grad_out)))
    x = torch.ones(1, 2, requires_grad=True)
    (m(x).sum() + x.sum()).backward()
    (grad_in,), (grad_out,) = log[0]
    assert grad_in.tolist() == [[2.0, 2.0]] and grad_out.tolist() == [[1.0, 1.0]]
    assert x.grad.tolist() == [[3.0, 3.0]]
    with pytest.warns(UserWarning, match="Full backward hook is firing when gradients are computed with respect to module"):
        m(torch.ones(1, 2)).sum().backward()
    assert log[1][0] == (None,) and log[1][1][0].tolist() == [[1.0, 1.0]]
    handle.remove()
    m(x).sum().backward()
    assert len(log) == 2


def test_full_backward_hook_runs_once_for_two_derivatives():
    m, seen = nn.MSELoss(), []
    m.register_full_backward_hook(lambda *args: seen.append(1))
    x = torch.ones(1, requires_grad=True)
    (g,) = torch.autograd.grad(m(x, torch.zeros(1)), x, create_graph=True)
    assert torch.autograd.grad(g, x)[0].tolist() == [2.0] and seen == [1]


def test_full_backward_hook_keeps_named_tuples():
    Pair = collections.namedtuple("Pair", "total count")

    class Named(nn.Module):
        def forward(self, x):
            return Pair(x.sum(), 3) if kind is Pair else {"total": x.sum()}

    kind, m, seen = Pair, Named(), []
    m.register_full_backward_hook(lambda module, grad_in, grad_out: seen.append(grad_out))
    out = m(torch.ones(2, requires_grad=True))
    assert type(out) is Pair and out.count == 3
    out.total.backward()
    assert len(seen) == 1 and seen[0][0].item() == 1 and seen[0][1] is None
    kind = dict
    with pytest.warns(UserWarning, match="^For backward hooks to be called, module output should be a Tensor or a tuple of "
                                         "Tensors but received <class 'dict'>$"):
        assert type(m(torch.ones(2, requires_grad=True))) is dict


def test_backward_hooks_that_change_gradients():
    m = Double()
    m.register_full_backward_pre_hook(lambda module, grad_out: (grad_out[0] * 3,))
    m.register_full_backward_hook(lambda module, grad_in, grad_out: (grad_in[0] + grad_out[0], None))
    x = torch.ones(1, requires_grad=True)
    m(x, 0).backward()
    assert x.grad.item() == 2 * 3 + 3
    m.register_full_backward_hook(lambda module, grad_in, grad_out: (None,) * 5)
    with pytest.raises(RuntimeError, match="Backward hook returned an invalid number of grad_input, got 5, but expected 2"):
        m(x, 0).backward()


def test_hooks_of_all_modules_may_take_keyword_arguments():
    seen = []
    handle = nn.modules.module.register_module_forward_hook(lambda m, args, kwargs, out: seen.append(kwargs), with_kwargs=True)

    class Takes(nn.Module):
        def forward(self, x, *, scale=1):
            return x * scale

    with handle:
        Takes()(torch.ones(1), scale=3)
    Takes()(torch.ones(1), scale=4)
    assert seen == [{"scale": 3}]
