/* Launches of the kernels of the family view on GPUs. */
#include "backend/gpu/run.h"
#include "op/infer.h"

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
