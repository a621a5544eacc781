/* Reductions: sums, means, extremes, truths, norms over dimensions. */
#include "ops/family.h"
#include <string.h>

/* ---- equal ---- */

static void equal_each(kit_array *x)
{
    bool nan = false;
    for (int64_t i = 0; i < x->numel; i++)
        nan |= isnan(x->v[i]);
    kit_array y;
    kit_array_init(&y, x->dtype, x->ndim, x->shape, KIT_ROTATED);
    memcpy(y.v, x->v, (size_t)x->numel * sizeof *x->v);
    kit_show(&y);
    TRUTH(tn_equal(x->t, y.t) == !nan);
    TRUTH(!tn_equal(x->t, tn_unsqueeze(tn_flatten(x->t, 0, -1), 0)) || x->ndim == 2);
    if (x->numel) {
        int64_t at = kit_below(x->numel);
        y.v[at] = y.v[at] == 0;
        kit_show(&y);
        TRUTH(!tn_equal(x->t, y.t));
    }
    kit_array_free(&y);
}

static void run_equal(void)
{
    each_array(equal_each, false);
    tn_scope *s = tn_scope_open(); /* many, which are looked at piece by piece; the last one differs */
    tn_tensor *a = MADE(tn_reshape(tn_arange(0, 60000, 1), TN_SHAPE(3000, 20))), *b = MADE(tn_clone(a));
    TRUTH(tn_equal(a, b) && tn_equal(MADE(tn_t(a)), MADE(tn_clone(MADE(tn_t(b))))));
    TRUTH(tn_fill_(MADE(tn_select(MADE(tn_select(b, 0, 2999)), 0, 19)), -1) != NULL && !tn_equal(a, b));
    uint8_t bytes[2][2] = {
        {1, 0}, {2, 0}}; /* any byte that is not 0 is true; zeros of two signs are equal, NaN is to nothing */
    TRUTH(tn_equal(MADE(tn_from_data(bytes[0], TN_BOOL, TN_SHAPE(2))),
                   MADE(tn_from_data(bytes[1], TN_BOOL, TN_SHAPE(2)))));
    for (int i = 0; i < KIT_DTYPES; i++) {
        tn_tensor *zero = MADE(tn_zeros(TN_SHAPE(40), .dtype = kit_dtypes[i]));
        TRUTH(!kit_is_float(kit_dtypes[i]) || tn_equal(zero, MADE(tn_neg(zero))));
        TRUTH(!kit_is_float(kit_dtypes[i]) || !tn_equal(MADE(tn_add(zero, NAN)), MADE(tn_add(zero, NAN))));
    }
    TRUTH(!tn_equal(MADE(tn_t(a)), MADE(tn_t(b))) && tn_equal(MADE(tn_unsqueeze(a, 0)), MADE(tn_unsqueeze(a, 0))));
    tn_scope_close(s);
}

typedef enum kind { SUM, MEAN, PROD, AMAX, AMIN, ANY, ALL_OF, VAR, STD, LOGSUMEXP } kind;

static const char *const kind_names[] = {"sum", "mean", "prod", "amax", "amin",
                                         "any", "all",  "var",  "std",  "logsumexp"};

typedef struct reduction {
    kind what;
    uint32_t mask; /* dimensions that go */
    bool named;    /* they are named in the call; else all go */
    bool keepdim;
    tn_dtype dtype;
    double correction; /* var and std */
} reduction;

static tn_tensor *call(const reduction *r, tn_tensor *x, int32_t ndim)
{
    tn_dims dims = {0};
    for (int32_t d = 0; r->named && d < ndim; d++)
        if (r->mask >> d & 1)
            dims.dim[dims.ndim++] = kit_random() & 1 ? d : d - ndim; /* negative ones count from the end */
    if (r->named && ndim == 0)                                       /* a 0-dim tensor takes 0 and -1 */
        dims.dim[dims.ndim++] = kit_random() & 1 ? 0 : -1;
    switch (r->what) {
    case SUM: return tn_sum(x, .dims = dims, .keepdim = r->keepdim, .dtype = r->dtype);
    case MEAN: return tn_mean(x, .dims = dims, .keepdim = r->keepdim, .dtype = r->dtype);
    case PROD: return tn_prod(x, .dims = dims, .keepdim = r->keepdim, .dtype = r->dtype);
    case AMAX: return tn_amax(x, .dims = dims, .keepdim = r->keepdim);
    case AMIN: return tn_amin(x, .dims = dims, .keepdim = r->keepdim);
    case ANY: return tn_any(x, .dims = dims, .keepdim = r->keepdim);
    case ALL_OF: return tn_all(x, .dims = dims, .keepdim = r->keepdim);
    case VAR: return tn_var(x, .dims = dims, .keepdim = r->keepdim, .correction = tn_scalar_f(r->correction));
    case STD: return tn_std(x, .dims = dims, .keepdim = r->keepdim, .correction = tn_scalar_f(r->correction));
    default: return tn_logsumexp(x, .dims = dims, .keepdim = r->keepdim);
    }
}

