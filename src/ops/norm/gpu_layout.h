/* ops/norm/gpu_layout.h: the rows that are brought to a scale: the argument of kernels, in the dialect's types. gpu.c and norm.k
 * include this text. kind: as infer_kinds.h counts them. */
typedef struct norm_rows {
    tn__gpu_dims dims, along; /* kept, and a row's. a: x, or the gradient; b: x of a gradient; c: the result */
    i64 n_rows, n;
    double eps;
    i32 kind, unused;
} norm_rows;
