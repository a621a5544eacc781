#!/usr/bin/env python3
"""Makes tests/data/golden/*.json: what PyTorch 2.14.1 (CPU) answers, for tests that then need neither PyTorch nor Python.

    python3 -m venv /opt/ref/t214 && /opt/ref/t214/bin/pip install torch==2.14.1
    /opt/ref/t214/bin/python tests/data/make_golden.py            (writes beside itself, into golden/)

special.json    every elementwise row of the list on special values: raw bytes of operands and results, as hex
promotion.json  result dtype, or refusal, of rows and reductions for every dtype and kind of operand
kinks.json      gradients where functions have none: PyTorch's choice of subgradient
print.json      random tensors and how they print

Numbers are drawn from a fixed seed. Bytes are little-endian; a NaN is a NaN whatever its bits.
"""
import json
import math
import os
import random
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "golden")
NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
DTYPES = {n: getattr(torch, n) for n in NAMES}
FLOATS = NAMES[6:]
SPECIAL = ["float32", "float64", "float16", "bfloat16", "int32", "uint8", "int64", "bool"]

UNARY = {n: getattr(torch, n) for n in
         "neg abs sign exp log log1p sqrt rsqrt reciprocal square sin cos tanh sigmoid floor ceil round trunc isnan "
         "isinf isfinite logical_not".split()}
UNARY["relu"] = torch.relu
BINARY = {n: getattr(torch, n) for n in
          "add sub mul div remainder pow maximum minimum clamp_min clamp_max eq ne lt le gt ge logical_and logical_or "
          "logical_xor".split()}
BINARY["div_floor"] = lambda a, b: torch.div(a, b, rounding_mode="floor")
BINARY["div_trunc"] = lambda a, b: torch.div(a, b, rounding_mode="trunc")
TERNARY = {"_clamp": torch.clamp, "where": torch.where, "masked_fill": torch.masked_fill}
DIVIDES = {"div_floor", "div_trunc", "remainder"}


def raw(t):
    """The bytes of a tensor, as hex."""
    t = t.detach().contiguous().reshape(-1)
    return bytes(t.view(torch.uint8).tolist()).hex() if t.numel() else ""


def answer(f, *args):
    """[dtype, bytes], null where PyTorch refuses, "skip" where its function takes no such operand (Tenon's does)."""
    try:
        r = f(*args)
    except TypeError:
        return "skip"
    except (RuntimeError, ValueError):
        return None
    return [str(r.dtype)[6:], raw(r)]


def values(name):
    d = DTYPES[name]
    if name == "bool":
        return torch.tensor([False, True])
    if name not in FLOATS:
        i = torch.iinfo(d)
        v = [0, 1, 2, 3, 7, 10, i.max, i.max - 1, i.max // 2 + 1, i.min, i.min + 1]
        if i.min < 0:
            v += [-1, -2, -3, -7]
        return torch.tensor(sorted(set(v)), dtype=d)
    i = torch.finfo(d)
    v = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 2.0, 3.0, -3.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 7.0, i.max,
         -i.max, i.tiny, -i.tiny, i.smallest_normal / 2, i.smallest_normal * i.eps, -i.smallest_normal * i.eps, 1 + i.eps,
         1 - i.eps, 1 / i.eps, 1 / i.eps + 1, 10000.0]
    return torch.tensor(v, dtype=torch.float64).to(d)


def divisors(name):
    """What integers are divided by: not 0; not -1 where min / -1 traps (int32, int64)."""
    v = values(name)
    if name in FLOATS:
        return v
    v = v[v != 0]
    return v if name in ("uint8", "bool") else v[v != -1]


def outer(a, b):
    return a.repeat_interleave(len(b)), b.repeat(len(a))


def special():
    out = {"values": {}, "divisors": {}, "numbers": [2, -3, 0.5, 2.5, True], "bounds": {}, "unary": {}, "binary": {},
           "number_second": {}, "number_first": {}, "ternary": {}}
    for n in SPECIAL:
        out["values"][n] = raw(values(n))
        out["divisors"][n] = raw(divisors(n))
        v = values(n)
        out["bounds"][n] = raw(v[::4] if len(v) > 12 else v[::2])
    for op, f in UNARY.items():
        out["unary"][op] = {n: answer(f, values(n)) for n in SPECIAL}
    for op, f in BINARY.items():
        out["binary"][op], out["number_second"][op], out["number_first"][op] = {}, {}, {}
        for n in SPECIAL:
            a, b = values(n), divisors(n) if op in DIVIDES else values(n)
            out["binary"][op][n] = answer(f, *outer(a, b))
            second, first = [], []
            for x in out["numbers"]:
                small = n == "bool" or (n == "uint8" and x == -3)  # Tenon keeps numbers as they are: a known difference
                second.append("skip" if small else answer(f, a, x))
                first.append("skip" if small else answer(f, x, b))
            out["number_second"][op][n] = second
            out["number_first"][op][n] = first
    for n in SPECIAL:
        v, b = values(n), None
        b = v[::4] if len(v) > 12 else v[::2]
        x, y = outer(v, b)
        x, z = x.repeat_interleave(len(b)), b.repeat(len(x))
        y = y.repeat_interleave(len(b))
        out["ternary"].setdefault("_clamp", {})[n] = answer(torch.clamp, x, y, z)
        m = torch.arange(len(v)) % 2 == 0
        out["ternary"].setdefault("where", {})[n] = answer(torch.where, m, v, v.flip(0))
        out["ternary"].setdefault("masked_fill", {})[n] = [answer(torch.masked_fill, v, m, k)
                                                           for k in out["numbers"]]
    return out


