/* ops/compose.h: what compositions ask of their operands before any row does, in PyTorch's words. */
#ifndef TENON_OPS_COMPOSE_H
#define TENON_OPS_COMPOSE_H

#include "autograd/functions.h"
#include <float.h>
#include <tenon/dtype.h>

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

/* Leading dimensions of two tensors of matrices, broadcast; false with an error. ops/product/compose.c */
bool tn__batch_shape(const tn_tensor *a, const tn_tensor *b, int64_t *shape, int32_t *n);

/* The tensors, expanded to one shape where they have others; false with an error. ops/view/compose.c */
bool tn__broadcast_all(tn_tensor **t, size_t n);

/* Places counted through n elements, 1-D, none of them negative any more; NULL where one is out of range. The indices are looked
 * at, so a GPU is waited for. ops/arrange/compose_turn.c */
tn_tensor *tn__places_in(tn_tensor *index, int64_t n);

#endif
