/* Random numbers by their bounds and moments (their bits: tests/unit/test_random.c). */
#include "ops/family.h"

/* ---- random ---- */

typedef struct moments {
    real mean, var, least, most;
} moments;

static moments moments_of(const tn_tensor *t)
{
    int64_t n = tn_tensor_numel(t);
    moments m = {0, 0, KIT_INF, -KIT_INF};
    for (int64_t i = 0; i < n; i++) {
        real v = kit_item(t, i);
        m.mean += v / n;
        m.var += v * v / n;
        m.least = v < m.least ? v : m.least;
        m.most = v > m.most ? v : m.most;
    }
    m.var -= m.mean * m.mean;
    return m;
}

enum { N_RANDOM = 200000 };

/* Mean and variance of a uniform law within 6 of their standard errors; plus what the dtype's grid moves them by. */
static void is_uniform(const tn_tensor *t, real lo, real hi, const char *name)
{
    moments m = moments_of(t);
    tn_dtype d = tn_tensor_dtype(t);
    real span = hi - lo, grid = kit_is_float(d) ? ldexpl(span, 1 - kit_digits(d)) : 1;
    kit.cases++;
    if (!(m.least >= lo && m.most < hi && fabsl(m.mean - (lo + hi) / 2) < 6 * span / sqrtl(12.0L * N_RANDOM) + grid &&
          fabsl(m.var - span * span / 12) < 6 * span * span / sqrtl(180.0L * N_RANDOM) + span * grid))
        kit_fail("%s of %s: mean %Lg, variance %Lg, in [%Lg, %Lg]", name, tn_dtype_name(d), m.mean, m.var, m.least,
                 m.most);
}

static void is_normal(const tn_tensor *t, real mean, real std, const char *name)
{
    moments m = moments_of(t);
    tn_dtype d = tn_tensor_dtype(t);
    real grid = ldexpl(std, 2 - kit_digits(d)) + (kit_digits(d) < 24 ? ldexpl(fabsl(mean), -kit_digits(d)) : 0);
    kit.cases++;
    if (!(fabsl(m.mean - mean) < 6 * std / sqrtl(N_RANDOM) + grid &&
          fabsl(m.var - std * std) < 6 * std * std * sqrtl(2.0L / N_RANDOM) + std * grid && m.most > mean + 3 * std &&
          m.most < mean + 8 * std && m.least < mean - 3 * std && m.least > mean - 8 * std))
        kit_fail("%s of %s: mean %Lg, variance %Lg, in [%Lg, %Lg]", name, tn_dtype_name(d), m.mean, m.var, m.least,
                 m.most);
}

static void run_rand(void)
{
    for (int i = 6; i < KIT_DTYPES; i++) {
        tn_scope *s = tn_scope_open();
        tn_tensor *t = MADE(tn_rand(TN_SHAPE(N_RANDOM), .dtype = kit_dtypes[i]));
        is_uniform(t, 0, 1, "rand");
        TRUTH(!tn_equal(t, tn_rand(TN_SHAPE(N_RANDOM), .dtype = kit_dtypes[i])));
        is_uniform(tn_uniform_(t, -2, 6), -2, 6, "uniform_");
        tn_scope_close(s);
    }
    tn_scope *s = tn_scope_open();
    REFUSED(tn_rand(TN_SHAPE(2), .dtype = TN_I64), TN_EDTYPE, "not implemented for 'Long'");
    REFUSED(tn_uniform_(tn_ones(TN_SHAPE(2)), 3, 2), TN_EINVAL, "");
    tn_scope_close(s);
}

static void run_randn(void)
{
    for (int i = 6; i < KIT_DTYPES; i++) {
        tn_scope *s = tn_scope_open();
        tn_tensor *t = MADE(tn_randn(TN_SHAPE(N_RANDOM), .dtype = kit_dtypes[i]));
        is_normal(t, 0, 1, "randn");
        is_normal(tn_normal_(t, 3, 0.5), 3, 0.5L, "normal_");
        tn_scope_close(s);
    }
    tn_scope *s = tn_scope_open();
    REFUSED(tn_randn(TN_SHAPE(2), .dtype = TN_I64), TN_EDTYPE, "not implemented for 'Long'");
    REFUSED(tn_normal_(tn_ones(TN_SHAPE(2)), 0, -1), TN_EINVAL, "normal expects std >= 0.0, but found std -1");
    tn_scope_close(s);
}

