/* Matrix products: the own blocked product, and the kernel of every row that is one (mm bmm addmm mv dot linear).
 *
 * For each block of k: b is packed once, shared; then tasks, each some rows of a (packed by the task) times some columns
 * of b. Element (i, j) adds its products in the same order whatever the tasks, so threads do not change results.
 */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"
#include "ops/product/gemm.h"

enum { KC = 256, NC = 4096, MC_PANELS = 12, SERIAL = 90 * 90 * 90 /* below it a second thread comes too late */ };

typedef struct own_gemm {
    const tn__gemm *g;
    const tn__gemm_isa *isa;
    int64_t item;         /* bytes */
    int64_t j0, n, p0, k; /* the block at work: columns of b, and k */
    int64_t width;        /* of a full b panel: two vectors */
    char *packed_b;       /* NULL: b's rows are used where they lie */
    int64_t rows, cols;   /* of a task */
    int64_t col_tasks;
    _Atomic bool failed;
} own_gemm;

static const char *at(const void *base, int64_t index, int64_t item)
{
    return (const char *)base + index * item;
}

/* Panels of b are two vectors wide; a last one that fits one vector is one wide. */
static int panel_width(const own_gemm *p, int64_t left)
{
    return left <= p->isa->vl ? p->isa->vl : (int)p->width;
}

static void pack_b(void *ctx, int64_t begin, int64_t end)
{
    const own_gemm *p = ctx;
    const tn__gemm *g = p->g;
    for (int64_t i = begin; i < end; i++) {
        int64_t j = i * p->width, n = TN_MIN(p->width, p->n - j);
        const char *src = at(g->b, p->p0 * g->b_rs + (p->j0 + j) * g->b_cs, p->item);
        p->isa->pack(p->packed_b + j * p->k * p->item, panel_width(p, n), src, g->b_cs, g->b_rs, n, p->k, 1, 1);
    }
}

/* Height of the panels that m rows are cut into: the even one that wastes least. A tile of h rows takes about h cycles
 * for each k, and as many as 40 to begin and to end. */
static int64_t panel_height(const own_gemm *p, int64_t m)
{
    int64_t best = p->isa->mr, least = INT64_MAX;
    for (int64_t h = p->isa->mr; h >= 2 && h > p->isa->mr / 2; h -= 2) {
        int64_t cost = tn__div_up(m, h) * (h * p->k + 40);
        if (cost < least) {
            best = h;
            least = cost;
        }
    }
    return TN_MIN(best, m + (m & 1));
}

/* One tile; where it hangs over an edge of c it is made aside and what belongs is copied. */
static void run_tile(const own_gemm *p, const char *a, int64_t h, const char *b, int64_t ldb, int vectors, char *c,
                     int64_t m, int64_t n)
{
    const tn__gemm *g = p->g;
    bool accumulate = g->accumulate || p->p0 > 0;
    tn__tile tile = p->isa->tile[h / 2 - 1][vectors - 1];
    if (m == h && n == vectors * p->isa->vl) {
        tile(p->k, a, b, ldb, c, g->ldc, accumulate);
        return;
    }
    _Alignas(64) char aside[16 * 32 * 8];
    int64_t ld = vectors * p->isa->vl;
    tile(p->k, a, b, ldb, aside, ld, false);
    for (int64_t i = 0; i < m; i++) {
        char *to = c + i * g->ldc * p->item;
        const char *from = aside + i * ld * p->item;
        if (!accumulate)
            memcpy(to, from, (size_t)(n * p->item));
        else
            p->isa->axpy(to, from, 1, n);
    }
}

/* Where panel j of b begins, and its row stride: packed, or in place. */
static const char *panel_of_b(const own_gemm *p, int64_t j, int width, int64_t *ldb)
{
    const tn__gemm *g = p->g;
    *ldb = p->packed_b ? width : g->b_rs;
    return p->packed_b ? p->packed_b + j * p->k * p->item : at(g->b, p->p0 * g->b_rs + p->j0 + j, p->item);
}

static void run_task(const own_gemm *p, int64_t i0, int64_t m, int64_t j0, int64_t n, char *packed_a)
{
    const tn__gemm *g = p->g;
    int64_t h = panel_height(p, m);
    for (int64_t i = 0; i < m; i += h) {
        const char *src = at(g->a, (i0 + i) * g->a_rs + p->p0 * g->a_cs, p->item);
        p->isa->pack(packed_a + i * p->k * p->item, (int)h, src, g->a_rs, g->a_cs, TN_MIN(h, m - i), p->k, g->scale,
                     g->whole);
    }
    for (int64_t j = j0; j < j0 + n; j += p->width) {
        int64_t left = TN_MIN(p->width, p->n - j), ldb;
        int width = panel_width(p, left);
        const char *b = panel_of_b(p, j, width, &ldb);
        for (int64_t i = 0; i < m; i += h) {
            char *c = (char *)g->c + ((i0 + i) * g->ldc + p->j0 + j) * p->item;
            run_tile(p, packed_a + i * p->k * p->item, h, b, ldb, width / p->isa->vl, c, TN_MIN(h, m - i), left);
        }
    }
}

