"""nn.DataParallel on fake GPUs: what runs where, and that results and gradients are the plain module's. Texts are PyTorch's."""

import os
import subprocess
import sys

import pytest

from on_gpus import START, on_gpus

NETS = START + "import copy\nimport pickle\nfrom tenon import nn\nfrom parallel_nets import *\n\n"

# ---- the document's program ----

PROGRAM = """
import tenon as torch
from tenon import nn
from parallel_nets import FooNet
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
inputs = torch.randn(16, 3).to(device)
net = FooNet(neural_num=3, layers=3)
net = nn.DataParallel(net)
net.to(device)
outputs = net(inputs)
print("model outputs.size: {}".format(outputs.size()))
print("device_count :{}".format(torch.cuda.device_count()), outputs.device, net.device_ids)
"""


def run_program(count, visible=None, program=PROGRAM):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TENON_FAKE", "TENON_VISIBLE", "CUDA_"))}
    environment["TENON_FAKE_GPUS"] = str(count)
    if visible is not None:
        environment["CUDA_VISIBLE_DEVICES"] = visible
    paths = [os.path.dirname(__file__), environment.get("PYTHONPATH")]
    environment["PYTHONPATH"] = os.pathsep.join(p for p in paths if p)
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("gpus,visible,sizes", [
    (2, None, [8, 8]), (4, "2,3", [8, 8]), (4, "0,3,2", [6, 6, 4]), (4, None, [4, 4, 4, 4]), (2, "1", [16]), (2, "", [16]),
])
def test_the_documents_program(gpus, visible, sizes):
    done = run_program(gpus, visible)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    *batches, outputs, count = [line for line in done.stdout.splitlines() if line]
    assert sorted(batches, reverse=True) == [f"batch size in forward: {n}" for n in sizes]
    assert outputs == "model outputs.size: torch.Size([16, 3])"
    there = 0 if visible == "" else len(sizes)
    assert count == f"device_count :{there} {'cuda:0' if there else 'cpu'} {list(range(there))}"


def test_a_module_on_another_gpu_than_the_main_one():
    program = PROGRAM.replace("nn.DataParallel(net)", "nn.DataParallel(net, device_ids=[1, 2])").replace(
        "net.to(device)", 'net.to("cuda:2")')
    done = run_program(3, program=program)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-2:] == [
        "RuntimeError: module must have its parameters and buffers on device cuda:1 (device_ids[0]) but found one of them on "
        "device: cuda:2", "  module.to('cuda:1') moves it"]


# ---- results ----


@on_gpus(4, NETS)
def test_a_step_is_the_plain_one_on_any_gpus_for_any_batch():
    torch.manual_seed(1)
    for ids in ([0], [0, 1], [0, 1, 2], [0, 1, 2, 3]):
        for batch in (1, 5, 16, 64):
            module = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
            assert_one_step_is_the_plain_one(module, torch.randn(batch, 4), ids)
            assert_one_step_is_the_plain_one(Tangle(), torch.randn(batch, 4), ids)


@on_gpus(4, NETS)
def test_chunks_are_those_of_chunk():
    expected = {(16, 2): [8, 8], (5, 2): [3, 2], (5, 4): [2, 2, 1], (1, 4): [1], (6, 4): [2, 2, 2], (16, 3): [6, 6, 4]}
    for (batch, n), sizes in expected.items():
        module = Seen().cuda()
        net = nn.DataParallel(module, list(range(n)))
        x = torch.arange(batch * 3.0).reshape(batch, 3)
        y = net(x)
        assert sorted(module.seen, key=lambda s: s[1]) == [(size, i) for i, size in enumerate(sizes)]
        assert torch.equal(y.cpu(), x) and y.device == torch.device("cuda:0")


@on_gpus(3, NETS)
def test_gpus_in_another_order_and_the_output_elsewhere():
    net = nn.DataParallel(Seen().to("cuda:2"), device_ids=["cuda:2", torch.device("cuda:0")], output_device=1)
    assert net.device_ids == [2, 0] and net.output_device == 1 and net.src_device_obj == torch.device("cuda:2")
    x = torch.arange(15.0).reshape(5, 3).to("cuda:1").requires_grad_()
    y = net(x)
    assert y.device == torch.device("cuda:1") and torch.equal(y, x)
    assert sorted(net.module.seen) == [(2, 0), (3, 2)]
    (y * 2).sum().backward()
    assert torch.equal(x.grad, torch.full((5, 3), 2.0, device="cuda:1"))
    assert_close(net.module.weight.grad, 2 * x.sum(0)) and net.module.weight.grad.device == torch.device("cuda:2")


