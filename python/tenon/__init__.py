"""Tenon: tensors that know where they live. `import tenon as torch` reads as PyTorch does."""

from . import _C
from ._C import *  # noqa: F401,F403
from ._C import Tensor, __version__, device, dtype  # noqa: F401
from ._info import finfo, iinfo  # noqa: F401
from ._printing import get_printoptions, set_printoptions  # noqa: F401
from . import accelerator, backends, cuda, random, version  # noqa: F401
