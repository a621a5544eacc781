/* Shape rules of the family arrange. */
#include "op/infer.h"

tn_status tn__infer_tril(tn__call *c)
{
    tn__triangle_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0);
    if (x->ndim < 2)
        return tn__error(TN_EINVAL, "%s: input tensor must have at least 2 dimensions", tn__op_name(c->op));
    int64_t rows = x->shape[x->ndim - 2], cols = x->shape[x->ndim - 1];
    p->diagonal = TN_MAX(TN_MIN(p->diagonal, cols), -rows); /* further diagonals are outside all the same */
    return tn__infer_same1(c);
}

tn_status tn__infer_flip(tn__call *c)
{
    tn__flip_params *p = c->params;
    uint32_t mask;
    tn_status e = tn__infer_dims(&p->dims, tn__in(c, 0)->ndim, &mask);
    if (!p->dims.given)
        p->dims.n = 0; /* no dimension named: nothing is flipped */
    return e ? e : tn__infer_clone(c);
}

/* PyTorch lets an empty 1-D tensor join anything. */
static bool is_blank(const tn_tensor *t)
{
    return t->ndim == 1 && t->shape[0] == 0;
}

static tn_status check_list(const tn__call *c)
{
    if (c->n_in == 0)
        return c->op == TN__OP_stack ? tn__error(TN_EINVAL, "stack expects a non-empty TensorList")
                                     : tn__error(TN_EVALUE, "torch.cat(): expected a non-empty list of Tensors");
    return TN_OK;
}

static tn_dtype list_dtype(const tn__call *c)
{
    tn__promotion p = {0};
    for (int32_t i = 0; i < c->n_in; i++)
        tn__promotion_add(&p, &c->in[i]);
    return tn__promotion_result(&p);
}

/* The format that all of these tensors have, row-major where they have several; with 'last', as they are with a last dimension of
 * one element more. */
static tn_memory_format list_format(const tn__call *c, bool last)
{
    tn_memory_format format = TN_MEMORY_FORMAT_DEFAULT;
    for (int32_t i = 0; i < c->n_in && format != TN_CONTIGUOUS_FORMAT; i++) {
        const tn_tensor *t = tn__in(c, i);
        int64_t shape[TN_MAX_DIMS + 1], stride[TN_MAX_DIMS + 1];
        if (!last && tn__contiguous(t) && t->ndim != 4 && t->ndim != 5)
            return TN_CONTIGUOUS_FORMAT;
        memcpy(shape, t->shape, sizeof t->shape);
        memcpy(stride, t->stride, sizeof t->stride);
        shape[t->ndim] = stride[t->ndim] = 1;
        const tn_memory_format own = tn__suggest_format(shape, stride, t->ndim + last);
        format = !format || format == own ? own : TN_CONTIGUOUS_FORMAT;
    }
    return format;
}

tn_status tn__infer_cat(tn__call *c)
{
    tn__join_params *p = c->params;
    tn_status e = check_list(c);
    if (e)
        return e;
    const tn_tensor *first = NULL;
    for (int32_t i = 0; i < c->n_in; i++) {
        if (tn__in(c, i)->ndim == 0)
            return tn__error(TN_EINVAL, "zero-dimensional tensor (at position %d) cannot be concatenated", (int)i);
        if (!first || (is_blank(first) && !is_blank(tn__in(c, i))))
            first = tn__in(c, i);
    }
    if (is_blank(first)) /* all of them are: they join along any dimension */
        p->dim = 0;
    else if ((e = tn__infer_dim(&p->dim, first->ndim)))
        return e;
    tn__spec *s = &c->spec[0];
    const tn_dtype dtype = list_dtype(c);
    if (!dtype)
        return tn_error_code();
    tn__spec_set(s, dtype, first->shape, first->ndim);
    int64_t total = 0;
    for (int32_t i = 0; i < c->n_in; i++) {
        const tn_tensor *t = tn__in(c, i);
        if (is_blank(t) && first->ndim != 1)
            continue;
        if (t->ndim != first->ndim)
            return tn__error(TN_EINVAL, "Tensors must have same number of dimensions: got %d and %d", (int)first->ndim,
                             (int)t->ndim);
        for (int32_t d = 0; d < t->ndim; d++)
            if (d != p->dim && t->shape[d] != first->shape[d])
                return tn__error(TN_EINVAL,
                                 "Sizes of tensors must match except in dimension %d. Expected size %lld but "
                                 "got size %lld for tensor number %d in the list.",
                                 (int)p->dim, (long long)first->shape[d], (long long)t->shape[d], (int)i);
        if (__builtin_add_overflow(total, t->shape[p->dim], &total))
            return tn__error(TN_EINVAL, "cat: the sizes along dimension %d add up to more than an index can count",
                             (int)p->dim);
    }
    s->shape[p->dim] = total;
    const tn_memory_format format = list_format(c, false);
    if (format != TN_CONTIGUOUS_FORMAT)
        tn__layout_in(s, format);
    return tn__infer_one(c);
}

/* PyTorch's stack is a cat whose dimension is cut in two; beside the last one, a cat of tensors with a dimension more. */
static void stack_layout(tn__call *c, int64_t dim)
{
    tn__spec *s = &c->spec[0];
    const int32_t n = s->ndim - 1;
    const bool last = dim == n;
    const tn_memory_format format = list_format(c, last);
    if (format == TN_CONTIGUOUS_FORMAT)
        return;
    s->strided = true;
    if (last) {
        tn__format_strides(format, s->shape, s->ndim, s->stride);
        return;
    }
    int64_t shape[TN_MAX_DIMS], stride[TN_MAX_DIMS];
    for (int32_t d = 0; d < n; d++)
        shape[d] = tn__in(c, 0)->shape[d] * (d == dim ? c->n_in : 1);
    tn__format_strides(format, shape, n, stride);
    for (int32_t d = 0; d < s->ndim; d++)
        s->stride[d] = stride[d - (d > dim)] * (d == dim ? s->shape[d + 1] : 1);
}

tn_status tn__infer_stack(tn__call *c)
{
    tn__join_params *p = c->params;
    tn_status e = check_list(c);
    if (e)
        return e;
    const tn_tensor *first = tn__in(c, 0);
    if (first->ndim == TN_MAX_DIMS)
        return tn__error(TN_EINVAL, "stack: the result would have more than %d dimensions", TN_MAX_DIMS);
    if ((e = tn__infer_dim(&p->dim, first->ndim + 1)))
        return e;
    tn__spec *s = &c->spec[0];
    s->dtype = list_dtype(c);
    if (!s->dtype)
        return tn_error_code();
    s->strided = false;
    s->ndim = first->ndim + 1;
    for (int32_t i = 1; i < c->n_in; i++) {
        const tn_tensor *t = tn__in(c, i);
        if (!tn__same_shape(t->shape, t->ndim, first->shape, first->ndim))
            return tn__error(TN_EINVAL,
                             "stack expects each tensor to be equal size, but got %s at entry 0 and %s at "
                             "entry %d",
                             tn__shape_str(first->shape, first->ndim).s, tn__shape_str(t->shape, t->ndim).s, (int)i);
    }
    for (int32_t d = 0; d < s->ndim; d++)
        s->shape[d] = d == p->dim ? c->n_in : first->shape[d - (d > p->dim)];
    stack_layout(c, p->dim);
    return tn__infer_one(c);
}
