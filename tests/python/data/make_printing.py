#!/usr/bin/env python3
"""Makes printing.json: 300 tensors and the text that PyTorch prints for each. Run with a Python that has PyTorch:

    python tests/python/data/make_printing.py

An item: "dtype", "shape"; "data", the elements in little-endian hexadecimal, to be repeated until the shape is full;
"views", what is done to the tensor then; "grad": "leaf" if it asks for a gradient first, "parameter" if it is made a
Parameter; "default": another default dtype; "device": "meta"; "options" of set_printoptions; "text".
"""
import json
import math
import random
import struct
from pathlib import Path

import torch

FLOATS = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32, "float64": torch.float64}
INTEGERS = {"uint8": torch.uint8, "int8": torch.int8, "int16": torch.int16, "int32": torch.int32, "int64": torch.int64}
DTYPES = {"bool": torch.bool, **INTEGERS, **FLOATS}
BITS = {"bool": torch.uint8, "float16": torch.int16, "bfloat16": torch.int16, "float32": torch.int32, "float64": torch.int64}

SMALL = [(), (), (), (1,), (2,), (3,), (6,), (11,), (25,), (2, 3), (3, 2), (1, 1), (5, 4), (1, 17), (9, 1), (2, 2, 2), (3, 1, 2),
         (1, 4, 5), (2, 3, 1, 2), (1, 2, 1, 3, 1), (2, 1, 2, 1, 2, 1), (1, 1, 2, 1, 1, 2, 1), (1, 2, 1, 1, 2, 1, 1, 2),
         (1,) * 8]
EMPTY = [(0,), (0, 3), (2, 0), (3, 0, 2), (1, 0, 0, 1), (0, 1, 1, 1, 1, 1, 1, 1)]
LARGE = [(1001,), (2000,), (7, 150), (150, 7), (1002, 1), (1, 1002), (11, 10, 10), (5, 5, 6, 7), (3, 3, 3, 3, 13), (7, 7, 7, 7)]


def special(r):
    return r.choice([math.nan, math.inf, -math.inf, 0.0, -0.0])


KINDS = [
    lambda r: r.uniform(-1, 1),
    lambda r: r.uniform(-1000, 1000),
    lambda r: float(r.randint(-9, 9)),
    lambda r: float(r.randint(-10**6, 10**6)),
    lambda r: float(r.randint(10**7, 10**9)),
    lambda r: r.uniform(-1, 1) * 10.0 ** r.uniform(-9, 9),
    lambda r: r.uniform(-1, 1) * 1e-5,
    lambda r: r.uniform(-1, 1) * 1e-42,
    lambda r: r.uniform(1e20, 1e38),
    lambda r: r.uniform(-1, 1) * 10.0 ** r.uniform(-300, 300),
    lambda r: special(r) if r.random() < 0.4 else r.uniform(-5, 5),
    lambda r: special(r) if r.random() < 0.5 else float(r.randint(-99, 99)),
    special,
    lambda r: r.choice([-0.0, 0.0, 1.0, 2.5]),
    lambda r: r.choice([0.1, 1.0, 99.95, 99.99996, 999.99, 1000.0, 1000.1, 1e-4, 0.99996]),
    lambda r: r.choice([1e8, 99999999.0, 1.00001e8, 1.0, 1e5]),
    lambda r: -abs(r.gauss(0, 30)),
    lambda r: r.choice([65504.0, -65504.0, 6.1e-5, 6e-8, 1.0]),
]


def values(r, name, n):
    if name == "bool":
        how = r.randrange(4)
        return [how == 1 or (how > 1 and r.random() < 0.5) for _ in range(n)]
    if name in INTEGERS:
        i = torch.iinfo(DTYPES[name])
        low, high = r.choice([(0, 9), (max(i.min, -100), 100), (i.min, i.max), (0, min(i.max, 10**5)), (i.min, i.min + 1)])
        return [r.randint(low, high) for _ in range(n)]
    kind = r.choice(KINDS)
    return [kind(r) for _ in range(n)]


def bits(t):
    """Little-endian bytes of a contiguous tensor, in hexadecimal."""
    kind = BITS.get(str(t.dtype).removeprefix("torch."))
    numbers = (t.view(kind) if kind else t).flatten().tolist()
    code = {1: "b", 2: "h", 4: "i", 8: "q"}[t.element_size()]
    code = code.upper() if t.dtype in (torch.uint8, torch.bool) else code
    return struct.pack(f"<{len(numbers)}{code}", *numbers).hex()