# ---- promotion ----

LETTER = {d: c for d, c in zip(DTYPES.values(), "b u c s i l h g f d".split())}


def letter(f, *args, **kw):
    try:
        r = f(*args, **kw)
    except TypeError:
        return "?"  # torch's function takes no such operand
    except (RuntimeError, ValueError, IndexError):
        return "!"
    if isinstance(r, (tuple, list)):
        r = r[0]
    return LETTER[r.dtype]


def promotion():
    dims = {n: torch.ones(2, 2).to(d) for n, d in DTYPES.items()}
    zero = {n: torch.ones(()).to(d) for n, d in DTYPES.items()}
    numbers = [True, 2, 2.5]
    out = {"letters": {n: LETTER[d] for n, d in DTYPES.items()}, "binary": {}, "unary": {}, "reduction": {}, "where": {}}
    ops = dict(BINARY)
    ops["where"] = lambda a, b: torch.where(torch.tensor(True), a, b)
    for op, f in ops.items():
        e = {}
        for kind, (p, q) in {"dims dims": (dims, dims), "dims zero": (dims, zero), "zero dims": (zero, dims),
                             "zero zero": (zero, zero)}.items():
            e[kind] = "".join(letter(f, p[a], q[b]) for a in NAMES for b in NAMES)
        for kind, p in {"dims number": dims, "zero number": zero}.items():
            e[kind] = "".join(letter(f, p[a], x) for a in NAMES for x in numbers)
        for kind, p in {"number dims": dims, "number zero": zero}.items():
            e[kind] = "".join(letter(f, x, p[b]) for x in numbers for b in NAMES)
        if op not in ("where", "maximum", "minimum"):
            name = {"div_floor": "div_", "div_trunc": "div_"}.get(op, op + "_")
            kw = {"rounding_mode": op[4:]} if op in ("div_floor", "div_trunc") else {}
            e["in place"] = "".join(letter(getattr(dims[a].clone(), name), dims[b], **kw) for a in NAMES for b in NAMES)
            e["in place zero"] = "".join(letter(getattr(dims[a].clone(), name), zero[b], **kw) for a in NAMES for b in NAMES)
            e["in place number"] = "".join(letter(getattr(dims[a].clone(), name), x, **kw) for a in NAMES for x in numbers)
        out["binary"][op] = e
    for op, f in UNARY.items():
        out["unary"][op] = "".join(letter(f, dims[n]) for n in NAMES)
        out["unary"][op + "_"] = "".join(letter(getattr(dims[n].clone(), op + "_"), ) if hasattr(torch.Tensor, op + "_") else "?"
                                         for n in NAMES)
    r = out["reduction"]
    for op in "sum mean prod amax amin any all argmax argmin max min var std logsumexp".split():
        r[op] = "".join(letter(getattr(torch, op), dims[n], **({"dim": (0, 1)} if op == "logsumexp" else {})) for n in NAMES)
        r[op + " dim"] = "".join(letter(getattr(torch, op), dims[n], dim=1) for n in NAMES)
    for op in "cumsum softmax log_softmax".split():
        r[op] = "".join(letter(getattr(torch, op), dims[n], dim=1) for n in NAMES)
    for op in "sum mean prod cumsum softmax log_softmax".split():
        kw = {} if op in ("sum", "mean", "prod") else {"dim": 0}
        r[op + " dtype"] = "".join(letter(getattr(torch, op), dims[n], dtype=DTYPES[m], **kw) for n in NAMES for m in NAMES)
    two = {"mm": lambda a, b: torch.mm(a, b), "matmul": torch.matmul, "cat": lambda a, b: torch.cat([a, b]),
           "stack": lambda a, b: torch.stack([a, b]), "dot": lambda a, b: torch.dot(a[0], b[0]),
           "mv": lambda a, b: torch.mv(a, b[0]), "outer": lambda a, b: torch.outer(a[0], b[0]),
           "addmm": lambda a, b: torch.addmm(a, b, b), "linear": lambda a, b: torch.nn.functional.linear(a, b),
           "mse_loss": torch.nn.functional.mse_loss, "l1_loss": torch.nn.functional.l1_loss,
           "isclose": torch.isclose, "index_add": lambda a, b: torch.index_add(a, 0, torch.tensor([0, 1]), b),
           "scatter": lambda a, b: torch.scatter(a, 0, torch.zeros(2, 2, dtype=torch.int64), b),
           "copy_": lambda a, b: a.clone().copy_(b)}
    for op, f in two.items():
        r[op + " two"] = "".join(letter(f, dims[a], dims[b]) for a in NAMES for b in NAMES)
    r["index_select index"] = "".join(letter(torch.index_select, dims["float32"], 0, torch.zeros(2).to(d)) for d in DTYPES.values())
    r["gather index"] = "".join(letter(torch.gather, dims["float32"], 0, torch.zeros(2, 2).to(d)) for d in DTYPES.values())
    r["embedding index"] = "".join(letter(torch.nn.functional.embedding, torch.zeros(2).to(d), dims["float32"]) for d in DTYPES.values())
    r["one_hot index"] = "".join(letter(torch.nn.functional.one_hot, torch.zeros(2).to(d), 3) for d in DTYPES.values())
    r["nll_loss target"] = "".join(letter(torch.nn.functional.nll_loss, dims["float32"], torch.zeros(2).to(d)) for d in DTYPES.values())
    return out


