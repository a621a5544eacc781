"""The updates of a parameter group, one call of the extension each. What tenon._C has for it:

_sgd_step(params, buffers, lr, momentum, dampening, weight_decay, nesterov, maximize) -> None
    params     list of n leaf tensors; those whose .grad is None are passed over
    buffers    None where momentum is 0; else a list of n: the momentum buffer, a tensor of the shape, dtype and device
               of params[i], or None where it has none yet. Where params[i] has a gradient and buffers[i] is None, the
               first step is taken (the buffer becomes d, not (1 - dampening) * d) and the new buffer is put into
               buffers[i].
    lr, momentum, dampening, weight_decay    floats;  nesterov, maximize    bools

_adam_step(params, exp_avgs, exp_avg_sqs, steps, lr, beta1, beta2, eps, weight_decay, decoupled, maximize) -> None
    exp_avgs, exp_avg_sqs    lists of n, as buffers above; None becomes a new tensor, from zeros
    steps      list of n: tensors of one float32 or float64 on the CPU that count the updates of each parameter, or None
               where exp_avgs[i] is None, which becomes a new one: float64 if that is the default dtype, else float32. Each whose parameter has a gradient is one more afterwards
               (in place: it is the optimiser's state).
    decoupled  True: AdamW, p *= 1 - lr * weight_decay; False: Adam, grad += weight_decay * p

_zero_grads(tensors, set_to_none) -> None
    tensors    list of tensors. True: .grad becomes None; False: .grad, where there is one, is detached and filled with 0

_count_step(step) -> float
    step       a tensor of one element that counts: it becomes one more, in place, and that is returned

All are all-or-nothing where memory runs out: what is missing in the lists is made before the first parameter changes.
They write with recording off and raise the version counters of what they write.
"""

from tenon import _C

sgd = _C._sgd_step
adam = _C._adam_step
count_step = _C._count_step
zero_grads = _C._zero_grads
