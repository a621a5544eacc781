"""How far apart two right results may be: a bound for each operation and dtype, from how it is computed.

Nothing rounds in views, copies, comparisons, and what IEEE 754 rounds correctly (+ - * / sqrt, floor ...): EXACT, the same
bits. A function of one element has an error of some units in the last place in each library: ULPS. What adds n products or
powers of numbers up to m may order them as it likes: at most n roundings, each of the largest sum: ROUNDS. 16-bit dtypes are
computed in float32, or rounded after each step of a composition.
"""

import re

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
TINY = {"float64": 5e-324, "float32": 1.4e-45, "float16": 6e-8, "bfloat16": 9.2e-41}

# Functions of one or two elements: the sum of both libraries' errors, in units in the last place.
ULPS = {
    "exp": 3, "exp2": 3, "expm1": 4, "log": 3, "log2": 3, "log10": 4, "log1p": 4, "sin": 3, "cos": 3, "tan": 6, "sinh": 5,
    "cosh": 4, "tanh": 5, "asin": 5, "acos": 5, "atan": 4, "arcsin": 5, "arccos": 5, "arctan": 4, "atan2": 5, "arctan2": 5,
    "erfc": 20, "sigmoid": 5, "rsqrt": 3, "reciprocal": 1, "pow": 16, "operator**": 16, "hypot": 3, "deg2rad": 2, "rad2deg": 2,
    "logsigmoid": 6, "silu": 6, "mish": 12, "softplus": 8, "elu": 6, "celu": 6, "selu": 6, "softsign": 3,
    "sqrt": 1, "operator/": 2, "hardswish": 3, "hardsigmoid": 2, "addcdiv": 3, "add": 2, "sub": 2, "subtract": 2,
    "rsub": 2, "linspace": 3, "logspace": 20, "remainder": 2, "operator%": 2, "fmod": 1, "frac": 1, "leaky_relu": 1, "prelu": 1,
    "arange": 2, "operator//": 1, "square": 1, "nan_to_num": 0, "round": 2,
    "asinh": 6, "acosh": 6, "atanh": 6, "arcsinh": 6, "arccosh": 6, "arctanh": 6, "erf": 4, "erfinv": 8, "erfcx": 24, "expit": 5,
    "xlogy": 4, "xlog1py": 6, "kaiser_window": 16, "ndtri": 24, "histogram": 3, "float_power": 4, "logit": 8, "entr": 4, "ldexp": 3,
    # Chebyshev series, which PyTorch sums in the dtype; Tenon's bounds (tests/ops/rows.c) beside them
    "i0": 10, "i0e": 10, "i1": 16, "i1e": 16, "modified_bessel_i0": 10, "modified_bessel_i1": 16, "modified_bessel_k0": 24, "modified_bessel_k1": 24,
    "scaled_modified_bessel_k0": 24, "scaled_modified_bessel_k1": 24, "zeta": 64,
}  # fmt: skip