/* ---- the reference ---- */

static tn_dtype result_dtype(const reduction *r, tn_dtype d)
{
    if (r->dtype)
        return r->dtype;
    switch (r->what) {
    case SUM:
    case PROD: return kit_is_float(d) ? d : TN_I64;
    case ANY:
    case ALL_OF: return d == TN_U8 ? TN_U8 : TN_BOOL;
    case LOGSUMEXP: return kit_is_float(d) ? d : TN_F32;
    default: return d;
    }
}

/* Each result has a function of its own: x87 takes a hundred times as long for numbers that a product overflows with. */
static real reduce_sum(const reduction *r, const real *v, int64_t n, tn_dtype to, real *tol)
{
    real sum = 0, sizes = 0, steps = 3;
    uint64_t whole = 0;
    for (int64_t k = n; k > 1; k /= 2)
        steps++;
    for (int64_t i = 0; i < n; i++) {
        sum += v[i];
        sizes += fabsl(v[i]);
        if (!kit_is_float(to))
            whole += (uint64_t)(int64_t)v[i];
    }
    *tol = compute_eps(to) * steps * sizes / (r->what == MEAN && n ? n : 1);
    if (r->what == MEAN)
        return sum / n;
    return kit_is_float(to) ? sum : kit_round((real)(int64_t)whole, to);
}

static real reduce_prod(const real *v, int64_t n, tn_dtype to, real *tol)
{
    real prod = 1;
    uint64_t product = 1;
    for (int64_t i = 0; i < n; i++)
        if (kit_is_float(to))
            prod *= v[i];
        else
            product *= (uint64_t)(int64_t)v[i];
    *tol = compute_eps(to) * n * fabsl(prod);
    return kit_is_float(to) ? prod : kit_round((real)(int64_t)product, to);
}

static real reduce_extreme(const reduction *r, const real *v, int64_t n)
{
    real best = n ? v[0] : 0;
    for (int64_t i = 0; i < n && !isnan(best); i++)
        if (isnan(v[i]) || (r->what == AMIN ? v[i] < best : v[i] > best))
            best = v[i];
    return best;
}

static real reduce_truth(const reduction *r, const real *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if ((v[i] != 0) == (r->what == ANY)) /* NaN is true */
            return r->what == ANY;
    return r->what != ANY;
}

/* Composed of operations, each of which rounds to the result's dtype; the sum in three levels of 32 additions. */
static real reduce_logsumexp(const real *v, int64_t n, tn_dtype to, real *tol)
{
    real most = -KIT_INF, total = 0, steps = 3;
    for (int64_t k = n; k > 1; k /= 2)
        steps++;
    for (int64_t i = 0; i < n; i++)
        most = v[i] > most ? v[i] : most;
    const real shift = isfinite(most) ? most : 0;
    for (int64_t i = 0; i < n; i++)
        total += expl(v[i] - shift);
    *tol = ldexpl(1, -kit_digits(to)) * (8 + 3 * 32 + steps + fabsl(shift) + fabsl(logl(total)));
    return logl(total) + shift;
}

static real reduce_var(const reduction *r, const real *v, int64_t n, tn_dtype to, real *tol)
{
    real sum = 0, m2 = 0, left = n - (real)r->correction;
    for (int64_t i = 0; i < n; i++)
        sum += v[i];
    const real mean = n ? sum / n : 0;
    for (int64_t i = 0; i < n; i++)
        m2 += (v[i] - mean) * (v[i] - mean);
    m2 /= left > 0 ? left : 0;
    *tol = to == TN_F64 ? 0x1p-46L * (r->what == STD ? sqrtl(m2) : m2) : 0;
    return r->what == STD ? sqrtl(m2) : m2;
}

