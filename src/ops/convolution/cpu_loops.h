/* ops/convolution/cpu_loops.h: the family's loops in each instruction set's table (backend/cpu/isa.h), by floating type. */
#ifndef TENON_OPS_CONVOLUTION_CPU_LOOPS_H
#define TENON_OPS_CONVOLUTION_CPU_LOOPS_H

#include <stdint.h>

/* Memory behind what is read is there for as many bytes as a register has, at most these. */
enum { TN__CONV_BEYOND = 64 };

typedef struct tn__convolution_loops {
    /* out[i] = *bias (NULL: 0) + the sum over k < taps of w[k] * x[at[k] + i], i < n. Reads beyond x. */
    void (*line[2])(void *out, const void *x, const int64_t *at, const void *w, int64_t taps, const void *bias,
                    int64_t n);
    /* *to += the sum of g[i] * x[i] over lines of n elements, so far apart. */
    void (*dot[2])(void *to, const void *g, int64_t g_line, const void *x, int64_t x_line, int64_t n, int64_t lines);
    /* out[i] = x[2 * i], i < n: bits of four or eight bytes. */
    void (*second[2])(void *out, const void *x, int64_t n);
} tn__convolution_loops;

#endif
