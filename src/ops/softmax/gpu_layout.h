/* ops/softmax/gpu_layout.h: the rows whose softmax is taken: the argument of kernels, in the dialect's types.
 * gpu.c and softmax.k include this text. */
typedef struct softmax_rows {
    tn__gpu_dims dims; /* a: x, b: y, c: the result */
    i64 n_rows, n, step_a, step_b, step_c;
    i64 piece;          /* elements of a row that one group takes */
    i32 pieces, vector; /* vector: everything fits accesses of 16 bytes */
} softmax_rows;
