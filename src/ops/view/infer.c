/* Shape rules of views: shape, strides and offset of what is shown. */
#include "op/infer.h"

/* A spec that shows all of x; the rules change it from there. */
static tn__spec *show(tn__call *c)
{
    const tn_tensor *x = tn__in(c, 0);
    tn__spec *s = &c->spec[0];
    tn__spec_like(s, x);
    s->strided = true;
    s->offset = x->offset;
    for (int32_t d = 0; d < x->ndim; d++)
        s->stride[d] = x->stride[d];
    c->n_out = 1;
    c->compute = tn__dtypes[x->dtype].compute;
    return s;
}

/* How far the dimension behind d reaches: the stride that a new dimension of size 1 before it gets. Nothing is found by
 * it, so that one which is larger than a number can be becomes 0. */
static int64_t stride_before(const tn__spec *s, int32_t d)
{
    int64_t stride;
    return __builtin_mul_overflow(s->shape[d], s->stride[d], &stride) ? 0 : stride;
}

/* 'steps' along a stride further: where there are no such elements, the result is empty, and the offset means nothing. */
static void move_offset(tn__spec *s, int64_t steps, int64_t stride)
{
    int64_t by, to;
    if (!__builtin_mul_overflow(steps, stride, &by) && !__builtin_add_overflow(s->offset, by, &to))
        s->offset = to;
}

static void drop_dim(tn__spec *s, int32_t d)
{
    s->ndim--;
    for (; d < s->ndim; d++) {
        s->shape[d] = s->shape[d + 1];
        s->stride[d] = s->stride[d + 1];
    }
}

tn_status tn__infer_alias(tn__call *c)
{
    show(c);
    return TN_OK;
}

tn_status tn__infer_view(tn__call *c)
{
    const tn__view_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0);
    tn__spec *s = show(c);
    tn_status e = tn__shape_check("view", p->shape.d, p->shape.n, x->numel, s->shape);
    if (e)
        return e;
    s->ndim = p->shape.n;
    if (tn__numel(s->shape, s->ndim) != x->numel)
        return tn__error(TN_EINVAL, "shape '%s' is invalid for input of size %lld",
                         tn__shape_str(p->shape.d, p->shape.n).s, (long long)x->numel);
    if (!tn__view_strides(x->shape, x->stride, x->ndim, s->shape, s->ndim, s->stride))
        return tn__error(TN_EINVAL, "view size is not compatible with input tensor's size and stride (at least one "
                                    "dimension spans across two contiguous subspaces). Use .reshape(...) instead.");
    return TN_OK;
}

tn_status tn__infer_permute(tn__call *c)
{
    tn__permute_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0);
    tn__spec *s = show(c);
    if (p->dims.n != x->ndim)
        return tn__error(TN_EINVAL,
                         "permute: number of dimensions in the tensor input does not match the "
                         "length of the desired ordering of dimensions i.e. input.dim() = %d is not equal to "
                         "len(dims) = %d",
                         (int)x->ndim, (int)p->dims.n);
    uint32_t mask = 0;
    tn_status e = TN_OK;
    for (int32_t i = 0; !e && i < x->ndim; i++) {
        int32_t d = 0;
        e = tn__wrap_dim(p->dims.d[i], x->ndim, &d);
        if (!e && mask & 1U << d)
            e = tn__error(TN_EINVAL, "permute(): duplicate dims are not allowed.");
        mask |= 1U << d;
        p->dims.d[i] = d;
    }
    for (int32_t d = 0; !e && d < x->ndim; d++) {
        s->shape[d] = x->shape[p->dims.d[d]];
        s->stride[d] = x->stride[p->dims.d[d]];
    }
    return e;
}

static void swap_dims(tn__spec *s, int64_t a, int64_t b)
{
    int64_t n = s->shape[a], t = s->stride[a];
    s->shape[a] = s->shape[b];
    s->stride[a] = s->stride[b];
    s->shape[b] = n;
    s->stride[b] = t;
}

tn_status tn__infer_transpose(tn__call *c)
{
    tn__transpose_params *p = c->params;
    tn__spec *s = show(c);
    int32_t a, b;
    tn_status e = tn__wrap_dim(p->dim0, s->ndim, &a);
    if (e || (e = tn__wrap_dim(p->dim1, s->ndim, &b)))
        return e;
    p->dim0 = a;
    p->dim1 = b;
    if (s->ndim)
        swap_dims(s, a, b);
    return TN_OK;
}

tn_status tn__infer_t(tn__call *c)
{
    tn__spec *s = show(c);
    if (s->ndim > 2)
        return tn__error(TN_EINVAL, "t() expects a tensor with <= 2 dimensions, but self is %dD", (int)s->ndim);
    if (s->ndim == 2)
        swap_dims(s, 0, 1);
    return TN_OK;
}

