"""Writes docs/missing-names.md: how many of PyTorch's public names Tenon has, and why each other one stays out. With the package:

    PYTHONPATH=build/python python3 tools/missing_names.py --update

The names are those of python/tenon/_torch_names.txt, the reasons those of python/tenon/_missing.py, which errors give, too:
who adds such a name takes it out there. tools/names_to_come.txt has those that only nobody has written yet; --update deletes
what is there by now. tests/python/test_missing.py holds all three.
"""

import pathlib
import re
import sys
import textwrap

import tenon
from tenon import _missing

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCUMENT, LATER = ROOT / "docs/missing-names.md", ROOT / "tools/names_to_come.txt"
OWNERS = {"torch": tenon, "torch.Tensor": tenon.Tensor, "torch.nn.functional": tenon.nn.functional, "torch.nn": tenon.nn}


def to_come():
    """Names that are missing for no other reason."""
    return LATER.read_text().split()


def absent():
    """Names that Tenon has not, in the order of the table, without "torch."."""
    for place, owner in OWNERS.items():
        yield from ((f"{place}.{name}").removeprefix("torch.") for name in sorted(_missing.names()[place]) if not hasattr(owner, name))


def present():
    """Those that it has."""
    for place, owner in OWNERS.items():
        yield from ((f"{place}.{name}").removeprefix("torch.") for name in sorted(_missing.names()[place]) if hasattr(owner, name))


def reason_of(name):
    """The reason that is found first; None where there is none."""
    return next((text for pattern, text in _missing._INSTEAD if re.fullmatch(pattern, name)), None)


def without_reason():
    """Names that are missing, and nobody has said why: by a pattern in _missing.py, or by a line in names_to_come.txt."""
    later = set(to_come())
    return [name for name in absent() if reason_of(name) is None and name not in later]


def reasons_of_what_is_there():
    """Names that Tenon has, and one of both lists says it has not."""
    later = set(to_come())
    return [name for name in present() if reason_of(name) is not None or name in later]


def paragraph(names):
    return textwrap.fill(" ".join(f"`{name}`" for name in names), 130, break_long_words=False, break_on_hyphens=False)


def document():
    """The lines of the document."""
    yield textwrap.dedent("""\
        # PyTorch's names

        The public names of PyTorch 2.15, and how many of them are in Tenon. Written by `tools/missing_names.py`, held by
        `tests/python/test_missing.py`. An error for a missing name gives the same reason.
        """)
    yield "| of | names | in Tenon | a reason | not yet |\n|---|---|---|---|---|"
    missing, still = list(absent()), set(to_come())
    for place, owner in OWNERS.items():
        names = _missing.names()[place]
        have = sum(hasattr(owner, name) for name in names)
        prefix = place.removeprefix("torch").removeprefix(".")
        ours = [n for n in missing if n.rpartition(".")[0] == prefix]
        later = sum(n in still for n in ours)
        yield f"| `{place}` | {len(names)} | {have} | {len(ours) - later} | {later} |"
    by_reason = {}
    for name in missing:
        if name not in still:
            by_reason.setdefault(reason_of(name), []).append(name)
    for _, text in _missing._INSTEAD:
        if text in by_reason:
            what, _, instead = text.partition("; ")
            names = by_reason.pop(text)
            title = what if what != "it" else names[0]
            yield f"\n## {title[0].upper() + title[1:] if what != 'it' else f'`{title}` and the like'}\n"
            yield (f"Instead: {instead}.\n\n" if instead else "") + paragraph(names)
    later = [name for name in missing if name in still]
    if later:
        yield "\n## Not written yet\n\n" + paragraph(later)


def update():
    """Both files anew."""
    missing = set(absent())
    LATER.write_text("".join(f"{name}\n" for name in to_come() if name in missing))
    DOCUMENT.write_text("\n".join(document()) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(__doc__)
    update()
