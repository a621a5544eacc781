"""nn.DataParallel on fake GPUs: replicas that fail, GPUs that are lost, memory, threads, fork."""

from on_gpus import START, on_gpus

NETS = START + "import gc\nimport sys\nimport threading\nfrom tenon import nn\nfrom parallel_nets import *\n\n"

# ---- a replica that fails ----


@on_gpus(3, NETS)
def test_one_replica_fails_and_the_others_finish():
    class Fails(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x):
            device = torch.cuda.current_device()
            if device in bad:
                raise bad[device]
            self.count += 1
            done.append(device)
            return self.linear(x)

    class Unfriendly(Exception):
        def __init__(self, first, second):
            super().__init__(first)

    module, bad, done = Fails().cuda(), {}, []
    net, x = nn.DataParallel(module), torch.randn(6, 2)
    good = net(x)
    for bad, error, where, finished in (
        ({0: KeyError("k")}, KeyError, "KeyError in replica 0 on device 0", [1, 2]),
        ({1: ValueError("v")}, ValueError, "ValueError in replica 1 on device 1", [0, 2]),
        ({1: IndexError("i"), 2: KeyError("k")}, IndexError, "IndexError in replica 1 on device 1", [0]),
        ({2: Unfriendly("a", "b")}, RuntimeError, "Unfriendly in replica 2 on device 2", [0, 1]),
        ({2: SystemExit(3)}, SystemExit, "SystemExit in replica 2 on device 2", [0, 1]),
    ):
        done = []
        with pytest.raises(error) as raised:
            net(x)
        assert type(raised.value) is error
        lines = (str(raised.value.args[0])).splitlines()
        assert lines[0] == f"Caught {where}." and lines[1] == "Original Traceback (most recent call last):"
        assert f"{type(bad[max(bad) if 1 not in bad else 1]).__name__}" in lines[-1]
        assert sorted(done) == finished
        bad = {}
        assert torch.cuda.current_device() == 0 and torch.is_grad_enabled()
        assert_close(net(x), good)
    net(x).sum().backward()
    assert module.linear.bias.grad.tolist() == [6, 6]


@on_gpus(2, NETS)
def test_a_library_module_fails_in_a_replica():
    net = nn.DataParallel(nn.Sequential(nn.Linear(3, 2), nn.ReLU()).cuda())
    with pytest.raises(RuntimeError) as raised:
        net(torch.ones(4, 5))
    text = str(raised.value)
    assert text.startswith("Caught RuntimeError in replica 0 on device 0.\nOriginal Traceback (most recent call last):\n")
    assert "mat1 and mat2 shapes cannot be multiplied (2x5 and 3x2)" in text
    assert net(torch.ones(4, 3)).shape == (4, 2)


@on_gpus("2x64MiB", NETS)
def test_one_replica_has_too_little_memory():
    class Greedy(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)

        def forward(self, x):
            if hungry and x.device.index == 1:
                torch.empty(1 << 26, device=x.device)
            return self.linear(x)

    net, x = nn.DataParallel(Greedy().cuda()), torch.randn(4, 2)
    hungry = True
    with pytest.raises(torch.OutOfMemoryError) as raised:
        net(x)
    text = str(raised.value)
    assert text.startswith("Caught OutOfMemoryError in replica 1 on device 1.\nOriginal Traceback (most recent call last):\n")
    assert "CUDA out of memory. Tried to allocate 256.00 MiB. GPU 1 has a total capacity of 64.00 MiB" in text
    hungry = False
    assert_close(net(x), net.module.linear(x.cuda()))


