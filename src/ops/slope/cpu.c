/* Kernels of the family slope for the CPU: gradients of both operands of a row, in one pass. */
#include "backend/cpu/cpu.h"
#include "core/parallel.h"

enum { GRAIN = 32768, SHORT_ROW = 64 };

/* Is the gradient of a, of b, what came? */
static const bool same[TN__BOTHS][2] = {
#define BOTH(name, of_a, of_b, same_a, same_b) {same_a, same_b},
#include "op/elementwise.def"
};

/* Operands and results, in rows of n elements: those of in[0] and in[3] one after another, the others' 'step' elements apart. */
typedef struct both_job {
    tn__both_loop loop;
    const char *in[4]; /* what the row does not name is in[0] once more */
    char *out[2];
    int64_t n, step, size;
    int type;
    bool as_is, stream; /* as_is: the loop reads and writes elements as they lie */
    tn__load load;
    tn__store store;
    const bool *same;
} both_job;

typedef tn__loop_block block;

/* n elements that lie dense, not more than a block of them unless they are computed as they lie. */
static void compute(const both_job *j, const char *const in[4], char *const out[2], int64_t n)
{
    block some[4], result[2];
    const void *p[4];
    for (int k = 0; k < 4; k++) {
        p[k] = in[k];
        if (j->as_is)
            continue;
        p[k] = k && in[k] == in[0] ? p[0] : (const void *)&some[k];
        if (p[k] == &some[k])
            j->load(&some[k], in[k], 1, n);
    }
    if (j->as_is) {
        j->loop(out[0], out[1], p, n);
        return;
    }
    j->loop(&result[0], &result[1], p, n);
    for (int k = 0; k < 2; k++)
        if (j->same[k])
            memcpy(out[k], in[0], (size_t)(n * j->size));
        else
            j->store(out[k], 1, &result[k], n);
}

/* n elements of one row; near, far: where they begin in what has its rows one after another, and in the rest. */
static void run(const both_job *j, int64_t near, int64_t far, int64_t n)
{
    const bool whole = j->as_is && !j->stream;
    block result[2];
    for (int64_t i = 0, some; i < n; i += some) {
        const char *in[4];
        char *to[2], *out[2];
        some = whole ? n : TN_MIN(TN__BLOCK, n - i);
        for (int k = 0; k < 4; k++)
            in[k] = j->in[k] + (k == 0 || k == 3 || j->in[k] == j->in[0] ? near + i : far + i) * j->size;
        for (int k = 0; k < 2; k++) {
            to[k] = j->out[k] + (far + i) * j->size;
            out[k] = j->stream ? result[k].bytes : to[k];
        }
        compute(j, in, out, some);
        for (int k = 0; k < 2 && j->stream; k++)
            tn__isa()->stream(to[k], out[k], (size_t)(some * j->size));
    }
}

static void run_range(void *ctx, int64_t begin, int64_t end)
{
    run(ctx, begin, begin, end - begin);
}

/* Some short rows, which are made one run. */
static void run_some(const both_job *j, int64_t row, int64_t rows)
{
    block dense[4];
    const char *in[4];
    char *const out[2] = {dense[2].bytes, dense[3].bytes};
    const int64_t near = row * j->n * j->size, far = row * j->step * j->size, line = j->n * j->size,
                  apart = j->step * j->size;
    for (int k = 0; k < 4; k++) {
        in[k] = j->in[k] + near;
        if (k == 0 || k == 3 || j->in[k] == j->in[0])
            continue;
        const tn__rows r = {dense[k - 1].bytes, j->in[k] + far, 1, 1, line, apart, j->n, rows, (size_t)j->size};
        tn__isa()->move_rows(&r);
        in[k] = dense[k - 1].bytes;
    }
    compute(j, in, out, rows * j->n);
    for (int k = 0; k < 2; k++) {
        const tn__rows r = {j->out[k] + far, out[k], 1, 1, apart, line, j->n, rows, (size_t)j->size};
        tn__isa()->move_rows(&r);
    }
}

static void run_rows(void *ctx, int64_t begin, int64_t end)
{
    const both_job *j = ctx;
    const int64_t at_once = j->n < SHORT_ROW ? TN__BLOCK / j->n : 1;
    for (int64_t i = begin; i < end; i += at_once)
        if (at_once > 1)
            run_some(j, i, TN_MIN(at_once, end - i));
        else
            run(j, i * j->n, i * j->step, j->n);
}

static tn_status run_both(both_job *j, const tn__launch *l, int64_t of, int64_t all)
{
    const tn_dtype dtype = l->out[0].dtype;
    const tn__slope_loops *loops = &tn__isa()->slope;
    j->type = tn__type_of(l->compute);
    j->loop = dtype == TN_BF16 ? loops->bfloat[of] : loops->both[j->type][of];
    j->same = same[of];
    j->size = (int64_t)tn__dtype_size(dtype);
    j->as_is = l->compute == dtype || dtype == TN_BF16;
    j->load = tn__isa()->load[dtype][j->type];
    j->store = tn__isa()->store[dtype][j->type];
    int64_t read = 4;
    for (int k = 1; k < 4; k++)
        if (!j->in[k]) {
            j->in[k] = j->in[0];
            read--;
        }
    if (j->n < all) {
        tn__parallel_for(all / j->n, tn__div_up(GRAIN, j->n), run_rows, j);
        return TN_OK;
    }
    j->stream = tn__cpu_streams(2 * all * j->size, read * all * j->size);
    tn__parallel_for(all, GRAIN, run_range, j);
    return TN_OK;
}

tn_status tn__cpu_both_gradients(const tn__launch *l)
{
    const tn__both_gradients_params *p = l->params;
    const int64_t n = l->in[0].numel;
    both_job j = {.out = {l->out[0].data, l->out[1].data}, .n = n, .step = n};
    for (int k = 0; k < 4; k++)
        j.in[k] = l->in[k].data;
    return n ? run_both(&j, l, p->of, n) : TN_OK;
}

tn_status tn__cpu_half_gradients(const tn__launch *l)
{
    const tn__half_gradients_params *p = l->params;
    const tn__view *g = &l->in[0], *x = &l->in[1], *out = &l->out[0];
    both_job j = {.n = 1};
    for (int32_t d = (int32_t)p->dim; d < g->ndim; d++)
        j.n *= g->shape[d];
    if (!g->numel)
        return TN_OK;
    const int64_t half = j.n * (int64_t)tn__dtype_size(x->dtype);
    j.step = 2 * j.n;
    j.in[0] = g->data, j.in[1] = x->data, j.in[2] = (const char *)x->data + half;
    j.out[0] = out->data, j.out[1] = (char *)out->data + half;
    return run_both(&j, l, p->of, g->numel);
}
