"""Cycles through the graph, by hooks and by what functions keep: what PyTorch frees, Tenon frees (tests/python/data/cycles.json
has PyTorch's counts), memory stays flat, and a collection at any moment takes nothing of a graph that is in use."""

import gc
import json
import os
import pathlib
import threading
import weakref

import cycles
import pytest

import tenon as torch

PYTORCH = json.loads((pathlib.Path(__file__).parent / "data/cycles.json").read_text())


@pytest.fixture(autouse=True, scope="module")
def young():
    """Collections look at what these tests make, and not at the thousands of objects that pytest has: they take no time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def collect():
    """As often as something is found: what a graph has kept is garbage when the graph has gone."""
    while gc.collect():
        pass


def live():
    collect()
    return torch._C._live_tensors()


def test_the_records_are_of_these_programs():
    assert list(PYTORCH) == list(cycles.PROGRAMS)


@pytest.mark.parametrize("name", cycles.PROGRAMS)
def test_what_pytorch_frees_is_freed(name):
    before = live()
    left = cycles.left(torch, name)
    assert left <= PYTORCH[name]
    assert left == 0  # PyTorch keeps some of them for ever
    assert live() == before


@pytest.mark.parametrize("name", ["parameter_hook_bound_to_the_module", "function_keep_all", "full_backward_hooks",
                                  "module_that_keeps_a_function_of_itself", "built_in_method_of_the_tensor"])
def test_memory_is_flat(name):
    """Without one call of gc.collect: Python's own rhythm is enough."""
    cycles.PROGRAMS[name](torch)
    before, most = live(), 0
    for _ in range(200):
        cycles.PROGRAMS[name](torch)
        most = max(most, torch._C._live_tensors())
    assert most < before + 2000  # 10 a round and more would stay
    assert live() == before


def test_a_saved_output_needs_no_collector():
    """save_for_backward(output) is no cycle: the graph goes with its last reference."""
    gc.collect()
    gc.disable()
    try:
        before = torch._C._live_tensors()
        for name in ("function_save_output", "function_save_input"):
            refs = cycles.PROGRAMS[name](torch)
            assert [r() for r in refs[1:]] == [None] * 3  # the first: of what the class Twice knows, itself a cycle
        assert torch._C._live_tensors() == before
    finally:
        gc.enable()


class Exp(torch.autograd.Function):
    """Keeps what makes cycles, and looks whether it is all there."""

    @staticmethod
    def forward(ctx, x, look):
        y = x.exp()
        ctx.save_for_backward(x, y)
        ctx.all = [x, y, ctx]
        ctx.look = look
        look()
        return y

    @staticmethod
    def backward(ctx, g):
        ctx.look()
        x, y = ctx.saved_tensors
        assert ctx.all[2] is ctx and ctx.all[0].shape == x.shape and ctx.all[1].tolist() == y.tolist()
        return g * y, None


def chain(look, n=2):
    """A graph that refers to itself, and what goes when it is taken apart."""
    mark = cycles.Mark()
    x = torch.zeros(n, requires_grad=True)
    y = Exp.apply(x * 2, look)
    z = y + 1
    y.register_hook(lambda g: (look(), mark, y, None)[3])
    x.register_hook(lambda g: (look(), mark, x, None)[3])
    return x, z, weakref.ref(mark)


class Keeps(torch.autograd.Function):
    kept = []

    @staticmethod
    def forward(ctx, x):
        Keeps.kept.append(ctx)
        y = x * 2
        ctx.save_for_backward(x, None, y)
        assert ctx.saved_tensors == ()
        return y

    @staticmethod
    def backward(ctx, g):
        return g * 2


@pytest.fixture
def ctx():
    yield lambda: Keeps.kept[-1]
    Keeps.kept.clear()