tn_status tn__check_expand(const tn_tensor *x, const int64_t *shape, int32_t n)
{
    const int32_t lead = n - x->ndim;
    if (lead < 0)
        return tn__error(TN_EINVAL,
                         "expand(%s{%s}, size=%s): the number of sizes provided (%d) must be greater or "
                         "equal to the number of dimensions in the tensor (%d)",
                         tn__type_str(x).s, tn__shape_str(x->shape, x->ndim).s, tn__shape_str(shape, n).s, (int)n,
                         (int)x->ndim);
    for (int32_t d = n - 1; d >= 0; d--) {
        const int64_t want = shape[d], have = d < lead ? 1 : x->shape[d - lead];
        if (want == -1 && d >= lead)
            continue;
        if (want < 0)
            return tn__error(TN_EINVAL,
                             "The expanded size of the tensor (%lld) isn't allowed in a leading, non-existing "
                             "dimension %d",
                             (long long)want, (int)d);
        if (have != want && have != 1)
            return tn__error(TN_EINVAL,
                             "The expanded size of the tensor (%lld) must match the existing size (%lld) at "
                             "non-singleton dimension %d.  Target sizes: %s.  Tensor sizes: %s",
                             (long long)want, (long long)have, (int)d, tn__shape_str(shape, n).s,
                             tn__shape_str(x->shape, x->ndim).s);
    }
    return TN_OK;
}

tn_status tn__infer_expand(tn__call *c)
{
    const tn__expand_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0);
    tn__spec *s = show(c);
    int32_t n = p->shape.n, lead = n - x->ndim;
    tn_status e = tn__check_expand(x, p->shape.d, n);
    if (e)
        return e;
    s->ndim = n;
    for (int32_t d = n - 1; d >= 0; d--) {
        const int64_t have = d < lead ? 1 : x->shape[d - lead], want = p->shape.d[d] == -1 ? have : p->shape.d[d];
        s->shape[d] = want;
        if (want != 1 && have == 1)
            s->stride[d] = 0;
        else if (d >= lead)
            s->stride[d] = x->stride[d - lead];
        else
            s->stride[d] = x->ndim ? stride_before(s, d + 1) : 0;
    }
    int64_t numel;
    if (!tn__shape_numel(s->shape, n, 1, &numel))
        return tn__error(TN_EINVAL, "expand: the shape %s has more elements than an index can count",
                         tn__shape_str(s->shape, n).s);
    return TN_OK;
}

tn_status tn__infer_squeeze(tn__call *c)
{
    tn__squeeze_params *p = c->params;
    tn__spec *s = show(c);
    uint32_t mask;
    if (p->dim.given && p->dim.n == 0)
        return TN_OK; /* an empty list was given: no dimension is meant */
    tn_status e = tn__infer_dims(&p->dim, s->ndim, &mask);
    if (e)
        return e;
    c->variant = p->dim.given;
    for (int32_t d = s->ndim - 1; d >= 0; d--)
        if (mask >> d & 1 && s->shape[d] == 1)
            drop_dim(s, d);
    return TN_OK;
}

tn_status tn__infer_unsqueeze(tn__call *c)
{
    tn__unsqueeze_params *p = c->params;
    tn__spec *s = show(c);
    if (s->ndim == TN_MAX_DIMS)
        return tn__error(TN_EINVAL, "unsqueeze: the result would have more than %d dimensions", TN_MAX_DIMS);
    tn_status e = tn__infer_dim(&p->dim, s->ndim + 1);
    if (e)
        return e;
    int32_t d = (int32_t)p->dim;
    int64_t stride = d < s->ndim ? stride_before(s, d) : 1;
    for (int32_t i = s->ndim; i > d; i--) {
        s->shape[i] = s->shape[i - 1];
        s->stride[i] = s->stride[i - 1];
    }
    s->shape[d] = 1;
    s->stride[d] = stride;
    s->ndim++;
    return TN_OK;
}

tn_status tn__infer_select(tn__call *c)
{
    tn__select_params *p = c->params;
    tn__spec *s = show(c);
    if (s->ndim == 0)
        return tn__error(TN_EINDEX, "select() cannot be applied to a 0-dim tensor.");
    tn_status e = tn__infer_dim(&p->dim, s->ndim);
    if (e)
        return e;
    int32_t d = (int32_t)p->dim;
    int64_t n = s->shape[d], i = p->index;
    if (i < -n || i >= n)
        return tn__error(TN_EINDEX, "select(): index %lld out of range for tensor of size %s at dimension %d",
                         (long long)i, tn__shape_str(s->shape, s->ndim).s, (int)d);
    i += i < 0 ? n : 0;
    p->index = i;
    s->offset += i * s->stride[d];
    drop_dim(s, d);
    return TN_OK;
}

