/* Reductions composed of others: counts, and sums that leave out NaN. */
#include "ops/compose.h"

tn_tensor *tn__fn_count_nonzero(tn_tensor *x, const tn_count_nonzero_options *o)
{
    return tn_sum(tn_ne(x, 0), .dims = o->dims);
}

/* Has no sum of a CPU's tensor come out as NaN? Then none of its elements is one. A GPU is not waited for. */
static bool none_is_nan(tn_tensor *sum)
{
    if (!sum || sum->device.type != TN_DEVICE_CPU)
        return false;
    const bool was = tn__set_no_grad(true);
    tn_tensor *all = tn_all(tn_eq(sum, sum));
    tn__set_no_grad(was);
    return all && tn_item_int(all) != 0;
}

tn_tensor *tn__fn_nansum(tn_tensor *x, const tn_nansum_options *o)
{
    if (!tn__usable("nansum", x))
        return NULL;
    const bool whole = !tn__dtype_is_float(x->dtype), kept = !o->dtype || tn__dtype_is_float(o->dtype);
    tn_tensor *sum = NULL;
    if (whole || (kept && x->device.type == TN_DEVICE_CPU))
        sum = tn_sum(x, .dims = o->dims, .keepdim = o->keepdim, .dtype = o->dtype);
    if (whole || none_is_nan(sum))
        return sum;
    x = tn_masked_fill(x, tn_isnan(x), 0.0);
    return tn_sum(x, .dims = o->dims, .keepdim = o->keepdim, .dtype = o->dtype);
}

tn_tensor *tn__fn_nanmean(tn_tensor *x, const tn_nanmean_options *o)
{
    if (!tn__usable("nanmean", x))
        return NULL;
    if (!tn__dtype_is_float(x->dtype))
        return tn__fail(TN_EMISSING, "nanmean(): expected input to have floating point or complex dtype but got %s",
                        tn__dtypes[x->dtype].legacy);
    if (o->dtype && !tn__dtype_is_float(o->dtype))
        return tn__fail(
            TN_EDTYPE,
            "nanmean(): could not infer output dtype. Optional dtype must be either a floating point or complex "
            "dtype. Got: %s",
            tn__dtypes[o->dtype].legacy);
    tn_tensor *sum = tn_nansum(x, .dims = o->dims, .keepdim = o->keepdim, .dtype = o->dtype);
    tn_tensor *count = tn_sum(tn_eq(x, x), .dims = o->dims, .keepdim = o->keepdim);
    return tn_div(sum, count);
}
