"""C and Python agree: every function that both have is called with the same arguments from both (asked_cases.py), and gives the same
bits, dtypes, shapes, strides and gradients, or refuses with the same words.

tests/ops/calls.c calls C's functions, and lists them with what Python calls their rows. BY_HAND has those whose arguments Python says
in another way, EXEMPT those that one side has not. One that is in neither, or of which no call gave a result, fails the test.
"""

import collections
import re
import subprocess
import warnings
from pathlib import Path

import pytest
import tenon as torch
from asked import MISSING, WANTED, Answers, Flags, Memory, question, result_of
from asked_cases import RANDOM_SHAPES, cases, parameters_of

CALLS = Path(torch.__file__).parents[2] / "tests" / "ops" / "calls"
F = torch.nn.functional

# ---- what Python calls it ----

_NOT_IN_PLACE = """
    erfcx_ ndtr_ log_ndtr_ ndtri_ entr_ i0e_ i1_ i1e_ modified_bessel_i0_ modified_bessel_i1_ modified_bessel_k0_
    modified_bessel_k1_ scaled_modified_bessel_k0_ scaled_modified_bessel_k1_ spherical_bessel_j0_ zeta_ xlog1py_
                logaddexp2_ fmax_ fmin_ signbit_ isposinf_ isneginf_ angle_
"""

EXEMPT = {
    **dict.fromkeys(_NOT_IN_PLACE.split(), "PyTorch has none in place"),
    "alias": "Python's views are made by functions of their own",
    "sgd_step_": "Python has sgd_update_, of which it is a part",
    "adam_step_": "Python has adam_update_, of which it is a part",
    "masked_fill_expanded_": "Python's masked_fill_ calls it where masked_fill_ would refuse",
    **dict.fromkeys(["isnan_", "isinf_", "isfinite_", "maximum_", "minimum_", "logaddexp_", "where_"], "PyTorch has none in place"),
}


# Both refuse, in words of their own: what Python's say then.
WORDS = {"group_norm": "Expected at least 2 dimensions",
    "binary_cross_entropy": "cannot be broadcast",  # a weight that does not fit: PyTorch's is broadcast in Python
    "sub_scaled": "\n  in sub(",  # with alpha 1 Python calls sub
    "sub_scaled_": "\n  in sub(",
}


# torch.nn.functional refuses more than torch and C do, as PyTorch's does: what it calls is asked.
LOOKED_AT = {"margin_ranking_loss", "triplet_margin_loss", "multi_margin_loss", "instance_norm"}


class NotAsked(Exception):
    """Python has no such call."""


def not_asked(why):
    raise NotAsked(why)


def _unique(function, x, dim, inverse, counts):
    if dim is not None and len(dim) != 1:
        not_asked("a number in Python")
    return function(x, return_inverse=inverse is WANTED, return_counts=counts is WANTED, **({} if dim is None else {"dim": dim[0]}))


def _convolution(name):
    def call(*operands, same=False, groups=None, **options):
        if groups == 0:
            not_asked("C's 0 is no groups said")
        if same:
            options["padding"] = not_asked("one padding or the other") if "padding" in options else "same"
        return getattr(torch, name)(*operands, **options, **({} if groups is None else {"groups": groups}))

    return call


