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

/* ---- logcumsumexp ---- */

static void logcumsumexp_each(kit_array *x)
{
    for (int32_t d = 0; d < (x->ndim ? x->ndim : 1) && kit_is_float(x->dtype); d++) {
        const lane l = lane_of(x, d);
        expected e;
        expected_init(&e, x->dtype, x->ndim, x->shape);
        expected_tolerate(&e);
        for (int64_t i = 0; i < e.numel; i++) {
            const bool first = i / l.inner % l.n == 0;
            const real v = x->v[i], before = first ? v : e.v[i - l.inner];
            const real high = v > before ? v : before, low = v > before ? before : v;
            e.v[i] = first || v == before ? v + (first ? 0 : logl(2))
                     : isnan(v + before)  ? v + before
                                          : high + log1pl(expl(low - high));
            e.tol[i] = isfinite(e.v[i])
                           ? 16 * compute_eps(x->dtype) * (fabsl(e.v[i]) + 1) * (real)(i / l.inner % l.n + 1) +
                                 kit_ulp(x->dtype, e.v[i])
                           : 0;
        }
        check_free(&e, tn_logcumsumexp(x->t, d), "logcumsumexp of %s %s %s, dim %d", tn_dtype_name(x->dtype),
                   kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], (int)d);
    }
}

/* Rows of several blocks, of which some are far apart, in each layout of memory. */
static void logcumsumexp_long(void)
{
    static const shape_list shapes[] = {{1, {3000}}, {2, {300, 40}}, {2, {40, 300}}};
    for (size_t k = 0; k < TN_COUNT(shapes); k++)
        for (int i = 0; i < KIT_DTYPES; i++) {
            kit_array x;
            tn_scope *scope = tn_scope_open();
            random_array(&x, kit_dtypes[i], shapes[k].ndim, shapes[k].dim, (kit_layout)((size_t)i % KIT_EXPANDED),
                         true);
            for (int64_t n = 0; n < x.numel; n++)
                if (n / 100 % 3 == 1)
                    x.v[n] -= 200;
            if (kit_is_float(x.dtype)) {
                kit_show(&x);
                logcumsumexp_each(&x);
            }
            kit_array_free(&x);
            tn_scope_close(scope);
        }
}

static void run_logcumsumexp(void)
{
    each_array(logcumsumexp_each, true);
    logcumsumexp_long();
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_tensor_from(TN_LIST(-INFINITY, -INFINITY, 0.0, INFINITY, INFINITY, 1.0));
    HOLDS(tn_logcumsumexp(x, 0), TN_SHAPE(6), -INFINITY, -INFINITY, 0, INFINITY, INFINITY, INFINITY);
    REFUSED(tn_logcumsumexp(x, 1), TN_EINDEX, "Dimension out of range");
    REFUSED(tn_logcumsumexp(tn_ones(TN_SHAPE(2), .dtype = TN_I64), 0), TN_EDTYPE,
            kit_on_cpu() ? "\"logcumsumexp_out_cpu\" not implemented for 'Long'"
                         : "\"logcumsumexp_out_cuda\" not implemented for 'Long'");
    tn_scope_close(s);
}

/* ---- integrals ---- */

