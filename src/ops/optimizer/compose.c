/* Optimiser steps composed of operations, which can be recorded: gradients flow through them. Those that are one pass
 * over memory are rows of their own (sgd_step_, adam_step_); compose_rules.c has further ones. And the norm of gradients,
 * by which they are clipped. */
#include "core/alloc.h"
#include "ops/compose.h"
#include "ops/optimizer/compose.h"
#include <math.h>

tn_tensor *tn__direction(tn_tensor *p, tn_tensor *grad, double weight_decay, bool maximize)
{
    if (!tn__usable("an optimiser's step", p) || !tn__usable("an optimiser's step", grad))
        return NULL;
    if (maximize)
        grad = tn_neg(grad);
    return weight_decay != 0 ? tn_add(grad, tn_mul(weight_decay, p)) : grad;
}

tn_tensor *tn__decayed(tn_tensor *state, double by, tn_tensor *added)
{
    return added ? tn_add_(tn_mul_(state, by), added) : NULL;
}

tn_tensor *tn__fn_sgd_update_(tn_tensor *p, tn_tensor *grad, tn_tensor *buffer, double lr, double momentum,
                              double dampening, double weight_decay, bool nesterov, bool first, bool maximize)
{
    tn_tensor *d = tn__direction(p, grad, weight_decay, maximize);
    if (d && tn__given(buffer)) {
        if (first ? !tn_copy_(buffer, tn_detach(d)) : !tn__decayed(buffer, momentum, tn_mul(d, 1 - dampening)))
            return NULL;
        d = nesterov ? tn_add(d, tn_mul(momentum, buffer)) : buffer;
    }
    return tn_sub_(p, tn_mul(d, lr));
}

tn_tensor *tn__kept(tn_tensor *t)
{
    return tn__self()->no_grad ? t : tn_clone(t);
}

tn_tensor *tn__fn_adam_update_(tn_tensor *p, tn_tensor *grad, tn_tensor *m, tn_tensor *v, tn_tensor *largest, double lr,
                               double beta1, double beta2, double eps, double weight_decay, int64_t step,
                               bool decoupled, bool maximize)
{
    const double t = (double)step, correction1 = 1 - pow(beta1, t), correction2 = 1 - pow(beta2, t);
    tn_tensor *d = tn__direction(p, grad, decoupled ? 0 : weight_decay, maximize);
    if (!d || (decoupled && weight_decay != 0 && !tn_mul_(p, 1 - lr * weight_decay)))
        return NULL;
    tn_tensor *square = NULL;
    if (tn__decayed(m, beta1, tn_mul(d, 1 - beta1)))
        square = tn__decayed(v, beta2, tn_mul(tn_mul(d, d), 1 - beta2));
    if (square && tn__given(largest)) {
        square = tn_maximum(tn__kept(largest), square);
        if (!tn_copy_(largest, square))
            return NULL;
    }
    tn_tensor *scale = tn_add(tn_div(tn_sqrt(square), pow(correction2, 0.5)), eps);
    return scale ? tn_sub_(p, tn_mul(tn_div(tn__kept(m), scale), lr / correction1)) : NULL;
}

/* ---- clipping ---- */

static tn_tensor *norm_of(tn_tensor *t, double p)
{
    if (p == 2)
        return t && tn__dtype_is_float(t->dtype) ? tn_norm(t) : tn_sqrt(tn_sum(tn_square(t)));
    if (isinf(p))
        return p > 0 ? tn_max(tn_abs(t)) : tn_min(tn_abs(t));
    if (p == 0)
        return t ? tn_to(tn_sum(tn_ne(t, 0)), .dtype = t->dtype) : NULL;
    if (p == 1)
        return tn_sum(tn_abs(t));
    return tn_pow(tn_sum(tn_pow(tn_abs(t), p)), 1.0 / p);
}

/* The norm of the tensors' norms, gathered in out[n]. */
static tn_tensor *total_of(tn_tensors tensors, double p, tn_tensor **out)
{
    for (size_t i = 0; i < tensors.n; i++) {
        out[i] = tn__usable("total_norm", tensors.t[i]) ? norm_of(tn_detach(tensors.t[i]), p) : NULL;
        if (!out[i] || !(out[i] = tn_to(out[i], .device = tensors.t[0]->device)))
            return NULL;
    }
    return tensors.n == 1 ? out[0] : norm_of(tn_stack(((tn_tensors){out, tensors.n}), 0), p);
}

tn_tensor *tn__fn_total_norm(tn_tensors tensors, const tn_total_norm_options *o)
{
    const double p = tn__number_or(o->norm_type, 2);
    tn_tensor *few[16], **norms = few;
    if (tensors.n == 0)
        return tn_zeros(TN_SHAPE(), .dtype = tn__default_dtype());
    if (tensors.n > TN_COUNT(few) && !(norms = tn__block_get(tensors.n * sizeof *norms)))
        return tn__fail(TN_ENOMEM, "total_norm: no memory for %zu norms", tensors.n);
    const bool was = tn__set_no_grad(true);
    tn_tensor *total = total_of(tensors, p, norms);
    tn__set_no_grad(was);
    if (norms != few)
        tn__block_put(norms, tensors.n * sizeof *norms);
    return total;
}

bool tn__fn_clip_to_norm(tn_tensors tensors, double max_norm, tn_tensor *total_norm)
{
    const bool was = tn__set_no_grad(true);
    tn_tensor *by = tn_clamp_max(tn_div(max_norm, tn_add(total_norm, 1e-6)), 1.0);
    bool done = by != NULL;
    for (size_t i = 0; i < tensors.n && done; i++)
        done = tn__usable("clip_to_norm", tensors.t[i]) &&
               tn_mul_(tensors.t[i], tn_to(by, .device = tensors.t[i]->device)) != NULL;
    tn__set_no_grad(was);
    return done;
}

bool tn__fn_clip_values(tn_tensors tensors, double limit)
{
    const bool was = tn__set_no_grad(true);
    bool done = true;
    for (size_t i = 0; i < tensors.n && done; i++)
        done = tn__usable("clip_values", tensors.t[i]) && tn__clamp_(tensors.t[i], -limit, limit) != NULL;
    tn__set_no_grad(was);
    return done;
}
