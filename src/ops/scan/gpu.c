/* cumsum, cummax, cummin: which kernel, of how many lanes, for rows in how many pieces. */
#include "backend/gpu/dims.h"
#include "ops/scan/gpu_layout.h"

enum { SINGLE, ENDS, ROWS }; /* kernels of both families; what scan.k calls sums is ENDS */
enum { GROUP = 256, SHORT_ROW = 32, PIECE = 8192 };

/* One scan: x along a dimension into results that lie as one another. */
typedef struct job {
    const tn__view *x, *out, *index; /* index: NULL for sums */
    scan_rows f;
    int64_t per; /* PER of the kernels */
    size_t item; /* bytes of their G */
    void *partial;
} job;

/* Arguments in the kernels' order: x, results, what pieces end with, the rows. Returns how many. */
static int32_t arguments(const job *j, bool results, bool partial, tn__gpu_arg *arg)
{
    int32_t n = 0;
    arg[n++] = (tn__gpu_arg)TN__GPU_MEMORY(j->x->data);
    if (results)
        arg[n++] = (tn__gpu_arg)TN__GPU_MEMORY(j->out->data);
    if (results && j->index)
        arg[n++] = (tn__gpu_arg)TN__GPU_MEMORY(j->index->data);
    if (partial)
        arg[n++] = (tn__gpu_arg)TN__GPU_MEMORY(j->partial);
    arg[n++] = (tn__gpu_arg)TN__GPU_VALUE(j->f);
    return n;
}

static tn_status launch(tn__gpu_launch *g, const job *j, uint32_t kernel)
{
    tn__gpu_arg arg[5];
    g->kernel = kernel;
    g->n_arg = arguments(j, kernel != ENDS, kernel != SINGLE, arg);
    g->arg = arg;
    return tn__gpu_run(g);
}

static tn_status run_items(tn__gpu_launch *g, const job *j)
{
    g->local[0] = 64;
    g->groups[0] = (uint32_t)tn__div_up(j->f.n_rows, 64);
    return launch(g, j, SINGLE);
}

static tn_status run_rows(tn__gpu_launch *g, job *j, int64_t lanes)
{
    const scan_rows *f = &j->f;
    tn_status e = TN_OK;
    const int64_t rows = f->pieces > 1 ? 1 : tn__power_of_two(f->n_rows, (int32_t)(GROUP / lanes));
    const size_t bytes = f->pieces > 1 ? (size_t)f->n_rows * (size_t)f->pieces * j->item : 0;
    if (bytes && !(j->partial = tn__gpu_scratch_get(g->device, bytes)))
        return tn_error_code();
    g->local[0] = (uint32_t)lanes;
    g->local[1] = (uint32_t)rows;
    g->groups[0] = (uint32_t)tn__div_up(f->n_rows, rows);
    g->groups[1] = (uint32_t)f->pieces;
    if (f->pieces > 1)
        e = launch(g, j, ENDS);
    if (!e)
        e = launch(g, j, ROWS);
    if (j->partial)
        tn__gpu_scratch_put(g->device, j->partial, bytes);
    return e;
}

static tn_status run(tn__gpu_launch *g, job *j, int64_t dim)
{
    scan_rows *f = &j->f;
    const tn__gpu_limits *limits = tn__gpu_limits_of(g->device);
    if (!limits)
        return tn_error_code();
    j->per = TN_MAX(16 / (int64_t)tn__dtype_size(j->x->dtype), 4);
    f->pieces = 1;
    f->n_rows = tn__gpu_dims_except(&f->dims, &g->unit.variant, dim, j->x, NULL, j->out);
    f->n = f->piece = tn__size_of(j->x, dim);
    f->step_a = tn__stride_of(j->x, dim);
    f->step_c = tn__stride_of(j->out, dim);
    f->vector = f->n % j->per == 0 && tn__gpu_dims_vectorizable(&f->dims, f->dims.a, j->x, f->step_a) &&
                tn__gpu_dims_vectorizable(&f->dims, f->dims.c, j->out, f->step_c) &&
                (!j->index || tn__gpu_dims_vectorizable(&f->dims, f->dims.c, j->index, f->step_c));
    const int64_t enough = tn__enough_items(limits);
    const bool beside = f->dims.shape[0] > 1 && f->dims.a[0] < (f->step_a < 0 ? -f->step_a : f->step_a);
    if (f->n <= SHORT_ROW || (beside && (f->n_rows >= enough / 8 || f->n <= 2 * SHORT_ROW)))
        return run_items(g, j);
    int32_t lanes = TN_MAX(tn__power_of_two(tn__div_up(f->n, 4 * j->per), GROUP), 4);
    while (lanes < GROUP && lanes * j->per < f->n && f->n_rows * lanes < enough)
        lanes *= 2;
    const int64_t pieces = TN_MIN(TN_MIN(enough / (f->n_rows * GROUP), f->n / PIECE), 2048);
    if (lanes == GROUP && pieces > 1) {
        f->piece = tn__div_up(tn__div_up(f->n, pieces), GROUP * j->per) * GROUP * j->per;
        f->pieces = (int32_t)tn__div_up(f->n, f->piece);
    }
    return run_rows(g, j, lanes);
}

tn_status tn__gpu_cumsum(const tn__launch *l)
{
    const tn__running_params *p = l->params;
    const bool behind = l->op == TN__OP__sum_behind || l->op == TN__OP__logsum_behind;
    const uint32_t kind = l->op == TN__OP_cumsum || l->op == TN__OP__sum_behind ? 0 : l->op == TN__OP_cumprod ? 1 : 2;
    int64_t stride[2][TN_MAX_DIMS];
    const tn__view x = behind ? tn__view_backwards(&l->in[0], p->dim, stride[0]) : l->in[0];
    const tn__view out = behind ? tn__view_backwards(&l->out[0], p->dim, stride[1]) : l->out[0];
    job j = {.x = &x, .out = &out, .item = kind == 2 ? 16 : 8};
    tn__gpu_launch g = {.device = l->device,
                        .unit = {TN__FAMILY_scan, TN__OPS, j.x->dtype, j.out->dtype, l->compute, kind},
                        .label = tn__op_name(l->op)};
    return j.out->numel ? run(&g, &j, p->dim) : TN_OK;
}

/* Both results are new, so that one offset is the place in both. */
tn_status tn__gpu_cummax(const tn__launch *l)
{
    const tn__extreme_params *p = l->params;
    const uint32_t smallest = l->op == TN__OP_cummin;
    job j = {.x = &l->in[0], .out = &l->out[0], .index = &l->out[1], .item = 16};
    tn__gpu_launch g = {.device = l->device,
                        .unit = {TN__FAMILY_extreme, TN__OPS, j.x->dtype, j.out->dtype, l->compute, smallest},
                        .label = tn__op_name(l->op)};
    return j.out->numel ? run(&g, &j, p->dim) : TN_OK;
}
