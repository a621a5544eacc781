/* ops/random/cpu_slopes.inc.h: how gamma and beta numbers move with their parameters: minus the derivative of the
 * distribution function by the parameter, divided by the density (Figurnov, Mohamed and Mnih, NeurIPS 2018). The derivative is
 * an integral over the side of the number that has less to cancel; it is summed at 61 points of a double exponential rule
 * (Takahasi and Mori 1974), which leaves an error below 1e-6. The sums have no branch, so that they become vectors of double. */
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

static void gamma_slopes(double *out, const double *const *in, int64_t n)
{
    slope_rule rule;
    make_rule(&rule);
    for (int64_t i = 0; i < n; i++)
        out[i] = gamma_slope(&rule, in[0][i], in[1][i]);
}

static void beta_slopes(double *out, const double *const *in, int64_t n)
{
    slope_rule rule;
    make_rule(&rule);
    for (int64_t i = 0; i < n; i++)
        out[i] = beta_slope(&rule, in[0][i], in[1][i], in[2][i]);
}
