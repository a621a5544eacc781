/* What stands at a place of the order: the k-th, medians, what is there most often, quantiles. */
#include "ops/family.h"

enum { MOST = 70001 };

/* ---- one of each row ---- */

static bool same(real a, real b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* In order, NaN the largest: by insertion into halves. */
static void put_in_order(real *v, int64_t n)
{
    static real other[MOST];
    if (n < 2)
        return;
    const int64_t half = n / 2;
    put_in_order(v, half);
    put_in_order(v + half, n - half);
    for (int64_t i = 0, a = 0, b = half; i < n; i++) {
        const bool second = a == half || (b < n && (v[b] < v[a] || (isnan(v[a]) && !isnan(v[b]))));
        other[i] = v[second ? b++ : a++];
    }
    memcpy(v, other, (size_t)n * sizeof *v);
}

/* Of the n in order: the k-th; the median; that of numbers; the first of those that are there most often. */
enum { KTH, MEDIAN, NANMEDIAN, MODE };
static real chosen(const real *v, int64_t n, int64_t k, int which)
{
    int64_t numbers = n, most = 0, at = 0;
    while (numbers && isnan(v[numbers - 1]))
        numbers--;
    if (which == MEDIAN)
        return v[numbers < n ? n - 1 : (n - 1) / 2];
    if (which == NANMEDIAN)
        return v[numbers ? (numbers - 1) / 2 : 0];
    if (which == KTH)
        return v[k - 1];
    for (int64_t i = 0, run = 0; i < n; i++) {
        run = i && v[i] == v[i - 1] ? run + 1 : 1;
        if (run > most) {
            most = run;
            at = i;
        }
    }
    return v[at];
}

static tn_tensor *asked(const kit_array *x, int32_t d, int64_t k, int which, bool keepdim, tn_tensor **indices)
{
    switch (which) {
    case KTH: return tn_kthvalue(x->t, k, d, .keepdim = keepdim, .indices = indices);
    case MEDIAN: return tn_median(x->t, .dim = d, .keepdim = keepdim, .indices = indices);
    case NANMEDIAN: return tn_nanmedian(x->t, .dim = d, .keepdim = keepdim, .indices = indices);
    default: return tn_mode(x->t, d, .keepdim = keepdim, .indices = indices);
    }
}

static void select_along(const kit_array *x, int32_t d, int which)
{
    static const char *const names[] = {"kthvalue", "median", "nanmedian", "mode"};
    static real row[MOST];
    const lane l = lane_of(x, d);
    const bool keepdim = kit_random() & 1;
    const int64_t k = 1 + kit_below(l.n ? l.n : 1);
    int64_t shape[TN_MAX_DIMS];
    int32_t ndim = 0;
    for (int32_t i = 0; i < x->ndim; i++)
        if (i != d || keepdim)
            shape[ndim++] = i == d ? 1 : x->shape[i];
    expected v, at;
    expected_init(&v, x->dtype, ndim, shape);
    expected_init(&at, TN_I64, ndim, shape);
    for (int64_t r = 0; r < v.numel; r++) {
        const int64_t first = r / l.inner * l.n * l.inner + r % l.inner;
        for (int64_t i = 0; i < l.n; i++)
            row[i] = x->v[first + i * l.inner];
        put_in_order(row, l.n);
        const real is = chosen(row, l.n, k, which);
        int64_t place = which == MODE ? l.n - 1 : 0;
        while (!same(x->v[first + place * l.inner], is))
            place += which == MODE ? -1 : 1;
        v.v[r] = is;
        at.v[r] = (real)place;
    }
    tn_tensor *indices = NULL, *got = asked(x, d, k, which, keepdim, &indices);
    check_free(&v, got, "%s of %s %s %s, dim %d, %lld", names[which], tn_dtype_name(x->dtype),
               kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], (int)d, (long long)k);
    if (which == MODE && x->numel && kit_is_float(x->dtype)) /* of NaN each is one of its own: the first is named */
        expected_free(&at);
    else
        check_free(&at, indices, "indices of %s of %s %s, dim %d", names[which], tn_dtype_name(x->dtype),
                   kit_shape_text(x->ndim, x->shape), (int)d);
}

