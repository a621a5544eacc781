"""Makes refusals.txt anew, with the PyTorch that is installed: what each of its lines raises, or gives.

python3 tests/data/make_refusals.py

A line is a program of statements divided by ';;', whose last one is an expression; a tab; the class of what it raises, or 'value';
a tab; the message's first line, or the value as nested lists.
"""

import pathlib
import warnings

PLACE = pathlib.Path(__file__).with_name("refusals.txt")


def outcome(torch, program):
    """(class or 'value', first line of the message or text of the value) of a program, with the module torch."""
    names = {"torch": torch, "F": torch.nn.functional, "inf": float("inf"), "nan": float("nan")}
    *statements, expression = program.split(";;")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for statement in statements:
                exec(statement, names)
            value = eval(expression, names)
        except Exception as error:  # noqa: BLE001: whatever is raised is the result
            return type(error).__name__, str(error).split("\n")[0].replace("tenon", "torch")
    return "value", str(value.tolist() if isinstance(value, torch.Tensor) else value)


def main():
    import torch

    programs = [line.split("\t")[0] for line in PLACE.read_text(encoding="utf-8").splitlines()]
    PLACE.write_text("".join("\t".join([p, *outcome(torch, p)]) + "\n" for p in programs), encoding="utf-8")


if __name__ == "__main__":
    main()
