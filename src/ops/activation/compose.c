/* Functions of the family activation that are composed of others. */
#include "autograd/functions.h"
#include <stdio.h>

/* ---- activations ---- */

tn_tensor *tn__fn_gelu(tn_tensor *x, const tn_gelu_options *o)
{
    if (!tn__floating("GeluKernelImpl", x))
        return NULL;
    if (!o->tanh)
        return tn_mul(tn_mul(x, 0.5), tn_erfc(tn_mul(x, -0.70710678118654752)));
    /* (1 + tanh(y)) / 2 = sigmoid(2 y), y = sqrt(2 / pi) (x + 0.044715 x^3) */
    tn_tensor *slope = tn_add(tn_mul(tn_square(x), 2 * 0.79788456080286536 * 0.044715), 2 * 0.79788456080286536);
    return tn_mul(x, tn_sigmoid(tn_mul(x, slope)));
}

tn_tensor *tn__fn_silu(tn_tensor *x)
{
    return tn__floating("silu_*", x) ? tn_mul(x, tn_sigmoid(x)) : NULL;
}

tn_tensor *tn__fn_softplus(tn_tensor *x, const tn_softplus_options *o)
{
    const double beta = tn__number_or(o->beta, 1), threshold = tn__number_or(o->threshold, 20);
    if (!tn__floating("softplus_*", x) || tn__number_check(&o->beta, tn__between(x->dtype)) ||
        tn__number_check(&o->threshold, tn__between(x->dtype)))
        return NULL;
    tn_tensor *scaled = beta == 1 ? x : tn_mul(x, beta), *linear = tn_gt(scaled, threshold);
    tn_tensor *positive = tn_gt(scaled, 0); /* the exponential of what is not: it overflows in no dtype */
    tn_tensor *rest = tn_log1p(tn_exp(tn_where(positive, tn_scalar_t(tn_neg(scaled)), tn_scalar_t(scaled))));
    tn_tensor *soft = tn_where(positive, tn_scalar_t(tn_add(scaled, rest)), tn_scalar_t(rest));
    return tn_where(linear, tn_scalar_t(x), tn_scalar_t(beta == 1 ? soft : tn_div(soft, beta)));
}

tn_tensor *tn__fn_leaky_relu(tn_tensor *x, const tn_leaky_relu_options *o)
{
    if (!tn__floating("leaky_relu_*", x) || tn__number_check(&o->negative_slope, tn__between(x->dtype)))
        return NULL;
    return tn_where(tn_gt(x, 0), tn_scalar_t(x), tn_scalar_t(tn_mul(x, tn__number_or(o->negative_slope, 0.01))));
}

tn_tensor *tn__fn_elu(tn_tensor *x, const tn_elu_options *o)
{
    if (!tn__floating("elu_*", x) || tn__number_check(&o->alpha, tn__between(x->dtype)))
        return NULL;
    tn_tensor *low =
        tn_le(x, 0); /* the rest filled with 0, not clamped: a clamp has no slope at 0; NaN has that of x */
    tn_tensor *below = tn_mul(tn_expm1(tn_where(low, x, 0)), tn__number_or(o->alpha, 1));
    return tn_where(low, tn_scalar_t(below), tn_scalar_t(x));
}
