/* Losses that are negative logarithms of likelihoods, composed of operations. */
#include "ops/compose.h"
#include "ops/loss/compose.h"
#include <math.h>

/* log(1 + exp(-target x)) */
tn_tensor *tn__fn_soft_margin_loss(tn_tensor *x, tn_tensor *target, const tn_soft_margin_loss_options *o)
{
    if (!tn__usable("soft_margin_loss", x) || !tn__usable("soft_margin_loss", target))
        return NULL;
    if (!tn__dtype_is_float(x->dtype)) {
        const tn_dtype made = tn__dtype_is_float(target->dtype) ? target->dtype : TN_F32;
        return tn__fail(TN_EDTYPE, "result type %s can't be cast to the desired output type %s",
                        tn__dtypes[made].legacy, tn__dtypes[x->dtype].legacy);
    }
    tn_tensor *product = tn_mul(x, tn_neg(target));
    if (product && product->dtype != x->dtype)
        product = tn_to(product, .dtype = x->dtype);
    return tn__reduce_loss(tn__softplus(product, (double)INFINITY), o->reduction);
}

/* -(y log(s(x)) + (1 - y) log(s(-x))): what binary cross entropy is of sigmoid(x) */
static tn_tensor *of_labels(tn_tensor *x, tn_tensor *y)
{
    if (x->dtype == y->dtype && tn__same_device(x->device, y->device))
        return tn__bce_logits(x, y);
    return tn_neg(tn_add(tn_mul(y, tn_logsigmoid(x)), tn_mul(tn_sub(1, y), tn_logsigmoid(tn_neg(x)))));
}

tn_tensor *tn__fn_multilabel_soft_margin_loss(tn_tensor *x, tn_tensor *target,
                                              const tn_multilabel_soft_margin_loss_options *o)
{
    if (!tn__usable("multilabel_soft_margin_loss", x) || !tn__usable("multilabel_soft_margin_loss", target) ||
        !tn__floating("log_sigmoid_*", x))
        return NULL;
    if (!x->ndim)
        return tn__fail(TN_EINDEX, "Dimension specified as -1 but tensor has no dimensions");
    tn_tensor *loss = of_labels(x, target), *weight = tn__given(o->weight);
    if (weight)
        loss = tn_mul(loss, weight);
    const int64_t last = x->ndim - 1;
    return tn__reduce_loss(tn_div(tn_sum(loss, .dim = last), x->shape[last]), o->reduction);
}

/* ---- a normal law ---- */

/* Is one size of var another than x's, and is it 1? As many elements as differ are asked for, as in PyTorch. */
static bool differs_by_one(const tn_tensor *x, const tn_tensor *var)
{
    int64_t sum = 0;
    for (int32_t d = 0; d < x->ndim && x->ndim == var->ndim; d++)
        sum += x->shape[d] != var->shape[d] ? var->shape[d] : 0;
    return x->ndim == var->ndim && sum == 1;
}

/* The variances for x, none below eps: what is lifted keeps its gradient. Waits for the device. */
static tn_tensor *variances_for(const tn_tensor *x, tn_tensor *var, double eps)
{
    const bool was = tn__set_no_grad(true);
    tn_tensor *negative = tn_any(tn_lt(var, 0));
    tn__set_no_grad(was);
    if (!negative || (negative->device.type != TN_DEVICE_META && tn_item(negative) != 0))
        return negative ? tn__fail(TN_EVALUE, "var has negative entry/entries") : NULL;
    if (!tn__same_shape(x->shape, x->ndim, var->shape, var->ndim)) {
        if (x->ndim && tn__same_shape(x->shape, x->ndim - 1, var->shape, var->ndim))
            var = tn_unsqueeze(var, -1);
        else if (!differs_by_one(x, var))
            return tn__fail(TN_EVALUE, "var is of incorrect size");
    }
    if (var && !tn__dtype_is_float(var->dtype))
        return tn__fail(TN_EDTYPE, "result type Float can't be cast to the desired output type %s",
                        tn__dtypes[var->dtype].scalar);
    var = tn_clone(var);
    tn__set_no_grad(true);
    tn_tensor *lifted = var ? tn_clamp_min_(var, eps) : NULL;
    tn__set_no_grad(was);
    return lifted;
}

/* (log(var) + (x - target)^2 / var) / 2, and with 'full' log(2 pi) / 2 */
tn_tensor *tn__fn_gaussian_nll_loss(tn_tensor *x, tn_tensor *target, tn_scalar var,
                                    const tn_gaussian_nll_loss_options *o)
{
    static const double half_log_two_pi = 0.91893853320467274178;
    const double eps = tn__number_or(o->eps, 1e-6);
    tn_tensor *log_var, *square;
    if (!tn__usable("gaussian_nll_loss", x) || !tn__usable("gaussian_nll_loss", target))
        return NULL;
    if (var.kind == TN_SCALAR_TENSOR) {
        tn_tensor *v = tn__usable("gaussian_nll_loss", var.v.t) ? variances_for(x, var.v.t, eps) : NULL;
        if (!v)
            return NULL;
        log_var = tn_log(v);
        square = tn_div(tn_square(tn_sub(x, target)), v);
    } else {
        const double v = tn__scalar_double(&var);
        if (v < 0)
            return tn__fail(TN_EVALUE, "var has negative entry/entries");
        square = tn_div(tn_square(tn_sub(x, target)), v < eps ? eps : v);
        log_var = square ? tn_full(TN_SHAPE(), log(v < eps ? eps : v), .dtype = square->dtype, .device = square->device)
                         : NULL;
    }
    tn_tensor *loss = tn_mul(tn_add(log_var, square), 0.5);
    return tn__reduce_loss(o->full ? tn_add(loss, half_log_two_pi) : loss, o->reduction);
}

/* ---- Poisson's law ---- */

/* exp(x) - target x, or x - target log(x + eps); with 'full' Stirling's approximation of log(target!) where it is above 1 */
tn_tensor *tn__fn_poisson_nll_loss(tn_tensor *x, tn_tensor *target, bool log_input,
                                   const tn_poisson_nll_loss_options *o)
{
    static const double two_pi = 6.283185307179586;
    if (!tn__usable("poisson_nll_loss", x) || !tn__usable("poisson_nll_loss", target))
        return NULL;
    tn_tensor *loss = log_input ? tn_sub(tn_exp(x), tn_mul(target, x))
                                : tn_sub(x, tn_mul(target, tn_log(tn_add(x, tn__number_or(o->eps, 1e-8)))));
    if (o->full) {
        tn_tensor *stirling =
            tn_add(tn_sub(tn_mul(target, tn_log(target)), target), tn_mul(tn_log(tn_mul(target, two_pi)), 0.5));
        loss = tn_add(loss, tn_masked_fill(stirling, tn_le(target, 1), 0));
    }
    return tn__reduce_loss(loss, o->reduction);
}
