/* Kernels of the family view for the CPU. */
#include "backend/cpu/cpu.h"

/* ---- structural rows that are copies ---- */

/* Zeros with in[0] where a view of the result would show, by that view's shape rule. */
static tn_status embed(const tn__launch *l, tn__infer infer, void *params)
{
    const tn__view *out = &l->out[0];
    tn_tensor shell = {.dtype = out->dtype, .ndim = out->ndim, .numel = out->numel, .device = l->device};
    memcpy(shell.shape, out->shape, sizeof(int64_t) * (size_t)out->ndim);
    memcpy(shell.stride, out->stride, sizeof(int64_t) * (size_t)out->ndim);
    const tn_scalar in = tn_scalar_t(&shell);
    tn__call c = {.n_in = 1, .in = &in, .params = params};
    tn_status e = infer(&c);
    if (e)
        return e;
    if (out->numel)
        memset(out->data, 0, (size_t)out->numel * tn__dtype_size(out->dtype));
    const tn__spec *s = &c.spec[0];
    tn__view part = {.data = (char *)out->data + s->offset * (int64_t)tn__dtype_size(out->dtype),
                     .dtype = out->dtype,
                     .ndim = s->ndim,
                     .numel = l->in[0].numel,
                     .shape = s->shape,
                     .stride = s->stride};
    tn__cpu_copy_view(&part, &l->in[0]);
    return TN_OK;
}

tn_status tn__cpu_embed_select(const tn__launch *l)
{
    const tn__embed_select_params *p = l->params;
    tn__select_params view = {.dim = p->dim, .index = p->index};
    return embed(l, tn__infer_select, &view);
}

tn_status tn__cpu_embed_slice(const tn__launch *l)
{
    const tn__embed_slice_params *p = l->params;
    tn__slice_params view = {.dim = p->dim, .start = p->start, .end = p->end, .step = p->step};
    return embed(l, tn__infer_slice, &view);
}

tn_status tn__cpu_embed_diagonal(const tn__launch *l)
{
    const tn__embed_diagonal_params *p = l->params;
    tn__diagonal_params view = {.offset = p->offset, .dim1 = p->dim1, .dim2 = p->dim2};
    return embed(l, tn__infer_diagonal, &view);
}

tn_status tn__cpu_as_strided_scatter(const tn__launch *l)
{
    const tn__view *out = &l->out[0];
    const tn__as_strided_scatter_params *a = l->params;
    int64_t numel = tn__numel(a->size.d, a->size.n), zero = 0;
    tn__view part = {.data = (char *)out->data + a->storage_offset * (int64_t)tn__dtype_size(out->dtype),
                     .dtype = out->dtype,
                     .ndim = a->size.n,
                     .numel = numel,
                     .shape = a->size.d,
                     .stride = a->stride.d};
    tn__view nothing = {.data = &zero, .dtype = out->dtype, .numel = 1, .contiguous = true};
    tn__cpu_copy_view(&part, l->in[1].dtype ? &l->in[1] : &nothing);
    return TN_OK;
}
