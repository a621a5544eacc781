"""torch.backends: what the libraries under Tenon are and do."""

from tenon import _missing

from . import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]


__getattr__ = _missing.getattr_of(__name__)
