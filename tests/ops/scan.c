/* Running sums, products and extremes along a dimension. */
#include "ops/family.h"

/* ---- cumprod ---- */

static void cumprod_each(kit_array *x)
{
    for (int32_t d = 0; d < x->ndim; d++) {
        const lane l = lane_of(x, d);
        const tn_dtype to = kit_is_float(x->dtype) ? x->dtype : TN_I64;
        expected e;
        expected_init(&e, to, x->ndim, x->shape);
        expected_tolerate(&e);
        for (int64_t i = 0; i < e.numel; i++) {
            const bool first = i / l.inner % l.n == 0;
            const real v = kit_convert(x->v[i], x->dtype, to);
            e.v[i] = first ? v : e.v[i - l.inner] * v;
            if (!kit_is_float(to))
                e.v[i] = kit_round(e.v[i], to);
            e.tol[i] = kit_is_float(to) ? 12 * kit_ulp(to, e.v[i]) : 0;
        }
        check_free(&e, tn_cumprod(x->t, d), "cumprod of %s %s %s, dim %d", tn_dtype_name(x->dtype),
                   kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], (int)d);
    }
}

static void run_cumprod(void)
{
    each_array(cumprod_each, true);
    tn_scope *s = tn_scope_open();
    REFUSED(tn_cumprod(tn_ones(TN_SHAPE(2)), 1), TN_EINDEX, "Dimension out of range");
    tn_scope_close(s);
}

/* ---- cumsum ---- */

static void cumsum_to(const kit_array *x, int32_t dim, tn_dtype asked)
{
    tn_dtype to = asked ? asked : kit_is_float(x->dtype) ? x->dtype : TN_I64;
    const lane l = lane_of(x, dim);
    expected e;
    expected_init(&e, to, x->ndim, x->shape);
    expected_tolerate(&e);
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t n = 0; n < l.inner; n++) {
            real sum = 0, sizes = 0;
            uint64_t whole = 0;
            for (int64_t k = 0; k < l.n; k++) {
                int64_t at = (o * l.n + k) * l.inner + n;
                real v = kit_convert(x->v[at], x->dtype, to);
                sum += v;
                sizes += fabsl(v);
                whole += kit_is_float(to) ? 0 : (uint64_t)(int64_t)v;
                e.v[at] = kit_is_float(to) ? sum : kit_round((real)(int64_t)whole, to);
                e.tol[at] = compute_eps(to) * (k + 1) * sizes;
            }
        }
    e.ulps = kit_digits(to) < 24 ? 1 : 0;
    check_free(&e, tn_cumsum(x->t, dim - (int64_t)(kit_random() & 1) * (x->ndim ? x->ndim : 1), .dtype = asked),
               "cumsum of %s %s %s, dim %d, dtype %s", tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
               kit_layout_names[x->layout], (int)dim, asked ? tn_dtype_name(asked) : "-");
}

static void cumsum_all(kit_array *x)
{
    for (int32_t d = 0; d < (x->ndim ? x->ndim : 1); d++) {
        cumsum_to(x, d, TN_DTYPE_DEFAULT);
        for (int i = 1; i < KIT_DTYPES && x->ndim < 4; i++)
            cumsum_to(x, d, kit_dtypes[i]);
    }
}

static void run_cumsum(void)
{
    static const int64_t n = 5000;
    each_array(cumsum_all, true);
    for (int i = 0; i < KIT_DTYPES; i++) {
        kit_array x;
        tn_scope *scope = tn_scope_open();
        random_array(&x, kit_dtypes[i], 1, &n, (kit_layout)(i % KIT_LAYOUTS), true);
        cumsum_to(&x, 0, TN_DTYPE_DEFAULT);
        if (kit_is_float(x.dtype)) { /* NaN and infinity go on */
            x.v[1000] = KIT_INF;
            x.v[2000] = -KIT_INF;
            kit_show(&x);
            cumsum_to(&x, 0, TN_DTYPE_DEFAULT);
        }
        kit_array_free(&x);
        tn_scope_close(scope);
    }
    tn_scope *s = tn_scope_open();
    REFUSED(tn_cumsum(tn_ones(TN_SHAPE(2)), 0, .dtype = TN_BOOL), TN_EDTYPE,
            kit_on_cpu() ? "\"cumsum_out_cpu\" not implemented for 'Bool'"
                         : "\"cumsum_cuda\" not implemented for 'Bool'");
    REFUSED(tn_cumsum(tn_ones(TN_SHAPE(2)), 1), TN_EINDEX,
            "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"cumprod", run_cumprod},
    {"cumsum", run_cumsum},
    {NULL, NULL},
};

/* ---- gradients ---- */

F(cumsum_0, tn_cumsum(tn_mul(x, x), -1))
F(cumsum, tn_cumsum(x, 1))
F(cumsum_first, tn_cumsum(x, 0))

static const gradient_case gradients[] = {
    {"cumsum of 0-dim", f_cumsum_0, 1, {{0}}, false},
    ONE(cumsum),
    ONE(cumsum_first),
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

ALONG(cumsum)

ADAPTER(cumprod, tn_cumprod(x, int_of(record_arg(r, 0, "dim"), 0) DTYPE))

static const named_adapter adapters[] = {
    {"cumsum", record_cumsum},
    {"cumprod", record_cumprod},
    {NULL, NULL},
};

const family_tests scan_tests = {cases, gradients, adapters};