def test_saved_tensors_outside_a_pass(ctx):
    """Until the graph is freed; an output has its history."""
    x = torch.ones(2, requires_grad=True)
    y = Keeps.apply(x)
    for use in (lambda: None, lambda: y.sum().backward(retain_graph=True),
                lambda: torch.autograd.grad(y.sum(), x, retain_graph=True),
                lambda: torch.autograd.grad(y.sum(), x, create_graph=True)):
        use()
        saved = ctx().saved_tensors
        assert saved[0] is x and saved[1] is None and saved[2] is not y and saved[2].tolist() == [2, 2]
        assert saved[2].grad_fn is y.grad_fn and y.grad_fn.name() == "KeepsBackward"
    y.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        ctx().saved_tensors
    with torch.no_grad():
        Keeps.apply(x)
    assert ctx().saved_tensors == ()


def test_saved_tensors_outside_a_pass_whose_output_went(ctx):
    x = torch.ones(2, requires_grad=True)
    z = Keeps.apply(x) * 1
    for _ in range(2):
        assert ctx().saved_tensors[0] is x and ctx().saved_tensors[2].tolist() == [2, 2]
        z.sum().backward(retain_graph=True)
    z.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        ctx().saved_tensors


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("which", ["input", "output", "input, the output went"])
def test_saved_tensors_that_were_written_to(ctx, which, recorded):
    x = torch.ones(2, requires_grad=True) * 1
    y = Keeps.apply(x)
    z = y * 1
    if "went" in which:
        del y
    with torch.set_grad_enabled(recorded):
        (y if which == "output" else x).add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation: .*FloatTensor .2.*is at version 1; expected version 0"):
        ctx().saved_tensors
    del z


def test_saved_tensors_of_a_pass_within_a_pass(ctx):
    """The one around it frees its graph, the one within it does not."""
    x = torch.ones(2, requires_grad=True)
    y, inner = Keeps.apply(x), Keeps.apply(x).sum()
    first, second = Keeps.kept
    y.register_hook(lambda g: (inner.backward(retain_graph=True), None)[1])
    y.sum().backward()
    assert second.saved_tensors[0] is x
    with pytest.raises(RuntimeError, match="a second time"):
        first.saved_tensors


def test_collections_in_the_middle_take_nothing():
    x, z, mark = chain(gc.collect)
    collect()
    assert mark() is not None
    z.sum().backward(retain_graph=True)
    collect()
    assert mark() is not None and x.grad.tolist() == [2, 2]
    z.sum().backward()
    assert x.grad.tolist() == [4, 4]
    del x, z
    collect()
    assert mark() is None


def test_a_node_keeps_its_graph():
    x, z, mark = chain(int)
    node = z.grad_fn
    del x, z
    collect()
    assert mark() is not None and node.next_functions[0][0].name() == "ExpBackward"
    del node
    collect()
    assert mark() is None


def test_what_two_refer_to_stays():
    x, z, mark = chain(int)
    other = z * 2
    del x, z
    collect()
    assert mark() is not None
    other.sum().backward()
    del other
    collect()
    assert mark() is None


def test_finalizers_find_whole_graphs():
    """What is garbage may still be used by a finalizer, which may bring it back."""
    found = []

    class Keeper:
        def __init__(self, z):
            self.z = z

        def __del__(self):
            self.z.sum().backward(retain_graph=True)
            found.append(self.z)

    x, z, mark = chain(int)
    z.keeper = Keeper(z)
    z.x = x
    del x, z
    collect()
    assert mark() is not None
    found[0].sum().backward()
    assert found[0].x.grad.tolist() == [4, 4]
    found.clear()
    collect()
    assert mark() is None


@pytest.mark.parametrize("n", [2, 40000])
def test_collections_while_threads_use_graphs(n):
    """Above 32,768 elements operations let the GIL go, and a pass always does: what is collected meanwhile must be garbage."""
    stop, wrong, marks, rounds = threading.Event(), [], [], 15 if n > 2 else 100

    def work():
        try:
            for _ in range(rounds):
                x, z, mark = chain(int, n)
                z.sum().backward(retain_graph=True)
                z.mul_(2)
                z.sum().backward()
                if mark() is None or x.grad[-1].item() != 6:
                    wrong.append(x.grad[-1].item())
                marks.append(mark)
        except BaseException as e:
            wrong.append(repr(e))

    def run_collector():
        while not stop.is_set():
            gc.collect(0)
            gc.collect()

    before = live()
    threads = [threading.Thread(target=work) for _ in range(3)]
    collector = threading.Thread(target=run_collector)
    for t in [*threads, collector]:
        t.start()
    for t in threads:
        t.join()
    stop.set()
    collector.join()
    assert not wrong, wrong[:3]
    assert live() == before and not any(m() for m in marks) and len(marks) == 3 * rounds


