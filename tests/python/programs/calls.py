"""Arguments for the calls of catalogue.py. A parameter's name and type say what fits; one time in ten, what does not."""

from . import values

REAL = {"float16", "float32", "float64", "bfloat16"}
DIMS = {"dim", "dim0", "dim1", "dim2", "axis0", "axis1", "start_dim", "end_dim", "source", "destination"}
COUNTS = {"steps", "n", "m", "row", "col", "bins", "chunks", "sections", "split_size", "k", "length", "num_classes", "minlength",
          "decimals", "repeats", "step", "groups", "upscale_factor", "downscale_factor", "N", "r"}  # fmt: skip
REDUCES = ["sum", "prod", "mean", "amax", "amin", "bogus"]  # of scatter_reduce and index_reduce
TEXTS = {
    "rounding_mode": ["trunc", "floor", None, "bogus"],
    "reduction": ["mean", "sum", "none", "none", "bogus"],
    "approximate": ["none", "tanh", "bogus"],
    "reduce": ["add", "multiply", "bogus"],
    "interpolation": ["linear", "lower", "higher", "midpoint", "nearest", "bogus"],
    "indexing": ["ij", "xy"],
    "mode": ["constant", "reflect", "replicate", "circular"],
    "side": ["left", "right"],
}
EQUATIONS = [("i,i->", [1, 1]), ("ij,jk->ik", [2, 2]), ("ij->ji", [2]), ("ii->i", [2]), ("bij,bjk->bik", [3, 3]), ("ij,j->i", [2, 1]),
             ("...i,...i->...", [2, 2]), ("i,j->ij", [1, 1]), ("ij->", [2])]  # fmt: skip


