"""What test_c_and_python.py asks of each function: arguments that fit it, then those with one thing changed at a time: dtypes, values
at the edges, layouts, no elements, no dimensions, sizes that broadcast, every option, numbers that do not fit.
"""

import functools
import math

import tenon as torch
from asked import MISSING, WANTED, Flags, Memory

FLOATS = ("float32", "float64", "float16", "bfloat16")
DTYPES = (*FLOATS, "int64", "int32", "int16", "int8", "uint8", "bool", "uint16", "uint32", "uint64")

# ---- values ----

_EDGES = {
    "float": [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-7, -1e-7, 20.5, -103.0],
    "float64": [5e-324, 1.7976931348623157e308, -1.7976931348623157e308, 1e-308],
    "float32": [1e-45, 3.4028234663852886e38, -3.4028234663852886e38, 1e-38],
    "float16": [6e-8, 65504.0, -65504.0, 1e-5],
    "bfloat16": [9.2e-41, 3.3895e38, -3.3895e38, 1e-38],
}


def _bits(dtype):
    return int(dtype.lstrip("uint"))


def _edges(dtype):
    if dtype in FLOATS:
        return _EDGES["float"][:5] + _EDGES[dtype] + _EDGES["float"][5:]
    if dtype == "bool":
        return [False, True, True]
    n, signed = _bits(dtype), not dtype.startswith("u")
    top = (1 << (n - signed)) - 1
    return [0, top, -top - 1 if signed else top - 1, 1, -1 if signed else 2, 3, 7, n - 1, n, 5]


def _plain(dtype, i):
    if dtype == "bool":
        return i % 3 != 1
    if dtype in FLOATS:
        return ((i * 7) % 11 - 5) * 0.75 + 0.125
    return (i * 7) % 11 if dtype.startswith("u") else (i * 7) % 11 - 5