@on_gpus(2, NETS)
def test_another_dimension_is_cut():
    class Sum(nn.Module):
        def forward(self, x):
            seen.append(tuple(x.shape))
            return x * 2

    seen = []
    x = torch.arange(30.0).reshape(2, 5, 3)
    for dim, shapes in ((1, {(2, 3, 3), (2, 2, 3)}), (-1, {(2, 5, 2), (2, 5, 1)})):
        seen.clear()
        assert torch.equal(nn.DataParallel(Sum(), dim=dim)(x).cpu(), 2 * x) and set(seen) == shapes


@on_gpus(2, NETS)
def test_second_derivatives():
    torch.manual_seed(2)
    module = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))
    plain = copy.deepcopy(module)
    net = nn.DataParallel(module.cuda())
    x = torch.randn(5, 3)
    found = []
    for run, at in ((plain, x.clone().requires_grad_()), (net, x.cuda().requires_grad_())):
        (g,) = torch.autograd.grad(run(at).sum(), at, create_graph=True)
        (g**2).sum().backward()
        found.append((g, at.grad))
    for a, b in zip(*found):
        assert_close(a, b)
    for name, g in gradients(plain).items():
        if g is None or name == "2.bias":
            continue
        assert_close(gradients(net.module)[name], g)


@on_gpus(2, NETS)
def test_training_is_the_plain_one_and_copies_follow_the_optimiser():
    torch.manual_seed(3)
    module = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    plain = copy.deepcopy(module)
    net = nn.DataParallel(module.cuda())
    x, y = torch.randn(10, 4), torch.randn(10, 1)
    losses = []
    for run, target in ((plain, y), (net, y.cuda())):
        optimizer = torch.optim.SGD(run.parameters(), lr=0.1, momentum=0.9)
        losses.append([])
        for _ in range(20):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(run(x), target)
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    assert losses[0] == pytest.approx(losses[1], abs=1e-5) and losses[1][-1] < losses[1][0] / 2


@on_gpus(2, NETS)
def test_without_gradients_nothing_is_recorded():
    net = nn.DataParallel(nn.Linear(3, 2).cuda())
    with torch.no_grad():
        assert not net(torch.ones(4, 3)).requires_grad
    assert net(torch.ones(4, 3)).requires_grad
    net.requires_grad_(False)
    assert not net(torch.ones(4, 3)).requires_grad


# ---- buffers ----


@on_gpus(2, NETS)
def test_what_the_first_replica_writes_to_buffers_is_kept():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(1))
            self.register_buffer("absent", None)

        def forward(self, x):
            assert self.absent is None
            self.count += x.shape[0]
            return x + self.count

    net = nn.DataParallel(Counter().cuda())
    x = torch.zeros(5, 1)
    assert net(x).flatten().tolist() == [3, 3, 3, 2, 2]
    assert net(x).flatten().tolist() == [6, 6, 6, 5, 5]  # the second began where the first left off
    assert net.module.count.item() == 6
    net.module.count.fill_(100)
    assert net(x).flatten().tolist() == [103, 103, 103, 102, 102]
    net.module.count = torch.full((1,), 10.0, device="cuda:0")
    assert net(x).flatten().tolist() == [13, 13, 13, 12, 12]
    del net.module.count
    net.module.count = 1
    assert net(x).flatten().tolist() == [4, 4, 4, 3, 3] and net.module.count == 1


@on_gpus(2, NETS)
def test_running_statistics_are_those_of_the_first_chunk():
    torch.manual_seed(4)
    x = torch.randn(6, 3)
    plain, net = nn.BatchNorm1d(3), nn.DataParallel(nn.BatchNorm1d(3).cuda())
    for _ in range(3):
        plain(x[:3])
        net(x)
    assert_close(net.module.running_mean, plain.running_mean)
    assert_close(net.module.running_var, plain.running_var)
    assert net.module.num_batches_tracked.item() == 3
    plain.eval(), net.eval()
    assert_close(net(x), plain(x))  # with the same statistics on both GPUs


@on_gpus(2, NETS)
def test_buffers_that_want_gradients_get_them():
    class Times(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.ones(2, device="cuda").requires_grad_())

        def forward(self, x):
            return x * self.b

    net = nn.DataParallel(Times())
    net(torch.arange(8.0).reshape(4, 2)).sum().backward()
    assert net.module.b.grad.tolist() == [12, 16]


