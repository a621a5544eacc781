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


def test_saved_tensors_outside_a_pass():
    kept = []

    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            kept.append(ctx)
            y = x * 2
            ctx.save_for_backward(x, None, y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.ones(2, requires_grad=True)
    y = Keeps.apply(x)
    saved = kept[0].saved_tensors
    assert saved[0] is x and saved[1] is None and saved[2].tolist() == [2, 2]
    y.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        kept[0].saved_tensors


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