# What adds: the power of the largest input that bounds its terms, and how many roundings beside one for each term.
ROUNDS = {
    "sum": (1, 2), "mean": (1, 3), "nansum": (1, 2), "nanmean": (1, 3), "cumsum": (1, 1), "sum_to_size": (1, 2), "trace": (1, 1),
    "prod": (0, 2), "cumprod": (0, 2), "var": (2, 6), "std": (1, 8), "var_mean": (2, 6), "std_mean": (1, 8), "cov": (2, 8),
    "norm": (1, 8), "dist": (1, 8), "cdist": (1, 12), "normalize": (1, 10), "pairwise_distance": (1, 12), "cosine_similarity": (0, 12),
    "logsumexp": (1, 8), "softmax": (1, 8), "log_softmax": (1, 8), "softmin": (1, 8), "layer_norm": (1, 40), "batch_norm": (1, 40),
    "mm": (2, 1), "bmm": (2, 1), "mv": (2, 1), "dot": (2, 1), "vdot": (2, 1), "matmul": (2, 1), "operator@": (2, 1), "addmm": (3, 3),
    "baddbmm": (3, 3), "addmm_": (3, 3), "linear": (2, 2), "einsum": (2, 2), "tensordot": (2, 1), "trapz": (2, 4), "trapezoid": (2, 4),
    "outer": (2, 0), "ger": (2, 0), "kron": (2, 0), "cross": (2, 2), "index_add": (2, 2), "scatter_add": (1, 1), "diff": (1, 4),
    "index_add_": (2, 2), "scatter_add_": (1, 1), "index_put": (1, 1), "index_put_": (1, 1), "bincount": (1, 1), "histc": (0, 0),
    "lerp": (2, 4), "addcmul": (2, 4), "gelu": (1, 8), "tanhshrink": (1, 4), "mse_loss": (2, 4), "l1_loss": (1, 4), "smooth_l1_loss": (2, 6), "huber_loss": (2, 6), "kl_div": (2, 10), "nll_loss": (2, 4),
    "logaddexp": (1, 8), "logaddexp2": (1, 8), "logcumsumexp": (1, 6), "corrcoef": (0, 32), "vecdot": (2, 1), "multilabel_soft_margin_loss": (2, 24),
    "poisson_nll_loss": (2, 12), "soft_margin_loss": (1, 16), "multi_margin_loss": (2, 16), "triplet_margin_with_distance_loss": (2, 24),
    "cosine_embedding_loss": (0, 24), "hinge_embedding_loss": (1, 6), "norm_except_dim": (1, 12), "group_norm": (1, 40), "quantile": (1, 6),
    "nanquantile": (1, 6), "scatter_reduce": (1, 2), "addr": (3, 3), "renorm": (1, 10), "cumulative_trapezoid": (2, 4), "inner": (2, 1),
    # near their zeros what cancels is of size 1
    "digamma": (0, 16), "psi": (0, 16), "polygamma": (0, 64), "lgamma": (0, 16), "gammaln": (0, 16), "multigammaln": (0, 24), "mvlgamma": (0, 24),
    "sinc": (0, 8), "spherical_bessel_j0": (0, 8), "log_ndtr": (0, 24), "igamma": (0, 24), "igammac": (0, 24), "gammainc": (0, 24), "gammaincc": (0, 24),
    "cross_entropy": (2, 16), "binary_cross_entropy": (1, 16), "binary_cross_entropy_with_logits": (2, 16), "glu": (1, 8), "margin_ranking_loss": (2, 8), "triplet_margin_loss": (1, 24),
    "ndtr": (0, 4),  # PyTorch's is of 1 + erf(x), in which what is small is lost
}  # fmt: skip
# A gradient is a chain of such steps.
GRADIENT = (3, 64)


def scale(line, before):
    """(largest finite number, most elements) of the tensors that a line names; 1 at least."""
    most, largest = 1, 1.0
    for name, what in before.items():
        if isinstance(what, list) and re.search(rf"\b{re.escape(name.split('.')[0])}\b", line):
            numbers = [abs(x) for x in what[-1] if isinstance(x, (int, float)) and abs(x) < 1e30]
            most, largest = max(most, len(what[-1])), max([largest, *numbers])
    for literal in re.findall(r"-?\d+\.?\d*(?:e[-+]?\d+)?", line):
        largest = max(largest, min(abs(float(literal)), 1e4))
    return largest, most


def bound(op, line, dtype, before, want):
    """The largest difference from the recorded number that rounding explains; before: what was seen before the line."""
    eps = EPSILON.get(dtype)
    if eps is None:
        return 0.0
    name = "operator**" if op in ("operator", "setitem") and "**=" in line else op.removesuffix("_")
    if name == "scatter" and "reduce=" in line:
        op = name = "scatter_add"
    if name in ("add", "sub", "subtract") and re.search(r"alpha=|\((\w+, )?-?\d[^,]*, ", line):
        op = name = "addcmul"  # a product, which PyTorch's loops for a vector do not round
    relative = 0.0
    if "backward" in op or op in ("flag",):
        power, rounds = GRADIENT
    elif op in ROUNDS or name in ROUNDS:
        power, rounds = ROUNDS.get(op) or ROUNDS[name]
    else:
        ulps = ULPS.get(op, ULPS.get(name, 0))
        if dtype in ("float16", "bfloat16"):
            ulps = min(ulps, 2)
        return (ulps * eps * abs(want) + ulps * TINY[dtype]) * 1.0 if ulps else 0.0
    largest, most = scale(line, before)
    if "backward" in op:  # all that is there may be part of the chain, also what has fewer bits
        eps = max([eps, *[EPSILON[w[0]] for w in before.values() if isinstance(w, list) and w[6] and w[0] in EPSILON]])
        largest = max([largest, *[abs(x) for w in before.values() if isinstance(w, list) for x in w[-1] if abs(x) < 1e4]])
    relative = (rounds + most) * eps * abs(want)
    if dtype in ("float16", "bfloat16") and "backward" not in op:
        return 3 * eps * abs(want) + (rounds + most) * 2.0**-23 * largest**power + eps * largest ** min(power, 1)
    return relative + (rounds + most) * eps * largest**power
