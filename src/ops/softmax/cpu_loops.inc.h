/* ops/softmax/cpu_loops.inc.h: one row of softmax or its logarithm, and of their gradients. */
#define LOOPS_softmax \
    { \
        .row = TWO(softmax_row), .row_backward = TWO(softmax_row_backward), .lines = TWO(softmax_lines), \
        .lines_backward = TWO(softmax_lines_backward), .sum_exp = TWO(sum_exp), .columns = softmax_columns_f32, \
        .columns_backward = softmax_columns_backward_f32, .bfloats = softmax_bfloats, \
        .bfloats_backward = softmax_bfloats_backward \
    }

#if TN_IS_FLOAT

/* ops/reduce/cpu_loops.inc.h */
static double E(run_sum)(const void *x, int64_t n);
static double E(run_max)(const void *x, int64_t n);

/* out = e^(x - m); returns the sum. Sixty-four running sums, so that neither order nor result depends on vectors. Rows
 * mostly lie one after another, and no hardware looks ahead beyond a page: the lines 'ahead' elements on are asked for. */
static double E(exp_row)(T *out, const T *x, int64_t n, T m, int64_t ahead)
{
    T sum[64];
    int64_t i = 0;
    if (n >= 64)
        memset(sum, 0, sizeof sum);
    for (; i + 64 <= n; i += 64) {
        for (int k = 0; k < 64; k += 64 / (int)sizeof(T)) {
            __builtin_prefetch(x + i + k + ahead);
            __builtin_prefetch(out + i + k + ahead, 1);
        }
        for (int k = 0; k < 64; k++) {
            T e = M(exp_down)(x[i + k] - m);
            out[i + k] = e;
            sum[k] += e;
        }
    }
    double total = i ? E(run_sum)(sum, 64) : 0;
    for (int64_t k = i; k < n; k++)
        out[k] = M(exp_down)(x[k] - m);
    for (; i < n; i++)
        total += (double)out[i];
    return total;
}

static double E(sum_exp)(const void *x_, int64_t n, double m)
{
    T block[1024];
    const T *x = x_;
    double sum = 0;
    for (int64_t i = 0; i < n; i += 1024)
        sum += E(exp_row)(block, x + i, n - i < 1024 ? n - i : 1024, (T)m, 0);
    return sum;
}

static void E(softmax_row)(void *out_, const void *x_, int64_t n, bool logarithm)
{
    enum { PIECE = 2048 }; /* few enough terms for each running sum, in L1 */
    T *out = out_, block[PIECE];
    const T *x = x_;
    T m = (T)E(run_max)(x, n); /* of an infinite row: inf - inf is NaN below, as in PyTorch */
    double sum = 0;
    for (int64_t i = 0; i < n; i += PIECE)
        sum += E(exp_row)(logarithm ? block : out + i, x + i, n - i < PIECE ? n - i : PIECE, m, logarithm ? 0 : n);
    if (logarithm) {
        T shift = (T)log(sum);
        for (int64_t i = 0; i < n; i++)
            out[i] = x[i] - m - shift;
        return;
    }
    T scale = (T)(1 / sum);
    for (int64_t i = 0; i < n; i++)
        out[i] *= scale;
}

/* softmax: y * (g - sum(g * y)); logarithm: g - exp(y) * sum(g) */
static void E(softmax_row_backward)(void *out_, const void *g_, const void *y_, int64_t n, bool logarithm)
{
    T *out = out_, block[256];
    const T *g = g_, *y = y_;
    if (logarithm) {
        T sum = (T)E(run_sum)(g, n);
        for (int64_t i = 0; i < n; i++)
            out[i] = g[i] - M(exp)(y[i]) * sum;
        return;
    }
    double dot = 0;
    for (int64_t i = 0; i < n; i += 256) {
        int64_t len = n - i < 256 ? n - i : 256;
        for (int64_t j = 0; j < len; j++)
            block[j] = g[i + j] * y[i + j];
        dot += E(run_sum)(block, len);
    }
    T d = (T)dot;
    for (int64_t i = 0; i < n; i++)
        out[i] = y[i] * (g[i] - d);
}

/* ---- rows side by side: n lines, of which a strip is computed at a time ---- */

