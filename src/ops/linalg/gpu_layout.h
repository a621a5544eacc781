/* ops/linalg/gpu_layout.h: the matrices that are decomposed: the argument of kernels, in the dialect's types.
 * gpu.c and svd.k include this text. */
typedef struct svd_matrices {
    i64 shape[TN_RANK], from[TN_RANK], to[TN_RANK]; /* of the batch; strides in x and in the result */
    i64 rows, columns, row_step, col_step;          /* rows >= columns: of x, or of its transpose */
    i64 out_row, out_col, count;
    i32 n, polar; /* polar: the factor, not the norm */
} svd_matrices;
