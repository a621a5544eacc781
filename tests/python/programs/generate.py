"""Random programs, and what PyTorch makes of them. program(seed) is the same for the same seed and the same PyTorch."""

import random
import re

import torch

from . import values
from .calls import EQUATIONS, Arguments
from .interpret import Run, changes

DIFFERENTIABLE = values.FLOATS
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">="]
AUGMENTED = ["+=", "-=", "*=", "/=", "//=", "%=", "**=", "&=", "|=", "^=", "<<=", ">>="]
SEEN = ["{}.T", "{}.mT", "{}.H", "{}.data", "{}.shape", "{}.ndim", "{}.requires_grad", "{}.grad", "{}.is_leaf", "{}.dtype", "{}.itemsize",
        "{}.nbytes", "len({})", "bool({})", "float({})", "int({})", "list({})", "repr({})", "str({})", "-{}", "+{}", "~{}", "abs({})",
        "2 in {}", "{}.size()", "{}.is_contiguous()", "[*{}]", "hash({}) == hash({})", "{}.tolist()", "divmod({}, 2)", "round({})",
        "{}.detach()", "{}.item()", "{}._version", "range(4)[{}]", "[1, 2, 3][{}]", "reversed({})", '"{{:.2f}}".format({})'] + ["{}.T"]  # fmt: skip
MADE = ["torch.tensor({v}.tolist(), device=D)", "torch.as_tensor({v})", "torch.asarray({v})", "{v}.new_tensor([1, 2.5])", "torch.tensor([{v}, 1], device=D)",
        "torch.tensor([[1, 2.5], [3, True]], device=D)", "torch.tensor({v})", "torch.tensor([True, 2], dtype={d}, device=D)", "torch.as_tensor([1.5, 2], dtype={d})",
        "torch.tensor([{v}, {v}], dtype={d}, device=D)", "torch.as_tensor({v}, dtype={d})", "torch.asarray({v}, copy=True)", "torch.tensor([[1], [2, 3]], device=D)",
        "{v}.new_tensor({v})", "torch.asarray({v}, dtype={d})", "torch.tensor(2.5, requires_grad=True, device=D)", "torch.asarray([1, 2.5], requires_grad=True, device=D)"]  # fmt: skip
DRAWN = ["torch.rand({s}, device=D)", "torch.randn({s}, device=D)", "torch.empty({s}, device=D)", "torch.rand_like({v})", "torch.randn_like({v})",
         "torch.empty_like({v})", "{v}.new_empty({s})", "torch.randint(5, {s}, device=D)", "torch.randint_like({v}, 5)", "torch.bernoulli({v}.abs() % 1)",
         "{v}.bernoulli()", "torch.randperm(4, device=D)", "F.dropout({v}, 0.5)", "torch.multinomial(torch.ones(3, device=D), 2)",
         "torch.normal({v}, 1.0)", "torch.normal(0.0, 1.0, {s}, device=D)"]  # fmt: skip
DRAWN_IN_PLACE = ["uniform_()", "normal_()", "random_(5)", "exponential_()", "bernoulli_()", "log_normal_()", "cauchy_()", "geometric_(0.5)"]
# Where numbers may change their dtype: what is out of range of an integer is undefined, and on no two processors the same.
CONVERTS = re.compile(r"\bto\(|dtype=|tensor\(|\.(long|int|short|byte|char|type|type_as|copy_|fill_|view)\(|\] [-+*/%&|^<>]*=|out=|index_|scatter|masked|where")


def dtype_name(t):
    return str(t.dtype).removeprefix("torch.")


def beyond(line, pool, result):
    """May it convert a number to an integer dtype that does not hold it?"""
    if not CONVERTS.search(line) and ".new_tensor" not in line:
        return False
    used = [t for n, t in pool.items() if re.search(rf"\b{n}\b", line)] + list(result)
    ints = [torch.iinfo(t.dtype) for t in used if not t.is_floating_point() and t.dtype != torch.bool]
    ints += [torch.iinfo(getattr(torch, d)) for d in values.LIMITS if f"torch.{d}" in line]
    ints += [torch.iinfo(torch.int8)] if re.search(r"\.(char|byte|short|int|long)\(", line) else []
    for t in used if ints else []:
        x = t.detach().double()
        if t.is_floating_point() and x.numel() and not (x.isfinite().all() and x.max() <= min(i.max for i in ints) and x.min() >= max(i.min for i in ints)):
            return True
    return bool(ints) and bool(re.search(r"\b(nan|inf)\b", line)) and "torch.tensor" in line


