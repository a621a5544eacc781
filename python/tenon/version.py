"""torch.version: which PyTorch it follows, which Tenon it is, and the CUDA version of the driver, asked when it is read."""

from tenon import _C, _missing

from .torch_version import __version__

tenon = _C.__version__
git_version = None
debug = False
hip = None
rocm = None
xpu = None


def __getattr__(name):
    if name != "cuda":
        raise _missing.error(__name__, name)
    for library in _C._cuda.libraries():
        if library["name"] == "driver" and library["found"] and library["version"]:
            return f"{library['version'] // 1000}.{library['version'] % 1000 // 10}"
    return None
