"""Modules and checks for the tests of DataParallel (the interpreters of on_gpus import it)."""

import copy

import tenon as torch
from tenon import nn


class FooNet(nn.Module):
    """The document's: prints the size of the batch it was given."""

    def __init__(self, neural_num, layers=3):
        super().__init__()
        self.linears = nn.ModuleList([nn.Linear(neural_num, neural_num, bias=False) for _ in range(layers)])

    def forward(self, x):
        print("\nbatch size in forward: {}".format(x.size()[0]))
        for linear in self.linears:
            x = torch.relu(linear(x))
        return x


class Seen(nn.Module):
    """Notes what each replica was given, in a list that all share."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.seen = []

    def forward(self, x, scale=1):
        self.seen.append((x.shape[0], x.device.index))
        return x * self.weight * scale


class Tangle(nn.Module):
    """A weight that two layers share, a layer that is not used, a list and a dictionary of parameters, a frozen one."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.unused = nn.Linear(4, 4)
        self.scales = nn.ParameterList([nn.Parameter(torch.full((4,), 0.5)), nn.Parameter(torch.full((4,), 2.0))])
        self.named = nn.ParameterDict({"shift": nn.Parameter(torch.arange(4.0))})
        self.frozen = nn.Parameter(torch.full((4,), 3.0), requires_grad=False)
        self.register_buffer("factor", torch.full((4,), 0.25))

    def forward(self, x):
        x = torch.tanh(self.first(x)) * self.scales[0]
        x = torch.tanh(self.second(x)) * self.scales[1] + self.named["shift"]
        return x * self.factor + self.frozen


def gradients(module):
    return {name: None if p.grad is None else p.grad.cpu() for name, p in module.named_parameters()}


def assert_close(a, b, tolerance=1e-5):
    a, b = a.detach().cpu(), b.detach().cpu()
    assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape)
    assert torch.allclose(a, b, rtol=tolerance, atol=tolerance), (a, b)


def assert_one_step_is_the_plain_one(module, x, ids):
    """Loss and gradients of a step on the GPUs, against those of the module itself on the CPU."""
    plain = copy.deepcopy(module)
    net = nn.DataParallel(module.cuda(), ids)
    losses = []
    for run in (plain, net):
        loss = (run(x) ** 2).mean()
        loss.backward()
        losses.append(loss)
    assert_close(losses[1], losses[0])
    expected, got = gradients(plain), gradients(net.module)
    assert expected.keys() == got.keys()
    for name, g in expected.items():
        if g is None:
            assert got[name] is None, name
        else:
            assert_close(got[name], g)
    return net
