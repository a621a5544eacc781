/* Numbers of laws that reject some of what they draw, dropout of channels, noise in activations: by their moments, and how they
 * move with their parameters. */
#include "ops/family.h"

enum { MANY = 100000 };

/* Mean and variance within 6 standard errors; fourth: the law's fourth central moment */
static void has_moments(const tn_tensor *t, real mean, real var, real fourth, const char *name)
{
    real m = 0, v = 0, n = (real)tn_tensor_numel(t);
    for (int64_t i = 0; i < tn_tensor_numel(t); i++)
        m += kit_item(t, i) / n;
    for (int64_t i = 0; i < tn_tensor_numel(t); i++)
        v += (kit_item(t, i) - mean) * (kit_item(t, i) - mean) / n;
    kit.cases++;
    if (!(fabsl(m - mean) <= 6 * sqrtl(var / n) && fabsl(v - var) <= 6 * sqrtl((fourth - var * var) / n)))
        kit_fail("%s: mean %Lg, not %Lg; variance %Lg, not %Lg", name, m, mean, v, var);
}

static tn_tensor *of(double v, tn_dtype d)
{
    return tn_full(TN_SHAPE(MANY), v, .dtype = d);
}

static const tn_dtype wide[] = {TN_F32, TN_F64};

static void run_poisson(void)
{
    static const double rates[] = {0.3, 4, 30, 1e6};
    for (int d = 0; d < 2; d++)
        for (int i = 0; i < 4; i++) {
            tn_scope *s = tn_scope_open();
            const real r = (real)rates[i];
            tn_tensor *t = MADE(tn_poisson(of(rates[i], wide[d])));
            has_moments(t, r, r, r + 3 * r * r, "poisson");
            TRUTH(tn_equal(t, tn_floor(t)) && kit_item(tn_amin(t), 0) >= 0);
            tn_scope_close(s);
        }
    tn_scope *s = tn_scope_open();
    TRUTH(kit_item(tn_sum(tn_poisson(tn_zeros(TN_SHAPE(9), .dtype = TN_F16))), 0) == 0);
    tn_tensor *x = tn_requires_grad_(tn_ones(TN_SHAPE(3)), true), *y = tn_poisson(x);
    TRUTH(tn_tensor_requires_grad(y) && !tn_backward(tn_sum(y)) && tn_item(tn_sum(tn_tensor_grad(x))) == 0);
    REFUSED(tn_poisson(tn_full(TN_SHAPE(2), -1.0, .device = TN_CPU)), TN_EINVAL, /* no GPU is waited for */
            "invalid Poisson rate, expected rate to be non-negative");
    REFUSED(tn_poisson(tn_arange(0, 3, 1)), TN_EDTYPE, "not implemented for 'Long'");
    tn_scope_close(s);
}

static void run_binomial(void)
{
    static const double n[] = {5, 100, 100, 1e6}, p[] = {0.25, 0.03, 0.875, 0.5};
    for (int d = 0; d < 2; d++)
        for (int i = 0; i < 4; i++) {
            tn_scope *s = tn_scope_open();
            const real var = (real)(n[i] * p[i] * (1 - p[i]));
            tn_tensor *t = MADE(tn_binomial(of(n[i], wide[d]), of(p[i], wide[d])));
            has_moments(t, (real)(n[i] * p[i]), var, var * (1 + 3 * var - 6 * (real)(p[i] * (1 - p[i]))), "binomial");
            TRUTH(kit_item(tn_amin(t), 0) >= 0 && kit_item(tn_amax(t), 0) <= (real)n[i]);
            tn_scope_close(s);
        }
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_full(TN_SHAPE(2), 7.0), *p0 = tn_reshape(tn_tensor_from(TN_LIST(0.0, 1.0)), TN_SHAPE(2, 1));
    tn_tensor *sure = MADE(tn_binomial(x, p0)); /* none of them, or all; they broadcast */
    TRUTH(tn_tensor_ndim(sure) == 2 && kit_item(sure, 0) == 0 && kit_item(sure, 3) == 7);
    TRUTH(isnan(kit_item(tn_binomial(tn_full(TN_SHAPE(1), 3.0), tn_full(TN_SHAPE(1), NAN)), 0)));
    REFUSED(tn_binomial(tn_arange(0, 2, 1), x), TN_EVALUE,
            "binomial only supports floating-point dtypes for count, got: Long");
    REFUSED(tn_binomial(x, tn_full(TN_SHAPE(2), 0.5, .dtype = TN_F64)), TN_EDTYPE,
            "Found dtype Double but expected Float");
    tn_scope_close(s);
}

