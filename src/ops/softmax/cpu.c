/* Kernels of the family softmax for the CPU. */
#include "backend/cpu/along_dim.h"
#include "core/error.h"
#include "core/parallel.h"

/* Elements that are worth a thread; of a line of memory; of rows that along_dim.c takes in tiles, where e^x is computed once; of
 * rows that are not short. */
enum { WORK = 32768, LINE = 16, DEEP = 256, SHORT = 64 };

static void softmax_row(const tn__row_job *j, void *out, const void *a, const void *b)
{
    (void)b;
    tn__isa()->softmax.row[j->type](out, a, j->n, j->l->op == TN__OP_log_softmax);
}

static void softmax_backward_row(const tn__row_job *j, void *out, const void *a, const void *b)
{
    tn__isa()->softmax.row_backward[j->type](out, a, b, j->n, j->l->op == TN__OP__log_softmax_backward);
}

static void softmax_lines(const tn__row_job *j, void *out, const void *a, const void *b, int64_t width)
{
    (void)b;
    tn__isa()->softmax.lines[j->type](out, a, j->n, width, j->l->op == TN__OP_log_softmax);
}

static void softmax_backward_lines(const tn__row_job *j, void *out, const void *a, const void *b, int64_t width)
{
    tn__isa()->softmax.lines_backward[j->type](out, a, b, j->n, width, j->l->op == TN__OP__log_softmax_backward);
}

/* ---- rows that lie side by side in contiguous memory of one dtype ---- */

typedef struct column_job {
    tn__softmax_columns c; /* of the first matrix, all of them */
    int64_t lines;         /* of memory in a line of a matrix */
    void (*body)(const tn__softmax_columns *c);
} column_job;

/* False where they do not lie so, are short, or too few for a line of memory. */
static bool are_columns(column_job *j, const tn__launch *l, int64_t dim, int inputs)
{
    const tn__view *out = &l->out[0];
    bool fits = out->numel && out->contiguous && out->ndim > 1 && l->compute == TN_F32;
    for (int k = 0; k < inputs; k++)
        fits &= l->in[k].contiguous && l->in[k].dtype == out->dtype;
    if (!fits)
        return false;
    j->c = (tn__softmax_columns){.out = out->data,
                                 .a = l->in[0].data,
                                 .b = l->in[inputs - 1].data,
                                 .n = out->shape[dim],
                                 .width = 1,
                                 .size = (int64_t)tn__dtype_size(out->dtype)};
    for (int32_t d = (int32_t)dim + 1; d < out->ndim; d++)
        j->c.width *= out->shape[d];
    if (out->dtype != TN_F32) {
        j->c.load = tn__isa()->load[out->dtype][TN__F32];
        j->c.store = tn__isa()->store[out->dtype][TN__F32];
    }
    j->c.past = tn__cpu_streams(out->numel * j->c.size, inputs * out->numel * j->c.size);
    j->c.pitch = j->c.width;
    j->lines = tn__div_up(j->c.width, LINE);
    return j->c.n > DEEP && j->c.width >= LINE;
}

/* Items are lines of memory, of each matrix. */
static void columns(void *ctx, int64_t begin, int64_t end)
{
    const column_job *j = ctx;
    for (int64_t i = begin, some; i < end; i += some) {
        const int64_t first = i % j->lines * LINE, at = i / j->lines * j->c.n * j->c.pitch + first;
        tn__softmax_columns c = j->c;
        some = TN_MIN(end - i, j->lines - i % j->lines);
        c.width = TN_MIN(some * LINE, c.width - first);
        c.out = (char *)c.out + at * c.size, c.a = (const char *)c.a + at * c.size;
        c.b = (const char *)c.b + at * c.size;
        j->body(&c);
    }
}

