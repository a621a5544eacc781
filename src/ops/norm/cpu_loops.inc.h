/* ops/norm/cpu_loops.inc.h: one row brought to a scale, and its gradient. A row is read again where it is in a cache. */
#define LOOPS_norm \
    { \
        .row = TWO(standardize_row), .row_backward = TWO(standardize_row_backward) \
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

static void E(standardize_row)(void *out_, const void *x_, int64_t n, int kind, double eps)
{
    T *out = out_;
    const T *x = x_;
    const E(rowscale) s = E(scale_of_row)(x, n, kind, eps);
    for (int64_t i = 0; i < n; i++)
        out[i] = (x[i] - s.mean) * s.scale;
}

/* z: the row so scaled. By variance: scale * (g - mean(g) - z * mean(g * z)); around 0 without mean(g); by norm with the sum of
 * g * z in place of its mean, 0 where the scale is fixed. */
static void E(standardize_row_backward)(void *out_, const void *g_, const void *x_, int64_t n, int kind, double eps)
{
    T *out = out_, block[256];
    const T *g = g_, *x = x_;
    const E(rowscale) s = E(scale_of_row)(x, n, kind, eps);
    double dot = 0;
    for (int64_t i = 0; i < n && !s.fixed; i += 256) {
        const int64_t len = n - i < 256 ? n - i : 256;
        for (int64_t j = 0; j < len; j++)
            block[j] = g[i + j] * ((x[i + j] - s.mean) * s.scale);
        dot += E(run_sum)(block, len);
    }
    const T each = kind == TN__BY_VARIANCE ? (T)(E(run_sum)(g, n) / (double)n) : 0;
    const T along = (T)(kind == TN__BY_NORM ? dot : dot / (double)n);
    for (int64_t i = 0; i < n; i++)
        out[i] = s.scale * (g[i] - each - (x[i] - s.mean) * s.scale * along);
}

#endif
