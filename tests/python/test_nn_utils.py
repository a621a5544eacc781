"""tenon.nn.utils: clipping, parameters as a vector."""

import math

import pytest

import tenon as torch
from tenon import nn
from tenon.nn import utils


def parameters():
    p = [nn.Parameter(torch.tensor([3.0, 4.0])), nn.Parameter(torch.ones(1)), nn.Parameter(torch.tensor([[1.0, 2.0]]))]
    p[0].grad = torch.tensor([3.0, 4.0])
    p[2].grad = torch.tensor([[12.0, 0.0]])
    return p


@pytest.mark.parametrize("norm_type,total", [(2, 13.0), (1, 19.0), (math.inf, 12.0), ("inf", 12.0), (3, (27 + 64 + 1728) ** (1 / 3)), (0, 2.0)])
def test_clip_grad_norm(norm_type, total):
    p = parameters()
    assert utils.clip_grad_norm_(p, 1.0, norm_type).item() == pytest.approx(total, rel=1e-6)
    assert p[0].grad.tolist() == pytest.approx([3 / total, 4 / total], rel=1e-5)
    assert p[2].grad.tolist() == [pytest.approx([12 / total, 0.0], rel=1e-5)]
    assert p[1].grad is None


def test_clip_grad_norm_corners():
    p = parameters()
    assert utils.clip_grad_norm_(iter(p), 100.0).item() == 13.0 and p[0].grad.tolist() == [3.0, 4.0]
    assert utils.clip_grad_norm_(p[0], 1.0).item() == 5.0 and p[2].grad.tolist() == [[12.0, 0.0]]
    assert utils.clip_grad_norm_([], 1.0).item() == 0.0
    assert utils.get_total_norm([torch.ones(4)]).item() == 2.0
    assert utils.get_total_norm([torch.tensor([3.0, -2.0]), torch.ones(2)], -math.inf).item() == 1.0
    p[0].grad[0] = math.nan
    with pytest.raises(RuntimeError, match="The total norm of order 2.0 for gradients from `parameters` is non-finite"):
        utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)
    assert math.isnan(utils.clip_grad_norm_(p, 1.0).item()) and math.isnan(p[2].grad[0, 0].item())


def test_clip_grad_value():
    p = parameters()
    assert utils.clip_grad_value_(p, 3.5) is None
    assert p[0].grad.tolist() == [3.0, 3.5] and p[2].grad.tolist() == [[3.5, 0.0]]


def test_vector():
    p = parameters()
    vector = utils.parameters_to_vector(p)
    assert vector.tolist() == [3.0, 4.0, 1.0, 1.0, 2.0] and vector.requires_grad
    utils.vector_to_parameters(torch.arange(5.0), iter(p))
    assert [q.tolist() for q in p] == [[0.0, 1.0], [2.0], [[3.0, 4.0]]] and p[0].requires_grad
    with pytest.raises(TypeError, match="expected torch.Tensor, but got: int"):
        utils.vector_to_parameters(3, p)
