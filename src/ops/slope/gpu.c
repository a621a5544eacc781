/* Launches of the kernel of the family slope: gradients of both operands of a row, in one pass. */
#include "backend/gpu/run.h"
#include "op/infer.h"

typedef struct both_operands {
    void *g, *a, *b, *out, *to_a, *to_b;
    int64_t row, step, n;
} both_operands;

static tn_status run_both(const tn__launch *l, const both_operands *o, int64_t of)
{
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    const tn_dtype dtype = l->out[0].dtype;
    const int64_t width = 16 / (int64_t)tn__dtype_size(dtype);
    const void *const all[] = {o->g, o->a, o->b, o->out, o->to_a, o->to_b};
    if (!limits)
        return tn_error_code();
    if (!o->n)
        return TN_OK;
    bool vectors = o->n >= width && (o->row == o->n || (o->row % width == 0 && o->step % width == 0));
    for (size_t i = 0; i < TN_COUNT(all); i++)
        vectors = vectors && tn__gpu_aligned(all[i], 16);
    const int32_t there = (o->a ? 1 : 0) | (o->b ? 2 : 0) | (o->out ? 4 : 0) | (vectors ? TN_VECTORS : 0);
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(o->g),   TN__GPU_MEMORY(o->a),    TN__GPU_MEMORY(o->b),
                                TN__GPU_MEMORY(o->out), TN__GPU_MEMORY(o->to_a), TN__GPU_MEMORY(o->to_b),
                                TN__GPU_VALUE(there),   TN__GPU_VALUE(o->row),   TN__GPU_VALUE(o->step),
                                TN__GPU_VALUE(o->n)};
    return tn__gpu_run(&(tn__gpu_launch){.device = l->device,
                                         .unit = {.family = TN__FAMILY_both,
                                                  .op = TN__OPS,
                                                  .in = dtype,
                                                  .out = dtype,
                                                  .compute = l->compute,
                                                  .variant = (uint32_t)of},
                                         .groups = {tn__gpu_all_groups(vectors ? o->n / width : o->n)},
                                         .local = {TN__GPU_LOCAL},
                                         .arg = args,
                                         .n_arg = (int32_t)TN_COUNT(args),
                                         .label = tn__op_name(l->op)});
}

tn_status tn__gpu_both_gradients(const tn__launch *l)
{
    const tn__both_gradients_params *p = l->params;
    const int64_t n = l->in[0].numel;
    const both_operands o = {.g = l->in[0].data,
                             .a = l->in[1].data,
                             .b = l->in[2].data,
                             .out = l->in[3].data,
                             .to_a = l->out[0].data,
                             .to_b = l->out[1].data,
                             .row = n,
                             .step = n,
                             .n = n};
    return run_both(l, &o, p->of);
}

tn_status tn__gpu_half_gradients(const tn__launch *l)
{
    const tn__half_gradients_params *p = l->params;
    const tn__view *g = &l->in[0], *x = &l->in[1], *out = &l->out[0];
    both_operands o = {.g = g->data, .a = x->data, .to_a = out->data, .row = 1, .n = g->numel};
    for (int32_t d = (int32_t)p->dim; d < g->ndim; d++)
        o.row *= g->shape[d];
    const int64_t half = o.row * (int64_t)tn__dtype_size(x->dtype);
    o.step = 2 * o.row;
    o.b = (char *)x->data + half, o.to_b = (char *)out->data + half;
    return run_both(l, &o, p->of);
}
