/* ops/softmax/gpu_layout.h: the lines whose softmax is taken: the argument of kernels, in the dialect's types.
 * gpu.c and softmax.k include this text. */
typedef struct softmax_lines {
    tn__lines lines; /* a: x, b: y, c: the result */
    i64 n_lines, n, step_a, step_b, step_c;
    i64 piece;          /* elements of a line that one group takes */
    i32 pieces, vector; /* vector: everything fits accesses of 16 bytes */
} softmax_lines;
