"""Stochastic gradient descent."""

from tenon import _C

from . import _update
from .optimizer import OneByOne, as_number, check_fused, check_lr, check_not_negative, check_ways

__all__ = ["SGD"]


class SGD(OneByOne):
    """d = grad + weight_decay * p; b = momentum * b + (1 - dampening) * d, the first time b = d;
    p -= lr * (d + momentum * b if nesterov else b).

    maximize turns the gradient round, differentiable records the step. foreach and fused are accepted: every step that is
    not recorded is fused here.
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
        check_ways(differentiable, foreach, fused)

    def _update_group(self, group):
        if group["differentiable"]:
            return super()._update_group(group)
        params = group["params"]
        if group["fused"]:
            check_fused(params)
        momentum = group["momentum"]
        buffers = self._buffers(params) if momentum else None
        _update.sgd(params, buffers, as_number(group["lr"]), momentum, group["dampening"], group["weight_decay"],
                    group["nesterov"], group["maximize"])
        if buffers is not None:
            self._remember(params, buffers)

    def _update(self, p, group):
        """The same with operations of tensors, which can be recorded."""
        own = self.state[p]
        first = bool(group["momentum"]) and own.get("momentum_buffer") is None
        if first:
            own["momentum_buffer"] = _C.empty_like(p.grad)
        p._sgd_update_(p.grad, own["momentum_buffer"] if group["momentum"] else None, as_number(group["lr"]), group["momentum"],
                       group["dampening"], group["weight_decay"], group["nesterov"], first, group["maximize"])

    def _buffers(self, params):
        state = self.state
        return [state[p].get("momentum_buffer") if p in state else None for p in params]

    def _remember(self, params, buffers):
        for p, buffer in zip(params, buffers):
            if buffer is not None:
                self.state[p]["momentum_buffer"] = buffer