static void run_randint(void)
{
    for (int i = 1; i < KIT_DTYPES; i++) {
        tn_scope *s = tn_scope_open();
        tn_tensor *t = MADE(tn_randint(3, 103, TN_SHAPE(N_RANDOM), .dtype = kit_dtypes[i]));
        int64_t seen[103] = {0};
        for (int64_t k = 0; k < N_RANDOM && t; k++) {
            real v = kit_item(t, k);
            if (v < 3 || v >= 103 || v != floorl(v))
                kit_fail("randint of %s gives %Lg", tn_dtype_name(kit_dtypes[i]), v);
            else
                seen[(int)v]++;
        }
        for (int v = 3; v < 103; v++) /* 2000 each: within 6 standard deviations, 45 */
            truth(seen[v] > 2000 - 270 && seen[v] < 2000 + 270, "randint is even");
        tn_scope_close(s);
    }
    tn_scope *s = tn_scope_open();
    TRUTH(tn_tensor_dtype(tn_randint(0, 5, TN_SHAPE(2))) == TN_I64);
    REFUSED(tn_randint(5, 5, TN_SHAPE(2)), TN_EINVAL,
            "random_ expects 'from' to be less than 'to', but got from=5 >= to=5");
    tn_scope_close(s);
}

static void run_randperm(void)
{
    for (int i = 1; i < KIT_DTYPES; i++)
        for (int64_t n = 0; n < 120; n += 17) {
            tn_scope *s = tn_scope_open();
            bool seen[120] = {false};
            tn_tensor *t = MADE(tn_randperm(n, .dtype = kit_dtypes[i]));
            for (int64_t k = 0; k < n && t; k++) {
                int64_t v = (int64_t)kit_item(t, k);
                truth(v >= 0 && v < n && !seen[v], "randperm names each number once");
                seen[v < 0 || v >= n ? 0 : v] = true;
            }
            tn_scope_close(s);
        }
    tn_scope *s = tn_scope_open();
    TRUTH(!tn_equal(tn_randperm(100), tn_arange(0, 100, 1)));
    REFUSED(tn_randperm(-1), TN_EINVAL, "n must be non-negative, got -1");
    tn_scope_close(s);
}

/* ---- dropout ---- */

static void dropout_each(kit_array *x)
{
    if (!kit_is_float(x->dtype) && x->numel == 0) { /* of nothing any dtype will do, as in PyTorch */
        TRUTH(tn_dropout(x->t, 0.5) != NULL);
        return;
    }
    if (!kit_is_float(x->dtype)) {
        REFUSED(tn_dropout(x->t, 0.5), TN_EDTYPE, "can't be cast to the desired output type");
        return;
    }
    static const double p[] = {0, 0.3, 1};
    for (int i = 0; i < 3; i++) {
        expected e;
        tn_tensor *y = MADE(tn_dropout(x->t, p[i]));
        expected_init(&e, x->dtype, x->ndim, x->shape);
        for (int64_t k = 0; k < x->numel && y; k++) { /* each element is zero, or scaled */
            real kept = kit_round(x->v[k] / (1 - (real)p[i]), x->dtype), got = kit_item(y, k);
            e.v[k] = p[i] == 1 || (p[i] > 0 && got == 0) ? 0 : kept;
        }
        e.ulps = 1;
        check_free(&e, y, "dropout of %s %s %s, p %g", tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
                   kit_layout_names[x->layout], p[i]);
    }
}

static void run_dropout(void)
{
    each_array(dropout_each, true);
    tn_scope *s = tn_scope_open();
    static const double p[] = {0.1, 0.5, 0.9};
    for (int i = 0; i < 3; i++) { /* how many: within 6 standard deviations of n p, of a binomial distribution */
        const int64_t n = 1000003;
        tn_tensor *y = tn_dropout(tn_ones(TN_SHAPE(n)), p[i]);
        double zeros = (double)n - tn_item(tn_sum(tn_ne(y, 0)));
        TRUTH(fabs(zeros - (double)n * p[i]) < 6 * sqrt((double)n * p[i] * (1 - p[i])));
    }
    TRUTH(!tn_equal(tn_dropout(tn_ones(TN_SHAPE(100)), 0.5),
                    tn_dropout(tn_ones(TN_SHAPE(100)), 0.5))); /* another mask each time */
    REFUSED(tn_dropout(tn_ones(TN_SHAPE(2)), 1.5), TN_EVALUE,
            "dropout probability has to be between 0 and 1, but got 1.5");
    REFUSED(tn_dropout(tn_ones(TN_SHAPE(2)), -0.5), TN_EVALUE,
            "dropout probability has to be between 0 and 1, but got -0.5");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"rand", run_rand},     {"randn", run_randn},   {"randint", run_randint}, {"randperm", run_randperm},
    {"uniform_", run_rand}, {"normal_", run_randn}, {"dropout", run_dropout}, {NULL, NULL},
};

/* ---- gradients ---- */

static tn_tensor *f_dropout(tn_tensor **in)
{
    tn_manual_seed(7);
    return tn_dropout(in[0], 0.4);
}

F(uniform_, tn_mul(tn_uniform_(tn_clone(x), 1, 1), y))
F(normal_, tn_mul(tn_normal_(tn_clone(x), 1, 0), y))

static const gradient_case gradients[] = {
    ONE(dropout),
    TWO(uniform_),
    TWO(normal_),
    {NULL, NULL, 0, {{0, {0}}}, false},
};

const family_tests random_tests = {cases, gradients, NULL};
