/* Sorting and what is made of it: values are gathered by the indices that a sort gives, so they have gather's derivative. */
#include "autograd/functions.h"
#include "op/infer.h"
#include <string.h>

static bool given(const char *what, const tn_tensor *t)
{
    if (t && t != TN_NONE)
        return true;
    if (t)
        tn__error(TN_ETYPE, "%s: an operand that must be a tensor is TN_NONE", what);
    else
        tn__poisoned(what);
    return false;
}

/* A second result: it goes where the first one will, outside the scope of this function. */
static tn_tensor *with_indices(tn_tensor *values, tn_tensor *indices, tn_tensor **out)
{
    tn__thread *t = tn__self();
    tn_scope *mine = t->scope;
    if (!values || !out)
        return values;
    t->scope = mine->outer;
    *out = tn__scope_hold(t, indices);
    t->scope = mine;
    return *out ? values : NULL;
}

/* Indices along the dimension, int64 of x's shape. */
static tn_tensor *order_of(tn_tensor *x, int32_t dim, bool descending)
{
    tn_tensor *rows = tn_detach(x);
    if (x->ndim == 0)
        return tn__order(rows, descending);
    if (dim == x->ndim - 1)
        return tn__order(tn_contiguous(rows), descending);
    return tn__contiguous_copy(
        tn_transpose(tn__order(tn_contiguous(tn_transpose(rows, dim, -1)), descending), dim, -1));
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

/* Results lie as x does, as PyTorch's do: sorted is what x's dimensions, turned so that it is row-major, give. */
tn_tensor *tn__fn_argsort(tn_tensor *x, int64_t dim, const tn_argsort_options *o)
{
    int32_t d;
    if (!given("argsort", x) || tn__wrap_dim(dim, x->ndim, &d))
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
    if (!given("sort", x) || tn__wrap_dim(dim, x->ndim, &d))
        return NULL;
    int64_t order[TN_MAX_DIMS], back[TN_MAX_DIMS];
    const bool turned = slowest_first(x, &d, order, back);
    if (turned && !(x = tn_permute(x, tn_dims_of(order, x->ndim))))
        return NULL;
    tn_tensor *indices = order_of(x, d, o->descending), *values = tn_gather(x, d, indices);
    if (turned) {
        indices = tn_permute(indices, tn_dims_of(back, x->ndim));
        values = tn_permute(values, tn_dims_of(back, x->ndim));
    } else {
        indices = lying_as(indices, x);
        values = lying_as(values, x);
    }
    return with_indices(values, indices, o->indices);
}

tn_tensor *tn__fn_topk(tn_tensor *x, int64_t k, int64_t dim, const tn_topk_options *o)
{
    int32_t d;
    if (!given("topk", x) || tn__wrap_dim(dim, x->ndim, &d))
        return NULL;
    if (k < 0 || k > (x->ndim ? x->shape[d] : 1))
        return tn__fail(TN_EINVAL, "selected index k out of range");
    tn_tensor *indices = order_of(x, d, !o->smallest);
    if (x->ndim)
        indices = tn__contiguous_copy(tn_slice(indices, d, 0, k, 1));
    return with_indices(tn_gather(x, d, indices), indices, o->indices);
}
