"""One of the two libraries of the sweep: reads requests, a JSON line each, from standard input, and answers each with one.

    {"inputs": [elements, dtype, "contiguous" | "transposed" | "narrow"]}  the tensors that expressions name (sweep_calls.txt says which)
    {"call": expression, "backward": bool, "out": bool, "bytes": bool}  seconds of one call (with out= if asked), and the bytes it
                                                                   reads and writes if asked
    {"runs": n}                                                    seconds of one call of the last expression, the mean of n

Tenon runs it by `python -m tenon`, as `torch`. A call that takes longer than LONGEST ends the process. Arguments: threads, and the
device where it is not the CPU: then times end when the device has done its work.
"""
import contextlib
import ctypes
import json
import signal
import sys
import time

import torch
import torch.nn.functional as F

LONGEST = 25  # seconds
COLUMNS, NARROW = {8: 4}, 8  # of sizes that are no squares; of every size in the layout "narrow"
TURNED = ("x", "u", "z")
OTHERS = ("z", "t", "s", "m", "k", "k0", "i", "j")
DEVICE = sys.argv[2] if len(sys.argv) > 2 else "cpu"
GROWING = ("x", "y", "u", "w", "b", "e", "l", "l2", "p3", "q3")  # want a gradient where it is asked for


def finish():
    if DEVICE != "cpu":
        torch.cuda.synchronize()


@contextlib.contextmanager
def on_device(wanted=True):
    """What is made without a device is made there. Not around calls that name tensors: PyTorch pays for any default device, the CPU
    too, at each call; None is what a program has that says nothing."""
    if not wanted or DEVICE == "cpu":
        yield
        return
    torch.set_default_device(DEVICE)
    try:
        yield
    finally:
        torch.set_default_device(None)


def numbers(shape, dtype, low, high, ints):
    if dtype.is_floating_point:
        return (torch.rand(shape) * (high - low) + low).to(dtype)
    return torch.randint(*ints, shape).to(dtype)


