/* Gradients of rows that were brought to a scale and of their parameters, in one pass. Pieces of rows have sums of their own,
 * which are added up in order: what comes out does not depend on how many threads there are. */
#include "backend/cpu/along_dim.h"
#include "core/error.h"
#include "core/parallel.h"

enum { PIECES = 16, LEAST = 1 << 16, AT_ONCE = 4 }; /* pieces at most; elements of one at least; rows loaded at once */

typedef struct gradients_job {
    const tn__launch *l;
    int type;
    int64_t n, rows, each; /* elements of a row; rows; of a piece */
    double *sums;          /* for each piece n of the weight, then n of the bias */
    tn__load load;         /* NULL: rows are of the loop type */
    tn__store store;
    _Atomic tn_status status;
} gradients_job;

/* Rows of 16 bits, some at a time by way of buffers. */
static void converted(gradients_job *j, tn__norm_gradients c)
{
    const size_t size = tn__type_size(j->type), bytes = AT_ONCE * (size_t)j->n * size;
    const int64_t narrow = (int64_t)tn__dtype_size(j->l->out[0].dtype);
    const char *g = c.g, *x = c.x;
    char *out = c.out, *buffer = tn__block_get(3 * bytes);
    if (!buffer) {
        j->status = TN_ENOMEM;
        return;
    }
    for (int64_t left = c.rows; left > 0; left -= c.rows) {
        c.rows = TN_MIN(left, AT_ONCE);
        const int64_t n = c.rows * j->n;
        j->load(buffer, g, 1, n);
        j->load(buffer + bytes, x, 1, n);
        c.g = buffer, c.x = buffer + bytes, c.out = buffer + 2 * bytes;
        tn__isa()->norm.gradients[j->type](&c);
        j->store(out, 1, c.out, n);
        g += n * narrow, x += n * narrow, out += n * narrow;
    }
    tn__block_put(buffer, 3 * bytes);
}

static void pieces(void *ctx, int64_t begin, int64_t end)
{
    gradients_job *j = ctx;
    const tn__standardize_params *p = j->l->params;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i * j->each, at = first * j->n * (int64_t)tn__dtype_size(j->l->out[0].dtype);
        double *sums = j->sums + 2 * i * j->n;
        memset(sums, 0, 2 * (size_t)j->n * sizeof *sums);
        const tn__norm_gradients c = {.out = (char *)j->l->out[0].data + at,
                                      .g = (const char *)j->l->in[0].data + at,
                                      .x = (const char *)j->l->in[1].data + at,
                                      .weight = j->l->in[2].data,
                                      .of_weight = sums,
                                      .of_bias = sums + j->n,
                                      .rows = TN_MIN(j->each, j->rows - first),
                                      .n = j->n,
                                      .kind = (int)p->kind,
                                      .eps = p->eps};
        if (j->load)
            converted(j, c);
        else
            tn__isa()->norm.gradients[j->type](&c);
    }
}

/* The sums of all pieces, to the result: of the weight, then of the bias. */
static void add_pieces(const gradients_job *j, int64_t pieces)
{
    double *sums = j->sums;
    for (int64_t i = 1; i < pieces; i++)
        for (int64_t k = 0; k < 2 * j->n; k++)
            sums[k] += sums[2 * i * j->n + k];
    for (int64_t k = 0; k < 2 * j->n; k++)
        if (j->type == TN__F32)
            ((float *)j->l->out[1].data)[k] = (float)sums[k];
        else
            ((double *)j->l->out[1].data)[k] = sums[k];
}

tn_status tn__cpu_standardize_gradients(const tn__launch *l)
{
    const tn__view *out = &l->out[0];
    gradients_job j = {.l = l, .type = tn__type_of(l->compute), .n = l->out[1].numel / 2};
    if (!out->contiguous || !l->in[0].contiguous || !l->in[1].contiguous || l->in[0].dtype != out->dtype ||
        l->in[1].dtype != out->dtype || out->numel == 0)
        return tn__error(TN_EINVAL, "_standardize_gradients: tensors must be dense, of one dtype and not empty");
    if (tn__dtypes[out->dtype].compute != out->dtype) {
        j.load = tn__isa()->load[out->dtype][j.type];
        j.store = tn__isa()->store[out->dtype][j.type];
    }
    j.rows = out->numel / j.n;
    j.each = TN_MAX(tn__div_up(j.rows, PIECES), tn__div_up(LEAST, j.n));
    const int64_t n = tn__div_up(j.rows, j.each);
    const size_t bytes = 2 * (size_t)(n * j.n) * sizeof *j.sums;
    j.sums = tn__block_get(bytes);
    if (!j.sums)
        return tn__error_memory("a temporary", bytes);
    tn__parallel_for(n, 1, pieces, &j);
    if (!j.status)
        add_pieces(&j, n);
    tn__block_put(j.sums, bytes);
    return j.status ? tn__error_memory("a temporary", 12 * (size_t)j.n * tn__type_size(j.type)) : TN_OK;
}