static void select_each(kit_array *x)
{
    for (int32_t d = 0; d < (x->ndim ? x->ndim : 1); d++)
        for (int which = KTH; which <= MODE; which++)
            if ((x->dtype != TN_BOOL || which == MODE) && (x->ndim == 0 || x->shape[d]))
                select_along(x, d, which);
    if (x->dtype == TN_BOOL || x->numel == 0 || x->numel > MOST)
        return;
    static real all[MOST];
    memcpy(all, x->v, (size_t)x->numel * sizeof *all);
    put_in_order(all, x->numel);
    for (int which = MEDIAN; which <= NANMEDIAN; which++) {
        expected e;
        expected_init(&e, x->dtype, 0, NULL);
        e.v[0] = chosen(all, x->numel, 0, which);
        check_free(&e, which == MEDIAN ? tn_median(x->t) : tn_nanmedian(x->t), "median %d of all of %s %s", which,
                   tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape));
    }
}

/* Rows that are selected from digit by digit, and short ones; and such with NaN and many ties. */
static void select_long(void)
{
    static const shape_list shapes[] = {{1, {70001}}, {2, {3, 700}}, {2, {9, 16}}, {2, {9, 31}}};
    for (int i = 0; i < KIT_DTYPES; i++)
        for (size_t k = 0; k < TN_COUNT(shapes); k++)
            for (int ties = 0; ties < 2; ties++) {
                kit_array x;
                tn_scope *s = tn_scope_open();
                random_array(&x, kit_dtypes[i], shapes[k].ndim, shapes[k].dim, KIT_DENSE, true);
                for (int64_t n = 0; ties && n < x.numel; n++)
                    x.v[n] = (real)kit_below(kit_dtypes[i] == TN_BOOL ? 2 : 5);
                if (ties && kit_is_float(x.dtype))
                    x.v[kit_below(x.numel)] = KIT_NAN;
                if (ties)
                    kit_show(&x);
                select_each(&x);
                kit_array_free(&x);
                tn_scope_close(s);
            }
}

static void run_select(void)
{
    each_array(select_each, false);
    select_long();
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3)), *none = tn_zeros(TN_SHAPE(2, 0));
    REFUSED(tn_kthvalue(x, 4, 1), TN_EINVAL, "kthvalue(): selected number k out of range for dimension 1");
    REFUSED(tn_kthvalue(x, 0, 1), TN_EINVAL, "kthvalue(): selected number k out of range for dimension 1");
    REFUSED(tn_kthvalue(none, 1, 1), TN_EINDEX, "kthvalue(): Expected reduction dim 1 to have non-zero size.");
    REFUSED(tn_kthvalue(tn_gt(x, 0), 1, 1), TN_EDTYPE,
            kit_on_cpu() ? "\"kthvalue_cpu\" not implemented for 'Bool'"
                         : "\"kthvalue_cuda\" not implemented for 'Bool'");
    REFUSED(tn_median(x, .dim = 2), TN_EINDEX, "Dimension out of range");
    REFUSED(tn_median(none, .dim = 1), TN_EINDEX, "median(): Expected reduction dim 1 to have non-zero size.");
    REFUSED(tn_median(tn_gt(x, 0), .dim = 1), TN_EDTYPE, "\"median_out\" not implemented for 'Bool'");
    REFUSED(tn_mode(none, 1), TN_EINDEX, "mode(): Expected reduction dim 1 to have non-zero size.");
    REFUSED(tn_mode(TN_NONE, 0), TN_ETYPE, "TN_NONE");
    HOLDS(tn_isnan(tn_median(tn_zeros(TN_SHAPE(0)))), TN_SHAPE(), 1);
    HOLDS(tn_median(tn_zeros(TN_SHAPE(0), .dtype = TN_I16)), TN_SHAPE(), 0);
    HOLDS(tn_median(tn_zeros(TN_SHAPE(0), .dtype = TN_I32)), TN_SHAPE(), INT32_MIN);
    /* PyTorch's: what equals the median shares its gradient */
    tn_tensor *y = tn_requires_grad_(tn_tensor_from(TN_LIST(1.0, 3.0, 3.0, 8.0)), true);
    TRUTH(tn_backward(tn_median(y)) == TN_OK);
    HOLDS(tn_tensor_grad(y), TN_SHAPE(4), 0, 0.5, 0.5, 0);
    tn_scope_close(s);
}

/* ---- the first k, beside a row in order ---- */

typedef struct ranked {
    real v;
    int64_t at;
} ranked;

static int by_value(const void *p, const void *q)
{
    const ranked *a = p, *b = q;
    if (isnan(a->v) || isnan(b->v))
        return isnan(a->v) && isnan(b->v) ? (a->at > b->at) - (a->at < b->at) : isnan(a->v) ? 1 : -1;
    return a->v != b->v ? (a->v > b->v ? 1 : -1) : (a->at > b->at) - (a->at < b->at);
}

static int by_value_down(const void *p, const void *q)
{
    const ranked *a = p, *b = q;
    return same(a->v, b->v) ? (a->at > b->at) - (a->at < b->at) : -by_value(p, q);
}

