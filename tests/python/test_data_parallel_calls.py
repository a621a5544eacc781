"""nn.DataParallel and nn.parallel: what may be given and returned, and how it is said when it cannot. Texts are PyTorch's."""

from on_gpus import START, on_gpus

NETS = START + "from collections import OrderedDict, namedtuple\nfrom tenon import nn\nfrom parallel_nets import *\n\n"

# ---- arguments ----


@on_gpus(2, NETS)
def test_inputs_are_cut_in_whatever_they_are_nested():
    Pair = namedtuple("Pair", "a b")
    mark = object()
    seen = {}

    class Takes(nn.Module):
        def forward(self, *args, **kwargs):
            seen[torch.cuda.current_device()] = args, kwargs
            return args[0]

    x, y = torch.arange(10.0).reshape(5, 2), torch.arange(5)
    given = (x, Pair(x, y), [y, {"k": x}], {"list": [x], 3: y}, OrderedDict(z=y), mark, "text", (), [], {}, None, 7)
    out = nn.DataParallel(Takes())(*given, mask=y, flag=True, deep=[(x,)])
    assert torch.equal(out.cpu(), x)
    for i, part in ((0, slice(0, 3)), (1, slice(3, 5))):
        (gx, pair, both, table, ordered, *rest), kwargs = seen[i]
        assert gx.device == torch.device("cuda", i) and torch.equal(gx.cpu(), x[part])
        assert type(pair) is Pair and torch.equal(pair.a.cpu(), x[part]) and torch.equal(pair.b.cpu(), y[part])
        assert type(both) is list and torch.equal(both[0].cpu(), y[part]) and torch.equal(both[1]["k"].cpu(), x[part])
        assert list(table) == ["list", 3] and torch.equal(table["list"][0].cpu(), x[part]) and torch.equal(table[3].cpu(), y[part])
        assert type(ordered) is OrderedDict and torch.equal(ordered["z"].cpu(), y[part])
        assert rest[0] is mark and rest[1:] == ["text", (), [], {}, None, 7]
        assert list(kwargs) == ["mask", "flag", "deep"] and kwargs["flag"] is True
        assert torch.equal(kwargs["mask"].cpu(), y[part]) and torch.equal(kwargs["deep"][0][0].cpu(), x[part])


@on_gpus(3, NETS)
def test_how_many_replicas_the_arguments_make():
    class Takes(nn.Module):
        def forward(self, *args, **kwargs):
            calls.append((torch.cuda.current_device(), len(args), len(kwargs)))
            return torch.ones(1, device="cuda")

    calls = []
    x = torch.ones(2, 2)
    cases = [
        (((), {}), [(0, 0, 0)]),  # nothing: one call on the main GPU
        ((("a",), {}), [(0, 1, 0), (1, 1, 0), (2, 1, 0)]),  # no tensor: shared by all
        (((x,), {}), [(0, 1, 0), (1, 1, 0)]),
        (((x, 1), {}), [(0, 2, 0), (1, 2, 0)]),
        (((), {"x": x}), [(0, 0, 1), (1, 0, 1)]),
        (((x,), {"flag": True}), [(0, 1, 1), (1, 1, 1)]),
        (((x[:1],), {"flag": True}), [(0, 1, 1)]),
        ((("a",), {"x": x}), [(0, 1, 1), (1, 1, 1)]),
        (((x,), {"y": torch.ones(3)}), [(0, 1, 1), (1, 1, 1), (2, 0, 1)]),
        (((torch.ones(3),), {"y": x}), [(0, 1, 1), (1, 1, 1), (2, 1, 0)]),
    ]
    net = nn.DataParallel(Takes())
    for (args, kwargs), expected in cases:
        calls.clear()
        assert net(*args, **kwargs).shape == (len(expected),)
        assert sorted(calls) == expected, (args, kwargs)


@on_gpus(2, NETS)
def test_outputs_are_joined_in_whatever_they_are_nested():
    Pair = namedtuple("Pair", "a b")

    class Gives(nn.Module):
        def forward(self, x):
            return {"p": Pair(x, [x * 2, None]), "t": (x.sum(1), OrderedDict(d=x)), "n": None}

    x = torch.arange(10.0).reshape(5, 2)
    out = nn.DataParallel(Gives())(x)
    assert list(out) == ["p", "t", "n"] and out["n"] is None
    assert type(out["p"]) is Pair and type(out["p"].b) is list and out["p"].b[1] is None and type(out["t"]) is tuple
    assert torch.equal(out["p"].a.cpu(), x) and torch.equal(out["p"].b[0].cpu(), 2 * x)
    assert torch.equal(out["t"][0].cpu(), x.sum(1)) and type(out["t"][1]) is OrderedDict
    assert torch.equal(out["t"][1]["d"].cpu(), x) and out["t"][1]["d"].device == torch.device("cuda:0")


