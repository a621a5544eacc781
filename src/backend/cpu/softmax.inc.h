/* backend/cpu/softmax.inc.h: one row of softmax or its logarithm, and of their gradients; floats only. */

static void E(softmax_row)(void *out_, const void *x_, int64_t n, bool logarithm)
{
    T *out = out_;
    const T *x = x_;
    T m = (T)E(run_max)(x, n); /* of an infinite row: inf - inf is NaN below, as in PyTorch */
    if (!logarithm) {
        for (int64_t i = 0; i < n; i++)
            out[i] = M(exp)(x[i] - m);
        T scale = (T)(1 / E(run_sum)(out, n));
        for (int64_t i = 0; i < n; i++)
            out[i] *= scale;
        return;
    }
    double sum = 0;
    T block[256];
    for (int64_t i = 0; i < n; i += 256) {
        int64_t len = n - i < 256 ? n - i : 256;
        for (int64_t j = 0; j < len; j++)
            block[j] = M(exp)(x[i + j] - m);
        sum += E(run_sum)(block, len);
    }
    T shift = (T)log(sum);
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] - m - shift;
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
