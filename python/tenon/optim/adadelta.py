"""Adadelta."""

from tenon import _C

from . import _update
from .optimizer import OneByOne, as_number, check_lr, check_not_negative, make_steps_tensors, new_step

__all__ = ["Adadelta"]


class Adadelta(OneByOne):
    """s = rho * s + (1 - rho) * d^2, d = grad + weight_decay * p; u = sqrt(t + eps) / sqrt(s + eps) * d;
    t = rho * t + (1 - rho) * u^2; p -= lr * u          (Zeiler 2012)"""

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False,
                 differentiable=False):
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative("epsilon value", eps)
        check_not_negative("weight_decay value", weight_decay)
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize,
                                      capturable=capturable, foreach=foreach, differentiable=differentiable))

    def __setstate__(self, state):
        super().__setstate__(state)
        make_steps_tensors(self)

    def _update(self, p, group):
        own = self.state[p]
        if not own:
            own["step"] = new_step()
            own["square_avg"], own["acc_delta"] = _C.zeros_like(p), _C.zeros_like(p)
        _update.count_step(own["step"])
        p._adadelta_step_(p.grad, own["square_avg"], own["acc_delta"], as_number(group["lr"]), group["rho"], group["eps"],
                          group["weight_decay"], group["maximize"])