BY_HAND = {
    **{name: _convolution(name) for n in (1, 2, 3) for name in (f"conv{n}d", f"conv_transpose{n}d")},
    "gelu": lambda x, tanh=None: F.gelu(x) if tanh is None else F.gelu(x, approximate=tanh),
    "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.contiguous(),
    "where": lambda a, b, c: torch.where(a, b, c),
    "repeated_places": lambda repeats, output_size=None: torch.repeat_interleave(repeats, output_size=output_size),
    "div_floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "div_trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "div_floor_": lambda a, b: a.div_(b, rounding_mode="floor"),
    "div_trunc_": lambda a, b: a.div_(b, rounding_mode="trunc"),
    "add_scaled": lambda a, b, alpha: torch.add(a, b, alpha=alpha),
    "sub_scaled": lambda a, b, alpha: torch.sub(a, b, alpha=alpha),
    "add_scaled_": lambda a, b, alpha: a.add_(b, alpha=alpha),
    "sub_scaled_": lambda a, b, alpha: a.sub_(b, alpha=alpha),
    "round_decimals": lambda x, decimals: x.round(decimals=decimals) if decimals or x.is_floating_point() else not_asked("C's 0 is no decimals asked for"),
    "round_decimals_": lambda x, decimals: x.round_(decimals=decimals) if decimals or x.is_floating_point() else not_asked("the same"),
    "bitwise_not_": lambda x: x.bitwise_not_(),
    "index_add_scaled": lambda x, dim, index, src, alpha: x.index_add(dim, index, src, alpha=alpha),
    "index_add_scaled_": lambda x, dim, index, src, alpha: x.index_add_(dim, index, src, alpha=alpha),
    "scatter_reduced": lambda x, dim, index, src, reduce: x.scatter(dim, index, src, reduce=reduce),
    "scatter_reduced_": lambda x, dim, index, src, reduce: x.scatter_(dim, index, src, reduce=reduce),
    "masked_fill_": lambda x, mask, value: x.masked_fill_(mask, value),
    "index": lambda x, indices: x[tuple(indices)] if x.dim() and all(i.dim() for i in indices) else not_asked("brackets differ"),
    "slice": lambda x, dim, start, end, step: x[(slice(None),) * (dim % x.dim()) + (slice(start, end, step),)]
        if -x.dim() <= dim < x.dim() and step > 0 else not_asked("brackets have words of their own"),
    "clip_to_norm": lambda tensors, max_norm, norm: torch._C._clip_to_norm(tensors, max_norm, norm) is None,
    "clip_values": lambda tensors, limit: torch._C._clip_values(tensors, limit) is None,
    "histogram": lambda x, bins, min=None, max=None, weight=None, density=False, bin_edges=None: not_asked("in C one end alone may be said")
        if (min is None) != (max is None) else torch.histogram(
            x, bins, **{} if min is None else {"range": (min, max)}, weight=weight, density=density)[: 1 + (bin_edges is not None)],
    "histogram_between": lambda x, edges, weight=None, density=False: torch.histogram(x, edges, weight=weight, density=density)[0],
    "histogramdd": lambda x, edges, weight=None, density=False: torch.histogramdd(x, edges, weight=weight, density=density)[0],
    "histogramdd_edges": lambda x, bins, range=None: torch.histogramdd(x, list(bins), None if range is None else range.reshape(-1).tolist())[1],
    "nonzero_columns": lambda x: torch.nonzero(x, as_tuple=True),
    "normalize": lambda x, dim, p=None, eps=None, nuclear=False: F.normalize(
        x, dim=dim, **{k: v for k, v in {"p": "nuc" if nuclear else p, "eps": eps}.items() if v is not None}),
    "topk": lambda x, k, dim, smallest=None, indices=None: torch.topk(x, k, dim, **({} if smallest is None else {"largest": not smallest})),
    "unique": lambda x, dim=None, inverse=None, counts=None: _unique(torch.unique, x, dim, inverse, counts),
    "unique_consecutive": lambda x, dim=None, inverse=None, counts=None: _unique(torch.unique_consecutive, x, dim, inverse, counts),
    "tensor_split_indices": lambda x, indices, dim: torch.tensor_split(x, indices, dim),
    "tensor_split_by": lambda x, by, dim: torch.tensor_split(x, by, dim),
    "dropout": lambda x, p: torch.dropout(x, p, True),
    "sum_to_size": lambda x, shape: x.sum_to_size(shape),
}  # fmt: skip

# Slots of rows.def, and the parameter of C that they are.
SLOTS = {"size": "shape", "fill_value": "value", "source": "src", "indices": "index", "other": "b"}


class Signature:
    """One signature of rows.def, and which parameter of C each of its parameters is."""

    def __init__(self, text, parameters, kind):
        of_c = [name for _, name in parameters]
        self.types, self.names, self.needed = {}, {}, []
        inside = text[text.index("(") + 1 : -1]
        self.packed = inside.startswith("Tensor* ")
        for i, word in enumerate(w for w in inside.split(", ") if w != "*"):
            type_, _, rest = word.partition(" ")
            name, _, slot = rest.partition("=")[0].partition("@")
            c = self.parameter_of(slot or name, of_c, kind, i)
            if c:
                self.names[c], self.types[c] = name, type_
            if "=" not in word:
                self.needed.append(c)

    @staticmethod
    def parameter_of(slot, of_c, kind, i):
        if slot in of_c:
            return slot
        if slot == "other" and kind == "binary":
            return of_c[1]
        if slot == "input" or i == 0 and slot in ("self", "weight"):
            return of_c[0]
        return SLOTS.get(slot) if SLOTS.get(slot) in of_c else None

    def takes(self, given):
        return set(given) <= set(self.names) and set(self.needed) <= set(given)

    def call(self, function, given, method):
        """A list of one dimension is a number where Python takes one alone; the first argument has no name."""
        named = {}
        for c, v in given.items():
            alone = isinstance(v, tuple) and len(v) == 1 and self.types[c] in ("int", "int?", "dim", "dim?")
            named[self.names[c]] = v[0] if alone else v
        if self.packed:
            return function(*named.popitem()[1])
        first = next(iter(named), None)
        if method or first in ("input", "tensors", "x1"):
            return function(named.pop(first), **named)
        return function(**named)