static void run_gamma(void)
{
    static const double shapes[] = {0.3, 1, 7.5, 1e4};
    for (int d = 0; d < 2; d++)
        for (int i = 0; i < 4; i++) {
            tn_scope *s = tn_scope_open();
            const real k = (real)shapes[i];
            tn_tensor *t = MADE(tn_standard_gamma(of(shapes[i], wide[d])));
            has_moments(t, k, k, 3 * k * k + 6 * k, "standard_gamma");
            TRUTH(kit_item(tn_amin(t), 0) > 0);
            tn_scope_close(s);
        }
    tn_scope *s = tn_scope_open();
    REFUSED(tn_standard_gamma(tn_ones(TN_SHAPE(2), .dtype = TN_F16)), TN_EDTYPE, "not implemented for 'Half'");
    /* Parts of a whole, of which each is a beta number. */
    tn_tensor *a = tn_expand(tn_tensor_from(TN_LIST(1.0, 2.0, 5.0), .dtype = TN_F64), TN_SHAPE(MANY, 3));
    tn_tensor *t = MADE(tn_sample_dirichlet(a));
    TRUTH(tn_allclose(tn_sum(t, .dim = 1), tn_ones(TN_SHAPE(MANY), .dtype = TN_F64)));
    has_moments(tn_contiguous(tn_select(t, 1, 2)), 5 / 8.0L, 15 / 576.0L, 0.0017301L, "sample_dirichlet");
    REFUSED(tn_sample_dirichlet(tn_ones(TN_SHAPE())), TN_EINDEX, "Dimension specified as -1");
    tn_scope_close(s);
}

/* By differences of the distribution functions: of gamma numbers of shape 1 and 3, by mpmath's gammainc and betainc. */
static void run_slopes(void)
{
    tn_scope *s = tn_scope_open();
    for (int d = 0; d < 2; d++) {
        static const double known[][3] = {
            /* shape, number, slope */
            {0.3, 0.2, 1.2120372613}, {2, 3, 1.3217985182},    {5, 9, 1.3671181885},
            {20, 15, 0.8702478032},   {0.05, 8, 20.477346374}, {4, 7.5, 1.404017308},
            {90, 80, 0.94401022125},  {30, 50, 1.2841262303},  {0.2, 1e-6, 6.7632413139e-5}};
        static const double beta[][4] = {
            /* part, concentration, total, slope */
            {0.2, 0.5, 1.2, 0.9107282380},  {0.6, 3, 5, 0.2261926163},     {0.3, 20, 60, 0.0160228747},
            {0.55, 12, 13, 0.060890805633}, {0.4, 0.5, 1.2, 1.4127126387}, {0.95, 40, 45, 0.023239934995},
            {0.85, 2, 2.5, 0.51456261718},  {0.3, 0.1, 3, 2.533775685},    {0.999, 0.3, 0.5, 7.6897478734}};
        const real eps = d ? 1e-6L : 1e-4L;
        for (size_t i = 0; i < TN_COUNT(known); i++) {
            tn_tensor *t = tn_standard_gamma_grad(tn_full(TN_SHAPE(1), known[i][0], .dtype = wide[d]),
                                                  tn_full(TN_SHAPE(1), known[i][1], .dtype = wide[d]));
            TRUTH(fabsl(kit_item(MADE(t), 0) / (real)known[i][2] - 1) < eps);
        }
        for (size_t i = 0; i < TN_COUNT(beta); i++) {
            tn_tensor *t = tn_dirichlet_grad(tn_full(TN_SHAPE(1), beta[i][0], .dtype = wide[d]),
                                             tn_full(TN_SHAPE(1), beta[i][1], .dtype = wide[d]),
                                             tn_full(TN_SHAPE(1), beta[i][2], .dtype = wide[d]));
            TRUTH(fabsl(kit_item(MADE(t), 0) / (real)beta[i][3] - 1) < eps);
        }
    }
    /* The gradients of what is drawn: the slope of each number. */
    tn_tensor *x = tn_requires_grad_(tn_full(TN_SHAPE(3), 2.0), true), *y = tn_standard_gamma(x);
    TRUTH(!tn_backward(tn_sum(y)) &&
          tn_allclose(tn_tensor_grad(x), tn_standard_gamma_grad(tn_detach(x), tn_detach(y))));
    x = tn_requires_grad_(tn_full(TN_SHAPE(3), 2.0), true);
    TRUTH(!tn_backward(tn_sum(tn_sample_dirichlet(x)))); /* their sum is 1, whatever x is */
    TRUTH(tn_allclose(tn_tensor_grad(x), tn_zeros(TN_SHAPE(3)), .atol = TN_SCALAR(1e-6)));
    tn_scope_close(s);
}

/* ---- dropout ---- */