class Inputs(dict):
    """The tensors by name, each made when an expression first names it."""

    def __init__(self, n, dtype, layout):
        super().__init__(torch=torch, F=F)
        self.dtype, self.turned = getattr(torch, dtype), layout == "transposed"
        c = NARROW if layout == "narrow" else COLUMNS.get(n) or round(n ** 0.5)
        self.update(n=n, r=n // c, c=c, d=self.dtype, v=0.5 if self.dtype.is_floating_point else 2)

    def made(self, name):
        r, c, d = self["r"], self["c"], self.dtype
        side = min(r, c, 256)
        batch = (self["n"] // side // side, side, side)
        make = {
            "x": lambda: numbers((c, r) if self.turned else (r, c), d, -1, 1, (-50, 50)),
            "u": lambda: numbers((c, r) if self.turned else (r, c), d, 0, 1, (0, 50)),
            "y": lambda: numbers((r, c), d, 0.5, 1.5, (1, 8)),
            "t": lambda: numbers((r, c), d, 0, 1, (0, 2)),
            "w": lambda: numbers((c, min(c, 64)), d, -1, 1, (-5, 5)),
            "b": lambda: numbers((min(c, 64),), d, -1, 1, (-5, 5)),
            "e": lambda: numbers((c,), d, 0.5, 1.5, (1, 8)),
            "l": lambda: numbers((r * c,), d, -1, 1, (-50, 50)),
            "l2": lambda: numbers((r * c,), d, 0.5, 1.5, (-8, 8)),
            "s": lambda: numbers((r * c,), d, -1, 1, (-50, 50)).sort()[0],
            "p3": lambda: numbers(batch, d, -1, 1, (-5, 5)),
            "q3": lambda: numbers(batch, d, -1, 1, (-5, 5)),
            "m": lambda: torch.rand(r, c) > 0.5,
            "k": lambda: torch.randint(0, c, (r, c)),
            "k0": lambda: torch.randint(0, r, (r, c)),
            "i": lambda: torch.randperm(r),
            "j": lambda: torch.randint(0, c, (r,)),
        }[name]
        torch.manual_seed(len(name) + ord(name[0]))
        with on_device():
            value = make()
        return value.t() if self.turned and name in TURNED else value

    def get_or_make(self, name):
        if name == "z":
            return self.get_or_make("x").clone()
        if name not in self:
            self[name] = self.made(name)
        return self[name]


class Work:
    """One expression, ready to be called."""

    def __init__(self, inputs, expression, backward, out=False):
        code = compile(expression, "row", "eval")
        self.names = [name for name in code.co_names if name in GROWING + OTHERS]
        if backward and "z" in self.names:
            raise TypeError("what is written again and again has no gradient")
        scope = dict(inputs)
        self.leaves = []
        for name in self.names:
            scope[name] = inputs.get_or_make(name)
            if backward and name in GROWING:
                scope[name] = scope[name].detach().requires_grad_()
                self.leaves.append(scope[name])
        self.read = [scope[name] for name in self.names if name != "z" or "copy_" not in expression]
        self.once = self.backward if backward else eval(f"lambda: {expression}", scope)
        self.forward = eval(f"lambda: {expression}", scope)
        if out:
            scope["out"] = self.forward().clone()
            self.once = eval(f"lambda: {expression[:-1]}, out=out)", scope)
        if backward:
            out = self.result()
            if not out.requires_grad:
                raise TypeError("no gradient")
            self.gradient = torch.ones_like(out).detach()

    def result(self):
        with on_device(not self.names):
            out = self.forward()
        return out if isinstance(out, torch.Tensor) else next((o for o in out if o.is_floating_point()), out[0])

    def backward(self):
        torch.autograd.grad(self.result(), self.leaves, self.gradient, allow_unused=True)

    def bytes(self):
        """(read, written) at least, of an operation that reads what it is given and makes or fills one tensor"""
        size = lambda t: t.numel() * t.element_size()
        out = self.forward()
        inputs = [t for name, t in zip(self.names, self.read) if name != "z" or len(self.read) == 1]
        return (sum(map(size, inputs)), size(out)) if isinstance(out, torch.Tensor) else (0, 0)

    def seconds(self, runs):
        once = self.once
        signal.alarm(LONGEST)
        with on_device(not self.names):
            finish()
            start = time.perf_counter()
            for _ in range(runs):
                once()
            finish()
            took = time.perf_counter() - start
        signal.alarm(0)
        return took / runs


def limits(size):
    """(seconds a byte of a copy, read and written; of a fill) of so many bytes, by the C library; by the driver."""
    n = max(3, (8 << 20) // size)
    if DEVICE == "cpu":
        to, of = ctypes.create_string_buffer(size), ctypes.create_string_buffer(size)
        ways = (lambda: ctypes.memmove(to, of, size), lambda: ctypes.memset(to, 1, size))
    else:
        with on_device():
            to, of = torch.zeros(size, dtype=torch.uint8), torch.zeros(size, dtype=torch.uint8)
        ways = (lambda: to.copy_(of), to.zero_)
    best = []
    for what in ways:
        times = []
        for _ in range(5):
            finish()
            start = time.perf_counter()
            for _ in range(n):
                what()
            finish()
            times.append((time.perf_counter() - start) / n)
        best.append(min(times))
    return best[0] / (2 * size), best[1] / size


def answer(request, state):
    if "inputs" in request:
        state["inputs"] = Inputs(*request["inputs"])
        return {"limits": limits(request["inputs"][0] * state["inputs"].dtype.itemsize)}
    if "runs" in request:
        return {"t": state["work"].seconds(request["runs"])}
    state.pop("work", None)
    work = state["work"] = Work(state["inputs"], request["call"], request["backward"], request.get("out", False))
    first = work.seconds(1)  # may begin threads and find memory
    return {"t": first if first > 0.001 else work.seconds(1), "bytes": work.bytes() if request.get("bytes") else (0, 0)}


def main():
    torch.set_num_threads(int(sys.argv[1]))
    torch.zeros(1).numpy()  # NumPy is imported once
    if DEVICE != "cpu":
        torch.cuda.init()
    print(json.dumps({"version": torch.__version__, "threads": torch.get_num_threads(),
                      "device": DEVICE if DEVICE == "cpu" else torch.cuda.get_device_name()}), flush=True)
    state = {}
    for line in sys.stdin:
        try:
            done = answer(json.loads(line), state)
        except Exception as e:  # an answer, whatever a library raises
            done = {"error": f"{type(e).__name__}: {(str(e).splitlines() or [''])[0][:120]}"}
        print(json.dumps(done), flush=True)


if __name__ == "__main__":
    main()
