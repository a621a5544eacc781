/* Shapes and strides: sizes with overflow checks, contiguity, overlap, the strides of views. */
#include "core/shape.h"
#include "core/error.h"
#include <stdio.h>

tn__shape_text tn__shape_str(const int64_t *shape, int32_t ndim)
{
    tn__shape_text t;
    size_t n = (size_t)snprintf(t.s, sizeof t.s, "[");
    for (int32_t i = 0; i < ndim && n < sizeof t.s; i++)
        n += (size_t)snprintf(t.s + n, sizeof t.s - n, i ? ", %lld" : "%lld", (long long)shape[i]);
    if (n < sizeof t.s)
        snprintf(t.s + n, sizeof t.s - n, "]");
    return t;
}

bool tn__shape_numel(const int64_t *shape, int32_t ndim, size_t item, int64_t *numel)
{
    int64_t n = 1, bytes;
    bool zero = false;
    for (int32_t i = 0; i < ndim; i++) {
        zero |= shape[i] == 0;
        if (shape[i] < 0 || __builtin_mul_overflow(n, TN_MAX(shape[i], 1), &n))
            return false;
    }
    *numel = zero ? 0 : n;
    return !__builtin_mul_overflow(*numel, (int64_t)TN_MAX(item, 1), &bytes) && bytes <= PTRDIFF_MAX / 2;
}

bool tn__is_contiguous(const int64_t *shape, const int64_t *stride, int32_t ndim)
{
    int64_t expect = 1;
    for (int32_t i = 0; i < ndim; i++)
        if (shape[i] == 0)
            return true;
    for (int32_t i = ndim - 1; i >= 0; i--) {
        if (shape[i] != 1 && stride[i] != expect)
            return false;
        expect *= shape[i];
    }
    return true;
}

