/* ops/random/cpu_loops.inc.h: random numbers from Philox blocks, and from the words of MT19937.
 *
 * Bit-equal on every device and instruction set: only + - * / and sqrt, each correctly rounded, no contraction (the build
 * compiles this with contraction off). Number i of float comes from word i % 4 of block i / 4; number i of double from
 * words 2 * (i % 2) and 2 * (i % 2) + 1 of block i / 2. Normal numbers are Box and Muller's (Annals of Mathematical
 * Statistics 29, 1958), a pair from a pair of uniform ones. */
#include "core/mt19937.h"
#include "ops/random/cpu_philox.h"

#define LOOPS_random \
    { \
        .uniform = TWO(uniform), .normal = TWO(normal), .dropout = TWO(dropout), .mt_words = mt_words, \
        .mt_uniform = TWO(mt_uniform), .mt_normal = mt_normal, .gamma_slopes = gamma_slopes, \
        .beta_slopes = beta_slopes \
    }

#if TN_IS_FLOAT

#if TN_IS_F32

#include "ops/random/cpu_slopes.inc.h"

/* bits: of the mantissa, so that a narrower dtype holds each number exactly and none rounds up to 1. */
static void uniform_f32(void *out_, uint64_t seed, uint64_t first, int64_t n, int bits, double from, double to)
{
    float *out = out_, lo = (float)from, width = (float)to - (float)from;
    float scale = bits_f32((uint32_t)(127 - bits) << 23);
    uint32_t w[WORDS];
    int shift = 32 - bits;
    for (int64_t i = 0; i < n; i += WORDS, first += LANES) {
        int64_t m = n - i < WORDS ? n - i : WORDS;
        philox_words(seed, first, w);
        for (int64_t j = 0; j < m; j++)
            out[i + j] = (float)(int32_t)(w[j] >> shift) * scale * width + lo;
    }
}

/* log(x) for normal x > 0: fdlibm's e_logf.c reduction, its polynomial */
static inline float plain_log_f32(float x)
{
    uint32_t u = f32_bits(x) - 0x3f3504f3U;
    float e = (float)((int32_t)u >> 23), f = bits_f32((u & 0x007fffffU) + 0x3f3504f3U) - 1.0F;
    float s = f / (2.0F + f), z = s * s, w = z * z;
    float r = z * (0.66666662693F + w * 0.28498786688F) + w * (0.40000972152F + w * 0.24279078841F);
    float h = 0.5F * f * f;
    return e * 0.693359375F - ((h - (s * (h + r) + e * -2.12194440e-4F)) - f);
}

/* cos(2 pi t) for t in [0, 1]: to the nearest quarter turn, then sine or cosine of what is left */
static inline float turn_cos_f32(float t)
{
    int32_t q = (int32_t)(t * 4.0F + 0.5F);
    float r = (t - (float)q * 0.25F) * 6.2831853F, z = r * r;
    float s = ((2.7182373e-6F * z + -1.9839327e-4F) * z + 8.333329e-3F) * z + -1.6666667e-1F;
    s = s * z * r + r;
    float c = ((2.443773e-5F * z + -1.3887362e-3F) * z + 4.1666646e-2F) * (z * z) + (1.0F - 0.5F * z);
    float y = q & 1 ? s : c;
    return ((q + 1) & 2) ? -y : y;
}

static void normal_f32(void *out_, uint64_t seed, uint64_t first, int64_t n, double mean, double std)
{
    float *out = out_, mu = (float)mean, sigma = (float)std, z[WORDS];
    uint32_t w[WORDS];
    for (int64_t i = 0; i < n; i += WORDS, first += LANES) {
        int64_t m = n - i < WORDS ? n - i : WORDS;
        philox_words(seed, first, w);
        for (int j = 0; j < WORDS; j++) { /* even j: cosine of the pair; odd j: its sine, three quarters of a turn on */
            float u = (float)(int32_t)(w[j & ~1] >> 8) * 5.9604644775390625e-8F + 2.98023223876953125e-8F;
            float t = (float)(int32_t)(w[j | 1] >> 8) * 5.9604644775390625e-8F + (j & 1 ? 0.75F : 0.0F);
            t = t >= 1.0F ? t - 1.0F : t;
            z[j] = sqrtf(-2.0F * plain_log_f32(u)) * turn_cos_f32(t) * sigma + mu;
        }
        memcpy(out + i, z, sizeof *z * (size_t)m);
    }
}

