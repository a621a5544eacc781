"""SparseAdam."""

from tenon import _C

from . import _update
from .optimizer import OneByOne, as_number, check_betas, check_lr, new_step

__all__ = ["SparseAdam"]


class SparseAdam(OneByOne):
    """Adam's update as PyTorch makes it of the elements that a sparse gradient has. Tenon's gradients are dense: all elements are
    updated. p -= lr * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + eps)"""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        check_lr(lr)
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, maximize=maximize))

    def _update(self, p, group):
        own = self.state[p]
        if not own:
            own["step"] = 0
            own["exp_avg"], own["exp_avg_sq"] = _C.zeros_like(p), _C.zeros_like(p)
        before = new_step(own["step"])
        own["step"] = step = 1 + int(before.item())
        beta1, beta2 = group["betas"]
        eps = group["eps"] / (1 - beta2**step) ** 0.5
        _update.adam([p], [own["exp_avg"]], [own["exp_avg_sq"]], [before], as_number(group["lr"]), beta1,
                     beta2, eps, 0.0, False, group["maximize"])
