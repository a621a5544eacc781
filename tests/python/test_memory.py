"""Memory and reference counts stay flat; identity, weak references, cycles, subclasses; errors leave nothing behind."""

import gc
import os
import sys
import weakref

import numpy as np
import pytest

import tenon as torch

PAGE = os.sysconf("SC_PAGE_SIZE")
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")


def live():
    gc.collect()
    return torch._C._live_tensors()


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * PAGE


def fails(f):
    try:
        f()
    except (RuntimeError, TypeError, ValueError, IndexError):
        return
    raise AssertionError("no error")


X = torch.arange(12.0).reshape(3, 4)
W = torch.ones(4, requires_grad=True)
I = torch.tensor([0, 2])
N = np.ones(4, np.float32)
ACTIONS = {
    "add": lambda: X + X,
    "number": lambda: 2 * X - 1,
    "in place": lambda: X.mul_(1),
    "index": lambda: X[1],
    "slice": lambda: X[1:, ::2],
    "tensors as indices": lambda: X[I, I],
    "mask": lambda: X[X > 3],
    "write": lambda: X.__setitem__((0, 1), 1.0),
    "write at indices": lambda: X.__setitem__((I, I), 2.0),
    "cat": lambda: torch.cat([X, X], 1),
    "split": lambda: X.split(1),
    "max": lambda: X.max(1),
    "list": lambda: torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
    "tolist": lambda: X.tolist(),
    "item": lambda: X[0, 0].item(),
    "array": lambda: torch.from_numpy(N) + N,
    "numpy": lambda: X.numpy(),
    "buffer": lambda: memoryview(X),
    "dlpack": lambda: torch.from_dlpack(X),
    "shape": lambda: (X.shape, X.stride(), X.dtype, X.device, X.T),
    "repr": lambda: repr(I),
    "recorded": lambda: (W * 2).sum(),
    "backward": lambda: (W * W).sum().backward(),
    "hook": lambda: W.register_hook(lambda g: g).remove(),
    "node": lambda: (W * 2).grad_fn.next_functions,
    "attribute": lambda: setattr(X + 1, "label", "x"),
    "wrong argument": lambda: fails(lambda: torch.add(X, "a")),
    "wrong shape": lambda: fails(lambda: X + torch.ones(5)),
    "wrong list": lambda: fails(lambda: torch.tensor([[1], [2, 3]])),
    "wrong list of tensors": lambda: fails(lambda: torch.cat([X, None])),
    "wrong gradient": lambda: fails(lambda: torch._C._backward([W.sum()], [3], False, False, None)),
    "wrong index": lambda: fails(lambda: X[7]),
    "wrong number": lambda: fails(lambda: X.sum(dim=9)),
    "view of another dtype": lambda: X.view(torch.int32),
    "wrong dtype": lambda: fails(lambda: X.view(torch.uint8).view(3, 2, 8)[:, :, 1:].view(torch.float32)),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_nothing_is_left(name):
    """Each thirty thousand times: in all a million operations."""
    action = ACTIONS[name]
    for _ in range(200):
        action()
    W.grad = None
    operands = (X, W, I, N, torch.float32)
    gc.collect()
    counts, tensors, memory = [sys.getrefcount(o) for o in operands], live(), resident()
    for _ in range(3000 if SANITIZED else 30000):
        action()
    W.grad = None
    assert live() == tensors
    assert [sys.getrefcount(o) for o in operands] == counts
    if not SANITIZED:
        assert resident() - memory < 2 << 20


# ---- who a tensor is ----


def test_identity():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.sum().backward()
    assert x.grad is x.grad
    z = x + 0
    node = z.grad_fn
    del z
    assert node.next_functions[0][0] is x.add(1).grad_fn.next_functions[0][0] and node.name() == "AddBackward0"
    assert y.grad_fn is y.grad_fn and y.grad_fn == y.grad_fn
    assert y.grad_fn.next_functions[0][0].variable is x
    assert x.add_ is not None and x.detach() is not x.detach()
    with torch.no_grad():
        assert x.add_(1) is x
    out = torch.zeros(2)
    assert torch.add(out, 1, out=out) is out
    assert x.contiguous() is x and x.to("cpu") is x and x.float() is x
    seen = []
    x.register_hook(lambda g: seen.append(g))
    p = torch.nn.Parameter(torch.ones(3))
    (p * 2).sum().backward()
    g = p.grad
    p.grad.add_(1)
    assert p.grad is g and type(p) is torch.nn.Parameter


def test_weak_references():
    gone = []
    x = torch.ones(2)
    r = weakref.ref(x, gone.append)
    assert r() is x
    del x
    assert r() is None and gone == [r]
    d = weakref.WeakValueDictionary()
    y = d["y"] = torch.ones(1)
    assert d["y"] is y
    del y
    assert "y" not in d


def test_a_wrapper_that_is_going_is_not_found_again():
    """The callback of a weak reference asks the owner for the tensor whose wrapper is just being freed."""
    x = torch.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    found = []
    g = x.grad
    r = weakref.ref(g, lambda _: found.append(x.grad))
    del g
    gc.collect()
    assert r() is None and found[0] is x.grad and found[0].tolist() == [3, 3]
    h = x.grad
    h.owner = Asks(x, found)
    del h, found[:]
    gc.collect()
    assert len(found) == 1 and found[0] is x.grad and found[0].tolist() == [3, 3]


class Asks:
    def __init__(self, x, found):
        self.x, self.found = x, found

    def __del__(self):
        self.found.append(self.x.grad)


def test_cycles_through_attributes_are_collected():
    before = live()
    for _ in range(50):
        a, b = torch.ones(3), torch.nn.Parameter(torch.ones(3))
        a.other, b.other = b, a
        a.me = [a]
    r = weakref.ref(a)
    del a, b
    assert live() == before and r() is None


def test_cycles_through_hooks():
    """What a tensor's or a node's own hook refers to goes with the last of the graph, and not before."""
    seen, count = [], live()

    def cycle(of, what):
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        held = {"x": x, "y": y, "node": y.grad_fn}[what]
        mark = torch.ones(1)
        (x if of == "x" else y).register_hook(lambda g: seen.append((held, mark) and 1))
        return weakref.ref(mark), y + 1

    for of, what in (("x", "x"), ("y", "y"), ("y", "node")):
        gone, z = cycle(of, what)
        gc.collect()
        assert gone() is not None
        z.sum().backward(retain_graph=True)
        assert seen.pop() == 1 and not seen
        del z
        gc.collect()
        assert gone() is None and live() == count, (of, what)


def test_a_hook_may_hold_its_own_handle():
    def register(x):
        mark = torch.ones(1)
        handle = x.register_hook(lambda g: (handle.remove(), mark)[0])
        return weakref.ref(mark)

    x, count = torch.ones(1, requires_grad=True), live()
    gone = register(x)
    assert gone() is not None
    x.sum().backward()
    assert gone() is None
    gone = register(x)
    x = None
    gc.collect()
    assert gone() is None and live() == count - 1


def test_subclasses():
    class Mine(torch.Tensor):
        freed = 0

        def __del__(self):
            Mine.freed += 1

    before = live()
    count = sys.getrefcount(Mine)
    for _ in range(300):
        m = torch.ones(2).as_subclass(Mine)
        m.note = m
        del m
    assert live() == before and Mine.freed == 300
    gc.collect()
    assert sys.getrefcount(Mine) == count


def test_freed_wrappers_are_clean():
    """Wrappers are used again: nothing of the tensor before shows."""
    for i in range(2000):
        x = torch.ones(1)
        assert not x.__dict__ and x.grad is None and weakref.getweakrefcount(x) == 0
        x.note = i
        weakref.finalize(x, int)
    many = [torch.full((1,), float(i)) for i in range(1000)]
    del many[::2]
    again = [torch.full((1,), -float(i)) for i in range(1000)]
    assert [t.item() for t in many] == [float(i) for i in range(1, 1000, 2)]
    assert [t.item() for t in again] == [-float(i) for i in range(1000)]


def test_long_chains_are_freed():
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(20000):
        y = y + 1
    del y
    y = torch.ones(1)
    for _ in range(20000):
        z = torch.ones(1)
        z.before = y
        y = z
    del y, z

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    y = x
    for _ in range(5000):
        y = Twice.apply(y)
    del y


# ---- errors in callbacks ----


def test_errors_in_hooks_and_functions_leave_nothing():
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, how):
            ctx.how = how
            return x * 2

        @staticmethod
        def backward(ctx, g):
            if ctx.how == "raise":
                raise KeyError("backward")
            return {"type": "a", "many": (g, g, g, g), "shape": torch.ones(7)}[ctx.how], None

    def run(how):
        x = torch.ones(2, requires_grad=True)
        y = Fails.apply(x, how)
        if how == "hook":
            y = x * 2
            x.register_hook(lambda g: 1 / 0)
        with pytest.raises((KeyError, TypeError, RuntimeError, ZeroDivisionError)):
            y.sum().backward()

    for how in ("raise", "type", "many", "shape", "hook"):
        run(how)
        before = live()
        for _ in range(100):
            run(how)
        assert live() == before, how


def test_objects_that_die_in_the_middle_may_do_anything():
    """A hook's last reference goes inside the library; what runs then may give the GIL away and use tensors."""

    class Dies:
        done = 0

        def __call__(self, g):
            return None

        def __del__(self):
            a = torch.ones(300, 300)
            (a @ a).sum().item()
            Dies.done += 1

    for _ in range(20):
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.register_hook(Dies())
        x.register_hook(Dies())
        del x, y
    gc.collect()
    assert Dies.done == 40