/* ---- MT19937 ---- */

static void mt_words(tn_mt19937 *g, uint32_t *out, int64_t n)
{
    for (int64_t i = 0; i < n;) {
        if (g->left <= 1)
            tn__mt_refill(g);
        const int64_t m = n - i < g->left - 1 ? n - i : g->left - 1;
        const uint32_t *s = g->state + g->next;
        for (int64_t j = 0; j < m; j++)
            out[i + j] = tn__mt_temper(s[j]);
        g->next += (uint32_t)m;
        g->left -= (int32_t)m;
        i += m;
    }
}

static void mt_uniform_f32(void *out_, const uint32_t *words, int64_t n, double from, double to)
{
    float *out = out_, lo = (float)from, width = (float)to - (float)from;
    if (lo == 0 && width == 1)
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)(int32_t)(words[i] & 0xffffffU) * 5.9604644775390625e-8F;
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = fmaf((float)(int32_t)(words[i] & 0xffffffU) * 5.9604644775390625e-8F, width, lo);
}

/* Cephes' logf and sinf (Moshier 1989), each product and sum rounded once: so PyTorch computes them, bit by bit */
static inline float mt_log(float x)
{
    uint32_t u = f32_bits(x);
    float e = (float)((int32_t)(u >> 23) - 126), m = bits_f32((u & 0x007fffffU) | 0x3f000000U);
    const bool low = m < 0.707106781186547524F;
    e = low ? e - 1.0F : e;
    float f = m - 1.0F;
    f = low ? f + m : f;
    float z = f * f, y = fmaf(7.0376836292e-2F, f, -1.1514610310e-1F);
    y = fmaf(y, f, 1.1676998740e-1F);
    y = fmaf(y, f, -1.2420140846e-1F);
    y = fmaf(y, f, 1.4249322787e-1F);
    y = fmaf(y, f, -1.6668057665e-1F);
    y = fmaf(y, f, 2.0000714765e-1F);
    y = fmaf(y, f, -2.4999993993e-1F);
    y = fmaf(y, f, 3.3333331174e-1F);
    y = fmaf(-z, 0.5F, fmaf(y * f, z, e * -2.12194440e-4F));
    return fmaf(e, 0.693359375F, f + y);
}

/* Sixteen uniform numbers become eight cosines and their eight sines. */
static void mt_normal(float *data, int64_t n, float mean, float std)
{
    for (int64_t i = 0; i < n; i += 16)
        for (int j = 0; j < 8; j++) {
            float *a = data + i + j, *b = a + 8;
            float r = sqrtf(-2.0F * mt_log(1.0F - *a)), x = 6.283185307179586F * *b;
            int32_t q = ((int32_t)(x * 1.27323954473516F) + 1) & ~1; /* octants, to the even one */
            float k = (float)q, t = fmaf(k, -0.78515625F, x);
            t = fmaf(k, -3.77489497744594108e-8F, fmaf(k, -2.4187564849853515625e-4F, t));
            float z = t * t;
            float c = fmaf(fmaf(2.443315711809948e-5F, z, -1.388731625493765e-3F), z, 4.166664568298827e-2F) * z;
            c = fmaf(c, z, -(z * 0.5F)) + 1.0F;
            float s = fmaf(fmaf(-1.9515295891e-4F, z, 8.3321608736e-3F), z, -1.6666654611e-1F) * z;
            s = fmaf(s, t, t);
            float cosine = q & 2 ? s : c, sine = q & 2 ? c : s;
            cosine = (q + 2) & 4 ? -cosine : cosine;
            sine = q & 4 ? -sine : sine;
            *a = fmaf(r * cosine, std, mean);
            *b = fmaf(r * sine, std, mean);
        }
}

#else

