/* Different elements and slices: unique, unique_consecutive. */
#include "ops/family.h"
#include <string.h>

/* x as n slices of m elements along a dimension; of all its elements where d is negative. */
typedef struct slices {
    const kit_array *x;
    lane l;
    int64_t n, m;
} slices;

static slices slices_of(const kit_array *x, int32_t d)
{
    slices s = {.x = x, .n = x->numel, .m = 1};
    if (d < 0)
        return s;
    s.l = lane_of(x, d);
    s.n = s.l.n;
    s.m = s.l.outer * s.l.inner;
    return s;
}

static int64_t place_in(const slices *s, int64_t slice, int64_t k, int64_t n)
{
    return s->l.n ? (k / s->l.inner * n + slice) * s->l.inner + k % s->l.inner : slice;
}

static real value_at(const slices *s, int64_t slice, int64_t k)
{
    return s->x->v[place_in(s, slice, k, s->n)];
}

/* -1: a stands before b; 1: behind it; 0: they are equal, or NaN stands where they differ. NaN is the largest. */
static int compare(const slices *s, int64_t a, int64_t b)
{
    for (int64_t k = 0; k < s->m; k++) {
        const real p = value_at(s, a, k), q = value_at(s, b, k);
        if (isnan(p) != isnan(q))
            return isnan(p) ? 1 : -1;
        if (!isnan(p) && p != q)
            return p < q ? -1 : 1;
    }
    return 0;
}

static bool equal(const slices *s, int64_t a, int64_t b)
{
    for (int64_t k = 0; k < s->m; k++)
        if (!(value_at(s, a, k) == value_at(s, b, k)))
            return false;
    return true;
}