/* One result: the values that go into it. */
static real reduce(const reduction *r, const real *v, int64_t n, tn_dtype to, real *tol)
{
    *tol = 0;
    switch (r->what) {
    case SUM:
    case MEAN: return reduce_sum(r, v, n, to, tol);
    case PROD: return reduce_prod(v, n, to, tol);
    case AMAX:
    case AMIN: return reduce_extreme(r, v, n);
    case ANY:
    case ALL_OF: return reduce_truth(r, v, n);
    case LOGSUMEXP: return reduce_logsumexp(v, n, to, tol);
    default: return reduce_var(r, v, n, to, tol);
    }
}

/* Shape and values of the result. 'as': what elements are converted to before anything is done with them. */
static void reference(const reduction *r, const kit_array *x, expected *e)
{
    int64_t shape[TN_MAX_DIMS], kept[TN_MAX_DIMS], at[TN_MAX_DIMS], step = 1;
    int32_t ndim = 0;
    tn_dtype to = result_dtype(r, x->dtype);
    for (int32_t d = 0; d < x->ndim; d++)
        if (!(r->mask >> d & 1))
            shape[ndim++] = x->shape[d];
        else if (r->keepdim)
            shape[ndim++] = 1;
    expected_init(e, to, ndim, shape);
    expected_tolerate(e);
    for (int32_t d = x->ndim - 1; d >= 0; d--) { /* strides of the result, 0 along what goes */
        kept[d] = r->mask >> d & 1 ? 0 : step;
        step *= r->mask >> d & 1 ? 1 : x->shape[d];
    }
    int64_t each = e->numel ? x->numel / e->numel : 0;
    for (int32_t d = 0; d < x->ndim; d++)
        if (x->shape[d] == 0)
            each = 0;
    real *v = calloc((size_t)(x->numel + 1), sizeof *v);
    int64_t *n = calloc((size_t)(e->numel + 1), sizeof *n);
    for (int64_t i = 0; i < x->numel; i++) {
        kit_unravel(i, x->ndim, x->shape, at);
        int64_t o = kit_ravel(x->ndim, kept, at);
        v[o * each + n[o]++] = r->dtype && r->what != MEAN ? kit_convert(x->v[i], x->dtype, r->dtype) : x->v[i];
    }
    for (int64_t o = 0; o < e->numel; o++)
        e->v[o] = reduce(r, v + o * each, each, to, &e->tol[o]);
    free(v);
    free(n);
}

/* ---- the sweep ---- */

static bool has_dtype(kind what, tn_dtype d)
{
    return kit_is_float(d) || (what != MEAN && what != VAR && what != STD);
}

static void one(reduction *r, const kit_array *x)
{
    expected e;
    bool empty = false;
    for (int32_t d = 0; d < x->ndim; d++)
        empty |= r->mask >> d & 1 && x->shape[d] == 0;
    tn_scope *scope = tn_scope_open();
    tn_tensor *got = call(r, x->t, x->ndim);
    char what[128];
    snprintf(what, sizeof what, "%s of %s %s %s, mask %x%s, keepdim %d, dtype %s", kind_names[r->what],
             tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout], (unsigned)r->mask,
             r->named ? "" : " (all)", (int)r->keepdim, r->dtype ? tn_dtype_name(r->dtype) : "-");
    if ((r->what == AMAX || r->what == AMIN) && empty) {
        refused(got, r->named ? TN_EINDEX : TN_EINVAL,
                r->named ? "to have non-zero size." : "Expected reduction dim to be specified", what);
    } else {
        reference(r, x, &e);
        e.ulps = kit_digits(e.dtype) < 24 || r->what == VAR || r->what == STD ? 1 : 0;
        check_free(&e, got, "%s", what);
    }
    tn_scope_close(scope);
}

/* Every subset of the dimensions; none named means all. prod takes one or all. */
static void every_subset(kind what, const kit_array *x, tn_dtype dtype, double correction)
{
    uint32_t all = (1U << x->ndim) - 1;
    for (uint32_t mask = 0; mask <= all; mask++) {
        if (what == PROD && (mask & (mask - 1)))
            continue;
        if (x->ndim > 4 && kit_below(8)) /* 256 subsets of 8 dimensions: some of them */
            continue;
        for (int keepdim = 0; keepdim < 2; keepdim++) {
            reduction r = {what, mask ? mask : all, mask != 0, keepdim, dtype, correction};
            one(&r, x);
            r.named = true;
            if (x->ndim == 0)
                one(&r, x);
        }
    }
}