static void run_channels(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(200, 300, 2)), *y = MADE(tn_feature_dropout(x, 0.25, true));
    TRUTH(tn_equal(tn_select(y, 2, 0), tn_select(y, 2, 1)));
    const double part = tn_item(tn_mean(tn_to(tn_eq(y, 0), .dtype = TN_F64)));
    TRUTH(fabs(part - 0.25) < 6 * sqrt(0.25 * 0.75 / 60000));
    TRUTH(fabsl(kit_item(tn_amax(y), 0) - 4 / 3.0L) < 1e-6L);
    TRUTH(tn_feature_dropout(x, 0.25, false) == x && tn_item(tn_sum(tn_feature_dropout(x, 1, true))) == 0);
    REFUSED(tn_feature_dropout(tn_ones(TN_SHAPE(3)), 0.5, true), TN_EINVAL,
            "Feature dropout requires at least 2 dimensions in the input");
    REFUSED(tn_feature_dropout(x, 1.5, true), TN_EINVAL, "dropout probability has to be between 0 and 1, but got 1.5");
    tn_tensor *z = tn_randn(TN_SHAPE(MANY));
    has_moments(MADE(tn_alpha_dropout(z, 0.25, true)), 0, 1, 4, "alpha_dropout");
    y = MADE(tn_feature_alpha_dropout(tn_zeros(TN_SHAPE(200, 300, 2)), 0.5, true)); /* two values alone */
    TRUTH(tn_equal(tn_select(y, 2, 0), tn_select(y, 2, 1)) && kit_item(tn_amin(y), 0) < 0 &&
          kit_item(tn_amax(y), 0) > 0);
    tn_tensor *mask = NULL;
    y = MADE(tn_native_dropout(z, 0.5, true, .mask = &mask));
    TRUTH(mask && tn_tensor_dtype(mask) == TN_BOOL && tn_equal(y, tn_mul(tn_mul(z, mask), 2)));
    y = MADE(tn_native_dropout(z, 0.5, false, .mask = &mask));
    TRUTH(tn_equal(y, z) && tn_item(tn_all(mask)) == 1);
    tn_scope_close(s);
}

static void run_noise(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_full(TN_SHAPE(MANY), -1.0), *y = MADE(tn_rrelu(x, .training = true));
    const real low = 0.125L, high = 1 / 3.0L, var = (high - low) * (high - low) / 12;
    has_moments(tn_neg(y), (low + high) / 2, var, var * var * 9 / 5, "rrelu");
    TRUTH(kit_item(tn_amax(y), 0) <= -low && kit_item(tn_amin(y), 0) >= -high - 1e-6L);
    TRUTH(tn_equal(tn_rrelu(tn_neg(x), .training = true), tn_neg(x)));
    TRUTH(fabsl(kit_item(tn_rrelu(x), 0) + (low + high) / 2) < 1e-6L);
    REFUSED(tn_rrelu(x, .lower = TN_SCALAR(2)), TN_EINVAL,
            "Lower bound should be less than or equal to the upper bound");
    tn_tensor *logits = tn_expand(tn_log(tn_tensor_from(TN_LIST(1.0, 2.0, 5.0))), TN_SHAPE(MANY, 3));
    tn_tensor *hard = MADE(tn_gumbel_softmax(logits, 1, .hard = true)); /* by their probabilities */
    TRUTH(fabs(tn_item(tn_mean(tn_select(hard, 1, 2))) - 5 / 8.0) < 6 * sqrt(15 / 64.0 / MANY));
    tn_tensor *soft = MADE(tn_gumbel_softmax(logits, 1, .tau = TN_SCALAR(0.5)));
    TRUTH(tn_allclose(tn_sum(soft, .dim = 1), tn_ones(TN_SHAPE(MANY))));
    TRUTH(fabs(tn_item(tn_sum(hard)) - MANY) < 1);
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"poisson", run_poisson},
    {"binomial", run_binomial},
    {"standard_gamma", run_gamma},
    {"sample_dirichlet", run_gamma},
    {"standard_gamma_grad", run_slopes},
    {"dirichlet_grad", run_slopes},
    {"feature_dropout", run_channels},
    {"alpha_dropout", run_channels},
    {"feature_alpha_dropout", run_channels},
    {"native_dropout", run_channels},
    {"rrelu", run_noise},
    {"gumbel_softmax", run_noise},
    {NULL, NULL},
};

/* ---- gradients: differences see how numbers are drawn, not how they move; what is left where that does not count ---- */

F(standard_gamma, tn_add(tn_mul(tn_standard_gamma(tn_exp(x)), 0), x))
F(sample_dirichlet, tn_add(tn_mul(tn_sample_dirichlet(tn_exp(x)), 0), x))

static const gradient_case gradients[] = {
    ONE(standard_gamma),
    ONE(sample_dirichlet),
    {NULL, NULL, 0, {{0, {0}}}, false},
};

const family_tests random_laws_tests = {cases, gradients, NULL};
