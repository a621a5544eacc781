"""torch.cuda.comm, and the differentiable pieces under PyTorch's names. Texts are PyTorch's."""

from on_gpus import START, on_gpus

COMM = START + "from tenon.cuda import comm\nfrom tenon import nn\nfrom parallel_nets import assert_close\n\n"


@on_gpus(3, COMM)
def test_broadcast():
    assert torch.cuda.comm is comm and comm.broadcast is nn.parallel.comm.broadcast
    for where in ("cpu", "cuda:0", "cuda:2"):
        x = torch.arange(6.0).reshape(2, 3).to(where)
        out = comm.broadcast(x, [0, "cuda:1", torch.device("cuda:2")])
        assert type(out) is tuple and [t.device.index for t in out] == [0, 1, 2]
        assert all(torch.equal(t.cpu(), x.cpu()) for t in out)
        assert sum(t is x for t in out) == (where != "cpu")
    out = [torch.zeros(2, 3, device=f"cuda:{i}") for i in (1, 2)]
    got = comm.broadcast(x, out=out)
    assert type(got) is tuple and got[0] is out[0] and got[1] is out[1]
    assert all(torch.equal(t.cpu(), x.cpu()) for t in out)
    for args, kwargs, shown in (((x,), {}, "devices=None and out=None"), ((x, [0]), {"out": []}, "devices=[0] and out=[]")):
        text = f"Exactly one of 'devices' and 'out' must be specified, but got {shown}"
        with pytest.raises(RuntimeError, match=f"^{re.escape(text)}$"):
            comm.broadcast(*args, **kwargs)
    text = "Expected all output tensors to be CUDA tensors, but output tensor at index 1 has device 'cpu'"
    with pytest.raises(RuntimeError, match=f"^{re.escape(text)}$"):
        comm.broadcast(x, out=[out[0], torch.zeros(2, 3)])
    text = ("Expected all output tensors to have same shape as the source tensor [2, 3], but output tensor at index 0 has shape "
            "[3, 2]")
    with pytest.raises(RuntimeError, match=f"^{re.escape(text)}$"):
        comm.broadcast(x, out=[torch.zeros(3, 2, device="cuda")])
    with pytest.raises(ValueError):
        comm.broadcast(x, ["cuda"])


@on_gpus(2, COMM)
def test_many_at_once():
    xs = [torch.arange(3.0, device="cuda"), torch.ones(2, 2, dtype=torch.int64, device="cuda"), torch.tensor(2.0, device="cuda")]
    copies = comm.broadcast_coalesced(xs, [0, 1], buffer_size=10)
    assert [[t.device.index for t in row] for row in copies] == [[0] * 3, [1] * 3]
    assert all(torch.equal(a.cpu(), b.cpu()) and a.dtype == b.dtype for row in copies for a, b in zip(row, xs))
    with pytest.raises(RuntimeError, match=re.escape("All tensors must be on devices[0]: 1")):
        comm.broadcast_coalesced(xs, [1, 0])
    sums = comm.reduce_add_coalesced(copies, 1)
    assert type(sums) is tuple and all(t.device == torch.device("cuda:1") for t in sums)
    assert all(torch.equal(s.cpu(), 2 * x.cpu()) for s, x in zip(sums, xs))
    with cuda.device(1):
        assert comm.reduce_add_coalesced(copies)[0].device == torch.device("cuda:1")


@on_gpus(3, COMM)
def test_reduce_add():
    parts = [torch.full((2, 3), float(i + 1), device=f"cuda:{i}") for i in range(3)]
    for i in range(3):
        total = comm.reduce_add(parts, i)
        assert total.device == torch.device("cuda", i) and total.tolist() == [[6] * 3] * 2
    assert comm.reduce_add(parts).device == torch.device("cuda:0")
    assert [p[0, 0].item() for p in parts] == [1, 2, 3]
    assert comm.reduce_add(parts[:1], 0) is parts[0]
    with pytest.raises(AssertionError, match="^reduce_add expects all inputs to be on GPUs, but input 1 is on CPU$"):
        comm.reduce_add([parts[0], torch.ones(2, 3)])
    with pytest.raises(ValueError, match="^input 1 has invalid size: got 3x2, but expected 2x3$"):
        comm.reduce_add([parts[0], torch.ones(3, 2, device="cuda")])
    text = "^reduce_add expects destination to be on the same GPU with one of the tensors$"
    with pytest.raises(RuntimeError, match=text):
        comm.reduce_add(parts[:2], 2)


