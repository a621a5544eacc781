/* Rows with mean 0 and variance 1, and their gradient. */
#include "backend/gpu/dims.h"
#include "core/error.h"
#include "ops/norm/gpu_layout.h"
#include <tenon/dtype.h>

enum { SINGLE, ROWS, BESIDE, HELD };
enum { GROUP = 128, LARGEST = 512, SHORT_ROW = 32, EACH = 8, ACROSS = 32 };

/* Short rows, and a great many that lie side by side, are one work item's; others have lanes. */
static void set_groups(tn__gpu_launch *g, const norm_rows *f, int64_t enough)
{
    const bool beside = f->dims.shape[0] > 1 && f->dims.a[0] < f->along.a[0];
    if (f->n <= SHORT_ROW || (beside && f->n_rows >= enough / 8)) {
        g->kernel = SINGLE;
        g->local[0] = f->n_rows < enough ? 64 : GROUP;
        g->local[1] = 1;
    } else if (beside) {
        g->kernel = BESIDE;
        g->local[0] = ACROSS;
        g->local[1] = (uint32_t)tn__power_of_two(tn__div_up(f->n, EACH), LARGEST / ACROSS);
    } else {
        g->kernel = ROWS;
        g->local[0] = (uint32_t)tn__power_of_two(tn__div_up(f->n, EACH), LARGEST);
        g->local[1] = g->local[0] < GROUP ? (uint32_t)tn__power_of_two(f->n_rows, GROUP / g->local[0]) : 1;
    }
    g->groups[0] = (uint32_t)tn__div_up(f->n_rows, g->kernel == ROWS ? g->local[1] : g->local[0]);
    g->groups[1] = 1;
}

/* The row's dimensions, the last one first, or the others, the smallest stride of a first. */
static int64_t add_dims(tn__gpu_dims *w, uint32_t *variant, uint32_t mask, bool in_order, const tn__view *a,
                        const tn__view *b, const tn__view *c)
{
    int32_t order[TN_MAX_DIMS], n = tn__gpu_dims_order(a, mask, order);
    if (in_order) {
        n = 0;
        for (int32_t d = a->ndim - 1; d >= 0; d--)
            if (mask >> d & 1)
                order[n++] = d;
    }
    for (int32_t i = 0; i < n; i++)
        tn__gpu_dims_add(w, a->shape[order[i]], a->stride[order[i]], b ? b->stride[order[i]] : 0, c->stride[order[i]]);
    return tn__gpu_dims_end(w, variant);
}

/* Rows of whole vectors, one after another, that fit registers: norm.k's HELD of a lane. */
static bool hold(tn__gpu_launch *g, const norm_rows *f, const tn__view *a, const tn__view *x, const tn__view *out,
                 const void *weight, const void *bias, int64_t enough)
{
    const int64_t held = (x ? 64 : 96) / (int64_t)tn__dtype_size(g->unit.compute);
    const int64_t width = 16 / (int64_t)tn__dtype_size(a->dtype), loads = f->n / width;
    int32_t lanes = TN_MAX(tn__power_of_two(tn__div_up(f->n, held), LARGEST), 4);
    if (f->n <= SHORT_ROW || f->n % width || f->n > held * lanes || f->along.n != 1 || a->dtype != out->dtype ||
        !tn__aligned16(weight) || !tn__aligned16(bias) ||
        !tn__gpu_dims_vectorizable(&f->dims, f->dims.a, a, f->along.a[0]) ||
        (x && !tn__gpu_dims_vectorizable(&f->dims, f->dims.b, x, f->along.b[0])) ||
        !tn__gpu_dims_vectorizable(&f->dims, f->dims.c, out, f->along.c[0]))
        return false;
    while (lanes < 2 * GROUP && lanes < loads && f->n_rows * lanes < enough)
        lanes *= 2;
    g->kernel = HELD;
    g->local[0] = (uint32_t)lanes;
    g->local[1] = (uint32_t)tn__power_of_two(f->n_rows, TN_MAX(2 * GROUP / lanes, 1));
    while (g->local[0] * g->local[1] < 32) /* a warp is whole */
        g->local[1] *= 2;
    g->groups[0] = (uint32_t)tn__div_up(f->n_rows, g->local[1]);
    g->groups[1] = 1;
    return true;
}

/* NULL: not given */
static const void *parameter(const tn__launch *l, int32_t i)
{
    return i < l->n_in && l->in[i].dtype ? l->in[i].data : NULL;
}

static tn_status standardize(const tn__launch *l, const tn__view *x)
{
    const tn__standardize_params *p = l->params;
    const tn__view *a = &l->in[0], *out = &l->out[0];
    const void *of = x ? x->data : NULL;
    const tn__gpu_limits *limits = tn__gpu_limits_of(l->device);
    norm_rows f = {.eps = p->eps, .kind = (int32_t)p->kind};
    uint32_t mask = 0;
    if (out->numel == 0)
        return TN_OK;
    if (!limits)
        return tn_error_code();
    for (int32_t i = 0; i < p->dim.n; i++)
        mask |= 1U << p->dim.d[i];
    tn__gpu_launch g = {.device = l->device, .label = tn__op_name(l->op)};
    g.unit = (tn__gpu_unit){TN__FAMILY_norm, TN__OPS, a->dtype, out->dtype, l->compute, x ? 1 : 0};
    f.n_rows = add_dims(&f.dims, &g.unit.variant, tn__all_dims(a) & ~mask, false, a, x, out);
    f.n = add_dims(&f.along, &g.unit.variant, tn__all_dims(a) & mask, true, a, x, out);
    const void *weight = parameter(l, x ? 2 : 1), *bias = x ? NULL : parameter(l, 2);
    if (!hold(&g, &f, a, x, out, weight, bias, tn__enough_items(limits)))
        set_groups(&g, &f, tn__enough_items(limits));
    const tn__gpu_arg arg[] = {TN__GPU_MEMORY(a->data), TN__GPU_MEMORY(of),   TN__GPU_MEMORY(out->data),
                               TN__GPU_MEMORY(weight),  TN__GPU_MEMORY(bias), TN__GPU_VALUE(f)};
    g.arg = arg;
    g.n_arg = TN_COUNT(arg);
    return tn__gpu_run(&g);
}

tn_status tn__gpu_standardize(const tn__launch *l)
{
    return standardize(l, NULL);
}

tn_status tn__gpu_standardize_backward(const tn__launch *l)
{
    if (l->in[0].dtype != l->in[1].dtype)
        return tn__error(TN_EDTYPE, "%s: the gradient is %s, the input %s", tn__op_name(l->op),
                         tn_dtype_name(l->in[0].dtype), tn_dtype_name(l->in[1].dtype));
    return standardize(l, &l->in[1]);
}