class Arguments:
    """Chooses arguments. pool: {name: tensor of PyTorch} of the program so far."""

    def __init__(self, rng, torch, pool):
        self.rng, self.torch, self.pool = rng, torch, pool
        self.wild = rng.random() < 0.16  # this call may be nonsense

    def one(self, choices):
        return self.rng.choice(choices)

    # ---- tensors ----

    def named(self, fits):
        """The name of a tensor of the program that fits, or None."""
        found = [n for n, t in self.pool.items() if fits(t)]
        return self.one(found) if found else None

    def fresh(self, dims, dtype, grad=0.0):
        made = values.tensor(self.rng, dims, dtype, 0.15)
        return made + (".requires_grad_()" if dtype in REAL and self.rng.random() < grad else "")

    def dtype_of(self, t):
        return str(t.dtype).removeprefix("torch.")

    def other_dtype(self, t):
        return self.dtype_of(t) if self.rng.random() < 0.65 else self.one(values.DTYPES)

    def beside(self, t):
        """A second operand of an elementwise operation."""
        if self.rng.random() < 0.4:
            name = self.named(lambda o: o is not t and self.broadcasts(o, t)) if self.rng.random() < 0.9 else self.one(list(self.pool))
            if name:
                return name
        dims = values.shape(self.rng) if self.wild else values.broadcast_with(self.rng, list(t.shape))
        return self.fresh(dims, self.other_dtype(t), 0.15)

    @staticmethod
    def broadcasts(a, b):
        return all(x == y or 1 in (x, y) for x, y in zip(reversed(a.shape), reversed(b.shape)))

    def matrix(self, t, rows_first, name):
        """What may be multiplied with t."""
        nd = t.dim()
        n = t.shape[-1] if nd else 2
        m = values.size(self.rng)
        dims = {"mm": [n, m], "mv": [n], "bmm": [t.shape[0] if nd == 3 else 2, n, m], "linear": [m, n]}.get(name)
        if dims is None:
            dims = self.one([[n], [n, m], [2, n, m], [n, n]])
        return self.fresh(dims, self.other_dtype(t) if self.wild else self.dtype_of(t), 0.2)

    def index(self, t, dims, limit):
        low = -limit - 1 if self.wild else 0
        high = limit + 2 if self.wild else max(limit, 1)
        kind = "int64" if self.rng.random() < 0.93 else self.one(["int32", "uint8", "int16", "float32", "bool"])

        def nest(d):
            return [nest(d[1:]) for _ in range(d[0])] if d else self.rng.randrange(low, high)

        lost = f".reshape({dims})" if 0 in dims and dims.index(0) < len(dims) - 1 else ""
        values_ = nest(dims)
        if kind == "uint8":
            values_ = values.nested(self.rng, dims, "uint8", "plain")
        return f"torch.tensor({values_}, dtype=torch.{kind}, device=D){lost}"

    def mask(self, t):
        dims = values.broadcast_with(self.rng, list(t.shape)) if self.rng.random() < 0.4 else list(t.shape)
        kind = "bool" if self.rng.random() < 0.92 else self.one(["uint8", "int64", "float32"])
        return values.literal(self.rng, dims, kind)

    def tensor(self, param, name, t, said):
        """An argument for a parameter of type Tensor. t: the call's first tensor; said: what was chosen before, by name."""
        base = name.rstrip("_")
        at = said.get("dim")
        at = at if isinstance(at, int) and t.dim() and -t.dim() <= at < t.dim() else 0
        n = t.shape[at] if t.dim() else 1
        if param in ("mask", "condition"):
            return self.mask(t)
        if param in ("index", "indices", "tensor_indices_or_sections", "repeats") or param == "input" and base == "embedding":
            return self.index_for(base, t, at, n)
        if param in ("mat2", "vec", "vec2", "mat1", "batch1", "batch2", "weight") and base in ("mm", "mv", "bmm", "linear", "ger", "outer"):
            return self.matrix(t, True, base)
        if param == "other" and base in ("matmul", "dot", "vdot", "kron", "tensordot", "cross"):
            return self.matrix(t, True, base) if base == "matmul" else self.fresh(list(t.shape), self.dtype_of(t), 0.2)
        if base in ("addmm", "baddbmm") and param in ("mat1", "mat2", "batch1", "batch2"):
            return self.product_part(param, t, said)
        if base in ("nll_loss", "cross_entropy") and param == "target":
            return self.classes(t)
        if param in ("weight", "bias", "running_mean", "running_var") and t.dim():
            n = t.shape[1 if base in ("cross_entropy", "nll_loss", "batch_norm", "prelu") and t.dim() > 1 else -1]
            return self.fresh([n], self.dtype_of(t), 0.3) + (".abs()" if param == "running_var" else "")
        if param == "src" and base in ("select_scatter", "slice_scatter", "diagonal_scatter", "as_strided_scatter"):
            return self.written_part(base, t, said)
        if param == "q":
            return f"torch.tensor([0.25, 1.0, 0.5], dtype=torch.{self.dtype_of(t)}, device=D)"
        if param == "target" and base in ("multi_margin_loss", "multilabel_margin_loss"):
            return self.index(t, list(t.shape[:1]) if base == "multi_margin_loss" else list(t.shape), t.shape[-1] if t.dim() else 1)
        if param == "target" and base in ("cosine_embedding_loss", "margin_ranking_loss", "hinge_embedding_loss", "soft_margin_loss"):
            shape = list(t.shape[:1]) if base == "cosine_embedding_loss" else list(t.shape)
            return self.fresh(shape, self.dtype_of(t)) + ".sign()"
        if param in ("src", "source") and base.startswith(("index_", "scatter")):
            return self.source(base, t, at, n, said)
        if param in ("boundaries", "sorted_sequence"):
            return self.one([f"torch.arange({values.size(self.rng)}., device=D)", "torch.tensor([-1, 0, 2], device=D)"])
        if param == "target":
            return self.fresh(list(t.shape), self.dtype_of(t), 0.2)
        if param in ("prepend", "append", "values", "weights", "fweights", "aweights", "x"):
            return self.fresh(self.one([list(t.shape), [1], []]), self.other_dtype(t))
        return self.beside(t)

    def written_part(self, base, t, said):
        """What is written into a view of t: mostly of the view's shape."""
        shape = list(t.shape)
        if base == "select_scatter" and shape:
            shape.pop(self.rng.randrange(len(shape)))
        elif base == "diagonal_scatter" and len(shape) > 1:
            shape = [*shape[2:], min(shape[:2])]
        elif shape and self.rng.random() < 0.4:
            shape[0] = max(0, shape[0] - 1)
        return self.fresh(shape, self.other_dtype(t), 0.3)

    def index_for(self, base, t, at, n):
        nd = t.dim()
        if base in ("take", "put"):
            return self.index(t, values.shape(self.rng, 2), t.numel())
        if base in ("gather", "scatter", "scatter_add", "take_along_dim", "scatter_reduce"):
            dims = [self.rng.randrange(1 if s else 0, s + 1) if i != at % max(nd, 1) else values.size(self.rng) for i, s in enumerate(t.shape)]
            return self.index(t, dims, n)
        if base == "embedding":
            return self.index(t, values.shape(self.rng, 2), t.shape[0] if nd else 1)
        if base == "tensor_split":
            return "torch.tensor(2)" if self.rng.random() < 0.4 else "torch.tensor([1, 2])"
        if base == "repeat_interleave":
            return self.index(t, self.one([[n], [1], []]), 3)
        return self.index(t, self.one([[values.size(self.rng)], [2], [n], []]), n)

    def product_part(self, param, t, said):
        n, m = (t.shape[-2:] if t.dim() >= 2 else (2, t.shape[0] if t.dim() else 3))
        k = said.setdefault("_k", values.size(self.rng))
        b = t.shape[0] if t.dim() == 3 else 2
        dims = {"mat1": [n, k], "mat2": [k, m], "batch1": [b, n, k], "batch2": [b, k, m]}[param]
        return self.fresh(dims, self.dtype_of(t), 0.2)

    def classes(self, t):
        nd = t.dim()
        if self.rng.random() < 0.15:
            return self.fresh(list(t.shape), self.dtype_of(t))
        dims = [] if nd < 2 else [t.shape[0], *t.shape[2:]]
        return self.index(t, dims, t.shape[1 if nd > 1 else 0] if nd else 1)

    def source(self, base, t, at, n, said):
        shape = said.get("_index_shape")
        if base.startswith("scatter"):
            dims = [s + self.rng.randrange(2) for s in shape] if shape is not None else list(t.shape)
        else:
            dims = list(t.shape)
            if dims and shape:
                dims[at] = shape[0]
        return self.fresh(dims, self.dtype_of(t) if self.rng.random() < 0.9 else self.one(values.DTYPES), 0.2)

    # ---- what is no tensor ----

    def scalar(self, param, t):
        dtype = self.dtype_of(t) if t is not None else "float32"
        r = self.rng.random()
        if param == "q" and not self.wild:
            return self.one(["0.5", "0", "1", "0.25", "0.9", "0.125"])
        if r < 0.03 or self.wild and r < 0.3:
            return self.one(["nan", "inf", "-inf", "300", "-1", "2**40", "True", "1e300", "0"])
        if dtype in REAL and r < 0.7 or r < 0.2:
            return repr(self.rng.randrange(-8, 9) / self.one([1, 2, 4]))
        return repr(self.rng.randrange(-3, 5))

    def dim(self, t):
        nd = max(t.dim() if t is not None else 1, 1)
        if self.wild and self.rng.random() < 0.5:
            return self.one([nd, -nd - 1, 7])
        return self.rng.randrange(-nd, nd)

    def integer(self, param, name, t, said):
        if param in DIMS:
            return self.dim(t)
        if param in ("index", "start") and t is not None and t.dim():
            at = said.get("dim", 0)
            n = t.shape[at] if isinstance(at, int) and -t.dim() <= at < t.dim() else 1
            return self.rng.randrange(-n - (1 if self.wild else 0), n + 1 if self.wild else max(n, 1))
        if param in COUNTS:
            return self.rng.randrange(-1, 6) if self.wild else self.rng.choices([0, 1, 2, 3, 4], [1, 4, 4, 3, 1])[0]
        if param == "k" and name == "kthvalue":
            at = said.get("dim", -1)
            n = t.shape[at] if isinstance(at, int) and t.dim() and -t.dim() <= at < t.dim() else 1
            return self.rng.randrange(-1, n + 3) if self.wild else self.rng.randrange(1, max(n, 1) + 1)
        if param == "ignore_index":
            return self.one([-100, 0, 1])
        return self.rng.randrange(-2, 3)

    def integers(self, param, name, t):
        nd = t.dim() if t is not None else 1
        if name == "permute" or param == "dims" and name in ("permute",):
            order = self.rng.sample(range(nd), nd)
            return [d - nd if self.rng.random() < 0.2 else d for d in order] if not self.wild else [*order, 0]
        if param in ("dim", "dims", "source", "destination") and name not in ("tile",):
            count = self.rng.randrange(0 if self.wild else 1, nd + 1) if nd else self.rng.randrange(2)
            picked = self.rng.sample(range(nd), min(count, nd)) if nd else [self.one([0, -1])] * count
            picked = [d - nd if nd and self.rng.random() < 0.25 else d for d in picked]
            return self.dim(t) if self.rng.random() < 0.35 else picked + ([0] if self.wild else [])
        if param in ("size", "shape", "sizes") and name in ("view", "reshape", "unflatten"):
            return self.factors(t.numel() if name != "unflatten" else (t.shape[0] if nd else 1))
        if name in ("expand", "broadcast_to"):
            dims = [n if n != 1 else values.size(self.rng) for n in t.shape]
            return ([values.size(self.rng)] if self.rng.random() < 0.3 else []) + [-1 if self.rng.random() < 0.1 else n for n in dims]
        if name == "sum_to_size":
            return [1 if self.rng.random() < 0.4 else n for n in t.shape][self.rng.randrange(2) if nd else 0 :]
        if name == "as_strided":
            return self.one([[2], [2, 2], [1, 3], [], [0, 2]]) if param == "size" else self.one([[1], [1, 2], [2, 1], [0, 1], [], [1, 0]])
        if name.startswith("split"):
            n = t.shape[0] if nd else 1
            first = self.rng.randrange(n + 1)
            return [first, n - first] if not self.wild else [1, 1]
        if name == "layer_norm":
            return list(t.shape[-1:]) if self.rng.random() < 0.7 else list(t.shape)
        if name == "pad":
            return [self.rng.randrange(-1, 3) for _ in range(2 * self.rng.randrange(1, max(nd, 1) + 1))]
        if param in ("shifts",):
            return self.one([1, -1, [1], [1, 2], [2]])
        return values.shape(self.rng) if param in ("size", "shape", "shapes") else [self.rng.randrange(0, 3) for _ in range(max(nd, 1))]

    def factors(self, n):
        if self.wild:
            return values.shape(self.rng)
        out = []
        for f in (2, 3, 5):
            while n > 1 and n % f == 0:
                out.append(f)
                n //= f
        out = [*out, n] if n != 1 else out
        self.rng.shuffle(out)
        while len(out) > 1 and self.rng.random() < 0.5:
            out = [out[0] * out[1], *out[2:]]
        if self.rng.random() < 0.3:
            out.insert(self.rng.randrange(len(out) + 1), 1)
        if out and self.rng.random() < 0.3:
            out[self.rng.randrange(len(out))] = -1
        return out

    def junk(self):
        return self.one(["None", '"text"', "1.5", "[1.5]", "True", "2**70", "torch.float32", "[]", "{}", "(1, 2)", "-1", *list(self.pool)[:2]])

    # ---- one argument ----

    def value(self, p, name, t, said):
        """The text of an argument."""
        if self.wild and self.rng.random() < 0.15:
            return self.junk()
        if p.optional and self.rng.random() < 0.2:
            return "None"
        if p.type == "Tensor":
            made = self.tensor(p.name, name, t, said)
            if p.name == "index":
                said["_index_shape"] = list(eval(made, {"torch": self.torch, "D": "cpu", **self.pool}).shape) if "(" in made else None
            return made
        if p.type == "Operand":
            return self.beside(t) if self.rng.random() < 0.6 else self.scalar(p.name, t)
        if p.type in ("Scalar", "float"):
            return self.scalar(p.name, t)
        if p.type == "int":
            said[p.name] = self.integer(p.name, name, t, said)
            return repr(said[p.name])
        if p.name.startswith("sparse"):  # Tenon has one layout
            return "False"
        if p.type == "bool":
            return self.one(["True", "False"])
        if p.type == "int[]":
            got = self.integers(p.name, name, t)
            return repr(tuple(got) if isinstance(got, list) and self.rng.random() < 0.3 else got)
        if p.type == "float[]":
            return repr([0.5, 1.0])
        if p.name == "reduce" and name.rstrip("_") in ("scatter_reduce", "index_reduce"):
            return values.text(self.one(REDUCES))
        if p.type == "str":
            return values.text(self.one(TEXTS.get(p.name, ["bogus"])))
        if p.type == "dtype":
            return "torch." + self.one(values.DTYPES)
        if p.type == "device":
            return "D"
        if p.type == "norm":
            return self.one(["2", "1", "0", "inf", "-inf", '"fro"', "3", "0.5", '"nuc"', "None"])
        if p.type == "any":
            return self.one(["1", "2", "0", "([0], [0])", "([1], [0])"])
        raise ValueError(p)