/* Few wide pieces: lines of memory that lie together are read together. */
static tn_status share_columns(column_job *j, const tn__launch *l, bool log)
{
    const int64_t all = l->out[0].numel / (j->c.n * j->c.width) * j->lines, each = tn__div_up(all, tn__num_threads());
    j->c.log = log;
    tn__parallel_for(all, TN_MAX(each, tn__div_up(WORK, LINE * j->c.n)), columns, j);
    return TN_OK;
}

/* ---- dense rows of bfloat16 ---- */

typedef struct bfloat_job {
    const tn__launch *l;
    int64_t n;
    bool log;
    _Atomic bool failed;
} bfloat_job;

/* False where they lie otherwise, or are short. */
static bool are_bfloats(bfloat_job *j, const tn__launch *l, int64_t dim, int inputs)
{
    const tn__view *out = &l->out[0];
    bool fits = out->numel && out->contiguous && out->dtype == TN_BF16 && out->ndim && l->compute == TN_F32;
    for (int k = 0; k < inputs; k++)
        fits &= l->in[k].contiguous && l->in[k].dtype == TN_BF16;
    if (!fits)
        return false;
    for (int32_t d = (int32_t)dim + 1; d < out->ndim; d++)
        fits &= out->shape[d] == 1;
    j->l = l;
    j->n = out->shape[dim];
    return fits && j->n >= SHORT;
}

static void bfloats(void *ctx, int64_t begin, int64_t end)
{
    bfloat_job *j = ctx;
    const size_t bytes = j->log ? 0 : (size_t)j->n * sizeof(float);
    float *room = bytes ? tn__block_get(bytes) : NULL;
    if (bytes && !room) {
        atomic_store(&j->failed, true);
        return;
    }
    for (int64_t i = begin; i < end; i++)
        tn__isa()->softmax.bfloats((uint16_t *)j->l->out[0].data + i * j->n,
                                   (const uint16_t *)j->l->in[0].data + i * j->n, j->n, room, j->log);
    tn__block_put(room, bytes);
}

static void bfloats_backward(void *ctx, int64_t begin, int64_t end)
{
    const bfloat_job *j = ctx;
    for (int64_t i = begin; i < end; i++)
        tn__isa()->softmax.bfloats_backward((uint16_t *)j->l->out[0].data + i * j->n,
                                            (const uint16_t *)j->l->in[0].data + i * j->n,
                                            (const uint16_t *)j->l->in[1].data + i * j->n, j->n, j->log);
}

static tn_status share_bfloats(bfloat_job *j, tn__body body, bool log)
{
    j->log = log;
    tn__parallel_for(j->l->out[0].numel / j->n, tn__div_up(WORK, j->n), body, j);
    return j->failed ? tn__error_memory("a temporary", (size_t)j->n * sizeof(float)) : TN_OK;
}

tn_status tn__cpu_softmax(const tn__launch *l)
{
    const tn__softmax_params *p = l->params;
    column_job j = {.body = tn__isa()->softmax.columns};
    if (are_columns(&j, l, p->dim, 1))
        return share_columns(&j, l, l->op == TN__OP_log_softmax);
    bfloat_job b = {.n = 0};
    if (are_bfloats(&b, l, p->dim, 1))
        return share_bfloats(&b, bfloats, l->op == TN__OP_log_softmax);
    return tn__cpu_along_dim(l, p->dim, softmax_row, softmax_lines, 1);
}

tn_status tn__cpu_softmax_backward(const tn__launch *l)
{
    const tn__softmax_backward_params *p = l->params;
    column_job j = {.body = tn__isa()->softmax.columns_backward};
    if (are_columns(&j, l, p->dim, 2))
        return share_columns(&j, l, l->op == TN__OP__log_softmax_backward);
    bfloat_job b = {.n = 0};
    if (are_bfloats(&b, l, p->dim, 2))
        return share_bfloats(&b, bfloats_backward, l->op == TN__OP__log_softmax_backward);
    return tn__cpu_along_dim(l, p->dim, softmax_backward_row, softmax_backward_lines, 2);
}
