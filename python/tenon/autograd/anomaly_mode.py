"""Where a derivative fails: the traceback of the call in the forward that it belongs to."""

import sys
import warnings

from tenon import _C, _missing

__all__ = ["detect_anomaly", "set_detect_anomaly"]

_enabled, _check_nan = False, True


def _place():
    """The stack of who calls an operation, without its lines of text, which are read when it is shown."""
    import traceback

    return traceback.StackSummary.extract(traceback.walk_stack(sys._getframe(1)), lookup_lines=False)


def _failed(node, place):
    if place is None:
        text = "No forward pass information available. Enable detect anomaly during forward pass for more information."
    else:
        place.reverse()
        text = "Traceback of forward call that caused the error:\n" + "".join(place.format())
        place.reverse()
    try:
        warnings.warn(f"Error detected in {node}. {text}", stacklevel=2)
    except Warning as raised:  # warnings are errors, but there is one on its way already
        print(raised, file=sys.stderr)


def is_anomaly_enabled():
    """Is it looked for anomalies?"""
    return _enabled


def is_anomaly_check_nan_enabled():
    """Is a derivative that gives NaN an error then?"""
    return _check_nan


def set_anomaly_enabled(enabled, check_nan=True):
    """Looks for anomalies from now on, or no more; check_nan: derivatives that give NaN are errors. detect_anomaly, for good."""
    global _enabled, _check_nan
    for name, value in (("enabled", enabled), ("check_nan", check_nan)):
        if not isinstance(value, bool):
            raise TypeError(f"set_anomaly_enabled(): argument '{name}' must be bool, not {type(value).__name__}")
    if enabled:
        _C._watch_anomalies(check_nan, _place, _failed)
    elif _enabled:
        _C._watch_anomalies(None)
    _enabled, _check_nan = enabled, check_nan


class detect_anomaly:
    """with detect_anomaly(): where a derivative fails, or gives NaN (check_nan), a warning shows the traceback of the forward call that
    it belongs to. The forward must be in it. Everything takes much longer."""

    def __init__(self, check_nan=True):
        self.prev, self.check_nan, self.prev_check_nan = is_anomaly_enabled(), check_nan, is_anomaly_check_nan_enabled()
        warnings.warn("Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
                      stacklevel=2)

    def __enter__(self):
        set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, *error):
        set_anomaly_enabled(self.prev, self.prev_check_nan)


class set_detect_anomaly:
    """The same at once, on or off; as a context manager, until its end."""

    def __init__(self, mode, check_nan=True):
        self.prev, self.prev_check_nan = is_anomaly_enabled(), is_anomaly_check_nan_enabled()
        set_anomaly_enabled(mode, check_nan)

    def __enter__(self):
        pass

    def __exit__(self, *error):
        set_anomaly_enabled(self.prev, self.prev_check_nan)


__getattr__ = _missing.getattr_of(__name__)
