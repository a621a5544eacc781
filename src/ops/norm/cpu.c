/* Kernels of the family norm for the CPU. */
#include "backend/cpu/along_dim.h"
#include "core/parallel.h"

enum { WORK = 32768, LINE = 16 }; /* elements that are worth a thread; of a line of memory */

/* Does an input behind the first ones stand? */
static bool parameter_given(const tn__launch *l, int32_t inputs)
{
    bool any = false;
    for (int32_t i = inputs; i < l->n_in; i++)
        any |= l->in[i].dtype != 0;
    return any;
}

/* NULL: not given */
static const void *parameter(const tn__row_job *j, int32_t i)
{
    return i < j->l->n_in && j->l->in[i].dtype ? j->l->in[i].data : NULL;
}

static void standardize_row(const tn__row_job *j, void *out, const void *x, const void *none)
{
    const tn__standardize_params *p = j->l->params;
    (void)none;
    tn__isa()->norm.row[j->type](out, x, parameter(j, 1), parameter(j, 2), j->n, (int)p->kind, p->eps);
}

static void standardize_backward_row(const tn__row_job *j, void *out, const void *g, const void *x)
{
    const tn__standardize_params *p = j->l->params;
    tn__isa()->norm.row_backward[j->type](out, g, x, parameter(j, 2), j->n, (int)p->kind, p->eps);
}

static uint32_t mask_of(const tn__launch *l)
{
    const tn__standardize_params *p = l->params;
    uint32_t mask = 0;
    for (int32_t i = 0; i < p->dim.n; i++)
        mask |= 1U << p->dim.d[i];
    return mask;
}

/* ---- rows that lie side by side: all of the first dimensions, of contiguous memory of the loop type ---- */

typedef struct column_job {
    const tn__launch *l;
    int64_t n, width; /* of a row; how many there are */
    int type;
    bool past; /* results go past the caches, which hold less */
} column_job;

/* width is 0 where they do not lie so, or are too few for a line of memory. */
static column_job columns_of(const tn__launch *l, int inputs)
{
    const tn__view *out = &l->out[0];
    const uint32_t mask = mask_of(l);
    column_job j = {.l = l, .n = 1, .type = tn__type_of(l->compute)};
    bool fits = mask && !(mask & (mask + 1)) && out->numel && !parameter_given(l, inputs);
    for (int k = 0; k <= inputs; k++) {
        const tn__view *v = k < inputs ? &l->in[k] : out;
        fits &= v->contiguous && tn__dtypes[v->dtype].compute == v->dtype && tn__type_of(v->dtype) == j.type;
    }
    for (int32_t d = 0; d < out->ndim && mask >> d & 1; d++)
        j.n *= out->shape[d];
    j.past = out->numel * (int64_t)tn__type_size(j.type) > tn__cpu_stream_bytes();
    j.width = fits && out->numel / j.n >= LINE ? out->numel / j.n : 0;
    return j;
}

static void columns(void *ctx, int64_t begin, int64_t end)
{
    const column_job *j = ctx;
    const tn__standardize_params *p = j->l->params;
    const int64_t first = begin * LINE, size = (int64_t)tn__type_size(j->type), at = first * size;
    tn__isa()->norm.columns[j->type]((char *)j->l->out[0].data + at, (const char *)j->l->in[0].data + at, j->n,
                                     TN_MIN(end * LINE, j->width) - first, j->width, (int)p->kind, p->eps, j->past);
}

static void columns_backward(void *ctx, int64_t begin, int64_t end)
{
    const column_job *j = ctx;
    const tn__standardize_params *p = j->l->params;
    const int64_t first = begin * LINE, size = (int64_t)tn__type_size(j->type), at = first * size;
    tn__isa()->norm.columns_backward[j->type](
        (char *)j->l->out[0].data + at, (const char *)j->l->in[0].data + at, (const char *)j->l->in[1].data + at, j->n,
        TN_MIN(end * LINE, j->width) - first, j->width, (int)p->kind, p->eps, j->past);
}

/* Few wide pieces: lines of memory that lie together are read together. */
static void share_columns(column_job *j, void (*body)(void *ctx, int64_t begin, int64_t end))
{
    const int64_t lines = tn__div_up(j->width, LINE), each = tn__div_up(lines, tn__num_threads());
    tn__parallel_for(lines, TN_MAX(each, tn__div_up(WORK, LINE * j->n)), body, j);
}

tn_status tn__cpu_standardize(const tn__launch *l)
{
    column_job j = columns_of(l, 1);
    if (j.width) {
        share_columns(&j, columns);
        return TN_OK;
    }
    return tn__cpu_along_dims(l, mask_of(l), standardize_row, 1);
}

tn_status tn__cpu_standardize_backward(const tn__launch *l)
{
    column_job j = columns_of(l, 2);
    if (j.width) {
        share_columns(&j, columns_backward);
        return TN_OK;
    }
    return tn__cpu_along_dims(l, mask_of(l), standardize_backward_row, 2);
}
