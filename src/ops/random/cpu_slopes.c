/* How gamma and beta numbers move with their parameters: in blocks, by the instruction set's loops (cpu_slopes.inc.h). */
#include "backend/cpu/cpu.h"
#include "core/parallel.h"

typedef struct slopes {
    const tn__launch *l;
    int n_in;
    void (*compute)(double *out, const double *const *in, int64_t n);
} slopes;

static void slope_chunk(void *ctx, int64_t begin, int64_t end)
{
    const slopes *s = ctx;
    const tn__view *out = &s->l->out[0];
    double in[3][TN__BLOCK], r[TN__BLOCK];
    const double *const each[] = {in[0], in[1], in[2]};
    tn__strided_dims d[3], od;
    for (int k = 0; k < s->n_in; k++)
        tn__dims_in_order(&d[k], &s->l->in[k]);
    tn__dims_in_order(&od, out);
    for (int64_t i = begin; i < end; i += TN__BLOCK) {
        const int64_t m = TN_MIN(TN__BLOCK, end - i);
        for (int k = 0; k < s->n_in; k++)
            tn__load_strided(in[k], TN__F64, s->l->in[k].dtype, s->l->in[k].data, &d[k], i, m);
        s->compute(r, each, m);
        tn__store_strided(out->data, out->dtype, &od, i, r, TN__F64, m);
    }
}

tn_status tn__cpu_gamma_slope(const tn__launch *l)
{
    slopes s = {l, 2, tn__isa()->random.gamma_slopes};
    tn__parallel_for(l->out[0].numel, 256, slope_chunk, &s);
    return TN_OK;
}

tn_status tn__cpu_beta_slope(const tn__launch *l)
{
    slopes s = {l, 3, tn__isa()->random.beta_slopes};
    tn__parallel_for(l->out[0].numel, 256, slope_chunk, &s);
    return TN_OK;
}
