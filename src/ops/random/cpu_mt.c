/* Random numbers of the CPU's MT19937: the numbers that PyTorch's CPU gives for the same seed. Which words make which number, and
 * in what order tensors are filled, was found by asking PyTorch 2.15; tests/python/data/random.json holds what it gave. */
#include "ops/random/cpu_mt.h"
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "core/mt19937.h"
#include "core/rng.h"
#include <math.h>

/* Where numbers go: in the order of memory, the nearest first, whatever the dimensions are called. */
typedef struct filling {
    const tn__view *out;
    tn__strided_dims d;
    int type;
    bool as_is; /* dense, and of the type that loops compute in */
} filling;

static void by_stride(tn__strided_dims *d)
{
    for (int32_t i = 1; i < d->n; i++)
        for (int32_t k = i; k > 0 && d->stride[k] < d->stride[k - 1]; k--) {
            const int64_t shape = d->shape[k], stride = d->stride[k];
            d->shape[k] = d->shape[k - 1];
            d->stride[k] = d->stride[k - 1];
            d->shape[k - 1] = shape;
            d->stride[k - 1] = stride;
        }
}

/* Dimensions of which one goes on where the other ends are one; those of 1 are none. */
static void join(tn__strided_dims *d)
{
    int32_t n = 0;
    for (int32_t i = 0; i < d->n; i++)
        if (d->shape[i] != 1) {
            if (n && d->stride[i] == d->shape[n - 1] * d->stride[n - 1]) {
                d->shape[n - 1] *= d->shape[i];
            } else {
                d->shape[n] = d->shape[i];
                d->stride[n++] = d->stride[i];
            }
        }
    if (!n)
        d->shape[n] = d->stride[n] = 1, n = 1;
    d->n = n;
}

static filling filling_of(const tn__launch *l, int type)
{
    const tn__view *out = &l->out[0];
    filling f = {.out = out, .type = type};
    tn__dims_in_order(&f.d, out);
    by_stride(&f.d);
    join(&f.d);
    f.as_is = f.d.n == 1 && f.d.stride[0] == 1 && tn__dtypes[out->dtype].compute == out->dtype &&
              tn__type_of(out->dtype) == type;
    return f;
}

/* Where numbers i ... are made: in the result, or in block, from which placed() brings them there. */
static void *place(const filling *f, int64_t i, void *block)
{
    return f->as_is ? (char *)f->out->data + i * (int64_t)tn__dtype_size(f->out->dtype) : block;
}

static void placed(const filling *f, int64_t i, const void *block, int64_t n)
{
    if (!f->as_is)
        tn__store_strided(f->out->data, f->out->dtype, &f->d, i, block, f->type, n);
}

/* ---- uniform ---- */

/* What rounding brings to 'to' is 'from', as both are in the dtype. */
static void keep_below(const filling *f, void *numbers, int64_t n, double from, double to)
{
    const tn_dtype dtype = f->out->dtype;
    const tn__cpu_isa *isa = tn__isa();
    double ends[2], rounded[TN__BLOCK];
    if (f->type == TN__F64) {
        double *x = numbers;
        for (int64_t i = 0; i < n; i++)
            x[i] = x[i] == to ? from : x[i];
        return;
    }
    float *x = numbers, *r = (float *)rounded, *e = (float *)ends, both[2] = {(float)from, (float)to};
    uint16_t half[TN__BLOCK];
    if (dtype == TN_F32) {
        for (int64_t i = 0; i < n; i++)
            x[i] = x[i] == both[1] ? both[0] : x[i];
        return;
    }
    isa->store[dtype][TN__F32](half, 1, both, 2);
    isa->load[dtype][TN__F32](e, half, 1, 2);
    isa->store[dtype][TN__F32](half, 1, x, n);
    isa->load[dtype][TN__F32](r, half, 1, n);
    for (int64_t i = 0; i < n; i++)
        x[i] = r[i] == e[1] ? e[0] : r[i];
}