@on_gpus(2, NETS)
def test_losses_of_replicas_become_a_vector():
    class Loss(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))

        def forward(self, x):
            return (x * self.weight).sum()

    net = nn.DataParallel(Loss().cuda())
    text = ("^Was asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze and return a "
            "vector.$")
    with pytest.warns(UserWarning, match=text):
        loss = net(torch.arange(5.0))
    assert loss.tolist() == [3, 7] and loss.device == torch.device("cuda:0")
    loss.mean().backward()
    assert net.module.weight.grad.tolist() == [5]


# ---- what is wrong ----


@on_gpus(2, NETS)
def test_outputs_that_cannot_be_joined():
    class Gives(nn.Module):
        def forward(self, x):
            return make(x)

    net = nn.DataParallel(Gives())
    for make, error, text in (
        (lambda x: {i: x for i in range(x.shape[0])}, ValueError, "^All dicts must have the same number of keys$"),
        (lambda x: x.cpu(), AssertionError, "^Gather function not implemented for CPU tensors$"),
        (lambda x: 1.5, TypeError, "'float' object is not iterable"),
        (lambda x: {"text": "abc"}, TypeError, "outputs of type 'str' cannot be gathered"),
        (lambda x: x.reshape(-1) if x.shape[0] == 3 else x, RuntimeError,
         "^Expected all input tensors to have the same number of dimensions, but tensor at index 1has 2 dimensions"),
        (lambda x: x.reshape(-1, x.shape[0]), RuntimeError,
         re.escape("Tensor at index 1 has invalid shape [2, 2], but expected [2, 3]")),
    ):
        with pytest.raises(error, match=text):
            net(torch.ones(5, 2))
    make = lambda x: x  # noqa: E731
    assert net(torch.ones(5, 2)).shape == (5, 2)


@on_gpus(2, NETS)
def test_inputs_that_cannot_be_cut():
    net = nn.DataParallel(Seen().cuda())
    with pytest.raises(RuntimeError, match="^chunk expects at least a 1-dimensional tensor$"):
        net(torch.tensor(1.0))
    with pytest.raises(IndexError, match="Dimension out of range"):
        nn.DataParallel(Seen().cuda(), dim=3)(torch.ones(3, 3))
    with pytest.raises(TypeError, match="^Caught TypeError in replica 0 on device 0.\nOriginal Traceback"):
        net(torch.ones(4, 3), torch.ones(4), torch.ones(4))
    assert net(torch.ones(4, 3)).shape == (4, 3)


@on_gpus(2, NETS)
def test_gpus_that_are_none():
    module = Seen().cuda()
    for wrong in ("cpu", torch.device("cpu")):
        with pytest.raises(ValueError, match="^Expected a non cpu device, but got: cpu$"):
            nn.DataParallel(module, device_ids=[0, wrong])
        with pytest.raises(ValueError, match="^Expected a non cpu device, but got: cpu$"):
            nn.DataParallel(module, output_device=wrong)
    with pytest.raises(AssertionError, match="^Invalid device id$"):
        nn.DataParallel(module, device_ids=[0, 2])
    with pytest.raises(IndexError):
        nn.DataParallel(module, device_ids=[])
    with pytest.raises(RuntimeError):
        nn.DataParallel(module, device_ids=[0, 0])(torch.ones(4, 3))
    text = ('^Using -1 to represent CPU tensor is deprecated. Please use a device object or string instead, e.g., "cpu".$')
    with pytest.warns(FutureWarning, match=text):
        assert nn.DataParallel(module, output_device=-1)(torch.ones(4, 3)).device == torch.device("cpu")
    with cuda.device(1):
        assert nn.DataParallel(module, device_ids=["cuda", 0]).device_ids == [1, 0]


@on_gpus(2, NETS)
def test_gpus_that_differ_much():
    from collections import namedtuple
    from unittest import mock

    Properties = namedtuple("Properties", "total_memory multi_processor_count")
    text = (
        "\n    There is an imbalance between your GPUs. You may want to exclude GPU {} which\n    has less than 75% of the memory "
        "or cores of GPU {}. You can do so by setting\n    the device_ids argument to DataParallel, or by setting the "
        "CUDA_VISIBLE_DEVICES\n    environment variable."
    )
    for first, second, expected in (
        ((100, 10), (74, 10), text.format(1, 0)),
        ((100, 10), (75, 10), None),
        ((100, 7), (100, 10), text.format(0, 1)),
        ((70, 10), (100, 7), text.format(0, 1)),  # of memory first, and once
        ((100, 8), (100, 10), None),
    ):
        both = [Properties(*first), Properties(*second)]
        with mock.patch.object(cuda, "get_device_properties", lambda i: both[i]), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            nn.DataParallel(nn.Linear(1, 1).cuda())
        assert [str(w.message) for w in said] == ([expected] if expected else [])
        assert all(w.category is UserWarning and w.filename == "<string>" for w in said)


