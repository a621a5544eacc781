"""Reference records of PyTorch's operations (tests/data/op-vectors) through Python, on the CPU and on a GPU.

The operations of ground-floor.txt must exist and agree with every record, in values and gradients; of the others every
record whose operation exists is run. The counts are printed. The tolerances are those of tests/ops/test_vectors.c.
"""
import contextlib
import functools
import json
import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("TENON_FAKE_GPUS", "2")
import tenon as torch  # noqa: E402

SOURCE = Path(__file__).resolve().parents[2]
FOLDER = SOURCE / "tests" / "data" / "op-vectors"
NAMED = (FOLDER / "ground-floor.txt").read_text(encoding="utf-8").split()
RECORDS, NAMED_RECORDS, NAMED_GRADIENTS = 5507, 1248, 246
TOLERANCE = {"float64": 1e-12, "float32": 3e-6, "float16": 1e-3}
DEVICES = ["cpu", "cuda"]

# Elementwise rows of the list of operations: a rounding is relative to the element, not to the largest one.
ROWS = set(re.findall(r"^(?:UNARY|BINARY|TERNARY)\((\w+),", (SOURCE / "src/op/ops.def").read_text(encoding="utf-8"), re.M))

# Operations whose result is drawn, or is not there to be compared.
DRAWN = {
    "nn.functional.alpha_dropout", "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.dropout",
    "nn.functional.feature_alpha_dropout", "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d",
    "nn.functional.rrelu", "nn.functional.multi_head_attention_forward", "pca_lowrank", "svd_lowrank", "resize_",
    "resize_as_",
}

# Operations that have no kernel on a GPU: there, what every record must raise.
ONLY_ON_CPU = {"norm.nuc": "NotImplementedError: nuclear_norm is not implemented on cuda for"}


# ---- from a record's name to what is called ----

def sliced(x, dim=0, start=None, end=None, step=1):
    return x[(slice(None),) * (dim % x.dim()) + (slice(start, end, step),)]


def attribute(name):
    return lambda x: getattr(x, name)


def in_place(name):
    """The record's input is a leaf, which may not be changed: a copy is."""
    return lambda x, *args, **kw: getattr(x.clone(), name)(*args, **kw)


# Records whose arguments are not in the order of the function's.
WRAPPED = {
    "einsum": lambda operands, equation: torch.einsum(equation, operands),
    "nn.functional.embedding": lambda weight, index, **kw: torch.nn.functional.embedding(index, weight, **kw),
    "slice": sliced,
    "tensor_split": lambda x, where, dim=0: torch.tensor_split(x, where.cpu() if isinstance(where, torch.Tensor) else where, dim),
    "where": lambda x, condition, other: torch.where(condition, x, other),
}


def spelled(name):
    """torch.NAME, torch.nn.functional.NAME as the name says, or the method; None if there is none."""
    place = torch
    for part in name.split("."):
        place = getattr(place, part, None)
        if place is None:
            break
    if callable(place) and not isinstance(place, torch.dtype):
        return place
    return getattr(torch.Tensor, name, None) if "." not in name else None


def operation(name):
    """What a record of that name calls. What follows the last dots may be a variant: div.floor_rounding."""
    if name in WRAPPED:
        return WRAPPED[name]
    if name in ("T", "H", "mT", "mH", "real"):
        return attribute(name) if hasattr(torch.Tensor, name) else None
    if name.endswith("_"):
        return in_place(name) if hasattr(torch.Tensor, name) else None
    parts = name.split(".")
    least = {"nn": 3, "signal": 3, "torch": 5}.get(parts[0], 2 if parts[0] in ("linalg", "fft", "special", "masked") else 1)
    for n in range(len(parts), least - 1, -1):
        found = spelled(".".join(parts[:n]))
        if found is not None:
            return found
    return None


# ---- records that need more than they hold ----

@functools.cache
def numbers_behind(dtype):
    """The first 20 numbers that the generator of the records drew for a dtype: its seed is the same for every operation,
    and the 5 x 5 input of atleast_1d begins with them."""
    records, arrays = records_of("atleast_1d")
    return next(arrays[r["input"]["t"]] for r in records
                if r["dtype"] == dtype and arrays[r["input"]["t"]].shape == (5, 5)).ravel()[:20]


