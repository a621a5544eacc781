/* Writing by index of what is more than a copy: scaled, multiplied, one value in many places. */
#include "ops/index/compose.h"
#include <string.h>

/* ---- sums and products ---- */

/* x * alpha, alpha being a number of x's dtype. */
static tn_tensor *scaled(tn_tensor *x, tn_scalar alpha)
{
    if (!alpha.kind || (alpha.kind == TN_SCALAR_INT && alpha.v.i == 1) ||
        (alpha.kind == TN_SCALAR_FLOAT && alpha.v.f == 1))
        return x;
    return x && x != TN_NONE ? tn_mul(x, tn_full(TN_SHAPE(), alpha, .dtype = x->dtype, .device = TN_CPU)) : x;
}

tn_tensor *tn__fn_index_add_scaled(tn_tensor *x, int64_t dim, tn_tensor *index, tn_tensor *src, tn_scalar alpha)
{
    return tn_index_add(x, dim, index, scaled(src, alpha));
}

tn_tensor *tn__fn_index_add_scaled_(tn_tensor *x, int64_t dim, tn_tensor *index, tn_tensor *src, tn_scalar alpha)
{
    return tn_index_add_(x, dim, index, scaled(src, alpha));
}

tn_tensor *tn__read_by(tn_tensor *src, const tn_tensor *index)
{
    bool fits = src->ndim == index->ndim && index->numel > 0;
    for (int32_t d = 0; fits && d < index->ndim; d++)
        fits = index->shape[d] <= src->shape[d];
    for (int32_t d = 0; fits && src && d < index->ndim; d++)
        if (index->shape[d] < src->shape[d])
            src = tn_narrow(src, d, 0, index->shape[d]);
    return src;
}

/* Is what failed that an index is out of bounds? That is found last. */
static bool index_failed(void)
{
    return !strncmp(tn_error_message(), "index ", strlen("index "));
}

/* The number at each place of the index. */
static tn_tensor *everywhere(tn_scalar number, const tn_tensor *x, const tn_tensor *index)
{
    if (tn__number_check(&number, x->dtype))
        return NULL;
    return tn_expand(tn_full(TN_SHAPE(), number, .dtype = x->dtype, .device = x->device), tn__shape_of(index));
}

static tn_tensor *scatter_reduced(tn_tensor *x, int64_t dim, tn_tensor *index, tn_scalar src, const char *reduce,
                                  bool inplace)
{
    const bool adds = !strcmp(reduce, "add"), multiplies = !strcmp(reduce, "multiply");
    tn_tensor *t = tn__operand(&src), *r = NULL;
    if (!tn__usable("scatter", x) || !tn__usable("scatter", index) || (src.kind == TN_SCALAR_TENSOR && !t))
        return tn_scatter(x, dim, index, src);
    if (t && t != TN_NONE && !(t = tn__read_by(t, index)))
        return NULL;
    if (!t && (adds || multiplies))
        t = everywhere(src, x, index);
    if (t && multiplies)
        r = inplace ? tn__scatter_mul_(x, dim, index, t) : tn__scatter_mul(x, dim, index, t);
    else if (t && adds)
        r = inplace ? tn_scatter_add_(x, dim, index, t) : tn_scatter_add(x, dim, index, t);
    if (r || ((adds || multiplies) && index_failed()))
        return r;
    if (!tn_scatter(x, dim, index, src) && !index_failed()) /* which says in PyTorch's words what does not fit */
        return NULL;
    return adds || multiplies ? NULL : tn__fail(TN_EINVAL, "reduce argument must be either add or multiply.");
}

tn_tensor *tn__fn_scatter_reduced(tn_tensor *x, int64_t dim, tn_tensor *index, tn_scalar src, const char *reduce)
{
    return reduce ? scatter_reduced(x, dim, index, src, reduce, false) : tn_scatter(x, dim, index, src);
}