/* Products of integers below 4: they stay exact, and where they do not they wrap. */
static void draw(kind what, kit_array *x, bool wild)
{
    for (int64_t i = 0; i < x->numel; i++) {
        x->v[i] = wild ? kit_any_value(x->dtype) : kit_tame_value(x->dtype);
        if (what == PROD && kit_is_float(x->dtype) && !wild)
            x->v[i] = kit_round(0.5L + (real)kit_uniform(0, 1), x->dtype);
    }
    if (what == ANY)
        for (int64_t i = 0; i < x->numel; i++)
            x->v[i] = kit_below(6) ? 0 : x->v[i];
    kit_show(x);
}

/* Any value at all is in order where no rounding depends on the order: extremes, truth, and all that integers do. */
static bool takes_any_value(kind what, tn_dtype d)
{
    return what == AMAX || what == AMIN || what == ANY || what == ALL_OF || (!kit_is_float(d) && what != LOGSUMEXP);
}

static void sweep(kind what)
{
    for (int i = 0; i < KIT_DTYPES; i++)
        for (int k = 0; k < N_SHAPES; k++)
            for (int layout = 0; layout < KIT_LAYOUTS; layout++) {
                kit_array x;
                tn_scope *scope = tn_scope_open();
                kit_array_init(&x, kit_dtypes[i], some_shapes[k].ndim, some_shapes[k].dim, (kit_layout)layout);
                draw(what, &x, takes_any_value(what, x.dtype) && layout % 2);
                if (has_dtype(what, x.dtype)) {
                    every_subset(what, &x, TN_DTYPE_DEFAULT, 1);
                    if (what == VAR || what == STD) {
                        every_subset(what, &x, TN_DTYPE_DEFAULT, 0);
                        every_subset(what, &x, TN_DTYPE_DEFAULT, 2.5);
                    }
                } else {
                    reduction r = {what, (1U << x.ndim) - 1, false, false, 0, 1};
                    refused(call(&r, x.t, x.ndim), TN_EDTYPE,
                            what == MEAN ? "could not infer output dtype" : "only support floating", kind_names[what]);
                }
                kit_array_free(&x);
                tn_scope_close(scope);
            }
}

/* .dtype: elements are converted first, but for a mean, which PyTorch rounds at its end alone. */
static void other_dtypes(kind what)
{
    for (int i = 0; i < KIT_DTYPES; i++)
        for (int j = 0; j < KIT_DTYPES; j++) {
            kit_array x;
            tn_dtype from = kit_dtypes[i], to = kit_dtypes[j];
            tn_scope *scope = tn_scope_open();
            kit_array_init(&x, from, 2, (int64_t[]){5, 7}, (kit_layout)((i + j) % KIT_LAYOUTS));
            draw(what, &x, false);
            if (what == MEAN && !kit_is_float(to)) {
                refused(tn_mean(x.t, .dtype = to), TN_EDTYPE,
                        "Optional dtype must be either a floating point or complex dtype", "mean");
            } else if (!(to == TN_BOOL && what == PROD)) {
                every_subset(what, &x, to, 1);
            }
            kit_array_free(&x);
            tn_scope_close(scope);
        }
}

/* Sizes at which work is cut into pieces, lines and blocks. */
static void large(kind what)
{
    static const shape_list shapes[] = {{1, {70001}},      {1, {200003}},   {2, {300, 1000}}, {2, {4099, 17}},
                                        {3, {65, 33, 70}}, {2, {3, 66000}}, {2, {2100, 3}},   {3, {1500, 4, 1}}};
    for (size_t k = 0; k < TN_COUNT(shapes); k++)
        for (int i = 0; i < KIT_DTYPES; i++) {
            kit_array x;
            if (!has_dtype(what, kit_dtypes[i]) || (k + (size_t)i) % 3) /* a third of the pairs */
                continue;
            tn_scope *scope = tn_scope_open();
            kit_array_init(&x, kit_dtypes[i], shapes[k].ndim, shapes[k].dim,
                           (kit_layout)((k + (size_t)i) % KIT_EXPANDED));
            draw(what, &x, false);
            if (what == PROD && kit_is_float(x.dtype)) {
                for (int64_t n = 0; n < x.numel; n++)
                    x.v[n] = n % 1000 ? 1 : x.v[n];
                kit_show(&x);
            }
            every_subset(what, &x, TN_DTYPE_DEFAULT, 1);
            kit_array_free(&x);
            tn_scope_close(scope);
        }
}

