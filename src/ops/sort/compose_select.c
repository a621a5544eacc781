/* What stands at a place of the order: the k-th, medians, what is there most often. */
#include "ops/compose.h"
#include "ops/sort/infer_select.h"
#include <math.h>

/* x's dimension as the last one, row-major; of a 0-dim x one element. NULL with the function's refusal, if it has none. */
static tn_tensor *rows_of(const char *what, tn_tensor *x, int32_t d)
{
    if (x->ndim && x->shape[d] == 0)
        return tn__fail(TN_EINDEX, "%s(): Expected reduction dim %d to have non-zero size.", what, (int)d);
    return tn_contiguous(x->ndim ? tn_movedim(x, TN_DIMS(d), TN_DIMS(-1)) : x);
}

/* A result for each row, with the dimension of size 1 if it is kept; and where each was. */
static tn_tensor *reduced(tn_tensor *values, tn_tensor *indices, const tn_tensor *x, int32_t d, bool keepdim,
                          tn_tensor **out)
{
    if (keepdim && x->ndim) {
        values = tn__no_view(tn_unsqueeze(values, d));
        indices = tn__no_view(tn_unsqueeze(indices, d));
    }
    return tn__scope_give(indices, out) ? values : NULL;
}

static bool has_kernel(const char *kernel, const tn_tensor *x, bool of_bool)
{
    if ((x->dtype != TN_BOOL || of_bool) && !tn__dtype_is_bare(x->dtype))
        return true;
    tn__no_kernel(kernel, x);
    return false;
}

tn_tensor *tn__fn_kthvalue(tn_tensor *x, int64_t k, int64_t dim, const tn_kthvalue_options *o)
{
    int32_t d;
    if (!tn__usable("kthvalue", x) || tn__wrap_dim(dim, x->ndim, &d))
        return NULL;
    tn_tensor *rows = rows_of("kthvalue", x, d), *indices = NULL;
    if (!rows)
        return NULL;
    if (k < 1 || k > (x->ndim ? x->shape[d] : 1))
        return tn__fail(TN_EINVAL, "kthvalue(): selected number k out of range for dimension %d", (int)d);
    if (!has_kernel("kthvalue_*", x, false))
        return NULL;
    tn_tensor *values = tn__select(rows, k - 1, TN__SELECT_KTH, .indices = &indices);
    return reduced(values, indices, x, d, o->keepdim, o->indices);
}

/* ---- medians ---- */

static tn_tensor *median_along(const char *what, tn_tensor *x, int which, const tn_median_options *o)
{
    int32_t d;
    if (tn__wrap_dim(o->dim, x->ndim, &d))
        return NULL;
    tn_tensor *rows = rows_of(what, x, d), *indices = NULL;
    if (!rows || !has_kernel("median_out", x, false))
        return NULL;
    const int64_t n = x->ndim ? x->shape[d] : 1;
    tn_tensor *values = tn__select(rows, (n - 1) / 2, which, .indices = &indices);
    return reduced(values, indices, x, d, o->keepdim, o->indices);
}

/* Of no elements: NaN; of integers what a processor makes of NaN: the lowest of 32 and 64 bits, whose low bits are 0. */
static tn_tensor *median_of_all(tn_tensor *x, int64_t k, int which)
{
    if (x->numel == 0) {
        const bool is_float = tn__dtype_is_float(x->dtype);
        const int64_t lowest = x->dtype == TN_I64 ? INT64_MIN : x->dtype == TN_I32 ? INT32_MIN : 0;
        return tn_full(TN_SHAPE(), is_float ? tn_scalar_f(NAN) : tn_scalar_i(lowest), .dtype = x->dtype,
                       .device = x->device);
    }
    tn_tensor *indices = NULL, *line = tn_contiguous(tn_reshape(x, TN_SHAPE(-1)));
    return line ? tn__select(line, k, which, .indices = &indices) : NULL;
}

tn_tensor *tn__fn__median(const tn_scalar *in, tn__median_params *p)
{
    return median_of_all(in[0].v.t, p->k, TN__SELECT_MEDIAN);
}

tn_tensor *tn__fn__nanmedian(const tn_scalar *in, tn__nanmedian_params *p)
{
    return median_of_all(in[0].v.t, p->k, TN__SELECT_NANMEDIAN);
}

tn_tensor *tn__fn_median(tn_tensor *x, const tn_median_options *o)
{
    if (!tn__usable("median", x))
        return NULL;
    if (o->dim_given)
        return median_along("median", x, TN__SELECT_MEDIAN, o);
    return has_kernel("median_*", x, false) ? tn__median(x, (x->numel - 1) / 2) : NULL;
}

tn_tensor *tn__fn_nanmedian(tn_tensor *x, const tn_nanmedian_options *o)
{
    const tn_median_options along = {.dim = o->dim, .keepdim = o->keepdim, .indices = o->indices};
    if (!tn__usable("nanmedian", x))
        return NULL;
    if (o->dim_given)
        return median_along("nanmedian", x, TN__SELECT_NANMEDIAN, &along);
    return has_kernel("median_*", x, false) ? tn__nanmedian(x, (x->numel - 1) / 2) : NULL;
}

/* ---- what is there most often ---- */

/* How many of the same are before each element of sorted rows, along the last dimension. */
static tn_tensor *equals_before(tn_tensor *sorted)
{
    const int64_t n = sorted->shape[sorted->ndim - 1];
    tn_tensor *first = tn_ones_like(tn_narrow(sorted, -1, 0, 1), .dtype = TN_BOOL);
    tn_tensor *other = tn_ne(tn_narrow(sorted, -1, 1, n - 1), tn_narrow(sorted, -1, 0, n - 1));
    tn_tensor *begins = n > 1 ? tn_cat(TN_TENSORS(first, other), -1) : first;
    tn_tensor *place = tn_arange(0, n, 1, .dtype = TN_I64, .device = sorted->device);
    return tn_sub(place, tn_cummax(tn_mul(place, begins), -1));
}

/* The longest run of equals, the first of such: where its last one was. */
tn_tensor *tn__fn_mode(tn_tensor *x, int64_t dim, const tn_mode_options *o)
{
    int32_t d;
    if (!tn__usable("mode", x) || tn__wrap_dim(dim, x->ndim, &d))
        return NULL;
    tn_tensor *rows = rows_of("mode", x, d), *indices = NULL;
    if (!rows || !has_kernel("mode_*", x, true))
        return NULL;
    if (x->ndim == 0)
        return reduced(tn_clone(x), tn_zeros(TN_SHAPE(), .dtype = TN_I64, .device = x->device), x, d, false,
                       o->indices);
    tn_tensor *sorted = tn_sort(tn_detach(rows), -1, .indices = &indices);
    if (!sorted)
        return NULL;
    tn_tensor *at;
    if (rows->device.type == TN_DEVICE_CPU)
        at = tn__most(sorted, indices);
    else
        at = tn_gather(indices, -1,
                       rows->numel ? tn_argmax(equals_before(sorted), .dim = -1, .keepdim = true)
                                   : tn_narrow(indices, -1, 0, 1));
    tn_tensor *values = tn__no_view(tn_squeeze(tn_gather(rows, -1, at), .dim = -1));
    return reduced(values, tn__no_view(tn_squeeze(at, .dim = -1)), x, d, o->keepdim, o->indices);
}
