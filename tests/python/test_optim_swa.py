"""Averaged models and their schedule: arithmetic by hand, and PyTorch 2.15's rates."""

import pytest

import tenon as torch
from tenon import nn, optim
from tenon.optim.swa_utils import SWALR, AveragedModel, get_ema_avg_fn, get_ema_multi_avg_fn, get_swa_multi_avg_fn, update_bn


def averages(values, **options):
    """A parameter's averages as it takes these values."""
    model = nn.Linear(1, 1, bias=False)
    averaged = AveragedModel(model, **options)
    out = []
    for value in values:
        model.weight.data.fill_(value)
        averaged.update_parameters(model)
        out.append(averaged.module.weight.item())
    assert averaged.n_averaged.item() == len(values) and list(averaged.state_dict()) == ["n_averaged", "module.weight"]
    return out


def test_averages():
    assert averages([1, 3, 5, 11]) == averages([1, 3, 5, 11], multi_avg_fn=get_swa_multi_avg_fn()) == [1, 2, 3, 5]
    assert averages([1, 3, 5], avg_fn=get_ema_avg_fn(0.5)) == averages([1, 3, 5], multi_avg_fn=get_ema_multi_avg_fn(0.5)) == [1, 2, 3.5]
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn should be provided"):
        averages([], avg_fn=get_ema_avg_fn(), multi_avg_fn=get_swa_multi_avg_fn())
    with pytest.raises(ValueError, match=r"Invalid decay value 1.5 provided. Please provide a value in \[0,1\] range."):
        get_ema_avg_fn(1.5)


@pytest.mark.parametrize("use_buffers", [False, True])
def test_buffers_and_batch_norm(use_buffers):
    model = nn.Sequential(nn.BatchNorm1d(1))
    averaged = AveragedModel(model, use_buffers=use_buffers, avg_fn=get_ema_avg_fn(0.5))
    averaged.update_parameters(model)
    model[0].running_mean.fill_(4)
    averaged.update_parameters(model)
    assert averaged.module[0].running_mean.item() == (2 if use_buffers else 4)
    averaged.eval()
    update_bn([torch.tensor([[1.0], [3.0]]), [torch.tensor([[5.0], [9.0]]), "target"]], averaged)
    assert averaged.module[0].running_mean.item() == 4.5 and averaged.module[0].running_var.item() == 5
    assert averaged.module[0].momentum == 0.1 and not averaged.training


# PyTorch's rates of six epochs, from 0.5 to 0.05 in four
RATES = {"linear": [0.5, 0.3875, 0.275, 0.1625, 0.05, 0.05],
         "cos": [0.5, 0.4340990257669732, 0.275, 0.11590097423302682, 0.05, 0.05]}  # fmt: skip


@pytest.mark.parametrize("strategy", RATES)
def test_schedule(strategy):
    o = optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.5)
    s = SWALR(o, 0.05, 4, strategy)
    rates = []
    for _ in range(6):
        rates += s.get_last_lr()
        o.step()
        s.step()
    assert rates == pytest.approx(RATES[strategy], rel=1e-12)


def test_refused_schedules():
    o = optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.5)
    with pytest.raises(ValueError, match="anneal_strategy must be one of 'cos' or 'linear', instead got step"):
        SWALR(o, 0.05, 4, "step")
    with pytest.raises(ValueError, match="anneal_epochs must be equal or greater than 0, got -1"):
        SWALR(o, 0.05, -1)
