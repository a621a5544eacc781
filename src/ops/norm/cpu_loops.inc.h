/* ops/norm/cpu_loops.inc.h: one row brought to a scale, and its gradient. A row is read again where it is in a cache. */
#define LOOPS_norm \
    { \
        .row = TWO(standardize_row), .row_backward = TWO(standardize_row_backward), \
        .gradients = TWO(standardize_gradients), .columns = TWO(standardize_columns), \
        .columns_backward = TWO(standardize_columns_backward) \
    }

#if TN_IS_FLOAT

/* ops/reduce/cpu_loops.inc.h */
static double E(run_sum)(const void *x, int64_t n);

/* What is subtracted, and what the rest is multiplied with. fixed: the scale is not the row's own, but 1 / eps. */
typedef struct E(rowscale) {
    T mean, scale;
    bool fixed;
} E(rowscale);

#if TN_IS_F32
#define NORM_REG  rf32
#define NORM_UREG uf32
#else
#define NORM_REG  rf64
#define NORM_UREG uf64
#endif
/* Elements of a register, of four times 64 bytes, and of as many of those as are added up before they count in double. */
enum { E(NORM_STEP) = TN_REGISTER / sizeof(T), E(NORM_WIDE) = 256 / sizeof(T), E(NORM_PIECE) = 4 * E(NORM_WIDE) };

/* Adds the registers of four times 64 bytes to the lanes of sums in double: in the same order for every instruction set. */
static inline __attribute__((always_inline)) void E(add_registers)(double *lane, const NORM_REG *a)
{
    T part[64 / sizeof(T)];
    TN_UNROLL
    for (int k = 0; k < TN_PARTS; k++)
        *(NORM_UREG *)(part + k * E(NORM_STEP)) =
            (a[k] + a[k + TN_PARTS]) + (a[k + 2 * TN_PARTS] + a[k + 3 * TN_PARTS]);
    for (size_t j = 0; j < 64 / sizeof(T); j++)
        lane[j] += (double)part[j];
}

static inline double E(sum_of_lanes)(const double *lane)
{
    double sum = 0;
    for (size_t j = 0; j < 64 / sizeof(T); j++)
        sum += lane[j];
    return sum;
}