class Program:
    """One program as it grows. lines: [operation, text]; pool: its tensors in PyTorch."""

    def __init__(self, seed, catalogue):
        self.rng = random.Random(seed)
        self.catalogue = catalogue
        self.keys = sorted(catalogue)
        self.lines = []
        self.run = Run(torch, "cpu")
        self.count = 0

    def pool(self):
        return {n: t for n, t in self.run.names.items() if n[0] == "v" and n[1:].isdigit() and isinstance(t, torch.Tensor)}

    def one(self, choices):
        return self.rng.choice(choices)

    def a_tensor(self, fits=None):
        """The name of a tensor of the program that fits, or None. What may not be asked (a view of many whose base was written
        to has no grad_fn, it raises) does not fit."""

        def fit(t):
            try:
                return fits(t)
            except RuntimeError:
                return False

        pool = self.pool()
        found = [n for n in pool if fits is None or fit(pool[n])]
        return self.one(found) if found else None

    def attempt(self, op, text, result=True):
        """Runs a line in PyTorch and keeps it, unless it raises (some of those are kept as well). Says whether it was kept."""
        name = f"v{self.count}"
        line = f"{name} = {text}" if result else text
        error = self.run.step(line)
        made = self.run.names.get(name) if result and error is None else None
        if error is None and self.unwanted(line, made):
            self.run.names.pop(name, None)
            return False
        if error is not None and self.rng.random() > self.errors:
            return False
        if error is None and result and not isinstance(made, torch.Tensor):
            line = f"r{self.count} = {text}"
            self.run.names[f"r{self.count}"] = self.run.names.pop(name)
        self.count += result
        self.lines.append([op, line])
        if isinstance(made, (tuple, list)) and any(isinstance(t, torch.Tensor) for t in made) and self.rng.random() < 0.6:
            self.unpack(line.split(" ")[0], made)
        return True

    def unpack(self, name, made):
        at = self.one([i for i, t in enumerate(made) if isinstance(t, torch.Tensor)])
        self.attempt("unpack", f"{name}[{at}]")

    def unwanted(self, line, made):
        tensors = [made] if isinstance(made, torch.Tensor) else [t for t in made if isinstance(t, torch.Tensor)] if isinstance(made, (tuple, list)) else []
        if any(t.numel() > 200 or t.dtype.is_complex or t.dtype in (torch.uint16, torch.uint32, torch.uint64) for t in tensors):
            return True
        if any(t.layout != torch.strided for t in tensors):
            return True
        return beyond(line, self.pool(), tensors)

    # ---- kinds of lines ----

    def new(self):
        dtype = self.one(values.DTYPES)
        like = self.a_tensor() if self.rng.random() < 0.5 else None
        dims = values.broadcast_with(self.rng, list(self.pool()[like].shape)) if like else values.shape(self.rng)
        text = values.tensor(self.rng, dims, dtype)
        if dtype in DIFFERENTIABLE and self.rng.random() < 0.4:
            text += ".requires_grad_()"
        return self.attempt("new", text)

    def call(self):
        where, name = self.one(self.keys)
        return self.call_of(where, name)

    def call_of(self, where, name):
        """A line that calls an operation, by one of its signatures."""
        call = self.one(self.catalogue[where, name])
        pool = self.pool()
        args = Arguments(self.rng, torch, pool)
        self.errors = 0.5 if args.wild else 0.06
        t_name = self.a_tensor()
        t = pool[t_name]
        texts, keywords, said, first, by_name = [], [], {}, True, False
        equation = self.one(EQUATIONS)
        for p in call.params:
            if p.default and self.rng.random() < 0.55 and not (p.name == "dim" and self.rng.random() < 0.3):
                by_name = True
                continue
            if first and p.type in ("Tensor", "Operand") and p.name != "condition":
                text, first = t_name, False
                if name == "embedding":
                    text = args.index_for(name, t, 0, t.shape[0] if t.dim() else 1)
            else:
                text = self.argument(p, name, t_name, args, said, equation)
            by_name |= bool(texts) and self.rng.random() < 0.05 and not p.type.endswith("*")
            if p.keyword or by_name:
                keywords.append((p.name, text))
            else:
                texts.append(text)
        if call.out and self.rng.random() < 0.15:
            keywords.append(("out", self.out(where, name, texts, keywords)))
        return self.written(where, name, texts, keywords)

    def argument(self, p, name, t_name, args, said, equation):
        """The text of an argument that is not the first tensor."""
        t = self.pool()[t_name]
        if p.type == "equation":
            return values.text(equation[0])
        if p.type in ("Tensor*", "Tensor[]", "int[]*"):
            return self.several(p, name, t_name, t, args, equation)
        if p.type == "indices":
            index = args.index_for("index", t, 0, t.shape[0] if t.dim() else 1)
            return f"[{index}]" if self.rng.random() < 0.7 else f"({args.mask(t)},)"
        if p.type == "Tensor" and name == "embedding" and p.name == "weight":
            return t_name
        return args.value(p, name, t, said)

    def several(self, p, name, t_name, t, args, equation):
        """The text of a list of tensors, or of any number of arguments."""
        if p.type == "int[]*":
            return ", ".join(repr(values.broadcast_with(self.rng, list(t.shape))) for _ in range(2))
        if name == "einsum":
            items = [args.fresh([2 if self.rng.random() < 0.8 else 3] * nd, "float32", 0.3) for nd in equation[1]]
        else:
            items = [t_name]
            for _ in range(self.rng.randrange(3)):
                same = args.named(lambda o: o.dim() == t.dim())
                dims = list(t.shape)
                if dims and self.rng.random() < 0.4:
                    dims[self.rng.randrange(len(dims))] = values.size(self.rng)
                items.append(same if same and self.rng.random() < 0.4 else args.fresh(dims, args.other_dtype(t), 0.2))
        self.rng.shuffle(items)
        return ", ".join(items) if p.type == "Tensor*" else "[" + ", ".join(items) + "]"

    def out(self, where, name, texts, keywords):
        """A tensor, or a tuple of them, for out=: mostly one that fits."""
        try:
            got = eval(self.expression(where, name, texts, keywords), dict(self.run.names))
        except Exception:  # noqa: BLE001: it will not fit anyway
            return self.one(list(self.pool()))
        results = list(got) if isinstance(got, (tuple, list)) else [got]
        return ", ".join(self.out_like(g) for g in results) if len(results) == 1 else "(" + ", ".join(self.out_like(g) for g in results) + ")"

    def out_like(self, got):
        if not isinstance(got, torch.Tensor):
            return self.one(list(self.pool()))
        same = self.a_tensor(lambda t: t.shape == got.shape and t.dtype == got.dtype)
        if same and self.rng.random() < 0.6:
            return same
        dtype = dtype_name(got) if self.rng.random() < 0.8 else self.one(values.DTYPES)
        dims = list(got.shape) if self.rng.random() < 0.8 else self.one([[0], [2], values.shape(self.rng)])
        name = f"v{self.count}"
        made = values.tensor(self.rng, dims, dtype)
        self.attempt("new", made)
        return name if name in self.run.names else made

    @staticmethod
    def expression(where, name, texts, keywords):
        words = [f"{k}={v}" for k, v in keywords]
        if where == "method":
            return f"{texts[0]}.{name}({', '.join(texts[1:] + words)})"
        return f"{where}.{name}({', '.join(texts + words)})"

    def written(self, where, name, texts, keywords):
        if self.rng.random() < 0.02:
            change = self.one(["less", "more", "word"])
            texts = texts[:-1] if change == "less" and len(texts) > 1 else [*texts, "1"] if change == "more" else texts
            keywords = [*keywords, ("bogus", "1")] if change == "word" else keywords
            self.errors = 0.8
        if where == "method" and not texts:
            return False
        text = self.expression(where, name, texts, keywords)
        r = self.rng.random()
        if r < 0.03:
            return self.attempt(name, f"with torch.no_grad(): v{self.count} = {text}", False) and self.counted()
        return self.attempt(name, text, not (name.endswith("_") and r < 0.7))

    def counted(self):
        self.count += 1
        return True

    def index(self, t):
        """The text of an index of t."""
        args = Arguments(self.rng, torch, self.pool())
        items, rest = [], list(t.shape)
        for n in rest:
            r = self.rng.random()
            if r < 0.3:
                items.append(self.slice(n))
            elif r < 0.5:
                items.append(repr(self.rng.randrange(-n - args.wild, n + args.wild) if n + args.wild > 0 else 0))
            elif r < 0.58:
                items += ["None", ":"]
            elif r < 0.72:
                items.append(args.index(t, self.one([[2], [1], [2, 1], [], [n]]), n))
            elif r < 0.8:
                items.append(repr([self.rng.randrange(-n, n) if n else 0 for _ in range(self.rng.randrange(4))]))
            elif r < 0.86:
                items.append(values.literal(self.rng, [n], self.one(["bool", "bool", "uint8"])))
            elif r < 0.9:
                items.append(repr([self.rng.random() < 0.5 for _ in range(n)]))
            else:
                items.append("...")
        r = self.rng.random()
        if r < 0.25:
            items = items[: self.rng.randrange(len(items) + 1)]
        if r > 0.9:
            items = self.one([["..."], [args.mask(t)], ["True"], ["False"], ["None"], ["()"], [repr(self.rng.randrange(-3, 3))], ["..."], ["[]"],
                              ["[[0, 0], [0, 0]]"], ["1.5"], ['"text"'], ["torch.tensor(0, device=D)"], ["torch.tensor(True, device=D)"]])  # fmt: skip
        if not items:
            return "()"
        return ", ".join(items) + ("," if len(items) == 1 and self.rng.random() < 0.2 else "")

    def slice(self, n):
        part = [self.one(["", repr(self.rng.randrange(-n - 1, n + 2))]) for _ in range(2)]
        step = self.one([":1", ":2", ":3", "", "", "", "", ":-1"])
        return f"{part[0]}:{part[1]}{step}" if self.rng.random() < 0.7 else ":"

    def get(self):
        name = self.a_tensor()
        self.errors = 0.15
        return self.attempt("getitem", f"{name}[{self.index(self.pool()[name])}]")

    def put(self):
        name = self.a_tensor()
        t = self.pool()[name]
        self.errors = 0.15
        index = self.index(t)
        try:
            part = eval(f"t[{index}]", {**self.run.names, "t": t.detach()})
        except Exception:  # noqa: BLE001
            part = t
        args = Arguments(self.rng, torch, self.pool())
        r = self.rng.random()
        if r < 0.3:
            value = args.scalar("value", t)
        else:
            dims = values.broadcast_with(self.rng, list(part.shape))
            dims = [1, *dims] if r > 0.9 else dims
            value = args.fresh(dims, args.other_dtype(t), 0.2) if r < 0.75 else args.beside(part)
        how = "=" if self.rng.random() < 0.7 else self.one(AUGMENTED)
        return self.attempt("setitem", f"{name}[{index}] {how} {value}", False)

    def operator(self):
        name = self.a_tensor()
        t = self.pool()[name]
        args = Arguments(self.rng, torch, self.pool())
        other = args.scalar("other", t) if self.rng.random() < 0.35 else args.matrix(t, True, "") if self.rng.random() < 0.1 else args.beside(t)
        self.errors = 0.15
        if self.rng.random() < 0.25:
            return self.attempt("operator", f"{name} {self.one(AUGMENTED)} {other}", False)
        sides = [name, other]
        if self.rng.random() < 0.3:
            sides.reverse()
        op = self.one(OPERATORS)
        return self.attempt("operator" + op, f"{sides[0]} {op} {sides[1]}")

    def seen(self):
        self.errors = 0.2
        name = self.a_tensor()
        if self.rng.random() < 0.25:
            return self.attempt("made", self.one(MADE).format(v=name, d="torch." + self.one(values.DTYPES)))
        text = self.one(SEEN)
        return self.attempt(text.replace("{}", ""), text.replace("{}", name).replace("{{", "{").replace("}}", "}"))

    def drawn(self):
        self.errors = 0.2
        v, s = self.a_tensor(), values.shape(self.rng)
        if self.rng.random() < 0.3:
            return self.attempt("drawn", f"{v}.{self.one(DRAWN_IN_PLACE)}; {v}.fill_(1)", False)
        text = self.one(DRAWN).format(v=v, s=s)
        return self.attempt("drawn", f"v{self.count} = {text}; v{self.count}.detach().fill_(1)", False) and self.counted()

    def flag(self):
        self.errors = 0.2
        v = self.a_tensor(lambda t: t.is_leaf and t.is_floating_point())
        text = self.one(["{}.requires_grad_()", "{}.requires_grad_(False)", "{}.detach_()", "{}.requires_grad = True", "{}.grad = None",
                         "{}.retain_grad()", "{}.data = {}.data + 1"]) if v else None  # fmt: skip
        return bool(v) and self.attempt("flag", text.replace("{}", v), False)

    def backward(self):
        name = self.a_tensor(lambda t: t.requires_grad and t.grad_fn is not None)
        if name is None:
            return False
        t = self.pool()[name]
        self.errors = 0.3
        if t.numel() > 64:
            return False
        wide = "" if t.numel() == 1 and self.rng.random() < 0.5 else values.literal(self.rng, list(t.shape), dtype_name(t), self.one(["plain", "plain", "normal"]))
        keep = self.one(["", "", ", retain_graph=True"])
        if self.rng.random() < 0.25:
            return self.attempt("backward", f"{name}.sum().backward({keep[2:]})", False)
        if self.rng.random() < 0.6:
            return self.attempt("backward", f"{name}.backward({wide or None}{keep})", False)
        leaves = [n for n, x in self.pool().items() if x.requires_grad and x is not t]
        if not leaves:
            return False
        inputs = self.rng.sample(leaves, self.rng.randrange(1, min(len(leaves), 3) + 1))
        graph = self.one(["", "", ", create_graph=True"])
        return self.attempt("backward", f"torch.autograd.grad({name}, [{', '.join(inputs)}], {wide or None}, allow_unused=True{keep}{graph})")

    def grow(self):
        """One more line, of whatever kind."""
        kinds = [self.call, self.get, self.put, self.operator, self.seen, self.backward, self.new, self.drawn, self.flag]
        for _ in range(12):
            kind = self.rng.choices(kinds, [57, 9, 9, 8, 5, 6, 4, 1, 1])[0]
            self.errors = 0.1
            if kind():
                return


def written(seed, catalogue, focus=None):
    """The lines of a program. focus: (where, name) of an operation that is to be in it."""
    p = Program(seed, catalogue)
    p.errors = 0.0
    for _ in range(p.rng.choice([1, 2, 2, 3])):
        p.new()
    if not p.pool():
        p.attempt("new", "torch.ones(2, 3, device=D)")
    for _ in range(20 if focus else 0):
        if p.call_of(*focus):
            break
    for _ in range(p.rng.randrange(1, 7)):
        p.grow()
    if p.rng.random() < 0.7:
        p.backward()
    return p.lines


def recorded(lines):
    """A program's lines, each with what PyTorch raised and what was new to be seen after it: [op, line, error, changes]."""
    run, before, out = Run(torch, "cpu"), {}, []
    for op, line in lines:
        error = run.step(line)
        now = run.observe()
        out.append([op, line, error, changes(before, now)])
        before = now
    return out


def program(seed, catalogue, focus=None):
    return recorded(written(seed, catalogue, focus))