@on_gpus(2, NETS)
def test_whatever_writes_to_a_parameter_is_seen_by_all_replicas():
    module = nn.Linear(2, 2, bias=False).cuda()
    net, x = nn.DataParallel(module), torch.eye(2).repeat(2, 1)
    w = module.weight
    alias, row = w.detach(), w.detach()[1]
    other = nn.Linear(2, 2, bias=False)
    own = torch.zeros(2, 2, device="cuda")

    def through_state():
        net.load_state_dict({"module.weight": other.weight})

    def through_storage():
        w.data = own
        net(x)
        own.fill_(-3)

    def to_and_fro():
        module.cpu()
        with torch.no_grad():
            module.weight.mul_(2)
        module.cuda()

    for write in (
        lambda: w.data.fill_(2),
        lambda: alias.add_(1),
        lambda: row.fill_(9),
        lambda: w.data.__setitem__((0, 1), 4),
        lambda: w.data.t().mul_(torch.arange(1.0, 5, device="cuda").reshape(2, 2)),
        lambda: setattr(w, "data", torch.full((2, 2), 5.0, device="cuda")),
        through_state,
        through_storage,
        to_and_fro,
        lambda: nn.init.constant_(w, 0.5),
        lambda: nn.utils.vector_to_parameters(torch.arange(4.0, device="cuda"), module.parameters()),
        lambda: torch.optim.SGD([w], lr=1).step() if setattr(w, "grad", torch.ones_like(w)) is None else None,
        lambda: torch.add(w.data, 1, out=w.data),
    ):
        net(x)
        before = w.tolist()
        write()
        assert w.tolist() != before
        y = net(x).detach()
        assert y.tolist() == w.t().tolist() * 2, (y, w)


@on_gpus(2, NETS)
def test_what_is_kept_of_a_replica_does_not_change_later():
    class Gives(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))
            self.register_buffer("b", torch.zeros(3))

        def forward(self, x):
            taken.append((self.weight, self.b, self.weight[1:]))
            return x * self.weight + self.b

    taken = []
    module = Gives().cuda()
    net, x = nn.DataParallel(module), torch.ones(4, 3)
    first = net(x).sum()
    with torch.no_grad():
        for _ in range(3):
            module.weight.mul_(2)
            module.b.add_(1)
            net(x)
    ones, twos = [t for t in taken if t[0].device.index == 1][:2]
    assert ones[0].tolist() == [1, 1, 1] and ones[1].tolist() == [0, 0, 0] and ones[2].tolist() == [1, 1]
    assert twos[0].tolist() == [2, 2, 2] and twos[1].tolist() == [1, 1, 1] and twos[2].tolist() == [2, 2]
    first.backward()
    assert module.weight.grad.tolist() == [4, 4, 4]


@on_gpus(2, NETS)
def test_what_a_replica_does_to_its_copies_is_lost():
    class Clamps(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2, bias=False)

        def forward(self, x):
            if bad and x.device.index == 1:
                self.linear.weight.data.fill_(100)
                self.linear.weight.detach().add_(1)
            return self.linear(x)

    net, x = nn.DataParallel(Clamps().cuda()), torch.randn(4, 2)
    for bad in (False, True, False, True, False):
        y = net(x)
        expected = x @ net.module.linear.weight.cpu().T
        assert_close(y[:2], expected[:2])
        if bad:
            assert_close(y[2:], x[2:].sum(1, keepdim=True) * 101 * torch.ones(2), 1e-3)
        else:
            assert_close(y, expected)


# ---- replicas ----


