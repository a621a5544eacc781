/* Functions of the family scan that are composed of others. */
#include "ops/compose.h"

/* ---- integrals by the rule of trapezoids ---- */

/* t[1:] or t[:-1] along a dimension. */
static tn_tensor *part(tn_tensor *t, int32_t d, int64_t from)
{
    return t ? tn_narrow(t, d, from, TN_MAX(t->shape[d] - 1, 0)) : NULL;
}

/* The places of a tensor of y's dimensions: of one dimension they are along dim, of fewer the last ones are the same. */
static tn_tensor *places_like(tn_tensor *x, const tn_tensor *y, int32_t d)
{
    int64_t shape[TN_MAX_DIMS];
    const int32_t more = y->ndim - x->ndim;
    if (x->ndim == 1 && x->numel != y->shape[d])
        return tn__fail(TN_EINVAL, "cumulative_trapezoid: There must be one `x` value for each sample point");
    if (more <= 0 && x->ndim != 1)
        return x;
    for (int32_t i = 0; i < y->ndim; i++)
        shape[i] = x->ndim == 1 ? (i == d ? x->numel : 1) : i < more ? 1 : x->shape[i - more];
    return tn_reshape(x, tn_dims_of(shape, y->ndim));
}

tn_tensor *tn__fn_cumulative_trapezoid(tn_tensor *y, int64_t dim, const tn_cumulative_trapezoid_options *o)
{
    const char *what = "cumulative_trapezoid";
    tn_tensor *x = tn__given(o->x);
    int32_t d;
    if (!tn__usable(what, y) || (x && !tn__usable(what, x)))
        return NULL;
    if (y->dtype == TN_BOOL || (x && x->dtype == TN_BOOL))
        return tn__fail(TN_EMISSING, "%s: received a bool input for %s, but bool is not supported", what,
                        x ? "`x` or `y`" : "`y`");
    if (o->dx.kind == TN_SCALAR_BOOL)
        return tn__fail(TN_EINVAL, "%s: Currently, we only support dx as a real number.", what);
    if (tn__wrap_dim(dim, y->ndim, &d))
        return NULL;
    if (y->ndim == 0)
        return tn__fail(TN_EINDEX, x ? "Dimension specified as 0 but tensor has no dimensions"
                                     : "slice() cannot be applied to a 0-dim tensor.");
    if (x && !(x = places_like(x, y, d)))
        return NULL;
    tn_tensor *pairs = tn_add(part(y, d, y->shape[d] > 0), part(y, d, 0));
    if (!x)
        return tn_mul(tn_cumsum(pairs, d), tn__number_or(o->dx, 1) / 2);
    return tn_div(tn_cumsum(tn_mul(tn_sub(part(x, d, x->shape[d] > 0), part(x, d, 0)), pairs), d), 2.0);
}
