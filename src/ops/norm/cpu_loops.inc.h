/* ops/norm/cpu_loops.inc.h: one row with mean 0 and variance 1, and its gradient. A row is read again where it is in a cache. */
#define LOOPS_norm \
    { \
        .row = TWO(standardize_row), .row_backward = TWO(standardize_row_backward) \
    }

#if TN_IS_FLOAT

/* ops/reduce/cpu_loops.inc.h */
static double E(run_sum)(const void *x, int64_t n);

/* 1 / sqrt(variance + eps), the mean being known */
static T E(norm_scale)(const T *x, int64_t n, T mean, double eps)
{
    T block[256];
    double sum = 0;
    for (int64_t i = 0; i < n; i += 256) {
        const int64_t len = n - i < 256 ? n - i : 256;
        for (int64_t j = 0; j < len; j++)
            block[j] = (x[i + j] - mean) * (x[i + j] - mean);
        sum += E(run_sum)(block, len);
    }
    return (T)(1 / sqrt(sum / (double)n + eps));
}

static void E(standardize_row)(void *out_, const void *x_, int64_t n, double eps)
{
    T *out = out_;
    const T *x = x_, mean = (T)(E(run_sum)(x, n) / (double)n), scale = E(norm_scale)(x, n, mean, eps);
    for (int64_t i = 0; i < n; i++)
        out[i] = (x[i] - mean) * scale;
}

/* z: the standardized row: scale * (g - mean(g) - z * mean(g * z)) */
static void E(standardize_row_backward)(void *out_, const void *g_, const void *x_, int64_t n, double eps)
{
    T *out = out_, block[256];
    const T *g = g_, *x = x_, mean = (T)(E(run_sum)(x, n) / (double)n), scale = E(norm_scale)(x, n, mean, eps);
    double dot = 0;
    for (int64_t i = 0; i < n; i += 256) {
        const int64_t len = n - i < 256 ? n - i : 256;
        for (int64_t j = 0; j < len; j++)
            block[j] = g[i + j] * ((x[i + j] - mean) * scale);
        dot += E(run_sum)(block, len);
    }
    const T each = (T)(E(run_sum)(g, n) / (double)n), along = (T)(dot / (double)n);
    for (int64_t i = 0; i < n; i++)
        out[i] = scale * (g[i] - each - (x[i] - mean) * scale * along);
}

#endif