def test_collections_while_a_thread_is_in_a_pass():
    """It holds what it works on; what others let go of is collected meanwhile."""
    inside, go_on, wrong = threading.Event(), threading.Event(), []

    def wait():
        inside.set()
        go_on.wait(60)

    def work():
        x, z, mark = chain(int)
        z.register_hook(lambda g: (wait(), None)[1])
        z.sum().backward()
        if mark() is None or x.grad.tolist() != [2, 2]:
            wrong.append(x.grad)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert inside.wait(60)
        x, z, mark = chain(int)
        del x, z
        collect()
        assert mark() is None
    finally:
        go_on.set()
        thread.join()
    assert not wrong


@pytest.mark.parametrize("threads", [2, 4])
def test_memory_is_flat_while_threads_train(threads):
    """Modules that a hook of theirs refers to, in Python's own rhythm: one of the threads is in the library at any time."""
    refs, rounds = [], 800 // threads

    def work():
        for _ in range(rounds):
            refs.extend(cycles.clipped(torch, lambda net: net.fc.weight.register_hook(net.clip)))

    before = live()
    pool = [threading.Thread(target=work) for _ in range(threads)]
    for t in pool:
        t.start()
    for t in pool:
        t.join()
    left = sum(r() is not None for r in refs)
    assert len(refs) == 1600 and left < 800  # a tenth of them, as in PyTorch; every one where the threads hide them
    assert live() == before


def test_a_collection_while_threads_go_in_and_out():
    """Operations on what the collected graph hangs on, which end and begin between the collector's looks."""
    stop, wrong = threading.Event(), []
    base = torch.zeros(40000, requires_grad=True)

    def work():
        while not stop.is_set():
            x, z, mark = chain(int, 40000)
            y = base * 2
            y.register_hook(lambda g, y=y, m=mark: None)
            y.retain_grad()
            (z + y).sum().backward()
            if mark() is None or x.grad[0].item() != 2:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    try:
        marks = []
        for _ in range(50):
            x, z, mark = chain(int)
            marks.append(mark)
            del x, z
            for _ in range(3):  # what a graph has kept is garbage when the graph has gone
                gc.collect()
        assert not any(m() for m in marks)
    finally:
        stop.set()
        for t in threads:
            t.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_the_child_of_a_fork_collects():
    """Also where a thread that is not there any more was in the library."""
    stop = threading.Event()

    def busy():
        a = torch.ones(300, 300)
        while not stop.is_set():  # no BLAS: OpenBLAS's own fork handler waits for its threads, and may do so for ever
            a.exp()

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(4):
            child = os.fork()
            if not child:
                x, z, mark = chain(int)
                del x, z
                collect()
                os._exit(mark() is not None)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        thread.join()


def test_what_is_some_operations_away_is_freed():
    before = live()
    (mark, *_) = cycles.function(torch, cycles.keep_all, steps=40, train=False, owner=True)
    collect()
    assert mark() is None and torch._C._live_tensors() == before


def test_long_graphs_are_walked_with_bounds():
    """A collection walks no more than a part of a long graph, and takes nothing of it. What it does not reach stays: as in
    PyTorch, which looks at the last node alone."""
    before = live()
    x, z, mark = chain(int)
    for _ in range(3000):
        z = z + 0
    collect()
    assert mark() is not None
    z.sum().backward()
    assert x.grad.tolist() == [2, 2]
    del x, z
    collect()
    assert torch._C._live_tensors() == before
