/* Integrals by the rule of trapezoids. */
#include "ops/compose.h"

/* x times the number, of which backward keeps nothing, as of PyTorch's: so the graph can be walked again. */
static tn_tensor *times(tn_tensor *x, double number)
{
    if (!x || !tn__dtype_is_float(x->dtype))
        return tn_mul(x, number);
    return number == -1 ? tn_sub(-0.0, x) : tn_sub_scaled(-0.0, x, -number);
}

static tn_tensor *evenly(tn_tensor *y, int32_t d, tn_scalar dx)
{
    tn_tensor *ends = tn_add(tn_select(y, d, 0), tn_select(y, d, -1));
    tn_tensor *sum = tn_sub(tn_sum(y, .dim = d), times(ends, 0.5));
    return times(sum, tn__number_or(dx, 1));
}

/* t[1:] and t[:-1] along a dimension. */
static tn_tensor *upper(tn_tensor *t, int32_t d)
{
    return t ? tn_narrow(t, d, 1, t->shape[d] - 1) : NULL;
}

static tn_tensor *lower(tn_tensor *t, int32_t d)
{
    return t ? tn_narrow(t, d, 0, t->shape[d] - 1) : NULL;
}

static tn_tensor *at_places(tn_tensor *y, tn_tensor *x, int32_t d)
{
    int64_t shape[TN_MAX_DIMS];
    const int32_t more = y->ndim - x->ndim;
    if (x->ndim == 1) {
        if (x->numel != y->shape[d])
            return tn__fail(TN_EINVAL, "trapezoid: There must be one `x` value for each sample point");
        for (int32_t i = 0; i < y->ndim; i++)
            shape[i] = i == d ? x->numel : 1;
        x = tn_reshape(x, tn_dims_of(shape, y->ndim));
    } else if (more > 0) {
        for (int32_t i = 0; i < y->ndim; i++)
            shape[i] = i < more ? 1 : x->shape[i - more];
        x = tn_reshape(x, tn_dims_of(shape, y->ndim));
    }
    tn_tensor *pairs = tn_add(upper(y, d), lower(y, d)), *steps = tn_sub(upper(x, d), lower(x, d));
    return tn_div(tn_sum(tn_mul(pairs, steps), .dim = d), 2.0);
}

tn_tensor *tn__fn_trapezoid(tn_tensor *y, int64_t dim, const tn_trapezoid_options *o)
{
    tn_tensor *x = tn__given(o->x);
    int64_t shape[TN_MAX_DIMS];
    int32_t d;
    if (!tn__usable("trapezoid", y) || (x && !tn__usable("trapezoid", x)))
        return NULL;
    if (y->ndim && o->dx.kind == TN_SCALAR_BOOL)
        return tn__fail(TN_EINVAL, "trapezoid: Currently, we only support dx as a real number.");
    if (x && y->ndim == 0)
        return tn__wrap_dim(dim, 1, &d) ? NULL
                                        : tn__fail(TN_EINDEX, "Dimension specified as 0 but tensor has no dimensions");
    if (tn__wrap_own_dim(dim, y->ndim, &d))
        return NULL;
    if (y->shape[d] == 0) {
        for (int32_t i = 0; i < y->ndim; i++)
            if (i != d)
                shape[i - (i > d)] = y->shape[i];
        return tn_zeros(tn_dims_of(shape, y->ndim - 1), .dtype = y->dtype, .device = y->device);
    }
    if (y->dtype == TN_BOOL || (x && x->dtype == TN_BOOL))
        return tn__fail(TN_EMISSING, "trapezoid: received a bool input for %s, but bool is not supported",
                        x ? "`x` or `y`" : "`y`");
    return x ? at_places(y, x, d) : evenly(y, d, o->dx);
}
