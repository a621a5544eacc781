/* Numbers of laws that reject some of what they draw: Poisson's, the binomial, gamma. Of an MT19937 each takes as many
 * numbers, in the order of memory, as PyTorch's CPU does, and computes with them in the same order; of Philox element i has
 * blocks of its own. */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/mt19937.h"
#include "core/parallel.h"
#include "core/philox.h"
#include "core/rng.h"
#include "ops/random/cpu_mt.h"
#include <float.h>
#include <math.h>

/* What one element draws from. */
typedef struct source {
    tn_mt19937 *mt; /* NULL: Philox, from this block on */
    uint64_t seed, block;
} source;

/* In [0, 1) */
static double uniform(source *s)
{
    if (s->mt)
        return tn__mt_double(s->mt);
    const tn__u32x4 b = tn__philox_block(s->seed, s->block++);
    return (double)(((uint64_t)b.v[1] << 32 | b.v[0]) >> 11) * 1.1102230246251565e-16;
}

static double normal(source *s)
{
    if (s->mt)
        return tn__mt_normal(s->mt);
    const double u = uniform(s), v = uniform(s); /* Box and Muller */
    return sqrt(-2 * log1p(-u)) * cos(6.283185307179586 * v);
}

/* ---- Poisson ---- */

/* Transformed rejection: Hoermann, Insurance: Mathematics and Economics 12 (1993), PTRS */
static double poisson_of_many(double rate, source *s)
{
    const double b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b, log_rate = log(rate);
    const double inverse = 1.1239 + 1.1328 / (b - 3.4), sure = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const double u = uniform(s) - 0.5, v = uniform(s), us = 0.5 - fabs(u);
        const double k = floor((2 * a / us + b) * u + rate + 0.43);
        if (us >= 0.07 && v <= sure)
            return k;
        if (k < 0 || (us < 0.013 && v > us))
            continue;
        if (log(v) + log(inverse) - log(a / (us * us) + b) <= -rate + k * log_rate - lgamma(k + 1))
            return k;
    }
}

static double poisson(double rate, source *s)
{
    if (rate >= 10)
        return poisson_of_many(rate, s);
    if (!(rate > 0))
        return 0;
    const double least = exp(-rate);
    double product = 1, k = 0;
    while ((product *= uniform(s)) > least) /* Knuth, The Art of Computer Programming 2, 3.4.1 */
        k++;
    return k;
}

/* ---- gamma: Marsaglia and Tsang, TOMS 26 (2000) ---- */

/* Constants are floats, and so is what is made of a float shape, as in PyTorch. */
static double gamma_number(double shape, bool is_wide, source *s)
{
    double scale = 1;
    if (shape < 1) {
        if (shape == 0)
            return 0;
        scale = pow(1 - uniform(s), is_wide ? 1 / shape : (double)(1 / (float)shape));
        shape = is_wide ? shape + 1 : (double)((float)shape + 1);
    }
    const double third = 1.0F / 3.0F, d = is_wide ? shape - third : (double)((float)shape - 1.0F / 3.0F);
    const double c = 1 / sqrt(9 * d);
    for (;;) {
        double x, y;
        do {
            x = normal(s);
            y = 1 + c * x;
        } while (y <= 0);
        const double v = y * y * y, u = 1 - uniform(s), xx = x * x;
        if (u < 1 - 0.0331F * xx * xx)
            return scale * d * v;
        if (log(u) < 0.5F * xx + d * (1 - v + log(v)))
            return scale * d * v;
        if (!(c == c))
            return d; /* a NaN is never taken */
    }
}

/* ---- binomial, in the dtype's own precision ---- */

#define T        float
#define NAME(f)  f##_f32
#define FN(name) name##f
#include "ops/random/cpu_binomial.inc.h"
#undef T
#undef NAME
#undef FN
#define T        double
#define NAME(f)  f##_f64
#define FN(name) name
#include "ops/random/cpu_binomial.inc.h"

/* ---- all elements ---- */

/* One number of the law, of the operands x and n; wide: of float64 */
typedef double one_of(double x, double n, bool wide, source *s);

typedef struct law_job {
    const tn__launch *l;
    tn_mt19937 *mt;
    one_of *one;
} law_job;

static void law_chunk(void *ctx, int64_t begin, int64_t end)
{
    const law_job *j = ctx;
    const tn__law_params *p = j->l->params;
    const tn__view *x = &j->l->in[0], *n = &j->l->in[j->l->n_in - 1], *out = &j->l->out[0];
    double a[TN__BLOCK], b[TN__BLOCK], r[TN__BLOCK];
    tn__strided_dims xd, nd, od;
    tn__dims_in_order(&xd, x);
    tn__dims_in_order(&nd, n);
    tn__dims_in_order(&od, out);
    for (int64_t i = begin; i < end; i += TN__BLOCK) {
        const int64_t m = TN_MIN(TN__BLOCK, end - i);
        tn__load_strided(a, TN__F64, x->dtype, x->data, &xd, i, m);
        tn__load_strided(b, TN__F64, n->dtype, n->data, &nd, i, m);
        for (int64_t k = 0; k < m; k++) {
            source s = {j->mt, (uint64_t)p->seed, (uint64_t)(p->offset + (i + k) * p->blocks)};
            r[k] = j->one(a[k], b[k], out->dtype == TN_F64, &s);
        }
        tn__store_strided(out->data, out->dtype, &od, i, r, TN__F64, m);
    }
}

static tn_status draw(const tn__launch *l, one_of *one)
{
    const tn__law_params *p = l->params;
    law_job j = {.l = l, .one = one};
    if (p->offset >= 0) {
        tn__parallel_for(l->out[0].numel, 256, law_chunk, &j);
        return TN_OK;
    }
    j.mt = tn__mt_lock();
    law_chunk(&j, 0, l->out[0].numel);
    tn__mt_unlock();
    return TN_OK;
}

static double one_poisson(double x, double n, bool is_wide, source *s)
{
    (void)n, (void)is_wide;
    return poisson(x, s);
}

/* Never 0: some take its logarithm. */
static double one_gamma(double x, double n, bool is_wide, source *s)
{
    const double least = is_wide ? DBL_MIN : (double)FLT_MIN, v = gamma_number(x, is_wide, s);
    (void)n;
    return v > least ? v : least;
}

static double one_binomial(double x, double n, bool is_wide, source *s)
{
    return is_wide ? binomial_f64(n, x, s) : (double)binomial_f32((float)n, (float)x, s);
}

tn_status tn__cpu_poisson(const tn__launch *l)
{
    return draw(l, one_poisson);
}

tn_status tn__cpu_binomial(const tn__launch *l)
{
    return draw(l, one_binomial);
}

tn_status tn__cpu_gamma(const tn__launch *l)
{
    return draw(l, one_gamma);
}