static int64_t clip(int64_t i, int64_t n)
{
    if (i < 0)
        i += n;
    return i < 0 ? 0 : i > n ? n : i;
}

/* start .. end of a dimension, each step-th; all of them wrapped and clipped. */
static tn_status show_slice(tn__call *c, int64_t *dim, int64_t *start, int64_t *end, int64_t step)
{
    tn__spec *s = show(c);
    if (s->ndim == 0)
        return tn__error(TN_EINDEX, "slice() cannot be applied to a 0-dim tensor.");
    tn_status e = tn__infer_dim(dim, s->ndim);
    if (e)
        return e;
    if (step < 1)
        return tn__error(TN_EINVAL, "slice step must be positive");
    int64_t n = s->shape[*dim];
    *start = clip(*start, n);
    *end = TN_MAX(clip(*end, n), *start);
    move_offset(s, *start, s->stride[*dim]);
    s->shape[*dim] = tn__div_up(*end - *start, step);
    int64_t stride;
    if (!__builtin_mul_overflow(s->stride[*dim], step, &stride)) /* else there is one element, or none */
        s->stride[*dim] = stride;
    return TN_OK;
}

tn_status tn__infer_slice(tn__call *c)
{
    tn__slice_params *p = c->params;
    return show_slice(c, &p->dim, &p->start, &p->end, p->step);
}

tn_status tn__infer_split(tn__call *c)
{
    tn__split_params *p = c->params;
    c->variant = p->sizes;
    return show_slice(c, &p->dim, &p->start, &p->end, p->step);
}

tn_status tn__infer_diagonal(tn__call *c)
{
    tn__spec *s = show(c);
    tn__diagonal_params *a = c->params;
    int32_t d1, d2;
    tn_status e = tn__wrap_dim(a->dim1, s->ndim, &d1);
    if (e || (e = tn__wrap_dim(a->dim2, s->ndim, &d2)))
        return e;
    if (d1 == d2)
        return tn__error(TN_EINVAL, "diagonal dimensions cannot be identical %lld, %lld", (long long)a->dim1,
                         (long long)a->dim2);
    a->dim1 = d1;
    a->dim2 = d2;
    int64_t rows = s->shape[d1] + TN_MIN(a->offset, 0), cols = s->shape[d2] - TN_MAX(a->offset, 0);
    int64_t n = TN_MAX(TN_MIN(rows, cols), 0), stride;
    if (__builtin_add_overflow(s->stride[d1], s->stride[d2], &stride)) /* one of them is of one element, or of none */
        stride = 0;
    if (n > 0)
        s->offset += a->offset >= 0 ? a->offset * s->stride[d2] : -a->offset * s->stride[d1];
    drop_dim(s, TN_MAX(d1, d2));
    drop_dim(s, TN_MIN(d1, d2));
    s->shape[s->ndim] = n;
    s->stride[s->ndim++] = stride;
    return TN_OK;
}

tn_status tn__infer_unfold(tn__call *c)
{
    tn__unfold_params *p = c->params;
    tn__spec *s = show(c);
    tn_status e = tn__infer_dim(&p->dimension, s->ndim);
    if (e)
        return e;
    const int32_t d = (int32_t)p->dimension;
    const int64_t n = s->ndim ? s->shape[d] : 1, stride = s->ndim ? s->stride[d] : 1;
    if (s->ndim == TN_MAX_DIMS)
        return tn__error(TN_EINVAL, "unfold: the result would have more than %d dimensions", TN_MAX_DIMS);
    if (p->size < 0)
        return tn__error(TN_EINVAL, "size is %lld but must be >= 0", (long long)p->size);
    if (p->size > n)
        return tn__error(TN_EINVAL, "maximum size for tensor at dimension %d is %lld but size is %lld", (int)d,
                         (long long)n, (long long)p->size);
    if (p->step <= 0)
        return tn__error(TN_EINVAL, "step is %lld but must be > 0", (long long)p->step);
    s->shape[s->ndim] = p->size;
    s->stride[s->ndim++] = stride;
    if (s->ndim == 1) /* of a number: one window, no dimension that counts them */
        return TN_OK;
    s->shape[d] = (n - p->size) / p->step + 1;
    if (__builtin_mul_overflow(stride, p->step, &s->stride[d])) /* then there is one window */
        s->stride[d] = 0;
    return TN_OK;
}

