/* sum mean prod amax amin any all; argmax argmin max min; var std logsumexp norm. */
#include "backend/gpu/dims.h"

enum { SUM, PROD, MAX, MIN, ANY, ALL }; /* TN_VARIANT of the family */

static uint32_t variant_of(tn__op_id op)
{
    switch (op) {
    case TN__OP_prod: return PROD;
    case TN__OP_amax:
    case TN__OP_max: return MAX;
    case TN__OP_amin:
    case TN__OP_min: return MIN;
    case TN__OP_any: return ANY;
    case TN__OP_all: return ALL;
    default: return SUM;
    }
}

static uint32_t reduced_mask(const tn__dims *dim)
{
    uint32_t mask = 0;
    for (int32_t i = 0; i < dim->n; i++)
        mask |= 1U << dim->d[i];
    return mask;
}

static tn_status reduce(const tn__launch *l, const tn__dims *dim)
{
    const tn__view *x = &l->in[0], *out = &l->out[0];
    tn__gpu_unit unit = {TN__FAMILY_reduce, TN__OPS, x->dtype, out->dtype, l->compute, variant_of(l->op)};
    const bool truth = unit.variant >= ANY,
               wide = unit.variant <= PROD && l->compute == TN_F32; /* added up in double */
    tn__gpu_reduction f = {.factor = 1};
    tn__gpu_reduction_dims(&f, &unit.variant, x, reduced_mask(dim), false);
    if (l->op == TN__OP_mean)
        f.factor = (double)f.n;
    return tn__gpu_reduction_run(l, unit, &f, out->data, NULL,
                                 truth  ? 4
                                 : wide ? 8
                                        : tn__dtype_size(l->compute),
                                 (int32_t)(16 / tn__dtype_size(x->dtype)));
}

tn_status tn__gpu_sum(const tn__launch *l)
{
    const tn__sum_params *p = l->params;
    return reduce(l, &p->dim);
}

tn_status tn__gpu_reduce(const tn__launch *l)
{
    const tn__reduction_params *p = l->params;
    return reduce(l, &p->dim);
}

tn_status tn__gpu_argreduce(const tn__launch *l)
{
    const tn__reduction_params *p = l->params;
    const tn__view *x = &l->in[0];
    const bool least = l->op == TN__OP_argmin || l->op == TN__OP_min;
    const bool values = l->op == TN__OP_max || l->op == TN__OP_min;
    if (values && l->n_out == 1)
        return tn__gpu_reduce(l); /* the place does not matter */
    tn__gpu_unit unit = {TN__FAMILY_argreduce, TN__OPS, x->dtype, x->dtype, tn__dtypes[x->dtype].compute, least};
    tn__gpu_reduction f = {0};
    tn__gpu_reduction_dims(&f, &unit.variant, x, reduced_mask(&p->dim), true);
    return tn__gpu_reduction_run(l, unit, &f, values ? l->out[0].data : NULL, l->out[values].data, 16, 1);
}

/* kind: TN_VARIANT of the family */
static tn_status moments(const tn__launch *l, const tn__dims *dim, uint32_t kind, double factor)
{
    const tn__view *x = &l->in[0];
    tn__gpu_unit unit = {TN__FAMILY_var, TN__OPS, x->dtype, x->dtype, l->compute, kind};
    tn__gpu_reduction f = {.factor = factor};
    tn__gpu_reduction_dims(&f, &unit.variant, x, reduced_mask(dim), false);
    return tn__gpu_reduction_run(l, unit, &f, l->out[0].data, NULL, 32, 1);
}

tn_status tn__gpu_var(const tn__launch *l)
{
    const tn__var_params *p = l->params;
    return moments(l, &p->dim, l->op == TN__OP_std, p->correction.kind ? tn__scalar_double(&p->correction) : 1);
}

tn_status tn__gpu_logsumexp(const tn__launch *l)
{
    const tn__reduction_params *p = l->params;
    return moments(l, &p->dim, 2, 0);
}

tn_status tn__gpu_row_gradients(const tn__launch *l)
{
    const tn__row_gradients_params *p = l->params;
    const int64_t rows = l->in[0].numel, n = rows ? l->in[1].numel / rows : 0;
    const double scale = p->scale;
    void *g = l->in[0].data, *x = l->in[1].data, *out = l->in[2].data, *to = l->out[0].data;
    if (!n)
        return TN_OK;
    enum { GROUP = 256, EACH = 4 }; /* elements that a lane has at least */
    const int32_t lanes = TN_MAX(tn__power_of_two(tn__div_up(n, EACH), GROUP), 4);
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(x),   TN__GPU_MEMORY(g), TN__GPU_MEMORY(out), TN__GPU_MEMORY(to),
                                TN__GPU_VALUE(rows), TN__GPU_VALUE(n),  TN__GPU_VALUE(scale)};
    const tn_dtype dtype = l->in[1].dtype;
    return tn__gpu_run(
        &(tn__gpu_launch){.device = l->device,
                          .unit = {TN__FAMILY_rowgrad, TN__OPS, dtype, dtype, l->compute, (uint32_t)p->kind},
                          .groups = {(uint32_t)tn__div_up(rows, GROUP / lanes)},
                          .local = {(uint32_t)lanes, (uint32_t)(GROUP / lanes)},
                          .arg = args,
                          .n_arg = (int32_t)TN_COUNT(args),
                          .label = tn__op_name(l->op)});
}

tn_status tn__gpu_norm(const tn__launch *l)
{
    const tn__reduction_params *p = l->params;
    return moments(l, &p->dim, 3, 0);
}
