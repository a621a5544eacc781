/* Operations that programs register, on GPUs: arguments and groups of their kernel. */
#include "backend/gpu/run.h"
#include "backend/own_call.h"
#include "core/error.h"

enum { ARGUMENTS = TN_OP_INPUTS + TN_OP_RESULTS + 2 + TN_OP_PARAMS };

/* Results, inputs, items, the width of rows, parameters. Returns how many. */
static int32_t arguments(const tn__own_call *c, tn__gpu_arg *arg)
{
    int32_t n = 0;
    for (int32_t i = 0; i < c->args.n_out; i++)
        arg[n++] = (tn__gpu_arg)TN__GPU_MEMORY(c->out[i].data);
    for (int32_t i = 0; i < c->args.n_in; i++)
        arg[n++] = (tn__gpu_arg)TN__GPU_MEMORY(c->in[i].data);
    arg[n++] = (tn__gpu_arg)TN__GPU_VALUE(c->args.items);
    if (c->op->def.items == TN_OP_ROWS)
        arg[n++] = (tn__gpu_arg)TN__GPU_VALUE(c->width);
    for (int32_t i = 0; i < c->args.n_params; i++) /* all of them have 8 bytes */
        arg[n++] = (tn__gpu_arg)TN__GPU_VALUE(c->args.param[i].v.i);
    return n;
}

static uint32_t groups_of(const tn__own_call *c, const tn__gpu_limits *limits)
{
    const int64_t most = (int64_t)limits->multiprocessors * 32, local = c->op->def.local;
    const int64_t n = c->op->def.items == TN_OP_ELEMENTS ? tn__div_up(c->args.items, local) : c->args.items;
    return (uint32_t)TN_MAX(TN_MIN(n, most), 1);
}

static tn_status launch(const tn__own_call *c, const tn__launch *l)
{
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    const tn_dtype in = c->in[0].dtype, out = c->out[0].dtype;
    tn__gpu_arg arg[ARGUMENTS];
    if (!limits)
        return tn_error_code();
    const int32_t n = arguments(c, arg);
    return tn__gpu_run(&(tn__gpu_launch){
        .device = l->device,
        .unit = {.family = TN__FAMILY_own,
                 .op = l->op,
                 .in = in,
                 .out = out,
                 .compute = tn__dtypes[tn__dtype_is_float(in) ? in : out].compute},
        .groups = {groups_of(c, limits)},
        .local = {(uint32_t)TN_MIN(c->op->def.local, limits->max_local)},
        .arg = arg,
        .n_arg = n,
        .label = c->op->name,
    });
}

tn_status tn__gpu_own(const tn__launch *l)
{
    const tn_op *op = tn__own_of(l->op);
    tn__own_call c;
    if (!op->kernel)
        return tn__error(TN_EMISSING,
                         "%s has no kernel: it was registered with a CPU function alone, and does not run on %s",
                         op->name, tn_device_text(l->device).s);
    tn_status e = tn__own_begin(&c, l, 0);
    if (!e && !c.empty)
        e = launch(&c, l);
    return tn__own_end(&c, l, e);
}
