"""torch.set_printoptions: how tensors are printed."""

from math import inf

from tenon import _C

_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": inf, "edgeitems": 3, "linewidth": 80},
}
_now = dict(_PROFILES["default"], sci_mode=None)
_MOST = 2**31 - 1


def _number(name, value):
    """The extension's form of an option: an int, with infinity as the largest."""
    if value == inf:
        return _MOST
    if isinstance(value, float) or not hasattr(value, "__index__"):
        raise TypeError(f"set_printoptions(): argument '{name}' must be int, not {type(value).__name__}")
    value = value.__index__()
    if value < 0:
        raise ValueError(f"set_printoptions(): '{name}' must not be negative, got {value}")
    return min(value, _MOST)


def _apply(options):
    sci = {None: 0, True: 1, False: -1}[options["sci_mode"]]
    _C._set_print_options(
        *(_number(name, options[name]) for name in ("precision", "threshold", "edgeitems", "linewidth")), sci
    )
    _now.update(options)


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Sets how tensors are printed.

    precision: digits after the point; threshold: elements from which on a tensor is summarised; edgeitems: elements
    shown at each end then; linewidth: characters in a line; profile: 'default', 'short' or 'full'; sci_mode: True or
    False, None to decide by the values. What is not said stays, sci_mode apart.
    """
    options = dict(_now)
    if profile is not None:
        options.update(_PROFILES.get(profile, {}))
    said = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    options.update((name, value) for name, value in said.items() if value is not None)
    options["sci_mode"] = None if sci_mode is None else bool(sci_mode)
    _apply(options)


def get_printoptions():
    """The options of now, as a dict."""
    return dict(_now)


class printoptions:
    """A context with other print options; leaving it brings back those from before."""

    def __init__(self, **options):
        self._options = options

    def __enter__(self):
        self._before = dict(_now)
        set_printoptions(**self._options)
        return self

    def __exit__(self, *_):
        _apply(self._before)
