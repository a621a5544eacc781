#!/usr/bin/env python3
"""Makes tests/data/golden/python_*.json: what PyTorch (CPU) answers, for the tests of python/tenon/nn and optim, which then
do not need it.

    /opt/ref/t214/bin/python tests/data/make_python_golden.py      (writes beside itself, into golden/)

python_functional.json  values and gradients of torch.nn.functional, also where a function has a corner
python_optim.json       parameters and state after four steps of each optimiser, and after a fifth from a loaded state
python_schedules.json   learning rates of 50 epochs

An expression is Python that means the same with `import torch` and with `import tenon as torch`.
"""
import json
import os
import warnings

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.optim import lr_scheduler as L

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
POINTS = [-200.0, -25.0, -3.0, -1.0, -0.5, -1e-4, 0.0, 1e-4, 0.5, 1.0, 3.0, 6.0, 15.0, 25.0, 200.0]
INPUT = [[0.1, 0.7, 0.0], [1.0, 0.2, 0.3]]
TARGET = [[0.0, 1.0, 1.0], [0.0, 0.5, 1.0]]
WEIGHT = [1.0, 2.0, 3.0]

ACTIVATIONS = """F.threshold(x, 0.5, -2.0); F.hardtanh(x); F.hardtanh(x, -3.0, 0.5); F.relu6(x); F.leaky_relu(x)
F.leaky_relu(x, 0.2); F.elu(x); F.elu(x, 0.5); F.celu(x, 0.5); F.selu(x); F.silu(x); F.mish(x); F.softplus(x)
F.softplus(x, 2.0, 5.0); F.logsigmoid(x); F.softsign(x); F.tanhshrink(x); F.hardsigmoid(x); F.hardswish(x)
F.hardshrink(x); F.softshrink(x); F.softshrink(x, 1.0); F.relu(x); F.softmax(x, 0); F.log_softmax(x, 0); F.softmin(x, 0)
F.glu(x[1:]); F.prelu(x, torch.tensor([0.3], dtype=x.dtype)); F.normalize(x[2:8], dim=0); F.dropout(x, 0.5, False)
F.normalize(x[2:8], p=1.0, dim=0); F.normalize(x[2:8], p=3.0, dim=0)"""
LOSSES = """F.binary_cross_entropy(x, y, reduction=r); F.binary_cross_entropy(x, y, w, reduction=r)
F.smooth_l1_loss(x, y, reduction=r, beta=0.4); F.smooth_l1_loss(x, y, reduction=r, beta=0.0)
F.huber_loss(x, y, reduction=r, delta=0.4); F.huber_loss(x, y, reduction=r, delta=0.4, weight=y + 1)
F.kl_div(x, y, reduction=r); F.kl_div(x, y, reduction=r, log_target=True); F.mse_loss(x, y, reduction=r)
F.mse_loss(x, y, reduction=r, weight=y + 1); F.l1_loss(x, y, reduction=r); F.l1_loss(x, y, reduction=r, weight=y + 1)
F.binary_cross_entropy_with_logits(x, y, reduction=r)
F.binary_cross_entropy_with_logits(x, y, w, reduction=r, pos_weight=w)
F.cross_entropy(x, torch.tensor([1, 2]), reduction=r); F.cross_entropy(x, y, reduction=r)
F.cross_entropy(x, torch.tensor([1, 2]), w, reduction=r, ignore_index=1, label_smoothing=0.1)
F.nll_loss(x, torch.tensor([1, 2]), w, reduction=r); F.cosine_similarity(x, y); F.pairwise_distance(x, y)"""
OPTIMIZERS = """optim.SGD(q, 0.1); optim.SGD(q, 0.1, momentum=0.9); optim.SGD(q, 0.1, weight_decay=0.1)
optim.SGD(q, 0.1, momentum=0.9, dampening=0.5, weight_decay=0.1)
optim.SGD(q, 0.1, momentum=0.9, nesterov=True, weight_decay=0.01); optim.SGD(q, 0.1, maximize=True, momentum=0.5)
optim.Adam(q, 0.1); optim.Adam(q, 0.1, weight_decay=0.1, betas=(0.8, 0.9), eps=1e-3); optim.Adam(q, 0.1, amsgrad=True)
optim.Adam(q, 0.1, maximize=True); optim.Adam(q, 0.1, decoupled_weight_decay=True, weight_decay=0.5)
optim.AdamW(q, 0.1); optim.AdamW(q, 0.1, amsgrad=True, weight_decay=0.3); optim.AdamW(q, 0.1, maximize=True)
optim.RMSprop(q, 0.1); optim.RMSprop(q, 0.1, centered=True, momentum=0.9, weight_decay=0.1)
optim.RMSprop(q, 0.1, maximize=True); optim.Adagrad(q, 0.1)
optim.Adagrad(q, 0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5)
optim.RMSprop(q, 0.1, momentum=0.9); optim.RMSprop(q, 0.1, centered=True); optim.Adadelta(q)
optim.Adadelta(q, 0.5, rho=0.8, eps=1e-3, weight_decay=0.1, maximize=True); optim.Adamax(q, 0.1)
optim.Adamax(q, 0.1, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1, maximize=True); optim.NAdam(q, 0.1)
optim.NAdam(q, 0.1, betas=(0.8, 0.9), weight_decay=0.1, momentum_decay=0.01, decoupled_weight_decay=True)
optim.NAdam(q, 0.1, weight_decay=0.1, maximize=True); optim.RAdam(q, 0.1); optim.RAdam(q, 0.1, betas=(0.8, 0.5), weight_decay=0.1)
optim.RAdam(q, 0.1, betas=(0.9, 0.6), weight_decay=0.1, decoupled_weight_decay=True, maximize=True); optim.Rprop(q, 0.1)
optim.Rprop(q, 1.0, etas=(0.3, 1.9), step_sizes=(0.2, 3.0)); optim.Rprop(q, 0.1, maximize=True); optim.ASGD(q, 0.1)
optim.ASGD(q, 0.1, lambd=0.1, alpha=0.5, t0=1, weight_decay=0.1); optim.ASGD(q, 0.1, maximize=True)"""
SCHEDULES = """L.StepLR(o, 7, 0.5); L.MultiStepLR(o, [3, 10, 10, 30], 0.3); L.ConstantLR(o, 0.2, 9)
L.LinearLR(o, 0.1, 0.8, 20); L.ExponentialLR(o, 0.93); L.PolynomialLR(o, 30, 2.0); L.CosineAnnealingLR(o, 12, 0.01)
L.CosineAnnealingLR(o, 1); L.CosineAnnealingLR(o, 50); L.CosineAnnealingWarmRestarts(o, 4, 2, 0.001)
L.CosineAnnealingWarmRestarts(o, 5); L.LambdaLR(o, lambda e: 0.9**e)
L.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (e + 1)]); L.MultiplicativeLR(o, lambda e: 0.97); L.OneCycleLR(o, 1.0, 60)
L.OneCycleLR(o, [1.0, 2.0], epochs=10, steps_per_epoch=6, three_phase=True, anneal_strategy='linear')
L.OneCycleLR(o, 1.0, 51, pct_start=0.1, cycle_momentum=False)
L.SequentialLR(o, [L.ConstantLR(o, 0.1, 3), L.ExponentialLR(o, 0.9)], [5])
L.SequentialLR(o, [L.LinearLR(o, 0.1, 1.0, 5), L.CosineAnnealingLR(o, 20), L.StepLR(o, 3)], [5, 25])
L.SequentialLR(o, [L.MultiStepLR(o, [2]), L.PolynomialLR(o), L.LambdaLR(o, lambda e: 0.5**e)], [5, 25])
L.ChainedScheduler([L.ConstantLR(o, 0.1, 5), L.ExponentialLR(o, 0.9)]); L.CyclicLR(o, 0.01, [0.1, 1.0], 7)
L.CyclicLR(o, [0.01, 0.2], 0.5, 4, 9, 'triangular2', base_momentum=0.7); L.CyclicLR(o, 0.1, 0.3, 5, mode='exp_range', gamma=0.95)
L.CyclicLR(o, 0.1, 0.3, 6, scale_fn=lambda n: 1 / (n + 1), scale_mode='iterations', cycle_momentum=False)"""
PLATEAUS = ["{}", "dict(mode='max', threshold_mode='abs', threshold=0.1, patience=2, cooldown=3)",
            "dict(patience=0, min_lr=[0.01, 0.02], factor=0.5)", "dict(threshold_mode='rel', mode='max', patience=1)"]