class Python:
    """What stands for a function of C in Python."""

    def __init__(self, name, text, entries):
        self.kind, self.parameters, needed = parameters_of(text)
        self.options = {p for _, p in self.parameters[needed:]}
        self.hand = BY_HAND.get(name)
        self.ways = []
        for where, python, *signatures in entries:
            function = self.found(where, python)
            self.ways += [(function, not set("TFP") & set(where), Signature(s, self.parameters, self.kind)) for s in signatures]

    @staticmethod
    def found(where, python):
        if "F" in where:
            return python not in LOOKED_AT and getattr(F, python, None) or getattr(torch._C._nn, python)
        if "P" in where and "T" not in where:
            return getattr(torch.special, python)
        if "T" in where:
            return getattr(torch._C if python.startswith("_") else torch, python)
        return lambda x, *args, **kw: getattr(x, python)(*args, **kw)

    def __bool__(self):
        return bool(self.ways or self.hand)

    def __call__(self, values):
        """None is not given."""
        given = {name: v for (_, name), v in zip(self.parameters, values) if v is not None}
        if self.hand:
            first = [None if v is MISSING else v for n, v in given.items() if n not in self.options]
            return self.hand(*first, **{n: None if v is MISSING else v for n, v in given.items() if n in self.options})
        given = {n: None if v is MISSING else v for n, v in given.items() if v is not WANTED}
        for function, method, signature in self.ways:
            if signature.takes(given):
                return signature.call(function, given, method)
        raise NotAsked(f"no signature takes {list(given)}")


def entries_of(name, entries):
    """What the row of a function is called in Python: in its in-place form those entries alone, else the others."""
    if name.endswith("_") and name not in entries:
        return [e for e in entries.get(name[:-1], ()) if "I" in e[0] and e[1].endswith("_")]
    numbered = [e for e in entries.get(name, ()) if any("Reduction " in s for s in e[2:])]  # torch's, which counts otherwise
    return [e for e in entries.get(name, ()) if not set("IB") & set(e[0]) and e not in numbered]


@pytest.fixture(scope="module")
def both():
    """{name of C: (its parameters as text, what Python has)}"""
    done = subprocess.run([CALLS, "list"], capture_output=True, text=True, check=True)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    entries = collections.defaultdict(list)
    for _, row, where, python, *signatures in (line for line in lines if line[0] == "Python"):
        entries[row].append((where, python, *signatures))
    functions = {}
    for _, name, text in (line for line in lines if line[0] == "C"):
        if name not in EXEMPT and name[:-1] not in EXEMPT:
            functions[name] = text, Python(name, text, entries_of(name, entries))
    return functions


def writes(name):
    return name.endswith("_") or name in ("clip_to_norm", "clip_values")


def ready(values, name):
    """The values as Python's arguments, the tensors among them, and the leaves."""
    out, tensors, leaves = [], [], []
    for v in values:
        tensor = None
        if isinstance(v, Memory):
            v, leaf = v.tensor()
            tensor = v
            leaves += [leaf] if leaf is not None else []
        elif isinstance(v, list):
            pairs = [m.tensor() for m in v]
            v = [t for t, _ in pairs]
            tensor = v[-1] if v else None
            leaves += [leaf for _, leaf in pairs if leaf is not None][-1:]
        elif isinstance(v, Flags):
            v = v.python
        elif isinstance(v, str) and isinstance(getattr(torch, v, None), (torch.dtype, torch.memory_format)):
            v = getattr(torch, v)
        out.append(v)
        tensors.append(tensor)
    return out, tensors, leaves


def gradients(results, leaves):
    outputs = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
    if not outputs or not leaves:
        return None
    weights = [torch.tensor([i % 7 - 2.5 for i in range(r.numel())], dtype=torch.float64).to(r.dtype).reshape(r.shape) for r in outputs]
    try:
        return [result_of(g) for g in torch.autograd.grad(outputs, leaves, weights, allow_unused=True)]
    except Exception as error:  # noqa: BLE001
        return str(error)


def asked_python(python, values, name):
    """As Answers.answer gives it."""
    arguments, tensors, leaves = ready(values, name)
    torch.manual_seed(1)
    try:
        got = python(arguments)
    except NotAsked:
        raise
    except Exception as error:  # noqa: BLE001: whatever it is, it is compared
        if isinstance(error, TypeError) and re.match(r"\w+\(\): argument|\w+\(\) (received|missing|got|takes)", str(error)):
            raise NotAsked(str(error)) from error
        return str(error)
    if isinstance(got, bool):
        results, each = got, []
    else:
        each = list(got) if isinstance(got, (tuple, list)) else [got]
        results = [result_of(t) for t in each]
    return results, [result_of(t) for t in tensors], gradients(each, leaves)


