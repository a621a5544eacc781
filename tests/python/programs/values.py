"""Random tensors, as the text of a program makes them: shapes, dtypes, layouts, values."""

import math

FLOATS = ["float32", "float32", "float32", "float64", "float16", "bfloat16"]
INTS = ["int64", "int64", "int32", "int16", "int8", "uint8"]
DTYPES = [*FLOATS, *INTS, "bool"]
LIMITS = {"int64": 2**63 - 1, "int32": 2**31 - 1, "int16": 2**15 - 1, "int8": 127, "uint8": 255}
SPECIAL = [math.inf, -math.inf, math.nan, 0.0, -0.0, 1.0, -1.0, 0.5, 1e-5, 300.0, -1000.0]


def number(rng, dtype, kind):
    """One value of a dtype. kind: plain (exact in every dtype), normal, special."""
    if dtype == "bool":
        return rng.random() < 0.5
    if dtype in LIMITS:
        if kind == "special" and rng.random() < 0.3:
            return rng.choice([LIMITS[dtype], 0 if dtype == "uint8" else 1 - LIMITS[dtype]])
        return rng.randrange(10) if dtype == "uint8" or kind == "plain" else rng.randrange(-6, 10)
    if kind == "special" and rng.random() < 0.5:
        return rng.choice(SPECIAL)
    if kind == "normal":
        return float(format(rng.gauss(0, 1.5), ".3g"))
    return rng.randrange(-12, 13) / 4


def kind_of_values(rng):
    return rng.choices(["plain", "normal", "special"], [55, 30, 15])[0]


def size(rng):
    return rng.choices([0, 1, 2, 3, 4, 5], [3, 17, 30, 30, 15, 5])[0]


def shape(rng, most=3):
    return [size(rng) for _ in range(rng.choices([0, 1, 2, 3, 4][: most + 2], [12, 28, 38, 17, 5][: most + 2])[0])]


def nested(rng, dims, dtype, kind):
    if not dims:
        return number(rng, dtype, kind)
    return [nested(rng, dims[1:], dtype, kind) for _ in range(dims[0])]


def count(dims):
    return math.prod(dims)


def text(value):
    return repr(value).replace("'", '"') if isinstance(value, str) else repr(value)


def literal(rng, dims, dtype, kind=None, extra=""):
    """torch.tensor(...) of the shape; sizes behind a 0 need a reshape."""
    kind = kind or kind_of_values(rng)
    values = text(nested(rng, dims, dtype, kind))
    lost = 0 in dims and dims.index(0) < len(dims) - 1
    shaped = f".reshape({dims})" if lost else ""
    return f"torch.tensor({values}, dtype=torch.{dtype}, device=D{extra}){shaped}"


def strided(rng, dims, dtype):
    """A tensor of the shape that is a view of a larger one, or of a smaller one."""
    form = rng.choice(["transposed", "step", "offset", "expanded", "gap", "overlapping"])
    nd = len(dims)
    if form == "transposed" and nd >= 2:
        a, b = rng.sample(range(nd), 2)
        turned = list(dims)
        turned[a], turned[b] = turned[b], turned[a]
        return literal(rng, turned, dtype) + f".transpose({a}, {b})"
    if form == "step" and nd >= 1:
        return literal(rng, [*dims[:-1], dims[-1] * 2], dtype) + "[..., ::2]"
    if form == "offset" and nd >= 1:
        return literal(rng, [dims[0] + 1, *dims[1:]], dtype) + "[1:]"
    if form == "gap":
        at = rng.randrange(nd + 1)
        return literal(rng, [*dims[:at], 2, *dims[at:]], dtype) + f".select({at}, {rng.randrange(2)})"
    if form == "expanded" and nd >= 1 and 0 not in dims:
        small = [1 if rng.random() < 0.6 else n for n in dims]
        return literal(rng, small, dtype) + f".expand({dims})"
    if form == "overlapping" and nd in (1, 2) and 0 not in dims:
        steps = [rng.choice([0, 1, 2]) for _ in dims]
        need = 1 + sum(s * (n - 1) for s, n in zip(steps, dims))
        return literal(rng, [need + 1], dtype) + f".as_strided({dims}, {steps}, {rng.randrange(2)})"
    return literal(rng, dims, dtype)


def tensor(rng, dims, dtype, odd=0.3):
    return strided(rng, dims, dtype) if rng.random() < odd else literal(rng, dims, dtype)


def broadcast_with(rng, dims):
    """A shape that broadcasts with one."""
    cut = rng.randrange(len(dims) + 1) if rng.random() < 0.3 else 0
    out = [1 if rng.random() < 0.25 else n for n in dims[cut:]]
    if rng.random() < 0.1:
        out = [size(rng), *out] if len(out) >= len(dims) else out
    return out
