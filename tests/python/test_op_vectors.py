"""Reference records of PyTorch's operations (tests/data/op-vectors) through Python, on the CPU and on a GPU: values, dtypes,
shapes and gradients, as plain calls, in place, with out=, and of arguments that are not contiguous.

The operations of ground-floor.txt must exist and agree with every record; of the others every record whose operation exists
is run. The counts are printed. The tolerances are those of tests/ops/test_vectors.c; which form takes which record, and the
errors of those it refuses, are PyTorch's (forms.json, by tests/data/make_op_forms.py).
"""
import functools
import json
import os
import warnings

import pytest
from op_records import FOLDER, FORMS, Library, Unsupported, is_unsupported, records_of

os.environ.setdefault("TENON_FAKE_GPUS", "2")
import tenon as torch  # noqa: E402

NAMED = (FOLDER / "ground-floor.txt").read_text(encoding="utf-8").split()
RECORDS, NAMED_RECORDS, NAMED_GRADIENTS = 5507, 1248, 246
DEVICES = ["cpu", "cuda"]

# Operations whose result is drawn, or is not there to be compared.
DRAWN = {
    "nn.functional.alpha_dropout", "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.dropout",
    "nn.functional.feature_alpha_dropout", "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d",
    "nn.functional.rrelu", "nn.functional.multi_head_attention_forward", "pca_lowrank", "svd_lowrank", "resize_",
    "resize_as_",
}


@functools.cache
def library(device):
    return Library(torch, device)


@functools.cache
def forms():
    return json.loads((FOLDER / "forms.json").read_text(encoding="utf-8"))


@functools.cache
def there():
    """The operations that exist."""
    names = sorted(p.stem for p in FOLDER.glob("*.npz"))
    return [name for name in names if library("cpu").operation(name) is not None]


def is_drawn(name):
    return bool(DRAWN & {name, name.rpartition(".")[0]})


# Where PyTorch has no derivative of a form in place (acosh_, asinh_, atanh_), Tenon has that of the other form.
LACKS = "the derivative for 'inplace version of"
# Integers that a result of floats does not fit into are refused in the words of all forms in place, not in ldexp_'s and mvlgamma_'s.
OTHER_WORDS = ("RuntimeError: ldexp can't be cast", "RuntimeError: mvlgamma: result type")


# What PyTorch's own assertions refuse may be taken.
ASSERTS = "INTERNAL ASSERT FAILED"
# Where PyTorch gives a gradient that is none: of as_strided_scatter, the first input's is zero but where it was written over.
OTHER_GRADIENT = {"as_strided_scatter"}


def run_record(name, number, form, device, refusal):
    """None if a record agrees, in its result or in its error, else what is wrong."""
    try:
        wrong = library(device).run(name, number, form)
    except Unsupported:
        raise
    except Exception as error:  # noqa: BLE001: whatever is raised is what went wrong
        records, arrays = records_of(name)
        if is_unsupported(records[number], arrays):
            raise Unsupported from error
        said = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"
        same = refusal and (said == refusal or refusal.startswith(OTHER_WORDS) or refusal.startswith("TypeError") and said.startswith("TypeError"))
        return None if same else f"{said[:250]}{', not ' + refusal if refusal else ''}"
    if refusal and ASSERTS in refusal or name in OTHER_GRADIENT and wrong and wrong.startswith("gradient"):
        return None
    return wrong if not refusal or LACKS in refusal else f"is taken, not {refusal}"


def run_operation(name, form, device):
    """(records, agreeing, unsupported, what is wrong) of an operation's file."""
    agree = unsupported = 0
    wrong = []
    refusals = forms().get(name, {}).get(form, {}) if form != "plain" else {}
    numbers = [n for n in range(len(records_of(name)[0])) if library(device).has(name, n, form) and refusals.get(str(n)) != "-"]
    for number in numbers:
        try:
            what = run_record(name, number, form, device, refusals.get(str(number)))
        except Unsupported:
            unsupported += 1
            continue
        agree += what is None
        if what:
            wrong.append(f"{name} {records_of(name)[0][number]['dtype']} record {number} {form}: {what}")
    return len(numbers), agree, unsupported, wrong


@functools.cache
def results(form, device):
    """run_operation of all operations that exist and have the form."""
    names = there() if form == "plain" else [n for n in there() if form in forms().get(n, {})]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: run_operation(name, form, device) for name in names}


@pytest.mark.parametrize("device", DEVICES)
def test_named_operations(device, record_property):
    missing = [name for name in NAMED if name not in there()]
    assert not missing
    named = [results("plain", device)[name] for name in NAMED]
    gradients = sum("grad_sum_input" in r for name in NAMED for r in records_of(name)[0])
    total, agree = (sum(r[i] for r in named) for i in range(2))
    record_property("count", f"python: records of the named operations on {device}: {agree} of {total} agree, {gradients} of them "
                             "with a gradient")  # fmt: skip
    wrong = [w for r in named for w in r[3]]
    assert not wrong, "\n".join(wrong)
    assert (agree, total, gradients) == (NAMED_RECORDS, NAMED_RECORDS, NAMED_GRADIENTS)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("device", DEVICES)
def test_every_operation_that_exists(device, form, record_property):
    found = {name: r for name, r in results(form, device).items() if not is_drawn(name)}
    total, agree, unsupported = (sum(r[i] for r in found.values()) for i in range(3))
    wrong = [w for name, r in found.items() for w in r[3]]
    record_property("count", f"python: records of all {RECORDS}, {form}, on {device}: {agree} of {total} agree ({len(found)} "
                             f"operations; {total - agree - unsupported} fail; {unsupported} need dtypes that are not there)")  # fmt: skip
    assert not wrong, "\n".join(wrong)
