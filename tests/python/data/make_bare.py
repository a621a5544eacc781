"""Writes bare.json: what PyTorch makes of its dtypes of few operations (uint16, uint32, uint64), expression by expression: a
result with its dtype, or the error. Run where PyTorch is installed:

    python3 tests/python/data/make_bare.py > tests/python/data/bare.json

and bare.pt beside itself, a file of such tensors.

x is [the largest number, 1, the largest but one, 0], m the largest, d the dtype, s a 0-dim tensor of 1, f floats, b a mask, i
indices.
"""

import json
import pathlib
import sys

import torch

DTYPES = sys.argv[1:] or ["uint16", "uint32", "uint64"]
EXPRESSIONS = """
x.float() | x.double() | x.half() | x.bfloat16() | x.long() | x.int() | x.short() | x.char() | x.byte() | x.bool() | x.clone()
x.view(torch.uint8) | x.view(2, 2).t().contiguous() | x.view(2, 2).t().float() | x.flip(0) | x.repeat(2) | x[1:3] | x[::2] | x[b] | x[i]
x * x | x * 2 | x * -1 | x * 2.5 | x / x | x / 2 | x & 1 | x | 1 | x ^ x | x == m | x == -1 | x != m | x == 2.5 | x == x.flip(0)
torch.maximum(x, x.flip(0)) | torch.minimum(x, x.flip(0)) | x.clamp(-1, 5) | x.clamp(1, 2) | x.clamp(min=3) | x.relu() | x.round() | x.floor()
torch.where(b, x, 7) | torch.where(b, x, x.flip(0)) | torch.where(b, x, 1.5) | x.sum() | x.prod() | x.cumsum(0) | x.any() | x.all()
x.sum(dtype=torch.float32) | x.mean(dtype=torch.float64) | x.sort()[0] | x.sort(descending=True)[1] | x.argsort()
x.sqrt() | x.log() | x.reciprocal() | x.isnan() | x.isfinite() | torch.cat([x, x]) | torch.stack([x, x]) | torch.cat([x, f])
x.index_select(0, i) | x.gather(0, i) | x.scatter(0, i, x.flip(0)) | x.scatter(0, i, 7) | x.scatter_add(0, i, x) | x.tolist() | x[0].item()
x.fill_(3) | x.zero_() | x.copy_(torch.tensor(-1)) | x.copy_(f) | f.copy_(x) | f.add_(x) | f.double() + x | x + f | x == x.float() | x * s
torch.zeros(2, dtype=d) | torch.ones(2, dtype=d) | torch.full((2,), 3, dtype=d) | torch.full((2,), -1, dtype=d) | torch.full((2,), m, dtype=d)
torch.full((2,), 1.5, dtype=d) | torch.tensor([1, m], dtype=d) | torch.tensor([True], dtype=d) | torch.zeros_like(x) | x.new_ones(2)
torch.tensor([-1.5, 2.5, 70.0]).to(d) | torch.tensor([3e9, 70000.7], dtype=torch.float64).to(d) | torch.tensor([True, False]).to(d)
torch.tensor([-1, 300, -32769]).to(d) | torch.tensor([5.0, 2.0]).half().to(d) | torch.tensor([-1], dtype=torch.int8).to(d)
torch.from_numpy(x.numpy()) | torch.from_dlpack(x) | torch.tensor(x.numpy()) | torch.zeros(3)[s] | x.is_signed() | x.element_size() | x.type()
repr(x) | repr(d) | repr(torch.iinfo(d)) | d.is_signed | d.itemsize | float(s) | int(s) | bool(s) | x.equal(x) | torch.isclose(x, x)
torch.promote_types(d, torch.float16) | torch.result_type(x, 1) | torch.result_type(x, 1.5) | torch.result_type(x, True) | torch.can_cast(d, torch.int8)
torch.can_cast(torch.float32, d) | torch.can_cast(torch.bool, d) | torch.result_type(torch.tensor([1]), s) | torch.result_type(x, torch.tensor(1))
x + x | x - x | x + 1 | 1 - x | x // x | x % 2 | x ** 2 | x.square() | -x | abs(x) | ~x | x << 1 | x >> 1 | x < x | x <= 1 | x > 1 | x >= x
x.sign() | x.logical_not() | x.logical_and(x) | x.logical_xor(x) | torch.fmod(x, 2) | x.masked_fill(b, 1) | x.max() | x.min() | x.max(0) | x.amax()
x.argmax() | x.argmin() | x.mean() | x.var() | x.softmax(0) | x.sum(dtype=d) | x.prod(dtype=d) | x.cumsum(0, dtype=d) | x.view(2, 2) @ x.view(2, 2)
x.dot(x) | x.view(2, 2).mv(x[:2]) | torch.arange(3, dtype=d) | torch.linspace(0, 3, 4, dtype=d) | torch.eye(2, dtype=d) | torch.randperm(3, dtype=d)
torch.rand(2, dtype=d) | torch.randint(-1, 5, (2,), dtype=d) | x.requires_grad_() | torch.set_default_dtype(d) | x.add_(1.5) | x.mul_(1.5)
x + x.long() | x * x.byte() | x == x.int() | x.bool() & x | torch.cat([x, x.int()]) | torch.where(b, x, x.long()) | torch.promote_types(d, torch.int32)
torch.promote_types(torch.bool, d) | torch.tensor([s, 1]) | torch.full((2,), 2**70, dtype=d) | torch.full((2,), -1.5, dtype=d) | x.fill_(float("nan"))
torch.maximum(x, s) | torch.minimum(s, x) | torch.max(x, x.flip(0)) | torch.min(x, x.flip(0)) | torch.maximum(x, f) | torch.maximum(x[::2], x[1::2])
x.clamp(max=3) | x.clamp(max=m - 1) | x.clamp(min=m) | x.clamp(m - 1, m) | x.clamp(2, 1) | x.clamp(max=-1) | x.clamp(min=2**64) | x.clamp(max=2**64)
x.clamp(0.5, 2.5) | x.clamp(x.flip(0)) | x.clamp(max=x.flip(0)) | x.clamp(s, x.flip(0)) | x.clamp(min=f) | x.clamp(min=i) | x.clamp_(1, 5)
x.clamp_(max=s) | x.clamp_min(3) | x.clamp_max(m - 1) | x.clamp_min(x.flip(0)) | x.clamp_max(s) | x.clamp_max_(3) | x.relu_() | x[:0].clamp(1, 2)
torch.nn.functional.relu6(x) | torch.nn.functional.hardtanh(x, 0, 3) | torch.maximum(x, i) | torch.minimum(x, b) | x.clamp(min=True)
torch.maximum(x, x.flip(0), out=x.clone()) | torch.clamp(x, 1, 5, out=x.double())
x ** 0 | x ** 1 | x ** True | x ** -1 | x ** 0.0 | x ** s | 1 ** x | 2 ** x | torch.pow(1, x) | x.pow_(0) | x.pow_(1) | x.pow_(2) | x[:0] ** 0
torch.pow(x, 0, out=x.clone()) | torch.isin(x, 1) | torch.isin(x, m) | torch.isin(x, -1) | torch.isin(x, 1, invert=True) | torch.isin(x, 2.5)
torch.gather(f, 0, x) | f[x] | torch.empty(2, dtype=d, device="meta") * 2 | torch.empty(2, dtype=d, device="meta").float()
"""


