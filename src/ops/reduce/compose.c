/* Functions of the family reduce that are composed of others. */
#include "autograd/functions.h"
#include "op/infer.h"
#include <math.h>
#include <tenon/tensor.h>

/* ---- layout ---- */

tn_tensor *tn__fn_sum_to_size(tn_tensor *x, const tn_dims *shape)
{
    int64_t dims[TN_MAX_DIMS];
    int32_t n = 0;
    if (!tn__usable("sum_to_size", x) || !tn__dims_fit("sum_to_size", shape))
        return NULL;
    int32_t lead = x->ndim - shape->ndim;
    bool fits = lead >= 0;
    for (int32_t d = 0; fits && d < x->ndim; d++) {
        int64_t want = d < lead ? 1 : shape->dim[d - lead];
        fits = d < lead || want == 1 || want == x->shape[d];
        if (d < lead || (want == 1 && x->shape[d] != 1))
            dims[n++] = d;
    }
    if (!fits)
        return tn__fail(TN_EINVAL, "size {%s} is not expandable to size {%s}.",
                        tn__shape_str(shape->dim, shape->ndim).s, tn__shape_str(x->shape, x->ndim).s);
    if (x->ndim == 0) /* a sum all the same: integers become int64 */
        return tn_sum(x);
    tn_tensor *sum = n ? tn_sum(x, .dims = tn_dims_of(dims, n), .keepdim = true) : x;
    return lead > 0 ? tn_view(sum, *shape) : sum;
}

/* ---- reductions made of others ---- */

tn_tensor *tn__fn_logsumexp(tn_tensor *x, const tn_logsumexp_options *o)
{
    if (!tn__usable("logsumexp", x))
        return NULL;
    if (!tn__dtype_is_float(x->dtype))
        x = tn_to(x, .dtype = tn__default_dtype());
    return tn__logsumexp(x, o->dims, o->keepdim);
}

/* ---- two of the same elements ---- */

/* All elements of a run of the CPU's that the loops compute with, where nothing asks for gradients? */
static bool is_one_pass(const tn_tensor *x, const tn_aminmax_options *o)
{
    return o->max && !o->dim_given && !o->keepdim && x && x != TN_NONE && x->device.type == TN_DEVICE_CPU && x->numel &&
           !tn__dtype_is_bare(x->dtype) && tn__is_dense(x->shape, x->stride, x->ndim) &&
           (tn__self()->no_grad || !tn__requires_grad(x));
}

tn_tensor *tn__fn_aminmax(tn_tensor *x, const tn_aminmax_options *o)
{
    const tn_dims dims = o->dim_given ? TN_DIMS(o->dim) : (tn_dims){0};
    tn_tensor *least, *most;
    if (is_one_pass(x, o)) {
        least = tn__extremes(x, .max = &most);
        return least && tn__scope_give(most, o->max) ? least : NULL;
    }
    least = tn_amin(x, .dims = dims, .keepdim = o->keepdim);
    if (!least || !o->max)
        return least;
    return tn__scope_give(tn_amax(x, .dims = dims, .keepdim = o->keepdim), o->max) ? least : NULL;
}

/* The spread, and the mean if it is asked for. */
static tn_tensor *with_mean(tn_tensor *spread, tn_tensor *x, const tn_dims *dims, bool keepdim, tn_tensor **mean)
{
    if (!spread || !mean)
        return spread;
    return tn__scope_give(tn_mean(x, .dims = *dims, .keepdim = keepdim), mean) ? spread : NULL;
}

static bool has_spread(const char *what, const tn_tensor *x)
{
    if (!tn__usable(what, x))
        return false;
    if (!tn__dtype_is_float(x->dtype))
        tn__error(TN_EDTYPE, "%s only support floating point and complex dtypes", what);
    return tn__dtype_is_float(x->dtype);
}

tn_tensor *tn__fn_var_mean(tn_tensor *x, const tn_var_mean_options *o)
{
    if (!has_spread("var_mean", x))
        return NULL;
    tn_tensor *var = tn_var(x, .dims = o->dims, .keepdim = o->keepdim, .correction = o->correction);
    return with_mean(var, x, &o->dims, o->keepdim, o->mean);
}

tn_tensor *tn__fn_std_mean(tn_tensor *x, const tn_std_mean_options *o)
{
    if (!has_spread("std_mean", x))
        return NULL;
    tn_tensor *std = tn_std(x, .dims = o->dims, .keepdim = o->keepdim, .correction = o->correction);
    return with_mean(std, x, &o->dims, o->keepdim, o->mean);
}

/* ---- bounds and comparisons ---- */

bool tn__fn_allclose(tn_tensor *a, tn_tensor *b, const tn_allclose_options *o)
{
    const tn_isclose_options c = {sizeof c, NULL, o->rtol, o->atol, o->equal_nan};
    tn_tensor *close = tn__fn_isclose(a, b, &c);
    close = tn_all(close);
    return close && tn_item(close) != 0;
}

static bool is_true(tn_tensor *all)
{
    return all && tn_item(all) != 0;
}

enum {
    SOON = 256
}; /* elements: so many are looked at before more are, which mostly is enough to know that they differ */

/* On the host, of one dtype, and in the same order without gaps? */
static bool are_runs(const tn_tensor *a, const tn_tensor *b)
{
    const bool host = a->device.type == TN_DEVICE_CPU && b->device.type == TN_DEVICE_CPU;
    if (!host || a->dtype != b->dtype || !tn__is_dense(a->shape, a->stride, a->ndim))
        return false;
    for (int32_t d = 0; d < a->ndim; d++)
        if (a->stride[d] != b->stride[d] && a->shape[d] != 1)
            return false;
    return true;
}

/* The first elements in the order of indices, few in each dimension: rows of tensors that do not lie alike may cross all of
 * memory, and what differs mostly does so at once. */
static tn_tensor *corner(tn_tensor *x)
{
    int64_t room = 32;
    for (int32_t d = x->ndim - 1; d >= 0; d--) {
        if (x->shape[d] > room && !(x = tn_narrow(x, d, 0, room)))
            return NULL;
        room = TN_MAX(room / x->shape[d], 1);
    }
    return x;
}

bool tn__fn_equal(tn_tensor *a, tn_tensor *b)
{
    if (!tn__usable("equal", a) || !tn__usable("equal", b) || !tn__same_shape(a->shape, a->ndim, b->shape, b->ndim))
        return false;
    if (are_runs(a, b))
        return is_true(tn__equal_runs(a, b));
    const bool host = a->device.type == TN_DEVICE_CPU && a->ndim && a->numel > SOON;
    if (host && !is_true(tn_all(tn_eq(corner(a), corner(b)))))
        return false;
    const int64_t rows = host ? a->shape[0] : 0, first = host ? TN_MAX(SOON / (a->numel / rows), 1) : 0;
    for (int64_t at = 0, n = first; at < rows; at += n, n = TN_MIN(8 * n, 512 * first)) {
        n = TN_MIN(n, rows - at);
        if (!is_true(tn_all(tn_eq(tn_narrow(a, 0, at, n), tn_narrow(b, 0, at, n)))))
            return false;
    }
    return host || is_true(tn_all(tn_eq(a, b)));
}
