/* backend/own_call.h: a call of an operation that a program registered, as its callbacks see it: dense memory. */
#ifndef TENON_BACKEND_OWN_CALL_H
#define TENON_BACKEND_OWN_CALL_H

#include "backend/backend.h"
#include "op/own.h"

typedef struct tn__own_call {
    const tn_op *op;
    tn_op_view in[TN_OP_INPUTS], out[TN_OP_RESULTS];
    tn_op_args args;
    int64_t width;                                 /* of a row of result 0 */
    bool empty;                                    /* no result has an element */
    tn_tensor *copy[TN_OP_INPUTS + TN_OP_RESULTS]; /* of inputs, then of results, that lie or are otherwise; owned */
} tn__own_call;

/* Fills c; inputs that callbacks cannot take as they are are copied. known: dtypes that the callback knows (0: all): floating
 * tensors of others become float32. Whatever it returns, tn__own_end follows. */
TN_MUST_USE tn_status tn__own_begin(tn__own_call *c, const tn__launch *l, uint32_t known);
/* Copies of results go where results lie, unless e says that there is nothing; copies are let go. Returns e, or what failed. */
TN_MUST_USE tn_status tn__own_end(tn__own_call *c, const tn__launch *l, tn_status e);

#endif
