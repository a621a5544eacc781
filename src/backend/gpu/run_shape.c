/* Triangles, and gradients of views: what a view does not show is zero, or as it was. */
#include "backend/gpu/run.h"
#include "core/error.h"
#include "op/infer.h"

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
                          .unit = {.family = TN__FAMILY_shape, .op = TN__OPS, .in = tn__gpu_word(x->dtype)},
                          .groups = {tn__gpu_groups(limits, m.matrices * m.rows * TN__GPU_LOCAL)},
                          .local = {TN__GPU_LOCAL},
                          .arg = args,
                          .n_arg = (int32_t)TN_COUNT(args),
                          .label = tn__ops[l->op].name});
}

/* Of a mask and its running sum. */
tn_status tn__gpu_nonzero(const tn__launch *l)
{
    const tn__nonzero_params *p = l->params;
    const tn__view *x = &l->in[0];
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    if (!limits)
        return tn_error_code();
    if (l->out[0].numel == 0)
        return TN_OK;
    tn_matrices m = {.matrices = x->numel, .ndim = x->ndim, .rows = p->n};
    for (int32_t d = 0; d < x->ndim; d++)
        m.shape[d] = x->shape[d];
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(x->data), TN__GPU_MEMORY(l->in[1].data), TN__GPU_MEMORY(l->out[0].data),
                                TN__GPU_VALUE(m)};
    return tn__gpu_run(
        &(tn__gpu_launch){.device = l->device,
                          .unit = {.family = TN__FAMILY_shape, .op = TN__OPS, .in = tn__gpu_word(x->dtype)},
                          .kernel = 1,
                          .groups = {tn__gpu_groups(limits, x->numel)},
                          .local = {TN__GPU_LOCAL},
                          .arg = args,
                          .n_arg = (int32_t)TN_COUNT(args),
                          .label = tn__op_name(l->op)});
}

/* Zeros with in[0] where the view of the row p.view would show; shape rule of that view, on the result. */
tn_status tn__gpu_embed(const tn__launch *l)
{
    const tn__view *out = &l->out[0];
    const size_t size = tn__dtype_size(out->dtype);
    tn_tensor shell = {.dtype = out->dtype, .ndim = out->ndim, .numel = out->numel, .device = l->device};
    memcpy(shell.shape, out->shape, sizeof(int64_t) * (size_t)out->ndim);
    memcpy(shell.stride, out->stride, sizeof(int64_t) * (size_t)out->ndim);
    tn__window_params p = *(const tn__window_params *)l->params;
    const tn_scalar in = tn_scalar_t(&shell);
    tn__call c = {.op = (tn__op_id)p.view, .n_in = 1, .in = &in, .params = &p};
    tn_status e = tn__ops[p.view].infer(&c);
    if (!e)
        e = tn__gpu_zero(l->device, out->data, (size_t)out->numel * size);
    if (e)
        return e;
    const tn__spec *s = &c.spec[0];
    const tn__view part = {.data = (char *)out->data + s->offset * (int64_t)size,
                           .dtype = out->dtype,
                           .ndim = s->ndim,
                           .numel = l->in[0].numel,
                           .shape = s->shape,
                           .stride = s->stride};
    return tn__gpu_copy_as(l->device, &part, &l->in[0], "embed");
}

tn_status tn__gpu_as_strided_scatter(const tn__launch *l)
{
    const tn__view *out = &l->out[0];
    const tn__as_strided_params *a = l->params;
    const tn__view part = {.data = (char *)out->data + a->storage_offset * (int64_t)tn__dtype_size(out->dtype),
                           .dtype = out->dtype,
                           .ndim = a->size.n,
                           .numel = tn__numel(a->size.d, a->size.n),
                           .shape = a->size.d,
                           .stride = a->stride.d};
    if (l->in[1].dtype)
        return tn__gpu_copy_as(l->device, &part, &l->in[1], "as_strided_scatter");
    return tn__gpu_fill_view(l->device, &part, 0, "as_strided_scatter");
}
