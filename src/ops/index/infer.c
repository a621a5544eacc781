/* Shape rules of the family index. */
#include "op/infer.h"
#include <stdio.h>

tn_status tn__infer_index(const tn__call *c, const tn_tensor *index)
{
    if (index->dtype == TN_I64 || index->dtype == TN_I32)
        return TN_OK;
    if (c->op == TN__OP__embedding)
        return tn__error(TN_EDTYPE,
                         "Expected tensor for argument #1 'indices' to have one of the following scalar "
                         "types: Long, Int; but got %s instead (while checking arguments for embedding)",
                         tn__type_str(index).s);
    if (c->op == TN__OP_index_select)
        return tn__error(TN_EDTYPE, "index_select(): Expected dtype int32 or int64 for index");
    return tn__error(TN_EDTYPE, "%s(): Expected dtype int32/int64 for index",
                     c->op == TN__OP_scatter_add ? "scatter" : tn__op_name(c->op));
}

static int32_t dims_or_one(const tn_tensor *t)
{
    return t->ndim ? t->ndim : 1;
}

static int64_t size_of(const tn_tensor *t, int32_t d)
{
    return t->ndim ? t->shape[d] : 1;
}

tn_status tn__infer_gather(tn__call *c)
{
    tn__along_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0), *index = tn__in(c, 1);
    tn_status e = tn__infer_dim(&p->dim, x->ndim);
    if (e || (index->numel && (e = tn__infer_index(c, index)))) /* an empty index fits everything, as in PyTorch */
        return e;
    if (index->numel && dims_or_one(x) != dims_or_one(index))
        return tn__error(TN_EINVAL, "Index tensor must have the same number of dimensions as input tensor");
    for (int32_t d = 0; index->numel && d < x->ndim; d++)
        if (d != p->dim && size_of(index, d) > x->shape[d])
            return tn__error(TN_EINVAL,
                             "Size does not match at dimension %d expected index %s to be no larger than "
                             "self %s apart from dimension %d",
                             (int)d, tn__shape_str(index->shape, index->ndim).s, tn__shape_str(x->shape, x->ndim).s,
                             (int)p->dim);
    tn__spec_set(&c->spec[0], x->dtype, index->shape, index->ndim);
    return tn__infer_one(c);
}

tn_status tn__infer_scatter(tn__call *c)
{
    tn__along_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0), *index = tn__in(c, 1), *src = tn__operand(&c->in[2]);
    tn_status e = tn__infer_dim(&p->dim, x->ndim);
    if (e || (index->numel && (e = tn__infer_index(c, index))))
        return e;
    if (src && src->dtype != x->dtype)
        return tn__error(TN_EDTYPE, "scatter(): Expected self.dtype to be equal to src.dtype");
    if ((e = tn__number_check(&c->in[2], x->dtype)))
        return e;
    if (index->numel > 0) {
        if (dims_or_one(x) != dims_or_one(index) || (src && dims_or_one(src) != dims_or_one(index)))
            return tn__error(TN_EINVAL, "Index tensor must have the same number of dimensions as %s tensor",
                             dims_or_one(x) != dims_or_one(index) ? "self" : "src");
        for (int32_t d = 0; d < dims_or_one(index); d++)
            if ((d != p->dim && size_of(index, d) > size_of(x, d)) || (src && size_of(index, d) > size_of(src, d)))
                return tn__error(TN_EINVAL,
                                 "Expected index %s to be no larger than self %s apart from dimension %d%s%s",
                                 tn__shape_str(index->shape, index->ndim).s, tn__shape_str(x->shape, x->ndim).s,
                                 (int)p->dim, src ? " and to be no larger size than src " : "",
                                 src ? tn__shape_str(src->shape, src->ndim).s : "");
    }
    c->variant = src != NULL;
    tn__spec_like(&c->spec[0], x);
    return tn__infer_one(c);
}

