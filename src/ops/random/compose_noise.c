/* Dropout of channels, dropout that keeps mean and variance (Klambauer et al. 2017), and relu with random slopes. */
#include "core/rng.h"
#include "ops/compose.h"
#include <math.h>

/* 0 with probability p, else 1: for each element, or, of features, for each channel */
static tn_tensor *noise_for(tn_tensor *x, double p, bool features)
{
    int64_t shape[TN_MAX_DIMS];
    if (features && x->ndim < 2)
        return tn__fail(TN_EINVAL, "Feature dropout requires at least 2 dimensions in the input");
    for (int32_t d = 0; d < x->ndim; d++)
        shape[d] = d < 2 ? x->shape[d] : 1;
    tn_tensor *noise = features ? tn_empty(tn_dims_of(shape, x->ndim), .dtype = x->dtype, .device = x->device)
                                : tn_empty_like(tn_detach(x));
    return noise ? tn_bernoulli_(noise, 1 - p) : NULL;
}

/* x itself, where nothing is dropped; else NULL in *done with an error, or without one where there is work to do */
static bool is_done(tn_tensor *x, double p, bool train, tn_tensor **done)
{
    *done = NULL;
    if (!tn__usable("dropout", x))
        return true;
    if (!(p >= 0 && p <= 1)) {
        tn__error(TN_EINVAL, "dropout probability has to be between 0 and 1, but got %g", p);
        return true;
    }
    if (p == 0 || !train || !x->numel) {
        *done = x;
        return true;
    }
    if (p == 1)
        *done = tn_mul(x, tn_zeros(TN_SHAPE(), .dtype = x->dtype, .device = x->device));
    else if (!tn__dtype_is_float(x->dtype))
        tn__error(TN_EDTYPE, "result type Float can't be cast to the desired output type %s",
                  tn__dtypes[x->dtype].legacy);
    else
        return false;
    return true;
}

tn_tensor *tn__fn_feature_dropout(tn_tensor *x, double p, bool train)
{
    tn_tensor *done;
    if (is_done(x, p, train, &done))
        return done;
    const bool was = tn__set_no_grad(true);
    tn_tensor *noise = tn_div(noise_for(x, p, true), 1 - p);
    tn__set_no_grad(was);
    return tn_mul(x, noise);
}

/* x a noise + b, such that what is dropped has selu's least value, and mean and variance stay */
static tn_tensor *alpha_dropout(tn_tensor *x, double p, bool train, bool features)
{
    static const double alpha = 1.7580993408473766;
    tn_tensor *done;
    if (is_done(x, p, train, &done))
        return done;
    const double a = 1 / sqrt((alpha * alpha * p + 1) * (1 - p));
    const bool was = tn__set_no_grad(true);
    tn_tensor *noise = noise_for(x, p, features);
    tn_tensor *b = tn_add(tn_mul(tn_add(noise, -1), alpha * a), alpha * a * p);
    noise = tn_mul(noise, a);
    tn__set_no_grad(was);
    return tn_add(tn_mul(x, noise), b);
}

tn_tensor *tn__fn_alpha_dropout(tn_tensor *x, double p, bool train)
{
    return alpha_dropout(x, p, train, false);
}

tn_tensor *tn__fn_feature_alpha_dropout(tn_tensor *x, double p, bool train)
{
    return alpha_dropout(x, p, train, true);
}

tn_tensor *tn__fn_native_dropout(tn_tensor *x, double p, bool train, const tn_native_dropout_options *o)
{
    const double stays = 1 - p, scale = stays == 0 ? 0 : 1 / stays;
    tn_tensor *mask, *out = x;
    if (!tn__usable("native_dropout", x))
        return NULL;
    const bool was = tn__set_no_grad(true);
    if (!x->numel)
        mask = tn_empty_like(x);
    else if (!train)
        mask = tn_ones_like(x, .dtype = TN_BOOL);
    else
        mask = tn_bernoulli_(tn_empty_like(tn_detach(x), .dtype = TN_BOOL), stays);
    tn__set_no_grad(was);
    if (!mask)
        return NULL;
    if (x->numel && train && !tn__dtype_is_float(x->dtype))
        return tn__fail(TN_EDTYPE, "result type Float can't be cast to the desired output type %s",
                        tn__dtypes[x->dtype].legacy);
    if (x->numel)
        out = train ? tn_mul(tn_mul(x, mask), scale) : tn_clone(x);
    return tn__scope_give(mask, o->mask) ? out : NULL;
}

/* ---- rrelu ---- */

/* Slopes between low and high where x is not above 0, else 1. Of an MT19937 only the former take numbers, as in PyTorch. */
static tn_tensor *slopes_for(tn_tensor *x, double low, double high)
{
    if (tn__rng_is_mt(x->device))
        return tn__mt_slopes(tn_contiguous(x), low, high);
    tn_tensor *below = tn_le(x, 0), *ones = tn_ones(tn__shape_of(x), .dtype = x->dtype, .device = x->device);
    return below && ones ? tn__pick(below, tn_uniform_(tn_empty_like(ones), low, high), ones) : NULL;
}

tn_tensor *tn__fn_rrelu(tn_tensor *x, const tn_rrelu_options *o)
{
    double low = tn__number_or(o->lower, 0.125), high = tn__number_or(o->upper, 1.0 / 3);
    if (!tn__usable("rrelu", x))
        return NULL;
    if (!(low <= high))
        return tn__fail(TN_EINVAL, "Lower bound should be less than or equal to the upper bound");
    if (!o->training)
        return tn_leaky_relu(x, .negative_slope = tn_scalar_f((low + high) / 2));
    if (x->dtype != TN_F32 && x->dtype != TN_F64) {
        tn__no_kernel("rrelu_with_noise_out_*", x);
        return NULL;
    }
    if (x->dtype == TN_F32) {
        low = (double)(float)low;
        high = (double)(float)high;
    }
    const bool was = tn__set_no_grad(true);
    tn_tensor *slopes = slopes_for(tn_detach(x), low, high);
    tn__set_no_grad(was);
    return tn_mul(x, slopes);
}
