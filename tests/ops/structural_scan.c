/* Extremes with their indices, running sums, softmax: along each dimension, in every dtype and layout. */
#include "ops/structural.h"

typedef enum kind { MAX, MIN, ARGMAX, ARGMIN } kind;
static const char *const kind_names[] = {"max", "min", "argmax", "argmin"};

/* ---- max min argmax argmin ---- */

/* The first NaN, or else the first of the largest (smallest). */
static int64_t best_of(kind what, const kit_array *x, lane l, int64_t first)
{
    int64_t best = 0;
    for (int64_t k = 0; k < l.n; k++) {
        real v = x->v[first + k * l.inner], b = x->v[first + best * l.inner];
        if (isnan(v)) {
            return k;
        }
        if (what == MAX || what == ARGMAX ? v > b : v < b)
            best = k;
    }
    return best;
}

static tn_tensor *call(kind what, tn_tensor *x, int64_t dim, bool named, bool keepdim, tn_tensor **indices)
{
    const tn_dims dims = named ? TN_DIMS(dim) : (tn_dims){0, NULL};
    switch (what) {
    case MAX: return tn_max(x, .dim = dims, .keepdim = keepdim, .indices = indices);
    case MIN: return tn_min(x, .dim = dims, .keepdim = keepdim, .indices = indices);
    case ARGMAX: return tn_argmax(x, .dim = dims, .keepdim = keepdim);
    default: return tn_argmin(x, .dim = dims, .keepdim = keepdim);
    }
}

static void one_dim(kind what, const kit_array *x, int32_t dim, bool named, bool keepdim)
{
    int64_t shape[TN_MAX_DIMS], i = 0;
    const lane l = named ? lane_of(x, dim) : (lane){1, x->numel, 1};
    int32_t ndim = named ? without_dim(x, dim, keepdim, shape) : 0;
    for (; !named && keepdim && ndim < x->ndim; ndim++)
        shape[ndim] = 1;
    tn_tensor *indices = NULL,
              *got = call(what, x->t, kit_random() & 1 ? dim : dim - (x->ndim ? x->ndim : 1), named, keepdim, &indices);
    char words[160];
    snprintf(words, sizeof words, "%s of %s %s %s, dim %d%s, keepdim %d", kind_names[what], tn_dtype_name(x->dtype),
             kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], (int)dim, named ? "" : " (all)",
             (int)keepdim);
    if (x->dtype == TN_BOOL && what >= ARGMAX) {
        refused(got, TN_EDTYPE, "does not support bool input", words);
        return;
    }
    if (l.n == 0) {
        refused(got, named ? TN_EINDEX : TN_EINVAL,
                named ? "to have non-zero size." : "Expected reduction dim to be specified", words);
        return;
    }
    expected value, index;
    expected_init(&value, x->dtype, ndim, shape);
    expected_init(&index, TN_I64, ndim, shape);
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t n = 0; n < l.inner; n++, i++) {
            int64_t first = o * l.n * l.inner + n, k = best_of(what, x, l, first);
            value.v[i] = x->v[first + k * l.inner];
            index.v[i] = (real)k;
        }
    check(what >= ARGMAX ? &index : &value, got, "%s", words);
    if (what < ARGMAX && named)
        check(&index, indices, "indices of %s", words);
    expected_free(&value);
    expected_free(&index);
}

static void extremes(kind what, const kit_array *x)
{
    for (int keepdim = 0; keepdim < 2; keepdim++) {
        one_dim(what, x, 0, false, keepdim);
        for (int32_t d = 0; d < (x->ndim ? x->ndim : 1); d++)
            one_dim(what, x, d, true, keepdim);
    }
}

/* Many ties, and sizes at which work is cut into pieces. */
static void ties(kind what)
{
    static const shape_list shapes[] = {{1, {70001}}, {2, {300, 700}}, {2, {5, 9000}}, {3, {33, 40, 50}}};
    for (int i = 0; i < KIT_DTYPES; i++)
        for (size_t k = 0; k < TN_COUNT(shapes); k++) {
            kit_array x;
            tn_scope *scope = tn_scope_open();
            kit_array_init(&x, kit_dtypes[i], shapes[k].ndim, shapes[k].dim,
                           (kit_layout)((k + (size_t)i) % KIT_EXPANDED));
            for (int64_t n = 0; n < x.numel; n++)
                x.v[n] = (real)kit_below(5);
            kit_show(&x);
            extremes(what, &x);
            kit_array_free(&x);
            tn_scope_close(scope);
        }
}

static void max_any(kit_array *x)
{
    extremes(MAX, x);
}
static void min_any(kit_array *x)
{
    extremes(MIN, x);
}
static void argmax_any(kit_array *x)
{
    extremes(ARGMAX, x);
}
static void argmin_any(kit_array *x)
{
    extremes(ARGMIN, x);
}

static void bad_dims(kind what)
{
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3)), *indices = NULL;
    refused(call(what, x, 2, true, false, &indices), TN_EINDEX,
            "Dimension out of range (expected to be in range of [-2, 1], but got 2)", kind_names[what]);
    refused(call(what, x, -3, true, false, &indices), TN_EINDEX,
            "Dimension out of range (expected to be in range of [-2, 1], but got -3)", kind_names[what]);
    tn_release(x);
}

