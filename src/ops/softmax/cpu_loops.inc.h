/* ops/softmax/cpu_loops.inc.h: one row of softmax or its logarithm, and of their gradients. */
#define LOOPS_softmax \
    { \
        .row = TWO(softmax_row), .row_backward = TWO(softmax_row_backward), .sum_exp = TWO(sum_exp) \
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

#endif
