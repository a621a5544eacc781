"""Calls of everything with arguments that mean no good; run by test_fuzz.py in a process of its own: seed, number of calls.

Whatever happens must be an exception that says what is wrong: no crash, no hang, no giant allocation, no SystemError, no MemoryError.
The last call is written to the file that the third argument names, so that a crash can be understood.
"""

import faulthandler
import inspect
import math
import operator
import os
import random
import sys
import types
import warnings

import numpy as np

import tenon as torch
import tenon.cuda
import tenon.nn.functional
from tenon import _C

warnings.simplefilter("ignore")
SEED, CALLS, LAST = int(sys.argv[1]), int(sys.argv[2]), os.open(sys.argv[3], os.O_RDWR | os.O_CREAT)
if len(sys.argv) > 4:  # address space, in bytes: none under AddressSanitizer, which reserves terabytes
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[4]),) * 2)
random.seed(SEED)


class Boom(Exception):
    """What hostile objects raise: it must come through, or be replaced by another exception."""


def raises(*methods):
    def boom(self, *args, **kwds):
        raise Boom

    return type("Raises" + methods[0].strip("_").title(), (), {m: boom for m in methods})


class Changes:
    """Its __index__ and __float__ empty the list that it is in."""

    def __init__(self, list_):
        self.list = list_

    def __index__(self):
        self.list.clear()
        return 1

    def __float__(self):
        self.list.clear()
        return 1.0


