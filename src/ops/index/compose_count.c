/* How often numbers stand in a tensor: each a place of its own, to which is added. */
#include "ops/compose.h"
#include <math.h>

/* ---- whole numbers ---- */

static bool can_count(const tn_tensor *x, int64_t minlength)
{
    if (tn__dtype_is_float(x->dtype) || x->dtype == TN_BOOL || tn__dtype_is_bare(x->dtype))
        return tn__no_kernel("bincount_*", x), false;
    if (minlength < 0)
        return tn__error(TN_EINVAL, "minlength should be >= 0"), false;
    if (x->device.type == TN_DEVICE_META)
        return tn__error(TN_EMISSING, "bincount: a tensor on meta has no values to look at, so the size of the result "
                                      "is not known"),
               false;
    return true;
}

tn_tensor *tn__fn_bincount(tn_tensor *x, const tn_bincount_options *o)
{
    tn_tensor *weights = tn__given(o->weights), *low = NULL;
    if (!tn__usable("bincount", x) || !can_count(x, o->minlength))
        return NULL;
    if (x->numel && !(low = tn_min(x)))
        return NULL;
    if (x->ndim != 1 || (low && tn_item_int(low) < 0))
        return tn__fail(TN_EINVAL, "bincount only supports 1-d non-negative integral inputs.");
    if (x->numel == 0)
        return tn_zeros(TN_SHAPE(o->minlength), .dtype = TN_I64, .device = x->device);
    if (weights && !tn__same_shape(weights->shape, weights->ndim, x->shape, x->ndim))
        return tn__fail(TN_EINVAL, "weights should be 1-d and have the same length as input");
    tn_tensor *high = tn_max(x);
    if (!high)
        return NULL;
    const int64_t last = tn_item_int(high);
    if (last == INT64_MAX)
        return tn__fail(TN_ENOMEM, "bincount: the result would have more elements than an index can count");
    const tn_dtype dtype = !weights ? TN_I64 : weights->dtype == TN_F32 ? TN_F32 : TN_F64;
    const int64_t n = TN_MAX(o->minlength, last + 1);
    x = tn_contiguous(tn_to(x, .dtype = TN_I64));
    return tn__counted(x, weights ? tn_contiguous(tn_to(tn_detach(weights), .dtype = dtype)) : TN_NONE, n);
}

/* ---- parts of a range ---- */

/* The range that was asked for, or that of the elements; not of one number alone. */
static bool range_of(tn_tensor *x, const tn_histc_options *o, double *min, double *max)
{
    *min = tn__number_or(o->min, 0);
    *max = tn__number_or(o->max, 0);
    if (*min == *max && x->numel) {
        tn_tensor *low = tn_min(x), *high = tn_max(x);
        if (!low || !high)
            return false;
        if (x->device.type == TN_DEVICE_META)
            return tn__error(TN_EMISSING, "histc: a tensor on meta has no values to find a range of"), false;
        *min = tn_item(low);
        *max = tn_item(high);
    }
    if (!isfinite(*min) || !isfinite(*max))
        return tn__error(TN_EINVAL, "torch.histc: range of [%g, %g] is not finite", *min, *max), false;
    if (*min == *max) {
        *min -= 1;
        *max += 1;
    }
    if (*min > *max)
        return tn__error(TN_EINVAL, "torch.histc: max must be larger than min"), false;
    const tn_scalar ends[] = {tn_scalar_f(*min), tn_scalar_f(*max)};
    const tn_dtype own = tn__dtype_is_float(x->dtype) ? x->dtype : TN_I64;
    return x->dtype == TN_BOOL || !(tn__number_check(&ends[0], own) || tn__number_check(&ends[1], own));
}

tn_tensor *tn__fn_histc(tn_tensor *x, int64_t bins, const tn_histc_options *o)
{
    double min, max;
    if (!tn__usable("histc", x))
        return NULL;
    if (bins <= 0)
        return tn__fail(TN_EINVAL, "torch.histogram(): bins must be > 0, but got %lld for dimension 0",
                        (long long)bins);
    tn_tensor *line = tn_reshape(tn_detach(x), TN_SHAPE(-1));
    if (!line || !range_of(line, o, &min, &max))
        return NULL;
    if (!tn__dtype_is_float(x->dtype))
        return tn__no_kernel(x->dtype == TN_BOOL ? "linspace_cpu" : "histogram_cpu", x), NULL;
    if (x->dtype == TN_F32 || x->dtype == TN_F64) {
        tn_tensor *edges = tn_full(TN_SHAPE(bins + 1), 0, .dtype = x->dtype, .device = x->device);
        tn_tensor *place = tn__bins(tn_contiguous(line), edges, min, max, 0); /* the edges are not asked */
        return tn_to(tn__counted(place, TN_NONE, bins), .dtype = x->dtype);
    }
    tn_tensor *inside = tn_masked_select(line, tn_bitwise_and(tn_ge(line, min), tn_le(line, max)));
    tn_tensor *part = tn_div(tn_mul(tn_sub(inside, min), bins), max - min);
    tn_tensor *place = tn_clamp(tn_to(part, .dtype = TN_I64), 0, bins - 1);
    tn_tensor *none = tn_zeros(TN_SHAPE(bins), .dtype = x->dtype, .device = x->device);
    return inside ? tn_index_add(none, 0, place, tn_ones_like(inside)) : NULL;
}