@on_gpus(3, COMM)
def test_scatter():
    x = torch.arange(30.0).reshape(5, 6)
    for where in ("cpu", "cuda:1"):
        chunks = comm.scatter(x.to(where), [0, 1, 2])
        assert type(chunks) is tuple and [tuple(c.shape) for c in chunks] == [(2, 6), (2, 6), (1, 6)]
        assert [c.device.index for c in chunks] == [0, 1, 2] and torch.equal(torch.cat([c.cpu() for c in chunks]), x)
    chunks = comm.scatter(x, ["cuda:2", 0], [1, 5], dim=1)
    assert [tuple(c.shape) for c in chunks] == [(5, 1), (5, 5)] and chunks[0].device == torch.device("cuda:2")
    assert [tuple(c.shape) for c in comm.scatter(x, [0, 1], dim=-1, streams=[None, None])] == [(5, 3), (5, 3)]
    out = [torch.zeros(5, 2, device="cuda:1"), torch.zeros(5, 4, device="cuda:0")]
    got = comm.scatter(x, out=out, dim=-1)
    assert got[0] is out[0] and torch.equal(torch.cat([t.cpu() for t in got], 1), x)
    for call, text in (
        (lambda: comm.scatter(x, []), "Expected at least one device to scatter to"),
        (lambda: comm.scatter(x, [0, 1], [5]),
         "Expected devices and chunk_sizes to be of same length, but got len(devices) = 2 and len(chunk_sizes) = 1"),
        (lambda: comm.scatter(x, [0, 1], [1, 2]), "split_with_sizes expects split_sizes to sum exactly to 5 (input tensor's size at "
         "dimension 0), but got split_sizes=[1, 2]"),
        (lambda: comm.scatter(x, [0], out=out), "'devices' must not be specified when 'out' is specified, but got devices=[0]"),
        (lambda: comm.scatter(x, None, [5], out=out),
         "'chunk_sizes' must not be specified when 'out' is specified, but got chunk_sizes=[5]"),
        (lambda: comm.scatter(x, out=[]), "Expected at least one output tensor to scatter to"),
        (lambda: comm.scatter(x, out=[torch.zeros(5, 6)]),
         "Expected all output tensors to be CUDA tensors, but output tensor at index 0 has device 'cpu'"),
        (lambda: comm.scatter(x, out=out), "Output tensor at index 0 has incorrect shape: [5, 2]. Expected same shape except for "
         "scatter dim 0 as the source tensor: [5, 6]"),
        (lambda: comm.scatter(x, out=out[:1], dim=1), "Total size for output tensors along scatter dim 1 does not match the source "
         "tensor size at dim 1. Expected 6, but got total size 2"),
    ):
        with pytest.raises(RuntimeError, match=f"^{re.escape(text)}$"):
            call()
    with pytest.raises(IndexError, match="Dimension out of range"):
        comm.scatter(x, out=out, dim=2)


@on_gpus(3, COMM)
def test_gather():
    parts = [torch.full((i + 1, 2), float(i), device=f"cuda:{i}") for i in range(3)]
    joined = torch.tensor([[0, 0], [1, 1], [1, 1], [2, 2], [2, 2], [2, 2.0]])
    for where, device in ((None, "cuda:0"), (2, "cuda:2"), ("cuda:1", "cuda:1"), ("cpu", "cpu"), (torch.device("cpu"), "cpu")):
        got = comm.gather(parts, destination=where)
        assert got.device == torch.device(device) and torch.equal(got.cpu(), joined)
    with cuda.device(1):
        assert comm.gather(parts).device == torch.device("cuda:1")
    assert comm.gather([p[:1] for p in parts], dim=-1, destination=0).tolist() == [[0, 0, 1, 1, 2, 2]]
    with pytest.warns(FutureWarning, match="^Using -1 to represent CPU tensor is deprecated."):
        assert comm.gather(parts, 0, -1).device == torch.device("cpu")
    for device in ("cpu", "cuda:1"):
        out = torch.zeros(6, 2, device=device)
        assert comm.gather(parts, out=out) is out and torch.equal(out.cpu(), joined)
    wide = torch.ones(1, 3, device="cuda")
    for call, text in (
        (lambda: comm.gather([]), "Expected at least one tensor to gather from"),
        (lambda: comm.gather(parts, 0, 1, out=out), "'destination' must not be specified when 'out' is specified, but got "
         "destination=1"),
        (lambda: comm.gather([parts[0], torch.ones(1, 2)]),
         "Expected all input tensors to be CUDA tensors, but tensor at index 1 has device 'cpu'"),
        (lambda: comm.gather([parts[0], wide]), "Tensor at index 1 has invalid shape [1, 3], but expected [1, 2]"),
        (lambda: comm.gather(parts, out=out[:5]), "Expected out tensor to have shape [6, 2], but got [5, 2]"),
    ):
        with pytest.raises(RuntimeError, match=f"^{re.escape(text)}$"):
            call()
    with pytest.raises(RuntimeError, match="^Expected all input tensors to have the same number of dimensions, but"):
        comm.gather([parts[0], parts[1][0]])


