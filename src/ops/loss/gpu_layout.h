/* ops/loss/gpu_layout.h: what a negative log likelihood is of: the argument of kernels, in the dialect's types.
 * gpu.c and loss.k include this text. */
typedef struct nll_shape {
    i64 n, classes, spatial, ignore; /* n: targets */
    i64 class_stride;                /* of the weights */
    i32 bytes;                       /* targets are u8, not i64 */
    i32 reduction;                   /* 0 mean, 1 sum, 2 none */
    i32 op;
} nll_shape;