/* Of rows x.shape[1] long, in bits and with where each was: the first of equals. */
static void first_k(const kit_array *x, int64_t k, bool smallest)
{
    const int64_t rows = x->shape[0], n = x->shape[1];
    ranked *row = malloc((size_t)n * sizeof *row);
    expected v, at, kth, kth_at;
    expected_init(&v, x->dtype, 2, (int64_t[]){rows, k});
    expected_init(&at, TN_I64, 2, (int64_t[]){rows, k});
    expected_init(&kth, x->dtype, 1, &rows);
    expected_init(&kth_at, TN_I64, 1, &rows);
    v.bits = kth.bits = true;
    for (int64_t r = 0; row && r < rows; r++) {
        for (int64_t i = 0; i < n; i++)
            row[i] = (ranked){x->v[r * n + i], i};
        qsort(row, (size_t)n, sizeof *row, smallest ? by_value : by_value_down);
        for (int64_t i = 0; i < k; i++) {
            v.v[r * k + i] = row[i].v;
            at.v[r * k + i] = (real)row[i].at;
        }
        int64_t first = k - 1;
        while (first && same(row[first - 1].v, row[k - 1].v))
            first--;
        kth.v[r] = row[first].v;
        kth_at.v[r] = (real)row[first].at;
    }
    free(row);
    tn_tensor *indices = NULL, *got = tn_topk(x->t, k, -1, .smallest = smallest, .indices = &indices);
    check_free(&v, got, "first %lld of %s %s", (long long)k, tn_dtype_name(x->dtype), kit_shape_text(2, x->shape));
    check_free(&at, indices, "indices of the first %lld of %s %s, smallest: %d", (long long)k, tn_dtype_name(x->dtype),
               kit_shape_text(2, x->shape), smallest);
    if (!smallest || x->dtype == TN_BOOL || tn__dtype_is_bare(x->dtype)) {
        expected_free(&kth);
        expected_free(&kth_at);
        return;
    }
    got = tn_kthvalue(x->t, k, -1, .indices = &indices);
    check_free(&kth, got, "%lld-th of %s %s", (long long)k, tn_dtype_name(x->dtype), kit_shape_text(2, x->shape));
    check_free(&kth_at, indices, "indices of the %lld-th of %s %s", (long long)k, tn_dtype_name(x->dtype),
               kit_shape_text(2, x->shape));
}

/* How values repeat: as they come; few values, among them both zeros, infinities and NaN; one value alone; the same but
 * for one in a thousand. */
enum { ANY, FEW_VALUES, ONE_VALUE, RARE_VALUES, MIXTURES };

static void mix(kit_array *x, int how)
{
    for (int64_t i = 0; how != ANY && i < x->numel; i++)
        x->v[i] =
            (real)(how == FEW_VALUES ? kit_below(x->dtype == TN_BOOL ? 2 : 5) : how == RARE_VALUES && i % 1009 == 7);
    for (int64_t i = 0; how == FEW_VALUES && kit_is_float(x->dtype) && i < x->numel; i++) {
        static const real odd[] = {-0.0, 0.0, INFINITY, -INFINITY, KIT_NAN};
        if (kit_below(40) == 0)
            x->v[i] = odd[kit_below(5)];
    }
    if (how != ANY)
        kit_show(x);
}

static void first_of(tn_dtype dtype, int64_t rows, int64_t n, const int64_t *k, int n_k)
{
    for (int how = ANY; how < MIXTURES; how++) {
        kit_array x;
        tn_scope *s = tn_scope_open();
        random_array(&x, dtype, 2, (int64_t[]){rows, n}, KIT_DENSE, false);
        mix(&x, how);
        for (int i = 0; i < n_k; i++)
            first_k(&x, k[i], kit_random() & 1);
        kit_array_free(&x);
        tn_scope_close(s);
    }
}

/* Rows that GPUs sort whole, that a group selects from (aligned to 16 bytes and not), that are cut into pieces; k up to what they
 * leave to sorting. */
static void run_first(void)
{
    for (int i = 0; i < KIT_DTYPES; i++) {
        first_of(kit_dtypes[i], 3, 17, (const int64_t[]){1, 5, 17}, 3);
        first_of(kit_dtypes[i], 2, 129, (const int64_t[]){1, 64, 129}, 3);
        first_of(kit_dtypes[i], 2, 2048, (const int64_t[]){3, 1024, 1025}, 3);
    }
    first_of(TN_F32, 2, 65552, (const int64_t[]){1}, 1);
    first_of(TN_F16, 1, 65537, (const int64_t[]){1000}, 1);
    first_of(TN_I64, 1, 65537, (const int64_t[]){1024}, 1);
    first_of(TN_U8, 1, 65552, (const int64_t[]){257}, 1);
    kit_array x;
    tn_scope *s = tn_scope_open();
    random_array(&x, TN_F32, 2, (const int64_t[]){1, 2000003}, KIT_DENSE, false);
    first_k(&x, 1000, true);
    kit_array_free(&x);
    tn_scope_close(s);
}