/* Each slice's place among all, equal ones in their order. */
static void order_slices(const slices *s, bool sorts, int64_t *order)
{
    for (int64_t i = 0; i < s->n; i++) {
        int64_t k = i;
        for (; sorts && k > 0 && compare(s, order[k - 1], i) > 0; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

static void try_unique(kit_array *x, int32_t d, bool sorts)
{
    const slices s = slices_of(x, d);
    int64_t *order = malloc((size_t)(s.n + 1) * sizeof *order), shape[TN_MAX_DIMS] = {0}, groups = 0;
    expected inverse, counts, values;
    order_slices(&s, sorts, order);
    expected_init(&inverse, TN_I64, d < 0 ? x->ndim : 1, d < 0 ? x->shape : &s.n);
    expected_init(&counts, TN_I64, 1, &s.n);
    for (int64_t i = 0; i < s.n; i++) {
        groups += i == 0 || !equal(&s, order[i - 1], order[i]);
        inverse.v[order[i]] = (real)(groups - 1);
        counts.v[groups - 1]++;
    }
    memcpy(shape, d < 0 ? &groups : x->shape, (size_t)(d < 0 ? 1 : x->ndim) * sizeof *shape);
    if (d >= 0)
        shape[d] = groups;
    expected_init(&values, x->dtype, d < 0 ? 1 : x->ndim, shape);
    values.bits = true;
    for (int64_t i = s.n - 1; i >= 0; i--) /* the first of each group is what stays */
        for (int64_t k = 0; k < s.m; k++)
            values.v[place_in(&s, (int64_t)inverse.v[order[i]], k, groups)] = value_at(&s, order[i], k);
    counts.numel = counts.shape[0] = groups;
    tn_tensor *at = NULL, *often = NULL, *got;
    const tn_dims dim = d < 0 ? (tn_dims){0} : TN_DIMS(d);
    if (sorts)
        got = OPTIONAL(unique, x->t, ONE_OF(dim), .inverse = &at, .counts = &often);
    else
        got = OPTIONAL(unique_consecutive, x->t, ONE_OF(dim), .inverse = &at, .counts = &often);
    check_free(&values, got, "%s of %s %s %s, dim %d", sorts ? "unique" : "unique_consecutive", tn_dtype_name(x->dtype),
               kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], (int)d);
    check_free(&inverse, at, "inverse of unique");
    check_free(&counts, often, "counts of unique");
    free(order);
}

static void unique_each(kit_array *x)
{
    for (int32_t d = -1; d < x->ndim; d++) {
        bool none = false;
        for (int32_t i = 0; i < x->ndim && d >= 0; i++)
            none |= (i == d) != (x->shape[i] == 0);
        if (d >= 0 && x->numel == 0 && none) {
            REFUSED(tn_unique(x->t, .dim = d), TN_EINVAL, "There are 0 sized dimensions, and they aren't");
            continue;
        }
        try_unique(x, d, true);
        try_unique(x, d, false);
    }
}

/* Long enough for every way to sort, of few numbers, so that there are equal ones. */
static void unique_long(void)
{
    static const int64_t shape[2] = {300, 3};
    for (int i = 0; i < KIT_DTYPES; i++) {
        kit_array x;
        tn_scope *s = tn_scope_open();
        kit_array_init(&x, kit_dtypes[i], 2, shape, KIT_SLICED);
        for (int64_t k = 0; k < x.numel; k++)
            x.v[k] = (real)kit_below(kit_dtypes[i] == TN_BOOL ? 2 : 4);
        kit_show(&x);
        for (int32_t d = -1; d < 2; d++)
            for (int sorts = 0; sorts < 2; sorts++)
                try_unique(&x, d, sorts);
        kit_array_free(&x);
        tn_scope_close(s);
    }
}

/* More than one thread takes, of runs of three, of runs of one, and all of one run. */
static void unique_in_parts(void)
{
    enum { N = 100000 };
    tn_scope *s = tn_scope_open();
    static const tn_dtype dtypes[] = {TN_I64, TN_F32, TN_I32, TN_F64};
    for (size_t k = 0; k < TN_COUNT(dtypes); k++) {
        tn_tensor *line = tn_arange(0, N, 1, .dtype = dtypes[k]), *thirds = tn_div_floor(line, 3), *run = NULL,
                  *often = NULL;
        tn_tensor *found = MADE(tn_unique_consecutive(thirds, .inverse = &run, .counts = &often));
        TRUTH(tn_equal(found, tn_arange(0, N / 3 + 1, 1, .dtype = dtypes[k])) &&
              tn_equal(run, tn_div_floor(tn_arange(N), 3)));
        TRUTH(tn_equal(often, tn_cat(TN_TENSORS(tn_full(TN_SHAPE(N / 3), 3), tn_full(TN_SHAPE(1), 1)), 0)));
        TRUTH(tn_equal(MADE(tn_unique_consecutive(line)), line));
        TRUTH(tn_equal(MADE(tn_unique_consecutive(tn_zeros_like(line))), tn_zeros(TN_SHAPE(1), .dtype = dtypes[k])));
        TRUTH(tn_equal(MADE(tn_unique_consecutive(tn_slice(thirds, 0, 0, N, 3))),
                       tn_arange(0, N / 3 + 1, 1, .dtype = dtypes[k])));
    }
    tn_scope_close(s);
}

static void run_unique(void)
{
    unique_in_parts();
    each_array(unique_each, false);
    unique_long();
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_requires_grad_(tn_ones(TN_SHAPE(2, 2)), true), *found = tn_unique(x);
    TRUTH(!strcmp(tn_tensor_grad_fn(found).s, "Unique2Backward0"));
    REFUSED(tn_unique(x, .dim = 2), TN_EINDEX, "Dimension out of range");
    REFUSED(tn_unique(tn_ones(TN_SHAPE()), .dim = 0), TN_EINDEX,
            "Dimension specified as 0 but tensor has no dimensions");
    REFUSED(tn_unique(TN_NONE), TN_ETYPE, "TN_NONE");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"unique", run_unique},
    {"unique_consecutive", run_unique},
    {NULL, NULL},
};

/* ---- PyTorch's records ---- */

/* The results that were asked for, in PyTorch's order. */
static bool give_asked(results *out, tn_tensor *t, tn_tensor *inverse, tn_tensor *counts, bool wants_inverse)
{
    out->t[out->n++] = t;
    if (wants_inverse)
        out->t[out->n++] = inverse;
    if (counts)
        out->t[out->n++] = counts;
    return true;
}

static bool record_unique(record *r, results *out)
{
    dims_buffer b;
    tn_tensor *inverse = NULL, *counts = NULL;
    const tn_dims dim = dims_of(record_arg(r, -1, "dim"), &b);
    const bool wants = flag_of(record_arg(r, -1, "return_inverse")),
               often = flag_of(record_arg(r, -1, "return_counts"));
    (void)record_arg(r, -1, "sorted");
    tn_tensor *t =
        OPTIONAL(unique, r->input.t, ONE_OF(dim), .inverse = wants ? &inverse : NULL, .counts = often ? &counts : NULL);
    return give_asked(out, t, inverse, counts, wants);
}

static bool record_unique_consecutive(record *r, results *out)
{
    dims_buffer b;
    tn_tensor *inverse = NULL, *counts = NULL;
    const tn_dims dim = dims_of(record_arg(r, -1, "dim"), &b);
    const bool wants = flag_of(record_arg(r, -1, "return_inverse")),
               often = flag_of(record_arg(r, -1, "return_counts"));
    tn_tensor *t = OPTIONAL(unique_consecutive, r->input.t, ONE_OF(dim), .inverse = wants ? &inverse : NULL,
                            .counts = often ? &counts : NULL);
    return give_asked(out, t, inverse, counts, wants);
}

static const named_adapter adapters[] = {
    {"unique", record_unique},
    {"unique_consecutive", record_unique_consecutive},
    {NULL, NULL},
};

const family_tests sort_unique_tests = {cases, NULL, adapters};
