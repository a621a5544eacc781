/* fakegpu/cublas.h: the arithmetic below the fake cuBLAS. */
#ifndef TENON_FAKEGPU_CUBLAS_H
#define TENON_FAKEGPU_CUBLAS_H

#include <stdbool.h>

/* c = alpha * op(a) @ op(b) + beta * c, column-major, all addresses the host's. Types are those of abi.h (TN__CUBLAS_R_).
 * With beta 0, c is not read; with alpha 0 or k 0, neither a nor b is. */
typedef struct fake_gemm {
    bool trans_a, trans_b, tf32; /* tf32: float32 operands are rounded to 10 bits of mantissa */
    int m, n, k;
    double alpha, beta;
    const void *a, *b;
    void *c;
    unsigned a_type, b_type, c_type;
    int lda, ldb, ldc;
} fake_gemm;

/* false: no memory. */
bool fake_gemm_run(const fake_gemm *p);

#endif