/* The sum of (x - mean)^2 of a few. */
static inline double E(few_squares)(const T *x, int64_t n, T mean)
{
    double sum[4] = {0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++)
            sum[k] += (double)((x[i + k] - mean) * (x[i + k] - mean));
    for (; i < n; i++)
        sum[0] += (double)((x[i] - mean) * (x[i] - mean));
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The same of any number. What lies behind the row is asked for, which is often the next one. */
static double E(squares_around)(const T *x, int64_t n, T mean)
{
    if (n < E(NORM_WIDE))
        return E(few_squares)(x, n, mean);
    const size_t behind = (size_t)n * sizeof(T);
    double lane[64 / sizeof(T)] = {0};
    for (; n >= E(NORM_WIDE);) {
        const int64_t m = n < E(NORM_PIECE) ? n - n % E(NORM_WIDE) : E(NORM_PIECE);
        NORM_REG a[4 * TN_PARTS];
        TN_UNROLL
        for (int k = 0; k < 4 * TN_PARTS; k++)
            a[k] = (NORM_REG){0};
        for (int64_t i = 0; i < m; i += E(NORM_WIDE)) {
            TN_UNROLL
            for (int k = 0; k < 4 * TN_PARTS; k++) {
                const NORM_REG v = *(const NORM_UREG *)(x + i + k * E(NORM_STEP)) - mean;
                if (k % TN_PARTS == 0)
                    __builtin_prefetch((const char *)(x + i + k * E(NORM_STEP)) + behind);
                a[k] += v * v;
            }
        }
        E(add_registers)(lane, a);
        x += m, n -= m;
    }
    return E(sum_of_lanes)(lane) + E(few_squares)(x, n, mean);
}

static E(rowscale) E(scale_of_row)(const T *x, int64_t n, int kind, double eps)
{
    const T mean = kind == TN__BY_VARIANCE ? (T)(E(run_sum)(x, n) / (double)n) : 0;
    const double sum = E(squares_around)(x, n, mean);
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

/* What a row's gradient loses: 'each' everywhere, 'along' times the standardized number. */
typedef struct E(rowloss) {
    T each, along;
} E(rowloss);

/* z: the row so scaled. By variance the gradient is scale * (g - mean(g) - z * mean(g * z)); around 0 without mean(g); by norm
 * with the sum of g * z in place of its mean, 0 where the scale is fixed. g: the gradient times the weight, where there is one
 * (weighted is a constant of the caller). */
static inline __attribute__((always_inline)) E(rowloss)
    E(losses_of)(const T *g, const T *x, const T *w, bool weighted, int64_t n, int kind, E(rowscale) s)
{
    double sums[64 / sizeof(T)] = {0}, dots[64 / sizeof(T)] = {0}, sum = 0, dot = 0;
    int64_t at = 0;
    while (n - at >= E(NORM_WIDE)) {
        const int64_t end = at + (n - at < E(NORM_PIECE) ? (n - at) - (n - at) % E(NORM_WIDE) : E(NORM_PIECE));
        NORM_REG a[4 * TN_PARTS], b[4 * TN_PARTS];
        TN_UNROLL
        for (int k = 0; k < 4 * TN_PARTS; k++)
            a[k] = b[k] = (NORM_REG){0};
        for (; at < end; at += E(NORM_WIDE)) {
            TN_UNROLL
            for (int k = 0; k < 4 * TN_PARTS; k++) {
                NORM_REG v = *(const NORM_UREG *)(g + at + k * E(NORM_STEP));
                if (weighted)
                    v *= *(const NORM_UREG *)(w + at + k * E(NORM_STEP));
                a[k] += v;
                b[k] += v * ((*(const NORM_UREG *)(x + at + k * E(NORM_STEP)) - s.mean) * s.scale);
            }
        }
        E(add_registers)(sums, a);
        E(add_registers)(dots, b);
    }
    for (; at < n; at++) {
        const T v = weighted ? g[at] * w[at] : g[at];
        sum += (double)v;
        dot += (double)(v * ((x[at] - s.mean) * s.scale));
    }
    if (n >= E(NORM_WIDE))
        sum += E(sum_of_lanes)(sums), dot += E(sum_of_lanes)(dots);
    sum = kind == TN__BY_VARIANCE ? sum : 0;
    dot = s.fixed ? 0 : dot;
    return (E(rowloss)){(T)(sum / (double)n), (T)(kind == TN__BY_NORM ? dot : dot / (double)n)};
}

static inline __attribute__((always_inline)) void E(standardize_back)(T *out, const T *g, const T *x, const T *w,
                                                                      bool weighted, int64_t n, int kind, E(rowscale) s)
{
    const E(rowloss) l = E(losses_of)(g, x, w, weighted, n, kind, s);
    for (int64_t i = 0; i < n; i++)
        out[i] = s.scale * ((weighted ? g[i] * w[i] : g[i]) - l.each - (x[i] - s.mean) * s.scale * l.along);
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

/* So many rows (a constant of the caller): their gradients, and theirs of the parameters, added up first: each of those is loaded
 * and stored for all of them once. */
static inline __attribute__((always_inline)) void E(gradients_of)(T *restrict out, const T *g, const T *x, const T *w,
                                                                  int64_t n, int rows, int kind, double eps,
                                                                  double *restrict of_weight, double *restrict of_bias)
{
    E(rowscale) s[4];
    E(rowloss) l[4];
    for (int r = 0; r < rows; r++) {
        s[r] = E(scale_of_row)(x + r * n, n, kind, eps);
        l[r] = E(losses_of)(g + r * n, x + r * n, w, true, n, kind, s[r]);
    }
    for (int64_t i = 0; i < n; i++) {
        T direct = 0, scaled = 0;
        TN_UNROLL
        for (int r = 0; r < rows; r++) {
            const T v = g[i + r * n], z = (x[i + r * n] - s[r].mean) * s[r].scale;
            direct += v;
            scaled += v * z;
            out[i + r * n] = s[r].scale * (v * w[i] - l[r].each - z * l[r].along);
        }
        of_weight[i] += (double)scaled;
        of_bias[i] += (double)direct;
    }
}

static void E(standardize_gradients)(const tn__norm_gradients *c)
{
    T *out = c->out;
    const T *g = c->g, *x = c->x, *w = c->weight;
    const int64_t n = c->n;
    int64_t r = 0;
    for (; r + 4 <= c->rows; r += 4)
        E(gradients_of)(out + r * n, g + r * n, x + r * n, w, n, 4, c->kind, c->eps, c->of_weight, c->of_bias);
    for (; r < c->rows; r++)
        E(gradients_of)(out + r * n, g + r * n, x + r * n, w, n, 1, c->kind, c->eps, c->of_weight, c->of_bias);
}

#include "ops/norm/cpu_columns.inc.h"

#undef NORM_REG
#undef NORM_UREG

#endif
