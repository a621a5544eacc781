"""torch.testing: tensors for tests, and comparisons that say what differs."""

from tenon import _missing

from ._comparison import assert_close
from ._creation import make_tensor

__all__ = ["assert_close", "make_tensor"]


__getattr__ = _missing.getattr_of(__name__)
