"""NAdam."""

from tenon import _C

from . import _update
from .optimizer import OneByOne, as_number, check_betas, check_lr, check_not_negative, make_steps_tensors, new_step

__all__ = ["NAdam"]


def _momentum(beta1, step, decay):
    return beta1 * (1.0 - 0.5 * 0.96 ** (step * decay))


class NAdam(OneByOne):
    """Adam with Nesterov's momentum (Dozat 2016): m and v as Adam's, mu_t = beta1 * (1 - 0.96^(t * momentum_decay) / 2);
    p -= lr * ((1 - mu_t) / (1 - prod mu_i) * d + mu_t+1 / (1 - mu_t+1 * prod mu_i) * m) / (sqrt(v / (1 - beta2^t)) + eps)

    decoupled_weight_decay   p *= 1 - lr * weight_decay first; else d = grad + weight_decay * p
    """

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
                 decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False, differentiable=False):
        check_lr(lr)
        check_not_negative("epsilon value", eps)
        check_betas(betas)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("momentum_decay value", momentum_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
                                      decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, foreach=foreach,
                                      capturable=capturable, differentiable=differentiable))

    def __setstate__(self, state):
        super().__setstate__(state)
        make_steps_tensors(self)
        make_steps_tensors(self, "mu_product")

    def _update(self, p, group):
        own = self.state[p]
        if not own:
            own["step"], own["mu_product"] = new_step(), new_step(1.0)
            own["exp_avg"], own["exp_avg_sq"] = _C.zeros_like(p), _C.zeros_like(p)
        (beta1, beta2), decay = group["betas"], group["momentum_decay"]
        step = int(_update.count_step(own["step"]))
        mu, next_mu = _momentum(beta1, step, decay), _momentum(beta1, step + 1, decay)
        lr, product = as_number(group["lr"]), mu * own["mu_product"].item()
        own["mu_product"] = new_step(product)
        p._nadam_step_(p.grad, own["exp_avg"], own["exp_avg_sq"], lr, beta1, beta2, group["eps"], group["weight_decay"],
                       lr * (1 - mu) / (1 - product), lr * next_mu / (1 - product * next_mu), step,
                       group["decoupled_weight_decay"], group["maximize"])
