"""Stochastic gradient descent."""

from . import _update
from .optimizer import Optimizer, as_number, check_lr, check_not_negative

__all__ = ["SGD"]


class SGD(Optimizer):
    """d = grad + weight_decay * p; b = momentum * b + (1 - dampening) * d, the first time b = d;
    p -= lr * (d + momentum * b if nesterov else b).

    maximize turns the gradient round. foreach, differentiable and fused are accepted: every step is fused here.
    """

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False,
                 foreach=None, differentiable=False, fused=None):
        check_lr(lr)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                                      nesterov=nesterov, maximize=maximize, foreach=foreach,
                                      differentiable=differentiable, fused=fused))
        if fused and foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    def step(self, closure=None):
        """One update of every parameter that has a gradient. Returns closure's result."""
        loss = None if closure is None else self._loss_of(closure)
        self._opt_called = True
        for group in self.param_groups:
            params = group["params"]
            momentum = group["momentum"]
            buffers = self._buffers(params) if momentum else None
            _update.sgd(params, buffers, as_number(group["lr"]), momentum, group["dampening"], group["weight_decay"],
                        group["nesterov"], group["maximize"])
            if buffers is not None:
                self._remember(params, buffers)
        return loss

    def _buffers(self, params):
        state = self.state
        return [state[p].get("momentum_buffer") if p in state else None for p in params]

    def _remember(self, params, buffers):
        for p, buffer in zip(params, buffers):
            if buffer is not None:
                self.state[p]["momentum_buffer"] = buffer