tn_status tn__cpu_mt_uniform(const tn__launch *l)
{
    const tn__uniform__params *p = l->params;
    const int64_t n = l->out[0].numel;
    const filling f = filling_of(l, tn__type_of(l->compute));
    const tn__random_loops *loops = &tn__isa()->random;
    const bool exact = p->from == 0 && p->to == 1 && f.as_is; /* nothing is rounded */
    uint32_t words[2 * TN__BLOCK];
    double block[TN__BLOCK];
    tn_mt19937 *g = tn__mt_lock();
    for (int64_t i = 0; i < n; i += TN__BLOCK) {
        const int64_t m = TN_MIN(TN__BLOCK, n - i);
        void *at = place(&f, i, block);
        loops->mt_words(g, words, f.type == TN__F32 ? m : 2 * m);
        loops->mt_uniform[f.type](at, words, m, p->from, p->to);
        if (!exact)
            keep_below(&f, at, m, p->from, p->to);
        placed(&f, i, block, m);
    }
    tn__mt_unlock();
    return TN_OK;
}

/* ---- normal: Box and Muller (Annals of Mathematical Statistics 29, 1958) ---- */

static const double two_pi = 6.283185307179586;

/* One by one; the second of a pair waits in the generator. */
double tn__mt_normal(tn_mt19937 *g)
{
    if (g->has_normal) {
        g->has_normal = false;
        return g->normal;
    }
    const double u = tn__mt_double(g), v = tn__mt_double(g), r = sqrt(-2.0 * log1p(-v));
    g->normal = r * sin(two_pi * u);
    g->has_normal = true;
    return r * cos(two_pi * u);
}

static void normal_one_by_one(const filling *f, tn_mt19937 *g, const tn__normal__params *p)
{
    double block[TN__BLOCK];
    for (int64_t i = 0; i < f->out->numel; i += TN__BLOCK) {
        const int64_t m = TN_MIN(TN__BLOCK, f->out->numel - i);
        for (int64_t k = 0; k < m; k++)
            block[k] = tn__mt_normal(g) * p->std + p->mean;
        tn__store_strided(f->out->data, f->out->dtype, &f->d, i, block, TN__F64, m);
    }
}

/* Sixteen uniform numbers become eight cosines and their eight sines. */
static void normal_f64(double *data, int64_t n, double mean, double std)
{
    for (int64_t i = 0; i < n; i += 16)
        for (int j = 0; j < 8; j++) {
            const double r = sqrt(-2.0 * log(1.0 - data[i + j])), t = two_pi * data[i + j + 8];
            data[i + j] = fma(r * cos(t), std, mean);
            data[i + j + 8] = fma(r * sin(t), std, mean);
        }
}

/* m numbers (a multiple of 16) at place i */
static void normal_groups(const filling *f, tn_mt19937 *g, const tn__normal__params *p, int64_t i, int64_t m)
{
    const tn__random_loops *loops = &tn__isa()->random;
    uint32_t words[2 * TN__BLOCK];
    double block[TN__BLOCK];
    void *at = place(f, i, block);
    loops->mt_words(g, words, f->type == TN__F32 ? m : 2 * m);
    loops->mt_uniform[f->type](at, words, m, 0, 1);
    if (f->type == TN__F32)
        loops->mt_normal(at, m, (float)p->mean, (float)p->std);
    else
        normal_f64(at, m, p->mean, p->std);
    placed(f, i, block, m);
}

/* Groups of 16. Where they do not come out even the last 16 are made anew: of float and double all numbers were drawn by then,
 * of the half types only those of whole groups. */
static void normal_in_groups(const filling *f, tn_mt19937 *g, const tn__normal__params *p)
{
    const int64_t n = f->out->numel, whole = n / 16 * 16;
    uint32_t words[32];
    for (int64_t i = 0; i < whole; i += TN__BLOCK)
        normal_groups(f, g, p, i, TN_MIN(TN__BLOCK, whole - i));
    if (whole == n)
        return;
    if (f->as_is)
        tn__isa()->random.mt_words(g, words, (n - whole) * (f->type == TN__F32 ? 1 : 2));
    normal_groups(f, g, p, n - 16, 16);
}

