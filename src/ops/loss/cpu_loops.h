/* ops/loss/cpu_loops.h: the family's loops in each instruction set's table (backend/cpu/isa.h), by floating type. */
#ifndef TENON_OPS_LOSS_CPU_LOOPS_H
#define TENON_OPS_LOSS_CPU_LOOPS_H

#include <stdint.h>

typedef struct tn__loss_loops {
    /* out = scale * e^(x - most - shift), dense; no x is larger than most + shift. */
    void (*shares[2])(void *out, const void *x, double most, double shift, double scale, int64_t n);
} tn__loss_loops;

#endif
