"""What tests/ops/calls.c is asked and what it answers (test_c_and_python.py): functions of the C API by name, with arguments.

Arguments are plain Python values, and Memory for a tensor: what its memory holds and how the tensor lies in it, so that C and Python
see the same one. MISSING: the argument that is absent on purpose (TN_NONE, None); WANTED: a further result.
"""

import math
import struct
from typing import NamedTuple

import tenon as torch


class Memory(NamedTuple):
    """A tensor: wish is 1 for a leaf that wants a gradient, 2 for a copy of one."""

    dtype: str
    shape: tuple
    stride: tuple
    offset: int
    wish: int
    data: bytes

    def tensor(self):
        """(the tensor, its leaf or None)"""
        dtype = getattr(torch, self.dtype)
        flat = torch.frombuffer(bytearray(self.data), dtype=dtype) if self.data else torch.empty(0, dtype=dtype)
        x = flat.as_strided(self.shape, self.stride, self.offset).detach()
        if not self.wish:
            return x, None
        leaf = x.requires_grad_()
        return (leaf.clone() if self.wish == 2 else leaf), leaf


class Missing:
    pass


class Wanted:
    pass


class Flags(NamedTuple):
    """A number of C, and what Python calls it."""

    number: int
    python: object


MISSING, WANTED = Missing(), Wanted()


# ---- questions ----


def _text(text):
    data = text.encode()
    return struct.pack("q", len(data)) + data


def _ints(ints):
    return struct.pack(f"{len(ints) + 1}q", len(ints), *ints)


def _memory(m):
    return (_text(m.dtype) + _ints(m.shape) + _ints(m.stride) + struct.pack("qqq", m.offset, m.wish, len(m.data)) + m.data)


def _value(letter, v):
    """The bytes of an argument of that type (a letter of tools/gen_ops/rows.h)."""
    if v is None:
        return b"\0"
    if v is MISSING:
        return b"N"
    if v is WANTED:
        return b"X"
    if isinstance(v, Memory):
        return b"T" + _memory(v)
    if isinstance(v, Flags):
        v = v.number
    if isinstance(v, bool):
        return b"b" + struct.pack("q", v)
    if isinstance(v, int):
        return (b"i" + struct.pack("q", v)) if v < 1 << 63 else b"u" + struct.pack("Q", v)
    if isinstance(v, float):
        return b"f" + struct.pack("d", v)
    if isinstance(v, str):
        return letter.encode() + _text(v)
    if letter == "L":
        return b"L" + struct.pack("q", len(v)) + b"".join(map(_memory, v))
    return b"D" + _ints(v)


def question(name, letters, values):
    return _text(name) + struct.pack("q", len(values)) + b"".join(map(_value, letters, values))


# ---- answers ----


class Result(NamedTuple):
    """What is compared of a tensor."""

    dtype: str
    shape: tuple
    stride: tuple
    grad_fn: str
    data: bytes


def result_of(t):
    """Of a tensor of Python's."""
    if t is None:
        return None
    flat = t.detach().reshape(-1)
    data = flat.numpy().tobytes() if t.dtype != torch.bfloat16 else flat.view(torch.int16).numpy().tobytes()
    shape = tuple(t.shape)
    grad_fn = t.grad_fn.name() if t.grad_fn else "leaf" if t.requires_grad else ""
    return Result(str(t.dtype).removeprefix("torch."), shape, strides(shape, t.stride()), grad_fn, data)


def strides(shape, stride):
    """Those that say something: of dimensions of more than one element."""
    return () if math.prod(shape) == 0 else tuple(s for n, s in zip(shape, stride) if n != 1)


class Answers:
    def __init__(self, data):
        self.data, self.at = data, 0

    def int(self):
        (i,) = struct.unpack_from("q", self.data, self.at)
        self.at += 8
        return i

    def bytes(self):
        n = self.int()
        self.at += n
        return self.data[self.at - n : self.at]

    def text(self):
        return self.bytes().decode("utf-8", "replace")

    def tensor(self):
        if not self.int():
            return None
        dtype = self.text()
        shape = tuple(self.int() for _ in range(self.int()))
        stride = tuple(self.int() for _ in range(self.int()))
        wish, grad_fn, data = self.int(), self.text(), self.bytes()
        return Result(dtype, shape, strides(shape, stride), grad_fn or ("leaf" if wish else ""), data)

    def answer(self):
        """The message of an error; or (results or a truth, the tensors of the arguments afterwards, gradients)."""
        if self.int():
            return self.text()
        n = self.int()
        results = bool(self.int()) if n < 0 else [self.tensor() for _ in range(n)]
        operands = [self.tensor() for _ in range(self.int())]
        kind = self.int()
        grads = None if kind == 2 else self.text() if kind else [self.tensor() for _ in range(self.int())]
        return results, operands, grads
