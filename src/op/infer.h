/* op/infer.h: what the shape rules share. */
#ifndef TENON_OP_INFER_H
#define TENON_OP_INFER_H

#include "core/error.h"
#include "core/memory_format.h"
#include "op/op.h"

/* The i-th input, which the row's signature says is a tensor. */
static inline tn_tensor *tn__in(const tn__call *c, int32_t i)
{
    return c->in[i].v.t;
}

/* An optional input, NULL where it is absent. */
static inline tn_tensor *tn__in_or_null(const tn__call *c, int32_t i)
{
    return i < c->n_in ? tn__operand(&c->in[i]) : NULL;
}

static inline void tn__spec_set(tn__spec *s, tn_dtype dtype, const int64_t *shape, int32_t ndim)
{
    s->dtype = dtype;
    s->ndim = ndim;
    s->strided = false;
    s->offset = 0;
    for (int32_t i = 0; i < ndim; i++)
        s->shape[i] = shape[i];
}

static inline void tn__spec_like(tn__spec *s, const tn_tensor *t)
{
    tn__spec_set(s, t->dtype, t->shape, t->ndim);
}

/* One row-major result, computed in its dtype's compute dtype. */
static inline tn_status tn__infer_one(tn__call *c)
{
    c->n_out = 1;
    c->compute = tn__dtypes[c->spec[0].dtype].compute;
    return TN_OK;
}

/* The operation's name as users know it. */
static inline const char *tn__op_name(tn__op_id op)
{
    return tn__ops[op].name + (tn__ops[op].name[0] == '_');
}

/* The layout that PyTorch gives a new tensor like x: x's strides where it is dense, else the order of its dimensions. Sets the
 * spec's strides; its shape must be x's. infer_layout.c */
void tn__layout_like(tn__spec *s, const tn_tensor *x);

/* The layout of a result in a memory format; the spec's shape must have the format's rank. A kernel that keeps its input's
 * format: tn__layout_in(s, tn__suggest_format(x->shape, x->stride, x->ndim)). */
static inline void tn__layout_in(tn__spec *s, tn_memory_format format)
{
    s->strided = true;
    tn__format_strides(format, s->shape, s->ndim, s->stride);
}

/* The layout that was asked for. Where none was, or it is to be preserved: x's, as tn__layout_like has it. */
TN_MUST_USE tn_status tn__layout_asked(tn__spec *s, const tn_tensor *x, tn_memory_format format);

/* The layout of an elementwise result, as PyTorch's TensorIterator chooses it; the spec's shape is the broadcast one. */
void tn__layout_of_operands(const tn__call *c, tn__spec *s);

/* Order of dimensions from fastest to slowest that suits the operands' strides (stride[k][d]; 0 counts for nothing);
 * PyTorch's rule, so that results get the layout that PyTorch gives them. */
void tn__iter_order(const int64_t *shape, int32_t ndim, const int64_t (*stride)[TN_MAX_DIMS], int32_t n,
                    int32_t *order);

/* Wraps *dim for a tensor of ndim dimensions. */
TN_MUST_USE tn_status tn__infer_dim(int64_t *dim, int32_t ndim);

/* Wraps dims, refuses repeats. Bit d of *mask: dimension d is named (all, where none was). What is left in dims are
 * dimensions that the tensor has; dims->given: whether some were named. */
TN_MUST_USE tn_status tn__infer_dims(tn__dims *dims, int32_t ndim, uint32_t *mask);

/* The spec's shape becomes the one that it and t are repeated to. */
TN_MUST_USE tn_status tn__infer_broadcast(tn__spec *s, const tn_tensor *t);

/* Can x be shown in that shape, by repeating what has size 1? */
TN_MUST_USE tn_status tn__check_expand(const tn_tensor *x, const int64_t *shape, int32_t n);

/* Of sums and products: the asked dtype; or the input's, integers and bool in int64. */
tn_dtype tn__sum_dtype(const tn_tensor *x, tn_dtype asked);

/* An index tensor must be int64 (or int32 where allowed). */
TN_MUST_USE tn_status tn__infer_index(const tn__call *c, const tn_tensor *index);

/* Are slices of src, as many as the 1-D index has elements, slices of x along a dimension? what: the function, in errors. */
TN_MUST_USE tn_status tn__check_slices(const char *what, const tn_tensor *x, const tn_tensor *index,
                                       const tn_tensor *src, int64_t dim);

#endif
