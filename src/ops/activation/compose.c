/* Functions of the family activation that are composed of others. */
#include "ops/compose.h"
#include <math.h>

/* ---- activations ---- */

tn_tensor *tn__fn_gelu(tn_tensor *x, const tn_gelu_options *o)
{
    if (!tn__floating("GeluKernelImpl", x))
        return NULL;
    return o->tanh ? tn__gelu_tanh(x) : tn__gelu(x);
}

tn_tensor *tn__fn_silu(tn_tensor *x)
{
    return tn__floating("silu_*", x) ? tn__silu(x) : NULL;
}

tn_tensor *tn__fn_softplus(tn_tensor *x, const tn_softplus_options *o)
{
    const double beta = tn__number_or(o->beta, 1), threshold = tn__number_or(o->threshold, 20);
    if (!tn__floating("softplus_*", x) || tn__number_check(&o->beta, tn__between(x->dtype)) ||
        tn__number_check(&o->threshold, tn__between(x->dtype)))
        return NULL;
    if (beta == 1)
        return tn__softplus(x, threshold);
    tn_tensor *scaled = tn_mul(x, beta);
    return tn__pick(tn_gt(scaled, threshold), x, tn_div(tn__softplus(scaled, (double)INFINITY), beta));
}

tn_tensor *tn__fn_leaky_relu(tn_tensor *x, const tn_leaky_relu_options *o)
{
    if (!tn__floating("leaky_relu_*", x) || tn__number_check(&o->negative_slope, tn__between(x->dtype)))
        return NULL;
    return tn__leaky_relu(x, tn__number_or(o->negative_slope, 0.01));
}

tn_tensor *tn__fn_elu(tn_tensor *x, const tn_elu_options *o)
{
    if (!tn__floating("elu_*", x) || tn__number_check(&o->alpha, tn__between(x->dtype)))
        return NULL;
    return tn__elu(x, tn__number_or(o->alpha, 1));
}
