/* Softmax and its logarithm. */
#include "ops/family.h"

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

/* Rows of n along a dimension of a matrix: some have infinities and NaN, one has nothing else. */
static void softmax_of_some(tn_dtype dtype, int64_t width, int64_t n, int64_t dim, bool log)
{
    kit_array x;
    kit_array_init(&x, dtype, 2, dim ? (int64_t[]){width, n} : (int64_t[]){n, width}, KIT_DENSE);
    for (int64_t i = 0; i < x.numel; i++) {
        const int64_t row = dim ? i / n : i % width, k = dim ? i % n : i / width;
        x.v[i] = kit_round((real)kit_below(100) / 25 - 2, dtype);
        if (row < 6 && (k == 285 || (row % 2 && k < 280)))
            x.v[i] = row < 2 ? -KIT_INF : row < 4 ? KIT_INF : KIT_NAN;
        if (row == 6)
            x.v[i] = -KIT_INF;
    }
    kit_show(&x);
    softmax_to(&x, dim, TN_DTYPE_DEFAULT, log);
    kit_array_free(&x);
}

/* Many long rows side by side, or each in one piece: with infinities and NaN in some; and gradients of both. */
static void softmax_beside(tn_dtype dtype, bool log)
{
    const int64_t n = 290, width = 37;
    kit_array x, g;
    softmax_of_some(dtype, width, n, 1, log);
    softmax_of_some(dtype, width, n, 0, log);
    random_array(&x, dtype, 2, (int64_t[]){n, width}, KIT_DENSE, true);
    random_array(&g, dtype, 2, (int64_t[]){n, width}, KIT_DENSE, true);
    tn_tensor *y = log ? tn_log_softmax(x.t, 0) : tn_softmax(x.t, 0);
    tn_tensor *yt = tn_contiguous(tn_t(y)), *gt = tn_contiguous(tn_t(g.t));
    tn_tensor *got = MADE(log ? tn__log_softmax_backward(g.t, y, 0) : tn__softmax_backward(g.t, y, 0));
    tn_tensor *want = MADE(log ? tn__log_softmax_backward(gt, yt, 1) : tn__softmax_backward(gt, yt, 1));
    tn_tensor *apart = tn_abs(tn_sub(tn_to(got, .dtype = TN_F64), tn_to(tn_t(want), .dtype = TN_F64)));
    const real most = kit_item(tn_max(tn_abs(tn_to(got, .dtype = TN_F64))), 0);
    TRUTH(kit_item(tn_max(apart), 0) <= most * (kit_digits(dtype) < 24 ? ldexpl(1, -kit_digits(dtype)) * 2 : 1e-5L));
    kit_array_free(&x);
    kit_array_free(&g);
}

/* Infinities and NaN (a whole row of -inf is NaN), and rows longer than a block. */
static void softmax_special(bool log)
{
    static const real v[6] = {1, KIT_INF, -KIT_INF, KIT_NAN, 0, 88};
    static const shape_list long_rows[] = {{2, {3, 5000}}, {2, {5000, 3}}, {2, {40, 1025}}, {2, {301, 523}}};
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
        softmax_beside(kit_dtypes[i], log);
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

static const structural_case cases[] = {
    {"softmax", run_softmax},
    {"log_softmax", run_log_softmax},
    {NULL, NULL},
};

/* ---- gradients ---- */

F(softmax, tn_softmax(x, 1))
F(softmax_first, tn_softmax(x, 0))
F(log_softmax, tn_log_softmax(x, -1))
F(log_softmax_first, tn_log_softmax(x, 0))
F(softmax_backward, tn__softmax_backward(x, y, 1))
F(log_softmax_backward, tn__log_softmax_backward(x, y, 0))

static const gradient_case gradients[] = {
    ONE(softmax),
    ONE(softmax_first),
    ONE(log_softmax),
    ONE(log_softmax_first),
    TWO(softmax_backward),
    TWO(log_softmax_backward),
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

ALONG(softmax)
ALONG(log_softmax)

ADAPTER(softmin, tn_softmax(tn_neg(x), DIM(0, "dim", -1) DTYPE))

static const named_adapter adapters[] = {
    {"softmax", record_softmax},
    {"log_softmax", record_log_softmax},
    {"softmax.with_dtype", record_softmax},
    {"log_softmax.with_dtype", record_log_softmax},
    {"nn.functional.softmin", record_softmin},
    {NULL, NULL},
};

const family_tests softmax_tests = {cases, gradients, adapters};
