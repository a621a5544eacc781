/* ops/softmax/cpu_loops.h: the family's loops in each instruction set's table (backend/cpu/isa.h), by floating type. */
#ifndef TENON_OPS_SOFTMAX_CPU_LOOPS_H
#define TENON_OPS_SOFTMAX_CPU_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

/* Rows, dense and of the compute type: x to out; log: its logarithm. */
typedef struct tn__softmax_loops {
    void (*row[2])(void *out, const void *x, int64_t n, bool log);
    void (*row_backward[2])(void *out, const void *g, const void *y, int64_t n, bool log);
    /* 'width' rows side by side: n lines of their k-th elements. */
    void (*lines[2])(void *out, const void *x, int64_t n, int64_t width, bool log);
    void (*lines_backward[2])(void *out, const void *g, const void *y, int64_t n, int64_t width, bool log);
    /* The sum of e^(x - m); m is not less than what is in x. */
    double (*sum_exp[2])(const void *x, int64_t n, double m);
} tn__softmax_loops;

#endif
