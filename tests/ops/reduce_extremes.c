/* Extremes with their indices. */
#include "ops/family.h"

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
    const tn_dims dims = named ? TN_DIMS(dim) : (tn_dims){0};
    switch (what) {
    case MAX: return OPTIONAL(max, x, ONE_OF(dims), .keepdim = keepdim, .indices = indices);
    case MIN: return OPTIONAL(min, x, ONE_OF(dims), .keepdim = keepdim, .indices = indices);
    case ARGMAX: return OPTIONAL(argmax, x, ONE_OF(dims), .keepdim = keepdim);
    default: return OPTIONAL(argmin, x, ONE_OF(dims), .keepdim = keepdim);
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
    expected values, index;
    expected_init(&values, x->dtype, ndim, shape);
    expected_init(&index, TN_I64, ndim, shape);
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t n = 0; n < l.inner; n++, i++) {
            int64_t first = o * l.n * l.inner + n, k = best_of(what, x, l, first);
            values.v[i] = x->v[first + k * l.inner];
            index.v[i] = (real)k;
        }
    check(what >= ARGMAX ? &index : &values, got, "%s", words);
    if (what < ARGMAX && named)
        check(&index, indices, "indices of %s", words);
    expected_free(&values);
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
            if (kit_is_float(x.dtype) && k % 2) /* NaN beats all, the first of several */
                x.v[x.numel / 3] = x.v[x.numel - 2] = x.v[x.numel / 2] = (real)NAN;
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

/* Rows that go in pieces: of equals in several the first counts, and so does the first NaN. */
static void of_pieces(void)
{
    static const tn_dtype dtypes[] = {TN_F32, TN_F64, TN_BF16, TN_I64, TN_I32};
    const int64_t n = 100003;
    for (size_t k = 0; k < TN_COUNT(dtypes); k++) {
        tn_scope *s = tn_scope_open();
        tn_tensor *x = tn_zeros(TN_SHAPE(2, n), .dtype = dtypes[k]), *first = tn_select(x, 0, 0),
                  *second = tn_select(x, 0, 1);
        tn_fill_(tn_narrow(first, 0, 40000, 60000), 5);
        tn_fill_(tn_narrow(second, 0, n - 1, 1), -5);
        HOLDS(tn_argmax(x, .dim = 1), TN_SHAPE(2), 40000, 0);
        HOLDS(tn_argmin(x, .dim = 1), TN_SHAPE(2), 0, n - 1);
        HOLDS(tn_argmax(x), TN_SHAPE(), 40000);
        HOLDS(tn_argmin(x), TN_SHAPE(), 2 * n - 1);
        if (dtypes[k] != TN_I64 && dtypes[k] != TN_I32) {
            tn_fill_(tn_narrow(second, 0, 70000, 10000), NAN);
            HOLDS(tn_argmax(x), TN_SHAPE(), n + 70000);
            HOLDS(tn_argmin(x, .dim = 1), TN_SHAPE(2), 0, 70000);
        }
        tn_scope_close(s);
    }
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
    of_pieces();
    bad_dims(ARGMAX);
}

static void run_argmin(void)
{
    each_array(argmin_any, false);
    ties(ARGMIN);
    bad_dims(ARGMIN);
}

static const structural_case cases[] = {
    {"max", run_max}, {"min", run_min}, {"argmax", run_argmax}, {"argmin", run_argmin}, {NULL, NULL},
};

/* ---- gradients ---- */

F(max_0, tn_max(tn_mul(x, x), .dim = -1))
F(max, tn_max(x, .dim = 1))
F(max_keep, tn_max(x, .dim = 0, .keepdim = true))
F(max_all, tn_max(x))
F(min, tn_min(x, .dim = 1))
F(min_all, tn_min(x))

static const gradient_case gradients[] = {
    {"max of 0-dim", f_max_0, 1, {{0}}, false}, ONE(max), ONE(max_keep), ONE(max_all), ONE(min), ONE(min_all),
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

REDUCTION_OVER_ONE(argmax)
REDUCTION_OVER_ONE(argmin)

#define EXTREME(name) \
    static bool record_##name##_all(record *r, results *out) \
    { \
        return give(out, tn_##name(r->input.t)); \
    } \
    static bool record_##name##_dim(record *r, results *out) \
    { \
        tn_tensor *indices = NULL; \
        int64_t dim = int_of(record_arg(r, 0, "dim"), 0); \
        bool keepdim = flag_of(record_arg(r, 1, "keepdim")); \
        out->t[0] = tn_##name(r->input.t, .dim = dim, .keepdim = keepdim, .indices = &indices); \
        out->t[1] = indices; \
        out->n = 2; \
        return true; \
    }

EXTREME(max)
EXTREME(min)

static const named_adapter adapters[] = {
    {"argmax", record_argmax},
    {"argmin", record_argmin},
    {"max.reduction_no_dim", record_max_all},
    {"max.reduction_with_dim", record_max_dim},
    {"min.reduction_no_dim", record_min_all},
    {"min.reduction_with_dim", record_min_dim},
    {NULL, NULL},
};

const family_tests reduce_extremes_tests = {cases, gradients, adapters};
