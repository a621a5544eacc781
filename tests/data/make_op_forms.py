#!/usr/bin/env python3
"""Makes tests/data/op-vectors/forms.json: which records PyTorch (2.15.0, CPU) takes in place, with out=, and of arguments
that are not contiguous, and the error of those that it refuses. tests/python/op_records.py says what the forms are.

    /opt/tv/bin/python tests/data/make_op_forms.py

{"operation": {"form": {"number of a record": "class: first line"}}}. A form that is not named, nobody has; a record that
is not named agrees with its values and gradient in that form; "-" is one that is not compared: PyTorch's own result is
another in that form, or another dtype.
"""
import json
import sys
import warnings
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from op_records import FOLDER, FORMS, Library, Unsupported, is_unsupported, records_of  # noqa: E402

DRAWN = ("dropout", "fractional", "rrelu", "lowrank", "multi_head", "resize", "empty", "bernoulli", "rand", "multinomial",
         "normal.", "uniform", "exponential", "cauchy", "geometric", "log_normal")


def answers(library, name, form):
    refused, agree = {}, 0
    records, arrays = records_of(name)
    for number, record in enumerate(records):
        if is_unsupported(record, arrays) or not library.has(name, number, form):
            continue
        try:
            wrong = library.run(name, number, form)
            agree += wrong is None
            if wrong:
                print(name, form, number, wrong)
                refused[str(number)] = "-"
        except Unsupported:
            continue
        except Exception as error:  # noqa: BLE001: whatever is raised is what is recorded
            refused[str(number)] = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"
    return refused if agree else None


def main():
    warnings.simplefilter("ignore")
    library = Library(torch, "cpu")
    forms = {}
    for name in sorted(p.stem for p in FOLDER.glob("*.npz")):
        if library.operation(name) is None or any(d in name + "." for d in DRAWN):
            continue
        found = {form: answers(library, name, form) for form in FORMS[1:]}
        forms[name] = {form: refused for form, refused in found.items() if refused is not None}
    text = json.dumps(forms, indent=0, sort_keys=True)
    (FOLDER / "forms.json").write_text(text + "\n", encoding="utf-8")
    print(len(forms), {form: sum(form in f for f in forms.values()) for form in FORMS[1:]}, len(text))


main()
