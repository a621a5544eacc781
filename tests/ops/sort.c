/* Sorting, and look-ups in what is sorted. */
#include "ops/family.h"
#include <string.h>

/* Tables on both sides of every length that is short for an instruction set, with equal elements. */
static void look_up(tn_dtype dtype, int64_t n)
{
    kit_array row, sought;
    tn_scope *scope = tn_scope_open();
    random_array(&row, dtype, 1, &n, KIT_DENSE, true);
    random_array(&sought, dtype, 1, (const int64_t[]){131}, KIT_DENSE, true);
    tn_tensor *sorted = MADE(tn_sort(row.t, 0));
    for (int right = 0; right < 2; right++) {
        tn_tensor *got = MADE(tn_searchsorted(sorted, sought.t, .right = right));
        for (int64_t i = 0; i < sought.numel; i++) {
            int64_t before = 0;
            for (int64_t k = 0; k < n; k++)
                before += right ? !(row.v[k] > sought.v[i]) : !(row.v[k] >= sought.v[i]);
            TRUTH(kit_item(got, i) == (real)before);
        }
    }
    kit_array_free(&row);
    kit_array_free(&sought);
    tn_scope_close(scope);
}

static void look_up_all(void)
{
    static const int64_t sizes[] = {7, 8, 9, 24, 25, 64, 65, 72, 73, 96, 97, 130};
    for (int i = 0; i < KIT_DTYPES; i++)
        for (size_t k = 0; kit_dtypes[i] != TN_BOOL && k < TN_COUNT(sizes); k++)
            look_up(kit_dtypes[i], sizes[k]);
}

static void run_lookups(void)
{
    look_up_all();
    tn_scope *s = tn_scope_open();
    tn_tensor *line = four_values(1, 3, 3, 7), *x = four_values(0, 3, 4, 9), *rows = tn_reshape(line, TN_SHAPE(2, 2)),
              *i = tn_arange(0, 4, 1);
    HOLDS(tn_searchsorted(line, x), TN_SHAPE(4), 0, 1, 3, 4);
    HOLDS(tn_searchsorted(line, x, .right = true, .out_int32 = true), TN_SHAPE(4), 0, 3, 3, 4);
    HOLDS(tn_searchsorted(rows, tn_reshape(x, TN_SHAPE(2, 2))), TN_SHAPE(2, 2), 0, 1, 1, 2);
    HOLDS(tn_searchsorted(tn_flip(line, TN_DIMS(0)), 3, .sorter = tn_flip(i, TN_DIMS(0))), TN_SHAPE(), 1);
    HOLDS(tn_bucketize(5, line), TN_SHAPE(), 3);
    HOLDS(tn_isin(x, line), TN_SHAPE(4), 0, 1, 0, 0);
    HOLDS(tn_isin(x, 4, .invert = true), TN_SHAPE(4), 1, 1, 0, 1);
    HOLDS(tn_isin(tn_div(x, 10), 0.4), TN_SHAPE(4), 0, 0, 1, 0); /* of x's dtype, float64 */
    HOLDS(tn_isin(tn_to(x, .dtype = TN_U64), 4), TN_SHAPE(4), 0, 0, 1, 0);
    REFUSED(tn_isin(x, tn_scalar_b(true)), TN_EMISSING, "Unsupported input type");
    REFUSED(tn_searchsorted(rows, 3), TN_EINVAL, "input value can be a scalar only when");
    REFUSED(tn_searchsorted(line, x, .sorter = tn_add(i, 1)), TN_EINVAL, "sorter index out of range");
    REFUSED(tn_bucketize(x, rows), TN_EINVAL, "boundaries tensor must be 1 dimension, but got dim(2)");
    REFUSED(tn_isin(tn_gt(x, 0), x), TN_EMISSING, "Unsupported input type");
    tn_scope_close(s);
}

/* ---- order ---- */

/* Does a stand before b? NaN is the largest. */
static bool stands_before(real a, real b, bool descending)
{
    if (isnan(a) || isnan(b))
        return descending ? isnan(a) && !isnan(b) : !isnan(a) && isnan(b);
    return descending ? a > b : a < b;
}

static void sort_each(kit_array *x)
{
    for (int32_t d = 0; d < (x->ndim ? x->ndim : 1); d++) {
        const lane l = lane_of(x, d);
        const bool descending = kit_random() & 1;
        const int64_t k = l.n ? kit_below(l.n + 1) : 0;
        int64_t shape[TN_MAX_DIMS] = {0};
        expected v, at, top;
        memcpy(shape, x->shape, sizeof shape);
        expected_init(&v, x->dtype, x->ndim, x->shape);
        expected_init(&at, TN_I64, x->ndim, x->shape);
        shape[d] = x->ndim ? k : 0;
        expected_init(&top, x->dtype, x->ndim, shape);
        v.bits = top.bits = true;
        for (int64_t i = 0; i < x->numel; i++) { /* its place: how many stand before it */
            const int64_t base = i / (l.inner * l.n) * l.inner * l.n + i % l.inner, own = i / l.inner % l.n;
            int64_t place = 0;
            for (int64_t j = 0; j < l.n; j++) {
                const real other = x->v[base + j * l.inner];
                place += stands_before(other, x->v[i], descending) ||
                         (j < own && !stands_before(x->v[i], other, descending));
            }
            v.v[base + place * l.inner] = x->v[i];
            at.v[base + place * l.inner] = (real)own;
            if (x->ndim && place < k)
                top.v[(i / (l.inner * l.n) * k + place) * l.inner + i % l.inner] = x->v[i];
        }
        tn_tensor *indices = NULL, *got = tn_sort(x->t, d, .descending = descending, .indices = &indices);
        check(&v, got, "sort of %s %s %s, dim %d", tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
              kit_layout_names[x->layout], (int)d);
        check(&at, indices, "indices of sort");
        check_free(&at, tn_argsort(x->t, d, .descending = descending), "argsort");
        if (d == 0 && !descending)
            check(&v, tn_msort(x->t), "msort");
        if (x->ndim)
            check(&top, tn_topk(x->t, k, d, .smallest = !descending, .indices = &indices),
                  "topk of %s %s %s, %lld in dim %d", tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
                  kit_layout_names[x->layout], (long long)k, (int)d);
        expected_free(&v);
        expected_free(&top);
    }
}

