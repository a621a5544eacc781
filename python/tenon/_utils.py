"""What several parts of Tenon share: rebuilding tensors from pickles, and exceptions that cross threads and processes.

The names `_rebuild_*` are those that PyTorch's files name.
"""

import sys
import traceback
from collections import OrderedDict

from . import _C


# ---- exceptions from another thread or process ----


class _KeyErrorMessage(str):
    """A KeyError shows repr(its argument): this shows the lines of the text as they are."""

    def __repr__(self):
        return self


class ExceptionWrapper:
    """The exception being handled (or `exc_info`), with its traceback as text, for raising elsewhere.

    where: completes "Caught ValueError ...", such as "in DataLoader worker process 0".
    """

    def __init__(self, exc_info=None, where="in background"):
        kind, value, trace = exc_info or sys.exc_info()
        self.exc_type = kind
        self.exc_msg = "".join(traceback.format_exception(kind, value, trace))
        self.where = where

    def _text(self):
        return f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"

    def as_runtime_error(self):
        """The same for a process that cannot unpickle the exception's class."""
        other = ExceptionWrapper((RuntimeError, RuntimeError(), None), self.where)
        other.exc_msg = self.exc_msg
        return other

    def reraise(self):
        """Raises an exception of the same class with the whole story; RuntimeError where the class does not let."""
        text = self._text()
        if self.exc_type is KeyError:
            text = _KeyErrorMessage(text)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=text)
        try:
            exception = self.exc_type(text)
        except Exception:
            raise RuntimeError(text) from None
        raise exception
