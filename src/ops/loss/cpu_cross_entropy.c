/* Cross entropy of dense rows, and its gradient, in one pass each. */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"
#include <math.h>
#include <tenon/base.h>

enum { WORK = 16384 };

typedef struct entropy_job {
    const tn__launch *l;
    const int64_t *target;
    const char *x;
    double *loss; /* of each row */
    double scale; /* of the gradient, beside what each row was given */
    int64_t n, rows, ignore;
    tn__dense_io io;
} entropy_job;

static double sum_at(const tn__view *sums, int64_t i)
{
    return sums->dtype == TN_F32 ? (double)((const float *)sums->data)[i] : ((const double *)sums->data)[i];
}

static void find_losses(void *ctx, int64_t begin, int64_t end)
{
    const entropy_job *j = ctx;
    const tn__cpu_isa *isa = tn__isa();
    const tn__view *sums = &j->l->out[1];
    const int64_t size = (int64_t)tn__dtype_size(sums->dtype), at_once = j->io.as_is ? j->n : TN__BLOCK;
    tn__loop_block b;
    for (int64_t r = begin; r < end; r++) {
        const char *x = j->x + r * j->n * j->io.size;
        double most = -INFINITY, sum = 0;
        j->loss[r] = 0;
        if (j->target[r] == j->ignore)
            continue;
        for (int64_t i = 0; i < j->n; i += at_once) { /* of NaN the sum is NaN, whatever is the largest */
            const int64_t n = TN_MIN(at_once, j->n - i);
            const double here = isa->reduce.run_float[TN__MAX][j->io.type](
                tn__dense_read(&j->io, j->io.as_is, x + i * j->io.size, n, &b), n);
            most = here > most ? here : most;
        }
        for (int64_t i = 0; i < j->n; i += at_once) {
            const int64_t n = TN_MIN(at_once, j->n - i);
            sum += isa->softmax.sum_exp[j->io.type](tn__dense_read(&j->io, j->io.as_is, x + i * j->io.size, n, &b), n,
                                                    most);
        }
        const double shift = log(sum);
        j->loss[r] = shift - (tn__load_double(j->l->in[0].dtype, x + j->target[r] * j->io.size) - most);
        tn__store_double(sums->dtype, (char *)sums->data + 2 * r * size, most);
        tn__store_double(sums->dtype, (char *)sums->data + (2 * r + 1) * size, shift);
    }
}

static tn_status begin_job(entropy_job *j, const tn__launch *l, const tn__view *x, const tn__view *target)
{
    const tn__cross_entropy_params *p = l->params;
    *j = (entropy_job){.l = l, .target = target->data, .x = x->data, .n = x->shape[1], .rows = x->shape[0]};
    j->io = (tn__dense_io){.dtype = x->dtype,
                           .type = tn__type_of(tn__dtypes[x->dtype].compute),
                           .size = (int64_t)tn__dtype_size(x->dtype),
                           .as_is = tn__dtypes[x->dtype].compute == x->dtype};
    j->ignore = p->ignore;
    for (int64_t r = 0; r < j->rows; r++)
        if (j->target[r] != j->ignore && (uint64_t)j->target[r] >= (uint64_t)j->n)
            return tn__error(TN_EINDEX, "Target %lld is out of bounds.", (long long)j->target[r]);
    return TN_OK;
}

tn_status tn__cpu_cross_entropy(const tn__launch *l)
{
    const tn__cross_entropy_params *p = l->params;
    const tn__view *out = &l->out[0], *sums = &l->out[1];
    entropy_job j;
    double sum = 0, many = 0;
    tn_status e = begin_job(&j, l, &l->in[0], &l->in[1]);
    if (e)
        return e;
    const size_t bytes = (size_t)j.rows * sizeof *j.loss;
    if (!(j.loss = tn__block_get(bytes)))
        return tn__error_memory("a temporary", bytes);
    tn__parallel_for(j.rows, tn__div_up(WORK, j.n), find_losses, &j);
    for (int64_t r = 0; r < j.rows; r++) {
        sum += j.loss[r];
        many += j.target[r] != j.ignore;
        if (p->reduction == TN_NO_REDUCTION)
            tn__store_double(out->dtype, (char *)out->data + r * j.io.size, j.loss[r]);
    }
    if (p->reduction != TN_NO_REDUCTION)
        tn__store_double(out->dtype, out->data, p->reduction == TN_SUM ? sum : sum / many);
    tn__store_double(sums->dtype, (char *)sums->data + 2 * j.rows * (int64_t)tn__dtype_size(sums->dtype), many);
    tn__block_put(j.loss, bytes);
    return TN_OK;
}

/* ---- the gradient ---- */

static void find_slopes(void *ctx, int64_t begin, int64_t end)
{
    const entropy_job *j = ctx;
    const tn__cpu_isa *isa = tn__isa();
    const tn__view *g = &j->l->in[0], *sums = &j->l->in[3], *out = &j->l->out[0];
    const bool each = g->numel == j->rows;
    tn__loop_block in, result;
    for (int64_t r = begin; r < end; r++) {
        const bool counts = j->target[r] != j->ignore;
        const double scale =
            counts ? tn__load_double(g->dtype, (const char *)g->data + (each ? r : 0) * j->io.size) * j->scale : 0;
        for (int64_t i = 0, n; i < j->n; i += n) {
            n = TN_MIN(TN__BLOCK, j->n - i);
            const int64_t at = (r * j->n + i) * j->io.size;
            char *to = (char *)out->data + at, *made = tn__dense_made(&j->io, to, &result);
            const int64_t t = counts ? j->target[r] - i : -1;
            if (counts)
                isa->loss.shares[j->io.type](made, tn__dense_read(&j->io, j->io.as_is, j->x + at, n, &in),
                                             sum_at(sums, 2 * r), sum_at(sums, 2 * r + 1), scale, n);
            else
                memset(made, 0, (size_t)n * tn__type_size(j->io.type));
            if (t >= 0 && t < n && j->io.type == TN__F32)
                ((float *)made)[t] -= (float)scale;
            else if (t >= 0 && t < n)
                ((double *)made)[t] -= scale;
            tn__dense_write(&j->io, to, made, n);
        }
    }
}

tn_status tn__cpu_cross_entropy_backward(const tn__launch *l)
{
    const tn__cross_entropy_params *p = l->params;
    entropy_job j;
    tn_status e = begin_job(&j, l, &l->in[1], &l->in[2]);
    if (e)
        return e;
    j.scale = p->reduction == TN_MEAN ? 1 / sum_at(&l->in[3], 2 * j.rows) : 1;
    j.io.stream = tn__cpu_streams(l->out[0].numel * j.io.size, l->out[0].numel * j.io.size);
    tn__parallel_for(j.rows, tn__div_up(WORK, j.n), find_slopes, &j);
    return TN_OK;
}