/* ---- quantiles ---- */

/* Of 1 2 4 8, whose places are 0, 1/3, 2/3 and 1. */
static void run_quantile(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_tensor_from(TN_LIST(4.0, 1.0, 8.0, 2.0)), *q = tn_tensor_from(TN_LIST(0.0, 0.5, 0.75, 1.0));
    static const char *const modes[] = {"linear", "lower", "higher", "midpoint", "nearest"};
    static const double want[5][4] = {{1, 3, 5, 8}, {1, 2, 4, 8}, {1, 4, 8, 8}, {1, 3, 6, 8}, {1, 4, 4, 8}};
    for (int m = 0; m < 5; m++) {
        holds(tn_quantile(x, q, .interpolation = modes[m]), TN_SHAPE(4), want[m], modes[m]);
        for (int k = 0; k < 4; k++) {
            static const double parts[] = {0, 0.5, 0.75, 1};
            holds(tn_quantile(x, parts[k], .interpolation = modes[m]), TN_SHAPE(), &want[m][k], modes[m]);
            holds(tn_nanquantile(x, parts[k], .interpolation = modes[m]), TN_SHAPE(), &want[m][k], modes[m]);
        }
    }
    tn_tensor *rows = tn_reshape(x, TN_SHAPE(2, 2)), *with_nan = tn_cat(TN_TENSORS(x, tn_full(TN_SHAPE(1), NAN)), 0);
    HOLDS(tn_quantile(rows, 0.5, .dim = 1), TN_SHAPE(2), 2.5, 5);
    HOLDS(tn_quantile(rows, 0.5, .dim = 0, .keepdim = true), TN_SHAPE(1, 2), 6, 1.5);
    HOLDS(tn_quantile(rows, 0.5, .keepdim = true), TN_SHAPE(1, 1), 3);
    HOLDS(tn_quantile(rows, tn_slice(q, 0, 0, 2, 1), .dim = 1), TN_SHAPE(2, 2), 1, 2, 2.5, 5);
    HOLDS(tn_quantile(rows, tn_slice(q, 0, 0, 2, 1), .dim = 0, .keepdim = true), TN_SHAPE(2, 1, 2), 4, 1, 6, 1.5);
    HOLDS(tn_isnan(tn_quantile(with_nan, 0.0)), TN_SHAPE(), 1);
    HOLDS(tn_isnan(tn_quantile(with_nan, q)), TN_SHAPE(4), 1, 1, 1, 1);
    HOLDS(tn_nanquantile(with_nan, q), TN_SHAPE(4), 1, 3, 5, 8);
    HOLDS(tn_isnan(tn_nanquantile(tn_full(TN_SHAPE(2), NAN), 0.5)), TN_SHAPE(), 1);
    REFUSED(tn_quantile(x, 1.5), TN_EINVAL, "quantile() q must be in the range [0, 1] but got 1.5");
    REFUSED(tn_quantile(x, tn_unsqueeze(q, 0)), TN_EINVAL, "quantile() q must be a scalar or 1D tensor");
    REFUSED(tn_quantile(x, tn_to(q, .dtype = TN_F64)), TN_EINVAL,
            "quantile() q tensor must be same dtype as the input");
    REFUSED(tn_quantile(tn_to(x, .dtype = TN_I64), 0.5), TN_EINVAL,
            "input tensor must be either float or double dtype");
    REFUSED(tn_nanquantile(tn_zeros(TN_SHAPE(0)), 0.5), TN_EINVAL, "nanquantile() input tensor must be non-empty");
    REFUSED(tn_quantile(x, 0.5, .interpolation = "cubic"), TN_EINVAL,
            "interpolation must be one of linear, lower, higher");
    if (kit_on_cpu())
        REFUSED(tn_quantile(x, tn_mul(q, 2)), TN_EINVAL, "quantile() q values must be in the range [0, 1]");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"kthvalue", run_select}, {"topk", run_first},        {"median", run_select},        {"nanmedian", run_select},
    {"mode", run_select},     {"quantile", run_quantile}, {"nanquantile", run_quantile}, {NULL, NULL},
};