def python_words(text):
    """The library's words as Python says them (python/src/error.c)."""
    for c, python in (("\n  in C: tn_data(tn_cpu(t))", ""), ("tn_cpu(x)", "x.cpu()"), ("TN_NONE", "None")):
        text = text.replace(c, python)
    return re.sub(r"\btn_|; this process holds.*", "", text)


def difference(name, c, python):
    """What differs of two answers, or None."""
    if isinstance(c, str) or isinstance(python, str):
        if isinstance(c, str) and isinstance(python, str) and name in WORDS and WORDS[name] in python:
            return None
        said = [a if isinstance(a, str) else "gives a result" for a in (c, python)]
        return None if python_words(said[0]) == python_words(said[1]) else f"C: {said[0]!r}; Python: {said[1]!r}"
    for what, mine, other in (("result", c[0], python[0]), ("operand", c[1], python[1]), ("gradient", c[2], python[2])):
        if what == "operand" and not writes(name):
            continue
        if isinstance(mine, list) and isinstance(other, list):
            mine, other = mine + [None] * (len(other) - len(mine)), other + [None] * (len(mine) - len(other))
            for k, (m, o) in enumerate(zip(mine, other)):
                if what == "result" and k and m is None:  # not asked for
                    continue
                if m is not None and o is not None and name in RANDOM_SHAPES:
                    m, o = m._replace(data=b""), o._replace(data=b"")
                if m != o:
                    return f"{what} {k}: C: {m}; Python: {o}"
        elif isinstance(mine, str) and isinstance(other, str):
            if python_words(mine) != other:
                return f"{what}: C: {mine}; Python: {other}"
        elif mine != other:
            return f"{what}: C: {mine}; Python: {other}"
    return None


def as_written(values):
    def word(v):
        if isinstance(v, Memory):
            return f"{v.dtype}{list(v.shape)}{'' if v.stride == () or v.stride[-1] == 1 else f' strides {v.stride}'}"
        return "-" if v is None else "None" if v is MISSING else "&" if v is WANTED else str(list(map(word, v))) if isinstance(v, list) else str(v)

    return ", ".join(map(word, values))


@pytest.fixture
def philox():
    """C's generator, for Python too."""
    torch.random.use_philox()
    yield
    torch.random.use_philox(False)


def test_every_function_that_both_have(philox, both, tmp_path, record_property):
    missing = [name for name, (_, python) in both.items() if not python]
    asked, questions = [], []
    for name, (text, python) in both.items():
        if not python:
            continue
        letters = [letter for letter, _ in parameters_of(text)[1]]
        for values in cases(name, text):
            if writes(name):
                if name.startswith("clip"):
                    values = [[m._replace(wish=0) for m in values[0]], *values[1:]]
                elif not isinstance(values[0], Memory):
                    continue
                elif values[0].wish:
                    values = [values[0]._replace(wish=2), *values[1:]]
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    answer = asked_python(python, values, name)
            except NotAsked:
                continue
            asked.append((name, values, answer))
            questions.append(question(name, letters, values))
    (tmp_path / "questions").write_bytes(len(questions).to_bytes(8, "little") + b"".join(questions))
    done = subprocess.run([CALLS, tmp_path / "questions", tmp_path / "answers"], capture_output=True, text=True)
    answers = Answers((tmp_path / "answers").read_bytes())
    wrong, given, counts = [], collections.Counter(), collections.Counter()
    for name, values, python in asked:
        if answers.at == len(answers.data):
            wrong.append(f"{name}({as_written(values)}): C ends: {done.returncode} {done.stderr}")
            break
        c = answers.answer()
        what = difference(name, c, python)
        given[name] += not isinstance(c, str)
        counts["calls"] += 1
        counts["refused"] += isinstance(c, str)
        counts["gradients"] += not isinstance(c, str) and isinstance(c[2], list)
        if what:
            wrong.append(f"{name}({as_written(values)}): {what}")
    nothing = [name for name, (_, python) in both.items() if python and not given[name]]
    record_property("count", f"C beside Python: {len(given)} functions, {counts['calls']} calls, {counts['refused']} of them refused, "
                             f"{counts['gradients']} with gradients; {len(wrong)} differ")  # fmt: skip
    assert not missing, f"Python has no {missing}"
    assert not nothing, f"no call gives a result: {nothing}"
    assert not wrong, "\n".join(wrong[:100])