@on_gpus("2x64MiB", NETS)
def test_copies_of_a_module_that_do_not_fit():
    net = nn.DataParallel(nn.Linear(1024, 1024).cuda())
    held = torch.empty((48 << 20) // 4, device="cuda:1")
    with pytest.raises(torch.OutOfMemoryError):
        for _ in range(4):
            net(torch.ones(4096, 1024))
    del held
    torch.cuda.empty_cache()
    x = torch.ones(2, 1024)
    assert_close(net(x), net.module(x.cuda()), 1e-4)


# ---- a GPU that is lost ----


@on_gpus(3, NETS, TENON_FAKE_GPU_FAULTS="lost@60:1")
def test_a_lost_gpu_is_left_out():
    net, x = nn.DataParallel(nn.Linear(3, 2).cuda()), torch.randn(6, 3)
    expected = net.module(x.cuda()).cpu()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError):
            for _ in range(60):
                net(x)
                torch.cuda.synchronize(1)
    text = r"^DataParallel goes on without cuda:1, which is lost since an error on it; torch.cuda.reset\(1\) makes it usable again$"
    with pytest.warns(UserWarning, match=text) as said:
        y = net(x)
    assert len(said) == 1 and said[0].filename == "<string>"
    assert_close(y, expected)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = net(x)
        y.sum().backward()
    assert_close(y, expected)
    assert net.module.bias.grad.tolist() == [6, 6]
    assert [(r.device.index, r.samples) for r in net.report()] == [(0, 3), (2, 3)]
    assert net.device_ids == [0, 1, 2]
    torch.cuda.reset(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_close(net(x), expected)
    assert [r.device.index for r in net.report()] == [0, 1, 2]


@on_gpus(2, NETS, TENON_FAKE_GPU_FAULTS="lost@60:0")
def test_the_main_gpu_is_lost():
    net, x = nn.DataParallel(nn.Linear(3, 2).cuda()), torch.randn(6, 3)
    with pytest.raises(RuntimeError):
        for _ in range(60):
            net(x)
            torch.cuda.synchronize(0)
    with pytest.raises(RuntimeError):
        net(x)
    torch.cuda.reset(0)
    with pytest.raises(RuntimeError):  # its tensors are void
        net(x)
    net.module = nn.Linear(3, 2).cuda()
    y = net(x)
    y.sum().backward()
    assert_close(y, net.module(x.cuda()))
    assert net.module.bias.grad.tolist() == [6, 6]


# ---- what is kept, and what is not ----


@on_gpus(2, NETS)
def test_memory_and_references_stay_where_they_are():
    module = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4)).cuda()
    net, x, target = nn.DataParallel(module), torch.randn(10, 8), torch.randn(10, 4, device="cuda")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), target).backward()
        optimizer.step()

    def held():
        gc.collect()
        parameters = list(module.parameters())
        return (
            [torch.cuda.memory_allocated(i) for i in (0, 1)],
            [torch.cuda.memory_stats(i)["num_device_alloc"] for i in (0, 1)],
            [sys.getrefcount(p) for p in parameters],
            [sys.getrefcount(o) for o in (net, module, x, target)],
            threading.active_count(),
        )

    for _ in range(20):
        step()
    before, objects = held(), len(gc.get_objects())
    for _ in range(500):
        step()
    after = held()
    assert after == before, (before, after)
    assert len(gc.get_objects()) - objects < 50
    held_by_one = torch.cuda.memory_allocated(1)
    assert held_by_one > 0  # the copies
    del net
    gc.collect()
    optimizer.zero_grad()
    assert torch.cuda.memory_allocated(1) == 0


@on_gpus(2, NETS)
def test_nothing_of_a_forward_stays_when_it_failed():
    import weakref

    class Fails(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)

        def forward(self, x):
            made.append(weakref.ref(self))
            if x.device.index == 1:
                raise KeyError
            return self.linear(x)

    made, net = [], nn.DataParallel(Fails().cuda())
    for _ in range(3):
        with pytest.raises(KeyError):
            net(torch.ones(4, 2))
    gc.collect()
    assert len(made) == 6 and all(r() is None for r in made)


# ---- threads and processes ----


@on_gpus(2, NETS)
def test_two_threads_use_one():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x):
            return torch.relu(self.linear(x))

    for module in (nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), Own()):
        net = nn.DataParallel(module.cuda()).eval()
        wrong = []

        def run(seed):
            try:
                with torch.no_grad():
                    x = torch.randn(5 + seed, 4)
                    expected = module(x.cuda()).cpu()
                    for _ in range(40):
                        assert_close(net(x), expected)
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=run, args=(i,)) for i in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert wrong == []


@on_gpus(2, NETS)
def test_threads_are_kept_and_end_with_the_interpreter():
    class Own(nn.Module):
        def forward(self, x):
            idents.add(threading.get_ident())
            together.wait(60)  # each waits for the other: they do run at the same time
            return x * 2

    idents, together, net = set(), threading.Barrier(2), nn.DataParallel(Own())
    for _ in range(10):
        net(torch.ones(4, 2))
    assert len(idents) == 2 and threading.active_count() == 2
    assert all(t.daemon for t in threading.enumerate() if t is not threading.main_thread())


@on_gpus(2, NETS)
def test_a_child_of_fork_makes_its_own_threads():
    import os

    from tenon.nn.parallel.parallel_apply import _side_by_side

    together = threading.Barrier(3)

    def run(i):
        together.wait(60)
        return i, threading.get_ident()

    assert [i for i, _ in _side_by_side(run, 3)] == [0, 1, 2]
    child = os.fork()
    if not child:
        found = _side_by_side(run, 3)
        os._exit(0 if [i for i, _ in found] == [0, 1, 2] and len({t for _, t in found}) == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0


@on_gpus(2, NETS)
def test_a_module_that_is_interrupted():
    class Interrupts(nn.Module):
        def forward(self, x):
            if x.device.index == 0 and stop:
                raise KeyboardInterrupt
            finished.append(x.device.index)
            return x

    finished, stop, net = [], True, nn.DataParallel(Interrupts())
    with pytest.raises(KeyboardInterrupt):
        net(torch.ones(4, 2))
    assert finished in ([], [1])  # [1]: its thread had begun
    stop = False
    assert net(torch.ones(4, 2)).shape == (4, 2)


@on_gpus(2, NETS)
def test_inside_another():
    inner = nn.DataParallel(nn.Linear(2, 2).cuda())
    outer = nn.DataParallel(nn.Sequential(inner))
    x = torch.ones(4, 2)
    with pytest.raises(RuntimeError, match="^Caught "):
        outer(x)
    assert inner(x).shape == (4, 2)
