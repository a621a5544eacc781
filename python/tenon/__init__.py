"""Tenon: tensors that know where they live. `import tenon as torch` reads as PyTorch does."""

import importlib as _importlib
import importlib.util as _util
import math as _math
import os as _os


def _find_blas():
    """Names the BLAS that `pip install tenon-tensor[blas]` brought, unless the user named one: the library opens it at the first product."""
    if "TENON_BLAS" not in _os.environ:
        spec = _util.find_spec("scipy_openblas32")
        for folder in spec.submodule_search_locations or () if spec else ():
            path = _os.path.join(folder, "lib", "libscipy_openblas.so")
            if _os.path.exists(path):
                _os.environ["TENON_BLAS"] = path


def _find_cuda():
    """Names the folders in which pip put NVIDIA's libraries for this Python, unless the user named some: NVRTC and cuBLAS are looked for there."""
    if "TENON_SITE_PACKAGES" not in _os.environ:
        spec = _util.find_spec("nvidia")
        folders = [_os.path.dirname(f) for f in spec.submodule_search_locations or ()] if spec else []
        if folders:
            _os.environ["TENON_SITE_PACKAGES"] = _os.pathsep.join(folders)


_find_blas()
_find_cuda()

from . import _C, _missing

_missing.watch_imports()
_C._warn_of_settings()
from ._C import *  # noqa: F401,F403
from ._C import _dirichlet_grad, _sample_dirichlet, _standard_gamma, _standard_gamma_grad  # noqa: F401
from ._C import Tensor, device, dtype, is_grad_enabled, is_inference_mode_enabled  # noqa: F401
from ._C import Tensor, device, dtype, is_grad_enabled, is_inference_mode_enabled  # noqa: F401

from . import _tensor, return_types
from ._info import finfo, iinfo
from ._printing import get_printoptions, set_printoptions  # noqa: F401
from .autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from .functional import *  # noqa: F401,F403
from ._functions import *  # noqa: F401,F403
from ._legacy import *  # noqa: F401,F403

e, pi, inf, nan = _math.e, _math.pi, _math.inf, _math.nan
newaxis = None
has_lapack = has_mkl = has_spectral = False  # what PyTorch was built with
has_openmp = False

# Submodules are imported when they are first asked for: `import tenon` takes a few milliseconds.
_LAZY = {
    "accelerator",
    "autograd",
    "backends",
    "cpu",
    "cuda",
    "datasets",
    "distributions",
    "func",
    "library",
    "masked",
    "linalg",
    "multiprocessing",
    "nn",
    "optim",
    "profiler",
    "random",
    "safetensors",
    "serialization",
    "signal",
    "storage",
    "testing",
    "torch_version",
    "transforms",
    "special",
    "utils",
    "version",
}
_FROM_LAZY = {
    "save": "serialization",
    "load": "serialization",
    "install_as_torch": "_install",
    "fork_rng": "random",
    "from_dlpack": "utils.dlpack",
    "Generator": "_C",
    "ops": "_ops",
    "Storage": "storage",
    "is_anomaly_check_nan_enabled": "autograd.anomaly_mode",
    "is_anomaly_enabled": "autograd.anomaly_mode",
    "set_anomaly_enabled": "autograd.anomaly_mode",
    "TypedStorage": "storage",
    "UntypedStorage": "storage",
    "__version__": "torch_version",
}


_FROM_LAZY.update((f"{dtype._legacy}Storage", "storage") for dtype in _C._dtypes if not dtype._bare)


def __getattr__(name):
    if name in _LAZY:
        return _importlib.import_module(f"tenon.{name}")
    if name in _FROM_LAZY:
        value = getattr(_importlib.import_module(f"tenon.{_FROM_LAZY[name]}"), name)
        globals()[name] = value
        return value
    raise _missing.error(__name__, name)


def __dir__():
    return sorted(set(globals()) | _LAZY | set(_FROM_LAZY))


def typename(obj):
    """The name of an object's type, with its module; of a tensor, PyTorch's older name: 'torch.FloatTensor'."""
    if isinstance(obj, Tensor):
        return obj.type()
    kind = type(obj)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