def _number(kind, dtype, i):
    edges = _edges(dtype)
    of = {
        "plain": lambda: _plain(dtype, i),
        "edge": lambda: edges[(i * 5 + i // len(edges)) % len(edges)],
        "unit": lambda: ((i * 7) % 9 + 0.5) / 10 if dtype in FLOATS else i % 2,
        "sorted": lambda: i - 2 if not dtype.startswith("u") else i,
        "one": lambda: 1,
    }
    return of[kind]() if kind in of else i * 5 % int(kind)  # "4": indices below 4


@functools.cache
def _data(kind, dtype, n):
    numbers = [_number(kind, dtype, i) for i in range(n)]
    if dtype == "uint64":
        return b"".join(v.to_bytes(8, "little") for v in map(int, numbers))
    if dtype in FLOATS:
        flat = torch.tensor(numbers, dtype=torch.float64).to(getattr(torch, dtype))
    else:
        flat = torch.tensor([bool(v) if dtype == "bool" else int(v) for v in numbers], dtype=torch.int64).to(getattr(torch, dtype))
    if not n:
        return b""
    return (flat.view(torch.int16) if dtype == "bfloat16" else flat).numpy().tobytes()


def memory(shape, dtype="float32", kind="plain", layout="dense", wish=None):
    """layout: dense, turned (strides in the other order), gaps (every second element, from the second on), or one (stride 0)."""
    shape = tuple(shape)
    n, offset, stride = math.prod(shape), 0, [0] * len(shape)
    order = range(len(shape)) if layout == "turned" else reversed(range(len(shape)))
    step = 2 if layout == "gaps" else 1
    for d in order:
        stride[d] = step
        step *= max(shape[d], 1)
    if layout == "gaps":
        offset, n = 1, 2 * n + 1
    if layout == "one" and shape:
        stride[0] = 0
    wish = int(dtype in FLOATS) if wish is None else wish
    return Memory(dtype, shape, tuple(stride), offset, wish, _data(kind, dtype, max(n, 1)))


class X(tuple):
    """A tensor of the dtype that is tried, of that shape; kind as in _number."""

    kind, dtype = "plain", None

    def __new__(cls, *shape, kind="plain", dtype=None):
        self = super().__new__(cls, shape)
        self.kind, self.dtype = kind, dtype
        return self

    def made(self, dtype="float32", kind=None, layout="dense", wish=None, shape=None):
        own = self.kind if self.dtype or kind is None else kind
        return memory(self if shape is None else shape, self.dtype or dtype, own, layout, wish)


def I(*shape, below=3):  # noqa: E743
    return X(*shape, kind=str(below), dtype="int64")


def M(*shape):
    return X(*shape, dtype="bool")


def U(*shape):
    return X(*shape, kind="unit")


def S(*shape):
    return X(*shape, kind="sorted")


SQUARE, LONG, NO = X(3, 3), X(2, 3, 4), MISSING

# ---- arguments that fit: in the order of the row's parameters, those that are needed ----

FIT = {
    "clone_in": [X(2, 3, 4, 5), "channels_last"],
    "contiguous_in": [X(2, 3, 4, 5), "channels_last"],
    "prelu": [X(3, 4), X(4)],
    "threshold": [X(3, 4), 0.5, 7.0],
    "repeat": [X(3, 4), (2, 1, 3)],
    "tile": [X(3, 4), (2, 1, 3)],
    "repeat_interleave": [X(3, 4), 2],
    "repeated_places": [I(4, below=3)],
    "roll": [X(3, 4), (1,)],
    "flip": [X(3, 4), (0, 1)],
    "pad": [X(3, 4), (1, 2)],
    "diag_embed": [X(3, 4), 0, -2, -1],
    "rot90": [X(3, 4), 1, (0, 1)],
    "take": [X(3, 4), I(5, below=12)],
    "diff": [X(3, 4), 1, -1],
    "lerp": [X(3, 4), X(3, 4), 0.3],
    "where": [M(3, 4), X(3, 4), X(4)],
    "where_": [M(3, 4), X(3, 4), X(4)],
    "masked_fill": [X(3, 4), M(4), 2.5],
    "masked_fill_": [X(3, 4), M(4), 2.5],
    "masked_fill_expanded_": [X(3, 4), M(4), 2.5],
    "full": [(3, 2), 2.5],
    "eye": [3, 4],
    "arange": [1, 8, 2],
    "linspace": [1, 8, 5],
    "logspace": [1, 8, 5, 10.0],
    "full_like": [X(3, 4), 2.5],
    "empty_strided": [(3, 4), (4, 1)],
    "empty_permuted": [(3, 4), (1, 0)],
    "range": [0, 3, 1],
    "bartlett_window": [5, True],
    "blackman_window": [5, True],
    "hamming_window": [5, True, 0.54, 0.46],
    "hann_window": [5, True],
    "kaiser_window": [5, True, 12.0],
    "tril_indices": [3, 4, 0],
    "triu_indices": [3, 4, 0],
    "gather": [X(3, 4), 0, I(2, 4)],
    "scatter": [X(3, 4), 0, I(2, 4), X(2, 4)],
    "scatter_add": [X(3, 4), 0, I(2, 4), X(2, 4)],
    "scatter_reduced": [X(3, 4), 0, I(2, 4), X(2, 4), "add"],
    "scatter_reduce": [X(3, 4), 0, I(2, 4), X(2, 4), "mean", True],
    "index_reduce": [X(3, 4), 0, I(5), X(5, 4), "amax", True],
    "put": [X(3, 4), I(2, 3), X(2, 3)],
    "index_select": [X(3, 4), 0, I(5)],
    "index_add": [X(3, 4), 0, I(5), X(5, 4)],
    "index_add_scaled": [X(3, 4), 0, I(5), X(5, 4), 2],
    "index_copy": [X(3, 4), 0, I(3), X(3, 4)],
    "index_fill": [X(3, 4), 0, I(2), 2.5],
    "index": [X(3, 4), [I(5)]],
    "index_put": [X(3, 4), [I(5)], X(5, 4)],
    "masked_select": [X(3, 4), M(3, 4)],
    "masked_scatter": [X(3, 4), M(3, 4), X(12)],
    "take_along_dim": [X(3, 4), I(3, 4, below=12)],
    "embedding": [X(5, 3), I(4, below=5)],
    "embedding_renorm_": [X(5, 3), I(4, below=5), 1.0, 2.0],
    "one_hot": [I(4, below=3), -1],
    "bincount": [I(6, below=5), None, 0],
    "histc": [X(12), 5],
    "nonzero_static": [X(3, 4), 5],
    "unravel_index": [I(6, below=12), (3, 4)],
    "histogram": [X(12), 5],
    "histogram_between": [X(12), S(6)],
    "histogramdd": [X(6, 2), [S(4), S(3)]],
    "histogramdd_edges": [X(6, 2), (3, 2), None],
    "kthvalue": [X(3, 4), 2, -1],
    "quantile": [X(3, 4), 0.3],
    "nanquantile": [X(3, 4), 0.3],
    "cross": [X(4, 3), X(4, 3)],
    "cov": [X(3, 5)],
    "corrcoef": [X(3, 5)],
    "vander": [X(4)],
    "nll_loss": [X(5, 4), I(5, below=4)],
    "cross_entropy": [X(5, 4), I(5, below=4)],
    "binary_cross_entropy": [U(3, 4), U(3, 4)],
    "cosine_embedding_loss": [X(3, 4), X(3, 4), X(3)],
    "multi_margin_loss": [X(5, 4), I(5, below=4)],
    "multilabel_margin_loss": [X(5, 4), I(5, 4, below=4)],
    "poisson_nll_loss": [X(3, 4), U(3, 4), True],
    "normalize": [X(3, 4), (1,)],
    "layer_norm": [X(3, 4), (4,)],
    "rms_norm": [X(3, 4), (4,)],
    "group_norm": [X(2, 4, 3), 2],
    "instance_norm": [X(2, 3, 4), NO, NO, X(3), X(3), True, 0.1, 1e-5],
    "local_response_norm": [X(2, 3, 4), 2],
    "renorm": [X(3, 4), 2.0, 0, 1.5],
    "frobenius_norm": [X(3, 4), (1,)],
    "norm_except_dim": [X(3, 4), 2, 0],
    "batch_norm": [X(5, 3), X(3, dtype="float32"), X(3, dtype="float32", kind="unit")],
    "sgd_update_": [X(3, 4), X(3, 4), X(3, 4), 0.1, 0.9, 0.1, 0.01, False, False, False],
    "adam_update_": [X(3, 4), X(3, 4), X(3, 4), U(3, 4), NO, 0.1, 0.9, 0.99, 1e-8, 0.01, 2, False, False],
    "adagrad_step_": [X(3, 4), X(3, 4), U(3, 4), 0.1, 0.01, 1e-8, 0.01, 2, False],
    "rmsprop_step_": [X(3, 4), X(3, 4), U(3, 4), NO, NO, 0.1, 0.9, 1e-8, 0.01, 0.0, False],
    "clip_to_norm": [[X(3, 4), X(5)], 1.5, X(kind="one")],
    "clip_values": [[X(3, 4), X(5)], 1.5],
    "mm": [X(3, 4), X(4, 2)],
    "bmm": [X(2, 3, 4), X(2, 4, 3)],
    "addmm": [X(3, 2), X(3, 4), X(4, 2)],
    "mv": [X(3, 4), X(4)],
    "dot": [X(4), X(4)],
    "linear": [X(3, 4), X(2, 4), X(2)],
    "matmul": [X(3, 4), X(4, 2)],
    "baddbmm": [X(2, 3, 3), X(2, 3, 4), X(2, 4, 3)],
    "addbmm": [X(3, 3), X(2, 3, 4), X(2, 4, 3)],
    "addmv": [X(3), X(3, 4), X(4)],
    "addr": [X(3, 4), X(3), X(4)],
    "inner": [X(3, 4), X(2, 4)],
    "outer": [X(3), X(4)],
    "multi_dot": [[X(3, 4), X(4, 2), X(2, 3)]],
    "chain_matmul": [[X(3, 4), X(4, 2), X(2, 3)]],
    "matrix_power": [X(2, 3, 3), 3],
    "bilinear": [X(3, 4), X(3, 2), X(5, 4, 2), X(5)],
    "conv1d": [X(2, 3, 7), X(4, 3, 3), X(4)],
    "conv2d": [X(2, 3, 5, 4), X(4, 3, 3, 2), X(4)],
    "conv3d": [X(2, 3, 3, 5, 4), X(4, 3, 2, 3, 2), X(4)],
    "conv_transpose1d": [X(2, 3, 7), X(3, 4, 3), X(4)],
    "conv_transpose2d": [X(2, 3, 5, 4), X(3, 4, 3, 2), X(4)],
    "conv_transpose3d": [X(2, 3, 3, 5, 4), X(3, 4, 2, 3, 2), X(4)],
    "convolution": [X(2, 3, 5, 4), X(4, 3, 3, 2), X(4), (1, 2), (1, 0), (1, 1), False, (0, 0), 1],
    "conv_tbc": [X(5, 2, 3), X(3, 3, 4), X(4), 1],
    "pdist": [X(4, 3)],
    "cdist": [X(3, 4), X(2, 4)],
    "tensordot": [X(3, 4), X(4, 3), (1,), (0,)],
    "einsum": ["ij,jk->ik", [X(3, 4), X(4, 3)]],
    "dropout": [X(3, 4), 0.5],
    "alpha_dropout": [X(3, 4), 0.5, True],
    "feature_dropout": [X(3, 4), 0.5, True],
    "feature_alpha_dropout": [X(3, 4), 0.5, True],
    "native_dropout": [X(3, 4), 0.5, True],
    "poisson": [U(3, 4)],
    "binomial": [S(3, 4), U(3, 4)],
    "standard_gamma": [U(3, 4)],
    "sample_dirichlet": [U(3, 4)],
    "standard_gamma_grad": [U(3, 4), U(3, 4)],
    "dirichlet_grad": [U(3, 4), U(3, 4), S(3, 4)],
    "gumbel_softmax": [X(3, 4), -1],
    "randint": [2, 9, (3, 4)],
    "randperm": [7],
    "randint_like": [X(3, 4), 2, 9],
    "uniform_": [X(3, 4), 0.0, 1.0],
    "normal_": [X(3, 4), 0.0, 1.0],
    "bernoulli": [U(3, 4)],
    "bernoulli_": [X(3, 4), 0.3],
    "multinomial": [U(3, 4), 2, False],
    "exponential_": [X(3, 4), 1.5],
    "log_normal_": [X(3, 4), 1.0, 2.0],
    "cauchy_": [X(3, 4), 0.0, 1.0],
    "geometric_": [X(3, 4), 0.3],
    "normal": [X(3, 4), U(3, 4)],
    "sum_to_size": [X(3, 4), (1, 4)],
    "searchsorted": [S(6), X(3, 4)],
    "bucketize": [X(3, 4), S(6)],
    "topk": [X(3, 4), 2, -1],
    "movedim": [LONG, (0,), (2,)],
    "unflatten": [X(3, 4), 1, (2, 2)],
    "view": [X(3, 4), (4, 3)],
    "permute": [LONG, (2, 0, 1)],
    "transpose": [LONG, 0, 2],
    "expand": [X(3, 1), (2, 3, 4)],
    "squeeze": [X(3, 1, 4)],
    "select": [X(3, 4), 0, 1],
    "slice": [X(3, 4), 1, 1, 4, 2],
    "diagonal": [LONG, 0, 0, 1],
    "as_strided": [X(3, 4), (2, 2), (4, 1), 1],
    "unfold": [X(3, 4), 1, 2, 1],
    "as_strided_copy": [X(3, 4), (2, 2), (4, 1), 1],
    "diagonal_copy": [LONG, 0, 0, 1],
    "expand_copy": [X(3, 1), (2, 3, 4)],
    "narrow_copy": [X(3, 4), 1, 1, 2],
    "permute_copy": [LONG, (2, 0, 1)],
    "select_copy": [X(3, 4), 0, 1],
    "slice_copy": [X(3, 4), 1, 1, 4, 2],
    "squeeze_copy": [X(3, 1, 4)],
    "t_copy": [X(3, 4)],
    "transpose_copy": [LONG, 0, 2],
    "unfold_copy": [X(3, 4), 1, 2, 1],
    "unsqueeze_copy": [X(3, 4), 1],
    "view_copy": [X(3, 4), (4, 3)],
    "reshape": [X(3, 4), (4, 3)],
    "flatten": [LONG, 0, -1],
    "narrow": [X(3, 4), 1, 1, 2],
    "view_as": [X(3, 4), X(4, 3)],
    "expand_as": [X(3, 1), X(2, 3, 4)],
    "meshgrid": [[X(3), X(4)], "ij"],
    "cartesian_prod": [[X(3), X(4)]],
    "split": [X(5, 3), 2, 0],
    "split_sizes": [X(5, 3), (2, 3), 0],
    "chunk": [X(5, 3), 2, 0],
    "tensor_split": [X(5, 3), 2, 0],
    "tensor_split_indices": [X(5, 3), (1, 3), 0],
    "tensor_split_by": [X(5, 3), I(2, below=4), 0],
    "t": [X(3, 4)],
    "glu": [X(3, 4), -1],
    "unsqueeze": [X(3, 4), 1],
    "trace": [SQUARE],
    "combinations": [X(4), 2, False],
    "select_scatter": [X(3, 4), X(4), 0, 1],
    "slice_scatter": [X(3, 4), X(3, 2), 1, 0, 4, 2],
    "diagonal_scatter": [X(3, 4), X(3), 0, 0, 1],
    "as_strided_scatter": [X(3, 4), X(2, 2), (2, 2), (4, 1), 1],
    "pixel_shuffle": [X(4, 2, 3), 2],
    "pixel_unshuffle": [X(2, 4, 2), 2],
    "channel_shuffle": [X(2, 4, 3), 2],
    "constant_pad_nd": [X(3, 4), (1, 2), 2.5],
    "tril": [X(3, 4), 0],
    "triu": [X(3, 4), 0],
    "cosine_similarity": [X(3, 4), X(3, 4), 1],
    "round_decimals": [X(3, 4), 1],
    "polygamma": [2, U(3, 4)],
    "mvlgamma": [X(3, 4), 2],
    "kl_div": [X(3, 4), U(3, 4)],
    "random_": [X(3, 4)],
    "trapezoid": [X(3, 4), -1],
    "cumulative_trapezoid": [X(3, 4), -1],
    "copy_": [X(3, 4), X(4)],
    "bitwise_left_shift": [X(3, 4), X(4, kind="4")],
}

# More calls of some functions, beside what is changed one at a time.
MORE = {
    "repeat_interleave": [[X(3, 4), I(3), (0,)], [X(3, 4), I(12, below=3)], [X(3, 4), 2, (1,)], [X(3, 4), I(3), (0,), 3]],
    "repeated_places": [[I(4, below=3), 4]],
    "roll": [[X(3, 4), (1, 2), (0, 1)], [X(3, 4), (1,), (1,)], [X(3, 4), (1, 2)]],
    "pad": [[X(1, 3, 4), (1, 2), mode] for mode in range(4)] + [[X(1, 3, 4, 5), (1, 2, 3, 1), mode] for mode in range(4)]
    + [[X(3, 4), (-1, 2), 0, 2.5], [X(3, 4), (1, 1), 0, 0]],
    "scatter_reduced": [[X(3, 4), 0, I(2, 4), X(2, 4), how] for how in ("multiply", "sum", "")] + [[X(3, 4), 0, I(2, 4), 2.5, "multiply"]],
    "scatter_reduce": [[X(3, 4), 0, I(2, 4), X(2, 4), how, own] for how in ("sum", "prod", "mean", "amax", "amin") for own in (True, False)],
    "index_reduce": [[X(3, 4), 0, I(5), X(5, 4), how, own] for how in ("prod", "mean", "amax", "amin") for own in (True, False)],
    "put": [[X(3, 4), I(6, below=12), X(6), True]],
    "index": [[X(3, 4), [I(5), I(5, below=4)]], [X(3, 4), [M(3, 4)]], [X(3, 4), [M(3)]], [X(3, 4), [M(3), I(2)]]],
    "index_put": [[X(3, 4), [I(5), I(5, below=4)], X(5), True], [X(3, 4), [M(3, 4)], 2.5], [X(3, 4), [I(3)], 1, False]],
    "take_along_dim": [[X(3, 4), I(3, 4), (0,)], [X(3, 4), I(3, 1), (1,)]],
    "bincount": [[I(6, below=5), X(6), 9]],
    "cross": [[X(3, 4), X(3, 4), (0,)]],
    "cov": [[X(3, 5), 0], [X(3, 5), 1, I(5, below=4)], [X(3, 5), 1, None, U(5)], [X(5)], [X(3, 5), 1, I(5, below=4), U(5)]],
    "nll_loss": [[X(5, 4, 2), I(5, 2, below=4)], [X(4), I(below=4)]] + [[X(5, 4), I(5, below=4), U(4), r, i] for r in range(3) for i in (None, 2, -100)],
    "cross_entropy": [[X(5, 4, 2), I(5, 2, below=4)], [X(4), I(below=4)], [X(5, 4), U(5, 4)]]
    + [[X(5, 4), I(5, below=4), w, r, i, s] for w in (None, U(4)) for r in range(3) for i in (None, 2) for s in (0.0, 0.2)],
    "layer_norm": [[LONG, (3, 4), X(3, 4), X(3, 4)], [X(3, 4), (4,), X(4)], [X(3, 4), (4,), None, X(4)]],
    "rms_norm": [[X(3, 4), (3, 4), X(3, 4)], [X(3, 4), (4,), X(4), 0.5]],
    "group_norm": [[X(2, 4, 3), 2, w, b, 0.1] for w in (None, X(4)) for b in (None, X(4))],
    "local_response_norm": [[X(2, 3, 4), 3, 0.1, 0.5, 2.0]],
    "batch_norm": [[X(5, 3), m, v, w, b, t, *more] for m, v in ((NO, NO), (X(3, dtype="float32"), X(3, dtype="float32", kind="unit")))
                   for w, b in ((None, None), (X(3), X(3)), (X(3), None)) for t in (False, True) for more in ([], [0.2], [0.0, 0.1])],
    "linear": [[X(4), X(2, 4), NO], [X(2, 3, 4), X(2, 4), X(2)], [X(3, 4), X(4), NO]],
    "inner": [[X(4), X(4)], [X(3, 4), X()], [X(2, 3, 4), X(4)]],
    "multi_dot": [[[X(4), X(4, 2)]], [[X(3, 4), X(4)]], [[X(4), X(4, 3), X(3)]], [[X(3, 4)]]],
    "matrix_power": [[X(3, 3), n] for n in (0, 1, 2, 5)],
    "bilinear": [[X(4), X(2), X(5, 4, 2)]],
    "conv2d": [[X(2, 4, 5, 4), X(4, 2, 3, 2), NO, s, p, d, 2] for s in ((2,), (1, 2)) for p in ((1,), (0, 1)) for d in ((1,), (2, 1))]
    + [[X(3, 5, 4), X(4, 3, 3, 2), NO]],
    "conv_transpose2d": [[X(2, 4, 5, 4), X(4, 2, 3, 2), NO, (2,), p, o, 2, d] for p in ((1,), (0, 1)) for o in ((1,), (0, 1)) for d in ((1,), (2, 1))],
    "pdist": [[X(4, 3), p] for p in (0, 1, 2, 2.5, math.inf)],
    "vander": [[X(4), 3], [X(4), 0], [X(4), 3, True]],
    "linalg_vander": [[X(3, 4), 3]],
    "vecdot": [[X(3, 4), X(4), 0], [X(4), X(4)]],
    "matmul": [[X(4), X(4)], [X(3, 4), X(4)], [X(4), X(4, 2)], [X(2, 3, 4), X(4, 2)], [X(2, 1, 3, 4), X(3, 4, 2)]],
    "einsum": [["bij,bjk->bik", [X(2, 3, 4), X(2, 4, 3)]], ["ii->i", [SQUARE]], ["ij->", [X(3, 4)]], ["ij,ij", [X(3, 4), X(3, 4)]]],
    "unique": [[X(3, 4), (d,), inverse, counts] for d in (0, 1) for inverse in (None, WANTED) for counts in (None, WANTED)],
    "unique_consecutive": [[X(3, 4), d, inverse, counts] for d in (None, (0,), (1,)) for inverse in (None, WANTED) for counts in (None, WANTED)],
    "searchsorted": [[S(6), 2.5], [S(6), 2], [X(3, 4), X(3, 2)]],
    "bucketize": [[2.5, S(6)], [2, S(6)]],
    "isin": [[2, X(3, 4)], [X(3, 4), 2], [X(3, 4), 2.0]],
    "clamp": [[X(3, 4), -1.0, 2.0], [X(3, 4), -1, NO], [X(3, 4), NO, 2], [X(3, 4), NO, NO], [X(3, 4), X(4), NO], [X(3, 4), NO, X(4)],
              [X(3, 4), X(4), X(3, 1)], [X(3, 4), math.nan, 1.0], [X(3, 4), 2.0, -1.0]],
    "normal": [[X(3, 4), 2.0], [1.0, U(3, 4)]],
    "linspace": [[0.0, 1.0, 0], [0.0, 1.0, 1], [5, -5, 4], [0, 1, -1]],
    "arange": [[0, 5, 1], [0.0, 1.0, 0.25], [5, 0, -2], [0, 5, 0], [5, 0, 1], [0, 2**40, 2**38], [True, 3, 1]],
    "split": [[X(5, 3), 0, 0], [X(5, 3), -1, 0], [X(5, 3), 7, 0], [X(0, 3), 0, 0]],
    "adam_update_": [[X(3, 4), X(3, 4), X(3, 4), U(3, 4), U(3, 4), 0.1, 0.9, 0.99, 1e-8, 0.01, 2, True, True]],
    "rmsprop_step_": [[X(3, 4), X(3, 4), U(3, 4), X(3, 4), X(3, 4), 0.1, 0.9, 1e-8, 0.01, 0.5, True]],
    "embedding": [[X(5, 3), I(4, below=5), p, m, n, b] for p in (None, 0, 2, -1, 7) for m in (0.0, 0.5, math.inf) for n in (2.0, 1.0, 0.0) for b in (False, True)],
    "norm": [[x, p, d] for x in (X(3, 4), SQUARE) for p in (None, 0, 1, 2, 2.5, -1, math.inf, -math.inf) for d in (None, (0,), (1, 0))],
    "cat": [[[X(3, 4), X(0), X(2, 4)], 0], [[X(3, 4), X(3, 2)], 1], [[], 0], [[X(3, 4), I(1, 4)], 0]],
    "stack": [[[X(3), X(3), X(3)], -1], [[X(3), X(4)], 0]],
    "diff": [[X(3, 4), n, -1, X(3, 1), X(3, 2)] for n in (0, 1, 2, 5)],
    "quantile": [[X(3, 4), U(3)], [X(3, 4), U(3), (0,), True], [X(3, 4), U(), (1,)]],
    "nanquantile": [[X(3, 4), U(3)], [X(3, 4), U(3), (0,), True], [X(3, 4), U(), (1,)]],
    "cumulative_trapezoid": [[X(3, 4), -1, X(4)], [X(3, 4), -1, None, 2.0], [X(3, 4), 0, X(3, 4)]],
    "trapezoid": [[X(3, 4), -1, X(4)], [X(3, 4), -1, None, 2.0], [X(3, 4), 0, X(3, 4)]],
    "nan_to_num": [[X(3, 4), 1.5, 2, -3]],
    "max": [[X(3, 4), (0,), None, WANTED], [X(3, 4), (1,), True, WANTED]],
    "min": [[X(3, 4), (0,), None, WANTED], [X(3, 4), (1,), True, WANTED]],
    "random_": [[X(3, 4), 2, 9], [X(3, 4), 0, 9], [X(3, 4), 2], [X(3, 4), None, 5]],
    "normalize": [[X(3, 4), (1,), 1.0], [X(3, 4), (0,), 3], [X(3, 4), (0, 1), math.inf], [X(3, 4), (1,), 2, 0.5]],
}

RANDOM_SHAPES = {"empty", "empty_like", "empty_strided", "empty_permuted"}  # what their memory holds is not said

# ---- what is tried for one parameter, by its name or its type ----

POOL = {
    "i:reduction": [Flags(0, "mean"), Flags(1, "sum"), Flags(2, "none")],
    "i:mode": [Flags(0, "constant"), Flags(1, "reflect"), Flags(2, "replicate"), Flags(3, "circular")],
    "b:tanh": [Flags(0, "none"), Flags(1, "tanh")],
    "i:num_classes": [-1, 0, 2, 5],
    "i:n": [0, 1, 2, 5, -1],
    "i:bins": [1, 7, 0],
    "s:indexing": ["ij", "xy", "zz"],
    "s:interpolation": ["linear", "lower", "higher", "midpoint", "nearest", "cubic"],
    "s:reduce": ["add", "multiply", "mean"],
    "s:equation": ["ij,jk", "ij,jk->ki", "ij,kl", "i,j", ""],
    "d": ["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool", "uint64"],
    "m": ["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"],
    "D": [(), (0,), (1,), (-1,), (0, 1), (1, 0), (1, 1), (-1, 3), (0, 0), (7,)],
    "E": [(0,), (1,), (-1,), (3,), (7,)],
    "J": [(), (0,), (1,), (-1,), (0, 1), (1, 0), (1, 1), (-1, 3), (0, 0), (7,)],
    "i": [0, 1, -1, 2, 3, -3, 7, 100, -100, (1 << 63) - 1, -(1 << 63)],
    "f": [0.0, 0.5, 1.0, 2.0, -1.0, math.inf, math.nan],
    "S": [0, 1, 2, -1, 0.0, 0.5, -1.5, 3.0, math.inf, -math.inf, math.nan, 1e-3, 2**40, True],
    "N": [0, 1, 2, -1, 0.5, -1.5, -0.0, math.inf, math.nan, 2**40, True],
    "b": [False, True],
}
POOL["S:output_size"] = [0, 4, 6, 8, 24, -1]
POOL["i:m"] = [0, 1, 5]  # below 0: n x n, in C alone
POOL["S:padding_idx"] = POOL["S:ignore_index"] = [0, 1, 2, 3, -1, -5, -100, 7]
POOL["i:steps"] = POOL["i:row"] = POOL["i:col"] = POOL["i:k"] = POOL["i:num_samples"] = [0, 1, 2, 3, -1, 5]
POOL["i:window_length"] = [0, 1, 2, 6, -1]
POOL["i:r"] = POOL["i:upscale_factor"] = POOL["i:downscale_factor"] = POOL["i:groups"] = [0, 1, 2, 3, -1]
POOL["S:n"] = [0, 1, 2, 5, -1]
POOL["i:minlength"] = POOL["i:high"] = POOL["i:low"] = [0, 1, 5, 12, -3]
POOL["S:steps"] = POOL["S:start"] = POOL["S:end"] = POOL["S:step"] = [0, 1, -1, 2, 0.5, -3.0, math.nan]
POOL["i:size"] = POOL["i:chunks"] = POOL["i:sections"] = [0, 1, 2, 3, 7, -1]


def parameters_of(text):
    """('T', [('T', 'x')...], how many are needed) of a line of tests/ops/calls.c."""
    returns, *rest = text.split(" ")
    needed = rest.index("|") if "|" in rest else len(rest)
    return returns, [tuple(word.split(":")) for word in rest if word != "|"], needed


def fit(name, parameters, needed):
    """Arguments that fit, as X and numbers."""
    own = FIT.get(name) or (name.endswith("_") and FIT.get(name[:-1]))
    if own:
        return list(own)
    guess = {"T": X(3, 4), "N": X(3, 4), "Q": MISSING, "L": [X(3, 4), X(3, 4)], "D": (3, 4), "J": (3, 4), "E": (0,), "i": 0, "f": 0.5, "b": False, "S": 2, "s": "", "m": "contiguous_format"}
    return [guess[letter] for letter, _ in parameters[:needed]]


def _made(argument, **how):
    if isinstance(argument, X):
        return argument.made(**how)
    if isinstance(argument, list):  # the last of a list wants a gradient
        return [x.made(**{**how, "wish": None if x is argument[-1] else 0}) for x in argument]
    return argument


def _resized(argument, change):
    if isinstance(argument, X):
        return X(*change(tuple(argument)), kind=argument.kind, dtype=argument.dtype)
    return [_resized(x, change) for x in argument] if isinstance(argument, list) else argument


def _variants(arguments):
    """Lists of values that are ready, each with one thing changed in all tensors, or in one of them."""
    tensors = [i for i, a in enumerate(arguments) if isinstance(a, (X, list))]
    made = lambda args, **how: [_made(a, **how) for a in args]  # noqa: E731
    yield made(arguments)
    for dtype in DTYPES:
        yield made(arguments, dtype=dtype)
        yield made(arguments, dtype=dtype, kind="edge")
    for layout in ("turned", "gaps", "one"):
        yield made(arguments, layout=layout)
    yield made(arguments, wish=0)
    shapes = (lambda s: s[:-1] + (0,) if s else s, lambda s: (0,) + s[1:] if s else s, lambda s: (), lambda s: ((2,) + s)[:8], lambda s: s[1:],
              lambda s: (1,) * len(s), lambda s: tuple(n + 1 for n in s), lambda s: s[::-1], lambda s: (1,) * (8 - len(s)) + s)  # fmt: skip
    for change in shapes:
        yield made([_resized(a, change) for a in arguments])
    if len(tensors) < 2 and not any(isinstance(arguments[i], list) for i in tensors):
        return
    for i in tensors:
        for change in shapes[:7]:
            yield made([_resized(a, change) if k == i else a for k, a in enumerate(arguments)])
        for dtype in ("float64", "float16", "int64", "uint8", "bool"):
            yield [_made(a, dtype=dtype if k == i else "float32") for k, a in enumerate(arguments)]
        if isinstance(arguments[i], X) and arguments[i].dtype:
            for dtype, kind in (("int64", "edge"), ("int32", "3"), ("uint8", "3"), ("float32", "3"), ("bool", "plain")):
                other = X(*arguments[i], kind=kind, dtype=dtype)
                yield made([other if k == i else a for k, a in enumerate(arguments)])


def _pool(letter, name):
    return POOL.get(f"{letter}:{name}") or POOL.get(letter, [])


def cases(name, text):
    """Lists of values for a function of C."""
    _, parameters, needed = parameters_of(text)
    wanted = [WANTED if letter == "X" and name not in ("max", "min", "unique", "unique_consecutive") else None for letter, _ in parameters]
    full = lambda values: [*values, *wanted[len(values) :]]  # noqa: E731
    base = fit(name, parameters, needed)
    yield from (full(v) for v in _variants(base))
    plain = full([_made(a) for a in base])
    kinds = (("int64", "plain"), ("float32", "edge"), ("bfloat16", "plain"), ("bool", "plain"))
    others = [full([_made(a, dtype=dtype, kind=kind) for a in base]) for dtype, kind in kinds]
    others.append(full([_made(_resized(a, lambda s: (0,) + s[1:])) for a in base]))
    for i, (letter, parameter) in enumerate(parameters):
        for value in _pool(letter, parameter):
            yield [value if k == i else v for k, v in enumerate(plain)]
            for other in others:
                yield [value if k == i else v for k, v in enumerate(other)]
        if letter == "Q":
            for value in (MISSING, X(4), X(3, 4), X(3), X(4, dtype="int64")):
                yield [_made(value) if k == i else v for k, v in enumerate(plain)]
    for arguments in MORE.get(name) or name not in FIT and name.endswith("_") and MORE.get(name[:-1]) or ():
        arguments = [POOL["i:mode"][a] if parameters[i] == ("i", "mode") else POOL["i:reduction"][a] if parameters[i] == ("i", "reduction") and a is not None
                     else a for i, a in enumerate(arguments)]  # fmt: skip
        for dtype, kind in (("float32", "plain"), ("float64", "edge"), ("int64", "plain"), ("float16", "plain"), ("bool", "plain")):
            yield full([_made(a, dtype=dtype, kind=kind if kind == "edge" else None) for a in arguments])