# ---- subgradients ----

def kinks():
    """[row, operands (float64), gradient of sum(result) with respect to each]"""
    out = []

    def add(row, f, *operands):
        t = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in operands]
        g = torch.autograd.grad(f(*t).sum(), t, allow_unused=True)
        out.append([row, [raw(x) for x in t], ["" if x is None else raw(x) for x in g]])

    inf, nan = math.inf, math.nan
    points = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, inf, -inf, nan]
    for op, f in UNARY.items():
        if not op.startswith("is") and op != "logical_not":
            add(op, f, points)
    a, b = zip(*[(x, y) for x in [0.0, -0.0, 1.0, -1.0, 2.0, -2.5, inf, nan] for y in [0.0, 1.0, -1.0, 2.0, 0.5, -2.0, inf, nan]])
    for op, f in BINARY.items():
        if op not in ("eq", "ne", "lt", "le", "gt", "ge") and not op.startswith("logical"):
            add(op, f, list(a), list(b))
    x, lo, hi = zip(*[(x, lo, hi) for x in [-1.0, 0.0, 0.5, 1.0, 2.0, nan] for lo in [0.0, 1.0, 0.5] for hi in [0.0, 1.0, 2.0]])
    add("_clamp", torch.clamp, list(x), list(lo), list(hi))
    for n in [0.0, 1.0, 2.0, 0.5, -1.0]:  # number operands
        add("pow number %g" % n, lambda t: torch.pow(t, n), points)
        add("clamp_min number %g" % n, lambda t: torch.clamp_min(t, n), points)
        add("clamp_max number %g" % n, lambda t: torch.clamp_max(t, n), points)
        add("remainder number %g" % n, lambda t: torch.remainder(t, n), points)
        add("number pow %g" % n, lambda t: torch.pow(n, t), points)
    add("_clamp number 0 1", lambda t: torch.clamp(t, 0.0, 1.0), points)
    ties = [[3.0, 1.0, 3.0], [2.0, 2.0, 2.0], [1.0, 5.0, 0.0], [0.0, 0.0, 4.0], [nan, 1.0, nan]]
    for op in "amax amin max min prod std var logsumexp".split():
        if op not in ("logsumexp",):
            add(op, getattr(torch, op), ties)
        g = getattr(torch, op)
        add(op + " dim", (lambda t: g(t, 1)[0]) if op in ("max", "min") else (lambda t: g(t, 1)), ties)
    same = [[2.0, 2.0], [0.0, 3.0], [inf, inf], [-inf, -inf], [inf, 1.0]]
    add("std dim", lambda t: torch.std(t, 1), same)
    add("logsumexp dim", lambda t: torch.logsumexp(t, 1), same)
    add("prod dim", lambda t: torch.prod(t, 1), same)
    F = torch.nn.functional
    add("l1_loss", F.l1_loss, [0.0, 1.0, -1.0, 2.0], [0.0, 2.0, -1.0, nan])
    add("mse_loss", F.mse_loss, [0.0, 1.0, -1.0, inf], [0.0, 2.0, -1.0, 1.0])
    add("bce", F.binary_cross_entropy_with_logits, [0.0, -0.0, 1000.0, -1000.0, 2.0], [0.0, 1.0, 1.0, 0.0, 0.5])
    return out


