/* softmax, log_softmax and their gradients. */
#include "backend/gpu/dims.h"
#include "core/error.h"
#include "ops/softmax/gpu_layout.h"
#include <tenon/dtype.h>

enum { SINGLE, HELD, ROWS, STATS, APPLY };
enum { GROUP = 256, LARGEST = 512, SHORT_ROW = 32 };

typedef struct softmax_job {
    const tn__launch *l;
    tn__gpu_launch g;
    softmax_rows f;
    const void *x, *y;
    void *out;
} softmax_job;

/* softmax.k: registers of a work item */
static int64_t held(const softmax_job *j)
{
    const int64_t n = 128 / (int64_t)tn__dtype_size(j->l->compute);
    return j->g.unit.variant % TN__LARGE < 2 ? n : n / 2;
}

static void set_groups(softmax_job *j, uint32_t kernel, int64_t lanes, int64_t rows)
{
    tn__gpu_launch *g = &j->g;
    g->kernel = kernel;
    g->local[0] = (uint32_t)lanes;
    g->local[1] = (uint32_t)rows;
    g->groups[0] = (uint32_t)tn__div_up(j->f.n_rows, kernel == SINGLE ? lanes : rows);
    g->groups[1] = (uint32_t)j->f.pieces;
}

static tn_status run(softmax_job *j)
{
    const tn__gpu_arg arg[] = {TN__GPU_MEMORY(j->x), TN__GPU_MEMORY(j->y), TN__GPU_MEMORY(j->out), TN__GPU_VALUE(j->f)};
    j->g.arg = arg;
    j->g.n_arg = TN_COUNT(arg);
    return tn__gpu_run(&j->g);
}

/* Few long rows: one launch for what all pieces need to know, one for the results. */
static tn_status run_pieces(softmax_job *j)
{
    const size_t item =
        j->g.unit.variant % TN__LARGE < 2 ? 2 * tn__dtype_size(j->l->compute) : sizeof(double); /* of a G */
    const size_t bytes = (size_t)j->f.n_rows * (size_t)j->f.pieces * item;
    void *partial = tn__gpu_scratch_get(j->l->device, bytes);
    if (!partial)
        return tn_error_code();
    const tn__gpu_arg stats[] = {TN__GPU_MEMORY(j->x), TN__GPU_MEMORY(j->y), TN__GPU_MEMORY(partial),
                                 TN__GPU_VALUE(j->f)};
    const tn__gpu_arg apply[] = {stats[0], stats[1], TN__GPU_MEMORY(j->out), stats[2], stats[3]};
    set_groups(j, STATS, LARGEST, 1);
    j->g.arg = stats;
    j->g.n_arg = TN_COUNT(stats);
    tn_status e = tn__gpu_run(&j->g);
    if (!e) {
        j->g.kernel = APPLY;
        j->g.arg = apply;
        j->g.n_arg = TN_COUNT(apply);
        e = tn__gpu_run(&j->g);
    }
    tn__gpu_scratch_put(j->l->device, partial, bytes);
    return e;
}

static tn_status choose(softmax_job *j)
{
    const tn__gpu_limits *limits = tn__gpu_limits_of(j->l->device);
    if (!limits)
        return tn_error_code();
    softmax_rows *f = &j->f;
    const int64_t enough = tn__enough_items(limits), width = 16 / (int64_t)tn__dtype_size(j->l->in[0].dtype);
    const int64_t loads = f->vector ? f->n / width : f->n;
    const bool beside = f->dims.shape[0] > 1 && f->dims.a[0] < f->step_a; /* neighbours are of other rows */
    if (f->n <= SHORT_ROW || (beside && (f->n_rows >= enough / 8 || f->n <= 2 * SHORT_ROW))) {
        set_groups(j, SINGLE, f->n_rows < enough ? 64 : GROUP / 2, 1);
        return run(j);
    }
    int32_t lanes = TN_MAX(tn__power_of_two(tn__div_up(f->n, held(j)), LARGEST), 4);
    if (f->n <= held(j) * lanes) {
        while (lanes < GROUP && lanes < loads && f->n_rows * lanes < enough)
            lanes *= 2;
        set_groups(j, HELD, lanes, tn__power_of_two(f->n_rows, TN_MAX(GROUP / lanes, 1)));
        return run(j);
    }
    const int64_t pieces = TN_MIN(TN_MIN(enough / (f->n_rows * LARGEST), loads / (LARGEST * 4)), 4096);
    if (pieces < 2) {
        set_groups(j, ROWS, LARGEST, 1);
        return run(j);
    }
    f->piece = tn__div_up(tn__div_up(f->n, pieces), LARGEST * width) * LARGEST * width;
    f->pieces = (int32_t)tn__div_up(f->n, f->piece);
    return run_pieces(j);
}

static tn_status softmax(const tn__launch *l, int64_t dim, uint32_t variant, const tn__view *y)
{
    const tn__view *x = &l->in[0], *out = &l->out[0];
    softmax_job j = {.l = l, .x = x->data, .y = y ? y->data : NULL, .out = out->data};
    softmax_rows *f = &j.f;
    if (out->numel == 0)
        return TN_OK;
    j.g = (tn__gpu_launch){.device = l->device, .label = tn__op_name(l->op)};
    j.g.unit = (tn__gpu_unit){TN__FAMILY_softmax, TN__OPS, x->dtype, out->dtype, l->compute, variant};
    f->n_rows = tn__gpu_dims_except(&f->dims, &j.g.unit.variant, dim, x, y, out);
    f->n = f->piece = tn__size_of(x, dim);
    f->pieces = 1;
    f->step_a = tn__stride_of(x, dim);
    f->step_b = y ? tn__stride_of(y, dim) : 0;
    f->step_c = tn__stride_of(out, dim);
    f->vector = x->dtype == out->dtype && f->n % (16 / (int64_t)tn__dtype_size(x->dtype)) == 0 &&
                tn__gpu_dims_vectorizable(&f->dims, f->dims.a, x, f->step_a) &&
                (!y || tn__gpu_dims_vectorizable(&f->dims, f->dims.b, y, f->step_b)) &&
                tn__gpu_dims_vectorizable(&f->dims, f->dims.c, out, f->step_c);
    return choose(&j);
}

tn_status tn__gpu_softmax(const tn__launch *l)
{
    const tn__softmax_params *p = l->params;
    return softmax(l, p->dim, l->op == TN__OP_log_softmax, NULL);
}

tn_status tn__gpu_softmax_backward(const tn__launch *l)
{
    const tn__softmax_backward_params *p = l->params;
    if (l->in[0].dtype != l->in[1].dtype)
        return tn__error(TN_EDTYPE, "%s: the gradient is %s, the result %s", tn__op_name(l->op),
                         tn_dtype_name(l->in[0].dtype), tn_dtype_name(l->in[1].dtype));
    return softmax(l, p->dim, l->op == TN__OP__log_softmax_backward ? 3 : 2, &l->in[1]);
}
