/* Gradients of variances, deviations and extremes of rows, each row in one pass over what has just been read. */
#include "backend/cpu/cpu.h"
#include "core/parallel.h"
#include <math.h>

enum { WORK = 32768, SHARES = 2, KEPT = 4096 };

typedef struct row_job {
    const tn__launch *l;
    int64_t n;
    tn__dense_io io;
} row_job;

static double number_at(const tn__view *v, int64_t i)
{
    return tn__load_double(v->dtype, (const char *)v->data + i * (int64_t)tn__dtype_size(v->dtype));
}

/* A row: x its elements, as the loops take them (as_is) or as they lie, 'size' bytes each. */
typedef struct row {
    const char *x;
    int64_t size;
    bool as_is;
} row;

/* The row's mean, or how many of it are 'most'. */
static double look_at(const row_job *j, const row *r, bool ties, double most)
{
    const tn__reduce_loops *loops = &tn__isa()->reduce;
    double all = 0;
    tn__loop_block b;
    if (!ties && !r->as_is && j->io.dtype == TN_BF16)
        return loops->sum_bf16(r->x, j->n) / (double)j->n;
    for (int64_t i = 0, n; i < j->n; i += n) {
        n = r->as_is ? j->n : TN_MIN(TN__BLOCK, j->n - i);
        const void *some = tn__dense_read(&j->io, r->as_is, r->x + i * r->size, n, &b);
        all += ties ? (double)loops->ties[j->io.type](some, most, n) : loops->run_float[TN__SUM][j->io.type](some, n);
    }
    return ties ? all : all / (double)j->n;
}

static void write_row(const row_job *j, const row *r, char *out, double at, double scale, bool ties)
{
    const tn__cpu_isa *isa = tn__isa();
    tn__loop_block in, result;
    for (int64_t i = 0, n; i < j->n; i += n) {
        n = TN_MIN(TN__BLOCK, j->n - i);
        const void *some = tn__dense_read(&j->io, r->as_is, r->x + i * r->size, n, &in);
        char *to = out + i * j->io.size, *made = tn__dense_made(&j->io, to, &result);
        if (ties)
            isa->reduce.shared[j->io.type](made, some, at, scale, n);
        else
            isa->reduce.centred[j->io.type](made, some, at, scale, n);
        tn__dense_write(&j->io, to, made, n);
    }
}

static void run_rows(void *ctx, int64_t begin, int64_t end)
{
    const row_job *j = ctx;
    const tn__row_gradients_params *p = j->l->params;
    const bool ties = p->kind == SHARES;
    float kept[KEPT];
    for (int64_t i = begin; i < end; i++) {
        row r = {(const char *)j->l->in[1].data + i * j->n * j->io.size, j->io.size, j->io.as_is};
        if (!j->io.as_is && j->n <= KEPT) { /* 16 bits: converted once */
            tn__isa()->load[j->io.dtype][TN__F32](kept, r.x, 1, j->n);
            r = (row){(const char *)kept, sizeof *kept, true};
        }
        const double g = number_at(&j->l->in[0], i), out = p->kind ? number_at(&j->l->in[2], i) : 1;
        const double found = look_at(j, &r, ties, out);
        double scale = p->kind == 0 ? g * p->scale : out == 0 ? 0 : g / (2 * out) * p->scale;
        if (ties)
            scale = out == out ? g / found : NAN;
        write_row(j, &r, (char *)j->l->out[0].data + i * j->n * j->io.size, ties ? out : found, scale,
                  ties && out == out);
    }
}

tn_status tn__cpu_row_gradients(const tn__launch *l)
{
    const tn__view *x = &l->in[1];
    row_job j = {.l = l,
                 .io = {.dtype = x->dtype,
                        .type = tn__type_of(l->compute),
                        .size = (int64_t)tn__dtype_size(x->dtype),
                        .as_is = l->compute == x->dtype}};
    if (!x->numel)
        return TN_OK;
    j.n = x->numel / l->in[0].numel;
    j.io.stream = tn__cpu_streams(x->numel * j.io.size, x->numel * j.io.size);
    tn__parallel_for(l->in[0].numel, tn__div_up(WORK, j.n), run_rows, &j);
    return TN_OK;
}
