/* How gamma and beta numbers move with their parameters: minus the derivative of the distribution function by the parameter,
 * divided by the density (Figurnov, Mohamed and Mnih, NeurIPS 2018). The derivative is an integral over the side of the number
 * that has less to cancel; it is summed at 61 points of a double exponential rule (Takahasi and Mori 1974), which leaves an error
 * below 1e-6. */
#include "backend/cpu/cpu.h"
#include "core/parallel.h"
#include <math.h>

enum { POINTS = 61 };

/* Point i of (0, infinity), and its weight */
static double point(int i, double *weight)
{
    const double t = 0.25 * i - 3, e = exp(-t), s = exp(t - e);
    *weight = 0.25 * (1 + e) * s;
    return s;
}

/* digamma(x) for x > 0: up to 8 by its recurrence, from there Stirling's series */
static double psi(double x)
{
    double r = 0;
    for (; x < 8; x += 1)
        r -= 1 / x;
    const double z = 1 / (x * x);
    return r + log(x) - 0.5 / x -
           z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132)))));
}

/* Below the mean numbers are x exp(-s / shape), above it x + s. */
static double gamma_slope(double shape, double x)
{
    if (!(shape > 0 && x > 0 && shape < INFINITY && x < INFINITY))
        return 0;
    const double c = psi(shape), log_x = log(x);
    double sum = 0, weight;
    for (int i = 0; i < POINTS; i++) {
        const double s = point(i, &weight);
        sum += weight * (x < shape ? -x / shape * exp(-s - x * expm1(-s / shape)) * (log_x - s / shape - c)
                                   : exp(-s + (shape - 1) * log1p(s / x)) * (log(x + s) - c));
    }
    return sum;
}

/* Divided by 1 - x, as PyTorch's is: of a part x of a whole the others share the rest. */
static double beta_slope(double x, double alpha, double total)
{
    const double beta = total - alpha, y = 1 - x;
    if (!(alpha > 0 && beta > 0 && x > 0 && y > 0 && total < INFINITY))
        return 0;
    const double c = psi(alpha) - psi(total), log_x = log(x), log_y = log1p(-x);
    double sum = 0, weight;
    for (int i = 0; i < POINTS; i++) {
        const double s = point(i, &weight);
        if (x * total < alpha) {
            const double t = x * exp(-s / alpha);
            sum -= weight * x / alpha * exp(-s + (beta - 1) * (log1p(-t) - log_y)) * (log_x - s / alpha - c);
        } else {
            const double log_rest = log1p(-y * exp(-s / beta));
            sum += weight * y / beta * exp(-s + (alpha - 1) * (log_rest - log_x)) * (log_rest - c);
        }
    }
    return sum / y;
}

static void slope_chunk(const tn__launch *l, int n_in, int64_t begin, int64_t end)
{
    const tn__view *out = &l->out[0];
    double in[3][TN__BLOCK], r[TN__BLOCK];
    tn__strided_dims d[3], od;
    for (int k = 0; k < n_in; k++)
        tn__dims_in_order(&d[k], &l->in[k]);
    tn__dims_in_order(&od, out);
    for (int64_t i = begin; i < end; i += TN__BLOCK) {
        const int64_t m = TN_MIN(TN__BLOCK, end - i);
        for (int k = 0; k < n_in; k++)
            tn__load_strided(in[k], TN__F64, l->in[k].dtype, l->in[k].data, &d[k], i, m);
        for (int64_t k = 0; k < m; k++)
            r[k] = n_in == 2 ? gamma_slope(in[0][k], in[1][k]) : beta_slope(in[0][k], in[1][k], in[2][k]);
        tn__store_strided(out->data, out->dtype, &od, i, r, TN__F64, m);
    }
}

static void gamma_chunk(void *ctx, int64_t begin, int64_t end)
{
    slope_chunk(ctx, 2, begin, end);
}

static void beta_chunk(void *ctx, int64_t begin, int64_t end)
{
    slope_chunk(ctx, 3, begin, end);
}

tn_status tn__cpu_gamma_slope(const tn__launch *l)
{
    tn__parallel_for(l->out[0].numel, 64, gamma_chunk, (void *)(uintptr_t)l);
    return TN_OK;
}

tn_status tn__cpu_beta_slope(const tn__launch *l)
{
    tn__parallel_for(l->out[0].numel, 64, beta_chunk, (void *)(uintptr_t)l);
    return TN_OK;
}
