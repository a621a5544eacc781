/* Kernels of the family random for the CPU. */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/philox.h"
#include "ops/random/cpu_mt.h"

typedef struct random_job {
    const tn__launch *l;
    int type;
    bool as_is;
    tn__strided_dims out;
} random_job;

static random_job job_of(const tn__launch *l)
{
    const tn__view *out = &l->out[0];
    random_job j = {.l = l, .type = tn__type_of(l->compute)};
    j.as_is = out->contiguous && tn__dtypes[out->dtype].compute == out->dtype;
    tn__dims_in_order(&j.out, out);
    return j;
}

static tn_status run(const tn__launch *l, void (*chunk)(void *ctx, int64_t begin, int64_t end))
{
    if (l->out[0].numel == 0)
        return TN_OK;
    random_job j = job_of(l);
    tn__parallel_for(l->out[0].numel, TN__CHUNK, chunk, &j);
    return TN_OK;
}

/* Where numbers i ... are made: in the result, or in block, from which placed() brings them there. */
static void *place(const random_job *j, int64_t i, double *block)
{
    const tn__view *out = &j->l->out[0];
    return j->as_is ? (void *)((char *)out->data + i * (int64_t)tn__dtype_size(out->dtype)) : (void *)block;
}

static void placed(const random_job *j, int64_t i, const double *block, int64_t n)
{
    const tn__view *out = &j->l->out[0];
    if (!j->as_is)
        tn__store_strided(out->data, out->dtype, &j->out, i, block, j->type, n);
}

/* The Philox block that makes number i. */
static uint64_t block_at(const random_job *j, int64_t offset, int64_t i)
{
    return (uint64_t)offset + (uint64_t)(i / (j->type == TN__F32 ? 4 : 2));
}

/* ---- numbers ---- */

static void uniform_chunk(void *ctx, int64_t begin, int64_t end)
{
    const random_job *j = ctx;
    const tn__uniform__params *a = j->l->params;
    const tn__random_loops *loops = &tn__isa()->random;
    const int32_t bits = tn__dtype_uniform_bits(j->l->out[0].dtype);
    double block[TN__BLOCK];
    for (int64_t i = begin; i < end; i += TN__BLOCK) {
        int64_t n = TN_MIN(TN__BLOCK, end - i);
        loops->uniform[j->type](place(j, i, block), (uint64_t)a->seed, block_at(j, a->offset, i), n, bits, a->from,
                                a->to);
        placed(j, i, block, n);
    }
}

static void normal_chunk(void *ctx, int64_t begin, int64_t end)
{
    const random_job *j = ctx;
    const tn__normal__params *a = j->l->params;
    const tn__random_loops *loops = &tn__isa()->random;
    double block[TN__BLOCK];
    for (int64_t i = begin; i < end; i += TN__BLOCK) {
        int64_t n = TN_MIN(TN__BLOCK, end - i);
        loops->normal[j->type](place(j, i, block), (uint64_t)a->seed, block_at(j, a->offset, i), n, a->mean, a->std);
        placed(j, i, block, n);
    }
}

static void integers_chunk(void *ctx, int64_t begin, int64_t end)
{
    const random_job *j = ctx;
    const tn__randint_params *a = j->l->params;
    const tn__view *out = &j->l->out[0];
    int64_t block[TN__BLOCK];
    for (int64_t i = begin; i < end; i += TN__BLOCK) {
        int64_t n = TN_MIN(TN__BLOCK, end - i);
        for (int64_t k = 0; k < n; k++)
            block[k] = (int64_t)((uint64_t)a->low + tn__philox_below((uint64_t)a->seed, (uint64_t)a->offset, i + k,
                                                                     (uint64_t)a->high - (uint64_t)a->low));
        tn__store_strided(out->data, out->dtype, &j->out, i, block, TN__I64, n);
    }
}

tn_status tn__cpu_uniform(const tn__launch *l)
{
    const tn__uniform__params *p = l->params;
    return p->offset < 0 ? tn__cpu_mt_uniform(l) : run(l, uniform_chunk);
}

tn_status tn__cpu_normal(const tn__launch *l)
{
    const tn__normal__params *p = l->params;
    return p->offset < 0 ? tn__cpu_mt_normal(l) : run(l, normal_chunk);
}

tn_status tn__cpu_randint(const tn__launch *l)
{
    const tn__randint_params *p = l->params;
    return p->offset < 0 ? tn__cpu_mt_randint(l) : run(l, integers_chunk);
}

tn_status tn__cpu_randperm(const tn__launch *l)
{
    const tn__randperm_params *p = l->params;
    const tn__view *out = &l->out[0];
    int64_t n = out->numel;
    tn__strided_dims d;
    if (n == 0)
        return TN_OK;
    int64_t *order = tn__block_get((size_t)n * sizeof *order);
    if (!order)
        return tn__error_memory("a permutation", (size_t)n * sizeof *order);
    if (p->offset < 0)
        tn__mt_permutation(order, n);
    else
        tn__philox_permutation(order, n, (uint64_t)p->seed, (uint64_t)p->offset);
    tn__dims_in_order(&d, out);
    tn__store_strided(out->data, out->dtype, &d, 0, order, TN__I64, n);
    tn__block_put(order, (size_t)n * sizeof *order);
    return TN_OK;
}

/* ---- dropout ---- */

static void dropout_chunk(void *ctx, int64_t begin, int64_t end)
{
    const random_job *j = ctx;
    const tn__dropout_params *a = j->l->params;
    const tn__view *x = &j->l->in[0], *out = &j->l->out[0];
    double in[TN__BLOCK], block[TN__BLOCK];
    tn__strided_dims xd;
    tn__dims_in_order(&xd, x);
    for (int64_t i = begin; i < end; i += TN__BLOCK) {
        int64_t n = TN_MIN(TN__BLOCK, end - i);
        bool as_is = j->as_is && x->contiguous && x->dtype == out->dtype;
        const int64_t size = (int64_t)tn__dtype_size(out->dtype);
        const void *from = as_is ? (const void *)((const char *)x->data + i * size) : in;
        void *to = as_is ? (void *)((char *)out->data + i * size) : block;
        if (!as_is)
            tn__load_strided(in, j->type, x->dtype, x->data, &xd, i, n);
        tn__isa()->random.dropout[j->type](to, from, (uint64_t)a->seed, (uint64_t)a->offset + (uint64_t)(i / 4), n,
                                           a->p);
        if (!as_is)
            tn__store_strided(out->data, out->dtype, &j->out, i, block, j->type, n);
    }
}

tn_status tn__cpu_dropout(const tn__launch *l)
{
    return run(l, dropout_chunk);
}
