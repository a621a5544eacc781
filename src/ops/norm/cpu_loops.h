/* ops/norm/cpu_loops.h: the family's loops in each instruction set's table (backend/cpu/isa.h), by floating type. */
#ifndef TENON_OPS_NORM_CPU_LOOPS_H
#define TENON_OPS_NORM_CPU_LOOPS_H

#include "ops/norm/infer_kinds.h"
#include <stdbool.h>
#include <stdint.h>

/* width rows side by side, pitch elements from one number of a row to the next. Memory is of the loop type, or of another one
 * whose elements of 'size' bytes are loaded and stored by these functions. */
typedef struct tn__norm_columns {
    void *out;
    const void *x, *g;         /* g: the gradient of what x gave */
    const void *weight, *bias; /* n numbers each of the loop type, one for each line; NULL: none */
    int64_t n, width, pitch, size;
    void (*load)(void *dst, const void *src, int64_t stride, int64_t n); /* NULL: it is of the loop type */
    void (*store)(void *dst, int64_t stride, const void *src, int64_t n);
    int kind;
    double eps;
    bool bfloats; /* memory is of bfloat16, the loop type float */
    bool past;    /* results go past the caches */
} tn__norm_columns;

/* So many dense rows of n elements, one after another, of the loop type: their gradients, and what they add to those of the
 * parameters. */
typedef struct tn__norm_gradients {
    void *out;
    const void *g, *x, *weight;
    double *of_weight, *of_bias;
    int64_t rows, n;
    int kind;
    double eps;
} tn__norm_gradients;

/* Rows, dense and of the compute type. weight, bias: as long as a row; NULL: none, and no bias without weight. */
typedef struct tn__norm_loops {
    void (*row[2])(void *out, const void *x, const void *weight, const void *bias, int64_t n, int kind, double eps);
    void (*row_backward[2])(void *out, const void *g, const void *x, const void *weight, int64_t n, int kind,
                            double eps);
    void (*gradients[2])(const tn__norm_gradients *c);
    void (*columns[2])(const tn__norm_columns *c);
    void (*columns_backward[2])(const tn__norm_columns *c);
} tn__norm_loops;

#endif
