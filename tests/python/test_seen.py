"""What a program sees of a tensor, all at once: what random programs (programs/) found, with the answers of PyTorch 2.15."""

import math
import os

import pytest

import tenon as torch
from on_gpus import START, on_gpus
from tenon.nn import functional as F

NAN = math.nan
# code; dtype, shape, strides, offset, version (None: any), requires_grad, is_leaf and values of its o
ROWS = [
    ("x = arange(40.).view(4, 2, 5).transpose(0, 1); o = x[True]",
     ('float32', (1, 2, 4, 5), (40, 5, 10, 1), 0, None, False, True, [0.0, 1.0, 2.0, 3.0, 4.0, 10.0, 11.0, 12.0, 13.0, 14.0, 20.0, 21.0, 22.0, 23.0, 24.0, 30.0, 31.0, 32.0, 33.0, 34.0, 5.0, 6.0, 7.0, 8.0, 9.0, 15.0, 16.0, 17.0, 18.0, 19.0, 25.0, 26.0, 27.0, 28.0, 29.0, 35.0, 36.0, 37.0, 38.0, 39.0])),
    ("x = arange(8).view(2, 2, 2); o = x[None, :, ::2, []]",
     ('int64', (1, 2, 1, 0), (2, 1, 1, 1), 0, None, False, True, [])),
    ("o = arange(6).view(1, 2, 3)[..., ::3, tensor([0, 0])]",
     ('int64', (1, 1, 2), (2, 2, 1), 0, None, False, True, [0, 0])),
    ("o = arange(6.).view(2, 3)[[], None, :]",
     ('float32', (0, 1, 3), (3, 0, 1), 0, None, False, True, [])),
    ("o = arange(6).view(2, 3)[tensor([False, False]), :]",
     ('int64', (0, 3), (3, 1), 0, None, False, True, [])),
    ("o = arange(24.).view(2, 3, 4).transpose(0, 2)[:, tensor([2, 0])]",
     ('float32', (4, 2, 2), (1, 4, 8), 0, None, False, True, [8.0, 20.0, 0.0, 12.0, 9.0, 21.0, 1.0, 13.0, 10.0, 22.0, 2.0, 14.0, 11.0, 23.0, 3.0, 15.0])),
    ("o = arange(24.).view(2, 3, 4).transpose(0, 2)[tensor([1, 3]), :, tensor([1, 0])]",
     ('float32', (2, 3), (3, 1), 0, None, False, True, [13.0, 17.0, 21.0, 3.0, 7.0, 11.0])),
    ("o = zeros(0, 1, 1, 2)[[]]",
     ('float32', (0, 1, 1, 2), (2, 0, 0, 1), 0, None, False, True, [])),
    ("o = arange(10.).view(2, 5)[tensor([[0], [1]]), tensor([[0, 4]])]",
     ('float32', (2, 2), (2, 1), 0, None, False, True, [0.0, 4.0, 5.0, 9.0])),
    ("o = arange(12.).view(3, 4).t()[tensor([True, False, True, True])]",
     ('float32', (3, 3), (3, 1), 0, None, False, True, [0.0, 4.0, 8.0, 2.0, 6.0, 10.0, 3.0, 7.0, 11.0])),
    ("o = torch.tril_indices(2, 2, -2)",
     ('int64', (2, 0), (1, 1), 0, None, False, True, [])),
    ("o = torch.triu_indices(3, 0, -2)",
     ('int64', (2, 0), (1, 1), 0, None, False, True, [])),
    ("o = torch.roll(zeros(1, 2)[..., ::2], [2], dims=(0,))",
     ('float32', (1, 1), (1, 1), 0, None, False, True, [0.0])),
    ("o = torch.roll(zeros(3, 0)[..., ::2], [1, 2], (0, -1))",
     ('float32', (3, 0), (1, 2), 0, None, False, True, [])),
    ("o = zeros(4).as_strided([1, 1], [2, 0], 1).roll([1])",
     ('float32', (1, 1), (1, 1), 0, None, False, True, [0.0])),
    ("o = arange(24).view(2, 3, 4).unique(dim=1)",
     ('int64', (2, 3, 4), (4, 8, 1), 0, None, False, True, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23])),
    ("o = tensor([[[1, 4], [2, 3]], [[1, 2], [0, 9]]]).unique(dim=2)",
     ('int64', (2, 2, 2), (2, 1, 4), 0, None, False, True, [1, 4, 2, 3, 1, 2, 0, 9])),
    ("o = torch.unique_consecutive(arange(8).view(2, 2, 2), dim=-1)",
     ('int64', (2, 2, 2), (2, 1, 4), 0, None, False, True, [0, 1, 2, 3, 4, 5, 6, 7])),
    ("o = arange(6).view(2, 3).t().masked_fill(tensor(True), 3)",
     ('int64', (3, 2), (2, 1), 0, None, False, True, [3, 3, 3, 3, 3, 3])),
    ("o = zeros(0, 1, 4).transpose(2, 1); o = o.view(0, 4, 1)",
     ('float32', (0, 4, 1), (4, 1, 4), 0, None, False, True, [])),
    ("o = tensor([[6, 3]])[..., ::2].sort(-2).values",
     ('int64', (1, 1), (2, 2), 0, None, False, True, [6])),
    ("o = zeros(3)[:1:2].argsort()",
     ('int64', (1,), (2,), 0, None, False, True, [0])),
    ("x = zeros(3)[1:]; o = torch.add(ones(2, 2), 1, out=x)",
     ('float32', (2, 2), (2, 1), 1, 1, False, True, [2.0, 2.0, 2.0, 2.0])),
    ("x = zeros(6); o = torch.add(ones(2), 1, out=x)",
     ('float32', (2,), (1,), 0, 1, False, True, [2.0, 2.0])),
    ("x = zeros(6)[3:]; o = torch.cumsum(ones(2), 0, out=x)",
     ('float32', (2,), (1,), 3, 1, False, True, [1.0, 2.0])),
    ("x = zeros(0); o = torch.eye(2, out=x)",
     ('float32', (2, 2), (2, 1), 0, 1, False, True, [1.0, 0.0, 0.0, 1.0])),
    ("o = F.embedding(tensor([0, 1]), x := tensor([[1., 2], [3, 4], [5, 12]]), max_norm=-1); o = x",
     ('float32', (3, 2), (2, 1), 0, 1, False, True, [-0.4472135603427887, -0.8944271206855774, -0.6000000238418579, -0.800000011920929, 5.0, 12.0])),
    ("o = F.embedding(tensor([0, 2]), x := tensor([[1., 2], [3, 4], [5, 12]]), max_norm=1, norm_type=-1); o = x",
     ('float32', (3, 2), (2, 1), 0, 1, False, True, [1.0, 2.0, 3.0, 4.0, 1.4166666269302368, 3.4000000953674316])),
    ("o = F.embedding(zeros(0, dtype=torch.int64), x := tensor([[1., 2]]), max_norm=1); o = x",
     ('float32', (1, 2), (2, 1), 0, 1, False, True, [1.0, 2.0])),
    ("o = F.embedding(tensor([0]), x := tensor([[1., 2]]), max_norm=0); o = x",
     ('float32', (1, 2), (2, 1), 0, 1, False, True, [0.0, 0.0])),
    ("o = F.threshold(tensor([2, 9, -1]), 2.5, -2.5)",
     ('int64', (3,), (1,), 0, None, False, True, [-2, 9, -2])),
    ('o = F.hardtanh(tensor([2., -1]), float("nan"), 1)',
     ('float32', (2,), (1,), 0, None, False, True, [NAN, NAN])),
    ('o = F.hardtanh(tensor([2., -1]), -1, float("nan"), inplace=True)',
     ('float32', (2,), (1,), 0, 1, False, True, [NAN, NAN])),
    ("o = torch.trapz(zeros(0, 2, dtype=torch.int8), dim=0)",
     ('int8', (2,), (1,), 0, None, False, True, [0, 0])),
    ("o = torch.trapz(zeros(0, requires_grad=True))",
     ('float32', (), (), 0, None, False, True, [0.0])),
    ("o = torch.searchsorted(tensor([8, -1, 1]), tensor([[0, 5], [9, -3]]))",
     ('int64', (2, 2), (2, 1), 0, None, False, True, [2, 3, 3, 0])),
    ("o = torch.searchsorted(tensor([[3, 7], [2, 7]]), tensor([[7, 8], [1, 2]]).t(), right=True)",
     ('int64', (2, 2), (2, 1), 0, None, False, True, [2, 0, 2, 1])),
    ('o = torch.searchsorted(tensor([float("nan"), float("inf")]), -3)',
     ('int64', (), (), 0, None, False, True, [1])),
    ('o = torch.searchsorted(tensor([1, 3]), tensor([1.5, 5.5, 3, float("nan")]), out_int32=True)',
     ('int32', (4,), (1,), 0, None, False, True, [1, 2, 1, 2])),
    ("o = torch.bucketize(tensor([1., 2, 3]), tensor([1., 3]), right=True)",
     ('int64', (3,), (1,), 0, None, False, True, [1, 1, 2])),
    ("o = F.cosine_similarity(tensor([[1., 2, 3]]), tensor([[3, 1, -1]], dtype=torch.float16), eps=5)",
     ('float32', (1,), (1,), 0, None, False, True, [0.08002929389476776])),
    ("o = F.cosine_similarity(torch.full((1, 2), 300., dtype=torch.float16), tensor([[300, 200]]))",
     ('float16', (1,), (1,), 0, None, False, True, [0.98046875])),
    ("o = torch.full((2,), 300., dtype=torch.float16).norm()",
     ('float16', (), (), 0, None, False, True, [424.25])),
    ("o = tensor([-0.75], dtype=torch.float64).addcdiv(tensor([-0.756], dtype=torch.float64), tensor([2.75], dtype=torch.float64), value=-3)",
     ('float64', (1,), (1,), 0, None, False, True, [0.07472727272727264])),
    ("x = tensor([-1.75], dtype=torch.float64, requires_grad=True); (tensor(8) ** x).backward(); o = x.grad",
     ('float64', (1,), (1,), 0, None, False, True, [0.054643591816507235])),
    ("x = tensor([2.25, 1], requires_grad=True); y = x * 1; y.gt_(2); y.sum().backward(); o = x.grad",
     ('float32', (2,), (1,), 0, None, False, True, [0.0, 0.0])),
    ("x = tensor([2.25, 1], requires_grad=True); o = zeros(2).eq_(x)",
     ('float32', (2,), (1,), 0, 1, True, False, [0.0, 0.0])),
    ("x = tensor([2.25, 1], requires_grad=True); o = zeros(2).logical_and_(x)",
     ('float32', (2,), (1,), 0, 1, False, True, [0.0, 0.0])),
    ("x = tensor([2.25, 1], requires_grad=True); o = zeros(2).le_(x); o.sum().backward(); o = x.grad",
     ('float32', (2,), (1,), 0, None, False, True, [0.0, 0.0])),
    ("x = tensor([2.25, 1], requires_grad=True); o = zeros(2, dtype=torch.int32); o[:] = x",
     ('int32', (2,), (1,), 0, None, False, True, [2, 1])),
    ("x = ones(2, requires_grad=True); y = x * 3; x.requires_grad_(False); y.sum().backward(); o = tensor(x.grad is None)",
     ('bool', (), (), 0, None, False, True, [True])),
    ("x = ones(2, requires_grad=True); y = x[:]; x.detach_(); y.sum().backward(); o = tensor(x.grad is None)",
     ('bool', (), (), 0, None, False, True, [True])),
    ("x = ones(2); o = x[:]; x.requires_grad_()",
     ('float32', (2,), (1,), 0, None, True, True, [1.0, 1.0])),
    ("o = torch.baddbmm(zeros(1, requires_grad=True), ones(2, 1, 1), ones(2, 1, 1), beta=0)",
     ('float32', (2, 1, 1), (1, 1, 1), 0, None, True, False, [1.0, 1.0])),
    ("x = zeros(1, requires_grad=True); torch.baddbmm(x, ones(2, 1, 1), ones(2, 1, 1), beta=0).sum().backward(); o = x.grad",
     ('float32', (1,), (1,), 0, None, False, True, [0.0])),
    ("x = ones(3, 2, 1, requires_grad=True); x.swapaxes(-2, -1).backward(ones(3, 1, 2)); o = x.grad",
     ('float32', (3, 2, 1), (2, 1, 2), 0, None, False, True, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0])),
    ("o = tensor([[8], [7]]).transpose(0, 1).isfinite()",
     ('bool', (1, 2), (1, 1), 0, None, False, True, [True, True])),
    ("o = F.embedding(tensor([0]), x := tensor([[-2.75, -2.5, -1.5, -2.5]], dtype=torch.bfloat16), max_norm=1); o = x",
     ('bfloat16', (1, 4), (4, 1), 0, 1, False, True, [-0.58203125, -0.53125, -0.318359375, -0.53125])),
    ("x = tensor([0.5], requires_grad=True); (0 ** x).reciprocal().backward(); o = x.grad",
     ('float32', (1,), (1,), 0, None, False, True, [NAN])),
    ("x = ones(2, 3, requires_grad=True).exp(); o = x[[0, 1]].unsqueeze_(0)",
     ('float32', (1, 2, 3), (6, 3, 1), 0, None, True, False, [2.7182817459106445, 2.7182817459106445, 2.7182817459106445, 2.7182817459106445, 2.7182817459106445, 2.7182817459106445])),
    ("o = torch.baddbmm(ones(2, 3).t(), ones(1, 3, 2), ones(1, 2, 2))",
     ('float32', (1, 3, 2), (6, 2, 1), 0, None, False, True, [3.0, 3.0, 3.0, 3.0, 3.0, 3.0])),
    ("o = F.logsigmoid(zeros(2, 2).t())",
     ('float32', (2, 2), (2, 1), 0, None, False, True, [-0.6931471824645996, -0.6931471824645996, -0.6931471824645996, -0.6931471824645996])),
    ("o = torch.trapezoid(tensor([-32766, -32766], dtype=torch.int16), dx=-1.0)",
     ('float32', (), (), 0, None, False, True, [65534.0])),
    ('o = torch.trapezoid(tensor([[float("inf"), 0, 1], [1, 2, 4]]), dx=0.5)',
     ('float32', (2,), (1,), 0, None, False, True, [NAN, 2.25])),
    ("o = ones((), requires_grad=True).mT",
     ('float32', (), (), 0, None, True, True, [1.0])),
]


def check(code, want, device="cpu"):
    names = {"torch": torch, "F": F, **{n: getattr(torch, n) for n in ("tensor", "arange", "zeros", "ones")}}
    with torch.device(device):
        exec(code, names)
    o = names["o"]
    *kind, values = want
    version = o._version if kind[4] is not None else None
    got = [str(o.dtype)[6:], tuple(o.shape), tuple(o.stride()), o.storage_offset(), version, o.requires_grad, o.is_leaf]
    assert got == kind, code
    rel = 1e-15 if kind[0] == "float64" else 1e-6
    assert o.detach().flatten().tolist() == pytest.approx(values, rel=rel, nan_ok=True), code


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("code, want", ROWS, ids=[code for code, _ in ROWS])
def test_seen(code, want):
    check(code, want)


@on_gpus(1, imports=START + f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n")
def test_seen_on_a_gpu():
    from test_seen import ROWS, check

    for code, want in ROWS:
        check(code, want, "cuda")
