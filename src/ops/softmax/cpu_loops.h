/* ops/softmax/cpu_loops.h: the family's loops in each instruction set's table (backend/cpu/isa.h), by floating type. */
#ifndef TENON_OPS_SOFTMAX_CPU_LOOPS_H
#define TENON_OPS_SOFTMAX_CPU_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

/* width rows side by side, pitch elements from one number of a row to the next. Memory is of float32, or of another dtype whose
 * elements of 'size' bytes are loaded and stored by these functions. */
typedef struct tn__softmax_columns {
    void *out;
    const void *a, *b; /* x; or g and y */
    int64_t n, width, pitch, size;
    void (*load)(void *dst, const void *src, int64_t stride, int64_t n); /* NULL: it is of float32 */
    void (*store)(void *dst, int64_t stride, const void *src, int64_t n);
    bool log;
    bool past; /* results go past the caches */
} tn__softmax_columns;

/* Rows, dense and of the compute type: x to out; log: its logarithm. */
typedef struct tn__softmax_loops {
    void (*row[2])(void *out, const void *x, int64_t n, bool log);
    void (*row_backward[2])(void *out, const void *g, const void *y, int64_t n, bool log);
    /* 'width' rows side by side: n lines of their k-th elements. */
    void (*lines[2])(void *out, const void *x, int64_t n, int64_t width, bool log);
    void (*lines_backward[2])(void *out, const void *g, const void *y, int64_t n, int64_t width, bool log);
    /* Rows side by side where they lie, computed in float32. */
    void (*columns)(const tn__softmax_columns *c);
    void (*columns_backward)(const tn__softmax_columns *c);
    /* The sum of e^(x - m); m is not less than what is in x. */
    double (*sum_exp[2])(const void *x, int64_t n, double m);
    /* A dense row of bfloat16; room: n floats, of which the logarithm has no need. */
    void (*bfloats)(void *out, const void *x, int64_t n, float *room, bool logarithm);
    void (*bfloats_backward)(void *out, const void *g, const void *y, int64_t n, bool logarithm);
} tn__softmax_loops;

#endif