static void run_tasks(void *ctx, int64_t begin, int64_t end)
{
    own_gemm *p = ctx;
    size_t bytes = (size_t)((p->rows + 2 * p->isa->mr) * p->k * p->item);
    char *packed_a = tn__block_get(bytes);
    if (!packed_a) {
        atomic_store(&p->failed, true);
        return;
    }
    for (int64_t t = begin; t < end; t++) {
        int64_t i = t / p->col_tasks * p->rows, j = t % p->col_tasks * p->cols;
        run_task(p, i, TN_MIN(p->rows, p->g->m - i), j, TN_MIN(p->cols, p->n - j), packed_a);
    }
    tn__block_put(packed_a, bytes);
}

/* Rows of a task: few enough that every thread has several, enough that packing a pays; then columns likewise. */
static void cut(own_gemm *p, int threads)
{
    const int64_t mr = p->isa->mr, want = threads == 1 ? 1 : 4 * threads;
    int64_t panels = tn__div_up(p->g->m, mr), per = tn__div_up(panels, want);
    p->rows = TN_MIN(TN_MAX(per, threads == 1 ? MC_PANELS : 2), MC_PANELS) * mr;
    int64_t row_tasks = tn__div_up(p->g->m, p->rows);
    p->rows = tn__div_up(p->g->m, row_tasks); /* even shares */
    p->rows = tn__div_up(p->rows, mr) * mr < p->g->m ? tn__div_up(p->rows, mr) * mr : p->g->m;
    row_tasks = tn__div_up(p->g->m, p->rows);
    int64_t split = row_tasks >= 2 * threads ? 1 : tn__div_up(2 * threads, row_tasks);
    int64_t col_panels = tn__div_up(p->n, p->width);
    p->cols = threads == 1 ? p->n : tn__div_up(col_panels, TN_MIN(split, col_panels)) * p->width;
    p->col_tasks = tn__div_up(p->n, p->cols);
}

/* b can stay where it is: rows contiguous, whole panels, and few enough rows of a that packing would not pay. */
static bool use_in_place(const own_gemm *p)
{
    return p->g->b_cs == 1 && p->n % p->isa->vl == 0 && p->g->m <= 6 * p->isa->mr && p->g->b_rs * p->item % 4096 != 0;
}

tn_status tn__cpu_gemm_own(const tn__gemm *g, int type)
{
    own_gemm p = {.g = g, .isa = &tn__isa()->gemm[type], .item = (int64_t)tn__type_size(type)};
    p.width = 2 * p.isa->vl;
    int threads = (double)g->m * (double)g->n * (double)g->k < SERIAL ? 1 : tn__num_threads();
    int64_t nc = TN_MIN(NC, tn__div_up(g->n, p.width) * p.width);
    size_t bytes = (size_t)(nc * TN_MIN(KC, g->k) * p.item);
    char *buffer = NULL;
    for (p.j0 = 0; p.j0 < g->n; p.j0 += NC) {
        p.n = TN_MIN(NC, g->n - p.j0);
        for (p.p0 = 0; p.p0 < g->k; p.p0 += KC) {
            p.k = TN_MIN(KC, g->k - p.p0);
            bool in_place = use_in_place(&p);
            if (!in_place && !buffer && !(buffer = tn__block_get(bytes)))
                return tn__error_memory("a packed operand", bytes);
            p.packed_b = in_place ? NULL : buffer;
            cut(&p, threads);
            int64_t panels = tn__div_up(p.n, p.width), tasks = tn__div_up(g->m, p.rows) * p.col_tasks;
            if (!in_place)
                tn__parallel_for(panels, threads == 1 ? panels : TN_MAX(1, tn__div_up(panels, 4 * threads)), pack_b,
                                 &p);
            tn__parallel_for(tasks, threads == 1 ? tasks : 1, run_tasks, &p);
        }
    }
    tn__block_put(buffer, bytes);
    return p.failed ? tn__error_memory("a packed operand", bytes) : TN_OK;
}

tn_status tn__cpu_gemm_run(const tn__gemm *g, int type)
{
    if (g->m == 0 || g->n == 0 || g->k == 0)
        return TN_OK;
    if (tn__blas_gemm(g, type))
        return TN_OK;
    return tn__cpu_gemm_own(g, type);
}

/* ---- a matrix times a vector, and dot: bound by memory, not by arithmetic ---- */

