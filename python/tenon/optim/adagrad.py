"""Adagrad."""

from tenon import _C

from . import _update
from .optimizer import OneByOne, as_number, check_lr, check_not_negative, check_ways, make_steps_tensors, new_step

__all__ = ["Adagrad"]


class Adagrad(OneByOne):
    """s += d^2, d = grad + weight_decay * p; p -= lr / (1 + (t - 1) * lr_decay) * d / (sqrt(s) + eps)
    (Duchi et al. 2011)"""

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None,
                 *, maximize=False, differentiable=False, fused=None):
        check_lr(lr)
        check_not_negative("lr_decay value", lr_decay)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("initial_accumulator_value value", initial_accumulator_value)
        check_not_negative("epsilon value", eps)
        super().__init__(params, dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
                                      initial_accumulator_value=initial_accumulator_value, foreach=foreach,
                                      maximize=maximize, differentiable=differentiable, fused=fused))
        check_ways(differentiable, foreach, fused)
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p] = {"step": new_step(), "sum": _C.full_like(p, initial_accumulator_value)}

    def __setstate__(self, state):
        super().__setstate__(state)
        make_steps_tensors(self)

    def _update(self, p, group):
        own = self.state[p]
        step = int(_update.count_step(own["step"]))
        p._adagrad_step_(p.grad, own["sum"], as_number(group["lr"]), group["lr_decay"], group["eps"], group["weight_decay"], step,
                         group["maximize"])
