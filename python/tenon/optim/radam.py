"""RAdam."""

from tenon import _C

from . import _update
from .optimizer import OneByOne, as_number, check_betas, check_lr, check_not_negative, make_steps_tensors, new_step

__all__ = ["RAdam"]


class RAdam(OneByOne):
    """Adam whose first steps are plain momentum, until its variance is known well enough, and whose later ones are rectified
    (Liu et al. 2020).

    decoupled_weight_decay   p *= 1 - lr * weight_decay first; else d = grad + weight_decay * p
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False):
        check_lr(lr)
        check_not_negative("epsilon value", eps)
        check_betas(betas)
        check_not_negative("weight_decay value", weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize,
                                      foreach=foreach, capturable=capturable,
                                      decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable))

    def __setstate__(self, state):
        super().__setstate__(state)
        make_steps_tensors(self)

    def _update(self, p, group):
        own = self.state[p]
        if not own:
            own["step"] = new_step()
            own["exp_avg"], own["exp_avg_sq"] = _C.zeros_like(p), _C.zeros_like(p)
        beta1, beta2 = group["betas"]
        p._radam_step_(p.grad, own["exp_avg"], own["exp_avg_sq"], as_number(group["lr"]), beta1, beta2, group["eps"],
                       group["weight_decay"], int(_update.count_step(own["step"])), group["decoupled_weight_decay"],
                       group["maximize"])
