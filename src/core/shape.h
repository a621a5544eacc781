/* core/shape.h: arithmetic on shapes and strides; every size is checked for overflow where it enters. Strides count
 * elements. */
#ifndef TENON_CORE_SHAPE_H
#define TENON_CORE_SHAPE_H

#include "core/base.h"

/* "[2, 3]", as PyTorch prints sizes; by value. */
typedef struct tn__shape_text {
    char s[192];
} tn__shape_text;
tn__shape_text tn__shape_str(const int64_t *shape, int32_t ndim);

/* Product of the dimensions. False if one is negative, or the product or its bytes would not fit; beside a zero the others
 * must fit too, because strides are their products. */
TN_MUST_USE bool tn__shape_numel(const int64_t *shape, int32_t ndim, size_t item, int64_t *numel);

/* The product, of a shape known to be valid. */
static inline int64_t tn__numel(const int64_t *shape, int32_t ndim)
{
    int64_t n = 1;
    for (int32_t i = 0; i < ndim; i++)
        n *= shape[i];
    return n;
}

/* Strides of a dense row-major tensor. */
static inline void tn__contiguous_strides(const int64_t *shape, int32_t ndim, int64_t *stride)
{
    int64_t s = 1;
    for (int32_t i = ndim - 1; i >= 0; i--) {
        stride[i] = s;
        s *= TN_MAX(shape[i], 1);
    }
}

/* Row-major without gaps; strides of dimensions of size 1 do not count; empty tensors are. */
bool tn__is_contiguous(const int64_t *shape, const int64_t *stride, int32_t ndim);

/* Every element has its own memory and the elements fill it without gaps, in some order of dimensions. */
bool tn__is_dense(const int64_t *shape, const int64_t *stride, int32_t ndim);

/* The element furthest from the first, in elements of memory, where there is one; strides are not negative. */
int64_t tn__reach(const int64_t *shape, const int64_t *stride, int32_t ndim);

/* Two index tuples may share memory: stride 0 (expanded) or overlapping strides. */
bool tn__overlaps_itself(const int64_t *shape, const int64_t *stride, int32_t ndim);

static inline bool tn__same_shape(const int64_t *a, int32_t na, const int64_t *b, int32_t nb)
{
    if (na != nb)
        return false;
    for (int32_t i = 0; i < na; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* -n .. n-1 to 0 .. n-1; a 0-dim tensor takes 0 and -1. Sets TN_EINDEX, PyTorch's text. */
TN_MUST_USE tn_status tn__wrap_dim(int64_t dim, int32_t ndim, int32_t *out);

/* The same where a 0-dim tensor takes none. */
TN_MUST_USE tn_status tn__wrap_own_dim(int64_t dim, int32_t ndim, int32_t *out);

/* Strides that show the same elements in the new shape without a copy. False if there are none. */
bool tn__view_strides(const int64_t *shape, const int64_t *stride, int32_t ndim, const int64_t *new_shape,
                      int32_t new_ndim, int64_t *new_stride);

/* The error of a shape whose elements no memory holds. */
tn_status tn__shape_too_large(const int64_t *dim, int32_t ndim);

/* Checks a shape from outside and replaces one -1 by what numel leaves (numel < 0: no -1 allowed).
 * Writes the result to out[TN_MAX_DIMS]. */
TN_MUST_USE tn_status tn__shape_check(const char *what, const int64_t *dim, int32_t ndim, int64_t numel, int64_t *out);

#endif