def filled(dtype, shape, elements):
    """A tensor of that shape; the elements repeated."""
    n = math.prod(shape)
    times = -(-n // len(elements)) if n else 0
    return elements.repeat(times)[:n].reshape(shape).to(dtype)


def some_views(r, shape):
    views = []
    rank = len(shape)
    if rank >= 2 and r.random() < 0.5:
        order = list(range(rank))
        r.shuffle(order)
        views.append(["permute", order])
        shape = [shape[d] for d in order]
    if rank and r.random() < 0.6:
        d = r.randrange(rank)
        start, step = r.randint(0, max(0, shape[d] - 1)), r.randint(1, 3)
        views.append(["slice", d, start, shape[d], step])
        shape = [len(range(start, s, step)) if i == d else s for i, s in enumerate(shape)]
    if rank and r.random() < 0.3:
        views.append(["select", 0, 0] if shape[0] else ["unsqueeze", 0])
    elif rank < 8 and r.random() < 0.4:
        views += [["unsqueeze", 0], ["expand", [r.choice([2, 3, 500]), *shape]]]
    return views


def apply(t, views):
    for name, *arguments in views:
        if name == "slice":
            d, start, stop, step = arguments
            t = t[(slice(None),) * d + (slice(start, stop, step),)]
        else:
            t = getattr(t, name)(*arguments)
    return t


def some_options(r):
    o = {}
    if r.random() < 0.15:
        o["profile"] = r.choice(["default", "short", "full"])
    if r.random() < 0.35:
        o["precision"] = r.choice([0, 1, 2, 3, 5, 6, 8, 12])
    if r.random() < 0.3:
        o["threshold"] = r.choice([0, 1, 4, 10, 100, 5000])
    if r.random() < 0.3:
        o["edgeitems"] = r.choice([0, 1, 2, 4, 5])
    if r.random() < 0.35:
        o["linewidth"] = r.choice([1, 10, 20, 33, 40, 60, 79, 81, 100, 120, 200])
    if r.random() < 0.25:
        o["sci_mode"] = r.choice([True, False])
    return o


def draw(r, i):
    names = list(DTYPES)
    name = names[i % len(names)] if i % 3 else r.choice(list(FLOATS))
    group = r.choices([SMALL, EMPTY, LARGE], [75, 8, 17])[0]
    shape = r.choice(group)
    n = math.prod(shape)
    count = max(1, min(n, r.choice([5, 17, 40]) if group is LARGE else n))
    numbers = torch.tensor(values(r, name, count), dtype=torch.float64 if name in FLOATS else None)
    elements = numbers.to(DTYPES[name])
    item = {"dtype": name, "shape": list(shape), "data": bits(elements)}
    if r.random() < 0.35:
        item["views"] = some_views(r, list(shape))
    if name in FLOATS and r.random() < 0.3:
        item["grad"] = r.choice(["leaf", "leaf", "parameter"])
    if r.random() < 0.08:
        item["default"] = r.choice(list(FLOATS))
    if r.random() < 0.04:
        item["device"] = "meta"
    if r.random() < 0.75:
        item["options"] = some_options(r)
    return item, filled(DTYPES[name], shape, elements)


def text_of(item, t):
    t = t.to(item.get("device", "cpu"))
    if item.get("grad") == "leaf":
        t.requires_grad_()
    t = apply(t, item.get("views", []))
    if item.get("grad") == "parameter":
        t = torch.nn.Parameter(t)
    try:
        torch.set_default_dtype(DTYPES[item.get("default", "float32")])
        torch.set_printoptions(profile="default", sci_mode=None)
        torch.set_printoptions(**item.get("options", {}))
        return repr(t)
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_printoptions(profile="default", sci_mode=None)


def main():
    r = random.Random(20)
    items = []
    while len(items) < 300:
        item, t = draw(r, len(items))
        item["text"] = text_of(item, t)
        if len(item["text"]) < 6000:
            items.append(item)
    path = Path(__file__).with_name("printing.json")
    head = {"made_with": f"PyTorch {torch.__version__}", "items": []}
    lines = ",\n".join(json.dumps(i, separators=(",", ":")) for i in items)
    path.write_text(json.dumps(head)[:-2] + "\n" + lines + "\n]}\n", encoding="utf-8")
    print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
