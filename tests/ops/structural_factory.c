/* Factories: dtype, shape and values; random ones by their bounds and moments (their bits: tests/unit/test_random.c).
 * */
#include "ops/structural.h"
#include <string.h>

enum { CONSTANTS = 4 };
static const char *const constant_names[CONSTANTS] = {"empty", "zeros", "ones", "full"};

static void is_filled(const tn_tensor *t, tn_dtype d, int32_t ndim, const int64_t *shape, bool any, real v,
                      const char *name)
{
    expected e;
    expected_init(&e, d, ndim, shape);
    for (int64_t i = 0; i < e.numel; i++)
        e.v[i] = any && t ? kit_item(t, i) : kit_convert(v, TN_F64, d); /* empty: any value is right */
    check_free(&e, t, "%s of %s %s", name, tn_dtype_name(d), kit_shape_text(ndim, shape));
    truth(tn_tensor_version(t) == 0 && tn_tensor_is_leaf(t), "a factory's result is new");
}

static void constant(int which)
{
    for (int k = 0; k < N_SHAPES; k++)
        for (int i = 0; i <= KIT_DTYPES; i++) { /* the last one: not said */
            tn_scope *s = tn_scope_open();
            const tn_dims shape = {some_shapes[k].ndim, some_shapes[k].dim};
            tn_dtype d = i < KIT_DTYPES ? kit_dtypes[i] : TN_DTYPE_DEFAULT, is = d ? d : TN_F32;
            tn_tensor *t = which == 0   ? tn_empty(shape, .dtype = d)
                           : which == 1 ? tn_zeros(shape, .dtype = d)
                           : which == 2 ? tn_ones(shape, .dtype = d)
                                        : tn_full(shape, 2.75, .dtype = d);
            is_filled(t, is, shape.ndim, shape.dim, which == 0, which == 3 ? 2.75L : which - 1, constant_names[which]);
            truth(tn_tensor_is_contiguous(t) && !tn_tensor_requires_grad(t),
                  "it is row-major and requires no gradient");
            tn_scope_close(s);
        }
    tn_scope *s = tn_scope_open();
    REFUSED(tn_zeros(TN_SHAPE(-1)), TN_EINVAL, "");
    REFUSED(tn_full(TN_SHAPE(INT64_MAX, INT64_MAX), 1), TN_EINVAL, "Storage size calculation overflowed");
    REFUSED(tn_ones(TN_SHAPE(2), .dtype = TN_I64, .requires_grad = true), TN_EDTYPE, "can require gradients");
    TRUTH(tn_tensor_requires_grad(tn_ones(TN_SHAPE(2), .requires_grad = true)));
    TRUTH(tn_tensor_dtype(tn_full(TN_SHAPE(2), 7)) == TN_I64 &&
          tn_tensor_dtype(tn_full(TN_SHAPE(2), tn_scalar_b(true))) == TN_BOOL);
    tn_scope_close(s);
}

static void run_empty(void)
{
    constant(0);
}

static void run_zeros(void)
{
    constant(1);
}

static void run_ones(void)
{
    constant(2);
}

static void run_full(void)
{
    constant(3);
}

/* ---- like another tensor: its shape, dtype, and layout where that is dense ---- */