/* ---- gradients ---- */

F(kthvalue, tn_kthvalue(x, 2, 1))
F(kthvalue_first, tn_kthvalue(x, 1, 0, .keepdim = true))
F(median, tn_median(x, .dim = 1))
F(nanmedian, tn_nanmedian(x, .dim = 0))
F(median_all, tn_median(x))
F(nanmedian_all, tn_nanmedian(x))
F(mode, tn_mode(x, 1))
F(quantile, tn_quantile(x, 0.3, .dim = 1))
F(nanquantile, tn_nanquantile(x, 0.3))
F(sort, tn_sort(x, 1, .descending = true))
F(sort_first, tn_sort(x, 0))
F(topk, tn_topk(x, 2, 1))
F(topk_first, tn_topk(x, 2, 0, .smallest = true))

static const gradient_case gradients[] = {
    ONE(kthvalue),    ONE(kthvalue_first),
    ONE(median),      ONE(nanmedian),
    ONE(median_all),  ONE(nanmedian_all),
    ONE(mode),        ONE(quantile),
    ONE(nanquantile), ONE(sort),
    ONE(sort_first),  ONE(topk),
    ONE(topk_first),  {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

/* Which of equals is named is not said: PyTorch's will do, where it names the same values. */
static bool named(record *r, results *out, int64_t dim, bool keepdim)
{
    out->n = 2;
    if (r->out.n != 2 || !out->t[0] || r->input.t == NULL)
        return true;
    tn_tensor *at = r->out.item[1].t, *x = r->input.t;
    if (tn_tensor_ndim(x) == 0 || tn_tensor_numel(at) == 0)
        return true;
    tn_tensor *there = tn_gather(x, dim, keepdim ? at : tn_unsqueeze(at, dim));
    if (tn_equal(keepdim ? there : tn_squeeze(there, .dim = dim), out->t[0]))
        out->t[1] = at;
    return true;
}

static bool record_kthvalue(record *r, results *out)
{
    const int64_t dim = int_of(record_arg(r, 1, "dim"), -1);
    const bool keepdim = flag_of(record_arg(r, 2, "keepdim"));
    out->t[0] =
        tn_kthvalue(r->input.t, int_of(record_arg(r, 0, "k"), 1), dim, .keepdim = keepdim, .indices = &out->t[1]);
    return named(r, out, dim, keepdim);
}

static bool record_mode(record *r, results *out)
{
    const int64_t dim = int_of(record_arg(r, 0, "dim"), -1);
    const bool keepdim = flag_of(record_arg(r, 1, "keepdim"));
    out->t[0] = tn_mode(r->input.t, dim, .keepdim = keepdim, .indices = &out->t[1]);
    return named(r, out, dim, keepdim);
}

#define MEDIAN_RECORD(name) \
    static bool record_##name(record *r, results *out) \
    { \
        const value dim = record_arg(r, 0, "dim"); \
        const bool keepdim = flag_of(record_arg(r, 1, "keepdim")); \
        out->n = 1; \
        if (dim.kind != V_INT) { \
            out->t[0] = tn_##name(r->input.t); \
            return true; \
        } \
        out->t[0] = tn_##name(r->input.t, .dim = dim.i, .keepdim = keepdim, .indices = &out->t[1]); \
        return named(r, out, dim.i, keepdim); \
    }
MEDIAN_RECORD(median)
MEDIAN_RECORD(nanmedian)

#define QUANTILE_RECORD(name) \
    static bool record_##name(record *r, results *out) \
    { \
        const value dim = record_arg(r, 1, "dim"), mode = record_arg(r, 3, "interpolation"); \
        const bool keepdim = flag_of(record_arg(r, 2, "keepdim")); \
        const tn_scalar q = scalar_of(record_arg(r, 0, "q")); \
        const char *how = mode.kind == V_TEXT ? mode.text : NULL; \
        out->n = 1; \
        out->t[0] = dim.kind == V_INT \
                        ? tn_##name(r->input.t, q, .dim = dim.i, .keepdim = keepdim, .interpolation = how) \
                        : tn_##name(r->input.t, q, .keepdim = keepdim, .interpolation = how); \
        return true; \
    }
QUANTILE_RECORD(quantile)
QUANTILE_RECORD(nanquantile)

static const named_adapter adapters[] = {
    {"kthvalue", record_kthvalue},
    {"mode", record_mode},
    {"median", record_median},
    {"nanmedian", record_nanmedian},
    {"quantile", record_quantile},
    {"nanquantile", record_nanquantile},
    {NULL, NULL},
};

const family_tests sort_select_tests = {cases, gradients, adapters};
