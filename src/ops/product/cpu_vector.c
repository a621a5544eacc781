/* A matrix times a vector, and dot: bound by memory, not by arithmetic. Rows that lie in memory one element after the other are
 * multiplied one by one, or, where they are short, turned; where columns lie so, they are added up, a block of rows at a time.
 * Each element of the result is a sum in one order, whatever the threads. */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"

enum { PIECE = 1024, FEW = 8, TILE = 128 };

typedef struct vector_job {
    const tn__gemm *g;
    const tn__gemm_isa *isa;
    int type;
    int64_t item, size; /* bytes of an element computed with, and as it lies in memory */
    tn_dtype dtype;     /* as it lies in memory */
    const void *x;      /* the vector, dense */
    bool as_stored;     /* of elements as they lie in memory: bfloat16 */
} vector_job;

static tn__load load_of(const vector_job *j)
{
    return tn__isa()->load[j->dtype][j->type];
}

/* Element i of the result; a number of the compute type, as its bits are. */
static void set_element(const vector_job *j, int64_t i, double sum, uint64_t whole)
{
    const tn__gemm *g = j->g;
    void *c = (char *)g->c + i * g->ldc * j->item;
    const bool add = g->accumulate;
    if (j->type == TN__F32)
        *(float *)c = (float)(g->scale * sum + (add ? (double)*(float *)c : 0));
    else if (j->type == TN__F64)
        *(double *)c = g->scale * sum + (add ? *(double *)c : 0);
    else if (j->type == TN__I32)
        *(uint32_t *)c = (uint32_t)((uint64_t)g->whole * whole) + (add ? *(uint32_t *)c : 0);
    else
        *(uint64_t *)c = (uint64_t)g->whole * whole + (add ? *(uint64_t *)c : 0);
}

/* ---- row by row ---- */

/* The sum of n products of a row whose elements are converted, or lie apart, by pieces; of integers in 'whole'. */
static double sum_of_pieces(const vector_job *j, const char *row, const char *x, int64_t n, uint64_t *whole)
{
    _Alignas(64) char piece[PIECE * 8];
    const int64_t apart = j->g->a_cs;
    double sum = 0;
    for (int64_t k = 0; k < n; k += PIECE) {
        const int64_t some = TN_MIN(PIECE, n - k);
        load_of(j)(piece, row + k * apart * j->size, apart, some);
        if (j->isa->dot)
            sum += j->isa->dot(piece, x + k * j->item, some);
        else
            *whole += j->isa->dot_whole(piece, x + k * j->item, some);
    }
    return sum;
}

/* Of n products of row i from element 'first' on. */
static double sum_of_row(const vector_job *j, int64_t i, int64_t first, int64_t n, uint64_t *whole)
{
    const tn__gemm *g = j->g;
    const char *row = (const char *)g->a + (i * g->a_rs + first * g->a_cs) * j->size,
               *x = (const char *)j->x + first * (j->as_stored ? j->size : j->item);
    *whole = 0;
    if (j->as_stored)
        return j->isa->dot_bf16(row, x, n);
    if (g->stored || g->a_cs != 1)
        return sum_of_pieces(j, row, x, n, whole);
    if (j->isa->dot)
        return j->isa->dot(row, x, n);
    *whole = j->isa->dot_whole(row, x, n);
    return 0;
}

static void multiply_rows(void *ctx, int64_t begin, int64_t end)
{
    const vector_job *j = ctx;
    uint64_t whole;
    for (int64_t i = begin; i < end; i++) {
        const double sum = sum_of_row(j, i, 0, j->g->k, &whole);
        set_element(j, i, sum, whole);
    }
}

/* ---- few rows, so long that threads share each ---- */

enum { LONG = 1 << 16, MOST_PARTS = 64 };

typedef struct parts_job {
    const vector_job *j;
    int64_t part, count; /* elements of a part, parts of a row */
    double sum[FEW * MOST_PARTS];
    uint64_t whole[FEW * MOST_PARTS];
} parts_job;

static void sum_parts(void *ctx, int64_t begin, int64_t end)
{
    parts_job *p = ctx;
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i % p->count * p->part;
        p->sum[i] = sum_of_row(p->j, i / p->count, first, TN_MIN(p->part, p->j->g->k - first), &p->whole[i]);
    }
}

static void multiply_long_rows(const vector_job *j)
{
    const tn__gemm *g = j->g;
    parts_job p = {.j = j, .part = TN_MAX(LONG, tn__div_up(g->k, MOST_PARTS))};
    p.count = tn__div_up(g->k, p.part);
    tn__parallel_for(g->m * p.count, 1, sum_parts, &p);
    for (int64_t i = 0; i < g->m; i++) {
        double sum = 0;
        uint64_t whole = 0;
        for (int64_t k = i * p.count; k < (i + 1) * p.count; k++) {
            sum += p.sum[k];
            whole += p.whole[k];
        }
        set_element(j, i, sum, whole);
    }
}

/* ---- columns added up ---- */