@on_gpus(2, NETS)
def test_zero_grad_inside_forward():
    class Zeroes(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)

        def forward(self, x):
            self.zero_grad()
            return self.linear(x)

    net = nn.DataParallel(Zeroes().cuda())
    net.module.linear.weight.grad = torch.ones(2, 2, device="cuda")
    text = (
        "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. The parameters are copied (in a "
        "differentiable manner) from the original module. This means they are not leaf nodes in autograd and so don't accumulate "
        "gradients. If you need gradients in your forward method, consider using autograd.grad instead."
    )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        net(torch.ones(4, 2))
    assert [str(w.message) for w in said] == [text] * 2
    assert net.module.linear.weight.grad.tolist() == [[1, 1], [1, 1]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net.zero_grad()
    assert net.module.linear.weight.grad is None


# ---- nn.parallel ----


@on_gpus(3, NETS)
def test_the_parts_by_themselves():
    from tenon.nn import parallel
    from tenon.nn.parallel import data_parallel, gather, parallel_apply, replicate, scatter

    x = torch.arange(10.0).reshape(5, 2)
    chunks = scatter(x, [0, "cuda:1", torch.device("cuda:2")])
    assert type(chunks) is tuple and [c.shape[0] for c in chunks] == [2, 2, 1]
    assert [c.device.index for c in chunks] == [0, 1, 2]
    assert type(scatter([x], [0, 1])) is list and type(scatter([x], [0, 1])[0]) is list
    assert [c.shape for c in scatter(x, [1, 0], dim=1)] == [(5, 1), (5, 1)]
    assert scatter("a", [0, 1]) == ["a", "a"] and scatter((), [0, 1]) == [(), ()]
    for where in (1, "cuda:1", torch.device("cuda:1")):
        assert gather(chunks, where).device == torch.device("cuda:1") and torch.equal(gather(chunks, where).cpu(), x)
    assert gather(chunks, "cpu").device == torch.device("cpu")
    assert gather([None, None], 0) is None
    module = nn.Linear(2, 3).cuda()
    replicas = replicate(module, [0, 1, 2])
    assert [r.weight.device.index for r in replicas] == [0, 1, 2] and replicas[0].weight.data_ptr() == module.weight.data_ptr()
    outputs = parallel_apply(replicas, chunks)
    assert type(outputs) is list and [o.device.index for o in outputs] == [0, 1, 2]
    y = gather(outputs, 0)
    y.sum().backward()
    assert module.bias.grad.tolist() == [5, 5, 5]
    assert_close(y, module(x.cuda()))
    assert_close(data_parallel(module, x), y) and data_parallel(module, (x,), [0, 2], 1).device == torch.device("cuda:1")
    assert data_parallel(Seen().cuda(), x[:, :1].expand(5, 3), module_kwargs={"scale": 2}).shape == (5, 3)
    assert data_parallel(module, x.cuda(), [0]).shape == (5, 3)
    assert replicate(module, []) == [] and not replicate(module, [0, 1], detach=True)[1].weight.requires_grad
    assert [r.weight.requires_grad for r in replicate(module, [0, 1])] == [True, True]
    with pytest.warns(FutureWarning):
        assert data_parallel(module, x, output_device=-1).device == torch.device("cpu")
    for name in ("comm", "_functions", "scatter_gather"):
        assert getattr(parallel, name).__name__ == f"tenon.nn.parallel.{name}"
    assert parallel.DataParallel is nn.DataParallel
    with pytest.raises(AttributeError, match="torch.distributed"):
        parallel.DistributedDataParallel


@on_gpus(2, NETS)
def test_the_parts_say_what_is_wrong():
    from tenon.nn.parallel import data_parallel, gather, parallel_apply, replicate, scatter

    module, x = nn.Linear(2, 2).cuda(), torch.ones(4, 2)
    with pytest.raises(ValueError, match="^Expected a non cpu device, but got: cpu$"):
        scatter(x, ["cpu"])
    with pytest.raises(ValueError, match="^Expected a non cpu device, but got: cpu$"):
        gather([x.cuda()], torch.device("cpu"))
    with pytest.raises(AssertionError, match="^Gather function not implemented for CPU tensors$"):
        gather([x, x], 0)
    with pytest.raises(AssertionError, match="^Broadcast function not implemented for CPU tensors$"):
        replicate(nn.Linear(2, 2), [0, 1])
    with pytest.raises(RuntimeError, match=re.escape("All tensors must be on devices[0]: 1")):
        replicate(module, [1, 0])
    with pytest.raises(RuntimeError, match=re.escape("on device cuda:1 (device_ids[0]) but found one of them on device: cuda:0")):
        data_parallel(module, x, [1, 0])
    for kwargs, what in (({"inputs": [x]}, "inputs 1"), ({"inputs": [x, x], "kwargs_tup": [{}]}, "kwargs_tup 1"),
                         ({"inputs": [x, x], "devices": [0]}, "devices 1")):
        with pytest.raises(AssertionError, match=f"^The number of modules 2 is not equal to the number of {what}$"):
            parallel_apply([module, module], **kwargs)


@on_gpus(2, NETS)
def test_parallel_apply_passes_the_first_exception():
    class Fails(nn.Module):
        def forward(self, *args):
            seen.append(torch.cuda.current_device())
            return {}["wonderful"]

    seen, x = [], torch.ones(2)
    for inputs in ((None, None), ("text", ()), (x, x), (x.cuda(), None)):  # on the current GPU where no input is on one
        with pytest.raises(KeyError, match="^Caught KeyError in replica 0 on device 0.\nOriginal Traceback[\\s\\S]+wonderful"):
            nn.parallel.parallel_apply((Fails(), Fails()), inputs)
    assert seen == [0] * 8
    with torch.cuda.device(1), pytest.raises(KeyError, match="in replica 0 on device 1"):
        nn.parallel.parallel_apply((Fails(), Fails()), (None, x.cuda(0)))


@on_gpus(2, NETS)
def test_parallel_apply_of_any_modules():
    import threading

    class Where(nn.Module):
        def forward(self, x, y=None):
            together.wait(60)
            threads.append(threading.get_ident())
            s = torch.cuda.current_stream()
            return torch.cuda.current_device(), s.cuda_stream, torch.is_grad_enabled(), x.shape[0], y

    threads, together = [], threading.Barrier(2)
    a, b = torch.ones(2, device="cuda:1"), torch.ones(3, device="cuda:0")
    modules = [Where(), Where()]
    assert [r[0] for r in nn.parallel.parallel_apply(modules, [a, {"x": b}["x"]])] == [1, 0]
    assert [r[3:] for r in nn.parallel.parallel_apply(modules, [(a,), [b]], ({"y": 1}, {}))] == [(2, 1), (3, None)]
    assert [r[0] for r in nn.parallel.parallel_apply(modules, [a, b], devices=["cuda:0", 1])] == [0, 1]
    assert len(set(threads[-2:])) == 2
    with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream(1)) as _:
        mine = torch.cuda.current_stream(1).cuda_stream
        with torch.cuda.device(0):
            found = nn.parallel.parallel_apply(modules, [a, b])
        net = nn.DataParallel(Where())
        net.gather = lambda outputs, device: outputs
        through = net(torch.ones(4))
    assert [r[:3] for r in found] == [(1, mine, False), (0, 0, False)] and mine
    assert [r[:3] for r in through] == [(0, 0, False), (1, mine, False)]
    assert [r[2] for r in net(torch.ones(4))] == [True, True]
    assert torch.cuda.current_device() == 0


@on_gpus(2, NETS)
def test_subclasses_may_have_their_own_parts():
    class Lists(nn.DataParallel):
        def scatter(self, inputs, kwargs, device_ids):
            return [(part.to(torch.device("cuda", d)),) for part, d in zip(inputs[0], device_ids)], ({},) * len(device_ids)

        def gather(self, outputs, output_device):
            return [o.cpu() for o in outputs]

        def forward(self, parts):
            inputs, _ = self.scatter((parts,), {}, self.device_ids)
            replicas = self.replicate(self.module, self.device_ids[: len(inputs)])
            return self.gather(self.parallel_apply(replicas, inputs, None), self.output_device)

    net = Lists(Seen().cuda())
    parts = [torch.ones(1, 3), torch.ones(4, 3)]
    assert [tuple(o.shape) for o in net(parts)] == [(1, 3), (4, 3)]

    class Same(nn.DataParallel):
        def replicate(self, module, device_ids):
            made.append(list(device_ids))
            return super().replicate(module, device_ids)

    made = []
    net = Same(nn.Linear(2, 2).cuda())
    x = torch.randn(3, 2)
    assert_close(net(x), net.module(x.cuda()))
    assert made == [[0, 1]]