static void like_each(kit_array *x)
{
    for (int i = 0; i <= KIT_DTYPES; i++) {
        tn_dtype d = i < KIT_DTYPES ? kit_dtypes[i] : TN_DTYPE_DEFAULT, is = d ? d : x->dtype;
        tn_tensor *t[] = {tn_empty_like(x->t, .dtype = d), tn_zeros_like(x->t, .dtype = d),
                          tn_ones_like(x->t, .dtype = d), tn_full_like(x->t, 2.75, .dtype = d)};
        bool dense = x->layout == KIT_TRANSPOSED || x->layout == KIT_ROTATED;
        for (int k = 0; k < CONSTANTS; k++) {
            is_filled(t[k], is, x->ndim, x->shape, k == 0, k == 3 ? 2.75L : k - 1, constant_names[k]);
            for (int32_t n = 0; n < x->ndim && x->numel; n++)
                truth(!dense || x->shape[n] == 1 || tn_tensor_stride(t[k]).dim[n] == x->stride[n],
                      "it lies as the other does");
            if (!dense && !tn_tensor_is_contiguous(t[k]))
                kit_fail("%s_like of %s %s is not row-major: %s", constant_names[k], kit_shape_text(x->ndim, x->shape),
                         kit_layout_names[x->layout], kit_shape_text(x->ndim, tn_tensor_stride(t[k]).dim));
        }
        if (!kit_is_float(is)) {
            refused(tn_rand_like(x->t, .dtype = d), TN_EDTYPE, "not implemented for", "rand_like");
            if (x->numel)
                refused(tn_randn_like(x->t, .dtype = d), TN_EDTYPE, "not implemented for", "randn_like");
            else /* no kernel is asked, as in PyTorch */
                is_filled(tn_randn_like(x->t, .dtype = d), is, x->ndim, x->shape, true, 0, "randn_like");
            continue;
        }
        tn_tensor *u = tn_rand_like(x->t, .dtype = d);
        is_filled(u, is, x->ndim, x->shape, true, 0, "rand_like");
        is_filled(tn_randn_like(x->t, .dtype = d), is, x->ndim, x->shape, true, 0, "randn_like");
        for (int64_t n = 0; n < x->numel; n++)
            truth(kit_item(u, n) >= 0 && kit_item(u, n) < 1, "0 <= rand_like < 1");
    }
}

static void run_like(void)
{
    each_array(like_each, true);
}

/* ---- eye, arange, linspace ---- */

static void run_eye(void)
{
    for (int i = 0; i < KIT_DTYPES; i++)
        for (int64_t n = 0; n < 6; n++)
            for (int64_t m = -1; m < 6; m++) {
                tn_scope *s = tn_scope_open();
                int64_t shape[2] = {n, m < 0 ? n : m};
                expected e;
                expected_init(&e, kit_dtypes[i], 2, shape);
                for (int64_t k = 0; k < e.numel; k++)
                    e.v[k] = k / shape[1] == k % shape[1];
                check_free(&e, tn_eye(n, m, .dtype = kit_dtypes[i]), "eye(%lld, %lld) of %s", (long long)n,
                           (long long)m, tn_dtype_name(kit_dtypes[i]));
                tn_scope_close(s);
            }
    REFUSED(tn_eye(-1, 2), TN_EINVAL, "n must be greater or equal to 0, got -1");
}

static void one_arange(double a, double b, double step, bool whole, tn_dtype d)
{
    int64_t n = (int64_t)ceil((b - a) / step);
    expected e;
    tn_scope *s = tn_scope_open();
    const tn_scalar sa = whole ? tn_scalar_i((int64_t)a) : tn_scalar_f(a),
                    sb = whole ? tn_scalar_i((int64_t)b) : tn_scalar_f(b);
    const tn_scalar ss = whole ? tn_scalar_i((int64_t)step) : tn_scalar_f(step);
    tn_tensor *got = tn_arange(sa, sb, ss, .dtype = d);
    tn_dtype is = d ? d : whole ? TN_I64 : TN_F32;
    if (d == TN_BOOL) {
        refused(got, TN_EDTYPE,
                kit_on_cpu() ? "\"arange_cpu\" not implemented for 'Bool'"
                             : "\"arange_cuda\" not implemented for 'Bool'",
                "arange");
    } else {
        expected_init(&e, is, 1, &n);
        for (int64_t i = 0; i < n; i++)
            e.v[i] =
                kit_is_float(is) ? (real)a + (real)step * i : kit_round((real)(int64_t)a + (real)(int64_t)step * i, is);
        e.ulps = 1;
        check_free(&e, got, "arange(%g, %g, %g) of %s", a, b, step, tn_dtype_name(is));
    }
    tn_scope_close(s);
}

