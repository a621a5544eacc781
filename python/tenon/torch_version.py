"""torch.torch_version: versions as texts that compare by their numbers."""

import re

from . import _C, _missing

__all__ = ["TorchVersion"]

# PyTorch's interface, of which this is the one that Tenon follows
_FOLLOWED = "2.15.0"

# the versions of PEP 440
_FORM = re.compile(
    r"\s*v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<stage>alpha|beta|preview|pre|rc|a|b|c)[-_.]?(?P<stage_n>\d*))?"
    r"(?:-(?P<post_only>\d+)|[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_n>\d*))?"
    r"(?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_n>\d*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*", re.IGNORECASE)  # fmt: skip
_STAGES = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
_BELOW, _ABOVE = (-1,), (1,)  # all stages and numbers, which are (0, ...)


def _local(text):
    """Numbers stand above words, more parts above fewer."""
    if text is None:
        return ()
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"[-_.]", text.lower()))


def _key(text):
    """What two versions are compared by; None where the text is none."""
    m = _FORM.fullmatch(text)
    if not m:
        return None
    release = [int(n) for n in m["release"].split(".")]
    while len(release) > 1 and not release[-1]:
        release.pop()
    stage = m["stage"] and m["stage"].lower()
    post = m["post"] is not None or m["post_only"] is not None
    if stage:
        first = (0, _STAGES.get(stage, stage), int(m["stage_n"] or 0))
    else:
        first = _BELOW if m["dev"] and not post else _ABOVE
    second = (0, int(m["post_only"] or m["post_n"] or 0)) if post else _BELOW
    third = (0, int(m["dev_n"] or 0)) if m["dev"] else _ABOVE
    return int(m["epoch"] or 0), tuple(release), first, second, third, _local(m["local"])


def _compared(name):
    by_text = getattr(str, name)

    def method(self, other):
        if isinstance(other, tuple):
            other = ".".join(map(str, other))
        if not isinstance(other, str):
            return by_text(self, other)
        mine, its = _key(str(self)), _key(str(other))
        if mine is None or its is None:
            return by_text(self, str(other))
        return getattr(mine, name)(its)

    method.__name__ = name
    method.__doc__ = "As versions, of texts and of tuples of numbers; as texts where one is no version."
    return method


class TorchVersion(str):
    """A version: a text that is compared as one, with texts and with tuples of numbers: torch.__version__ >= (2, 1)."""

    __lt__, __le__, __eq__ = _compared("__lt__"), _compared("__le__"), _compared("__eq__")
    __gt__, __ge__, __ne__ = _compared("__gt__"), _compared("__ge__"), _compared("__ne__")
    __hash__ = str.__hash__


__version__ = TorchVersion(f"{_FOLLOWED}+tenon{_C.__version__}")

__getattr__ = _missing.getattr_of(__name__)
