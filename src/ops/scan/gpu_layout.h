/* ops/scan/gpu_layout.h: the rows that are scanned: the argument of kernels, in the dialect's types.
 * gpu.c and scan.k include this text. */
typedef struct scan_rows {
    tn__gpu_dims dims; /* a: x, c: the result */
    i64 n_rows, n, step_a, step_c;
    i64 piece;          /* elements of a row that one group takes: a multiple of PER */
    i32 pieces, vector; /* vector: everything fits accesses of 16 bytes */
} scan_rows;