tn_status tn__cpu_mt_normal(const tn__launch *l)
{
    const tn__normal__params *p = l->params;
    const filling f = filling_of(l, tn__type_of(l->compute));
    tn_mt19937 *g = tn__mt_lock();
    if (l->out[0].numel >= 16 && l->out[0].contiguous)
        normal_in_groups(&f, g, p);
    else
        normal_one_by_one(&f, g, p);
    tn__mt_unlock();
    return TN_OK;
}

/* ---- laws that are formulas of uniform or normal numbers in double ---- */

/* m numbers that the row 'law' makes of those in u, which may be overwritten, and of a and b. */
static void of_law(const tn__mt_law_params *p, double *out, double *u, int64_t m)
{
    double a[TN__BLOCK], b[TN__BLOCK];
    if (p->law == TN__OP_lt) {
        for (int64_t k = 0; k < m; k++)
            out[k] = u[k] < p->a;
        return;
    }
    for (int64_t k = 0; k < m; k++) {
        u[k] -= p->law == TN__OP__cauchy_of ? 0.5 : 0;
        a[k] = p->a;
        b[k] = p->b;
    }
    tn__isa()->loops[p->law][TN__F64](out, u, a, b, m);
}

tn_status tn__cpu_mt_law(const tn__launch *l)
{
    const tn__mt_law_params *p = l->params;
    const tn__random_loops *loops = &tn__isa()->random;
    const filling f = filling_of(l, TN__F64);
    const int64_t n = l->out[0].numel;
    uint32_t words[2 * TN__BLOCK];
    double u[TN__BLOCK], block[TN__BLOCK];
    tn_mt19937 *g = tn__mt_lock();
    for (int64_t i = 0; i < n; i += TN__BLOCK) {
        const int64_t m = TN_MIN(TN__BLOCK, n - i);
        double *const at = place(&f, i, block);
        if (p->law == TN__OP_exp) {
            for (int64_t k = 0; k < m; k++)
                u[k] = tn__mt_normal(g) * p->b + p->a;
        } else {
            loops->mt_words(g, words, 2 * m);
            loops->mt_uniform[TN__F64](u, words, m, 0, 1);
        }
        of_law(p, at, u, m);
        placed(&f, i, at, m);
    }
    tn__mt_unlock();
    return TN_OK;
}

static bool are_probabilities(const double *p, int64_t n)
{
    bool fine = true;
    for (int64_t k = 0; k < n; k++)
        fine &= p[k] >= 0 && p[k] <= 1;
    return fine;
}

