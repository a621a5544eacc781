/* ops/norm/gpu_layout.h: the rows that are standardized: the argument of kernels, in the dialect's types. gpu.c and norm.k
 * include this text. */
typedef struct norm_rows {
    tn__gpu_dims dims; /* a: x, or the gradient; b: x of a gradient; c: the result */
    i64 n_rows, n, step_a, step_b, step_c;
    double eps;
} norm_rows;