/* The view must lie inside x's storage. */
static tn_status check_strided(const tn__call *c, const tn_tensor *x)
{
    const tn__as_strided_params *a = c->params;
    if (a->size.n != a->stride.n)
        return tn__error(TN_EINVAL, "mismatch in length of strides and shape");
    if (a->storage_offset < 0)
        return tn__error(TN_EINVAL, "Tensor: invalid storage offset %lld", (long long)a->storage_offset);
    int64_t last = a->storage_offset, numel;
    if (!tn__shape_numel(a->size.d, a->size.n, tn__dtype_size(x->dtype), &numel))
        return tn__error(TN_EINVAL, "as_strided: invalid size %s", tn__shape_str(a->size.d, a->size.n).s);
    for (int32_t d = 0; d < a->size.n; d++) {
        int64_t step;
        if (a->stride.d[d] < 0)
            return tn__error(TN_EINVAL, "as_strided: Negative strides are not supported at the moment, got strides: %s",
                             tn__shape_str(a->stride.d, a->size.n).s);
        if (__builtin_mul_overflow(a->stride.d[d], TN_MAX(a->size.d[d], 1), &step) ||
            (numel && __builtin_add_overflow(last, step - a->stride.d[d], &last)))
            return tn__error(TN_EINVAL, "as_strided: the strides reach beyond what an index can count");
    }
    int64_t have = x->storage ? (int64_t)(x->storage->nbytes / tn__dtype_size(x->dtype)) : INT64_MAX;
    if (numel && last >= have)
        return tn__error(TN_EINVAL,
                         "setStorage: sizes %s, strides %s, storage offset %lld, and itemsize %d requiring a "
                         "storage size of %llu are out of bounds for storage of size %llu",
                         tn__shape_str(a->size.d, a->size.n).s, tn__shape_str(a->stride.d, a->size.n).s,
                         (long long)a->storage_offset, (int)tn__dtype_size(x->dtype),
                         ((unsigned long long)last + 1) * tn__dtype_size(x->dtype),
                         (unsigned long long)have * tn__dtype_size(x->dtype));
    return TN_OK;
}

tn_status tn__infer_as_strided(tn__call *c)
{
    tn__as_strided_params *p = c->params;
    tn__spec *s = show(c);
    const tn_tensor *x = tn__in(c, 0);
    tn_status e = check_strided(c, x);
    if (e)
        return e;
    p->base_offset = x->offset;
    for (int32_t d = 0; d < x->ndim; d++)
        p->base_stride.d[d] = x->stride[d];
    s->ndim = p->size.n;
    s->offset = p->storage_offset;
    for (int32_t d = 0; d < s->ndim; d++) {
        s->shape[d] = p->size.d[d];
        s->stride[d] = p->stride.d[d];
    }
    return TN_OK;
}

/* The same values, laid out with the given strides. */
tn_status tn__infer_restride(tn__call *c)
{
    const tn__restride_params *p = c->params;
    tn__spec *s = show(c);
    s->offset = 0;
    for (int32_t d = 0; d < s->ndim; d++)
        s->stride[d] = p->stride.d[d];
    return TN_OK;
}

/* The result keeps x's strides, so that the view's geometry means the same in it. A view that shows more of the storage
 * than x does (as_strided of a part) has no place there. */
tn_status tn__infer_as_strided_scatter(tn__call *c)
{
    tn__as_strided_scatter_params *p = c->params;
    tn__spec *s = show(c);
    s->offset = 0;
    for (int32_t d = 0; d < s->ndim; d++)
        p->base_stride.d[d] = s->stride[d];
    if (tn__numel(p->size.d, p->size.n) &&
        (p->storage_offset < 0 || !tn__numel(s->shape, s->ndim) ||
         p->storage_offset + tn__reach(p->size.d, p->stride.d, p->size.n) > tn__reach(s->shape, s->stride, s->ndim)))
        return tn__error(TN_EGRAD,
                         "a write in place went through a view that shows memory outside of the tensor it was made "
                         "from: that has no gradient");
    return TN_OK;
}

static tn_status embed(tn__call *c, const tn__dims *size)
{
    tn__spec_set(&c->spec[0], tn__in(c, 0)->dtype, size->d, size->n);
    return tn__infer_one(c);
}

tn_status tn__infer_embed_select(tn__call *c)
{
    const tn__embed_select_params *p = c->params;
    return embed(c, &p->size);
}

tn_status tn__infer_embed_slice(tn__call *c)
{
    const tn__embed_slice_params *p = c->params;
    return embed(c, &p->size);
}

tn_status tn__infer_embed_diagonal(tn__call *c)
{
    const tn__embed_diagonal_params *p = c->params;
    return embed(c, &p->size);
}