/* ---- special values, errors ---- */

/* Ones, but for two values: in the middle and at the end. columns: in each of 3, which are reduced downwards. */
static void two_values(kind what, tn_dtype d, int64_t n, bool columns, kit_layout layout, real middle, real end)
{
    kit_array x;
    reduction r = {what, 1, true, false, 0, 1};
    int64_t shape[2] = {n, 3}, width = columns ? 3 : 1;
    tn_scope *scope = tn_scope_open();
    kit_array_init(&x, d, columns ? 2 : 1, shape, layout);
    for (int64_t k = 0; k < x.numel; k++)
        x.v[k] = 1;
    for (int64_t c = 0; c < width; c++) {
        x.v[n / 2 * width + c] = middle;
        x.v[(n - 1) * width + c] = end;
    }
    kit_show(&x);
    one(&r, &x);
    kit_array_free(&x);
    tn_scope_close(scope);
}

static void not_numbers(kind what)
{
    static const real v[] = {1, 2, KIT_NAN, KIT_INF, -KIT_INF, 0, -0.0L};
    for (int a = 0; a < 7; a++)
        for (int b = 0; b < 7; b++)
            for (int i = 6; i < KIT_DTYPES; i++) {
                two_values(what, kit_dtypes[i], 3, false, KIT_DENSE, v[a], v[b]);   /* a short run */
                two_values(what, kit_dtypes[i], 203, false, KIT_DENSE, v[a], v[b]); /* several vectors */
                two_values(what, kit_dtypes[i], 203, true, KIT_DENSE, v[a], v[b]);
                two_values(what, kit_dtypes[i], 2500, false, KIT_STEPPED, v[a], v[b]); /* several blocks */
            }
    /* several pieces: what is in one must reach the result; float16 has no room for such sums, nor has PyTorch's */
    for (int i = 7; i < KIT_DTYPES; i++)
        for (int a = 2; a < 5; a++) {
            two_values(what, kit_dtypes[i], 65536 + 7, false, KIT_DENSE, v[a], 1);
            two_values(what, kit_dtypes[i], 65536 + 7, false, KIT_DENSE, 1, v[a]);
            two_values(what, kit_dtypes[i], 43691 + 7, true, KIT_DENSE, v[a], 2);
        }
}

static void bad_dimensions(kind what)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 3));
    char text[] = "Dimension out of range (expected to be in range of [-2, 1], but got 2)";
    reduction r = {what, 4, true, false, 0, 1};
    for (int i = 0; i < 4; i++) { /* call() chooses at random between 2 and 2 - 3 = -1, which is in order */
        tn_tensor *got = call(&r, x, 3);
        if (!got)
            refused(got, TN_EINDEX, text, kind_names[what]);
    }
    REFUSED(tn_sum(x, .dims = TN_DIMS(0, 0)), TN_EINVAL, "dim 0 appears multiple times in the list of dims");
    REFUSED(tn_amax(x, .dims = TN_DIMS(1, -1)), TN_EINVAL, "dim 1 appears multiple times in the list of dims");
    REFUSED(tn_sum(x, .dim = -3), TN_EINDEX, "Dimension out of range (expected to be in range of [-2, 1], but got -3)");
    REFUSED(tn_sum(tn_ones(TN_SHAPE()), .dim = 1), TN_EINDEX,
            "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
    MADE(tn_sum(tn_ones(TN_SHAPE()), .dim = -1));
    tn_scope_close(s);
}

/* A spread of 1 about 1e8: the naive formula loses every digit. */
static void var_far_from_zero(void)
{
    for (int64_t n = 5; n < 100000; n = n * 7 + 3) {
        kit_array x;
        tn_scope *s = tn_scope_open();
        kit_array_init(&x, TN_F64, 1, &n, KIT_DENSE);
        for (int64_t i = 0; i < n; i++)
            x.v[i] = 1e8L + (real)kit_uniform(-1, 1);
        kit_show(&x);
        reduction r = {VAR, 1, false, false, 0, 1};
        expected e;
        reference(&r, &x, &e);
        e.tol[0] = 1e-9L * e.v[0];
        check_free(&e, tn_var(x.t), "var of %lld numbers about 1e8", (long long)n);
        kit_array_free(&x);
        tn_scope_close(s);
    }
}

