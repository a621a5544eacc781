/* What activations ask of their operands before their rows do. Gradients at the corners (0, the ends of a range, infinities)
 * are those of PyTorch's functions of the same name. */
#include "ops/compose.h"
#include <math.h>
#include <string.h>

/* The number as a 0-dim tensor of x's dtype, an integer one, which must be able to hold it. */
static tn_tensor *as_own(const tn_tensor *x, tn_scalar number)
{
    return tn_full(TN_SHAPE(), number, .dtype = x->dtype, .device = x->device);
}

tn_tensor *tn__fn_threshold(tn_tensor *x, tn_scalar threshold, tn_scalar value)
{
    if (!tn__usable("threshold", x))
        return NULL;
    if (x->dtype == TN_BOOL) {
        tn__no_kernel("threshold_*", x);
        return NULL;
    }
    if (tn__dtype_is_float(x->dtype))
        return tn__number_check(&threshold, x->dtype) || tn__number_check(&value, x->dtype)
                   ? NULL
                   : tn__threshold(x, threshold, value);
    tn_tensor *in_place = as_own(x, value), *limit = in_place ? as_own(x, threshold) : NULL;
    return limit ? tn__threshold(x, limit, in_place) : NULL;
}

static tn_tensor *limited(tn_tensor *x, double low, double high)
{
    if (isnan(low) || isnan(high))
        return tn_add(x, (double)NAN);
    return tn__hardtanh(x, low, high);
}

tn_tensor *tn__fn_hardtanh(tn_tensor *x, const tn_hardtanh_options *o)
{
    const double low = tn__number_or(o->min_val, -1), high = tn__number_or(o->max_val, 1);
    if (!tn__usable("hardtanh", x))
        return NULL;
    if (low > high)
        return tn__fail(TN_EVALUE, "min_val cannot be greater than max_val");
    if (tn__dtype_is_float(x->dtype)) { /* what x's dtype cannot hold is refused */
        const tn_scalar ends[] = {tn_scalar_f(low), tn_scalar_f(high)};
        return tn__number_check(&ends[0], x->dtype) || tn__number_check(&ends[1], x->dtype) ? NULL
                                                                                            : limited(x, low, high);
    }
    if (x->dtype == TN_BOOL)
        return tn__fail(TN_EMISSING, "Bool inputs not supported for hardtanh");
    if (!isfinite(low) || !isfinite(high))
        return tn__fail(TN_EINVAL, "value cannot be converted to type int64_t without overflow");
    return tn_clamp(x, (int64_t)low, (int64_t)high); /* the result has x's dtype */
}

tn_tensor *tn__fn_hardsigmoid(tn_tensor *x)
{
    return tn__floating("hardsigmoid_*", x) ? tn__hardsigmoid(x) : NULL;
}

tn_tensor *tn__fn_hardswish(tn_tensor *x)
{
    return tn__floating("hardswish_*", x) ? tn__hardswish(x) : NULL;
}

/* Do the slopes fit x: one for all, or one for each channel? */
static bool slopes_fit(const tn_tensor *x, const tn_tensor *weight)
{
    const int64_t channels = x->ndim > 1 ? x->shape[1] : 1;
    if (x->dtype != weight->dtype)
        tn__error(TN_EDTYPE, "prelu: Type promoting not supported. Got %s and %s", tn__dtypes[x->dtype].legacy,
                  tn__dtypes[weight->dtype].legacy);
    else if (weight->numel != 1 && x->ndim == 0)
        tn__error(TN_EINVAL, "Not allow zero-dim input tensor.");
    else if (weight->numel != 1 && weight->numel != channels)
        tn__error(TN_EINVAL,
                  "Mismatch of parameter numbers and input channel size. Found parameter numbers = %lld and channel "
                  "size = %lld.",
                  (long long)weight->numel, (long long)channels);
    else if (weight->ndim > 1)
        tn__error(TN_EINVAL, "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = %d",
                  (int)weight->ndim);
    else
        return true;
    return false;
}

tn_tensor *tn__fn_prelu(tn_tensor *x, tn_tensor *weight)
{
    int64_t shape[TN_MAX_DIMS];
    if (!tn__usable("prelu", x) || !tn__usable("prelu", weight) || !slopes_fit(x, weight) ||
        !tn__floating("prelu_*", x))
        return NULL;
    for (int32_t d = 0; d < x->ndim; d++)
        shape[d] = d == 1 ? weight->numel : 1;
    if (weight->numel != 1)
        weight = tn_reshape(weight, tn_dims_of(shape, x->ndim));
    else if (x->ndim == 0)
        weight = tn_reshape(weight, TN_SHAPE());
    return tn__leaky_relu(x, weight);
}

tn_tensor *tn__fn_celu(tn_tensor *x, const tn_celu_options *o)
{
    const double alpha = tn__number_or(o->alpha, 1);
    if (!tn__usable("celu", x))
        return NULL;
    if (alpha == 0)
        return tn__fail(TN_EINVAL, "ZeroDivisionError: alpha cannot be 0 for CELU");
    if (!tn__floating("elu_*", x))
        return NULL;
    return tn__celu(x, alpha);
}

tn_tensor *tn__fn_selu(tn_tensor *x)
{
    return tn__floating("elu_*", x) ? tn__selu(x) : NULL;
}

tn_tensor *tn__fn_mish(tn_tensor *x)
{
    return tn__floating("mish_*", x) ? tn__mish(x) : NULL;
}

tn_tensor *tn__fn_logsigmoid(tn_tensor *x)
{
    return tn__floating("log_sigmoid_*", x) ? tn_contiguous(tn__logsigmoid(x)) : NULL;
}

tn_tensor *tn__fn_softsign(tn_tensor *x)
{
    return tn__softsign(x);
}

tn_tensor *tn__fn_tanhshrink(tn_tensor *x)
{
    return tn__tanhshrink(x);
}

tn_tensor *tn__fn_hardshrink(tn_tensor *x, const tn_hardshrink_options *o)
{
    if (!tn__floating("hardshrink_*", x))
        return NULL;
    const tn_scalar lambd = o->lambd.kind ? o->lambd : tn_scalar_f(0.5);
    return tn__hardshrink(x, lambd);
}

tn_tensor *tn__fn_softshrink(tn_tensor *x, const tn_softshrink_options *o)
{
    const double lambd = tn__number_or(o->lambd, 0.5);
    if (!tn__floating("softshrink_check", x))
        return NULL;
    const double most = tn__largest(x->dtype);
    if (!(lambd >= 0 && lambd <= most))
        return tn__fail(TN_EINVAL, "lambda must be in range [0, %g] for input dtype %s, but found %g", most,
                        tn__dtypes[x->dtype].legacy, lambd);
    return tn__softshrink(x, lambd);
}

tn_tensor *tn__fn_glu(const tn_scalar *in, tn__glu_params *p)
{
    tn_tensor *x = in[0].v.t;
    int32_t at;
    tn_tensor *half[2];
    if (!tn__usable("glu", x))
        return NULL;
    if (x->ndim == 0)
        return tn__fail(TN_EINVAL, "glu does not support scalars because halving size must be even");
    if (tn__wrap_dim(p->dim, x->ndim, &at))
        return NULL;
    if (x->shape[at] % 2)
        return tn__fail(TN_EINVAL, "Halving dimension must be even, but dimension %d is size %lld", (int)at,
                        (long long)x->shape[at]);
    if (!tn__floating("glu_*", x) || tn_chunk(x, 2, at, half, 2) == 0)
        return NULL;
    return tn__gated(half[0], half[1]);
}