typedef struct gemv_job {
    const tn__gemm *g;
    const tn__gemm_isa *isa;
    int64_t item;
} gemv_job;

static void gemv_rows(void *ctx, int64_t begin, int64_t end)
{
    const gemv_job *j = ctx;
    const tn__gemm *g = j->g;
    for (int64_t i = begin; i < end; i++) {
        double v = g->scale * j->isa->dot(at(g->a, i * g->a_rs, j->item), g->b, g->k);
        char *c = (char *)g->c + i * g->ldc * j->item;
        if (j->item == 4)
            *(float *)c = (float)(v + (g->accumulate ? (double)*(float *)c : 0));
        else
            *(double *)c = v + (g->accumulate ? *(double *)c : 0);
    }
}

/* One column, both operands contiguous along k. */
static bool gemv(const tn__gemm *g, int type)
{
    if (g->n != 1 || g->a_cs != 1 || g->b_rs != 1)
        return false;
    gemv_job j = {g, &tn__isa()->gemm[type], (int64_t)tn__type_size(type)};
    tn__parallel_for(g->m, tn__div_up(65536, TN_MAX(g->k, 1)), gemv_rows, &j);
    return true;
}

/* One row: the transposed product, if that is a matrix times a vector. */
static bool gemv_transposed(const tn__gemm *g, int type)
{
    if (g->m != 1 || g->a_cs != 1 || g->b_rs != 1)
        return false;
    tn__gemm t = *g;
    t.m = g->n;
    t.n = 1;
    t.a = g->b;
    t.a_rs = g->b_cs;
    t.a_cs = g->b_rs;
    t.b = g->a;
    t.b_rs = g->a_cs;
    t.b_cs = g->a_rs;
    t.ldc = 1;
    return gemv(&t, type);
}

/* ---- integers, few rows or columns: rows of c gather rows of b ---- */

typedef struct integer_job {
    const tn__gemm *g;
    int type;
} integer_job;

#define INTEGER_ROWS(T, U, name) \
    static void name(const tn__gemm *g, int64_t i) \
    { \
        T *c = (T *)g->c + i * g->ldc; \
        U scale = (U)g->whole; \
        if (!g->accumulate) \
            memset(c, 0, (size_t)g->n * sizeof *c); \
        for (int64_t p = 0; p < g->k; p++) { \
            U a = scale * (U)((const T *)g->a)[i * g->a_rs + p * g->a_cs]; \
            const T *b = (const T *)g->b + p * g->b_rs; \
            for (int64_t k = 0; k < g->n; k++) \
                c[k] = (T)((U)c[k] + a * (U)b[k * g->b_cs]); \
        } \
    }
INTEGER_ROWS(int32_t, uint32_t, row_i32)
INTEGER_ROWS(int64_t, uint64_t, row_i64)
#undef INTEGER_ROWS

static void integer_rows(void *ctx, int64_t begin, int64_t end)
{
    const integer_job *j = ctx;
    for (int64_t i = begin; i < end; i++)
        (j->type == TN__I32 ? row_i32 : row_i64)(j->g, i);
}

static tn_status run_gemm(const tn__gemm *g, int type)
{
    if (g->k == 0 && !g->accumulate)
        for (int64_t i = 0; i < g->m; i++)
            memset((char *)g->c + i * g->ldc * (int64_t)tn__type_size(type), 0, (size_t)g->n * tn__type_size(type));
    if (g->m == 0 || g->n == 0 || g->k == 0)
        return TN_OK;
    if (type <= TN__F64)
        return gemv(g, type) || gemv_transposed(g, type) ? TN_OK : tn__cpu_gemm_run(g, type);
    if (g->m >= 4 && g->n >= 4)
        return tn__cpu_gemm_own(g, type);
    integer_job j = {g, type};
    tn__parallel_for(g->m, tn__div_up(65536, TN_MAX(g->n * g->k, 1)), integer_rows, &j);
    return TN_OK;
}

/* ---- the kernel of the rows ---- */

/* A view converted to the compute type, dense and row-major. */
static void *converted(const tn__view *v, int type, size_t *bytes)
{
    tn__strided_dims d = {.n = TN_MAX(v->ndim, 1), .shape = {1}, .stride = {1}};
    for (int32_t i = 0; i < v->ndim; i++) {
        d.shape[i] = v->shape[v->ndim - 1 - i];
        d.stride[i] = v->stride[v->ndim - 1 - i];
    }
    *bytes = (size_t)TN_MAX(v->numel, 1) * tn__type_size(type);
    void *p = tn__block_get(*bytes);
    if (p && v->numel)
        tn__load_strided(p, type, v->dtype, v->data, &d, 0, v->numel);
    return p;
}

