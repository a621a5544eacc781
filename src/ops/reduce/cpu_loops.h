/* ops/reduce/cpu_loops.h: the family's loops in each instruction set's table (backend/cpu/isa.h), by compute type. */
#ifndef TENON_OPS_REDUCE_CPU_LOOPS_H
#define TENON_OPS_REDUCE_CPU_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum tn__reduction { TN__SUM, TN__PROD, TN__MAX, TN__MIN, TN__ANY, TN__ALL, TN__REDUCTIONS } tn__reduction;

typedef struct tn__reduce_loops {
    /* Reduces a dense run; sums of f32 come back as double, so that partial sums add up without loss. */
    double (*run_float[TN__REDUCTIONS][2])(const void *x, int64_t n);
    int64_t (*run_int[TN__REDUCTIONS][2])(const void *x, int64_t n); /* [I32, I64] */
    /* acc[i] = acc[i] op x[i] */
    void (*fold[TN__REDUCTIONS][4])(void *acc, const void *x, int64_t n);
    /* The same of four rows, stride elements apart. */
    void (*fold4[TN__REDUCTIONS][4])(void *acc, const void *x, int64_t stride, int64_t n);
    /* The first place of *value, which is there: NaN is found as itself. */
    int64_t (*find[4])(const void *x, int64_t n, const void *value);
    /* The smallest of a dense run and the largest, of the compute type: the first NaN twice if there is one. */
    void (*extremes[4])(void *ends, const void *x, int64_t n);
    /* The same of 16-bit floats, given the bits of infinity. */
    void (*extremes_half)(uint16_t ends[2], const uint16_t *x, int64_t n, uint16_t infinity);
    /* Of a dense run: sums of the distances from its first element, and of their squares; the sum of squares. */
    void (*moments[2])(double sums[2], const void *x, int64_t n);
    double (*squares[2])(const void *x, int64_t n);
    /* out = scale * (x - mean); how many are 'most'; out = share for those, 0 for the others. */
    void (*centred[2])(void *out, const void *x, double mean, double scale, int64_t n);
    int64_t (*ties[2])(const void *x, double most, int64_t n);
    void (*shared[2])(void *out, const void *x, double most, double share, int64_t n);
    /* Of n lines of 'width' elements, one after another: the sum of squares of each column; its first extreme and the line. */
    void (*square_lines[2])(double *sums, const void *x, int64_t n, int64_t width);
    void (*extreme_lines[4])(void *best, int32_t *at, const void *x, int64_t n, int64_t width, bool least);
    /* Sums of a dense run of bfloat16, of squares of at most TN__BLOCK of them, and of bool. */
    double (*sum_bf16)(const void *x, int64_t n);
    double (*squares_bf16)(const void *x, int64_t n);
    /* The sum of squares of each of 'width' columns of bfloat16, n lines, step elements apart. */
    void (*square_columns_bf16)(double *sums, const void *x, int64_t step, int64_t n, int64_t width);
    int64_t (*sum_b8)(const void *x, int64_t n);
} tn__reduce_loops;

#endif