/* Dimensions larger than one, by ascending stride. Returns how many. */
static int32_t sort_by_stride(const int64_t *shape, const int64_t *stride, int32_t ndim, int32_t *order)
{
    int32_t n = 0;
    for (int32_t i = 0; i < ndim; i++) {
        if (shape[i] == 1)
            continue;
        int32_t j = n++;
        for (; j > 0 && stride[order[j - 1]] > stride[i]; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
    return n;
}

bool tn__is_dense(const int64_t *shape, const int64_t *stride, int32_t ndim)
{
    int32_t order[TN_MAX_DIMS];
    for (int32_t i = 0; i < ndim; i++)
        if (shape[i] == 0)
            return true;
    int32_t n = sort_by_stride(shape, stride, ndim, order);
    int64_t expect = 1;
    for (int32_t i = 0; i < n; i++) {
        if (stride[order[i]] != expect)
            return false;
        expect *= shape[order[i]];
    }
    return true;
}

bool tn__overlaps_itself(const int64_t *shape, const int64_t *stride, int32_t ndim)
{
    int32_t order[TN_MAX_DIMS];
    for (int32_t i = 0; i < ndim; i++)
        if (shape[i] == 0)
            return false;
    int32_t n = sort_by_stride(shape, stride, ndim, order);
    int64_t reach = 0; /* furthest offset that the smaller strides reach */
    for (int32_t i = 0; i < n; i++) {
        if (stride[order[i]] <= reach)
            return true;
        reach += stride[order[i]] * (shape[order[i]] - 1);
    }
    return false;
}

tn_status tn__wrap_dim(int64_t dim, int32_t ndim, int32_t *out)
{
    int64_t n = ndim ? ndim : 1;
    if (dim < -n || dim >= n)
        return tn__error(TN_EINDEX, "Dimension out of range (expected to be in range of [%lld, %lld], but got %lld)",
                         (long long)-n, (long long)(n - 1), (long long)dim);
    *out = (int32_t)(dim < 0 ? dim + n : dim);
    return TN_OK;
}

tn_status tn__wrap_own_dim(int64_t dim, int32_t ndim, int32_t *out)
{
    if (ndim == 0)
        return tn__error(TN_EINDEX, "Dimension specified as %lld but tensor has no dimensions", (long long)dim);
    return tn__wrap_dim(dim, ndim, out);
}

bool tn__view_strides(const int64_t *shape, const int64_t *stride, int32_t ndim, const int64_t *new_shape,
                      int32_t new_ndim, int64_t *new_stride)
{
    int64_t numel = tn__numel(shape, ndim);
    if (numel == 0 && tn__same_shape(shape, ndim, new_shape, new_ndim)) {
        memcpy(new_stride, stride, sizeof *stride * (size_t)ndim);
        return true;
    }
    if (numel == 0 || ndim == 0) {
        tn__contiguous_strides(new_shape, new_ndim, new_stride);
        return true;
    }
    /* Both shapes from the right: each run of old dimensions that lies in one piece must be filled exactly by new
     * ones. */
    int32_t v = new_ndim - 1;
    int64_t base = stride[ndim - 1], old_run = 1, new_run = 1;
    for (int32_t t = ndim - 1; t >= 0; t--) {
        old_run *= shape[t];
        bool ends = t == 0 || (shape[t - 1] != 1 && stride[t - 1] != old_run * base);
        if (!ends)
            continue;
        while (v >= 0 && (new_run < old_run || new_shape[v] == 1)) {
            new_stride[v] = new_run * base;
            new_run *= new_shape[v];
            v--;
        }
        if (new_run != old_run)
            return false;
        if (t > 0) {
            base = stride[t - 1];
            old_run = new_run = 1;
        }
    }
    return v == -1;
}

tn_status tn__shape_too_large(const int64_t *dim, int32_t ndim)
{
    return tn__error(TN_EINVAL,
                     "Storage size calculation overflowed with sizes=%s\n  more elements than memory can hold",
                     tn__shape_str(dim, ndim).s);
}

tn_status tn__shape_check(const char *what, const int64_t *dim, int32_t ndim, int64_t numel, int64_t *out)
{
    int32_t infer = -1;
    int64_t known = 1;
    bool zero = false;
    if (ndim < 0)
        return tn__error(TN_EINVAL, "%s: a shape cannot have %d dimensions", what, (int)ndim);
    if (ndim > TN_MAX_DIMS)
        return tn__error(TN_EINVAL, "%s: a shape has at most %d dimensions, got %d", what, TN_MAX_DIMS, (int)ndim);
    for (int32_t i = 0; i < ndim; i++) {
        out[i] = dim[i];
        zero |= out[i] == 0;
        if (out[i] == -1 && numel >= 0) {
            if (infer >= 0)
                return tn__error(TN_EINVAL, "only one dimension can be inferred");
            infer = i;
        } else if (out[i] < 0) {
            return numel >= 0 ? tn__error(TN_EINVAL, "invalid shape dimension %lld", (long long)out[i])
                              : tn__error(TN_EINVAL, "Trying to create tensor with negative dimension %lld: %s",
                                          (long long)out[i], tn__shape_str(dim, ndim).s);
        } else if (__builtin_mul_overflow(known, TN_MAX(out[i], 1), &known)) { /* strides are products of the others */
            for (int32_t k = i + 1; k < ndim; k++)
                zero |= dim[k] == 0;
            return zero ? tn__error(
                              TN_EINVAL,
                              "Stride calculation overflowed\n  the shape %s has more elements than memory can hold",
                              tn__shape_str(dim, ndim).s)
                        : tn__shape_too_large(dim, ndim);
        }
    }
    if (infer < 0)
        return TN_OK;
    if (zero)
        return tn__error(TN_EINVAL,
                         "cannot reshape tensor of %lld elements into shape %s because the unspecified "
                         "dimension size -1 can be any value and is ambiguous",
                         (long long)numel, tn__shape_str(dim, ndim).s);
    if (numel % known)
        return tn__error(TN_EINVAL, "shape '%s' is invalid for input of size %lld", tn__shape_str(dim, ndim).s,
                         (long long)numel);
    out[infer] = numel / known;
    return TN_OK;
}

int64_t tn__reach(const int64_t *shape, const int64_t *stride, int32_t ndim)
{
    int64_t last = 0;
    for (int32_t d = 0; d < ndim; d++)
        last += (shape[d] - 1) * stride[d];
    return last;
}
