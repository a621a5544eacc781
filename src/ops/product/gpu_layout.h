/* ops/product/gpu_layout.h: sizes and strides of a product of matrices: the argument of kernels, in the dialect's types.
 * gpu.c and gemm.k include this text. */
typedef struct gemm_shape {
    i64 m, n, k, batch;
    i64 a_rs, a_cs, a_bs, b_rs, b_cs, b_bs, c_rs, c_cs, c_bs, bias_rs, bias_cs;
} gemm_shape;