static void add_columns(const vector_job *j, char *sum, int64_t i, int64_t n)
{
    _Alignas(64) char four[4 * PIECE * 8];
    const tn__gemm *g = j->g;
    const char *a = (const char *)g->a + i * j->size;
    if (!g->stored) {
        j->isa->columns(sum, a, g->a_cs, j->x, n, g->k);
        return;
    }
    if (g->stored == TN_BF16 && j->isa->columns_bf16) {
        j->isa->columns_bf16(sum, a, g->a_cs, j->x, n, g->k);
        return;
    }
    for (int64_t k = 0; k < g->k; k += 4) {
        const int64_t some = TN_MIN(4, g->k - k);
        for (int64_t c = 0; c < some; c++)
            load_of(j)(four + c * PIECE * j->item, a + (k + c) * g->a_cs * j->size, 1, n);
        j->isa->columns(sum, four, PIECE, (const char *)j->x + k * j->item, n, some);
    }
}

/* As set_element, n times, of floats side by side. */
static void set_floats(float *restrict c, const float *restrict sum, double scale, bool add, int64_t n)
{
    if (add)
        for (int64_t i = 0; i < n; i++)
            c[i] = (float)(scale * (double)sum[i] + (double)c[i]);
    else
        for (int64_t i = 0; i < n; i++)
            c[i] = (float)(scale * (double)sum[i]);
}

/* Sums of n rows from row i on become elements of the result. */
static void set_elements(const vector_job *j, const char *sum, int64_t i, int64_t n)
{
    const tn__gemm *g = j->g;
    const bool as_summed = (j->type <= TN__F64 ? g->scale == 1 : g->whole == 1) && !g->accumulate && g->ldc == 1;
    if (as_summed) {
        memcpy((char *)g->c + i * j->item, sum, (size_t)(n * j->item));
        return;
    }
    if (j->type == TN__F32 && g->ldc == 1) {
        set_floats((float *)g->c + i, (const float *)(const void *)sum, g->scale, g->accumulate, n);
        return;
    }
    for (int64_t r = 0; r < n; r++) {
        const void *v = sum + r * j->item;
        if (j->type <= TN__F64)
            set_element(j, i + r, j->type == TN__F32 ? (double)*(const float *)v : *(const double *)v, 0);
        else
            set_element(j, i + r, 0, j->type == TN__I32 ? *(const uint32_t *)v : *(const uint64_t *)v);
    }
}

static void multiply_columns(void *ctx, int64_t begin, int64_t end)
{
    _Alignas(64) char sum[PIECE * 8];
    const vector_job *j = ctx;
    for (int64_t b = begin; b < end; b++) {
        const int64_t i = b * PIECE, n = TN_MIN(PIECE, j->g->m - i);
        memset(sum, 0, (size_t)(n * j->item));
        add_columns(j, sum, i, n);
        set_elements(j, sum, i, n);
    }
}

/* Short rows, turned a tile at a time: columns then. */
static void multiply_turned(void *ctx, int64_t begin, int64_t end)
{
    _Alignas(64) char tile[TN__SHORT_ROW * TILE * 8], sum[TILE * 8];
    const vector_job *j = ctx;
    const tn__gemm *g = j->g;
    for (int64_t b = begin; b < end; b++) {
        const int64_t i = b * TILE, n = TN_MIN(TILE, g->m - i);
        tn__isa()->transpose(tile, TILE, (const char *)g->a + i * g->a_rs * j->item, g->a_rs, n, g->k, (size_t)j->item);
        memset(sum, 0, (size_t)(n * j->item));
        j->isa->columns(sum, tile, TILE, j->x, n, g->k);
        set_elements(j, sum, i, n);
    }
}

/* ---- both ---- */

/* One column. */
static tn_status multiply(const tn__gemm *g, int type)
{
    _Alignas(64) char few[PIECE * 8];
    vector_job j = {.g = g, .isa = &tn__isa()->gemm[type], .type = type, .item = (int64_t)tn__type_size(type)};
    static const tn_dtype computed[TN__TYPES] = {TN_F32, TN_F64, TN_I32, TN_I64};
    j.dtype = g->stored ? g->stored : computed[type];
    j.size = tn__gemm_item(g, type);
    j.x = g->b;
    const bool by_columns = g->a_rs == 1 && (g->a_cs != 1 || g->k == 1) && g->m >= FEW,
               dense = g->b_rs == 1 || g->k == 1;
    j.as_stored = g->stored == TN_BF16 && dense && !by_columns && g->a_cs == 1;
    const size_t bytes = (size_t)(g->k * j.item);
    void *x = NULL;
    if (!j.as_stored && (g->stored || !dense)) {
        x = g->k <= PIECE ? few : tn__block_get(bytes);
        if (!x)
            return tn__error_memory("a vector", bytes);
        load_of (&j)(x, g->b, g->b_rs, g->k);
        j.x = x;
    }
    if (by_columns)
        tn__parallel_for(tn__div_up(g->m, PIECE), tn__div_up(65536, PIECE * g->k), multiply_columns, &j);
    else if (!g->stored && tn__pays_to_turn(g->k, g->a_cs, g->m, g->a_rs))
        tn__parallel_for(tn__div_up(g->m, TILE), tn__div_up(65536, TILE * g->k), multiply_turned, &j);
    else if (g->m <= FEW && g->k >= 2 * LONG)
        multiply_long_rows(&j);
    else
        tn__parallel_for(g->m, tn__div_up(65536, g->k), multiply_rows, &j);
    if (x && x != few)
        tn__block_put(x, bytes);
    return TN_OK;
}

/* One row: the transposed product. */
tn_status tn__cpu_gemv(const tn__gemm *g, int type)
{
    if (g->n == 1)
        return multiply(g, type);
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
    return multiply(&t, type);
}