class Long:
    """Says that it is longer than it is."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        if i > 3:
            raise IndexError
        return i


class Junk:
    """Protocols that answer with rubbish."""

    def __array__(self, dtype=None, copy=None):
        return "no array"

    def __dlpack__(self, **kwds):
        return "no capsule"

    def __dlpack_device__(self):
        return (77, 3)

    def __index__(self):
        return "no int"

    def __float__(self):
        return "no float"

    def __len__(self):
        return -5

    def __bool__(self):
        return "no bool"

    def item(self):
        return self


class Sub(torch.Tensor):  # never given as a class: CPython 3.11 itself loses references where warm code calls
    pass  # an unbound method without its self (str.split() shows it, too)


HOSTILE = [raises("__index__", "__int__"), raises("__len__", "__getitem__"), raises("__getitem__"), raises("__array__"),
           raises("__float__"), raises("__bool__"), raises("__eq__"), raises("__iter__"), raises("__dlpack__", "__dlpack_device__"),
           raises("__buffer__", "__array_interface__", "__cuda_array_interface__"), raises("__fspath__", "__str__", "__repr__"),
           raises("__call__"), raises("__enter__", "__exit__"), raises("__hash__"), raises("item", "dtype")]  # fmt: skip


def deep(n):
    x = [1]
    for _ in range(n):
        x = [x]
    return x


def itself():
    x = [1, 2]
    x.append(x)
    return x


def changing():
    x = [2, 3, 4]
    x[random.randrange(3)] = Changes(x)
    return x


NUMBERS = [0, 1, 2, 3, -1, -2, 5, 7, True, False, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 10**30,
           -(10**30), 0.0, 0.5, -1.5, 1e300, math.nan, math.inf, -math.inf, 1 + 2j]  # fmt: skip
TEXTS = ["", "cpu", "cuda", "cuda:1", "cuda:7", "cuda:99999999999", "meta", "mean", "sum", "none", "floor", "trunc", "float32", "bogus",
         "\0", "cpu\0", "\ud800", "%s%n%d", "x" * 5000, "é", b"cpu", b"\xff", bytearray(b"123"), "torch.FloatTensor"]  # fmt: skip
ARRAYS = [
    lambda: np.arange(6.0).reshape(2, 3),
    lambda: np.zeros((0, 3), "f4"),
    lambda: np.array(3, "i8"),
    lambda: np.arange(4)[::-1],
    lambda: np.arange(4, dtype=">i4"),
    lambda: np.array([None, 3], object),
    lambda: np.array(["a", "b"]),
    lambda: np.zeros(3, "i1,f4"),
    lambda: np.zeros(3, "c8"),
    lambda: np.array([True, False]),
    lambda: np.zeros((1,) * 20),
    lambda: np.float64(2.5),
    lambda: np.int8(-3),
    lambda: np.bool_(True),
    lambda: np.datetime64("2020-01-01"),
    lambda: np.broadcast_to(np.float32(1), (2, 3)),
]
TENSORS = [
    lambda: torch.arange(6.0).reshape(2, 3),
    lambda: torch.ones(2, 3, requires_grad=True),
    lambda: torch.ones(3, requires_grad=True) * 2,
    lambda: torch.tensor(2.0),
    lambda: torch.tensor(3),
    lambda: torch.tensor([1, 0, 2]),
    lambda: torch.tensor([2**40, -5, 1]),
    lambda: torch.tensor([True, False, True]),
    lambda: torch.zeros(0, 3),
    lambda: torch.zeros(2, 0, 3, dtype=torch.int32),
    lambda: torch.arange(24.0).reshape(2, 3, 4).transpose(0, 2),
    lambda: torch.ones(1).expand(3, 4),
    lambda: torch.ones(2, 3, dtype=torch.float16),
    lambda: torch.ones(2, 3, dtype=torch.bfloat16),
    lambda: torch.ones(3, 3, dtype=torch.float64),
    lambda: torch.tensor([math.nan, math.inf, -1.0]),
    lambda: torch.ones(2, dtype=torch.uint8),
    lambda: torch.zeros((1,) * 8),
    lambda: torch.zeros(2, 3, device="meta"),
    lambda: torch.ones(2, 3, device="cuda"),
    lambda: torch.ones(3, device="cuda:1", requires_grad=True),
    lambda: torch.arange(3, device="cuda"),
    lambda: torch.ones(2, 3).as_subclass(Sub),
    lambda: torch.nn.Parameter(torch.ones(3)),
    lambda: torch.from_numpy(np.arange(6.0).reshape(2, 3)),
]
OTHERS = [
    lambda: None,
    lambda: [],
    lambda: (),
    lambda: (2, 3),
    lambda: [3],
    lambda: (-1,),
    lambda: (0, 2),
    lambda: [2**40, 2**40],
    lambda: (1,) * 30,
    lambda: [1, [2]],
    lambda: [[1, 2], [3]],
    lambda: [1.5, "a"],
    lambda: deep(300),
    lambda: deep(5),
    itself,
    changing,
    lambda: [tensor(), tensor()],
    lambda: (tensor(),),
    lambda: [tensor(), None],
    lambda: {"a": 1},
    lambda: {tensor(): 2},
    lambda: {1, 2},
    object,
    lambda: int,
    lambda: float,
    lambda: lambda *a: None,
    lambda: slice(None, None, random.choice([None, 1, 2, -1, 0, 2**70])),
    lambda: slice(raises("__index__")()),
    lambda: ...,
    lambda: NotImplemented,
    lambda: range(3),
    lambda: iter([1, 2]),
    lambda: (i for i in (1, 2)),
    lambda: memoryview(b"12345678"),
    lambda: torch.float32,
    lambda: torch.int64,
    lambda: torch.bool,
    lambda: torch.bfloat16,
    lambda: torch.device("cpu"),
    lambda: torch.device("cuda", 1),
    lambda: torch.Size([2, 3]),
    lambda: torch.Generator(),
    lambda: torch.Generator("cuda"),
    lambda: torch.cuda.Stream(),
    lambda: torch.cuda.Event(),
    lambda: Long(2**40),
    lambda: Long(2),
    lambda: Long(9),
    Junk,
]

POOL = []


def tensor():
    return random.choice(POOL)


def refill():
    POOL[:] = [make() for make in TENSORS]


def value():
    r = random.random()
    if r < 0.32:
        return tensor()
    if r < 0.60:
        return random.choice(NUMBERS)
    if r < 0.68:
        return random.choice(TEXTS)
    if r < 0.74:
        return random.choice(ARRAYS)()
    if r < 0.80:
        return random.choice(HOSTILE)()
    return random.choice(OTHERS)()


NAMES = ["dim", "keepdim", "dtype", "device", "out", "generator", "size", "other", "input", "index", "requires_grad", "pin_memory", "p",
         "alpha", "correction", "rounding_mode", "weight", "reduction", "bogus", "axis", "stream", "non_blocking", "copy"]  # fmt: skip

# They end the process' day, write where they are told to, or wait as long as they are told to.
NEVER = {"install_as_torch", "_sleep", "breakpoint", "exit"}


def reset():
    """What calls set for the whole process."""
    torch.set_default_dtype(torch.float32)
    torch.set_default_device("cpu")
    torch.set_printoptions(profile="default")
    torch.set_grad_enabled(True)
    torch.set_num_threads(2)
    torch.cuda.set_device(0)
    for gpu in (0, 1):
        torch.cuda.set_per_process_memory_fraction(1.0, gpu)
    random.seed(SEED * 1000003 + COUNT)
    refill()


def functions_of(module, private=False):
    for name in sorted(dir(module)):
        f = vars(module).get(name)
        if name in NEVER or isinstance(f, types.ModuleType) or not callable(f):
            continue
        if isinstance(f, type) and issubclass(f, BaseException):
            continue
        if name.startswith("_") and not private:
            continue
        where = getattr(f, "__module__", None) or ""
        if where.split(".")[0] in ("tenon", "", "builtins") or inspect.isbuiltin(f):
            yield f"{module.__name__}.{name}", f


def methods_of(cls, instance):
    for name in sorted(dir(cls)):
        if name in ("__init_subclass__", "__subclasshook__", "__class__", "__getattribute__", "__dir__", "__sizeof__", "__reduce__"):
            continue
        f = getattr(cls, name, None)
        if name in NEVER or not callable(f) or isinstance(f, type):
            continue
        yield f"{cls.__name__}.{name}", (lambda *a, _f=name, **k: getattr(instance(), _f)(*a, **k))


def attributes_of(cls, instance):
    for name in sorted(dir(cls)):
        if type(getattr(cls, name, None)).__name__ in ("getset_descriptor", "property", "member_descriptor"):
            yield f"{cls.__name__}.{name} =", (lambda v=None, *a, _n=name, **k: setattr(instance(), _n, v))
            yield f"del {cls.__name__}.{name}", (lambda *a, _n=name, **k: delattr(instance(), _n))
            yield f"{cls.__name__}.{name}", (lambda *a, _n=name, **k: getattr(instance(), _n))


def operators():
    for name in sorted(dir(operator)):
        f = getattr(operator, name)
        if not name.startswith("_") and callable(f) and not isinstance(f, type) and name not in ("call", "length_hint", "countOf", "indexOf"):
            yield f"operator.{name}", (lambda *a, _f=f, **k: _f(tensor(), *a[:2]))
            yield f"operator.{name} from the right", (lambda a=None, *b, _f=f, **k: _f(a, tensor(), *b[:1]))
    yield "index", lambda *a, **k: tensor()[a]
    yield "index of one", lambda a=0, *b, **k: tensor()[a]
    yield "set index", lambda v=0, *a, **k: tensor().__setitem__(a, v)
    yield "set index of one", lambda v=0, a=0, *b, **k: tensor().__setitem__(a, v)


def everything():
    yield from functions_of(torch)
    yield from functions_of(_C, private=True)
    yield from functions_of(_C._nn)
    yield from functions_of(_C._special)
    yield from functions_of(torch.nn.functional)
    yield from functions_of(torch.cuda)
    yield from methods_of(torch.Tensor, tensor)
    yield from attributes_of(torch.Tensor, tensor)
    yield from operators()
    for cls, make in [(torch.device, lambda: torch.device("cuda:1")), (torch.Size, lambda: torch.Size([2, 3])),
                      (torch.Generator, torch.Generator), (torch.dtype, lambda: torch.float32),
                      (torch.cuda.Stream, torch.cuda.Stream), (torch.cuda.Event, torch.cuda.Event)]:  # fmt: skip
        yield from methods_of(cls, make)
        yield from attributes_of(cls, make)


def is_bad(error, args):
    if isinstance(error, MemoryError):  # tuple() and list() of what claims to be that long, and tuples times 2**40, are Python's
        return not any(isinstance(a, Long) for a in args) and not name.startswith("Size.")
    return isinstance(error, SystemError) or "set no error" in str(error)


COUNT = 0
reset()
FUNCTIONS = list(everything())
failures = {}
reached = set()
for COUNT in range(CALLS):
    if COUNT % 200 == 0:
        reset()
        faulthandler.dump_traceback_later(100, exit=True)
    name, f = FUNCTIONS[COUNT % len(FUNCTIONS)]
    args = [value() for _ in range(random.choice([0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 9]))]
    kwds = {random.choice(NAMES): value() for _ in range(random.choice([0, 0, 0, 0, 1, 1, 2]))}
    os.pwrite(LAST, f"{COUNT} {name} {[type(a).__name__ for a in args]} {list(kwds)}".ljust(500)[:500].encode("ascii", "replace"), 0)
    try:
        f(*args, **kwds)
        reached.add(name)
    except Exception as e:
        if is_bad(e, [*args, *kwds.values()]):
            failures.setdefault(name, f"call {COUNT}: {name}({', '.join(type(a).__name__ for a in args)}): {type(e).__name__}: {e}")
    args = kwds = e = None
faulthandler.cancel_dump_traceback_later()
reset()
assert torch.equal(torch.ones(2) + 1, torch.full((2,), 2.0))
print(f"{CALLS} calls of {len(FUNCTIONS)} functions, {len(reached)} of which took something")
for text in failures.values():
    print("BAD", text)
