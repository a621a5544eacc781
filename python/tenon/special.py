"""Special functions: PyTorch's torch.special."""

from . import _missing
from ._C import (
    _special,
    digamma,
    digamma as psi,
    erf,
    erfc,
    erfinv,
    exp2,
    expm1,
    i0,
    igamma as gammainc,
    igammac as gammaincc,
    lgamma as gammaln,
    log1p,
    log_softmax,
    logit,
    logsumexp,
    mvlgamma as multigammaln,
    polygamma,
    round,
    sigmoid as expit,
    sinc,
    softmax,
    xlogy,
)

entr = _special.entr
erfcx = _special.erfcx
log_ndtr = _special.log_ndtr
ndtr = _special.ndtr
ndtri = _special.ndtri
i0e = _special.i0e
i1 = _special.i1
i1e = _special.i1e
xlog1py = _special.xlog1py
zeta = _special.zeta
modified_bessel_i0 = _special.modified_bessel_i0
modified_bessel_i1 = _special.modified_bessel_i1
modified_bessel_k0 = _special.modified_bessel_k0
modified_bessel_k1 = _special.modified_bessel_k1
scaled_modified_bessel_k0 = _special.scaled_modified_bessel_k0
scaled_modified_bessel_k1 = _special.scaled_modified_bessel_k1
spherical_bessel_j0 = _special.spherical_bessel_j0

__all__ = [
    "digamma",
    "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln",
    "i0", "i0e", "i1", "i1e", "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp", "modified_bessel_i0",
    "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1", "multigammaln", "ndtr", "ndtri", "polygamma", "psi",
    "round", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "sinc",
    "softmax", "spherical_bessel_j0", "xlog1py", "xlogy", "zeta",
]  # fmt: skip

__getattr__ = _missing.getattr_of(__name__)