@on_gpus(2, NETS)
def test_replicas_are_shallow_copies_made_for_each_forward():
    import weakref

    class Probe(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.empty = None
            self.shared = []
            self.register_parameter("none", None)

        def forward(self, x):
            replicas.append(weakref.ref(self))
            assert list(self.parameters()) == [] and list(self.linear.parameters()) == []
            assert self._is_replica and self.linear._is_replica and self is not module and self.linear is not module.linear
            assert self.none is None and self.shared is module.shared
            assert not isinstance(self.linear.weight, nn.Parameter) and self.linear.weight.grad_fn is not None
            assert not self.linear.weight.is_leaf and self.linear.weight.device == x.device
            assert list(self._former_parameters) == [] and set(self.linear._former_parameters) == {"weight", "bias"}
            assert self.linear is self._modules["linear"] and dict(self.named_children()) == {"linear": self.linear}
            modes.append((self.training, self.linear.training))
            self.counter += 1
            self.linear.note = x.device.index
            self.register_buffer("fresh", torch.zeros(1))
            self.extra = nn.Linear(1, 1)
            return self.linear(x) * self.factor

    module = Probe().cuda()
    module.counter, module.factor = 0, 1
    replicas, modes = [], []
    net = nn.DataParallel(module)
    x = torch.randn(4, 3)
    first = net(x)
    assert module.counter == 0 and not hasattr(module.linear, "note") and not hasattr(module, "fresh")
    assert set(module._modules) == {"linear"}
    assert len(replicas) == 2 and all(r() is None for r in replicas)
    module.factor = 2
    assert_close(net(x), 2 * first)
    net.eval()
    net(x)
    module.linear.train()
    net(x)
    assert modes == [(True, True)] * 4 + [(False, False)] * 2 + [(False, True)] * 2


@on_gpus(2, NETS)
def test_what_is_exchanged_between_forwards_is_seen():
    net = nn.DataParallel(nn.Sequential(nn.Linear(2, 2), nn.ReLU()).cuda())
    x = torch.randn(4, 2)
    net(x)
    with torch.no_grad():
        net.module[0].weight.fill_(0)
        net.module[0].bias.fill_(7)
    assert net(x).tolist() == [[7, 7]] * 4
    net.module[0].weight.data = torch.eye(2, device="cuda")
    assert_close(net(x), torch.relu(x + 7))
    net.module[1] = nn.Linear(2, 1, device="cuda")
    assert net(x).shape == (4, 1)
    net.module.add_module("2", nn.Flatten(0))
    assert net(x).shape == (4,)
    net.module.pop(2)
    net.module[0].bias = None
    net.module[1] = nn.Identity()
    assert_close(net(x), x)
    net.module = nn.Linear(2, 3, device="cuda")
    assert net(x).shape == (4, 3)
    net.module.half()
    assert net(x.half()).dtype == torch.float16


@on_gpus(2, NETS)
def test_a_module_whose_dictionaries_are_plain():
    class Restored(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)
            self.register_buffer("shift", torch.zeros(1))

        def __setstate__(self, state):
            self.__dict__.update(state)

        def forward(self, x):
            return self.linear(x) + self.shift

    module = copy.deepcopy(Restored().cuda())
    assert type(module._modules) is dict
    net, x = nn.DataParallel(module), torch.randn(4, 2)
    assert_close(net(x), module(x.cuda()))
    module.linear = nn.Linear(2, 2, device="cuda")
    assert_close(net(x), module(x.cuda()))
    module.shift = torch.ones(1, device="cuda")
    assert_close(net(x), module.linear(x.cuda()) + 1)
    net(x).sum().backward()
    assert module.linear.bias.grad.tolist() == [4, 4]


@on_gpus(2, NETS)
def test_hooks_run_for_each_replica():
    seen = []
    module = nn.Sequential(nn.Linear(3, 3), nn.ReLU()).cuda()
    net = nn.DataParallel(module)
    x = torch.randn(4, 3)
    net(x)
    handles = [
        module.register_forward_pre_hook(lambda m, args: seen.append(("pre", m is module, args[0].device.index))),
        module[0].register_forward_hook(lambda m, args, out: out + 1),
        module.register_full_backward_hook(lambda m, given, got: seen.append(("back", got[0].device.index))),
    ]
    y = net(x)
    assert sorted(seen) == [("pre", False, 0), ("pre", False, 1)]
    assert_close(y, torch.relu(x @ module[0].weight.cpu().T + module[0].bias.cpu() + 1))
    seen.clear()
    y.sum().backward()
    assert sorted(seen) == [("back", 0), ("back", 1)]
    for handle in handles:
        handle.remove()
    seen.clear()
    net(x).sum().backward()
    assert seen == []


@on_gpus(2, NETS)
def test_classes_have_a_say_in_how_they_are_copied():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)
            self.register_buffer("b", torch.ones(1))
            self.register_parameter("p", None)

        def _replicate_for_data_parallel(self):
            replica = super()._replicate_for_data_parallel()
            replica.mark = "own"
            return replica

        def forward(self, x):
            assert self.mark == "own" and self.p is None
            return self.linear(x) + self.b

    class Watched(nn.Module):
        def __init__(self):
            super().__init__()
            self.own = Own()
            self.weight = nn.Parameter(torch.ones(2))

        def __setattr__(self, name, value):
            names.append(name)
            super().__setattr__(name, value)

        def forward(self, x):
            return self.own(x) * self.weight

    names = []
    module = Watched()
    net = nn.DataParallel(module.cuda())
    names.clear()
    x = torch.randn(4, 2)
    y = net(x)
    assert sorted(names) == ["own", "own", "weight", "weight"], names
    own = module.own
    assert_close(y, (x @ own.linear.weight.cpu().T + own.linear.bias.cpu() + 1))
    y.sum().backward()
    assert module.weight.grad is not None and own.linear.weight.grad is not None


