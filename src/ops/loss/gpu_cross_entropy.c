/* Cross entropy of dense rows, and its gradient. */
#include "backend/gpu/dims.h"
#include "core/error.h"
#include <tenon/base.h>

enum {
    ROWS,
    FINISH,
    SLOPES,
    GROUP = 256,
    EACH = 4,
    FEW = 16
}; /* EACH: classes of a lane; FEW: times that one group does it all */

static tn__gpu_launch launch_of(const tn__launch *l, tn_dtype dtype, uint32_t kernel, const tn__gpu_arg *args, size_t n)
{
    return (tn__gpu_launch){.device = l->device,
                            .unit = {.family = TN__FAMILY_crossent,
                                     .op = TN__OPS,
                                     .in = dtype,
                                     .out = dtype,
                                     .compute = tn__dtypes[dtype].compute},
                            .kernel = kernel,
                            .arg = args,
                            .n_arg = (int32_t)n,
                            .label = tn__op_name(l->op)};
}

static int32_t lanes_of(int64_t classes)
{
    return TN_MAX(tn__power_of_two(tn__div_up(classes, EACH), GROUP), 8);
}

static int32_t reduction_of(int64_t reduction)
{
    return reduction == TN_NO_REDUCTION ? 2 : reduction == TN_SUM;
}

static tn_status run_rows(const tn__launch *l, void *parts, int32_t groups)
{
    const tn__cross_entropy_params *p = l->params;
    const tn_dtype dtype = l->in[0].dtype;
    void *x = l->in[0].data, *target = l->in[1].data, *loss = l->out[0].data, *sums = l->out[1].data;
    void *fault = tn__gpu_fault_words(l->device);
    const int64_t n_rows = l->in[0].shape[0], n = l->in[0].shape[1], ignore = p->ignore;
    const int32_t reduction = reduction_of(p->reduction), op = (int32_t)l->op, lanes = lanes_of(n);
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(x),        TN__GPU_MEMORY(target), TN__GPU_MEMORY(loss),
                                TN__GPU_MEMORY(sums),     TN__GPU_MEMORY(parts),  TN__GPU_MEMORY(fault),
                                TN__GPU_VALUE(n_rows),    TN__GPU_VALUE(n),       TN__GPU_VALUE(ignore),
                                TN__GPU_VALUE(reduction), TN__GPU_VALUE(op)};
    tn__gpu_launch run = launch_of(l, dtype, ROWS, args, TN_COUNT(args));
    run.groups[0] = (uint32_t)groups;
    run.local[0] = (uint32_t)lanes, run.local[1] = (uint32_t)(GROUP / lanes);
    tn_status e = fault ? tn__gpu_run(&run) : tn_error_code();
    if (e || groups == 1)
        return e;
    void *count = (char *)sums + 2 * n_rows * (int64_t)tn__dtype_size(l->out[1].dtype);
    const tn__gpu_arg last[] = {TN__GPU_MEMORY(parts), TN__GPU_VALUE(groups), TN__GPU_MEMORY(loss),
                                TN__GPU_MEMORY(count), TN__GPU_VALUE(reduction)};
    run = launch_of(l, dtype, FINISH, last, TN_COUNT(last));
    run.local[0] = GROUP;
    return tn__gpu_run(&run);
}

tn_status tn__gpu_cross_entropy(const tn__launch *l)
{
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    const int64_t rows = tn__div_up(l->in[0].shape[0], GROUP / lanes_of(l->in[0].shape[1]));
    const int64_t most = limits ? 8 * (int64_t)limits->multiprocessors : 1;
    const int32_t groups = rows <= FEW ? 1 : (int32_t)TN_MIN(rows, most);
    const size_t bytes = 2 * (size_t)groups * tn__dtype_size(l->out[1].dtype);
    void *parts = NULL;
    if (!limits || (groups > 1 && !(parts = tn__gpu_scratch_get(l->device, bytes))))
        return tn_error_code();
    tn_status e = run_rows(l, parts, groups);
    if (parts)
        tn__gpu_scratch_put(l->device, parts, bytes);
    return e;
}

tn_status tn__gpu_cross_entropy_backward(const tn__launch *l)
{
    const tn__cross_entropy_params *p = l->params;
    void *g = l->in[0].data, *x = l->in[1].data, *target = l->in[2].data, *sums = l->in[3].data, *out = l->out[0].data;
    const int64_t n_rows = l->in[1].shape[0], n = l->in[1].shape[1], ignore = p->ignore;
    const int32_t reduction = reduction_of(p->reduction), each = l->in[0].numel == n_rows, lanes = lanes_of(n);
    const tn__gpu_arg args[] = {TN__GPU_MEMORY(g),    TN__GPU_MEMORY(x),     TN__GPU_MEMORY(target),
                                TN__GPU_MEMORY(sums), TN__GPU_MEMORY(out),   TN__GPU_VALUE(n_rows),
                                TN__GPU_VALUE(n),     TN__GPU_VALUE(ignore), TN__GPU_VALUE(reduction),
                                TN__GPU_VALUE(each)};
    tn__gpu_launch run = launch_of(l, l->out[0].dtype, SLOPES, args, TN_COUNT(args));
    run.groups[0] = (uint32_t)tn__div_up(n_rows, GROUP / lanes);
    run.local[0] = (uint32_t)lanes, run.local[1] = (uint32_t)(GROUP / lanes);
    return tn__gpu_run(&run);
}
