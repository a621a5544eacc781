/* ops/random/cpu_slopes.inc.h: how gamma and beta numbers move with their parameters: minus the derivative of the
 * distribution function by the parameter, divided by the density (Figurnov, Mohamed and Mnih, NeurIPS 2018).
 *
 * Where the distribution function's power series (DLMF 8.7.1, 8.7.3, 8.17.8) loses little and ends soon, the derivative is summed
 * term by term, of some numbers side by side, with an error below 1e-8. Elsewhere it is an integral over the side of the number
 * that has less to cancel, summed at 61 points of a double exponential rule (Takahasi and Mori 1974), which leaves an error
 * below 1e-6. The sums have no branch, so that they become vectors of double. */
enum { SLOPE_POINTS = 64 }; /* the last three weigh nothing */

/* The points of (0, infinity), and their weights */
typedef struct slope_rule {
    double s[SLOPE_POINTS], weight[SLOPE_POINTS];
} slope_rule;

static void make_rule(slope_rule *rule)
{
    for (int i = 0; i < SLOPE_POINTS; i++) {
        const double t = 0.25 * (i < 61 ? i : 60) - 3, e = exp(-t), s = exp(t - e);
        rule->s[i] = s;
        rule->weight[i] = i < 61 ? 0.25 * (1 + e) * s : 0;
    }
}

/* Taylor's series where exp(x) - 1 would cancel */
ALWAYS double slope_expm1(double x)
{
    const double near = x * (1 + x * (0.5 + x * (1.0 / 6 + x * (1.0 / 24 + x * (1.0 / 120 + x * (1.0 / 720))))));
    return fabs(x) < 0.02 ? near : wide_exp(x) - 1;
}

/* Below the mean numbers are x exp(-s / shape), above it x + s. */
static double gamma_slope(const slope_rule *rule, double shape, double x)
{
    if (!(shape > 0 && x > 0 && shape < INFINITY && x < INFINITY))
        return 0;
    const double c = log(x) - tn_digamma_right_f32(shape), part = 1 / (x < shape ? shape : x);
    double terms[SLOPE_POINTS], sum = 0;
    if (x < shape)
        for (int i = 0; i < SLOPE_POINTS; i++) {
            const double q = -rule->s[i] * part;
            terms[i] = rule->weight[i] * wide_exp(-rule->s[i] - x * slope_expm1(q)) * (c + q);
        }
    else
        for (int i = 0; i < SLOPE_POINTS; i++) {
            const double q = wide_log1p(rule->s[i] * part);
            terms[i] = rule->weight[i] * wide_exp((shape - 1) * q - rule->s[i]) * (c + q);
        }
    for (int i = 0; i < SLOPE_POINTS; i++)
        sum += terms[i];
    return x < shape ? -x * part * sum : sum;
}

/* Divided by 1 - x, as PyTorch's is: of a part x of a whole the others share the rest. */
static double beta_slope(const slope_rule *rule, double x, double alpha, double total)
{
    const double beta = total - alpha, y = 1 - x;
    if (!(alpha > 0 && beta > 0 && x > 0 && y > 0 && total < INFINITY))
        return 0;
    const double c = tn_digamma_right_f32(alpha) - tn_digamma_right_f32(total), log_x = log(x), log_y = log1p(-x);
    const bool below = x * total < alpha;
    const double part = 1 / (below ? alpha : beta), size = below ? x : y;
    double terms[SLOPE_POINTS], sum = 0;
    if (below)
        for (int i = 0; i < SLOPE_POINTS; i++) {
            const double q = -rule->s[i] * part, rest = wide_log1p(-x * wide_exp(q));
            terms[i] = -rule->weight[i] * wide_exp((beta - 1) * (rest - log_y) - rule->s[i]) * (log_x + q - c);
        }
    else
        for (int i = 0; i < SLOPE_POINTS; i++) {
            const double rest = wide_log1p(-y * wide_exp(-rule->s[i] * part));
            terms[i] = rule->weight[i] * wide_exp((alpha - 1) * (rest - log_x) - rule->s[i]) * (rest - c);
        }
    for (int i = 0; i < SLOPE_POINTS; i++)
        sum += terms[i];
    return size * part * sum / y;
}

/* ---- power series ---- */

