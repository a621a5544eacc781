/* Factories: dtype, shape and values. */
#include "ops/family.h"
#include <string.h>

static void run_strided(void)
{
    tn_scope *s = tn_scope_open();
    const tn_tensor *x = MADE(tn_empty_strided(TN_SHAPE(2, 3), TN_DIMS(1, 4), .dtype = TN_I16)),
                    *y = MADE(tn_empty_permuted(TN_SHAPE(2, 3, 4), TN_DIMS(0, 2, 1)));
    TRUTH(x && tn_tensor_stride(x).dim[1] == 4 && tn_tensor_size(x, 1) == 3 && tn_tensor_dtype(x) == TN_I16);
    TRUTH(y && tn_tensor_stride(y).dim[0] == 12 && tn_tensor_stride(y).dim[1] == 1 && tn_tensor_stride(y).dim[2] == 3);
    REFUSED(tn_empty_strided(TN_SHAPE(2, 3), TN_DIMS(1)), TN_EINVAL, "dimensionality of sizes (2)");
    REFUSED(tn_empty_strided(TN_SHAPE(2), TN_DIMS(-1)), TN_EINVAL, "Storage size calculation overflowed");
    REFUSED(tn_empty_permuted(TN_SHAPE(2, 3), TN_DIMS(0, 0)), TN_EINVAL, "Duplicate dim not allowed");
    tn_scope_close(s);
}

static void fill_each(kit_array *x)
{
    const tn_scalar values[] = {tn_scalar_i(0), tn_scalar_i(1), tn_scalar_f(2.5), tn_scalar_b(true),
                                tn_scalar_t(tn_full(TN_SHAPE(), 3.75))};
    static const real as_real[] = {0, 1, 2.5L, 1, 3.75L};
    for (int i = 0; i < 5; i++) {
        expected e;
        expected_init(&e, x->dtype, x->ndim, x->shape);
        for (int64_t k = 0; k < x->numel; k++)
            e.v[k] = kit_convert(as_real[i], i == 4 ? TN_F32 : TN_F64, x->dtype);
        check(&e, tn_fill(x->t, values[i]), "fill of %s %s with %Lg", tn_dtype_name(x->dtype),
              kit_shape_text(x->ndim, x->shape), as_real[i]);
        equals_values(x, x->t, "what fill left");
        tn_tensor *zeroed = NULL, *filled = tn_fill_(x->t, values[i]);
        check(&e, filled, "fill_ of %s %s %s", tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
              kit_layout_names[x->layout]);
        memset(e.v, 0, (size_t)x->numel * sizeof *e.v);
        zeroed = tn_zero_(x->t);
        check(&e, zeroed, "zero_ of %s %s %s", tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
              kit_layout_names[x->layout]);
        truth(kit_surroundings_intact(x), "fill_ writes x and nothing else");
        expected_free(&e);
        kit_show(x);
    }
}

static void run_fill(void)
{
    each_array(fill_each, false);
    tn_scope *s = tn_scope_open();
    REFUSED(tn_fill_(tn_ones(TN_SHAPE(2)), tn_scalar_t(tn_ones(TN_SHAPE(2)))), TN_EINVAL, "0-dimension");
    tn_scope_close(s);
}

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
            const tn_dims shape = tn_dims_of(some_shapes[k].dim, some_shapes[k].ndim);
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

static void run_logspace(void)
{
    tn_scope *s = tn_scope_open();
    HOLDS(tn_logspace(0, 3, 4, 10), TN_SHAPE(4), 1, 10, 100, 1000);
    HOLDS(tn_logspace(0.5, 2.5, 3, 4, .dtype = TN_F64), TN_SHAPE(3), 2, 8, 32);
    HOLDS(tn_logspace(0.75, 3.75, 4, 2, .dtype = TN_I64), TN_SHAPE(4), 1, 2, 4, 8); /* the ends are made whole */
    HOLDS(tn_logspace(0.75, 1.75, 1, 3.5, .dtype = TN_I32), TN_SHAPE(1), 2);
    HOLDS(tn_logspace(0, 1e300, 1, 10), TN_SHAPE(1), 1);
    HOLDS(tn_logspace(0, 3, 0, 10), TN_SHAPE(0), 0);
    TRUTH(tn_tensor_requires_grad(tn_logspace(0, 3, 4, 10, .requires_grad = true)));
    REFUSED(tn_logspace(0, 3, -1, 10), TN_EINVAL, "number of steps must be non-negative");
    REFUSED(tn_logspace(0, 1e300, 4, 10), TN_EINVAL, "value cannot be converted to type float without overflow");
    REFUSED(tn_logspace(0, 300, 3, 10, .dtype = TN_I8), TN_EINVAL, "value cannot be converted to type int8_t");
    REFUSED(tn_logspace(0, 3, 4, 10, .dtype = TN_BOOL), TN_EDTYPE,
            kit_on_cpu() ? "\"logspace_cpu\" not implemented for 'Bool'"
                         : "\"logspace_cuda\" not implemented for 'Bool'");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"empty_strided", run_strided},
    {"empty_permuted", run_strided},
    {"fill", run_fill},
    {"zero_", run_fill},
    {"empty", run_empty},
    {"zeros", run_zeros},
    {"ones", run_ones},
    {"full", run_full},
    {"eye", run_eye},
    {"arange", run_arange},
    {"linspace", run_linspace},
    {"logspace", run_logspace},
    {"empty_like", run_like},
    {"zeros_like", run_like},
    {"ones_like", run_like},
    {"full_like", run_like},
    {"rand_like", run_like},
    {"randn_like", run_like},
    {NULL, NULL},
};

