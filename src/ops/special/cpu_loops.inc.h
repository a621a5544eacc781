/* ops/special/cpu_loops.inc.h: what stands in the table in place of rows' own loops. */

#if TN_IS_F32

enum { POLY_MOST = 20, POLY_MANY = 128, POLY_BELOW = 6 };

/* to[i] = from[i]^power, power >= 1 */
static void powers_of(double *to, const double *from, int power, int64_t n)
{
    memcpy(to, from, (size_t)n * sizeof *to);
    for (int k = 1; k < power; k++)
        for (int64_t i = 0; i < n; i++)
            to[i] *= from[i];
}

/* Hurwitz' zeta of one whole s for numbers above -POLY_BELOW that are no poles: tn_zeta_sum, with as many terms for all. */
static void zeta_of_whole(double *sum, double *q, int s, int64_t n)
{
    const double x = (double)s;
    double r[POLY_MANY], p[POLY_MANY];
    for (int64_t i = 0; i < n; i++)
        sum[i] = 0;
    for (int k = 0; k < 4 + s + POLY_BELOW; k++) {
        for (int64_t i = 0; i < n; i++) {
            r[i] = 1.0 / q[i];
            q[i] += 1.0;
        }
        powers_of(p, r, s, n);
        for (int64_t i = 0; i < n; i++)
            sum[i] += p[i];
    }
    for (int64_t i = 0; i < n; i++)
        r[i] = 1.0 / q[i];
    powers_of(p, r, s - 1, n);
    for (int64_t i = 0; i < n; i++) {
        const double v = r[i] * r[i];
        double z = 1.0 - (x + 11.0) * (x + 12.0) * v * 0.025330967205748023;
        z = 1.0 - (x + 9.0) * (x + 10.0) * v * 0.025311355311355311 * z;
        z = 1.0 - (x + 7.0) * (x + 8.0) * v * 0.025252525252525253 * z;
        z = 1.0 - (x + 5.0) * (x + 6.0) * v * 0.025 * z;
        z = 1.0 - (x + 3.0) * (x + 4.0) * v * 0.023809523809523810 * z;
        z = 1.0 - (x + 1.0) * (x + 2.0) * v * 0.016666666666666667 * z;
        sum[i] += p[i] * (1.0 / (x - 1.0) + (0.5 + x / 12.0 * r[i] * z) * r[i]);
    }
}

/* Orders that are one small whole number throughout go many numbers at a time, but poles and numbers far below 0. */
static void row_whole_polygamma(void *out, const void *a_, const void *b_, const void *c, int64_t n)
{
    const float *a = a_, *b = b_, order = n ? a[0] : 0.0F;
    float *o = out;
    if (!(order >= 2.0F && order <= (float)POLY_MOST) || order != truncf(order) ||
        memcmp(a, a + 1, (size_t)(n - 1) * sizeof *a) != 0) {
        row__polygamma_f32(out, a_, b_, c, n);
        return;
    }
    double factor = (int)order % 2 ? 1.0 : -1.0;
    for (int k = 2; k <= (int)order; k++)
        factor *= k;
    for (int64_t i = 0; i < n; i += POLY_MANY) {
        const int64_t m = n - i < POLY_MANY ? n - i : POLY_MANY;
        float in[POLY_MANY];
        double q[POLY_MANY], sum[POLY_MANY];
        memcpy(in, b + i, (size_t)m * sizeof *in); /* in place, results would overwrite operands */
        for (int64_t k = 0; k < m; k++)
            q[k] = (double)in[k];
        zeta_of_whole(sum, q, (int)order + 1, m);
        for (int64_t k = 0; k < m; k++)
            o[i + k] = (float)(factor * sum[k]);
        for (int64_t k = 0; k < m; k++)
            if (!(in[k] > 0.0F) && (!(in[k] > -(float)POLY_BELOW) || in[k] == truncf(in[k])))
                o[i + k] = tn_polygamma_f32(order, in[k]);
    }
}
#define row__polygamma_f32 row_whole_polygamma

/* Of what is no probability between 0 and 1 (whole numbers are none) no series is computed where 16 such follow each other. */
static void row_ndtri_inside(void *out, const void *a_, const void *b, const void *c, int64_t n)
{
    enum { SOME = 16, MANY = 256 };
    const float *a = a_;
    float *o = out;
    for (int64_t i = 0, m; i < n; i += m) {
        m = n - i < SOME ? n - i : SOME;
        int inside = 0;
        for (int64_t k = 0; k < m; k++)
            inside |= a[i + k] > 0.0F && a[i + k] < 1.0F;
        m = inside && n - i > MANY ? MANY : inside ? n - i : m;
        if (inside)
            row_ndtri_f32(o + i, a + i, b, c, m);
        for (int64_t k = 0; !inside && k < m; k++)
            o[i + k] = a[i + k] == 0.0F ? -TN_INFINITY : a[i + k] == 1.0F ? TN_INFINITY : a[i + k] * NAN;
    }
}
#define row_ndtri_f32 row_ndtri_inside

#endif
