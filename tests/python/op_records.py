"""Records of PyTorch's operations (tests/data/op-vectors) as calls: plain, in place, with out=, of arguments that are not
contiguous. Of the library that is given: Tenon in test_op_vectors.py; PyTorch in tests/data/make_op_forms.py, which writes
forms.json: what each form of each operation refuses, in PyTorch.
"""
import functools
import json
import re
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).resolve().parents[2]
FOLDER = SOURCE / "tests" / "data" / "op-vectors"
TOLERANCE = {"float64": 1e-12, "float32": 3e-6, "float16": 1e-3}
FORMS = ["plain", "apart", "inplace", "out", "out_apart"]

# Elementwise rows of the list of operations: a rounding is relative to the element, not to the largest one.
ROWS = {name for rows in SOURCE.glob("src/ops/*/rows.def")
        for name in re.findall(r"^(?:unary|binary|ternary) (\w+)$", rows.read_text(encoding="utf-8"), re.M)}


def noted(name, what, array):
    """Each result that is compared comes here: tests/python/digest.py puts a function of its own in this place."""


class Unsupported(Exception):
    """A dtype that there is not: complex numbers, large unsigned ones."""


@functools.cache
def records_of(name):
    with np.load(FOLDER / f"{name}.npz") as z:
        arrays = {k: z[k] for k in z.files if k != "__rec"}
        return json.loads(bytes(z["__rec"]).decode("utf-8")), arrays


@functools.cache
def numbers_behind(dtype):
    """The first 20 numbers that the generator of the records drew for a dtype: its seed is the same for every operation,
    and the 5 x 5 input of atleast_1d begins with them."""
    records, arrays = records_of("atleast_1d")
    return next(arrays[r["input"]["t"]] for r in records
                if r["dtype"] == dtype and arrays[r["input"]["t"]].shape == (5, 5)).ravel()[:20]


def sliced(x, dim=0, start=None, end=None, step=1):
    return x[(slice(None),) * (dim % x.dim()) + (slice(start, end, step),)]


def arrays_in(j, arrays):
    """The arrays that a value of a record names, in order."""
    if isinstance(j, dict) and "t" in j:
        return [arrays[j["t"]]]
    inner = j if isinstance(j, list) else j.values() if isinstance(j, dict) else []
    return [a for v in inner for a in arrays_in(v, arrays)]


def is_unsupported(record, arrays):
    """Does it hold arrays of dtypes that there are not?"""
    kept = {k: v for k, v in record.items() if k != "dtype"}
    return '"c": [' in json.dumps(record) or any(a.dtype.kind == "c" or a.dtype == np.uint64 for a in arrays_in(kept, arrays))


def nearly(name, got, want):
    """Which elements are equal, up to roundings: relative to the element in elementwise rows, else to the largest one."""
    a, b = got.astype(np.float64), want.astype(np.float64)
    scale = 1.0
    rough = "polygamma" in name or name in ("digamma", "special.log_ndtr")
    loose = 10 if rough and want.dtype == np.float32 else 1  # PyTorch's own errors: test_vectors.c
    if name.split(".")[0] not in ROWS and b.size:
        scale = max(1.0, float(np.max(np.where(np.isfinite(b), np.abs(b), 0.0))))
    with np.errstate(invalid="ignore"):
        near = (a == b) | (np.isnan(a) & np.isnan(b))
        return near | (np.isfinite(a) & np.isfinite(b) &
                       (np.abs(a - b) <= loose * TOLERANCE[str(want.dtype)] * np.maximum(scale, np.abs(b))))