static void run_max(void)
{
    each_array(max_any, false);
    ties(MAX);
    bad_dims(MAX);
}
static void run_min(void)
{
    each_array(min_any, false);
    ties(MIN);
    bad_dims(MIN);
}
static void run_argmax(void)
{
    each_array(argmax_any, false);
    ties(ARGMAX);
    bad_dims(ARGMAX);
}
static void run_argmin(void)
{
    each_array(argmin_any, false);
    ties(ARGMIN);
    bad_dims(ARGMIN);
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

/* ---- softmax and log_softmax ---- */

static void softmax_to(const kit_array *x, int32_t dim, tn_dtype asked, bool log)
{
    tn_dtype to = asked ? asked : x->dtype;
    const lane l = lane_of(x, dim);
    const char *name = log ? "log_softmax" : "softmax";
    tn_tensor *got = log ? tn_log_softmax(x->t, dim, .dtype = asked) : tn_softmax(x->t, dim, .dtype = asked);
    if (!kit_is_float(to) && tn_tensor_numel(x->t)) {
        refused(got, TN_EDTYPE, "not implemented for", name);
        return;
    }
    expected e;
    expected_init(&e, to, x->ndim, x->shape);
    expected_tolerate(&e);
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t n = 0; n < l.inner; n++) {
            int64_t first = o * l.n * l.inner + n;
            real most = -KIT_INF, total = 0, eps = compute_eps(to);
            for (int64_t k = 0; k < l.n; k++) {
                real v = kit_convert(x->v[first + k * l.inner], x->dtype, to);
                most = v > most ? v : most;
            }
            for (int64_t k = 0; k < l.n; k++)
                total += expl(kit_convert(x->v[first + k * l.inner], x->dtype, to) - most);
            for (int64_t k = 0; k < l.n; k++) { /* errors: of the difference, of exp (4 ulp), of the sum, of log */
                int64_t at = first + k * l.inner;
                real d = kit_convert(x->v[at], x->dtype, to) - most;
                e.v[at] = log ? d - logl(total) : expl(d) / total;
                e.tol[at] = eps * (log ? 12 + fabsl(d) + logl(total) : (16 + fabsl(d)) * e.v[at]);
            }
        }
    e.ulps = kit_digits(to) < 24 ? 1 : 0;
    check_free(&e, got, "%s of %s %s %s, dim %d, dtype %s", name, tn_dtype_name(x->dtype),
               kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], (int)dim,
               asked ? tn_dtype_name(asked) : "-");
}

static void softmax_all(kit_array *x, bool log)
{
    for (int32_t d = 0; d < (x->ndim ? x->ndim : 1); d++) {
        softmax_to(x, d, TN_DTYPE_DEFAULT, log);
        for (int i = 0; i < KIT_DTYPES && x->ndim < 4 && x->layout < KIT_ROTATED; i++)
            softmax_to(x, d, kit_dtypes[i], log);
    }
}

static void softmax_each(kit_array *x)
{
    softmax_all(x, false);
}
static void log_softmax_each(kit_array *x)
{
    softmax_all(x, true);
}

/* Infinities and NaN (a whole row of -inf is NaN), and rows longer than a block. */
static void softmax_special(bool log)
{
    static const real v[6] = {1, KIT_INF, -KIT_INF, KIT_NAN, 0, 88};
    static const shape_list long_rows[] = {{2, {3, 5000}}, {2, {5000, 3}}, {2, {40, 1025}}};
    for (int i = 6; i < KIT_DTYPES; i++) {
        tn_scope *scope = tn_scope_open();
        for (int a = 0; a < 216; a++) {
            kit_array x;
            kit_array_init(&x, kit_dtypes[i], 2, (int64_t[]){2, 3}, KIT_DENSE);
            for (int k = 0; k < 6; k++)
                x.v[k] = k < 3 ? v[k == 0 ? a % 6 : k == 1 ? a / 6 % 6 : a / 36] : (real)k;
            kit_show(&x);
            softmax_to(&x, a % 2, TN_DTYPE_DEFAULT, log);
            kit_array_free(&x);
        }
        for (size_t k = 0; k < TN_COUNT(long_rows); k++) {
            kit_array x;
            random_array(&x, kit_dtypes[i], 2, long_rows[k].dim, KIT_DENSE, true);
            softmax_to(&x, 0, TN_DTYPE_DEFAULT, log);
            softmax_to(&x, 1, TN_DTYPE_DEFAULT, log);
            kit_array_free(&x);
        }
        tn_scope_close(scope);
    }
}

static void run_softmax(void)
{
    each_array(softmax_each, true);
    softmax_special(false);
}
static void run_log_softmax(void)
{
    each_array(log_softmax_each, true);
    softmax_special(true);
}

const structural_case cases_scan[] = {
    {"max", run_max},       {"min", run_min},         {"argmax", run_argmax},           {"argmin", run_argmin},
    {"cumsum", run_cumsum}, {"softmax", run_softmax}, {"log_softmax", run_log_softmax}, {NULL, NULL},
};