static void run_arange(void)
{
    for (int i = 0; i <= KIT_DTYPES; i++) {
        tn_dtype d = i < KIT_DTYPES ? kit_dtypes[i] : TN_DTYPE_DEFAULT;
        one_arange(0, 10, 1, true, d);
        one_arange(0, 0, 1, true, d);
        one_arange(2, 99, 7, true, d);
        one_arange(9, -1, -3, true, d == TN_U8 ? TN_I16 : d);
        one_arange(0, 1500, 1, true, d == TN_F16 || kit_size(d) > 1 ? d : TN_I64);
        if (d == 0 || kit_is_float(d)) {
            one_arange(0, 1, 0.1, false, d);
            one_arange(-2.5, 3, 0.25, false, d);
            one_arange(1, -1, -0.125, false, d);
        }
    }
    tn_scope *s = tn_scope_open();
    REFUSED(tn_arange(0, 5, 0), TN_EINVAL, "step must be nonzero");
    REFUSED(tn_arange(0, 5, -1), TN_EINVAL, "upper bound and lower bound inconsistent with step sign");
    REFUSED(tn_arange(5, 0, 1), TN_EINVAL, "upper bound and lower bound inconsistent with step sign");
    REFUSED(tn_arange(0.0, (double)INFINITY, 1), TN_EINVAL, "unsupported range: 0 -> inf");
    tn_scope_close(s);
}

static void run_linspace(void)
{
    static const double ends[][2] = {{0, 1}, {-3, 7}, {5, 5}, {10, -10}, {0.1, 0.7}};
    for (int i = 1; i < KIT_DTYPES; i++)
        for (size_t k = 0; k < TN_COUNT(ends); k++)
            for (int64_t n = 0; n < 60; n += n < 4 ? 1 : 13) {
                tn_scope *s = tn_scope_open();
                tn_dtype d = kit_dtypes[i];
                double a = ends[k][0], b = ends[k][1];
                if (!kit_is_float(d) && k < 4 &&
                    (d != TN_U8 || k == 0 || k == 2)) { /* whole ends: truncated towards the nearer one */
                    tn_tensor *t = MADE(tn_linspace(a, b, n, .dtype = d));
                    for (int64_t j = 0; j < n && t; j++) {
                        real exact = n == 1 ? (real)a : (real)a + ((real)b - (real)a) * j / (n - 1);
                        truth(fabsl(kit_item(t, j) - exact) < 1, "linspace of integers is within 1");
                    }
                    truth(!t || n == 0 || (kit_item(t, 0) == (real)a && (n == 1 || kit_item(t, n - 1) == (real)b)),
                          "its ends are exact");
                } else if (kit_is_float(d)) {
                    expected e;
                    expected_init(&e, d, 1, &n);
                    expected_tolerate(&e);
                    for (int64_t j = 0; j < n; j++) {
                        e.v[j] = n == 1 ? (real)a : (real)a + ((real)b - (real)a) * j / (n - 1);
                        e.tol[j] = 3 * compute_eps(d) * (fabs(a) + fabs(b));
                    }
                    e.ulps = 1;
                    check_free(&e, tn_linspace(a, b, n, .dtype = d), "linspace(%g, %g, %lld) of %s", a, b, (long long)n,
                               tn_dtype_name(d));
                }
                tn_scope_close(s);
            }
    REFUSED(tn_linspace(0, 1, -1), TN_EINVAL, "number of steps must be non-negative");
    REFUSED(tn_linspace(0, 1, 3, .dtype = TN_BOOL), TN_EDTYPE,
            kit_on_cpu() ? "\"linspace_cpu\" not implemented for 'Bool'"
                         : "\"linspace_cuda\" not implemented for 'Bool'");
}

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

const structural_case cases_factory[] = {
    {"empty", run_empty},     {"zeros", run_zeros},     {"ones", run_ones},         {"full", run_full},
    {"eye", run_eye},         {"arange", run_arange},   {"linspace", run_linspace}, {"rand", run_rand},
    {"randn", run_randn},     {"randint", run_randint}, {"randperm", run_randperm}, {"empty_like", run_like},
    {"zeros_like", run_like}, {"ones_like", run_like},  {"full_like", run_like},    {"rand_like", run_like},
    {"randn_like", run_like}, {"uniform_", run_rand},   {"normal_", run_randn},     {NULL, NULL},
};
