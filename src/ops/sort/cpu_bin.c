/* In which bin each element is, and how often numbers are there. */
#include "backend/cpu/cpu.h"
#include "core/parallel.h"
#include "ops/sort/infer_search.h"

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

static void count(const int64_t *place, int64_t m, int64_t *out, int64_t n)
{
    for (int64_t i = 0; i < m; i++)
        if ((uint64_t)place[i] < (uint64_t)n)
            out[place[i]]++;
}

/* One after the other, so that sums do not depend on threads. */
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