/* ---- gradients ---- */

F(fill, tn_fill(x, tn_scalar_t(tn_select(y, 0, 0))))
F(zero_, tn_mul(tn_zero_(tn_clone(x)), y))

static const gradient_case gradients[] = {
    {"fill", f_fill, 2, {M34, NINE}, false},
    TWO(zero_),
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

static bool record_fill(record *r, results *out)
{
    return give(out, tn_fill(r->input.t, scalar_of(record_arg(r, 0, "value"))));
}

static bool record_zero_(record *r, results *out)
{
    return give(out, tn_zero_(tn_clone(r->input.t)));
}

#define LIKE(name) \
    static bool record_##name##_like(record *r, results *out) \
    { \
        return give(out, tn_##name##_like(r->input.t DTYPE)); \
    } \
    static bool record_##name(record *r, results *out) \
    { \
        dims_buffer b; \
        tn_options o = options_of(r); \
        return give(out, tn_##name##_opt(TN__DIMS(dims_of(r->input, &b)), &o)); \
    }

LIKE(zeros)
LIKE(ones)

static bool record_full(record *r, results *out)
{
    dims_buffer b;
    tn_options o = options_of(r);
    return give(out, tn_full_opt(TN__DIMS(dims_of(r->input, &b)), scalar_of(record_arg(r, 0, "fill_value")), &o));
}

static bool record_full_like(record *r, results *out)
{
    return give(out, tn_full_like(r->input.t, scalar_of(record_arg(r, 0, "fill_value")) DTYPE));
}

static bool record_arange(record *r, results *out)
{
    tn_options o = options_of(r);
    value end = record_arg(r, 0, "end"), step = record_arg(r, 1, "step");
    tn_scalar start = scalar_of(r->input);
    return give(out, tn_arange_opt(start, scalar_of(end), step.kind ? scalar_of(step) : tn_scalar_i(1), &o));
}

static bool record_linspace(record *r, results *out)
{
    tn_options o = options_of(r);
    return give(out, tn_linspace_opt(scalar_of(r->input), scalar_of(record_arg(r, 0, "end")),
                                     int_of(record_arg(r, 1, "steps"), 0), &o));
}

static bool record_logspace(record *r, results *out)
{
    tn_options o = options_of(r);
    value base = record_arg(r, 2, "base");
    return give(out, tn_logspace_opt(scalar_of(r->input), scalar_of(record_arg(r, 0, "end")),
                                     int_of(record_arg(r, 1, "steps"), 0),
                                     base.kind == V_ABSENT ? tn_scalar_i(10) : scalar_of(base), &o));
}

static bool record_eye(record *r, results *out)
{
    tn_options o = options_of(r);
    return give(out, tn_eye_opt(int_of(r->input, 0), int_of(record_arg(r, 0, "m"), -1), &o));
}

static const named_adapter adapters[] = {
    {"fill", record_fill},
    {"zero_", record_zero_},
    {"zeros", record_zeros},
    {"ones", record_ones},
    {"zeros_like", record_zeros_like},
    {"ones_like", record_ones_like},
    {"full", record_full},
    {"full_like", record_full_like},
    {"arange", record_arange},
    {"linspace", record_linspace},
    {"logspace", record_logspace},
    {"eye", record_eye},
    {NULL, NULL},
};

const family_tests factory_tests = {cases, gradients, adapters};