tn_status tn__infer_index_select(tn__call *c)
{
    tn__along_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0), *index = tn__in(c, 1);
    tn_status e = tn__infer_dim(&p->dim, x->ndim);
    if (e || (e = tn__infer_index(c, index)))
        return e;
    if (index->ndim > 1)
        return tn__error(TN_EINDEX, "index_select(): Index is supposed to be a vector");
    if (x->ndim == 0 && index->numel != 1)
        return tn__error(TN_EINVAL, "index_select(): Index to scalar can have only 1 value, got %lld value(s)",
                         (long long)index->numel);
    tn__spec_like(&c->spec[0], x);
    if (x->ndim)
        c->spec[0].shape[p->dim] = index->numel;
    return tn__infer_one(c);
}

/* The shape of t's slices along a dimension. */
static int32_t slice_shape(const tn_tensor *t, int64_t dim, int64_t *shape)
{
    int32_t n = 0;
    for (int32_t d = 0; d < t->ndim; d++)
        if (d != dim)
            shape[n++] = t->shape[d];
    return n;
}

/* As PyTorch writes it: "2 4". */
static tn__shape_text slice_text(const tn_tensor *t, int64_t dim)
{
    int64_t shape[TN_MAX_DIMS];
    tn__shape_text text = {""};
    size_t at = 0;
    const int32_t n = slice_shape(t, dim, shape);
    for (int32_t d = 0; d < n && at < sizeof text.s; d++)
        at += (size_t)snprintf(text.s + at, sizeof text.s - at, d ? " %lld" : "%lld", (long long)shape[d]);
    return text;
}

static bool same_slices(const tn_tensor *a, const tn_tensor *b, int64_t dim)
{
    int64_t of_a[TN_MAX_DIMS], of_b[TN_MAX_DIMS];
    const int32_t n = slice_shape(a, dim, of_a);
    return tn__same_shape(of_a, n, of_b, slice_shape(b, dim, of_b));
}

tn_status tn__check_slices(const char *what, const tn_tensor *x, const tn_tensor *index, const tn_tensor *src,
                           int64_t dim)
{
    if (index->ndim > 1)
        return tn__error(TN_EINDEX,
                         "%s(): Index is supposed to be a vector, but got dim: %d with type: %s and size: %s", what,
                         (int)index->ndim, tn__dtypes[index->dtype].legacy, tn__shape_str(index->shape, index->ndim).s);
    if (index->dtype != TN_I64 && index->dtype != TN_I32)
        return tn__error(TN_EDTYPE, "%s(): Expected dtype int32/int64 for index but got: %s", what,
                         tn__dtypes[index->dtype].legacy);
    if (x->dtype != src->dtype)
        return tn__error(TN_EDTYPE, "%s(): self (%s) and source (%s) must have the same scalar type", what,
                         tn__dtypes[x->dtype].legacy, tn__dtypes[src->dtype].legacy);
    if (dim && dim >= src->ndim)
        return tn__error(TN_EINVAL, "%s(): Indexing dim %lld is out of bounds of the source tensor with dim %d", what,
                         (long long)dim, (int)src->ndim);
    if (index->numel != size_of(src, (int32_t)dim))
        return src->ndim ? tn__error(TN_EINVAL,
                                     "%s(): Number of indices (%lld) should be equal to source.size(dim): "
                                     "(%lld), for dim: %lld",
                                     what, (long long)index->numel, (long long)src->shape[dim], (long long)dim)
                         : tn__error(TN_EINDEX, "Dimension specified as 0 but tensor has no dimensions");
    if (x->ndim != src->ndim || !same_slices(x, src, dim)) /* where index_copy takes what is 0-d for a list of one */
        return tn__error(TN_EINVAL,
                         "source tensor shape must match self tensor shape, excluding the specified dimension. Got "
                         "self.shape = %s source.shape = %s",
                         tn__shape_str(x->shape, x->ndim).s, tn__shape_str(src->shape, src->ndim).s);
    return TN_OK;
}