enum { SIDE_BY_SIDE = 16, MOST_TERMS = 128 };

/* Terms are as near to nothing as the sum needs, of all numbers. */
static bool have_ended(const double *term, const double *sum)
{
    bool ended = true;
    for (int i = 0; i < SIDE_BY_SIDE; i++)
        ended &= term[i] <= 1e-10 * sum[i];
    return ended;
}

/* Numbers up to NEAR, whose terms alternate and so cancel, but no more than the digits of a double allow: of
 * (-x)^k / k! / (shape + k). */
static void gamma_near(double *out, const double *shape, const double *x)
{
    double c[SIDE_BY_SIDE], term[SIDE_BY_SIDE], sum[SIDE_BY_SIDE], most = 0;
    for (int i = 0; i < SIDE_BY_SIDE; i++) {
        const double part = 1 / shape[i], log_x = wide_log(x[i]) - tn_digamma_right_f32(1 + shape[i]);
        term[i] = 1;
        sum[i] = part * log_x;
        c[i] = part + log_x;
    }
    for (int i = 0; i < SIDE_BY_SIDE; i++)
        most = x[i] > most ? x[i] : most;
    const int terms = 10 + (int)(4 * most); /* what is left out is less than 1e-9 of the slope */
    for (int k = 1; k < terms; k++) {
        const double step = -1.0 / k;
        for (int i = 0; i < SIDE_BY_SIDE; i++) {
            const double part = 1 / (shape[i] + k);
            term[i] *= step * x[i];
            sum[i] += term[i] * part * (c[i] - part);
        }
    }
    for (int i = 0; i < SIDE_BY_SIDE; i++)
        out[i] = -x[i] * wide_exp(x[i]) * sum[i];
}

/* Numbers below their mean: of x^n / (shape + 1) .. (shape + n). */
static void gamma_below(double *out, const double *shape, const double *x)
{
    double c[SIDE_BY_SIDE], term[SIDE_BY_SIDE], parts[SIDE_BY_SIDE], sum[SIDE_BY_SIDE], slope[SIDE_BY_SIDE];
    for (int i = 0; i < SIDE_BY_SIDE; i++) {
        c[i] = wide_log(x[i]) - tn_digamma_right_f32(1 + shape[i]);
        term[i] = sum[i] = 1;
        parts[i] = slope[i] = 0;
    }
    for (int n = 1; n < MOST_TERMS && !(n % 8 == 0 && have_ended(term, sum)); n++)
        for (int i = 0; i < SIDE_BY_SIDE; i++) {
            const double part = 1 / (shape[i] + n);
            term[i] *= x[i] * part;
            parts[i] += part;
            sum[i] += term[i];
            slope[i] += term[i] * parts[i];
        }
    for (int i = 0; i < SIDE_BY_SIDE; i++)
        out[i] = -x[i] / shape[i] * (sum[i] * c[i] - slope[i]);
}

/* base: the parameter of the side whose series it is, z: the number seen from there; of
 * z^n total .. (total + n - 1) / (base + 1) .. (base + n). own: 1 where base is the parameter itself, else 0. */
typedef struct beta_sides {
    double base[SIDE_BY_SIDE], z[SIDE_BY_SIDE], own[SIDE_BY_SIDE], total[SIDE_BY_SIDE], alpha[SIDE_BY_SIDE],
        x[SIDE_BY_SIDE];
} beta_sides;

static void beta_series(double *out, const beta_sides *s)
{
    double c[SIDE_BY_SIDE], term[SIDE_BY_SIDE], parts[SIDE_BY_SIDE], sum[SIDE_BY_SIDE], slope[SIDE_BY_SIDE];
    for (int i = 0; i < SIDE_BY_SIDE; i++) {
        c[i] = wide_log(s->x[i]) - tn_digamma_right_f32(s->alpha[i] + s->own[i]) + tn_digamma_right_f32(s->total[i]);
        term[i] = sum[i] = 1;
        parts[i] = slope[i] = 0;
    }
    for (int n = 1; n < MOST_TERMS && !(n % 8 == 0 && have_ended(term, sum)); n++)
        for (int i = 0; i < SIDE_BY_SIDE; i++) {
            const double all = s->total[i] + (n - 1), low = s->base[i] + n, both = 1 / (all * low);
            term[i] *= all * all * s->z[i] * both;
            parts[i] += (low - s->own[i] * all) * both;
            sum[i] += term[i];
            slope[i] += term[i] * parts[i];
        }
    for (int i = 0; i < SIDE_BY_SIDE; i++)
        out[i] = (1 - 2 * s->own[i]) * s->x[i] / s->base[i] * (sum[i] * c[i] + slope[i]);
}