enum {
    E(SOFT_STRIP) = 64,
    E(SOFT_TERMS) = 8
}; /* elements of a strip; terms of a sum before it is added to the others */

/* The last strip may be a part of one. */
#define EACH_OF_STRIP(w) for (int w = 0; w < m; w++)

static inline __attribute__((always_inline)) void E(softmax_strip)(T *out, const T *x, int64_t n, int64_t width, int m,
                                                                   bool logarithm)
{
    T most[E(SOFT_STRIP)], sum[E(SOFT_STRIP)], some[E(SOFT_STRIP)];
    EACH_OF_STRIP(w) most[w] = x[w], sum[w] = 0;
    for (int64_t k = 1; k < n; k++)
        EACH_OF_STRIP(w)
        {
            const T v = x[k * width + w];
            most[w] = ((v > most[w]) | (v != v)) ? v : most[w];
        }
    for (int64_t k = 0; k < n;) {
        EACH_OF_STRIP(w) some[w] = 0;
        for (int t = 0; t < E(SOFT_TERMS) && k < n; t++, k++)
            EACH_OF_STRIP(w)
            {
                const T e = M(exp_down)(x[k * width + w] - most[w]);
                out[k * width + w] = e;
                some[w] += e;
            }
        EACH_OF_STRIP(w) sum[w] += some[w];
    }
    if (logarithm)
        EACH_OF_STRIP(w) sum[w] = M(log)(sum[w]);
    else
        EACH_OF_STRIP(w) sum[w] = 1 / sum[w];
    for (int64_t k = 0; k < n; k++)
        if (logarithm)
            EACH_OF_STRIP(w) out[k * width + w] = x[k * width + w] - most[w] - sum[w];
        else
            EACH_OF_STRIP(w) out[k * width + w] *= sum[w];
}

static inline __attribute__((always_inline)) void E(softmax_strip_backward)(T *out, const T *g, const T *y, int64_t n,
                                                                            int64_t width, int m, bool logarithm)
{
    T sum[E(SOFT_STRIP)], some[E(SOFT_STRIP)];
    EACH_OF_STRIP(w) sum[w] = 0;
    for (int64_t k = 0; k < n;) {
        EACH_OF_STRIP(w) some[w] = 0;
        for (int t = 0; t < E(SOFT_TERMS) && k < n; t++, k++)
            if (logarithm)
                EACH_OF_STRIP(w) some[w] += g[k * width + w];
            else
                EACH_OF_STRIP(w) some[w] += g[k * width + w] * y[k * width + w];
        EACH_OF_STRIP(w) sum[w] += some[w];
    }
    for (int64_t k = 0; k < n; k++)
        if (logarithm)
            EACH_OF_STRIP(w) out[k * width + w] = g[k * width + w] - M(exp)(y[k * width + w]) * sum[w];
        else
            EACH_OF_STRIP(w) out[k * width + w] = y[k * width + w] * (g[k * width + w] - sum[w]);
}
#undef EACH_OF_STRIP

static void E(softmax_lines)(void *out, const void *x, int64_t n, int64_t width, bool logarithm)
{
    int64_t w = 0;
    for (; w + (int)E(SOFT_STRIP) <= width; w += (int)E(SOFT_STRIP))
        E(softmax_strip)((T *)out + w, (const T *)x + w, n, width, E(SOFT_STRIP), logarithm);
    if (w < width)
        E(softmax_strip)((T *)out + w, (const T *)x + w, n, width, (int)(width - w), logarithm);
}

static void E(softmax_lines_backward)(void *out, const void *g, const void *y, int64_t n, int64_t width, bool logarithm)
{
    int64_t w = 0;
    for (; w + (int)E(SOFT_STRIP) <= width; w += (int)E(SOFT_STRIP))
        E(softmax_strip_backward)((T *)out + w, (const T *)g + w, (const T *)y + w, n, width, E(SOFT_STRIP), logarithm);
    if (w < width)
        E(softmax_strip_backward)
    ((T *)out + w, (const T *)g + w, (const T *)y + w, n, width, (int)(width - w), logarithm);
}

#if TN_IS_F32 /* of doubles it would take twice the calls of exp */
#include "ops/softmax/cpu_bfloats.inc.h"
#include "ops/softmax/cpu_columns.inc.h"
#endif

#endif