def expressions(text):
    return [e.strip() for line in text.split("\n") for e in line.split(";")]


def with_gradient(expression, x, **names):
    x = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    value = eval(expression, {"F": F, "torch": torch, "x": x, **names})
    # unequal weights: a gradient that went to the wrong place shows
    (value * torch.arange(1, value.numel() + 1).reshape(value.shape)).sum().backward()
    return {"expression": expression, "value": value.tolist(), "gradient": x.grad.tolist()}


def functional():
    y = torch.tensor(TARGET, dtype=torch.float64)
    w = torch.tensor(WEIGHT, dtype=torch.float64)
    return {
        "points": POINTS, "input": INPUT, "target": TARGET, "weight": WEIGHT,
        "activations": [with_gradient(e, POINTS) for e in expressions(ACTIVATIONS)],
        "losses": [dict(with_gradient(e, INPUT, y=y, w=w, r=r), r=r) for e in expressions(LOSSES)
                   for r in ("mean", "sum", "none")],
    }


def plain(x):
    return x.tolist() if isinstance(x, torch.Tensor) else x


def optimised(expression):
    a = nn.Parameter(torch.tensor([1.0, 2.0, -3.0]))
    b = nn.Parameter(torch.tensor([[0.5], [0.25]]))
    c = nn.Parameter(torch.ones(1))
    groups = lambda: [{"params": [a, b]}, {"params": [c]}]
    o = eval(expression, {"optim": optim, "q": groups()})
    for i in range(4):
        o.zero_grad()
        ((a**2).sum() * (i + 1) + (b * 3).sum() + (i >= 2) * (b**3).sum()).backward()
        o.step()
    state = {str(i): {k: plain(v) for k, v in s.items()} for i, s in o.state_dict()["state"].items()}
    record = {"expression": expression, "parameters": [p.tolist() for p in (a, b, c)], "state": state}
    again = eval(expression, {"optim": optim, "q": groups()})
    again.load_state_dict(o.state_dict())
    a.grad = torch.ones(3)
    again.step()
    return dict(record, fifth=a.tolist())


