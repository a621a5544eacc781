"""Adam and AdamW."""

from tenon import _C
from tenon.autograd import no_grad

from . import _update
from .optimizer import Optimizer, as_number, check_lr, check_not_negative

__all__ = ["Adam", "AdamW"]


class Adam(Optimizer):
    """m = beta1 * m + (1 - beta1) * d; v = beta2 * v + (1 - beta2) * d^2, d = grad + weight_decay * p;
    p -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)          (Kingma and Ba 2014)

    amsgrad                 takes the largest v so far
    decoupled_weight_decay  d = grad and p *= 1 - lr * weight_decay instead (Loshchilov and Hutter 2017): AdamW
    maximize                turns the gradient round
    foreach, capturable, differentiable and fused are accepted: every step is fused here.
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        check_lr(lr)
        check_not_negative("epsilon value", eps)
        for i in (0, 1):
            if not 0.0 <= betas[i] < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")
        check_not_negative("weight_decay value", weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
                                      maximize=maximize, foreach=foreach, capturable=capturable,
                                      differentiable=differentiable, fused=fused,
                                      decoupled_weight_decay=decoupled_weight_decay))
        if fused and foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for p in group["params"]:
                own = self.state.get(p)
                if own and "step" in own and not isinstance(own["step"], _C.Tensor):
                    own["step"] = _C.tensor(float(own["step"]))

    def step(self, closure=None):
        """One update of every parameter that has a gradient. Returns closure's result."""
        loss = None if closure is None else self._loss_of(closure)
        self._opt_called = True
        for group in self.param_groups:
            if group["amsgrad"]:
                self._amsgrad_step(group)
            else:
                self._plain_step(group)
        return loss

    def _plain_step(self, group):
        params = group["params"]
        own = [self.state.get(p) for p in params]
        averages = [s["exp_avg"] if s else None for s in own]
        squares = [s["exp_avg_sq"] if s else None for s in own]
        steps = [s["step"] if s else None for s in own]
        beta1, beta2 = group["betas"]
        _update.adam(params, averages, squares, steps, as_number(group["lr"]), beta1, beta2, group["eps"],
                     group["weight_decay"], group["decoupled_weight_decay"], group["maximize"])
        for i, s in enumerate(own):
            if not s and averages[i] is not None:
                self.state[params[i]] = {"step": steps[i], "exp_avg": averages[i], "exp_avg_sq": squares[i]}

    def _amsgrad_step(self, group):
        """The same with operations of tensors: PyTorch's own, one parameter after the other."""
        beta1, beta2 = group["betas"]
        lr, decay = as_number(group["lr"]), group["weight_decay"]
        with no_grad():
            for p in group["params"]:
                grad = p.grad
                if grad is None:
                    continue
                own = self.state[p]
                if not own:
                    own["step"] = _C.tensor(0.0)
                    for name in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq"):
                        own[name] = _C.zeros_like(p)
                own["step"] += 1
                step = own["step"].item()
                if group["maximize"]:
                    grad = -grad
                if decay and group["decoupled_weight_decay"]:
                    p.mul_(1 - lr * decay)
                elif decay:
                    grad = grad + decay * p
                own["exp_avg"].mul_(beta1).add_(grad * (1 - beta1))
                own["exp_avg_sq"].mul_(beta2).add_(grad * grad * (1 - beta2))
                largest = own["max_exp_avg_sq"]
                largest.copy_(_C.maximum(largest, own["exp_avg_sq"]))
                scale = largest.sqrt() / (1 - beta2**step) ** 0.5 + group["eps"]
                p.sub_(own["exp_avg"] / scale * (lr / (1 - beta1**step)))


class AdamW(Adam):
    """Adam with decoupled weight decay, 0.01 unless said."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *,
                 maximize=False, foreach=None, capturable=False, differentiable=False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
                         capturable=capturable, differentiable=differentiable, fused=fused, decoupled_weight_decay=True)

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
