/* backend/gpu/kernels/dims_layout.h: dimensions that kernels index, as the host has ordered and merged them (backend/gpu/
 * dims.h): the fastest first, with the strides in elements of up to three operands. Host and kernels include this text. */
typedef struct tn__gpu_dims {
    i64 shape[TN_RANK], a[TN_RANK], b[TN_RANK], c[TN_RANK];
    u32 magic[TN_RANK], shift[TN_RANK]; /* i / shape is (mulhi(i, magic) + i) >> shift */
    i32 n, unused;
} tn__gpu_dims;
