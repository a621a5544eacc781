/* Sorting along any dimension: rows of the last one are sorted, wherever the dimension has to be brought for that. */
#include "ops/compose.h"
#include "op/infer.h"
#include <string.h>

/* The dimension as the last one, row-major. */
static tn_tensor *rows_along(tn_tensor *x, int32_t dim)
{
    return tn_contiguous(x->ndim && dim != x->ndim - 1 ? tn_transpose(x, dim, -1) : x);
}

/* What was made of such rows, as x has its dimensions, row-major in the strides of dimensions of one element, too. */
static tn_tensor *back_from_rows(tn_tensor *t, const tn_tensor *x, int32_t dim)
{
    int64_t stride[TN_MAX_DIMS];
    if (!t || !x->ndim || dim == x->ndim - 1 || !(t = tn_contiguous(tn_transpose(t, dim, -1))))
        return t;
    tn__contiguous_strides(t->shape, t->ndim, stride);
    return tn__same_shape(t->stride, t->ndim, stride, t->ndim) ? t : tn__restride(t, tn_dims_of(stride, t->ndim));
}

/* The dimensions of x from slowest to fastest, as its strides have them; its place in that order instead of dim. True if that is
 * not their order already. */
static bool slowest_first(const tn_tensor *x, int32_t *dim, int64_t *order, int64_t *back)
{
    int32_t fastest_first[TN_MAX_DIMS], at = *dim;
    int64_t stride[1][TN_MAX_DIMS];
    bool moved = false;
    memcpy(stride[0], x->stride, sizeof stride[0]);
    tn__iter_order(x->shape, x->ndim, (const int64_t(*)[TN_MAX_DIMS])stride, 1, fastest_first);
    for (int32_t d = 0; d < x->ndim; d++) {
        order[d] = fastest_first[x->ndim - 1 - d];
        back[order[d]] = d;
        moved |= order[d] != d;
        if (order[d] == at)
            *dim = d;
    }
    return moved;
}

/* Row-major results of a row-major x take its strides, which may be others where a dimension has one element or none. */
static tn_tensor *lying_as(tn_tensor *t, const tn_tensor *x)
{
    if (!t || !tn__contiguous(x) || tn__same_shape(t->stride, t->ndim, x->stride, x->ndim))
        return t;
    return tn__restride(t, tn_dims_of(x->stride, x->ndim));
}

static tn_tensor *order_of(tn_tensor *x, int32_t dim, bool descending)
{
    tn_tensor *rows = rows_along(tn_detach(x), dim);
    return rows ? back_from_rows(tn__order(rows, descending), x, dim) : NULL;
}

/* Results lie as x does, as PyTorch's do: sorted is what x's dimensions, turned so that it is row-major, give. */
tn_tensor *tn__fn_argsort(tn_tensor *x, int64_t dim, const tn_argsort_options *o)
{
    int32_t d;
    if (!tn__usable("argsort", x) || tn__wrap_dim(dim, x->ndim, &d))
        return NULL;
    int64_t order[TN_MAX_DIMS], back[TN_MAX_DIMS];
    if (!slowest_first(x, &d, order, back))
        return lying_as(order_of(x, d, o->descending), x);
    tn_tensor *turned = tn_permute(tn_detach(x), tn_dims_of(order, x->ndim));
    return turned ? tn_permute(order_of(turned, d, o->descending), tn_dims_of(back, x->ndim)) : NULL;
}

tn_tensor *tn__fn_sort(tn_tensor *x, int64_t dim, const tn_sort_options *o)
{
    int32_t d;
    if (!tn__usable("sort", x) || tn__wrap_dim(dim, x->ndim, &d))
        return NULL;
    int64_t order[TN_MAX_DIMS], back[TN_MAX_DIMS];
    const bool turned = slowest_first(x, &d, order, back);
    if (turned && !(x = tn_permute(x, tn_dims_of(order, x->ndim))))
        return NULL;
    tn_tensor *rows = rows_along(x, d), *indices = NULL, *values;
    if (!rows)
        return NULL;
    values = back_from_rows(tn__sort(rows, o->descending, .indices = &indices), x, d);
    indices = back_from_rows(indices, x, d);
    if (turned) {
        indices = tn_permute(indices, tn_dims_of(back, x->ndim));
        values = tn_permute(values, tn_dims_of(back, x->ndim));
    } else {
        indices = lying_as(indices, x);
        values = lying_as(values, x);
    }
    return tn__scope_give(indices, o->indices) ? values : NULL;
}

tn_tensor *tn__fn_msort(tn_tensor *x)
{
    return tn_sort(x, 0);
}

tn_tensor *tn__fn_topk(tn_tensor *x, int64_t k, int64_t dim, const tn_topk_options *o)
{
    int32_t d;
    if (!tn__usable("topk", x) || tn__wrap_dim(dim, x->ndim, &d))
        return NULL;
    if (k < 0 || k > (x->ndim ? x->shape[d] : 1))
        return tn__fail(TN_EINVAL, "selected index k out of range");
    tn_tensor *rows = rows_along(x, d), *indices = NULL;
    if (!rows)
        return NULL;
    tn_tensor *values = back_from_rows(tn__topk(rows, x->ndim ? k : 1, o->smallest, .indices = &indices), x, d);
    return tn__scope_give(back_from_rows(indices, x, d), o->indices) ? values : NULL;
}
