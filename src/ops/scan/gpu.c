/* cumsum, cummax, cummin. */
#include "backend/gpu/lines.h"
#include "ops/scan/gpu_layout.h"

enum { SINGLE, SUMS, ROWS, EXTREME };
enum { GROUP = 256, SHORT_LINE = 32, PIECE = 8192 };

static tn_status run_items(tn__gpu_launch *g, const tn__launch *l, scan_lines *f)
{
    const tn__gpu_arg arg[] = {TN__GPU_MEMORY(l->in[0].data), TN__GPU_MEMORY(l->out[0].data), TN__GPU_VALUE(*f)};
    g->kernel = SINGLE;
    g->local[0] = 64;
    g->groups[0] = (uint32_t)tn__div_up(f->n_lines, 64);
    g->arg = arg;
    g->n_arg = TN_COUNT(arg);
    return tn__gpu_run(g);
}

static tn_status run_rows(tn__gpu_launch *g, const tn__launch *l, scan_lines *f, int64_t lanes)
{
    void *partial = NULL;
    tn_status e = TN_OK;
    const int64_t rows = f->pieces > 1 ? 1 : tn__power_of_two(f->n_lines, (int32_t)(GROUP / lanes));
    const size_t bytes = f->pieces > 1 ? (size_t)f->n_lines * (size_t)f->pieces * 8 : 0;
    if (bytes && !(partial = tn__gpu_scratch_get(l->device, bytes)))
        return tn_error_code();
    const tn__gpu_arg arg[] = {TN__GPU_MEMORY(l->in[0].data), TN__GPU_MEMORY(l->out[0].data), TN__GPU_MEMORY(partial),
                               TN__GPU_VALUE(*f)};
    const tn__gpu_arg sums[] = {arg[0], arg[2], arg[3]};
    g->local[0] = (uint32_t)lanes;
    g->local[1] = (uint32_t)rows;
    g->groups[0] = (uint32_t)tn__div_up(f->n_lines, rows);
    g->groups[1] = (uint32_t)f->pieces;
    if (f->pieces > 1) {
        g->kernel = SUMS;
        g->arg = sums;
        g->n_arg = TN_COUNT(sums);
        e = tn__gpu_run(g);
    }
    if (!e) {
        g->kernel = ROWS;
        g->arg = arg;
        g->n_arg = TN_COUNT(arg);
        e = tn__gpu_run(g);
    }
    if (partial)
        tn__gpu_scratch_put(l->device, partial, bytes);
    return e;
}

tn_status tn__gpu_cumsum(const tn__launch *l)
{
    const tn__cumsum_params *p = l->params;
    const tn__view *x = &l->in[0], *out = &l->out[0];
    const int64_t dim = p->dim;
    scan_lines f = {.pieces = 1};
    if (out->numel == 0)
        return TN_OK;
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    if (!limits)
        return tn_error_code();
    tn__gpu_launch g = {.device = l->device,
                        .unit = {TN__FAMILY_scan, TN__OPS, x->dtype, out->dtype, l->compute, 0},
                        .label = tn__op_name(l->op)};
    const int64_t size = (int64_t)tn__dtype_size(x->dtype), per = TN_MAX(16 / size, 4); /* PER of the kernels */
    f.n_lines = tn__lines_along(&f.lines, &g.unit.variant, dim, x, NULL, out);
    f.n = f.piece = tn__size_of(x, dim);
    f.step_a = tn__stride_of(x, dim);
    f.step_c = tn__stride_of(out, dim);
    f.vector = f.n % per == 0 && tn__lines_wide(&f.lines, f.lines.a, x, f.step_a) &&
               tn__lines_wide(&f.lines, f.lines.c, out, f.step_c);
    const int64_t enough = tn__enough_items(limits);
    const bool beside = f.lines.shape[0] > 1 && f.lines.a[0] < f.step_a;
    if (f.n <= SHORT_LINE || (beside && (f.n_lines >= enough / 8 || f.n <= 2 * SHORT_LINE)))
        return run_items(&g, l, &f);
    int32_t lanes = TN_MAX(tn__power_of_two(tn__div_up(f.n, 4 * per), GROUP), 4);
    while (lanes < GROUP && lanes * per < f.n && f.n_lines * lanes < enough)
        lanes *= 2;
    const int64_t pieces = TN_MIN(TN_MIN(enough / (f.n_lines * GROUP), f.n / PIECE), 2048);
    if (lanes == GROUP && pieces > 1) {
        f.piece = tn__div_up(tn__div_up(f.n, pieces), GROUP * per) * GROUP * per;
        f.pieces = (int32_t)tn__div_up(f.n, f.piece);
    }
    return run_rows(&g, l, &f, lanes);
}

/* A work item for each line. Both results are new, so that one offset is the place in both. */
tn_status tn__gpu_cummax(const tn__launch *l)
{
    const tn__extreme_params *p = l->params;
    const tn__view *x = &l->in[0], *out = &l->out[0], *index = &l->out[1];
    const int32_t smallest = l->op == TN__OP_cummin;
    scan_lines f = {.pieces = 1, .n = tn__size_of(x, p->dim), .step_a = tn__stride_of(x, p->dim)};
    if (out->numel == 0)
        return TN_OK;
    tn__gpu_launch g = {.device = l->device,
                        .unit = {TN__FAMILY_scan, TN__OPS, x->dtype, out->dtype, l->compute, 0},
                        .kernel = EXTREME,
                        .label = tn__op_name(l->op)};
    f.n_lines = tn__lines_along(&f.lines, &g.unit.variant, p->dim, x, NULL, out);
    f.step_c = tn__stride_of(out, p->dim);
    const tn__gpu_arg arg[] = {TN__GPU_MEMORY(x->data), TN__GPU_MEMORY(out->data), TN__GPU_MEMORY(index->data),
                               TN__GPU_VALUE(f), TN__GPU_VALUE(smallest)};
    g.local[0] = 64;
    g.groups[0] = (uint32_t)tn__div_up(f.n_lines, 64);
    g.arg = arg;
    g.n_arg = TN_COUNT(arg);
    return tn__gpu_run(&g);
}
