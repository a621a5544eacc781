"""Adam and AdamW."""

from tenon import _C

from . import _update
from .optimizer import OneByOne, as_number, check_fused, check_lr, check_not_negative, check_ways, make_steps_tensors, new_step

__all__ = ["Adam", "AdamW"]


def _check_tensors(lr, betas, plain_foreach):
    """What PyTorch refuses of tensors for numbers; plain_foreach: foreach without capturable."""
    said = "as a Tensor is not supported for capturable=False and foreach=True"
    if isinstance(lr, _C.Tensor) and plain_foreach:
        raise ValueError(f"lr {said}")
    kinds = {_C.Tensor if isinstance(b, _C.Tensor) else type(b) for b in betas}
    if kinds != {float} and kinds != {_C.Tensor}:
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        if isinstance(beta, _C.Tensor) and plain_foreach:
            raise ValueError(f"betas[{i}] {said}")
        if isinstance(beta, _C.Tensor) and beta.numel() != 1:
            raise ValueError(f"Tensor betas[{i}] must be 1-element")


class Adam(OneByOne):
    """m = beta1 * m + (1 - beta1) * d; v = beta2 * v + (1 - beta2) * d^2, d = grad + weight_decay * p;
    p -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)          (Kingma and Ba 2014)

    amsgrad                 takes the largest v so far
    decoupled_weight_decay  d = grad and p *= 1 - lr * weight_decay instead (Loshchilov and Hutter 2017): AdamW
    maximize                turns the gradient round
    differentiable          records the step: gradients flow through it
    foreach, capturable and fused are accepted: every step that is not recorded is fused here.
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        check_lr(lr)
        check_not_negative("epsilon value", eps)
        for i in (0, 1):
            if not 0.0 <= betas[i] < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")
        check_not_negative("weight_decay value", weight_decay)
        _check_tensors(lr, betas, foreach and not capturable)
        betas = tuple(b.squeeze() if isinstance(b, _C.Tensor) else b for b in betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
                                      maximize=maximize, foreach=foreach, capturable=capturable,
                                      differentiable=differentiable, fused=fused,
                                      decoupled_weight_decay=decoupled_weight_decay))
        check_ways(differentiable, foreach, fused)

    def __setstate__(self, state):
        super().__setstate__(state)
        make_steps_tensors(self)

    def _update_group(self, group):
        if group["amsgrad"] or group["differentiable"]:
            return super()._update_group(group)
        params = group["params"]
        if group["fused"]:
            check_fused(params)
        own = [self.state.get(p) for p in params]
        averages = [s["exp_avg"] if s else None for s in own]
        squares = [s["exp_avg_sq"] if s else None for s in own]
        steps = [s["step"] if s else None for s in own]
        beta1, beta2 = (as_number(b) for b in group["betas"])
        _update.adam(params, averages, squares, steps, as_number(group["lr"]), beta1, beta2, group["eps"],
                     group["weight_decay"], group["decoupled_weight_decay"], group["maximize"])
        for i, s in enumerate(own):
            if not s and averages[i] is not None:
                self.state[params[i]] = {"step": steps[i], "exp_avg": averages[i], "exp_avg_sq": squares[i]}

    def _update(self, p, group):
        """The same with operations of tensors, which can be recorded."""
        beta1, beta2 = (as_number(b) for b in group["betas"])
        lr, decay, own = as_number(group["lr"]), group["weight_decay"], self.state[p]
        if not own:
            own["step"] = new_step()
            for name in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[: 2 + group["amsgrad"]]:
                own[name] = _C.zeros_like(p)
        p._adam_update_(p.grad, own["exp_avg"], own["exp_avg_sq"], own["max_exp_avg_sq"] if group["amsgrad"] else None, lr, beta1,
                        beta2, group["eps"], decay, int(_update.count_step(own["step"])), group["decoupled_weight_decay"], group["maximize"])


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
