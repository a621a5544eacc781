/* multinomial: indices drawn in proportion to given weights. */
#include "core/alloc.h"
#include "core/rng.h"
#include "ops/compose.h"
#include <math.h>

enum {
    CHUNK = 1 << 22,
    TOGETHER = 4
}; /* comparisons of samples with categories at once; rows that are added up together */

/* With replacement: the category is how many entries of the running sum are not above u times the whole. One whose
 * probability is 0 has an empty interval. In float64, where u < 1 makes u * total < total. cdf is [rows, categories]. */
static tn_tensor *draw_again(tn__thread *self, tn_tensor *cdf, int64_t n)
{
    if (!cdf)
        return NULL;
    const int64_t rows = cdf->shape[0], c = cdf->shape[1], step = CHUNK / (rows * c) + 1;
    tn_tensor *total = tn_slice(cdf, 1, c - 1, c, 1), *edges = tn_unsqueeze(cdf, 1);
    tn_tensor *r = tn_empty(TN_SHAPE(rows, n), .dtype = TN_I64, .device = cdf->device);
    for (int64_t at = 0; r && at < n; at += step) {
        const int64_t k = TN_MIN(n - at, step);
        tn_scope scope;
        tn__scope_push(self, &scope);
        tn_tensor *u = tn_rand(TN_SHAPE(rows, k), .dtype = TN_F64, .device = cdf->device);
        tn_tensor *below = tn_ge(tn_unsqueeze(tn_mul(u, total), 2), edges);
        const bool ok = tn_copy_(tn_slice(r, 1, at, at + k, 1), tn_sum(below, .dim = 2)) != NULL;
        tn__scope_pop(self, &scope, NULL);
        if (!ok)
            return NULL;
    }
    return r;
}

/* Running sums of rows, four beside each other: each sum waits for the one before. Each rounds as PyTorch's: to float unless they
 * are double. */
#define RUNNING_SUMS(name, T) \
    static void name(T *sums, const T *p, int64_t c, int64_t rows) \
    { \
        int64_t r = 0; \
        for (; r + TOGETHER <= rows; r += TOGETHER, sums += TOGETHER * c, p += TOGETHER * c) { \
            T s0 = 0, s1 = 0, s2 = 0, s3 = 0; \
            for (int64_t i = 0; i < c; i++) { \
                sums[i] = s0 += p[i]; \
                sums[c + i] = s1 += p[c + i]; \
                sums[2 * c + i] = s2 += p[2 * c + i]; \
                sums[3 * c + i] = s3 += p[3 * c + i]; \
            } \
        } \
        for (; r < rows; r++, sums += c, p += c) { \
            T s = 0; \
            for (int64_t i = 0; i < c; i++) \
                sums[i] = s += p[i]; \
        } \
    }
RUNNING_SUMS(sums_f32, float)
RUNNING_SUMS(sums_f64, double)
#undef RUNNING_SUMS

/* With replacement as PyTorch's CPU draws: row by row, each number by one of 53 bits. x is [rows, categories]. */
static tn_tensor *draw_again_mt(tn_tensor *x, int64_t n)
{
    const int64_t rows = x->shape[0], c = x->shape[1];
    const bool wide = x->dtype == TN_F64;
    const int64_t size = wide ? sizeof(double) : sizeof(float);
    const size_t bytes = TOGETHER * (size_t)(c * size);
    tn_tensor *r = tn_empty(TN_SHAPE(rows, n), .dtype = TN_I64, .device = x->device);
    tn_tensor *weights = tn_contiguous(tn_to(x, .dtype = wide ? TN_F64 : TN_F32));
    if (!r || !weights)
        return NULL;
    void *sums = tn__block_get(bytes);
    if (!sums)
        return tn__fail(TN_ENOMEM, "no memory for %lld categories", (long long)c);
    const char *from = tn_data(weights);
    int64_t *to = tn_data(r);
    for (int64_t i = 0, some; i < rows; i += some) {
        some = TN_MIN(rows - i, TOGETHER);
        if (wide)
            sums_f64(sums, (const double *)(const void *)from + i * c, c, some);
        else
            sums_f32(sums, (const float *)(const void *)from + i * c, c, some);
        for (int64_t k = 0; k < some; k++)
            tn__mt_categories(to + (i + k) * n, n, (const char *)sums + k * c * size, c, wide);
    }
    tn__block_put(sums, bytes);
    return r;
}

