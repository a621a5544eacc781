"""How exact float32 math functions are: the table of docs/math-functions.md.

    PYTHONPATH=build/python python3 bench/ulps.py        needs PyTorch and SciPy

Largest and mean error in units in the last place of the result, of Tenon's functions and PyTorch's with the same arguments, against
SciPy's or NumPy's in double. Arguments are drawn from the ranges below, half of them evenly, half by their logarithms.
"""
import numpy as np
import scipy.special as sp
import tenon
import torch

COUNT = 200_000
INF = 3.4e38
# name: (exact, range of the arguments, and of the second one)
FUNCTIONS = {
    "exp": (np.exp, (-87, 88)), "exp2": (np.exp2, (-126, 127)), "expm1": (np.expm1, (-17, 88)), "log": (np.log, (1e-37, INF)),
    "log2": (np.log2, (1e-37, INF)), "log10": (np.log10, (1e-37, INF)), "log1p": (np.log1p, (-1, INF)),
    "sin": (np.sin, (-100, 100)), "cos": (np.cos, (-100, 100)), "tan": (np.tan, (-100, 100)), "asin": (np.arcsin, (-1, 1)),
    "acos": (np.arccos, (-1, 1)), "atan": (np.arctan, (-100, 100)), "atan2": (np.arctan2, (-100, 100), (-100, 100)),
    "sinh": (np.sinh, (-88, 88)), "cosh": (np.cosh, (-88, 88)), "tanh": (np.tanh, (-10, 10)), "asinh": (np.arcsinh, (-INF, INF)),
    "acosh": (np.arccosh, (1, INF)), "atanh": (np.arctanh, (-1, 1)), "sigmoid": (sp.expit, (-80, 80)),
    "hypot": (np.hypot, (-100, 100), (-100, 100)), "pow": (np.power, (1e-3, 10), (-30, 30)), "erf": (sp.erf, (-4, 4)),
    "erfc": (sp.erfc, (-4, 9)), "special.erfcx": (sp.erfcx, (-9, 100)), "erfinv": (sp.erfinv, (-1, 1)), "special.ndtr": (sp.ndtr, (-9, 9)),
    "special.log_ndtr": (sp.log_ndtr, (-100, 5)), "special.ndtri": (sp.ndtri, (1e-37, 1)), "special.entr": (sp.entr, (1e-9, 100)),
    "lgamma": (sp.gammaln, (1e-9, 100)), "digamma": (sp.digamma, (1e-3, 100)), "igamma": (sp.gammainc, (0.1, 30), (0.1, 60)),
    "igammac": (sp.gammaincc, (0.1, 30), (0.1, 60)), "special.zeta": (sp.zeta, (1.1, 20), (0.1, 30)), "i0": (sp.i0, (-80, 80)),
    "special.i0e": (sp.i0e, (-100, 100)), "special.i1": (sp.i1, (-80, 80)), "special.i1e": (sp.i1e, (-100, 100)),
    "special.modified_bessel_k0": (sp.k0, (1e-6, 80)), "special.modified_bessel_k1": (sp.k1, (1e-6, 80)), "sinc": (np.sinc, (-20, 20)),
    "xlogy": (sp.xlogy, (1e-6, 100), (1e-6, 100)), "special.xlog1py": (sp.xlog1py, (1e-6, 100), (-0.9, 100)),
}  # fmt: skip


def drawn(low, high, random):
    even = random.uniform(max(low, -1e30), min(high, 1e30), COUNT // 2)
    least = max(abs(low), 1e-30) if low * high > 0 or low == 0 else 1e-6
    sizes = np.exp(random.uniform(np.log(least), np.log(max(abs(low), abs(high))), COUNT // 2))
    both = np.concatenate([even, sizes if low >= 0 else sizes * random.choice([-1, 1], COUNT // 2)])
    return np.clip(both, low, high).astype(np.float32)


def errors(got, exact):
    fits = np.isfinite(exact) & (np.abs(exact) < INF) & (np.abs(exact) > 1e-37)
    unit = np.spacing(np.abs(exact[fits]).astype(np.float32)).astype(np.float64)
    off = np.abs(got[fits].astype(np.float64) - exact[fits]) / unit
    return off.max(), off.mean()


def found(library, name):
    for part in name.split("."):
        library = getattr(library, part)
    return library


def main():
    print("| function | arguments | Tenon, largest | mean | PyTorch, largest | mean |\n|---|---|---|---|---|---|")
    for name, (exact, *ranges) in FUNCTIONS.items():
        random = np.random.default_rng(1)
        arguments = [drawn(*r, random) for r in ranges]
        with np.errstate(all="ignore"):
            want = exact(*(a.astype(np.float64) for a in arguments))
        ours = errors(found(tenon, name)(*(tenon.from_numpy(a) for a in arguments)).numpy(), want)
        theirs = errors(found(torch, name)(*(torch.from_numpy(a) for a in arguments)).numpy(), want)
        words = "; ".join(f"{low:g} .. {high:g}" for low, high in ranges)
        print(f"| {name.removeprefix('special.')} | {words} | {ours[0]:.2f} | {ours[1]:.2f} | {theirs[0]:.2f} | {theirs[1]:.2f} |", flush=True)


main()
