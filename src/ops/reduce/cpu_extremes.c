/* The smallest and the largest element of a tensor without gaps, in one pass over it, in pieces. */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/parallel.h"

enum { PIECE = 32768 };

typedef struct extremes_job {
    const tn__launch *l;
    int type;
    tn__load load;
    double *ends; /* of each piece two, of the compute type */
} extremes_job;

/* Of n elements, two of the loop type. */
static void ends_of(const extremes_job *j, const char *x, int64_t n, void *ends)
{
    const tn_dtype dtype = j->l->in[0].dtype;
    const tn__reduce_loops *loops = &tn__isa()->reduce;
    const size_t size = tn__type_size(j->type);
    double block[TN__BLOCK], found[4];
    if (dtype == TN_BF16 || dtype == TN_F16) {
        uint16_t bits[2];
        loops->extremes_half(bits, (const void *)x, n, dtype == TN_BF16 ? 0x7f80 : 0x7c00);
        j->load(ends, bits, 1, 2);
        return;
    }
    if (tn__dtypes[dtype].compute == dtype && tn__type_of(dtype) == j->type) {
        loops->extremes[j->type](ends, x, n);
        return;
    }
    for (int64_t i = 0; i < n; i += TN__BLOCK) {
        const int64_t m = TN_MIN(TN__BLOCK, n - i);
        j->load(block, x + i * (int64_t)tn__dtype_size(dtype), 1, m);
        loops->extremes[j->type]((char *)found + (i ? 2 * size : 0), block, m);
        if (i)
            loops->extremes[j->type](found, memcpy(block, found, 4 * size), 4);
    }
    memcpy(ends, found, 2 * size);
}

static void pieces(void *ctx, int64_t begin, int64_t end)
{
    const extremes_job *j = ctx;
    const tn__view *x = &j->l->in[0];
    for (int64_t i = begin; i < end; i++)
        ends_of(j, (const char *)x->data + i * PIECE * (int64_t)tn__dtype_size(x->dtype),
                TN_MIN(PIECE, x->numel - i * PIECE), (char *)j->ends + (size_t)i * 2 * tn__type_size(j->type));
}

tn_status tn__cpu_extremes(const tn__launch *l)
{
    const tn__view *x = &l->in[0];
    const int64_t n = tn__div_up(x->numel, PIECE);
    extremes_job j = {.l = l, .type = tn__type_of(l->compute)};
    double ends[2], few[2];
    const size_t bytes = (size_t)n * sizeof ends;
    j.load = tn__isa()->load[x->dtype][j.type];
    j.ends = n == 1 ? few : tn__block_get(bytes);
    if (!j.ends)
        return tn__error_memory("partial results", bytes);
    tn__parallel_for(n, 1, pieces, &j);
    tn__isa()->reduce.extremes[j.type](ends, j.ends, 2 * n);
    tn__isa()->store[x->dtype][j.type](l->out[0].data, 1, ends, 1);
    tn__isa()->store[x->dtype][j.type](l->out[1].data, 1, (char *)ends + tn__type_size(j.type), 1);
    if (n > 1)
        tn__block_put(j.ends, bytes);
    return TN_OK;
}