static void run_cumulative_trapezoid(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *y = tn_reshape(tn_arange(0, 6, 1, .dtype = TN_F32), TN_SHAPE(2, 3));
    HOLDS(tn_cumulative_trapezoid(y, -1), TN_SHAPE(2, 2), 0.5, 2, 3.5, 8);
    HOLDS(tn_cumulative_trapezoid(y, 0, .dx = tn_scalar_f(2)), TN_SHAPE(1, 3), 3, 5, 7);
    HOLDS(tn_cumulative_trapezoid(y, 1, .x = tn_tensor_from(TN_LIST(0.0, 1.0, 3.0))), TN_SHAPE(2, 2), 0.5, 3.5, 3.5,
          12.5);
    HOLDS(tn_cumulative_trapezoid(y, 1, .x = y), TN_SHAPE(2, 2), 0.5, 2, 3.5, 8);
    HOLDS(tn_cumulative_trapezoid(tn_zeros(TN_SHAPE(0)), 0), TN_SHAPE(0), 0);
    REFUSED(tn_cumulative_trapezoid(y, 1, .x = tn_ones(TN_SHAPE(2))), TN_EINVAL, "There must be one `x` value");
    REFUSED(tn_cumulative_trapezoid(tn_gt(y, 0), 1), TN_EMISSING, "received a bool input for `y`");
    REFUSED(tn_cumulative_trapezoid(tn_ones(TN_SHAPE()), 0), TN_EINDEX, "slice() cannot be applied to a 0-dim tensor.");
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

/* What is behind each place: what a scan of it from the other end gives, in each layout, rows long and short. */
static void run_behind(void)
{
    static const shape_list shapes[] = {{0, {0}},     {1, {3000}},      {2, {3000, 3}}, {2, {3, 3000}},
                                        {2, {70, 8}}, {3, {5, 20, 30}}, {2, {0, 3}},    {2, {300, 40}}};
    for (size_t k = 0; k < TN_COUNT(shapes) * KIT_DTYPES * KIT_LAYOUTS; k++) {
        kit_array x;
        tn_scope *scope = tn_scope_open();
        const shape_list *shape = &shapes[k / KIT_LAYOUTS / KIT_DTYPES];
        random_array(&x, kit_dtypes[k / KIT_LAYOUTS % KIT_DTYPES], shape->ndim, shape->dim,
                     (kit_layout)(k % KIT_LAYOUTS), true);
        for (int32_t d = 0; d < x.ndim && kit_is_float(x.dtype); d++) {
            const double near = x.dtype == TN_F16 || x.dtype == TN_BF16 ? 0.01 : 1e-6;
            const tn_dims dim = TN_DIMS(d);
            tn_tensor *sums = tn_flip(tn_cumsum(tn_flip(x.t, dim), d), dim);
            tn_tensor *logs = tn_flip(tn_logcumsumexp(tn_flip(x.t, dim), d), dim);
            TRUTH(same_within(tn__sum_behind(x.t, d), sums, near));
            TRUTH(same_within(tn__logsum_behind(x.t, d), logs, near));
        }
        kit_array_free(&x);
        tn_scope_close(scope);
    }
}

static void run_cumsum(void)
{
    static const int64_t n = 5000;
    each_array(cumsum_all, true);
    run_behind();
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

/* ---- cummax, cummin ---- */

/* The last of the largest (smallest) so far; NaN is larger and smaller than all, and the last of them counts. */
static void extremes_along(const kit_array *x, int32_t dim, bool largest)
{
    const lane l = lane_of(x, dim);
    const int64_t asked = dim - (int64_t)(kit_random() & 1) * (x->ndim ? x->ndim : 1);
    const char *name = largest ? "cummax" : "cummin";
    tn_tensor *indices = NULL, *got = largest ? tn_cummax(x->t, asked, .indices = &indices)
                                              : tn_cummin(x->t, asked, .indices = &indices);
    expected v, at;
    expected_init(&v, x->dtype, x->ndim, x->shape);
    expected_init(&at, TN_I64, x->ndim, x->shape);
    v.bits = true;
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t n = 0; n < l.inner; n++) {
            const int64_t first = o * l.n * l.inner + n;
            int64_t best = 0;
            for (int64_t k = 0; k < l.n; k++) {
                const real b = x->v[first + best * l.inner], new = x->v[first + k * l.inner];
                if (isnan(new) || (!isnan(b) && (largest ? new >= b : new <= b)))
                    best = k;
                v.v[first + k * l.inner] = x->v[first + best * l.inner];
                at.v[first + k * l.inner] = (real)best;
            }
        }
    check_free(&v, got, "%s of %s %s %s, dim %d", name, tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
               kit_layout_names[x->layout], (int)dim);
    check_free(&at, indices, "indices of %s of %s %s %s, dim %d", name, tn_dtype_name(x->dtype),
               kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], (int)dim);
}

static void extremes_each(kit_array *x)
{
    for (int32_t d = 0; d < (x->ndim ? x->ndim : 1); d++) {
        extremes_along(x, d, true);
        extremes_along(x, d, false);
    }
}

/* Lines longer than a block, with many ties, NaN and both zeros. */
static void extremes_long(void)
{
    static const real special[6] = {0, -0.0L, 1, KIT_INF, -KIT_INF, KIT_NAN};
    static const shape_list shapes[] = {{1, {70001}}, {2, {3, 5000}}, {2, {5000, 3}}, {3, {33, 40, 50}}};
    for (int i = 0; i < KIT_DTYPES; i++)
        for (size_t k = 0; k < TN_COUNT(shapes); k++) {
            kit_array x;
            tn_scope *scope = tn_scope_open();
            kit_array_init(&x, kit_dtypes[i], shapes[k].ndim, shapes[k].dim,
                           (kit_layout)((k + (size_t)i) % KIT_EXPANDED));
            for (int64_t n = 0; n < x.numel; n++)
                x.v[n] = (real)kit_below(kit_dtypes[i] == TN_BOOL ? 2 : 5);
            for (int n = 0; n < 6 && kit_is_float(x.dtype); n++)
                x.v[x.numel / 2 + kit_below(x.numel / 2)] = special[n];
            kit_show(&x);
            extremes_each(&x);
            kit_array_free(&x);
            tn_scope_close(scope);
        }
}

