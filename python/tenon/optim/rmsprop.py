"""RMSprop."""

from tenon import _C

from . import _update
from .optimizer import OneByOne, as_number, check_lr, check_not_negative, make_steps_tensors, new_step

__all__ = ["RMSprop"]


class RMSprop(OneByOne):
    """s = alpha * s + (1 - alpha) * d^2, d = grad + weight_decay * p; p -= lr * d / (sqrt(s) + eps)

    centered   s less the square of a like average of the gradients
    momentum   p -= lr * b, b = momentum * b + d / (sqrt(s) + eps)
    """

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False,
                 capturable=False, foreach=None, maximize=False, differentiable=False):
        check_lr(lr)
        check_not_negative("epsilon value", eps)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("alpha value", alpha)
        super().__init__(params, dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered,
                                      weight_decay=weight_decay, capturable=capturable, foreach=foreach,
                                      maximize=maximize, differentiable=differentiable))

    def __setstate__(self, state):
        super().__setstate__(state)
        make_steps_tensors(self)

    def _update(self, p, group):
        own = self.state[p]
        if not own:
            own["step"] = new_step()
            own["square_avg"] = _C.zeros_like(p)
            if group["momentum"] > 0:
                own["momentum_buffer"] = _C.zeros_like(p)
            if group["centered"]:
                own["grad_avg"] = _C.zeros_like(p)
        _update.count_step(own["step"])
        buffer = own["momentum_buffer"] if group["momentum"] > 0 else None
        p._rmsprop_step_(p.grad, own["square_avg"], own["grad_avg"] if group["centered"] else None, buffer, as_number(group["lr"]),
                         group["alpha"], group["eps"], group["weight_decay"], group["momentum"], group["maximize"])