static tn_status check_copied(const tn_tensor *x, const tn_tensor *index, const tn_tensor *src, int64_t dim)
{
    if (index->ndim > 1)
        return tn__error(TN_EINDEX, "index_copy_(): Index should have dimension 1 or 0 (got %d)", (int)index->ndim);
    if (src->ndim == 0 && index->numel != 1)
        return tn__error(TN_EINDEX, "index_copy_(): When source is scalar, index should have one element (got %lld)",
                         (long long)index->numel);
    if (src->ndim != x->ndim && src->ndim && x->ndim)
        return tn__error(TN_EINDEX,
                         "index_copy_(): When source and destination are not scalars, their dimensionality must match. "
                         "Source dimensionality (%d), destination dimensionality (%d)",
                         (int)src->ndim, (int)x->ndim);
    if (index->dtype != TN_I64 && index->dtype != TN_I32) /* PyTorch takes no int32 */
        return tn__error(TN_EDTYPE, "index_copy_(): Expected a long tensor for index, but got %s",
                         tn__dtypes[index->dtype].legacy);
    if (x->dtype != src->dtype)
        return tn__error(TN_EDTYPE,
                         "index_copy_(): self and source expected to have the same dtype, but got (self) %s and "
                         "(source) %s",
                         tn__dtypes[x->dtype].legacy, tn__dtypes[src->dtype].legacy);
    if (!same_slices(x, src, dim))
        return tn__error(TN_EINVAL,
                         "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice "
                         "shape: %s at dimension %lld and source slice shape: %s at dimension 0.",
                         slice_text(x, dim).s, (long long)dim, slice_text(src, dim).s);
    if (src->ndim && index->numel != src->shape[dim])
        return tn__error(TN_EINDEX,
                         "index_copy_(): Number of indices (%lld) should be equal to source.size(dim) (%lld)",
                         (long long)index->numel, (long long)src->shape[dim]);
    return TN_OK;
}

tn_status tn__infer_index_add(tn__call *c)
{
    tn__along_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0), *index = tn__in(c, 1), *src = tn__in(c, 2);
    tn_status e = tn__infer_dim(&p->dim, x->ndim);
    if (e || (e = c->op == TN__OP_index_add ? tn__check_slices("index_add_", x, index, src, p->dim)
                                            : check_copied(x, index, src, p->dim)))
        return e;
    tn__spec_like(&c->spec[0], x);
    return tn__infer_one(c);
}

/* What is ravelled was checked and broadcast by tn_index. */
tn_status tn__infer_ravel_index(tn__call *c)
{
    const tn_tensor *first = tn__in(c, 0);
    tn__spec_set(&c->spec[0], TN_I64, first->shape, first->ndim);
    return tn__infer_one(c);
}

/* One row for each dimension, so that each dimension's places lie together: tn_nonzero shows it the other way round. */
tn_status tn__infer_nonzero(tn__call *c)
{
    const tn__nonzero_params *p = c->params;
    const int64_t shape[] = {tn__in(c, 0)->ndim, p->n};
    tn__spec_set(&c->spec[0], TN_I64, shape, 2);
    return tn__infer_one(c);
}

tn_status tn__infer_embedding(tn__call *c)
{
    const tn_tensor *weight = tn__in(c, 0), *index = tn__in(c, 1);
    tn_status e = tn__infer_index(c, index);
    if (e)
        return e;
    if (weight->ndim != 2)
        return tn__error(TN_EINVAL, "'weight' must be 2-D");
    if (index->ndim + 1 > TN_MAX_DIMS)
        return tn__error(TN_EINVAL, "embedding: the result would have more than %d dimensions", TN_MAX_DIMS);
    tn__spec_set(&c->spec[0], weight->dtype, index->shape, index->ndim);
    c->spec[0].shape[c->spec[0].ndim++] = weight->shape[1];
    return tn__infer_one(c);
}

tn_status tn__infer_one_hot(tn__call *c)
{
    const tn__one_hot_params *p = c->params;
    const tn_tensor *index = tn__in(c, 0);
    if (index->dtype != TN_I64)
        return tn__error(TN_EDTYPE, "one_hot is only applicable to index tensor of type LongTensor.");
    if (index->ndim == TN_MAX_DIMS)
        return tn__error(TN_EINVAL, "one_hot: the result would have more than %d dimensions", TN_MAX_DIMS);
    if (p->num_classes <= 0)
        return tn__error(TN_EINVAL, index->numel ? "num_classes should be positive"
                                                 : "Can not infer total number of classes from empty tensor.");
    tn__spec_set(&c->spec[0], TN_I64, index->shape, index->ndim);
    c->spec[0].shape[c->spec[0].ndim++] = p->num_classes;
    return tn__infer_one(c);
}