class Library:
    """Runs records in a library that is called as PyTorch is, on a device."""

    def __init__(self, torch, device):
        self.torch, self.device = torch, device
        embedding = lambda weight, index, **kw: torch.nn.functional.embedding(index, weight, **kw)
        on_cpu = lambda where: where.cpu() if isinstance(where, torch.Tensor) else where
        polygamma = lambda x, n, **kw: torch.polygamma(n, x, **kw)
        self.wrapped = {  # records whose arguments are not in the order of the function's
            "einsum": lambda operands, equation: torch.einsum(equation, operands),
            "nn.functional.embedding": embedding,
            "slice": sliced,
            **{f"polygamma.polygamma_n_{n}": polygamma for n in range(5)},
            "special.polygamma.special_polygamma_n_0": polygamma,
            "tensor_split": lambda x, where, dim=0: torch.tensor_split(x, on_cpu(where), dim),
            "where": lambda x, condition, other, **kw: torch.where(condition, x, other, **kw),
        }

    # ---- from a record's name to what is called ----

    def spelled(self, name):
        """torch.NAME, torch.nn.functional.NAME as the name says, or the method; None if there is none."""
        place = self.torch
        for part in name.split("."):
            place = getattr(place, part, None)
            if place is None:
                break
        if callable(place) and not isinstance(place, self.torch.dtype):
            return place
        return getattr(self.torch.Tensor, name, None) if "." not in name else None

    def names(self, name):
        """What a record's name may mean, longest first. What follows the last dots may be a variant: div.floor_rounding."""
        parts = name.split(".")
        least = {"nn": 3, "signal": 3, "torch": 5}.get(parts[0], 2 if parts[0] in ("linalg", "fft", "special", "masked") else 1)
        return [".".join(parts[:n]) for n in range(len(parts), least - 1, -1)]

    def operation(self, name):
        """What a record of that name calls, or None."""
        if name in self.wrapped:
            return self.wrapped[name]
        tensor = self.torch.Tensor
        if name in ("T", "H", "mT", "mH", "real"):
            return (lambda x: getattr(x, name)) if hasattr(tensor, name) else None
        if name.endswith("_"):  # the record's input is a leaf, which may not be changed: a copy is
            return (lambda x, *args, **kw: getattr(x.clone(), name)(*args, **kw)) if hasattr(tensor, name) else None
        return next(filter(None, map(self.spelled, self.names(name))), None)

    def in_place(self, name):
        """The in-place form of a record's operation, or None."""
        if name in self.wrapped and name != "where" and "polygamma" not in name or name.startswith("__") or name.endswith("_"):
            return None
        found = next((n for n in self.names(name) if self.spelled(n) is not None), None)
        if found is None or found in ("T", "H", "mT", "mH"):
            return None
        if "." in found:
            place = self.spelled(found.rpartition(".")[0])
            return getattr(place, found.rpartition(".")[2] + "_", None) if found.startswith("nn.") else None
        return getattr(self.torch.Tensor, found + "_", None)

    # ---- from JSON to values ----

    def dtype_named(self, name):
        dtype = getattr(self.torch, name.removeprefix("torch."), None)
        if dtype is None:
            raise Unsupported(name)
        return dtype

    def tensor_of(self, array, layout=None):
        """layout: None is contiguous; 0 turned, 1 every second element from an odd place, 2 expanded where all along a
        dimension are equal, else from a place in its storage."""
        try:
            if layout is None:
                return self.torch.from_numpy(array.copy()).to(self.device)
            return self.laid_out(array, layout)
        except (TypeError, AttributeError) as error:
            raise Unsupported(str(array.dtype)) from error

    def laid_out(self, array, layout):
        if layout == 0 and array.ndim > 1:
            return self.tensor_of(np.ascontiguousarray(array.T)).permute(tuple(reversed(range(array.ndim))))
        if layout == 2:
            for d in range(array.ndim):
                first = array.take([0], d) if array.shape[d] > 1 and array.size else None
                if first is not None and np.array_equal(np.broadcast_to(first, array.shape), array):
                    return self.tensor_of(np.ascontiguousarray(first)).expand(array.shape)
            behind = self.tensor_of(np.concatenate([np.ones(3, array.dtype), array.ravel(), np.ones(2, array.dtype)]))
            return behind[3:-2].view(array.shape)
        return self.tensor_of(np.stack([np.ones_like(array), array], -1))[..., 1]

    def value_of(self, j, arrays, layouts):
        again = lambda v: self.value_of(v, arrays, layouts)
        if isinstance(j, list):
            return [again(v) for v in j]
        if not isinstance(j, dict):
            return j
        if "t" in j:
            return self.tensor_of(arrays[j["t"]], next(layouts))
        if "seq" in j:
            items = [again(v) for v in j["seq"]]
            return items if j["k"] == "list" else tuple(items)
        if "dtype" in j:
            return self.dtype_named(j["dtype"])
        if "slice" in j:
            return slice(*j["slice"])
        if "ellipsis" in j:
            return ...
        if "c" in j:
            return complex(*j["c"])
        return {k: again(v) for k, v in j.items()}

    def arguments(self, name, record, arrays, layouts):
        """(input, args, kw) of a record."""
        if name == "as_strided.partial_views":
            # elements 5 to 14 of 20 (sample_inputs_as_strided_partial_views in PyTorch's common_methods_invocations.py), of
            # which the record holds these ten; results of storage_offset 0 show the first four
            base = numbers_behind(record["dtype"])
            assert np.array_equal(base[5:15], arrays[record["input"]["t"]])
            x = self.tensor_of(base)[5:15]
        else:
            x = self.value_of(record["input"], arrays, layouts)
        args = [self.value_of(a, arrays, layouts) for a in record["args"]]
        kw = {k: self.value_of(v, arrays, layouts) for k, v in record["kw"].items() if k != "requires_grad"}
        if "device" in kw:
            kw["device"] = self.device
        return x, args, kw

    # ---- comparison ----

    def difference(self, name, what, got, want):
        """None if a tensor is what the array says, else how it differs."""
        if not isinstance(got, self.torch.Tensor):
            return f"{what}: {got!r} is no tensor"
        if got.dim() and got.device.type != self.device:
            return f"{what}: is on {got.device}"
        have = got.detach().cpu().numpy()
        noted(name, what, have)
        if have.dtype != want.dtype or have.shape != want.shape:
            return f"{what}: {have.dtype} {have.shape}, not {want.dtype} {want.shape}"
        if want.dtype.kind != "f":
            return None if np.array_equal(have, want) else f"{what}: {have.ravel()[:8]}, not {want.ravel()[:8]}"
        near = nearly(name, have, want)
        at = None if near.all() else np.argmin(near)
        return None if at is None else f"{what}: element {at}: {have.flat[at]!r}, not {want.flat[at]!r}"

    def out_difference(self, name, got, want, arrays, dtype=None):
        """dtype: what the result was written into, where that is not the record's own."""
        if isinstance(want, dict) and "t" in want:
            array = arrays[want["t"]]
            return self.difference(name, "result", got, array if dtype is None else array.astype(dtype))
        if isinstance(want, dict) and "seq" in want:
            if len(got) != len(want["seq"]):
                return f"{len(got)} results, not {len(want['seq'])}"
            each = (self.out_difference(name, g, w, arrays, dtype) for g, w in zip(got, want["seq"]))
            return next((d for d in each if d), None)
        want = self.value_of(want, arrays, None)
        return None if got == want and type(got) is type(want) else f"{got!r}, not {want!r}"

    def ties_difference(self, x, got, want, arrays, dim=-1):
        """topk does not say which of equal values it names: values are PyTorch's, indices are distinct and name them."""
        values, indices = got
        wrong = self.difference("topk", "values", values, arrays[want["seq"][0]["t"]])
        if wrong or indices.dtype != self.torch.int64 or indices.shape != values.shape:
            return wrong or f"indices: {indices.dtype} {indices.shape}"
        if x.dim() == 0:
            return None if indices.item() == 0 else f"indices: {indices}, not 0"
        n = x.shape[dim]
        each = indices.cpu().numpy()
        if each.min() < 0 or each.max() >= n or (np.diff(np.sort(each, dim), axis=dim) == 0).any():
            return f"indices: {each.ravel()[:8]} are not distinct ones below {n}"
        return None if self.torch.equal(x.gather(dim, indices), values) else "indices: they name other values"

    def one_of_equals_difference(self, name, x, got, want, arrays, args, kw):
        """Nor do these, of which each row gives one."""
        values, indices = got
        wrong = self.difference(name, "values", values, arrays[want["seq"][0]["t"]])
        if wrong or indices.dtype != self.torch.int64 or indices.shape != values.shape:
            return wrong or f"indices: {indices.dtype} {indices.shape}"
        if x.dim() == 0:
            return None if indices.item() == 0 else f"indices: {indices}, not 0"
        rest = args[1:] if name == "kthvalue" else args
        dim = kw.get("dim", rest[0] if rest else -1)
        there = x.gather(dim, indices if indices.dim() == x.dim() else indices.unsqueeze(dim))
        return None if self.torch.equal(there.reshape(values.shape), values) else "indices: they name other values"

    def first_tensor(self, out):
        return out if isinstance(out, self.torch.Tensor) else self.first_tensor(out[0])

    # ---- forms ----

    def outs(self, want, arrays, apart):
        """Tensors to write a record's results into: of no element, or of the right shape and not contiguous."""
        if "seq" in want:
            return tuple(self.outs(w, arrays, apart) for w in want["seq"])
        like = arrays[want["t"]]
        if apart:
            return self.tensor_of(np.zeros_like(like), 1)
        return self.torch.empty(0, dtype=self.dtype_named(str(like.dtype)), device=self.device)

    def run(self, name, number, form):
        """None if a record agrees in a form, else what is wrong. Raises what the library raises."""
        records, arrays = records_of(name)
        record, want = records[number], records[number]["out"]
        kinds = iter([None] * 64 if form in ("plain", "inplace", "out") else [(number + i) % 3 for i in range(64)])
        x, args, kw = self.arguments(name, record, arrays, kinds)
        gradient = record.get("grad_sum_input") if not form.startswith("out") else None
        if gradient:
            if arrays[gradient["t"]].dtype.kind == "c":
                raise Unsupported("complex")
            x = x.detach().requires_grad_()
        dtype = None
        if form == "inplace":
            written = x.clone()
            dtype = written.detach().cpu().numpy().dtype
            function = self.in_place(name)
            if function is None:
                raise AttributeError(f"{name} has no in-place form")
            out = function(written, *args, **kw)
            if out is not written:
                return "does not return its input"
        elif form.startswith("out"):
            into = self.outs(want, arrays, form == "out_apart")
            out = self.operation(name)(x, *args, **kw, out=into)
            if out is not into and not (isinstance(into, tuple) and len(out) == len(into) and
                                        all(a is b for a, b in zip(out, into))):
                return "does not return what out= names"
        else:
            out = self.operation(name)(x, *args, **kw)
        if name == "topk":
            wrong = self.ties_difference(x.detach(), out, want, arrays, *args[1:2])
        elif name in ("kthvalue", "median", "nanmedian", "mode") and "seq" in want:
            wrong = self.one_of_equals_difference(name, x.detach(), out, want, arrays, args, kw)
        else:
            wrong = self.out_difference(name, out, want, arrays, dtype)
        if wrong is None and gradient and self.first_tensor(out).requires_grad:
            (grad,) = self.torch.autograd.grad(self.first_tensor(out).sum(), [x])
            wrong = self.difference(name, "gradient", grad, arrays[gradient["t"]])
        elif wrong is None and gradient:
            wrong = "the result has no history"
        return wrong

    def has(self, name, number, form):
        """Is there such a form of a record at all?"""
        record = records_of(name)[0][number]
        if form == "inplace":
            return isinstance(record["input"], dict) and "t" in record["input"]
        if form.startswith("out"):
            out = record["out"]
            each = [out] if not isinstance(out, dict) else out.get("seq", [out])
            return bool(each) and all(isinstance(o, dict) and "t" in o for o in each)
        return True
