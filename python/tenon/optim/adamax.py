"""Adamax."""

from tenon import _C

from . import _update
from .optimizer import OneByOne, as_number, check_betas, check_lr, check_not_negative, make_steps_tensors, new_step

__all__ = ["Adamax"]


class Adamax(OneByOne):
    """m = beta1 * m + (1 - beta1) * d, d = grad + weight_decay * p; u = max(beta2 * u, |d| + eps);
    p -= lr / (1 - beta1^t) * m / u          (Kingma and Ba 2014, section 7)"""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False,
                 differentiable=False, capturable=False):
        check_lr(lr)
        check_not_negative("epsilon value", eps)
        check_betas(betas)
        check_not_negative("weight_decay value", weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach,
                                      maximize=maximize, differentiable=differentiable, capturable=capturable))

    def __setstate__(self, state):
        super().__setstate__(state)
        make_steps_tensors(self)

    def _update(self, p, group):
        own = self.state[p]
        if not own:
            own["step"] = new_step()
            own["exp_avg"], own["exp_inf"] = _C.zeros_like(p), _C.zeros_like(p)
        beta1, beta2 = group["betas"]
        p._adamax_step_(p.grad, own["exp_avg"], own["exp_inf"], as_number(group["lr"]), beta1, beta2, group["eps"],
                        group["weight_decay"], int(_update.count_step(own["step"])), group["maximize"])