def view_of_more(record, arrays, device):
    """The input of as_strided.partial_views: elements 5 to 14 of 20 (sample_inputs_as_strided_partial_views in PyTorch's
    common_methods_invocations.py), of which the record holds these ten; results of storage_offset 0 show the first four."""
    base = numbers_behind(record["dtype"])
    assert np.array_equal(base[5:15], arrays[record["input"]["t"]])
    return tensor_of(base, device)[5:15]


# ---- from JSON to values ----

class Unsupported(Exception):
    """A dtype that there is not: complex numbers, large unsigned ones."""


def dtype_named(name):
    dtype = getattr(torch, name.removeprefix("torch."), None)
    if dtype is None:
        raise Unsupported(name)
    return dtype


def tensor_of(array, device):
    try:
        return torch.from_numpy(array.copy()).to(device)
    except (TypeError, AttributeError) as error:
        raise Unsupported(str(array.dtype)) from error


def value_of(j, arrays, device):
    if isinstance(j, list):
        return [value_of(v, arrays, device) for v in j]
    if not isinstance(j, dict):
        return j
    if "t" in j:
        return tensor_of(arrays[j["t"]], device)
    if "seq" in j:
        items = [value_of(v, arrays, device) for v in j["seq"]]
        return items if j["k"] == "list" else tuple(items)
    if "dtype" in j:
        return dtype_named(j["dtype"])
    if "slice" in j:
        return slice(*j["slice"])
    if "ellipsis" in j:
        return ...
    if "c" in j:
        return complex(*j["c"])
    return {k: value_of(v, arrays, device) for k, v in j.items()}


def keywords_of(record, arrays, device):
    kw = {k: value_of(v, arrays, device) for k, v in record["kw"].items()}
    if "device" in kw:
        kw["device"] = device
    return kw


def records_of(name):
    with np.load(FOLDER / f"{name}.npz") as z:
        arrays = {k: z[k] for k in z.files if k != "__rec"}
        return json.loads(bytes(z["__rec"]).decode("utf-8")), arrays


# ---- comparison ----

def difference(name, what, got, want, device):
    """None if a tensor is what the array says, else how it differs."""
    if not isinstance(got, torch.Tensor):
        return f"{what}: {got!r} is no tensor"
    if got.dim() and got.device.type != device:
        return f"{what}: is on {got.device}"
    have = got.detach().cpu().numpy()
    if have.dtype != want.dtype or have.shape != want.shape:
        return f"{what}: {have.dtype} {have.shape}, not {want.dtype} {want.shape}"
    if want.dtype.kind != "f":
        return None if np.array_equal(have, want) else f"{what}: {have.ravel()[:8]}, not {want.ravel()[:8]}"
    a, b = have.astype(np.float64), want.astype(np.float64)
    scale = 1.0
    if name.split(".")[0] not in ROWS and b.size:
        scale = max(1.0, float(np.max(np.where(np.isfinite(b), np.abs(b), 0.0))))
    with np.errstate(invalid="ignore"):
        near = (a == b) | (np.isnan(a) & np.isnan(b))
        near |= np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= TOLERANCE[str(want.dtype)] * np.maximum(scale, np.abs(b)))
    return None if near.all() else f"{what}: element {np.argmin(near)}: {a.flat[np.argmin(near)]!r}, not {b.flat[np.argmin(near)]!r}"


def out_difference(name, got, want, arrays, device):
    if isinstance(want, dict) and "t" in want:
        return difference(name, "result", got, arrays[want["t"]], device)
    if isinstance(want, dict) and "seq" in want:
        if len(got) != len(want["seq"]):
            return f"{len(got)} results, not {len(want['seq'])}"
        each = (out_difference(name, g, w, arrays, device) for g, w in zip(got, want["seq"]))
        return next((d for d in each if d), None)
    want = value_of(want, arrays, device)
    return None if got == want and type(got) is type(want) else f"{got!r}, not {want!r}"


def first_tensor(out):
    return out if isinstance(out, torch.Tensor) else first_tensor(out[0])


def ties_difference(x, got, want, arrays, device, dim=-1):
    """topk does not say which of equal values it names: values are PyTorch's, indices are distinct and name them."""
    values, indices = got
    wrong = difference("topk", "values", values, arrays[want["seq"][0]["t"]], device)
    if wrong or indices.dtype != torch.int64 or indices.shape != values.shape:
        return wrong or f"indices: {indices.dtype} {indices.shape}"
    if x.dim() == 0:
        return None if indices.item() == 0 else f"indices: {indices}, not 0"
    n = x.shape[dim]
    each = indices.cpu().numpy()
    if each.min() < 0 or each.max() >= n or (np.diff(np.sort(each, dim), axis=dim) == 0).any():
        return f"indices: {each.ravel()[:8]} are not distinct ones below {n}"
    return None if torch.equal(x.gather(dim, indices), values) else "indices: they name other values"