static void mt_uniform_f64(void *out_, const uint32_t *words, int64_t n, double from, double to)
{
    double *out = out_, width = to - from;
    for (int64_t i = 0; i < n; i++) {
        uint64_t u = (uint64_t)(words[2 * i] & 0x1fffffU) << 32 | words[2 * i + 1];
        out[i] = (double)(int64_t)u * 1.1102230246251565e-16;
    }
    for (int64_t i = 0; (width != 1 || from != 0) && i < n; i++)
        out[i] = fma(out[i], width, from);
}

static void uniform_f64(void *out_, uint64_t seed, uint64_t first, int64_t n, int bits, double from, double to)
{
    double *out = out_, width = to - from;
    uint32_t w[WORDS];
    (void)bits;
    for (int64_t i = 0; i < n; i += WORDS / 2, first += LANES) {
        int64_t m = n - i < WORDS / 2 ? n - i : WORDS / 2;
        philox_words(seed, first, w);
        for (int64_t j = 0; j < m; j++)
            out[i + j] = words_f64(w + 2 * j) * width + from;
    }
}

/* log(x) for normal x > 0: fdlibm's e_log.c */
static inline double plain_log_f64(double x)
{
    uint64_t u;
    memcpy(&u, &x, 8);
    u -= 0x3fe6a09e667f3bcdU;
    double e = (double)((int64_t)u >> 52), m;
    u = (u & 0x000fffffffffffffU) + 0x3fe6a09e667f3bcdU;
    memcpy(&m, &u, 8);
    double f = m - 1.0, s = f / (2.0 + f), z = s * s, w = z * z;
    double t1 = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    double t2 = z * (6.666666666666735130e-01 +
                     w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    double h = 0.5 * f * f;
    return e * 6.93147180369123816490e-01 - ((h - (s * (h + (t1 + t2)) + e * 1.90821492927058770002e-10)) - f);
}

/* fdlibm's k_sin.c and k_cos.c, without the tail */
static inline double turn_cos_f64(double t)
{
    int32_t q = (int32_t)(t * 4.0 + 0.5);
    double r = (t - (double)q * 0.25) * 6.283185307179586, z = r * r;
    double s = 2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10);
    s = -1.66666666666666324348e-01 + z * (8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * s));
    s = r + z * r * s;
    double c = -2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11);
    c = 4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * c));
    c = 1.0 - (0.5 * z - z * z * c);
    double y = q & 1 ? s : c;
    return ((q + 1) & 2) ? -y : y;
}

static void normal_f64(void *out_, uint64_t seed, uint64_t first, int64_t n, double mean, double std)
{
    double *out = out_, z[WORDS / 2];
    uint32_t w[WORDS];
    for (int64_t i = 0; i < n; i += WORDS / 2, first += LANES) {
        int64_t m = n - i < WORDS / 2 ? n - i : WORDS / 2;
        philox_words(seed, first, w);
        for (int j = 0; j < WORDS / 2; j++) {
            double u = words_f64(w + 4 * (j / 2)) + 5.551115123125783e-17;
            double t = words_f64(w + 4 * (j / 2) + 2) + (j & 1 ? 0.75 : 0.0);
            t = t >= 1.0 ? t - 1.0 : t;
            z[j] = sqrt(-2.0 * plain_log_f64(u)) * turn_cos_f64(t) * std + mean;
        }
        memcpy(out + i, z, sizeof *z * (size_t)m);
    }
}

#endif

/* Element i stays where word i % 4 of block i / 4 is at least p * 2^32. */
static void E(dropout)(void *out_, const void *x_, uint64_t seed, uint64_t first, int64_t n, double p)
{
    T *out = out_;
    const T *x = x_;
    T scale = (T)(p < 1 ? 1 / (1 - p) : 0);
    uint32_t w[WORDS];
    uint64_t threshold = (uint64_t)(p * 4294967296.0);
    for (int64_t i = 0; i < n; i += WORDS, first += LANES) {
        int64_t m = n - i < WORDS ? n - i : WORDS;
        philox_words(seed, first, w);
        for (int64_t j = 0; j < m; j++)
            out[i + j] = x[i + j] * (w[j] >= threshold ? scale : (T)0);
    }
}

#endif
