/* ops/slope/cpu_loops.h: the family's loops in each instruction set's table (backend/cpu/isa.h), by floating type. */
#ifndef TENON_OPS_SLOPE_CPU_LOOPS_H
#define TENON_OPS_SLOPE_CPU_LOOPS_H

#include "op/op.h"

/* Gradients of both operands, dense; what the row's expressions do not name may be NULL. */
typedef void (*tn__both_loop)(void *of_a, void *of_b, const void *const in[4], int64_t n);

typedef struct tn__slope_loops {
    const tn__both_loop *both[2]; /* [TN__BOTHS] */
    const tn__both_loop *bfloat;  /* of bfloat16, as it lies */
} tn__slope_loops;

#endif
