/* ops/product/cpu_loops.h: the family's loops in each instruction set's table (backend/cpu/isa.h), by floating type. */
#ifndef TENON_OPS_PRODUCT_CPU_LOOPS_H
#define TENON_OPS_PRODUCT_CPU_LOOPS_H

#include <stdint.h>

/* Rows and columns of a tile of distances; columns by type. */
enum { TN__FAR_ROWS = 4, TN__FAR_F32 = 16, TN__FAR_F64 = 8 };

typedef struct tn__product_loops {
    /* out[r][c] (dense, as many columns as a tile has) = the p-distance of row r of a, lda apart, to column c of b, which is
     * [m][columns]. Four rows are there, whatever they hold. */
    void (*distances[2])(void *out, const void *a, int64_t lda, const void *b, int64_t m, double p);
    /* out[k] += w times the slope of a p-distance, which is known, by x[k]; y is the other row. */
    void (*distance_slope[2])(void *out, const void *x, const void *y, int64_t m, double w, double distance, double p);
    /* out[k] += the sum over columns c < n of each[c] (x[k] - turned[k * ld + c]): slopes of Euclidean distances. */
    void (*euclidean_slopes[2])(void *out, const void *x, const void *turned, int64_t ld, int64_t n, int64_t m,
                                const void *each);
} tn__product_loops;

#endif
