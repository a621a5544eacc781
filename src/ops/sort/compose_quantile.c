/* Quantiles: between the two elements of the order that q (n - 1) is between. */
#include "ops/compose.h"
#include "ops/sort/infer_select.h"
#include <math.h>
#include <string.h>

typedef enum mode { LINEAR, LOWER, HIGHER, MIDPOINT, NEAREST, NO_MODE } mode;

typedef struct question {
    const char *what;
    bool ignores_nan;
    const int64_t *dim; /* NULL: of all elements */
    bool keepdim;
    mode mode;
    bool one; /* q is 0-dim */
} question;

static mode mode_of(const char *what, const char *name)
{
    static const char *const names[] = {"linear", "lower", "higher", "midpoint", "nearest"};
    for (int i = 0; i < NO_MODE; i++)
        if (!name || !strcmp(name, names[i]))
            return (mode)i;
    tn__error(TN_EINVAL, "%s() interpolation must be one of linear, lower, higher, midpoint or nearest, but got %s",
              what, name);
    return NO_MODE;
}

static bool q_fits(const char *what, const tn_tensor *x, const tn_tensor *q)
{
    if (x->numel == 0)
        tn__error(TN_EINVAL, "%s() input tensor must be non-empty", what);
    else if (q && q->ndim > 1)
        tn__error(TN_EINVAL, "%s() q must be a scalar or 1D tensor", what);
    else if (x->dtype != TN_F32 && x->dtype != TN_F64)
        tn__error(TN_EINVAL, "%s() input tensor must be either float or double dtype", what);
    else if (q && q->dtype != x->dtype)
        tn__error(TN_EINVAL, "%s() q tensor must be same dtype as the input tensor", what);
    else if (q && !tn__same_device(q->device, x->device))
        tn__error(TN_EINVAL, "%s() q tensor must be on the same device as the input tensor", what);
    else
        return true;
    return false;
}

/* Read where that costs no wait. */
static bool in_range(tn_tensor *q)
{
    if (q->device.type != TN_DEVICE_CPU || q->numel == 0)
        return true;
    tn_tensor *d = tn_detach(q), *fit = tn_all(tn_logical_and(tn_ge(d, 0), tn_le(d, 1)));
    if (fit && !tn_item_int(fit))
        tn__error(TN_EINVAL, "quantile() q values must be in the range [0, 1]");
    return fit && tn_item_int(fit);
}

/* ---- the values, with the parts of q in the last dimension ---- */

static tn_tensor *between(tn_tensor *below, tn_tensor *above, tn_tensor *weight)
{
    return below && above ? tn_lerp(below, above, tn_scalar_t(weight)) : NULL;
}

/* By sorting the rows, for many parts or such that are not known here. */
static tn_tensor *by_order(tn_tensor *rows, tn_tensor *q, const question *ask)
{
    const int64_t last = rows->shape[rows->ndim - 1] - 1;
    tn_tensor *sorted = tn_sort(rows, -1), *nan = tn_isnan(tn_detach(sorted)), *rank;
    if (!sorted || !nan)
        return NULL;
    if (ask->ignores_nan) {
        tn_tensor *count = tn_sum(tn_logical_not(nan), .dim = -1, .keepdim = true);
        rank = tn_clamp_min(tn_mul(q, tn_sub(count, 1)), 0);
    } else {
        rank = tn_masked_fill(tn_mul(q, last), tn_any(nan, .dim = -1, .keepdim = true), (double)last);
    }
    if (ask->mode == LOWER || ask->mode == HIGHER || ask->mode == NEAREST)
        rank = ask->mode == LOWER ? tn_floor(rank) : ask->mode == HIGHER ? tn_ceil(rank) : tn_round(rank);
    tn_tensor *low = tn_to(rank, .dtype = TN_I64), *below = tn_gather(sorted, -1, low);
    if (ask->mode != LINEAR && ask->mode != MIDPOINT)
        return below;
    tn_tensor *high = tn_to(tn_ceil(tn_detach(rank)), .dtype = TN_I64);
    tn_tensor *weight = ask->mode == MIDPOINT ? tn_full_like(rank, 0.5) : tn_sub(rank, low);
    return between(below, tn_gather(sorted, -1, high), weight);
}