def result(value):
    if isinstance(value, torch.Tensor):
        if value.device.type == "meta":
            return [str(value.dtype), list(value.shape)]
        return [str(value.dtype), value.double().tolist() if value.is_floating_point() else value.tolist()]
    return str(value)


def record(name, expression):
    d = getattr(torch, name)
    m = torch.iinfo(d).max
    x, s = torch.tensor([m, 1, m - 1, 0], dtype=d), torch.tensor(1, dtype=d)
    f, b, i = torch.tensor([0.5, 1.0, 2.0, 3.0]), torch.tensor([True, False, True, False]), torch.tensor([3, 0, 2, 0])
    try:
        value = eval(expression)
        return [name, expression, result(value)]
    except Exception as error:
        return [name, expression, {type(error).__name__: str(error).splitlines()[0]}]


if __name__ == "__main__":
    expressions = [e.strip().replace("OR", "|") for e in EXPRESSIONS.replace("x | 1 ", "x OR 1 ").replace("\n", "|").split("|")]
    records = [record(name, e) for name in DTYPES for e in expressions if e]
    tensors = {}
    for name in DTYPES:
        d = getattr(torch, name)
        tensors[name] = torch.tensor([torch.iinfo(d).max, 1, torch.iinfo(d).max - 1, 0], dtype=d).view(2, 2).t()
    torch.save(tensors, pathlib.Path(__file__).with_name("bare.pt"))
    print("[\n" + ",\n".join(json.dumps(r) for r in records) + "\n]")
