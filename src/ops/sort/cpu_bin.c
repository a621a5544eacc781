/* In which bin each element is, and how often numbers are there. */
#include "backend/cpu/cpu.h"
#include "core/parallel.h"
#include "ops/sort/infer_search.h"
#include <stdatomic.h>

enum { WORK = 16384 };

typedef struct bin_job {
    const tn__launch *l;
    double low, high;
    int how;
} bin_job;

#define T         float
#define BINS      bins_f32
#define BEHIND(j) TN__F32
#include "ops/sort/cpu_bin.inc.h"

#define T         double
#define BINS      bins_f64
#define BEHIND(j) TN__F64
#include "ops/sort/cpu_bin.inc.h"

static void bin(void *ctx, int64_t begin, int64_t end)
{
    const bin_job *j = ctx;
    if (j->l->in[0].dtype == TN_F32)
        bins_f32(j, begin, end);
    else
        bins_f64(j, begin, end);
}

tn_status tn__cpu_bins(const tn__launch *l)
{
    const tn__bins_params *p = l->params;
    bin_job j = {.l = l, .low = p->low, .high = p->high, .how = (int)p->how};
    if (l->in[0].numel)
        tn__parallel_for(l->in[0].numel, WORK, bin, &j);
    return TN_OK;
}

/* ---- how often ---- */

enum { TABLES = 4, FEW = 512 };

typedef struct count_job {
    const int64_t *place;
    int64_t *out;
    int64_t n;
} count_job;

static int64_t place_or_last(const count_job *j, int64_t i)
{
    return (uint64_t)j->place[i] < (uint64_t)j->n ? j->place[i] : j->n;
}

/* Few places come again soon: four tables by turns, so that a count seldom waits for the one before it. What is nowhere is
 * counted behind the last place. */
static void count_few(void *ctx, int64_t begin, int64_t end)
{
    const count_job *j = ctx;
    int64_t table[TABLES][FEW + 1], i = begin;
    for (int k = 0; k < TABLES; k++)
        memset(table[k], 0, (size_t)(j->n + 1) * sizeof **table);
    for (; i + TABLES <= end; i += TABLES)
        for (int k = 0; k < TABLES; k++)
            table[k][place_or_last(j, i + k)]++;
    for (; i < end; i++)
        table[0][place_or_last(j, i)]++;
    for (int64_t p = 0; p < j->n; p++)
        atomic_fetch_add_explicit((_Atomic int64_t *)&j->out[p], table[0][p] + table[1][p] + table[2][p] + table[3][p],
                                  memory_order_relaxed);
}

static void count(const int64_t *place, int64_t m, int64_t *out, int64_t n)
{
    count_job j = {place, out, n};
    if (n <= FEW) {
        tn__parallel_for(m, 4 * WORK, count_few, &j);
        return;
    }
    for (int64_t i = 0; i < m; i++)
        if ((uint64_t)place[i] < (uint64_t)n)
            out[place[i]]++;
}

/* Weights one after the other, so that their sums do not depend on threads. */
tn_status tn__cpu_counted(const tn__launch *l)
{
    const tn__counted_params *p = l->params;
    const int64_t *place = l->in[0].data, m = l->in[0].numel;
    const void *weights = l->n_in > 1 ? l->in[1].data : NULL;
    void *out = l->out[0].data;
    if (p->n == 0)
        return TN_OK;
    memset(out, 0, (size_t)p->n * tn__dtype_size(l->out[0].dtype));
    if (!weights) {
        count(place, m, out, p->n);
        return TN_OK;
    }
    for (int64_t i = 0; i < m; i++)
        if ((uint64_t)place[i] >= (uint64_t)p->n)
            continue;
        else if (l->out[0].dtype == TN_F32)
            ((float *)out)[place[i]] += ((const float *)weights)[i];
        else
            ((double *)out)[place[i]] += ((const double *)weights)[i];
    return TN_OK;
}