/* Of an empty list of dimensions PyTorch's any and all are of each element alone, its sum of all. */
static void of_no_dimension(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_sub(counted(TN_SHAPE(2, 3), 6), 2), *turned = tn_t(x);
    HOLDS(tn_any(x, .dims = TN_DIMS()), TN_SHAPE(2, 3), 1, 0, 1, 1, 1, 1);
    HOLDS(tn_all(turned, .dims = TN_DIMS(), .keepdim = true), TN_SHAPE(3, 2), 1, 1, 0, 1, 1, 1);
    HOLDS(tn_any(tn_select(tn_select(x, 0, 0), 0, 1), .dims = TN_DIMS()), TN_SHAPE(), 0);
    HOLDS(tn_sum(x, .dims = TN_DIMS()), TN_SHAPE(), 9);
    tn_scope_close(s);
}

#define CASE(name, kind_) \
    static void run_##name(void) \
    { \
        if (kind_ == ANY || kind_ == ALL_OF) \
            of_no_dimension(); \
        sweep(kind_); \
        large(kind_); \
        not_numbers(kind_); \
        bad_dimensions(kind_); \
    }

CASE(amax, AMAX)
CASE(amin, AMIN)
CASE(any, ANY)
CASE(all, ALL_OF)
CASE(std, STD)
CASE(logsumexp, LOGSUMEXP)

#define CASE_DTYPE(name, kind_) \
    static void run_##name(void) \
    { \
        sweep(kind_); \
        other_dtypes(kind_); \
        large(kind_); \
        not_numbers(kind_); \
        bad_dimensions(kind_); \
    }

CASE_DTYPE(sum, SUM)
CASE_DTYPE(mean, MEAN)
CASE_DTYPE(prod, PROD)

static void run_var(void)
{
    sweep(VAR);
    large(VAR);
    not_numbers(VAR);
    bad_dimensions(VAR);
    var_far_from_zero();
}

/* ---- sum_to_size ---- */

static void sum_to_size_each(kit_array *x)
{
    for (uint32_t mask = 0; mask<1U << x->ndim; mask += x->ndim> 4 ? 11 : 1) {
        int64_t shape[TN_MAX_DIMS], at[TN_MAX_DIMS];
        int32_t lead = 0, n;
        while (lead < x->ndim && mask >> lead & 1 && kit_random() & 1)
            lead++; /* these go altogether */
        n = x->ndim - lead;
        for (int32_t d = lead; d < x->ndim; d++)
            shape[d - lead] = mask >> d & 1 ? 1 : x->shape[d];
        expected e;
        bool same = n == x->ndim;
        for (int32_t d = 0; same && d < n; d++)
            same = shape[d] == x->shape[d];
        expected_init(&e, kit_is_float(x->dtype) || (same && x->ndim) ? x->dtype : TN_I64, n, shape);
        expected_tolerate(&e);
        for (int64_t i = 0; i < x->numel; i++) {
            int64_t o = 0;
            kit_unravel(i, x->ndim, x->shape, at);
            for (int32_t d = lead; d < x->ndim; d++)
                o = o * shape[d - lead] + (shape[d - lead] == 1 ? 0 : at[d]);
            e.v[o] += x->v[i];
            e.tol[o] += 8 * compute_eps(x->dtype) * fabsl(x->v[i]);
        }
        e.ulps = 1;
        check_free(&e, tn_sum_to_size(x->t, tn_dims_of(shape, n)), "sum_to_size of %s %s %s to %s",
                   tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape), kit_layout_names[x->layout],
                   kit_shape_text(n, shape));
    }
}