# ---- around it ----


@on_gpus(2, NETS)
def test_state_printing_and_copies():
    net = nn.DataParallel(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).cuda())
    assert list(net.state_dict()) == [f"module.0.{n}" for n in ("weight", "bias")] + [
        f"module.1.{n}" for n in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")]
    assert repr(net).splitlines()[:3] == [
        "DataParallel(", "  (module): Sequential(", "    (0): Linear(in_features=2, out_features=2, bias=True)"]
    x = torch.randn(4, 2)
    net.eval()
    y = net(x)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net)), copy.copy(net)):
        assert type(other) is nn.DataParallel and other.device_ids == [0, 1] and other.dim == 0
        assert torch.equal(other(x), y)
    assert not any(name.startswith(("_kept", "_lost")) for name in net.__getstate__())
    net.load_state_dict({k: torch.zeros_like(v) for k, v in net.state_dict().items()})
    assert net(x).tolist() == [[0, 0]] * 4
    assert list(dict(net.named_modules())) == ["", "module", "module.0", "module.1"]
    assert nn.DataParallel[nn.Linear](nn.Linear(1, 1)).device_ids == [0, 1]
    net.device_ids = [0]
    assert net(x).device == torch.device("cuda:0")


@on_gpus(3, NETS)
def test_one_gpu_is_where_the_module_goes():
    module = Seen()
    net = nn.DataParallel(module, device_ids=["cuda:1"])
    assert net.device_ids == [1] and module.weight.device == torch.device("cuda:1")
    y = net(torch.ones(5, 3))
    assert y.device == torch.device("cuda:1") and module.seen == [(5, 1)]
    assert net.report() == [] and "one GPU" in net.explain()
    module.cpu()
    with pytest.raises(RuntimeError, match=re.escape("on device cuda:1 (device_ids[0]) but found one of them on device: cpu")):
        net(torch.ones(5, 3))


@on_gpus(0, NETS)
def test_without_a_gpu_the_module_is_called_as_it_is():
    module = Seen()
    net = nn.DataParallel(module, device_ids=[0, 1], output_device=0)
    assert net.device_ids == []
    assert net(torch.ones(5, 3), scale=2).tolist() == [[2, 2, 2]] * 5 and module.seen == [(5, None)]
    assert net.report() == [] and "no GPU" in net.explain()
    with pytest.raises(RuntimeError, match="^device type could not be determined$"):
        nn.parallel.data_parallel(module, torch.ones(5, 3))
    with pytest.raises(AssertionError, match="^No available accelerator found.$"):
        nn.parallel.parallel_apply([module], [torch.ones(5, 3)])


@on_gpus(2, NETS)
def test_the_report_of_a_step():
    net = nn.DataParallel(nn.Linear(3, 2).cuda())
    assert net.report() == [] and isinstance(net.explain(), str)
    y = net(torch.ones(5, 3, device="cuda"))
    assert [r.gather_bytes for r in net.report()] == [0, 2 * 2 * 4] and [r.backward_ms for r in net.report()] == [-1, -1]
    y.sum().backward()
    rows = net.report()
    assert [(r.device, r.samples) for r in rows] == [(torch.device("cuda:0"), 3), (torch.device("cuda:1"), 2)]
    assert rows[1].scatter_bytes == 2 * 3 * 4 and rows[1].gather_bytes == 2 * (2 * 2 * 4)  # outputs, and their gradients
    assert rows[1].broadcast_bytes == rows[1].reduce_bytes == (3 * 2 + 2) * 4
    assert rows[0].forward_ms >= 0 and rows[1].backward_ms >= 0
    assert "cuda:1" in net.explain()
    assert rows[0]._fields[:3] == ("device", "samples", "scatter_ms")
