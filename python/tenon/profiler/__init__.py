"""torch.profiler: names of pieces of a program, for programs that have them in. Tenon records no profile: linux's perf and NVIDIA's
tools see its kernels by name, and bench/ measures."""

from tenon import _missing
from tenon.autograd.profiler import record_function

__all__ = ["record_function"]


__getattr__ = _missing.getattr_of(__name__)
