"""Runs a program, line by line, with the module that it is given as torch, and notes what can be seen after each line.

A program is a list of [operation, line]: lines of Python in which tensors are called v0, v1 ..., other results r0, r1 ..., the
device is D and the module torch. A line that raises has no other effect on the program: the next one runs all the same.
"""

import math
import warnings

PLACES = {"float32": ".9g", "float64": ".17g", "float16": ".5g", "bfloat16": ".4g"}


def short(x, places):
    """A number as it is recorded: the fewest digits that give it back."""
    if type(x) is not float or not math.isfinite(x):
        return x
    few = float(format(x, ".6g"))
    return few if few == x else float(format(x, places))


def flat(values):
    """The numbers of nested lists, in their order."""
    if not isinstance(values, list):
        return [values]
    out = []
    for v in values:
        out += flat(v)
    return out


def storage_of(t):
    """What two tensors that share memory have in common; None where nothing is stored."""
    s = t.untyped_storage()
    return s.data_ptr() or None


def describe(t, name, groups, first):
    """What can be seen of a tensor: a list, as it is recorded. first: the version it had when it was first seen, by name (what
    an operation writes in place on its way is its own matter)."""
    try:
        leaf = int(t.is_leaf)
    except RuntimeError as error:  # a view of many whose base was written to
        return {"raises": str(error).split("\n")[0]}
    key = storage_of(t)
    dtype = str(t.dtype).replace("torch.", "")
    places = PLACES.get(dtype, "")
    values = [short(x, places) for x in flat(t.detach().tolist())]
    group = groups.setdefault(key, name) if key is not None else name
    return [dtype, list(t.shape), list(t.stride()), t.storage_offset(), group, t._version - first.setdefault(name, t._version), int(t.requires_grad), leaf, values]


FIELDS = ["dtype", "shape", "strides", "offset", "aliasing", "version", "requires_grad", "is_leaf", "value"]


def plain(x, name, tensors):
    """A result that is no tensor, as it is recorded; tensors in it are noted by the name they are given."""
    kind = type(x).__name__
    if hasattr(x, "untyped_storage"):
        tensors[name] = x
        return {"tensor": name}
    if x is None or isinstance(x, (bool, int, str)):
        return x if kind != "str" else x.replace("tenon", "torch")
    if isinstance(x, float):
        return {"float": x}
    if isinstance(x, (list, tuple)):
        return {kind: [plain(y, f"{name}[{i}]", tensors) for i, y in enumerate(x)]}
    return {kind: str(x).replace("cuda:0", "cpu").replace("cuda", "cpu")}


def gradients(tensors):
    """The gradients of leaves, which can be seen as well."""
    found = {}
    for name, t in tensors.items():
        try:
            if t.is_leaf and t.grad is not None:
                found[f"{name}.grad"] = t.grad
        except RuntimeError:  # describe() notes it
            pass
    return found


class Run:
    """A program under way. observe() is what there is to be seen now; step(line) runs a line and says what it raised."""

    def __init__(self, module, device):
        self.names = {"torch": module, "D": device, "inf": math.inf, "nan": math.nan}
        self.names["F"] = module.nn.functional
        self.versions = {}
        if device != "cpu":  # what a program makes without a device is where the rest of it is, as on the CPU
            module.set_default_device(device)

    def step(self, line):
        """None, or [class, first line of the message] of what was raised."""
        names, raised = set(self.names), None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for run in (lambda: exec(compile(line, "<program>", "exec"), self.names), self.wait):
                try:
                    run()
                except Exception as error:  # noqa: BLE001: whatever is raised is a result
                    raised = raised or [type(error).__name__, str(error).split("\n")[0].replace("tenon", "torch")]
        if raised:
            for name in set(self.names) - names - {"__builtins__"}:  # a kernel's error came after the result
                del self.names[name]
        return raised

    def wait(self):
        """What a kernel finds is raised by this line, not by a later one."""
        if self.names["D"] != "cpu":
            self.names["torch"].cuda.synchronize()

    def tensors(self):
        """(name, tensor) of all that the program can name, and what its other results are."""
        found, others = {}, {}
        for name, value in self.names.items():
            if name[0] in "vr" and name[1:].isdigit():
                if hasattr(value, "untyped_storage"):
                    found[name] = value
                else:
                    others[name] = plain(value, name, found)
        found.update(gradients(found))
        return found, others

    def observe(self):
        tensors, others = self.tensors()
        groups = {}
        return {**{name: describe(t, name, groups, self.versions) for name, t in tensors.items()}, **others}

    def set_values(self, name, values):
        """Writes the values into a tensor, so that its rounding is not handed on. As DLPack hands it out, so that no version
        counts it."""
        tensors, _ = self.tensors()
        torch = self.names["torch"]
        t = torch.from_dlpack(tensors[name].detach())
        new = torch.tensor(values, dtype=t.dtype).view(t.shape)
        for dim, stride in enumerate(t.stride()):
            if stride == 0 and t.shape[dim] > 1:  # elements that are one and the same
                t, new = t.narrow(dim, 0, 1), new.narrow(dim, 0, 1)
        t.copy_(new)


GONE = {"gone": 1}


def changes(before, now):
    """What recording keeps of an observation: what is new in it, and what is there no more."""
    new = {name: what for name, what in now.items() if repr(before.get(name)) != repr(what) or name not in before}
    return {**new, **{name: GONE for name in before if name not in now}}


def changed(before, new):
    """The observation that changes() took the difference of."""
    return {name: what for name, what in {**before, **new}.items() if what != GONE}