/* ---- which of them ---- */

enum { NOWHERE, NEAR, BELOW, FAR };

static int gamma_case(double shape, double x)
{
    if (!(shape > 0 && x > 0 && shape < INFINITY && x < INFINITY))
        return NOWHERE;
    return x <= 8 ? NEAR : x < shape && shape <= 100 ? BELOW : FAR;
}

static void gamma_slopes(double *out, const double *const *in, int64_t n)
{
    slope_rule rule;
    make_rule(&rule);
    for (int64_t first = 0; first < n; first += SIDE_BY_SIDE) {
        const int count = (int)(n - first < SIDE_BY_SIDE ? n - first : SIDE_BY_SIDE);
        double shape[2][SIDE_BY_SIDE], x[2][SIDE_BY_SIDE], sums[2][SIDE_BY_SIDE];
        int which[SIDE_BY_SIDE], many[4] = {0};
        for (int i = 0; i < SIDE_BY_SIDE; i++) {
            const double a = i < count ? in[0][first + i] : 0, b = i < count ? in[1][first + i] : 0;
            which[i] = gamma_case(a, b);
            many[which[i]]++;
            for (int k = 0; k < 2; k++) {
                shape[k][i] = which[i] == NEAR + k ? a : 1;
                x[k][i] = which[i] == NEAR + k ? b : 0.5;
            }
        }
        if (many[NEAR])
            gamma_near(sums[0], shape[0], x[0]);
        if (many[BELOW])
            gamma_below(sums[1], shape[1], x[1]);
        for (int i = 0; i < count; i++)
            out[first + i] = which[i] == NOWHERE ? 0
                             : which[i] == FAR   ? gamma_slope(&rule, in[0][first + i], in[1][first + i])
                                                 : sums[which[i] - NEAR][i];
    }
}

/* The side whose terms become small soon: that of the number's own half, unless so little lies there that it cancels. */
static int beta_case(double x, double alpha, double total)
{
    const double beta = total - alpha, y = 1 - x;
    if (!(alpha > 0 && beta > 0 && x > 0 && y > 0 && total < INFINITY))
        return NOWHERE;
    const bool below = x * total < alpha;
    const int side = x <= 0.5 ? below || beta <= 8 ? BELOW : NEAR : !below || alpha <= 8 ? NEAR : BELOW;
    return total > 60 || (side == BELOW ? x : y) > 0.8 ? FAR : side;
}

static void beta_slopes(double *out, const double *const *in, int64_t n)
{
    slope_rule rule;
    make_rule(&rule);
    for (int64_t first = 0; first < n; first += SIDE_BY_SIDE) {
        const int count = (int)(n - first < SIDE_BY_SIDE ? n - first : SIDE_BY_SIDE);
        beta_sides s;
        double sums[SIDE_BY_SIDE];
        int which[SIDE_BY_SIDE];
        for (int i = 0; i < SIDE_BY_SIDE; i++) {
            const double x = i < count ? in[0][first + i] : 0, alpha = i < count ? in[1][first + i] : 0,
                         total = i < count ? in[2][first + i] : 0;
            which[i] = beta_case(x, alpha, total);
            const bool sum = which[i] == NEAR || which[i] == BELOW, own = which[i] == BELOW;
            s.x[i] = sum ? x : 0.5;
            s.alpha[i] = sum ? alpha : 1;
            s.total[i] = sum ? total : 2;
            s.own[i] = own;
            s.base[i] = own ? s.alpha[i] : s.total[i] - s.alpha[i];
            s.z[i] = own ? s.x[i] : 1 - s.x[i];
        }
        beta_series(sums, &s);
        for (int i = 0; i < count; i++)
            out[first + i] = which[i] == NOWHERE ? 0
                             : which[i] == FAR ? beta_slope(&rule, in[0][first + i], in[1][first + i], in[2][first + i])
                                               : sums[i];
    }
}