/* Results whose lines lie across those of the input: as those of the same elements row by row. */
static void reduce_turned(void)
{
    static const tn_dtype dtypes[] = {TN_F32, TN_BF16, TN_I32, TN_F64};
    for (size_t i = 0; i < TN_COUNT(dtypes); i++) {
        tn_scope *s = tn_scope_open();
        tn_tensor *x =
            tn_to(tn_reshape(tn_fmod(tn_arange(2 * 3 * 130 * 140), 61), TN_SHAPE(2, 3, 130, 140)), .dtype = dtypes[i]);
        tn_tensor *turned = tn_transpose(x, 2, 3), *rows = MADE(tn_contiguous(turned));
        TRUTH(tn_equal(MADE(tn_sum(turned, .dim = 0)), tn_sum(rows, .dim = 0)));
        TRUTH(tn_equal(MADE(tn_sum(turned, .dims = TN_DIMS(0, 1))), tn_sum(rows, .dims = TN_DIMS(0, 1))));
        TRUTH(tn_equal(MADE(tn_amax(turned, .dim = 1, .keepdim = true)), tn_amax(rows, .dim = 1, .keepdim = true)));
        TRUTH(tn_equal(MADE(tn_any(turned, .dim = 1)), tn_any(rows, .dim = 1)));
        TRUTH(tn_equal(MADE(tn_sum_to_size(turned, TN_SHAPE(140, 130))), tn_sum(rows, .dims = TN_DIMS(0, 1))));
        if (kit_is_float(dtypes[i]))
            TRUTH(tn_equal(MADE(tn_mean(turned, .dim = 1)), tn_mean(rows, .dim = 1)));
        tn_scope_close(s);
    }
}

static void run_sum_to_size(void)
{
    reduce_turned();
    each_array(sum_to_size_each, true);
    tn_scope *s = tn_scope_open();
    REFUSED(tn_sum_to_size(tn_ones(TN_SHAPE(2, 3)), TN_SHAPE(2)), TN_EINVAL,
            "size {[2]} is not expandable to size {[2, 3]}.");
    tn_scope_close(s);
}

/* ---- without NaN ---- */

static void run_nan(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *i = tn_arange(0, 4, 1);
    HOLDS(tn_count_nonzero(tn_reshape(i, TN_SHAPE(2, 2)), .dim = 0), TN_SHAPE(2), 1, 2);
    HOLDS(tn_nansum(four_values(NAN, 1, 2, NAN)), TN_SHAPE(), 3);
    HOLDS(tn_nanmean(four_values(NAN, 1, 2, NAN), .keepdim = true), TN_SHAPE(1), 1.5);
    REFUSED(tn_nanmean(i), TN_EMISSING, "expected input to have floating point");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"count_nonzero", run_nan},
    {"nansum", run_nan},
    {"nanmean", run_nan},
    {"equal", run_equal},
    {"sum", run_sum},
    {"mean", run_mean},
    {"prod", run_prod},
    {"amax", run_amax},
    {"amin", run_amin},
    {"any", run_any},
    {"all", run_all},
    {"var", run_var},
    {"std", run_std},
    {"logsumexp", run_logsumexp},
    {"sum_to_size", run_sum_to_size},
    {NULL, NULL},
};

/* ---- gradients ---- */

F(sum, tn_sum(x))
F(sum_dim, tn_sum(x, .dim = 1))
F(sum_keep, tn_sum(x, .dims = TN_DIMS(0, -1), .keepdim = true))
F(mean, tn_mean(x))
F(sum_0, tn_sum(tn_mul(x, x), .dim = 0))
F(mean_0, tn_mean(tn_mul(x, x), .dim = -1, .keepdim = true))
F(prod_0, tn_prod(tn_mul(x, x), .dim = -1))
F(amax_0, tn_amax(tn_mul(x, x), .dim = 0))
F(var_0, tn_var(tn_mul(x, x), .dim = 0, .correction = tn_scalar_i(0)))
F(logsumexp_0, tn_logsumexp(tn_mul(x, x), .dim = -1))
F(mean_dim, tn_mean(x, .dim = -1))
F(prod, tn_prod(x))
F(prod_dim, tn_prod(x, .dim = 1))
F(prod_keep, tn_prod(x, .dim = 0, .keepdim = true))
F(prod_zero, tn_prod(tn_mul(x, tn_tensor_from(TN_LIST(1.0, 0.0, 2.0, 3.0), .dtype = TN_F64)), .dim = 1))
F(prod_zeros, tn_prod(tn_mul(x, tn_tensor_from(TN_LIST(1.0, 0.0, 2.0, 0.0), .dtype = TN_F64)), .dim = 1))
F(amax, tn_amax(x, .dim = 1))
F(amax_all, tn_amax(x))
F(amin, tn_amin(x, .dim = 0, .keepdim = true))
F(var, tn_var(x))
F(var_dim, tn_var(x, .dim = 1, .correction = tn_scalar_i(0)))
F(std, tn_std(x))
F(std_dim, tn_std(x, .dim = 0, .keepdim = true, .correction = tn_scalar_f(0.5)))
F(logsumexp, tn_logsumexp(x, .dim = 1))
F(logsumexp_all, tn_logsumexp(x))
F(logsumexp_keep, tn_logsumexp(x, .dims = TN_DIMS(0, 1), .keepdim = true))
F(sum_to_size, tn_sum_to_size(x, TN_SHAPE(1, 4)))