def an_optimizer():
    return optim.SGD([{"params": [nn.Parameter(torch.ones(1))]}, {"params": [nn.Parameter(torch.ones(1))], "lr": 0.5}],
                     lr=0.1, momentum=0.9)


def schedule(expression):
    o = an_optimizer()
    s = eval(expression, {"L": L, "o": o})
    rates, momenta = [], []
    for _ in range(50):
        rates.append([g["lr"] for g in o.param_groups])
        momenta.append(o.param_groups[0]["momentum"])
        o.step()
        s.step()
    return {"expression": expression, "rates": rates, "momenta": momenta}


def plateau(options):
    o = an_optimizer()
    s = L.ReduceLROnPlateau(o, **eval(options))
    metrics = [[3.0, 2.0, 2.0, 1.9, 1.9, 2.5][e % 6] * 0.99**e for e in range(50)]
    rates = []
    for m in metrics:
        s.step(m)
        rates.append([g["lr"] for g in o.param_groups])
    return {"options": options, "metrics": metrics, "rates": rates}


def write(name, what):
    with open(os.path.join(OUT, name), "w") as f:
        json.dump(dict(pytorch=torch.__version__, **what), f, separators=(",", ":"))
        f.write("\n")


warnings.simplefilter("ignore")
write("python_functional.json", functional())
write("python_optim.json", {"optimizers": [optimised(e) for e in expressions(OPTIMIZERS)]})
write("python_schedules.json", {"schedules": [schedule(e) for e in expressions(SCHEDULES)],
                                "plateaus": [plateau(p) for p in PLATEAUS]})