def run_record(name, function, record, arrays, device):
    """None if it agrees, else what is wrong."""
    seen = view_of_more if name == "as_strided.partial_views" else None
    x = seen(record, arrays, device) if seen else value_of(record["input"], arrays, device)
    args = [value_of(a, arrays, device) for a in record["args"]]
    kw = keywords_of(record, arrays, device)
    gradient = record.get("grad_sum_input")
    if gradient:
        if arrays[gradient["t"]].dtype.kind == "c":
            raise Unsupported("complex")
        x.requires_grad_()
    kw.pop("requires_grad", None)
    out = function(x, *args, **kw)
    if name == "topk":
        wrong = ties_difference(x.detach(), out, record["out"], arrays, device, *args[1:2])
    else:
        wrong = out_difference(name, out, record["out"], arrays, device)
    if wrong is None and gradient:
        (grad,) = torch.autograd.grad(first_tensor(out).sum(), [x])
        wrong = difference(name, "gradient", grad, arrays[gradient["t"]], device)
    return wrong


def is_unsupported(record, arrays):
    """Does it hold arrays of dtypes that there are not?"""
    text = json.dumps(record)
    named = {a for a in re.findall(r'"t": "(\w+)"', text)}
    return any(arrays[a].dtype.kind == "c" or arrays[a].dtype == np.uint64 for a in named) or '"c": [' in text


def run_operation(name, device):
    """(records, gradients, agreeing, unsupported, what is wrong) of an operation's file."""
    function = operation(name)
    records, arrays = records_of(name)
    agree = unsupported = 0
    wrong = []
    for number, record in enumerate(records):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                what = run_record(name, function, record, arrays, device)
        except Unsupported:
            unsupported += 1
            continue
        except Exception as error:  # noqa: BLE001: whatever is raised is what went wrong
            if is_unsupported(record, arrays):
                unsupported += 1
                continue
            what = f"{type(error).__name__}: {str(error)[:200]}"
        if what is None:
            agree += 1
        else:
            wrong.append(f"{name} {record['dtype']} record {number}: {what}")
    return len(records), sum("grad_sum_input" in r for r in records), agree, unsupported, wrong


@contextlib.contextmanager
def shown(capsys):
    with capsys.disabled():
        print()
        yield


@pytest.mark.parametrize("device", DEVICES)
def test_named_operations(device, capsys):
    missing = [name for name in NAMED if operation(name) is None]
    assert not missing
    results = [run_operation(name, device) for name in NAMED]
    total, gradients, agree = (sum(r[i] for r in results) for i in range(3))
    with shown(capsys):
        print(f"count: python: records of the named operations on {device}: {agree} of {total} agree, {gradients} of them with a "
              "gradient")
    wrong = [w for r in results for w in r[4]]
    assert not wrong, "\n".join(wrong)
    assert (agree, total, gradients) == (NAMED_RECORDS, NAMED_RECORDS, NAMED_GRADIENTS)


@pytest.mark.parametrize("device", DEVICES)
def test_every_operation_that_exists(device, capsys):
    names = sorted(p.stem for p in FOLDER.glob("*.npz"))
    there = [name for name in names if operation(name) is not None]
    results = {name: run_operation(name, device) for name in there}
    agree, unsupported = (sum(r[i] for r in results.values()) for i in (2, 3))
    missing = []
    for name, text in ONLY_ON_CPU.items() if device != "cpu" else ():
        total, _, right, _, missing_here = results[name]
        assert right == 0 and len(missing_here) == total and all(text in w for w in missing_here), missing_here
        missing += missing_here
    wrong = [w for name, r in results.items() if not DRAWN & {name, name.rpartition(".")[0]} for w in r[4] if w not in missing]
    failed = sum(len(r[4]) for r in results.values())
    with shown(capsys):
        print(f"count: python: records of all {RECORDS} on {device}: {agree} agree ({len(there)} operations; {failed} fail, "
              f"{len(missing)} of them for want of a kernel; {unsupported} need dtypes that are not there)")
    assert not wrong, "\n".join(wrong)
