/* Reductions: which kernel, and how work is shared out among lanes, groups and pieces. */
#include "backend/gpu/dims.h"

enum { SINGLE, ROWS, COLUMNS, FINISH }; /* kernels of the families that have them */
enum { GROUP = 256, SHORT_ROW = 32 };   /* work items of a group; elements that one work item reads alone */
enum { LOADS = 8, PIECE_LOADS = 16 };   /* of a lane: what is worth a lane, a group of its own */

void tn__gpu_reduction_dims(tn__gpu_reduction *f, uint32_t *variant, const tn__view *x, uint32_t mask, bool ordered)
{
    int32_t order[TN_MAX_DIMS], n = tn__gpu_dims_order(x, tn__all_dims(x) & ~mask, order);
    int64_t dense[TN_MAX_DIMS], step = 1;
    for (int32_t d = x->ndim - 1; d >= 0; d--) {
        dense[d] = step;
        if (!(mask >> d & 1))
            step *= x->shape[d];
    }
    for (int32_t i = 0; i < n; i++)
        tn__gpu_dims_add(&f->kept, x->shape[order[i]], x->stride[order[i]], dense[order[i]], 0);
    n = tn__gpu_dims_order(x, mask, order);
    if (ordered) {
        n = 0;
        for (int32_t d = x->ndim - 1; d >= 0; d--)
            if (mask >> d & 1)
                order[n++] = d;
    }
    for (int32_t i = 0; i < n; i++)
        tn__gpu_dims_add(&f->reduced, x->shape[order[i]], x->stride[order[i]], 0, 0);
    f->n_kept = tn__gpu_dims_end(&f->kept, variant);
    f->n = f->piece = tn__gpu_dims_end(&f->reduced, variant);
    f->pieces = f->width = 1;
}

/* Do neighbours in memory belong to different results? */
static bool in_columns(const tn__gpu_reduction *f)
{
    int64_t nearest = f->reduced.a[0];
    for (int32_t i = 1; i < f->reduced.n; i++)
        nearest = TN_MIN(nearest, f->reduced.a[i]);
    return f->n > 1 && f->kept.shape[0] > 1 && f->kept.a[0] < nearest;
}

/* Cuts rows of n into as many pieces as it takes, each a multiple of 'grain'. */
static void cut(tn__gpu_reduction *f, int64_t pieces, int64_t grain)
{
    pieces = TN_MIN(TN_MAX(pieces, 1), 4096);
    f->piece = tn__div_up(tn__div_up(f->n, pieces), grain) * grain;
    f->pieces = (int32_t)tn__div_up(f->n, f->piece);
    if (f->pieces == 1)
        f->piece = f->n;
}

static void share_rows(tn__gpu_reduction *f, tn__gpu_launch *g, const tn__view *x, const tn__gpu_limits *limits)
{
    const bool run = f->reduced.n == 1 && f->reduced.a[0] == 1;
    const int64_t vector = run ? 16 / (int64_t)tn__dtype_size(x->dtype) : 1;
    const int64_t loads = tn__div_up(f->n, vector), enough = tn__enough_items(limits);
    if (f->n <= SHORT_ROW) {
        g->kernel = SINGLE;
        g->local[0] = GROUP / 2;
        g->groups[0] = (uint32_t)tn__div_up(f->n_kept, GROUP / 2);
        return;
    }
    int32_t lanes = tn__power_of_two(tn__div_up(loads, LOADS), GROUP);
    lanes = TN_MAX(lanes, 4);
    while (lanes < GROUP && lanes < loads && f->n_kept * lanes < enough)
        lanes *= 2;
    if (lanes == GROUP && f->n_kept * lanes < enough && loads > GROUP * LOADS)
        cut(f, TN_MIN(enough / (f->n_kept * lanes), loads / (GROUP * LOADS)), GROUP * vector);
    const int32_t rows = tn__power_of_two(f->n_kept, GROUP / lanes);
    g->kernel = ROWS;
    g->local[0] = (uint32_t)lanes;
    g->local[1] = (uint32_t)rows;
    g->groups[0] = (uint32_t)tn__div_up(f->n_kept, rows);
    g->groups[1] = (uint32_t)f->pieces;
}

