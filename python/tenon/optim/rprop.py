"""Rprop."""

from tenon import _C

from . import _update
from .optimizer import OneByOne, as_number, check_lr, make_steps_tensors, new_step

__all__ = ["Rprop"]


class Rprop(OneByOne):
    """Each number has a step of its own, lr at first, which grows by etas[1] where the gradient keeps its sign and shrinks by
    etas[0] where it changes, within step_sizes; p -= sign(grad) * step (Riedmiller and Braun 1993). For whole batches."""

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None,
                 maximize=False, differentiable=False):
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, dict(lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))

    def __setstate__(self, state):
        super().__setstate__(state)
        make_steps_tensors(self)

    def _update(self, p, group):
        own = self.state[p]
        if not own:
            own["step"] = new_step()
            own["prev"] = _C.zeros_like(p)
            own["step_size"] = _C.full_like(p, as_number(group["lr"]))
        _update.count_step(own["step"])
        p._rprop_step_(p.grad, own["prev"], own["step_size"], *group["etas"], *group["step_sizes"], group["maximize"])
