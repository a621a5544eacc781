/* ops/norm/cpu_loops.h: the family's loops in each instruction set's table (backend/cpu/isa.h), by floating type. */
#ifndef TENON_OPS_NORM_CPU_LOOPS_H
#define TENON_OPS_NORM_CPU_LOOPS_H

#include "ops/norm/infer_kinds.h"
#include <stdbool.h>
#include <stdint.h>

/* Rows, dense and of the compute type. weight, bias: as long as a row; NULL: none, and no bias without weight. */
typedef struct tn__norm_loops {
    void (*row[2])(void *out, const void *x, const void *weight, const void *bias, int64_t n, int kind, double eps);
    void (*row_backward[2])(void *out, const void *g, const void *x, const void *weight, int64_t n, int kind,
                            double eps);
    /* width rows side by side, pitch elements from one number of a row to the next; without parameters. past: the caches. */
    void (*columns[2])(void *out, const void *x, int64_t n, int64_t width, int64_t pitch, int kind, double eps,
                       bool past);
    void (*columns_backward[2])(void *out, const void *g, const void *x, int64_t n, int64_t width, int64_t pitch,
                                int kind, double eps, bool past);
} tn__norm_loops;

#endif