/* c = beta * bias, broadcast; c is dense. */
static void set_from_bias(const tn__gemm_problem *s, void *c, int type)
{
    const tn__view *v = s->bias;
    const int64_t item = (int64_t)tn__type_size(type), size = (int64_t)tn__dtype_size(v->dtype);
    tn__load load = tn__isa()->load[v->dtype][type];
    for (int64_t i = 0; i < s->m; i++) {
        char *row = (char *)c + i * s->n * item;
        if (i > 0 && s->bias_rs == 0) {
            memcpy(row, c, (size_t)(s->n * item));
            continue;
        }
        load(row, (const char *)v->data + i * s->bias_rs * size, s->bias_cs, s->n);
        for (int64_t k = 0; s->beta != 1 && k < s->n; k++) {
            if (type == TN__F32)
                ((float *)(void *)row)[k] *= (float)s->beta;
            else if (type == TN__F64)
                ((double *)(void *)row)[k] *= s->beta;
            else if (type == TN__I32)
                ((uint32_t *)(void *)row)[k] *= (uint32_t)s->whole_beta;
            else
                ((uint64_t *)(void *)row)[k] *= (uint64_t)s->whole_beta;
        }
    }
}

typedef struct batch_job {
    const tn__gemm_problem *s;
    int type;
    const void *a, *b;
    void *c;
    _Atomic tn_status status;
} batch_job;

static void run_batch(void *ctx, int64_t begin, int64_t end)
{
    batch_job *j = ctx;
    const tn__gemm_problem *s = j->s;
    const int64_t item = (int64_t)tn__type_size(j->type);
    for (int64_t i = begin; i < end; i++) {
        tn__gemm g = {.m = s->m,
                      .n = s->n,
                      .k = s->k,
                      .a = at(j->a, i * s->a_bs, item),
                      .a_rs = s->a_rs,
                      .a_cs = s->a_cs,
                      .b = at(j->b, i * s->b_bs, item),
                      .b_rs = s->b_rs,
                      .b_cs = s->b_cs,
                      .c = (char *)j->c + i * s->m * s->n * item,
                      .ldc = s->n,
                      .scale = s->alpha,
                      .whole = s->whole_alpha,
                      .accumulate = s->bias != NULL && s->beta != 0};
        tn_status e = run_gemm(&g, j->type);
        if (e)
            atomic_store(&j->status, e);
    }
}

/* Both operands and the result in the compute type; the result dense. */
static tn_status run_shape(const tn__gemm_problem *s, int type, const void *a, const void *b, void *c)
{
    batch_job j = {.s = s, .type = type, .a = a, .b = b, .c = c};
    if (s->bias && s->beta != 0)
        set_from_bias(s, c, type);
    double work = (double)s->m * (double)s->n * (double)s->k;
    if (s->batch > 1 && work < SERIAL)
        tn__parallel_for(s->batch, (int64_t)(SERIAL / TN_MAX(work, 1)) + 1, run_batch, &j);
    else
        run_batch(&j, 0, s->batch);
    return j.status;
}

tn_status tn__cpu_gemm(const tn__launch *l)
{
    const tn__view *out = &l->out[0];
    int type = tn__type_of(l->compute);
    tn__gemm_problem s = tn__gemm_problem_of(l);
    if (out->numel == 0)
        return TN_OK;
    bool rows = l->op != TN__OP_linear || tn__gemm_problem_rows(&l->in[0], &s.a_rs);
    bool as_is = tn__dtypes[out->dtype].compute == out->dtype;
    bool apart = l->op != TN__OP_addmm || !(tn__views_meet(out, s.a) || tn__views_meet(out, s.b));
    if (as_is && rows && out->contiguous && apart)
        return run_shape(&s, type, s.a->data, s.b->data, out->data);
    size_t na = 0, nb = 0, nc = (size_t)out->numel * tn__type_size(type);
    void *a = converted(s.a, type, &na), *b = converted(s.b, type, &nb), *c = tn__block_get(nc);
    tn_status e = a && b && c ? TN_OK : tn__error_memory("converted operands of a product", na + nb + nc);
    if (!e) {
        tn__gemm_problem_dense(&s, l->op == TN__OP_linear);
        e = run_shape(&s, type, a, b, c);
    }
    if (!e) {
        tn__strided_dims d = {.n = TN_MAX(out->ndim, 1), .shape = {1}, .stride = {1}};
        for (int32_t i = 0; i < out->ndim; i++) {
            d.shape[i] = out->shape[out->ndim - 1 - i];
            d.stride[i] = out->stride[out->ndim - 1 - i];
        }
        tn__store_strided(out->data, out->dtype, &d, 0, c, type, out->numel);
    }
    tn__block_put(a, na);
    tn__block_put(b, nb);
    tn__block_put(c, nc);
    return e;
}
