"""ASGD."""

from tenon import _C

from . import _update
from .optimizer import OneByOne, as_number, check_lr, check_not_negative, make_steps_tensors, new_step

__all__ = ["ASGD"]


class ASGD(OneByOne):
    """p = (1 - lambd * eta) * p - eta * (grad + weight_decay * p); ax += mu * (p - ax): the average of p, from step t0 on
    (Polyak and Juditsky 1992). eta = lr / (1 + lambd * lr * t)^alpha, mu = 1 / max(1, t - t0), each from the step before."""

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False,
                 differentiable=False, capturable=False):
        check_lr(lr)
        check_not_negative("weight_decay value", weight_decay)
        super().__init__(params, dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach,
                                      maximize=maximize, differentiable=differentiable, capturable=capturable))

    def __setstate__(self, state):
        super().__setstate__(state)
        for name in ("step", "eta", "mu"):
            make_steps_tensors(self, name)

    def _update(self, p, group):
        own, lr = self.state[p], as_number(group["lr"])
        if not own:
            own["step"], own["eta"], own["mu"] = new_step(), new_step(lr), new_step(1.0)
            own["ax"] = _C.zeros_like(p)
        step = _update.count_step(own["step"])
        p._asgd_step_(p.grad, own["ax"], own["eta"].item(), group["lambd"], own["mu"].item(), group["weight_decay"],
                      group["maximize"])
        own["eta"] = new_step(lr / (1 + group["lambd"] * lr * step) ** group["alpha"])
        own["mu"] = new_step(1 / max(1.0, step - group["t0"]))
