/* Launches of the kernels of the family view on GPUs. */
#include "backend/gpu/run.h"
#include "op/infer.h"

/* Zeros with in[0] where a view of the result would show, by that view's shape rule. */
static tn_status embed(const tn__launch *l, tn__infer infer, void *params)
{
    const tn__view *out = &l->out[0];
    const size_t size = tn__dtype_size(out->dtype);
    tn_tensor shell = {.dtype = out->dtype, .ndim = out->ndim, .numel = out->numel, .device = l->device};
    memcpy(shell.shape, out->shape, sizeof(int64_t) * (size_t)out->ndim);
    memcpy(shell.stride, out->stride, sizeof(int64_t) * (size_t)out->ndim);
    const tn_scalar in = tn_scalar_t(&shell);
    tn__call c = {.n_in = 1, .in = &in, .params = params};
    tn_status e = infer(&c);
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

tn_status tn__gpu_embed_select(const tn__launch *l)
{
    const tn__embed_select_params *p = l->params;
    tn__select_params view = {.dim = p->dim, .index = p->index};
    return embed(l, tn__infer_select, &view);
}

tn_status tn__gpu_embed_slice(const tn__launch *l)
{
    const tn__embed_slice_params *p = l->params;
    tn__slice_params view = {.dim = p->dim, .start = p->start, .end = p->end, .step = p->step};
    return embed(l, tn__infer_slice, &view);
}

tn_status tn__gpu_embed_diagonal(const tn__launch *l)
{
    const tn__embed_diagonal_params *p = l->params;
    tn__diagonal_params view = {.offset = p->offset, .dim1 = p->dim1, .dim2 = p->dim2};
    return embed(l, tn__infer_diagonal, &view);
}

tn_status tn__gpu_as_strided_scatter(const tn__launch *l)
{
    const tn__view *out = &l->out[0];
    const tn__as_strided_scatter_params *a = l->params;
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
