/* Launches of the kernels of the family arrange on GPUs. */
#include "backend/gpu/run.h"
#include "op/infer.h"

/* ---- the door ---- */

tn_status tn__gpu_flip(const tn__launch *l)
{
    const tn__flip_params *p = l->params;
    tn__view in = l->in[0];
    int64_t stride[TN_MAX_DIMS], offset = 0;
    if (in.numel == 0)
        return TN_OK;
    /* read backwards: negative strides from the far end, dimension by dimension */
    memcpy(stride, in.stride, sizeof(int64_t) * (size_t)in.ndim);
    for (int32_t i = 0; i < p->dims.n; i++) {
        const int64_t d = p->dims.d[i];
        offset += (in.shape[d] - 1) * in.stride[d];
        stride[d] = -in.stride[d];
    }
    in.data = (char *)in.data + offset * (int64_t)tn__dtype_size(in.dtype);
    in.stride = stride;
    in.contiguous = false;
    return tn__gpu_copy_as(l->device, &l->out[0], &in, "flip");
}

/* The last two dimensions of in and out, and those before them. */
static tn_matrices matrices_of(const tn__view *in, const tn__view *out)
{
    const int32_t n = in->ndim;
    tn_matrices m = {.matrices = in->numel / (in->shape[n - 1] * in->shape[n - 2]),
                     .rows = in->shape[n - 2],
                     .columns = in->shape[n - 1],
                     .row_in = in->stride[n - 2],
                     .column_in = in->stride[n - 1],
                     .row_out = out->stride[n - 2],
                     .column_out = out->stride[n - 1]};
    for (int32_t d = n - 3; d >= 0; d--) {
        m.shape[m.ndim] = in->shape[d];
        m.in[m.ndim] = in->stride[d];
        m.out[m.ndim++] = out->stride[d];
    }
    return m;
}

tn_status tn__gpu_tril(const tn__launch *l)
{
    const tn__triangle_params *p = l->params;
    const tn__view *x = &l->in[0], *y = &l->out[0];
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    if (!limits)
        return tn_error_code();
    if (x->numel == 0)
        return TN_OK;
    void *in = x->data, *out = y->data;
    const tn_matrices m = matrices_of(x, y);
    const int64_t diagonal = p->diagonal;
    const int32_t upper = l->op == TN__OP_triu;
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(in), TN__GPU_MEMORY(out), TN__GPU_VALUE(m), TN__GPU_VALUE(diagonal),
                                TN__GPU_VALUE(upper)};
    return tn__gpu_run(
        &(tn__gpu_launch){.device = l->device,
                          .unit = {.family = TN__FAMILY_triangle, .op = TN__OPS, .in = tn__dtype_word(x->dtype)},
                          .groups = {tn__gpu_groups(limits, m.matrices * m.rows * TN__GPU_LOCAL)},
                          .local = {TN__GPU_LOCAL},
                          .arg = args,
                          .n_arg = (int32_t)TN_COUNT(args),
                          .label = tn__ops[l->op].name});
}