/* May each work item take 'width' columns with loads of 16 bytes? */
static bool wide_columns(const tn__gpu_reduction *f, const tn__view *x, int32_t width)
{
    bool fits = f->kept.a[0] == 1 && f->kept.shape[0] % width == 0 && tn__aligned16(x->data);
    for (int32_t i = 1; fits && i < f->kept.n; i++)
        fits = f->kept.a[i] % width == 0;
    for (int32_t i = 0; fits && i < f->reduced.n; i++)
        fits = f->reduced.a[i] % width == 0;
    return fits;
}

static void share_columns(tn__gpu_reduction *f, tn__gpu_launch *g, const tn__view *x, int32_t width,
                          const tn__gpu_limits *limits)
{
    const int64_t enough = tn__enough_items(limits), size = (int64_t)tn__dtype_size(x->dtype);
    if (width > 1 && f->n_kept * f->n >= enough * width * LOADS && wide_columns(f, x, width))
        f->width = width;
    const int64_t units = tn__div_up(f->n_kept, f->width);
    /* neighbours enough for whole lines of memory; fewer, down to 32 bytes, where there are not groups enough */
    int32_t across = tn__power_of_two(units, 32);
    while (across > 1 && across * f->width * size > 32 && tn__div_up(units, across) < 2 * limits->multiprocessors &&
           GROUP / across * LOADS < f->n)
        across /= 2;
    const int32_t down = tn__power_of_two(tn__div_up(f->n, 4), GROUP / across);
    const int64_t groups = tn__div_up(units, across), busy = groups * across * down;
    if (busy < enough && f->n > down * PIECE_LOADS)
        cut(f, TN_MIN(enough / busy, f->n / (down * LOADS)), down);
    g->kernel = COLUMNS;
    g->local[0] = (uint32_t)across;
    g->local[1] = (uint32_t)down;
    g->groups[0] = (uint32_t)groups;
    g->groups[1] = (uint32_t)f->pieces;
}

static tn_status finish(tn__gpu_launch *g, tn__gpu_reduction *f, void *partial, void *out, void *index)
{
    const tn__gpu_arg arg[] = {TN__GPU_MEMORY(partial), TN__GPU_MEMORY(out), TN__GPU_MEMORY(index), TN__GPU_VALUE(*f)};
    const int32_t lanes = tn__power_of_two(tn__div_up(f->pieces, 4), GROUP);
    const int32_t rows = tn__power_of_two(f->n_kept, GROUP / lanes);
    g->kernel = FINISH;
    g->local[0] = (uint32_t)lanes;
    g->local[1] = (uint32_t)rows;
    g->groups[0] = (uint32_t)tn__div_up(f->n_kept, rows);
    g->groups[1] = 1;
    g->arg = arg;
    g->n_arg = TN_COUNT(arg);
    return tn__gpu_run(g);
}

tn_status tn__gpu_reduction_run(const tn__launch *l, tn__gpu_unit unit, tn__gpu_reduction *f, void *out, void *index,
                                size_t item, int32_t width)
{
    const tn__view *x = &l->in[0];
    tn__gpu_launch g = {.device = l->device, .unit = unit, .label = tn__op_name(l->op)};
    if (f->n_kept == 0)
        return TN_OK;
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    if (!limits)
        return tn_error_code();
    if (f->n > SHORT_ROW && in_columns(f))
        share_columns(f, &g, x, width, limits);
    else
        share_rows(f, &g, x, limits);
    void *partial = NULL;
    const size_t bytes = f->pieces > 1 ? (size_t)f->n_kept * (size_t)f->pieces * item : 0;
    if (bytes && !(partial = tn__gpu_scratch_get(l->device, bytes)))
        return tn_error_code();
    const tn__gpu_arg arg[] = {TN__GPU_MEMORY(x->data), TN__GPU_MEMORY(out), TN__GPU_MEMORY(index),
                               TN__GPU_MEMORY(partial), TN__GPU_VALUE(*f)};
    const tn__gpu_arg few[] = {arg[0], arg[1], arg[2], arg[4]};
    g.arg = g.kernel == SINGLE ? few : arg;
    g.n_arg = g.kernel == SINGLE ? TN_COUNT(few) : TN_COUNT(arg);
    tn_status e = tn__gpu_run(&g);
    if (!e && f->pieces > 1)
        e = finish(&g, f, partial, out, index);
    if (partial)
        tn__gpu_scratch_put(l->device, partial, bytes);
    return e;
}
