/* Negative log likelihood. */
#include "backend/gpu/strided_view.h"
#include "backend/gpu/run.h"
#include "core/error.h"
#include "ops/loss/gpu_layout.h"

enum { NLL, NLL_FINISH, NLL_BACKWARD, LOCAL = 256 };

static const tn__view absent;

/* Of x's dtype. */
static const tn__view *weight_of(const tn__launch *l)
{
    return l->n_in > 2 && l->in[2].dtype ? &l->in[2] : &absent;
}

static nll_shape shape_of(const tn__launch *l, int64_t reduction, const tn_scalar *ignore, int32_t ndim,
                          const int64_t *shape)
{
    const tn__view *weight = weight_of(l), *target = &l->in[1];
    nll_shape s = {.n = target->numel, .classes = shape[ndim == 1 ? 0 : 1], .spatial = 1};
    s.ignore = ignore->kind ? tn__scalar_int(ignore) : -100;
    for (int32_t d = 2; d < ndim; d++)
        s.spatial *= shape[d];
    s.class_stride = weight->dtype ? weight->stride[0] : 0;
    s.bytes = target->dtype == TN_U8;
    s.reduction = reduction == TN_NO_REDUCTION ? 2 : reduction == TN_SUM ? 1 : 0;
    s.op = l->op;
    return s;
}

static tn__gpu_launch launch_of(const tn__launch *l, tn_dtype dtype, uint32_t kernel, uint32_t groups)
{
    return (tn__gpu_launch){.device = l->device,
                            .unit = {.family = TN__FAMILY_loss,
                                     .op = TN__OPS,
                                     .in = dtype,
                                     .out = dtype,
                                     .compute = tn__dtypes[dtype].compute},
                            .kernel = kernel,
                            .groups = {groups, 1, 1},
                            .local = {LOCAL, 1, 1},
                            .label = tn__ops[l->op].name};
}

static tn_status run_forward(const tn__launch *l, nll_shape s, void *parts, uint32_t groups)
{
    const tn__view *x = &l->in[0], *target = &l->in[1];
    void *weight = weight_of(l)->data;
    const tn__strided xw = tn__strided_of(x), tw = tn__strided_of(target);
    void *out = l->out[0].data, *total = l->out[1].data, *fault = tn__gpu_fault_words(l->device);
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(x->data), TN__GPU_VALUE(xw),      TN__GPU_MEMORY(target->data),
                                TN__GPU_VALUE(tw),       TN__GPU_MEMORY(weight), TN__GPU_MEMORY(out),
                                TN__GPU_MEMORY(total),   TN__GPU_MEMORY(parts),  TN__GPU_MEMORY(fault),
                                TN__GPU_VALUE(s)};
    tn__gpu_launch run = launch_of(l, x->dtype, NLL, groups);
    run.arg = args;
    run.n_arg = (int32_t)TN_COUNT(args);
    tn_status e = tn__gpu_run(&run);
    if (e || groups == 1)
        return e;
    const int32_t n = (int32_t)groups;
    const tn__gpu_arg last[] = {TN__GPU_MEMORY(parts), TN__GPU_VALUE(n), TN__GPU_MEMORY(out), TN__GPU_MEMORY(total),
                                TN__GPU_VALUE(s.reduction)};
    run = launch_of(l, x->dtype, NLL_FINISH, 1);
    run.arg = last;
    run.n_arg = (int32_t)TN_COUNT(last);
    return tn__gpu_run(&run);
}

tn_status tn__gpu_nll_loss(const tn__launch *l)
{
    const tn__nll_loss_params *p = l->params;
    const tn__view *x = &l->in[0];
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    void *parts = NULL;
    if (!limits)
        return tn_error_code();
    const nll_shape s = shape_of(l, p->reduction, &p->ignore_index, x->ndim, x->shape);
    const uint32_t groups = s.n <= 16 * LOCAL ? 1 : tn__gpu_spread(limits, s.n / 4, LOCAL);
    const size_t bytes = 2 * groups * tn__dtype_size(tn__dtypes[x->dtype].compute);
    if (groups > 1 && !(parts = tn__gpu_scratch_get(l->device, bytes)))
        return tn_error_code();
    tn_status e = run_forward(l, s, parts, groups);
    if (parts)
        tn__gpu_scratch_put(l->device, parts, bytes);
    return e;
}

/* in: g, target, weight, total; out: gradient of x */
tn_status tn__gpu_nll_loss_backward(const tn__launch *l)
{
    const tn__nll_loss_backward_params *p = l->params;
    const tn__view *g = &l->in[0], *target = &l->in[1], *out = &l->out[0];
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    void *weight = weight_of(l)->data, *total = l->in[3].data;
    if (!limits)
        return tn_error_code();
    if (out->numel == 0)
        return TN_OK;
    const nll_shape s = shape_of(l, p->reduction, &p->ignore_index, out->ndim, out->shape);
    const tn__strided gw = tn__strided_of(g), tw = tn__strided_of(target);
    const int32_t each = g->numel != 1 || s.n == 1;
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(g->data),      TN__GPU_VALUE(gw),         TN__GPU_VALUE(each),
                                TN__GPU_MEMORY(target->data), TN__GPU_VALUE(tw),         TN__GPU_MEMORY(weight),
                                TN__GPU_MEMORY(total),        TN__GPU_MEMORY(out->data), TN__GPU_VALUE(s)};
    tn__gpu_launch run = launch_of(l, out->dtype, NLL_BACKWARD, tn__gpu_spread(limits, out->numel, LOCAL));
    run.arg = args;
    run.n_arg = (int32_t)TN_COUNT(args);
    return tn__gpu_run(&run);
}