/* One part that is known: by the elements that it is between. */
static tn_tensor *by_selection(tn_tensor *rows, double q, const question *ask)
{
    const int64_t last = rows->shape[rows->ndim - 1] - 1;
    const double rank = rows->dtype == TN_F32 ? (double)((float)q * (float)last) : q * (double)last;
    const int64_t low = (int64_t)(ask->mode == HIGHER    ? ceil(rank)
                                  : ask->mode == NEAREST ? nearbyint(rank)
                                                         : floor(rank));
    const bool two = ask->mode == LINEAR || ask->mode == MIDPOINT;
    const int64_t high = two ? (int64_t)ceil(rank) : low;
    tn_tensor *places = NULL, *below = tn__select(rows, low, TN__SELECT_MEDIAN, .indices = &places), *above = below;
    if (two && high > low)
        above = tn__select(rows, high, TN__SELECT_MEDIAN, .indices = &places);
    tn_tensor *all = two && below ? tn_lerp(below, above, ask->mode == MIDPOINT ? 0.5 : rank - (double)low) : below;
    return all ? tn__no_view(tn_unsqueeze(all, -1)) : NULL;
}

/* ---- the result's dimensions ---- */

static tn_tensor *answered(tn_tensor *x, tn_tensor *q, double number, const question *ask)
{
    int32_t d = 0;
    if (ask->dim && tn__wrap_dim(*ask->dim, x->ndim, &d))
        return NULL;
    const bool whole = !ask->dim || x->ndim == 0;
    tn_tensor *rows = whole ? tn_reshape(x, TN_SHAPE(-1)) : tn_movedim(x, TN_DIMS(d), TN_DIMS(-1));
    if (!rows || !(rows = tn_contiguous(rows)))
        return NULL;
    tn_tensor *values = q ? by_order(rows, tn_reshape(q, TN_SHAPE(-1)), ask) : by_selection(rows, number, ask);
    if (!values)
        return NULL;
    if (ask->keepdim && x->ndim) { /* [1, ..., parts] or [..., 1, ..., parts] */
        int64_t shape[TN_MAX_DIMS];
        for (int32_t i = 0; i < x->ndim; i++)
            shape[i] = whole || i == d ? 1 : x->shape[i];
        if (x->ndim == TN_MAX_DIMS && !ask->one)
            return tn__fail(TN_EINVAL, "%s(): a result of more than %d dimensions", ask->what, TN_MAX_DIMS);
        if (ask->one)
            return tn__no_view(tn_reshape(values, tn_dims_of(shape, x->ndim)));
        shape[x->ndim] = values->shape[values->ndim - 1];
        values = tn_reshape(values, tn_dims_of(shape, x->ndim + 1));
    }
    if (ask->one)
        return tn__no_view(tn_squeeze(values, .dim = -1));
    return tn__no_view(tn_movedim(values, TN_DIMS(-1), TN_DIMS(0)));
}

static tn_tensor *quantile(tn_tensor *x, tn_scalar part, question *ask, const char *interpolation)
{
    tn_tensor *q = part.kind == TN_SCALAR_TENSOR ? part.v.t : NULL;
    const double number = q ? 0 : tn__scalar_double(&part);
    if (!tn__usable(ask->what, x) || (q && !tn__usable(ask->what, q)))
        return NULL;
    if (!q && !(number >= 0 && number <= 1))
        return tn__fail(TN_EINVAL, "quantile() q must be in the range [0, 1] but got %g", number);
    if (!q_fits(ask->what, x, q))
        return NULL;
    ask->mode = mode_of(ask->what, interpolation);
    ask->one = !q || q->ndim == 0;
    if (ask->mode == NO_MODE || (q && !in_range(q)))
        return NULL;
    if (!q && ask->ignores_nan)
        q = tn_full(TN_SHAPE(), number, .dtype = x->dtype, .device = x->device);
    return answered(x, q, number, ask);
}

tn_tensor *tn__fn_quantile(tn_tensor *x, tn_scalar q, const tn_quantile_options *o)
{
    question ask = {.what = "quantile", .dim = o->dim_given ? &o->dim : NULL, .keepdim = o->keepdim};
    return quantile(x, q, &ask, o->interpolation);
}

tn_tensor *tn__fn_nanquantile(tn_tensor *x, tn_scalar q, const tn_nanquantile_options *o)
{
    question ask = {
        .what = "nanquantile", .ignores_nan = true, .dim = o->dim_given ? &o->dim : NULL, .keepdim = o->keepdim};
    return quantile(x, q, &ask, o->interpolation);
}