tn_tensor *tn__fn_scatter_reduced_(tn_tensor *x, int64_t dim, tn_tensor *index, tn_scalar src, const char *reduce)
{
    return reduce ? scatter_reduced(x, dim, index, src, reduce, true) : tn_scatter_(x, dim, index, src);
}

/* ---- one value ---- */

static tn_status check_fill(const tn_tensor *x, int64_t dim, const tn_tensor *index, const tn_tensor *value, int32_t *d)
{
    if (value && value->ndim)
        return tn__error(TN_EINVAL,
                         "index_fill_ only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
                         (int)value->ndim);
    if (index->dtype != TN_I64)
        return tn__error(TN_EINDEX, "index_fill_(): Expected dtype int64 for index.");
    tn_status e = tn__wrap_dim(dim, x->ndim, d);
    return e || index->ndim <= 1 ? e : tn__error(TN_EINVAL, "Index has to be a vector/scalar");
}

/* x at the index of one dimension becomes the value. */
static bool fill(tn_tensor *x, int64_t dim, tn_tensor *index, tn_scalar value)
{
    tn_tensor *indices[TN_MAX_DIMS];
    int32_t d;
    if (check_fill(x, dim, index, tn__operand(&value), &d))
        return false;
    for (int32_t i = 0; i < d; i++)
        indices[i] = TN_NONE;
    indices[d] = tn_reshape(index, TN_SHAPE(-1));
    if (value.kind == TN_SCALAR_TENSOR && value.v.t)
        value = tn_scalar_t(tn_to(value.v.t, .dtype = x->dtype, .device = x->device));
    return tn_index_put_(x->ndim ? x : tn_unsqueeze(x, 0), ((tn_tensors){indices, (size_t)d + 1}), value) != NULL;
}

tn_tensor *tn__fn_index_fill_(tn_tensor *x, int64_t dim, tn_tensor *index, tn_scalar value)
{
    const tn_tensor *v = tn__operand(&value);
    if (!tn__usable("index_fill_", x) || !tn__usable("index_fill_", index) ||
        tn__check_inplace(x, !tn__self()->no_grad && (tn__wants_grad(x) || (v && tn__wants_grad(v)))))
        return NULL;
    return fill(x, dim, index, value) ? x : NULL;
}

tn_tensor *tn__fn_index_fill(tn_tensor *x, int64_t dim, tn_tensor *index, tn_scalar value)
{
    if (!tn__usable("index_fill", x) || !tn__usable("index_fill", index))
        return NULL;
    x = tn_clone(x);
    return x && fill(x, dim, index, value) ? x : NULL;
}

tn_tensor *tn__fn_masked_fill_expanded_(tn_tensor *x, tn_tensor *mask, tn_scalar value)
{
    if (!tn__usable("masked_fill_", x) || !tn__usable("masked_fill_", mask))
        return NULL;
    tn_tensor *shown = tn_expand(mask, tn__shape_of(x));
    return tn_index_put_(x, TN_TENSORS(shown), value) ? x : NULL;
}

/* ---- where x is not zero ---- */

int64_t tn__fn_nonzero_columns(tn_tensor *x, tn_tensor **out, size_t cap)
{
    tn_tensor *column[TN_MAX_DIMS];
    tn__thread *self = tn__self();
    tn_scope scope;
    if (!tn__usable("nonzero", x))
        return 0;
    const int64_t n = TN_MAX(x->ndim, 1);
    if (!out)
        return n;
    if ((size_t)n > cap) {
        tn__error(TN_EINVAL, "nonzero: there are %lld columns, but room for %zu", (long long)n, cap);
        return 0;
    }
    tn__scope_push(self, &scope);
    int64_t given = 0;
    const bool done = tn_unbind(tn_nonzero(x->ndim ? x : tn_unsqueeze(x, 0)), 1, column, TN_MAX_DIMS) == n;
    while (done && given < n && tn__scope_give(column[given], &out[given]))
        given++;
    tn__scope_pop(self, &scope, NULL);
    if (given == n)
        return n;
    while (given-- > 0)
        tn_release(out[given]);
    return 0;
}