/* Rows longer than those that are sorted by insertion; short ones, of which several are sorted together, and some more. */
static void sort_rows(void)
{
    static const int64_t shapes[][2] = {{3, 1000}, {40, 8}, {33, 16}, {71, 32}, {40, 33}};
    for (int i = 0; i < KIT_DTYPES * (int)TN_COUNT(shapes); i++) {
        kit_array x;
        tn_scope *s = tn_scope_open();
        random_array(&x, kit_dtypes[i % KIT_DTYPES], 2, shapes[i / KIT_DTYPES], KIT_SLICED, false);
        sort_each(&x);
        kit_array_free(&x);
        tn_scope_close(s);
    }
}

/* Short rows in order already, with equal ones, all but one row, and in the other order. */
static void sort_sorted_rows(void)
{
    static const tn_dtype dtypes[] = {TN_I64, TN_F32, TN_BF16, TN_U8};
    for (size_t i = 0; i < TN_COUNT(dtypes); i++) {
        tn_scope *s = tn_scope_open();
        tn_tensor *place = tn_expand(tn_arange(16), TN_SHAPE(70, 16)), *indices = NULL;
        tn_tensor *x = tn_contiguous(tn_to(tn_div_floor(place, 3), .dtype = dtypes[i]));
        TRUTH(tn_equal(MADE(tn_sort(x, 1, .indices = &indices)), x) && tn_equal(indices, place));
        tn_tensor *down = MADE(tn_contiguous(tn_flip(x, TN_DIMS(1))));
        TRUTH(tn_equal(MADE(tn_sort(down, 1, .descending = true, .indices = &indices)), down) &&
              tn_equal(indices, place));
        TRUTH(tn_equal(MADE(tn_sort(down, 1)), x));
        TRUTH(tn_equal(MADE(tn_sort(tn_cat(TN_TENSORS(x, tn_narrow(down, 0, 0, 1)), 0), 1)),
                       tn_cat(TN_TENSORS(x, tn_narrow(x, 0, 0, 1)), 0)));
        tn_scope_close(s);
    }
}

static void run_sort(void)
{
    each_array(sort_each, false);
    sort_rows();
    sort_sorted_rows();
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    REFUSED(tn_topk(x, 4, 1), TN_EINVAL, "selected index k out of range");
    REFUSED(tn_topk(x, -1, 1), TN_EINVAL, "selected index k out of range");
    REFUSED(tn_sort(x, 2), TN_EINDEX, "Dimension out of range");
    REFUSED(tn_argsort(TN_NONE, 0), TN_ETYPE, "TN_NONE");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"searchsorted", run_lookups}, {"bucketize", run_lookups}, {"isin", run_lookups}, {"sort", run_sort},
    {"argsort", run_sort},         {"msort", run_sort},        {NULL, NULL},
};

/* ---- PyTorch's records ---- */

ADAPTER(bucketize, tn_bucketize(x, TENSOR(0, "boundaries"), .out_int32 = flag_of(record_arg(r, -1, "out_int32")),
                                .right = flag_of(record_arg(r, -1, "right"))))
ADAPTER(searchsorted,
        tn_searchsorted(x, scalar_of(record_arg(r, 0, "input")), .out_int32 = flag_of(record_arg(r, -1, "out_int32")),
                        .right = flag_of(record_arg(r, -1, "right")), .sorter = TENSOR(-1, "sorter")))

ADAPTER(argsort,
        tn_argsort(x, int_of(record_arg(r, 0, "dim"), -1), .descending = flag_of(record_arg(r, 1, "descending"))))
ADAPTER(msort, tn_msort(x))

static bool record_sort(record *r, results *out)
{
    out->t[0] = tn_sort(r->input.t, int_of(record_arg(r, 0, "dim"), -1),
                        .descending = flag_of(record_arg(r, 1, "descending")), .indices = &out->t[1]);
    out->n = 2;
    return true;
}

static bool record_topk(record *r, results *out)
{
    value largest = record_arg(r, 2, "largest");
    const int64_t dim = int_of(record_arg(r, 1, "dim"), -1);
    out->t[0] = tn_topk(r->input.t, int_of(record_arg(r, 0, "k"), 1), dim,
                        .smallest = largest.kind == V_BOOL && !largest.i, .indices = &out->t[1]);
    out->n = 2;
    /* which of equals is named is not said: PyTorch's will do, where they name the same values */
    if (r->out.n == 2 && tn_equal(tn_gather(r->input.t, dim, r->out.item[1].t), out->t[0]))
        out->t[1] = r->out.item[1].t;
    return true;
}

static const named_adapter adapters[] = {
    {"bucketize", record_bucketize},
    {"searchsorted", record_searchsorted},
    {"argsort", record_argsort},
    {"sort", record_sort},
    {"msort", record_msort},
    {"topk", record_topk},
    {NULL, NULL},
};

const family_tests sort_tests = {cases, NULL, adapters};