/* Of single numbers, but for probabilities in double. They are dense. */
tn_status tn__cpu_mt_bernoulli(const tn__launch *l)
{
    const tn__random_loops *loops = &tn__isa()->random;
    const tn__view *x = &l->in[0], *out = &l->out[0];
    const int type = x->dtype == TN_F64 ? TN__F64 : TN__F32;
    uint32_t words[2 * TN__BLOCK];
    double p[TN__BLOCK], u[TN__BLOCK], made[TN__BLOCK];
    bool fine = true;
    tn_mt19937 *g = tn__mt_lock();
    for (int64_t i = 0; i < x->numel && fine; i += TN__BLOCK) {
        const int64_t m = TN_MIN(TN__BLOCK, x->numel - i), at = i * (int64_t)tn__dtype_size(x->dtype);
        tn__isa()->load[x->dtype][TN__F64](p, (const char *)x->data + at, 1, m);
        if (!(fine = are_probabilities(p, m)))
            break;
        loops->mt_words(g, words, type == TN__F32 ? m : 2 * m);
        loops->mt_uniform[type](u, words, m, 0, 1);
        for (int64_t k = 0; k < m; k++)
            made[k] = (type == TN__F32 ? (double)((const float *)u)[k] : u[k]) < p[k];
        tn__isa()->store[out->dtype][TN__F64]((char *)out->data + at, 1, made, m);
    }
    tn__mt_unlock();
    return fine ? TN_OK : tn__error(TN_EINVAL, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
}

/* As PyTorch draws them: one by one, in double, none for what is above 0. x is dense. */
tn_status tn__cpu_mt_slopes(const tn__launch *l)
{
    const tn__mt_slopes_params *p = l->params;
    const tn__view *x = &l->in[0], *out = &l->out[0];
    const double width = p->high - p->low;
    double in[TN__BLOCK], made[TN__BLOCK];
    tn_mt19937 *g = tn__mt_lock();
    for (int64_t i = 0; i < x->numel; i += TN__BLOCK) {
        const int64_t m = TN_MIN(TN__BLOCK, x->numel - i), at = i * (int64_t)tn__dtype_size(x->dtype);
        tn__isa()->load[x->dtype][TN__F64](in, (const char *)x->data + at, 1, m);
        for (int64_t k = 0; k < m; k++)
            made[k] = in[k] <= 0 ? tn__mt_double(g) * width + p->low : 1;
        tn__isa()->store[out->dtype][TN__F64]((char *)out->data + at, 1, made, m);
    }
    tn__mt_unlock();
    return TN_OK;
}

/* ---- whole numbers ---- */

/* Above this many numbers to choose from, one takes 64 bits. */
static const uint64_t many = UINT64_C(1) << 28;

static void integers(int64_t *out, const uint32_t *words, int64_t n, uint64_t range, bool wide, int64_t low)
{
    for (int64_t i = 0; i < n; i++) {
        const uint64_t u = wide ? (uint64_t)words[2 * i] << 32 | words[2 * i + 1] : words[i];
        out[i] = (int64_t)(range ? (uint64_t)low + u % range : u);
    }
}

static void integers_of_32(int64_t *out, const uint32_t *words, int64_t n, uint32_t range, int64_t low)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = low + (int64_t)(words[i] % range);
}

tn_status tn__cpu_mt_randint(const tn__launch *l)
{
    const tn__randint_params *p = l->params;
    const tn__view *out = &l->out[0];
    const filling f = filling_of(l, TN__I64);
    const bool wide_all = out->dtype == TN_I64 || out->dtype == TN_F64;
    uint64_t range = (uint64_t)p->high - (uint64_t)p->low;
    if (p->all && out->dtype == TN_I64)
        range = UINT64_C(1) << 63;
    const bool wide = p->all ? wide_all : !range || range >= many; /* 0: of all 64 bits */
    uint32_t words[2 * TN__BLOCK];
    int64_t block[TN__BLOCK];
    tn_mt19937 *g = tn__mt_lock();
    for (int64_t i = 0; i < out->numel; i += TN__BLOCK) {
        const int64_t m = TN_MIN(TN__BLOCK, out->numel - i);
        int64_t *at = place(&f, i, block);
        tn__isa()->random.mt_words(g, words, wide ? 2 * m : m);
        if (!wide && range <= UINT32_MAX)
            integers_of_32(at, words, m, (uint32_t)range, p->low);
        else
            integers(at, words, m, range, wide, p->low);
        placed(&f, i, block, m);
    }
    tn__mt_unlock();
    return TN_OK;
}

/* Fisher and Yates, from the beginning: place i changes with a place in [i, n). */
void tn__mt_permutation(int64_t *order, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    tn_mt19937 *g = tn__mt_lock();
    for (int64_t i = 0; i < n - 1; i++) {
        const int64_t k = i + (int64_t)(n < UINT32_MAX / 20 ? tn__mt_next(g) % (uint32_t)(n - i)
                                                            : tn__mt_next64(g) % (uint64_t)(n - i));
        const int64_t t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
    tn__mt_unlock();
}
