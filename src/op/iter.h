/* op/iter.h: the tensor iterator, one elementwise operation over strided memory: operands broadcast, dimensions ordered and
 * merged. Every backend runs elementwise rows, copies and fills from this. */
#ifndef TENON_OP_ITER_H
#define TENON_OP_ITER_H

#include "op/op.h"

enum { TN__MAX_OPERANDS = 4 }; /* the result and three inputs */

typedef struct tn__iter_operand {
    void *data;
    tn_dtype dtype;
    int64_t stride[TN_MAX_DIMS]; /* elements; 0 where broadcast */
} tn__iter_operand;

/* shape[0] is the fastest dimension. operand[0] is the result. A number operand is a 0-dim operand of the compute dtype
 * that lies in 'number'. */
typedef struct tn__iter {
    int32_t ndim, n;
    int64_t numel;
    int64_t shape[TN_MAX_DIMS];
    tn__iter_operand operand[TN__MAX_OPERANDS];
    double number[TN__MAX_OPERANDS]; /* storage, 8 bytes each, read as the operand's dtype */
} tn__iter;

/* A tensor as a kernel sees it. dtype 0: the operand is a number or absent. */
typedef struct tn__view {
    void *data;
    tn_dtype dtype;
    int32_t ndim;
    bool contiguous;
    int64_t numel;
    const int64_t *shape, *stride; /* elements */
} tn__view;

/* The same memory from the far end of a dimension on. stride: where its strides then lie. */
static inline tn__view tn__view_backwards(const tn__view *v, int64_t dim, int64_t *stride)
{
    tn__view r = *v;
    if (!v->ndim || !v->numel)
        return r;
    memcpy(stride, v->stride, sizeof *stride * (size_t)v->ndim);
    r.data = (char *)r.data + (v->shape[dim] - 1) * stride[dim] * (int64_t)tn__dtype_size(v->dtype);
    stride[dim] = -stride[dim];
    r.stride = stride;
    r.contiguous = v->shape[dim] == 1 && v->contiguous;
    return r;
}

/* out = in, broadcast. */
void tn__iter_copy(tn__iter *it, const tn__view *out, const tn__view *in);

/* out = f(in[0], ..., in[n-1]), in the compute dtype. */
void tn__iter_build(tn__iter *it, const tn_tensor *out, const tn_scalar *in, int32_t n, tn_dtype compute);

#endif
