"""Learning-rate schedules against PyTorch's (tests/data/make_python_golden.py), warnings, state."""

import json
import os
import warnings

import pytest

import tenon as torch
from tenon import nn, optim
from tenon.optim import lr_scheduler as L

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "golden", "python_schedules.json")
with open(GOLDEN) as f:
    RECORDS = json.load(f)


def optimizer():
    return optim.SGD([{"params": [nn.Parameter(torch.ones(1))]}, {"params": [nn.Parameter(torch.ones(1))], "lr": 0.5}],
                     lr=0.1, momentum=0.9)


def close(rates):
    return pytest.approx(rates, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("record", RECORDS["schedules"], ids=lambda r: r["expression"])
def test_fifty_epochs(record):
    o = optimizer()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s = eval(record["expression"], {"L": L, "o": o})
        for rates, momentum in zip(record["rates"], record["momenta"]):
            assert [g["lr"] for g in o.param_groups] == close(rates) and s.get_last_lr() == close(rates)
            assert o.param_groups[0]["momentum"] == close(momentum)
            o.step()
            s.step()


@pytest.mark.parametrize("record", RECORDS["plateaus"], ids=lambda r: r["options"])
def test_plateau(record):
    o = optimizer()
    s = L.ReduceLROnPlateau(o, **eval(record["options"]))
    for metric, rates in zip(record["metrics"], record["rates"]):
        s.step(torch.tensor(metric, dtype=torch.float64))
        assert [g["lr"] for g in o.param_groups] == close(rates)


@pytest.mark.parametrize("record", RECORDS["schedules"], ids=lambda r: r["expression"])
def test_going_on_from_a_saved_state(record):
    o = optimizer()
    s = eval(record["expression"], {"L": L, "o": o})
    for _ in range(20):
        o.step()
        s.step()
    saved = s.state_dict()
    assert "optimizer" not in saved
    fresh = optimizer()
    again = eval(record["expression"], {"L": L, "o": fresh})
    again.load_state_dict(saved)
    fresh.load_state_dict(o.state_dict())
    for rates in record["rates"][21:]:
        fresh.step()
        again.step()
        assert again.get_last_lr() == close(rates)


def test_state():
    assert L.StepLR(optimizer(), 2).state_dict() == {
        "step_size": 2, "gamma": 0.1, "base_lrs": [0.1, 0.5], "last_epoch": 0, "_step_count": 1, "_is_initial": False,
        "_get_lr_called_within_step": False, "_last_lr": [0.1, 0.5]}
    assert L.LambdaLR(optimizer(), lambda e: 1.0).state_dict()["lr_lambdas"] == [None, None]

    class Half:
        factor = 1

        def __init__(self):
            self.factor = 0.5

        def __call__(self, epoch):
            return self.factor**epoch

    assert L.LambdaLR(optimizer(), Half()).state_dict()["lr_lambdas"] == [{"factor": 0.5}] * 2


def test_epoch_given():
    o = optimizer()
    s = L.ExponentialLR(o, 0.5)
    o.step()
    with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step\\(\\)` was not necessary"):
        s.step(3)
    assert s.get_last_lr() == close([0.1 / 8, 0.5 / 8])
    c = L.CosineAnnealingWarmRestarts(optimizer(), 4)
    c.step(6.0)
    assert c.T_cur == 2 and c.get_last_lr() == close([0.05, 0.25])
    with pytest.raises(ValueError, match="Expected non-negative epoch, but got -1"):
        c.step(-1)


def test_order_of_steps():
    o = optimizer()
    s = L.StepLR(o, 2)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`."):
        s.step()
    with pytest.warns(UserWarning, match="To get the last learning rate computed by the scheduler, please use"):
        s.get_lr()

    class Own(optim.Optimizer):
        def step(self, closure=None):
            pass

    o = Own([nn.Parameter(torch.ones(1))], {"lr": 1.0})
    s = L.StepLR(o, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        o.step()
        s.step()
    assert s.get_last_lr() == [0.1]


def test_resuming_needs_the_initial_rate():
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified in param_groups"):
        L.StepLR(optimizer(), 2, last_epoch=3)
    o = optimizer()
    for group in o.param_groups:
        group["initial_lr"] = group["lr"]
    assert L.StepLR(o, 2, last_epoch=3).last_epoch == 4


def test_rates_and_momenta_of_other_kinds():
    o = optim.Adam([nn.Parameter(torch.ones(1))], lr=torch.tensor(0.5))
    L.OneCycleLR(o, 1.0, 10)
    rate = o.param_groups[0]["lr"]
    assert isinstance(rate, torch.Tensor) and rate.item() == pytest.approx(0.04)
    assert o.param_groups[0]["betas"] == (0.95, 0.999)


@pytest.mark.parametrize("call,error,text", [
    (lambda o: L.StepLR(3, 2), TypeError, "int is not an Optimizer"),
    (lambda o: L.LambdaLR(o, [1]), ValueError, "Expected 2 lr_lambdas, but got 1"),
    (lambda o: L.ConstantLR(o, factor=2), ValueError, "Constant multiplicative factor expected to be between 0 and 1."),
    (lambda o: L.LinearLR(o, start_factor=0), ValueError,
     "Starting multiplicative factor expected to be greater than 0 and less or equal to 1."),
    (lambda o: L.LinearLR(o, end_factor=2), ValueError, "Ending multiplicative factor expected to be between 0 and 1."),
    (lambda o: L.CosineAnnealingWarmRestarts(o, 0), ValueError, "Expected positive integer T_0, but got 0"),
    (lambda o: L.CosineAnnealingWarmRestarts(o, 1, 1.5), ValueError, "Expected integer T_mult >= 1, but got 1.5"),
    (lambda o: L.ReduceLROnPlateau(o, factor=1.0), ValueError, "Factor should be < 1.0."),
    (lambda o: L.ReduceLROnPlateau(o, mode="x"), ValueError, "mode x is unknown!"),
    (lambda o: L.ReduceLROnPlateau(o, threshold_mode="x"), ValueError, "threshold mode x is unknown!"),
    (lambda o: L.ReduceLROnPlateau(o, min_lr=[1]), ValueError, "expected 2 min_lrs, got 1"),
    (lambda o: L.OneCycleLR(o, 1.0), ValueError, "You must define either total_steps OR (epochs AND steps_per_epoch)"),
    (lambda o: L.OneCycleLR(o, 1.0, 1.5), ValueError, "Expected positive integer total_steps, but got 1.5"),
    (lambda o: L.OneCycleLR(o, 1.0, 10, pct_start=2.0), ValueError, "Expected float between 0 and 1 pct_start, but got 2.0"),
    (lambda o: L.OneCycleLR(o, 1.0, 10, anneal_strategy="x"), ValueError,
     "anneal_strategy must be one of 'cos' or 'linear', instead got x"),
    (lambda o: L.SequentialLR(o, [], [1]), ValueError, "SequentialLR expects at least one scheduler, but got no scheduler."),
    (lambda o: L.ChainedScheduler([]), ValueError,
     "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")])
def test_refused(call, error, text):
    with pytest.raises(error) as caught:
        call(optimizer())
    assert str(caught.value) == text


def test_one_cycle_ends():
    o = optimizer()
    s = L.OneCycleLR(o, 1.0, 3)
    with pytest.raises(ValueError, match="Tried to step 4 times. The specified number of total steps is 3"):
        for _ in range(5):
            o.step()
            s.step()