static void run_extremes(void)
{
    each_array(extremes_each, false);
    extremes_long();
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED(tn_cummax(x, 2), TN_EINDEX, "Dimension out of range (expected to be in range of [-2, 1], but got 2)");
    REFUSED(tn_cummin(x, -3), TN_EINDEX, "Dimension out of range (expected to be in range of [-2, 1], but got -3)");
    REFUSED(tn_cummax(tn_zeros(TN_SHAPE(2), .dtype = TN_U16), 0), TN_EDTYPE,
            kit_on_cpu() ? "\"cummax_cpu\" not implemented for 'UInt16'"
                         : "\"cummax_cuda\" not implemented for 'UInt16'");
    REFUSED(tn_cummin(TN_NONE, 0), TN_ETYPE, "operand 1 must be a tensor");
    /* PyTorch's: the gradient of 1 3 3 2 is 1 1 2 0 */
    tn_tensor *y = tn_requires_grad_(tn_tensor_from(TN_LIST(1.0, 3.0, 3.0, 2.0)), true);
    TRUTH(tn_backward(tn_sum(tn_cummax(y, 0))) == TN_OK);
    HOLDS(tn_tensor_grad(y), TN_SHAPE(4), 1, 1, 2, 0);
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"cumprod", run_cumprod},
    {"cumsum", run_cumsum},
    {"cummax", run_extremes},
    {"cummin", run_extremes},
    {"logcumsumexp", run_logcumsumexp},
    {"cumulative_trapezoid", run_cumulative_trapezoid},
    {NULL, NULL},
};

/* ---- gradients ---- */

F(cumsum_0, tn_cumsum(tn_mul(x, x), -1))
F(cumsum, tn_cumsum(x, 1))
F(cumsum_first, tn_cumsum(x, 0))
F(cumprod, tn_cumprod(x, 1))
F(cumprod_first, tn_cumprod(x, 0))
F(cumprod_zeros, tn_cumprod(tn_mul(x, tn_gt(x, 0.5)), 1))
F(cumprod_0, tn_cumprod(tn_mul(x, x), -1))
F(logcumsumexp, tn_logcumsumexp(x, 1))
F(logcumsumexp_first, tn_logcumsumexp(x, 0))
F(logcumsumexp_0, tn_logcumsumexp(tn_mul(x, x), -1))
F(cumulative_trapezoid, tn_cumulative_trapezoid(x, 1))
F(cummax, tn_cummax(x, 1))
F(cummax_first, tn_cummax(x, 0))
F(cummax_0, tn_cummax(tn_mul(x, x), -1))
F(cummin, tn_cummin(x, -1))
F(cummin_first, tn_cummin(x, 0))

static const gradient_case gradients[] = {
    {"cumsum of 0-dim", f_cumsum_0, 1, {{0}}, false},
    ONE(cumsum),
    ONE(cumsum_first),
    ONE(cumprod),
    ONE(cumprod_first),
    ONE(cumprod_zeros),
    {"cumprod of 0-dim", f_cumprod_0, 1, {{0}}, false},
    ONE(logcumsumexp),
    ONE(logcumsumexp_first),
    {"logcumsumexp of 0-dim", f_logcumsumexp_0, 1, {{0}}, false},
    ONE(cumulative_trapezoid),
    ONE(cummax),
    ONE(cummax_first),
    {"cummax of 0-dim", f_cummax_0, 1, {{0}}, false},
    ONE(cummin),
    ONE(cummin_first),
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

ALONG(cumsum)

ADAPTER(cumprod, tn_cumprod(x, int_of(record_arg(r, 0, "dim"), 0) DTYPE))

ADAPTER(logcumsumexp, tn_logcumsumexp(x, int_of(record_arg(r, 0, "dim"), 0)))
ADAPTER(cumulative_trapezoid, tn_cumulative_trapezoid(x, int_of(record_arg(r, -1, "dim"), -1), .x = TENSOR(0, "x"),
                                                      .dx = scalar_of(record_arg(r, -1, "dx"))))

#define EXTREMES(name) \
    static bool record_##name(record *r, results *out) \
    { \
        out->t[0] = tn_##name(r->input.t, int_of(record_arg(r, 0, "dim"), 0), .indices = &out->t[1]); \
        out->n = 2; \
        return true; \
    }
EXTREMES(cummax)
EXTREMES(cummin)

static const named_adapter adapters[] = {
    {"cumsum", record_cumsum},
    {"cummax", record_cummax},
    {"cummin", record_cummin},
    {"cumprod", record_cumprod},
    {"logcumsumexp", record_logcumsumexp},
    {"cumulative_trapezoid", record_cumulative_trapezoid},
    {NULL, NULL},
};

const family_tests scan_tests = {cases, gradients, adapters};