static const gradient_case gradients[] = {
    ONE(sum),
    ONE(sum_dim),
    {"sum_keep", f_sum_keep, 1, {{3, {2, 3, 2}}}, false},
    ONE(mean),
    {"sum of 0-dim", f_sum_0, 1, {{0}}, false},
    {"mean of 0-dim", f_mean_0, 1, {{0}}, false},
    {"prod of 0-dim", f_prod_0, 1, {{0}}, false},
    {"amax of 0-dim", f_amax_0, 1, {{0}}, false},
    {"var of 0-dim", f_var_0, 1, {{0}}, false},
    {"logsumexp of 0-dim", f_logsumexp_0, 1, {{0}}, false},
    ONE(mean_dim),
    {"mean of a 0-dim", f_mean, 1, {{0, {0}}}, false},
    {"prod", f_prod, 1, {{2, {2, 3}}}, false},
    ONE(prod_dim),
    ONE(prod_keep),
    ONE(prod_zero),
    ONE(prod_zeros),
    ONE(amax),
    ONE(amax_all),
    ONE(amin),
    ONE(var),
    ONE(var_dim),
    ONE(std),
    ONE(std_dim),
    ONE(logsumexp),
    ONE(logsumexp_all),
    ONE(logsumexp_keep),
    ONE(sum_to_size),
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

REDUCTION(sum, DTYPE)
REDUCTION(mean, DTYPE)
REDUCTION(prod, DTYPE)
REDUCTION(amax, )
REDUCTION(amin, )
REDUCTION(any, )
REDUCTION(all, )
REDUCTION(logsumexp, )

/* torch.var: correction None is 1; unbiased False is 0 */
static tn_scalar correction_of(record *r)
{
    value c = record_arg(r, -1, "correction"), u = record_arg(r, -1, "unbiased");
    if (u.kind == V_BOOL)
        return tn_scalar_i(u.i);
    return scalar_of(c);
}

REDUCTION(var, , .correction = correction_of(r))
REDUCTION(std, , .correction = correction_of(r))
SHAPED(sum_to_size, tn_sum_to_size, "size")

static bool record_allclose(record *r, results *out)
{
    return give_truth(out,
                      tn_allclose(r->input.t, record_arg(r, 0, "other").t, .rtol = scalar_of(record_arg(r, 1, "rtol")),
                                  .atol = scalar_of(record_arg(r, 2, "atol"))));
}

static bool record_equal(record *r, results *out)
{
    return give_truth(out, tn_equal(r->input.t, record_arg(r, 0, "other").t));
}

#define REDUCED .dims = dims_of(record_arg(r, 0, "dim"), &b), .keepdim = flag_of(record_arg(r, 1, "keepdim")) DTYPE

static bool record_nansum(record *r, results *out)
{
    dims_buffer b;
    return give(out, tn_nansum(r->input.t, REDUCED));
}

static bool record_nanmean(record *r, results *out)
{
    dims_buffer b;
    return give(out, tn_nanmean(r->input.t, REDUCED));
}

static bool record_count_nonzero(record *r, results *out)
{
    dims_buffer b;
    return give(out, tn_count_nonzero(r->input.t, .dims = dims_of(record_arg(r, 0, "dim"), &b)));
}

static const named_adapter adapters[] = {
    {"sum", record_sum},
    {"mean", record_mean},
    {"prod", record_prod},
    {"amax", record_amax},
    {"amin", record_amin},
    {"any", record_any},
    {"all", record_all},
    {"logsumexp", record_logsumexp},
    {"var", record_var},
    {"std", record_std},
    {"sum_to_size", record_sum_to_size},
    {"allclose", record_allclose},
    {"equal", record_equal},
    {"nansum", record_nansum},
    {"nanmean", record_nanmean},
    {"count_nonzero", record_count_nonzero},
    {NULL, NULL},
};

const family_tests reduce_tests = {cases, gradients, adapters};
