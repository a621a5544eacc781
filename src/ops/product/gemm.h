/* ops/product/gemm.h: what a row of the list with the kernel 'gemm' computes, as one or more matrix products: the same for
 * every backend. */
#ifndef TENON_OPS_PRODUCT_GEMM_H
#define TENON_OPS_PRODUCT_GEMM_H

#include "backend/backend.h"

/* Operands as matrices: batch, m, n, k and strides in elements, whatever the row: result[m][n] = alpha * a[m][k] * b[k][n]
 * + beta * bias[m][n]. */
typedef struct tn__gemm_problem {
    int64_t batch, m, n, k;
    int64_t a_bs, a_rs, a_cs, b_bs, b_rs, b_cs;
    const tn__view *a, *b, *bias;
    int64_t bias_rs, bias_cs;
    double alpha, beta;
    int64_t whole_alpha, whole_beta; /* of integers */
} tn__gemm_problem;

tn__gemm_problem tn__gemm_problem_of(const tn__launch *l);

/* linear's input as rows of k: false if its leading dimensions are not one run of rows. Strides of dimensions of size 1
 * mean nothing. */
bool tn__gemm_problem_rows(const tn__view *x, int64_t *stride);

/* The strides once both operands are packed, row-major. weight_rows: b is packed as it is stored, [n][k] (linear). */
void tn__gemm_problem_dense(tn__gemm_problem *s, bool weight_rows);

/* In place, a factor may lie where the result does: do the two views' bytes meet? */
bool tn__views_meet(const tn__view *out, const tn__view *factor);

#endif