/* Without: the order of p / e, e exponential (Efraimidis and Spirakis 2006: u^(1/p), in logarithms). Categories whose
 * probability is 0 come last. */
static tn_tensor *draw_once(tn_tensor *x, int64_t n)
{
    tn_tensor *score;
    if (tn__rng_is_mt(x->device)) { /* in the weights' dtype, as PyTorch */
        score = tn_exponential_(tn_empty(tn__shape_of(x), .dtype = x->dtype, .device = x->device), 1);
        score = tn_div(x, score);
    } else {
        tn_tensor *u = tn_rand(tn__shape_of(x), .dtype = TN_F64, .device = x->device);
        score = tn_div(tn_to(x, .dtype = TN_F64), tn_clamp_min(tn_neg(tn_log1p(tn_neg(u))), 1e-300));
    }
    if (n == 1)
        return tn_argmax(score, .dim = 1, .keepdim = true);
    tn_tensor *indices = NULL;
    return tn_topk(score, n, 1, .indices = &indices) ? indices : NULL;
}

/* Waits for the device: what is no distribution is an error at once, also on a GPU. The sum of a row of no negative numbers is
 * above 0 where the largest is. */
static bool is_distribution(tn_tensor *x)
{
    tn_tensor *largest = tn_amax(x, .dim = 1), *high = tn_amax(largest), *low = tn_amin(x);
    if (!high || !low)
        return false;
    if (!(isfinite(tn_item(high)) && tn_item(low) >= 0)) {
        tn__error(TN_EINVAL, "probability tensor contains either `inf`, `nan` or element < 0");
        return false;
    }
    tn_tensor *least = tn_amin(largest);
    if (!least)
        return false;
    const bool some = tn_item(least) > 0;
    if (!some)
        tn__error(TN_EINVAL, "invalid multinomial distribution (sum of probabilities <= 0)");
    return some;
}

static tn_tensor *multinomial(tn_tensor *x, int64_t n, bool replacement)
{
    tn__thread *self = tn__self();
    const bool flat = x->ndim == 1;
    tn_tensor *weights = flat ? tn_unsqueeze(tn_detach(x), 0) : tn_detach(x);
    if (!weights)
        return NULL;
    if (weights->shape[0] == 0)
        return tn_empty(TN_SHAPE(0, n), .dtype = TN_I64, .device = x->device);
    if (!is_distribution(weights))
        return NULL;
    const bool mt = tn__rng_is_mt(x->device);
    tn_tensor *r = !replacement || (mt && n == 1) ? draw_once(weights, n)
                   : mt                           ? draw_again_mt(weights, n)
                                                  : draw_again(self, tn_cumsum(tn_to(weights, .dtype = TN_F64), 1), n);
    return tn_detach(flat ? tn_squeeze(r, .dim = 0) : r); /* no view of what nobody has */
}

static const char *why_not(const tn_tensor *x, int64_t n, bool replacement)
{
    if (x->ndim < 1 || x->ndim > 2)
        return "prob_dist must be 1 or 2 dim";
    const int64_t categories = x->shape[x->ndim - 1];
    if (n <= 0)
        return "cannot sample n_sample <= 0 samples";
    if (!replacement && n > categories)
        return "cannot sample n_sample > prob_dist.size(-1) samples without replacement";
    return categories ? NULL : "invalid multinomial distribution (sum of probabilities <= 0)";
}

tn_tensor *tn__fn_multinomial(tn_tensor *x, int64_t num_samples, bool replacement)
{
    if (!tn__usable("multinomial", x))
        return NULL;
    const char *why = why_not(x, num_samples, replacement);
    if (why)
        return tn__fail(TN_EINVAL, "%s", why);
    if (!tn__dtype_is_float(x->dtype))
        return tn__fail(TN_EINVAL, "multinomial only supports floating-point dtypes for input, got: %s",
                        tn__dtypes[x->dtype].legacy);
    const bool was = tn__set_no_grad(true);
    tn_tensor *r = multinomial(x, num_samples, replacement);
    tn__set_no_grad(was);
    return r;
}
