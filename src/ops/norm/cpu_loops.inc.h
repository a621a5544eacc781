/* ops/norm/cpu_loops.inc.h: one row brought to a scale, and its gradient. A row is read again where it is in a cache. */
#define LOOPS_norm \
    { \
        .row = TWO(standardize_row), .row_backward = TWO(standardize_row_backward), \
        .columns = TWO(standardize_columns), .columns_backward = TWO(standardize_columns_backward) \
    }

#if TN_IS_FLOAT

/* ops/reduce/cpu_loops.inc.h */
static double E(run_sum)(const void *x, int64_t n);

/* What is subtracted, and what the rest is multiplied with. fixed: the scale is not the row's own, but 1 / eps. */
typedef struct E(rowscale) {
    T mean, scale;
    bool fixed;
} E(rowscale);

static E(rowscale) E(scale_of_row)(const T *x, int64_t n, int kind, double eps)
{
    T block[256], mean = kind == TN__BY_VARIANCE ? (T)(E(run_sum)(x, n) / (double)n) : 0;
    double sum = 0;
    for (int64_t i = 0; i < n; i += 256) {
        const int64_t len = n - i < 256 ? n - i : 256;
        for (int64_t j = 0; j < len; j++)
            block[j] = (x[i + j] - mean) * (x[i + j] - mean);
        sum += E(run_sum)(block, len);
    }
    if (kind == TN__BY_NORM)
        return (E(rowscale)){0, (T)(1 / (sqrt(sum) < eps ? eps : sqrt(sum))), sqrt(sum) < eps};
    return (E(rowscale)){mean, (T)(1 / sqrt(sum / (double)n + eps)), false};
}

static void E(standardize_row)(void *out_, const void *x_, const void *weight, const void *bias, int64_t n, int kind,
                               double eps)
{
    T *out = out_;
    const T *x = x_, *w = weight, *b = bias;
    const E(rowscale) s = E(scale_of_row)(x, n, kind, eps);
    if (b)
        for (int64_t i = 0; i < n; i++)
            out[i] = (x[i] - s.mean) * s.scale * w[i] + b[i];
    else if (w)
        for (int64_t i = 0; i < n; i++)
            out[i] = (x[i] - s.mean) * s.scale * w[i];
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = (x[i] - s.mean) * s.scale;
}

/* z: the row so scaled. By variance: scale * (g - mean(g) - z * mean(g * z)); around 0 without mean(g); by norm with the sum of
 * g * z in place of its mean, 0 where the scale is fixed. g: the gradient times the weight, where there is one (weighted is a
 * constant of the caller). */
static inline __attribute__((always_inline)) void E(standardize_back)(T *out, const T *g, const T *x, const T *w,
                                                                      bool weighted, int64_t n, int kind, E(rowscale) s)
{
    T block[256], direct[256];
    double dot = 0, sum = 0;
    for (int64_t i = 0; i < n; i += 256) {
        const int64_t len = n - i < 256 ? n - i : 256;
        for (int64_t j = 0; j < len; j++) {
            direct[j] = weighted ? g[i + j] * w[i + j] : g[i + j];
            block[j] = direct[j] * ((x[i + j] - s.mean) * s.scale);
        }
        dot += s.fixed ? 0 : E(run_sum)(block, len);
        sum += kind == TN__BY_VARIANCE ? E(run_sum)(direct, len) : 0;
    }
    const T each = (T)(sum / (double)n), along = (T)(kind == TN__BY_NORM ? dot : dot / (double)n);
    for (int64_t i = 0; i < n; i++)
        out[i] = s.scale * ((weighted ? g[i] * w[i] : g[i]) - each - (x[i] - s.mean) * s.scale * along);
}

static void E(standardize_row_backward)(void *out, const void *g, const void *x, const void *weight, int64_t n,
                                        int kind, double eps)
{
    const E(rowscale) s = E(scale_of_row)(x, n, kind, eps);
    if (weight)
        E(standardize_back)(out, g, x, weight, true, n, kind, s);
    else
        E(standardize_back)(out, g, x, NULL, false, n, kind, s);
}

#include "ops/norm/cpu_columns.inc.h"

#endif