@on_gpus(3, COMM)
def test_gradients_go_back_the_way_the_values_came():
    from tenon.nn.parallel._functions import Broadcast, Gather, ReduceAddCoalesced, Scatter

    x = torch.arange(10.0).reshape(5, 2).requires_grad_()
    chunks = Scatter.apply([0, 1, 2], None, 0, x)
    y = Gather.apply(1, 0, *[c * (i + 1) for i, c in enumerate(chunks)])
    (y * y).sum().backward()
    scale = torch.tensor([1, 1, 2, 2, 3.0]).reshape(5, 1)
    assert y.device == torch.device("cuda:1") and x.grad.device == torch.device("cpu")
    assert torch.equal(x.grad, 2 * x * scale**2)
    w, b = torch.ones(2, device="cuda:1", requires_grad=True), torch.zeros(3, device="cuda:1")
    copies = Broadcast.apply([1, 0], w, b)
    assert type(copies) is tuple and [t.device.index for t in copies] == [1, 1, 0, 0]
    assert [t.requires_grad for t in copies] == [True, False, True, False]
    sums = ReduceAddCoalesced.apply(1, 2, *copies)
    assert sums[0].tolist() == [2, 2] and sums[0].device == torch.device("cuda:1") and sums[1].tolist() == [0, 0, 0]
    (sums[0] * torch.tensor([1.0, 3.0], device="cuda:1")).sum().backward()
    assert w.grad.tolist() == [2, 6] and w.grad.device == torch.device("cuda:1")
    assert Broadcast.apply([0, 1]) == ()
    assert Scatter.apply([0, 1], (1, 4), 0, x)[1].shape == (4, 2)
    assert Gather.apply("cpu", 0, *chunks).device == torch.device("cpu")
    with pytest.raises(AssertionError, match="^Broadcast function not implemented for CPU tensors$"):
        Broadcast.apply([0, 1], x)
    with pytest.raises(AssertionError, match="^Gather function not implemented for CPU tensors$"):
        Gather.apply(0, 0, x)
    with pytest.warns(UserWarning, match="^Was asked to gather along dimension 0, but all input tensors were scalars"):
        assert Gather.apply(0, 0, *[c.sum() for c in chunks]).shape == (3,)


@on_gpus(2, COMM)
def test_teams_refuse_what_they_cannot_use():
    x = torch.ones(2, 2, device="cuda")
    for call, error in (
        (lambda: torch._C._Team([]), RuntimeError), (lambda: torch._C._Team([0, 0]), RuntimeError),
        (lambda: torch._C._Team([1.5]), TypeError), (lambda: torch._C._Team(3), TypeError),
        (lambda: torch._C._TeamStep(), TypeError), (lambda: torch._C._parallel_scatter(x, [0], 0, None, "step"), TypeError),
        (lambda: torch._C._parallel_scatter(3, [0]), TypeError), (lambda: torch._C._parallel_gather([x, 1], 0), TypeError),
        (lambda: torch._C._parallel_broadcast([None], [0]), TypeError), (lambda: torch._C._parallel_gather(x, 0, "a"), TypeError),
        (lambda: torch._C._parallel_scatter(x, [0, 1], 0, ["a", 1]), TypeError),
        (lambda: torch._C._parallel_scatter(x, [0, 7]), RuntimeError), (lambda: torch._C._Team([0, 1]).step().call(2, print, (), {}), RuntimeError),
        (lambda: torch._C._Team([0, 1]).step().call(-1, print, (), {}), RuntimeError),
        (lambda: torch._C._Team([0, 1]).step().call(0, print, [], {}), TypeError),
    ):
        with pytest.raises(error):
            call()
    step = torch._C._Team([1, "cuda:0"]).step()
    assert step.device_ids == [1, 0] and step.devices == [torch.device("cuda:1"), torch.device("cuda:0")]
    assert step.call(0, torch.cuda.current_device, (), {}) == 1 and torch.cuda.current_device() == 0
    with pytest.raises(KeyError):
        step.call(0, {}.__getitem__, ("a",), {})
    assert torch.cuda.current_device() == 0
    many = [torch.full((1,), float(i), device="cuda") for i in range(200)]
    copies = torch._C._parallel_broadcast(many, [0, 1])
    assert [t.item() for t in copies[1]] == list(range(200)) and torch._C._parallel_gather(many, 1).shape == (200,)