# ---- printing ----

def draw(r, name, shape):
    """Values of one of many kinds."""
    d, n = DTYPES[name], math.prod(shape)
    if name == "bool":
        v = [r.random() < 0.5 for _ in range(n)]
    elif name not in FLOATS:
        i = torch.iinfo(d)
        how = r.randrange(4)
        lo, hi = [(0, 9), (max(i.min, -100), 100), (i.min, i.max), (0, min(i.max, 100000))][how]
        v = [r.randint(lo, hi) for _ in range(n)]
    else:
        how = r.randrange(10)
        kinds = [lambda: r.uniform(-1, 1), lambda: float(r.randint(-9, 9)), lambda: float(r.randint(0, 99999)),
                 lambda: r.uniform(-1000, 1000), lambda: r.uniform(-1, 1) * 10 ** r.uniform(-8, 8), lambda: r.uniform(0, 1e-5),
                 lambda: r.uniform(1e7, 3e9), lambda: r.choice([math.nan, math.inf, -math.inf, 1.0, r.uniform(-3, 3)]),
                 lambda: r.choice([0.0, -0.0, 1.0, math.nan, math.inf]), lambda: r.choice([1e-4, 1.0, 999.5, 1000.5, 0.1])]
        v = [kinds[how]() for _ in range(n)]
    return torch.tensor(v, dtype=torch.float64 if name in FLOATS else None).to(d).reshape(shape)


def printing():
    r = random.Random(2141)
    shapes = [(), (), (1,), (2,), (5,), (7,), (30,), (0,), (2, 3), (3, 1), (1, 1), (4, 7), (0, 3), (2, 0), (1, 20), (2, 2, 2),
              (3, 1, 2), (1, 2, 30), (2, 1, 2, 3), (1, 1, 1, 1), (2, 3, 0, 1), (12, 2), (2, 40)]
    big = [(1001,), (40, 30), (6, 7, 30), (1200, 1), (2, 600), (8, 8, 4, 5)]
    out = []
    for i in range(420):
        name = NAMES[i % 10]
        t = draw(r, name, r.choice(big) if i % 14 == 13 else r.choice(shapes))
        o = {}
        if i % 3 == 0:
            o["precision"] = r.choice([1, 2, 3, 6, 8])
        if i % 4 == 1:
            o["threshold"] = r.choice([1, 5, 10, 50])
        if i % 5 == 2:
            o["edgeitems"] = r.choice([1, 2, 4])
        if i % 3 == 1:
            o["linewidth"] = r.choice([20, 40, 60, 100, 120])
        if i % 6 == 4:
            o["sci_mode"] = r.choice([True, False])
        grad = name in FLOATS and i % 4 == 2
        suffix = ""
        x = t.clone()
        if grad:
            x.requires_grad_()
            suffix = r.choice(["leaf", "mul", "clone", "transpose"])
            if suffix == "mul":
                x = x * 1
            elif suffix == "clone":
                x = x.clone()
            elif suffix == "transpose" and t.dim() >= 2:
                x = x.transpose(0, 1)
            elif suffix == "transpose":
                suffix = "leaf"
        torch.set_printoptions(profile="default", sci_mode=None)
        torch.set_printoptions(**o)
        text = repr(x)
        torch.set_printoptions(profile="default", sci_mode=None)
        out.append({"dtype": name, "shape": list(t.shape), "data": raw(t), "options": o, "grad": suffix, "text": text})
    return out


def lines(data, depth):
    """JSON with a line for each item down to a depth, so that changes can be read."""
    if depth == 0 or not isinstance(data, (dict, list)) or not data:
        return json.dumps(data, separators=(",", ":"))
    if isinstance(data, list):
        return "[\n" + ",\n".join(lines(x, depth - 1) for x in data) + "]"
    return "{\n" + ",\n".join(json.dumps(k) + ":" + lines(v, depth - 1) for k, v in data.items()) + "}"


def write(name, data, depth):
    path = os.path.join(OUT, name)
    with open(path, "w") as f:
        f.write(lines(data, depth) + "\n")
    print(name, os.path.getsize(path), "bytes")


def main():
    if torch.__version__.split("+")[0] != "2.14.1":
        sys.exit("made with PyTorch 2.14.1, this is " + torch.__version__)
    torch.set_num_threads(1)
    os.makedirs(OUT, exist_ok=True)
    write("special.json", special(), 3)
    write("promotion.json", promotion(), 3)
    write("kinks.json", kinks(), 1)
    write("print.json", printing(), 1)


if __name__ == "__main__":
    main()
