/* ops/compose.h: what compositions ask of their operands before any row does, in PyTorch's words. */
#ifndef TENON_OPS_COMPOSE_H
#define TENON_OPS_COMPOSE_H

#include "autograd/functions.h"
#include <float.h>
#include <stdio.h>
#include <string.h>
#include <tenon/dtype.h>

/* Is it a tensor? Else an error. */
static inline bool tn__need_tensor(const char *what, const tn_tensor *x)
{
    if (TN_LIKELY(x && x != TN_NONE))
        return true;
    if (x)
        tn__error(TN_ETYPE, "%s: an operand that must be a tensor is TN_NONE", what);
    else
        tn__poisoned(what);
    return false;
}

/* The error of a kernel that has not x's dtype. kernel: PyTorch's name for it, '*' where it says "cpu" or "cuda". */
static inline void tn__no_kernel(const char *kernel, const tn_tensor *x)
{
    char name[64];
    const char *device = x->device.type == TN_DEVICE_CUDA ? "cuda" : "cpu";
    const int n = (int)strcspn(kernel, "*");
    snprintf(name, sizeof name, "%.*s%s%s", n, kernel, kernel[n] ? device : "", kernel[n] ? kernel + n + 1 : "");
    tn__no_dtype(name, x->dtype);
}

/* Is it a tensor of a floating dtype? Else the kernel's error. */
static inline bool tn__need_float(const char *kernel, const tn_tensor *x)
{
    if (!tn__need_tensor(kernel, x))
        return false;
    if (TN_LIKELY(tn__dtype_is_float(x->dtype)))
        return true;
    tn__no_kernel(kernel, x);
    return false;
}

/* An optional operand: NULL where none was given. */
static inline tn_tensor *tn__given(tn_tensor *t)
{
    return t == TN_NONE ? NULL : t;
}

/* The largest number of a floating dtype. */
static inline double tn__largest(tn_dtype d)
{
    return d == TN_F16 ? 65504 : d == TN_BF16 ? 0x1.fep127 : d == TN_F32 ? FLT_MAX : DBL_MAX;
}

static inline tn_tensor *tn__pick(tn_tensor *condition, tn_tensor *yes, tn_tensor *no)
{
    return tn_where(condition, tn_scalar_t(yes), tn_scalar_t(no));
}

/* Makes of shape[ndim] the one that it and t broadcast to; false where there is none. */
bool tn__broadcast_with(int64_t *shape, int32_t *ndim, tn_dims t);

/* The tensors, expanded to one shape where they have others; false with an error. ops/view/compose.c */
bool tn__broadcast_all(tn_tensor **t, size_t n);

#endif
