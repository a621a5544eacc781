/* Sorting and what is made of it: values are gathered by the indices that a sort gives, so they have gather's derivative. */
#include "autograd/functions.h"
#include "op/infer.h"

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
    return tn_transpose(tn__order(tn_contiguous(tn_transpose(rows, dim, -1)), descending), dim, -1);
}

tn_tensor *tn__fn_argsort(tn_tensor *x, int64_t dim, const tn_argsort_options *o)
{
    int32_t d;
    if (!given("argsort", x) || tn__wrap_dim(dim, x->ndim, &d))
        return NULL;
    return tn_contiguous(order_of(x, d, o->descending));
}

tn_tensor *tn__fn_sort(tn_tensor *x, int64_t dim, const tn_sort_options *o)
{
    int32_t d;
    if (!given("sort", x) || tn__wrap_dim(dim, x->ndim, &d))
        return NULL;
    tn_tensor *indices = tn_contiguous(order_of(x, d, o->descending));
    return with_indices(tn_gather(x, d, indices), indices, o->indices);
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
        indices = tn_contiguous(tn_slice(indices, d, 0, k, 1));
    return with_indices(tn_gather(x, d, indices), indices, o->indices);
}
