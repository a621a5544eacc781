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

/* Rows as lines, one number of each in a line. */
static tn__norm_columns lines_of(const tn__row_job *j, void *out, const void *x, int64_t width)
{
    const tn__standardize_params *p = j->l->params;
    return (tn__norm_columns){.out = out,
                              .x = x,
                              .n = j->n,
                              .width = width,
                              .pitch = width,
                              .size = (int64_t)tn__type_size(j->type),
                              .kind = (int)p->kind,
                              .eps = p->eps};
}

static void standardize_lines(const tn__row_job *j, void *out, const void *x, const void *none, int64_t width)
{
    tn__norm_columns c = lines_of(j, out, x, width);
    (void)none;
    c.weight = parameter(j, 1), c.bias = parameter(j, 2);
    tn__isa()->norm.columns[j->type](&c);
}

static void standardize_backward_lines(const tn__row_job *j, void *out, const void *g, const void *x, int64_t width)
{
    tn__norm_columns c = lines_of(j, out, x, width);
    c.g = g, c.weight = parameter(j, 2);
    tn__isa()->norm.columns_backward[j->type](&c);
}

static uint32_t mask_of(const tn__launch *l)
{
    const tn__standardize_params *p = l->params;
    uint32_t mask = 0;
    for (int32_t i = 0; i < p->dim.n; i++)
        mask |= 1U << p->dim.d[i];
    return mask;
}

/* ---- rows that lie side by side: all of the first dimensions, of contiguous memory of one dtype ---- */

typedef struct column_job {
    tn__norm_columns c; /* all of them */
    int type;
    void (*body)(const tn__norm_columns *c);
} column_job;

/* False where they do not lie so, or are too few for a line of memory. */
static bool are_columns(column_job *j, const tn__launch *l, int inputs)
{
    const tn__standardize_params *p = l->params;
    const tn__view *out = &l->out[0];
    const uint32_t mask = mask_of(l);
    bool fits = mask && !(mask & (mask + 1)) && out->numel && !parameter_given(l, inputs) && out->contiguous;
    for (int k = 0; k < inputs; k++)
        fits &= l->in[k].contiguous && l->in[k].dtype == out->dtype;
    j->type = tn__type_of(l->compute);
    j->c = (tn__norm_columns){.out = out->data,
                              .x = l->in[inputs - 1].data,
                              .g = l->in[0].data,
                              .n = 1,
                              .size = (int64_t)tn__dtype_size(out->dtype),
                              .kind = (int)p->kind,
                              .eps = p->eps};
    for (int32_t d = 0; d < out->ndim && mask >> d & 1; d++)
        j->c.n *= out->shape[d];
    if (tn__dtypes[out->dtype].compute != out->dtype || tn__type_of(out->dtype) != j->type) {
        j->c.load = tn__isa()->load[out->dtype][j->type];
        j->c.store = tn__isa()->store[out->dtype][j->type];
    }
    j->c.bfloats = out->dtype == TN_BF16 && j->type == TN__F32;
    j->c.past = tn__cpu_streams(out->numel * j->c.size, inputs * out->numel * j->c.size);
    j->c.width = j->c.pitch = out->numel / TN_MAX(j->c.n, 1);
    return fits && j->c.width >= LINE;
}

static void columns(void *ctx, int64_t begin, int64_t end)
{
    const column_job *j = ctx;
    tn__norm_columns c = j->c;
    const int64_t first = begin * LINE, at = first * c.size;
    c.out = (char *)c.out + at, c.x = (const char *)c.x + at, c.g = (const char *)c.g + at;
    c.width = TN_MIN(end * LINE, c.width) - first;
    j->body(&c);
}

/* Few wide pieces: lines of memory that lie together are read together. */
static tn_status share_columns(column_job *j)
{
    const int64_t lines = tn__div_up(j->c.width, LINE), each = tn__div_up(lines, tn__num_threads());
    tn__parallel_for(lines, TN_MAX(each, tn__div_up(WORK, LINE * j->c.n)), columns, j);
    return TN_OK;
}

tn_status tn__cpu_standardize(const tn__launch *l)
{
    column_job j = {.body = tn__isa()->norm.columns[tn__type_of(l->compute)]};
    if (are_columns(&j, l, 1))
        return share_columns(&j);
    return tn__cpu_along_dims(l, mask_of(l), standardize_row, standardize_lines, 1);
}

tn_status tn__cpu_standardize_backward(const tn__launch *l)
{
    column_job j = {.body = tn__isa()->norm.columns_backward[tn__type_of(l->compute)]};
    if (are_columns(&j, l, 2))
        return share_columns(&j);
    return tn__cpu_along_dims(l, mask_of(l), standardize_backward_row, standardize_backward_lines, 2);
}
