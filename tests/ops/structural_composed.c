/* Activations and losses composed of operations: each against a formula, element by element, in the layouts there are. */
#include "ops/structural.h"
#include <float.h>
#include <string.h>

typedef struct formula {
    const char *name;
    tn_tensor *(*f)(tn_tensor *x, tn_tensor *y);
    real (*reference)(real x, real y);
} formula;

#define FORMULA(name, expression, want) \
    static tn_tensor *f_##name(tn_tensor *x, tn_tensor *y) \
    { \
        (void)y; \
        return expression; \
    } \
    static real r_##name(real x, real y) \
    { \
        (void)y; \
        return want; \
    }
#define NONE .reduction = TN_NO_REDUCTION
FORMULA(threshold, tn_threshold(x, 0.5, tn_scalar_i(-3)), x > 0.5L ? x : -3)
FORMULA(hardsigmoid, tn_hardsigmoid(x), x<-3 ? 0 : x> 3 ? 1 : x / 6 + 0.5L)
FORMULA(hardswish, tn_hardswish(x), x *(x<-3 ? 0 : x> 3 ? 1 : x / 6 + 0.5L))
FORMULA(prelu, tn_prelu(x, tn_full_like(tn_zeros(TN_SHAPE(1), .dtype = tn_tensor_dtype(x)), 0.25)), x > 0 ? x : x / 4)
FORMULA(celu, tn_celu(x, .alpha = TN_SCALAR(2)), x > 0 ? x : 2 * expm1l(x / 2))
FORMULA(selu, tn_selu(x), 1.0507009873554804934L * (x > 0 ? x : 1.6732632423543772848L * expm1l(x)))
FORMULA(mish, tn_mish(x), x *tanhl(log1pl(expl(x))))
FORMULA(logsigmoid, tn_logsigmoid(x), -log1pl(expl(-x)))
FORMULA(softsign, tn_softsign(x), x / (1 + fabsl(x)))
FORMULA(tanhshrink, tn_tanhshrink(x), x - tanhl(x))
FORMULA(hardshrink, tn_hardshrink(x, .lambd = TN_SCALAR(2)), fabsl(x) <= 2 ? 0 : x)
FORMULA(softshrink, tn_softshrink(x, .lambd = TN_SCALAR(1)), x > 1 ? x - 1 : x < -1 ? x + 1 : 0)
FORMULA(glu, tn_glu(tn_stack(TN_TENSORS(x, y), 0), 0), x / (1 + expl(-y)))
FORMULA(weighted_mse_loss, tn_weighted_mse_loss(x, y, tn_full_like(x, 3), NONE), 3 * (x - y) * (x - y))
FORMULA(weighted_l1_loss, tn_weighted_l1_loss(x, y, tn_full_like(x, 3), NONE), 3 * fabsl(x - y))
FORMULA(weighted_huber_loss, tn_weighted_huber_loss(x, y, tn_full_like(x, 3), NONE, .delta = TN_SCALAR(2)),
        3 * (fabsl(x - y) <= 2 ? (x - y) * (x - y) / 2 : 2 * (fabsl(x - y) - 1)))

#define ROW(name) \
    { \
#name, f_##name, r_##name \
    }
static const formula formulas[] = {ROW(threshold),
                                   ROW(hardsigmoid),
                                   ROW(hardswish),
                                   ROW(prelu),
                                   ROW(celu),
                                   ROW(selu),
                                   ROW(mish),
                                   ROW(logsigmoid),
                                   ROW(softsign),
                                   ROW(tanhshrink),
                                   ROW(hardshrink),
                                   ROW(softshrink),
                                   ROW(glu),
                                   ROW(weighted_mse_loss),
                                   ROW(weighted_l1_loss),
                                   ROW(weighted_huber_loss)};

/* Composed in the dtype itself: a few roundings of the sizes at hand. */
static void formula_each(kit_array *x)
{
    if (!kit_is_float(x->dtype))
        return;
    for (size_t k = 0; k < TN_COUNT(formulas); k++) {
        const formula *f = &formulas[k];
        kit_array a, b;
        expected e;
        if (!strcmp(f->name, "glu") && x->ndim == TN_MAX_DIMS)
            continue; /* its halves are stacked */
        kit_array_init(&a, x->dtype, x->ndim, x->shape, x->layout);
        kit_array_init(&b, x->dtype, x->ndim, x->shape, (kit_layout)kit_below(KIT_LAYOUTS));
        for (int64_t i = 0; i < a.numel; i++) {
            a.v[i] = (real)kit_uniform(-5, 5);
            b.v[i] = (real)kit_uniform(-5, 5);
        }
        kit_show(&a);
        kit_show(&b);
        expected_init(&e, x->dtype, x->ndim, x->shape);
        expected_tolerate(&e);
        for (int64_t i = 0; i < e.numel; i++) {
            e.v[i] = f->reference(a.v[i], b.v[i]);
            e.tol[i] = 16 * kit_ulp(x->dtype, 1) * (1 + fabsl(a.v[i]) + fabsl(b.v[i]) + fabsl(e.v[i]));
        }
        tn_tensor *got = f->f(a.t, b.t);
        if (!strcmp(f->name, "glu") && got) /* along the stack: one half of two */
            got = tn_squeeze(got, .dim = TN_DIMS(0));
        check_free(&e, got, "%s of %s %s %s", f->name, tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
                   kit_layout_names[x->layout]);
        kit_array_free(&a);
        kit_array_free(&b);
    }
}

static void run_formulas(void)
{
    each_array(formula_each, true);
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(3)), *i = tn_arange(0, 3, 1), *two = tn_ones(TN_SHAPE(2));
    REFUSED(tn_mish(i), TN_EDTYPE, "\"mish_cpu\" not implemented for 'Long'");
    REFUSED(tn_softsign(NULL), TN_EINVAL, "");
    REFUSED(tn_prelu(TN_NONE, x), TN_ETYPE, "TN_NONE");
    REFUSED(tn_prelu(tn_ones(TN_SHAPE(2, 3)), two), TN_EINVAL,
            "Mismatch of parameter numbers and input channel size. Found parameter numbers = 2 and channel size = 3.");
    REFUSED(tn_celu(x, .alpha = TN_SCALAR(0)), TN_EINVAL, "alpha cannot be 0 for CELU");
    REFUSED(tn_glu(x, 0), TN_EINVAL, "Halving dimension must be even, but dimension 0 is size 3");
    REFUSED(tn_softshrink(x, .lambd = TN_SCALAR(-1)), TN_EINVAL, "lambda must be in range [0, 3.40282e+38]");
    REFUSED(tn_hardtanh(x, .min_val = TN_SCALAR(2)), TN_EVALUE, "min_val cannot be greater than max_val");
    REFUSED(tn_weighted_mse_loss(x, x, two), TN_EVALUE, "Weights and input must have the same size.");
    /* means: over the weights, and over the elements; batchmean: over the first dimension */
    tn_tensor *w = tn_arange(1, 4, 1, .dtype = TN_F32), *zero = tn_zeros_like(x);
    TRUTH(kit_item(tn_weighted_mse_loss(tn_mul(w, 1), zero, w), 0) == 6);
    TRUTH(kit_item(tn_weighted_l1_loss(x, zero, w), 0) == 1);
    TRUTH(kit_item(tn_weighted_huber_loss(x, zero, w), 0) == 1);
    TRUTH(kit_item(tn_kl_div(zero, x, .reduction = TN_BATCH_MEAN, .log_target = true), 0) ==
          kit_item(tn_kl_div(zero, x, .reduction = TN_MEAN, .log_target = true), 0));
    tn_scope_close(s);
}

/* Of rows: 3, 4 and 0, 1 */
static void run_rows(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *a = tn_reshape(tn_sub(tn_arange(0, 6, 1, .dtype = TN_F64), 2), TN_SHAPE(2, 3));
    tn_tensor *b = tn_add(tn_square(a), 1);
    const int64_t shape[2] = {2, 3};
    expected cosine, distance, unit;
    expected_init(&cosine, TN_F64, 1, shape);
    expected_init(&distance, TN_F64, 1, shape);
    expected_init(&unit, TN_F64, 2, shape);
    cosine.ulps = distance.ulps = unit.ulps = 4;
    for (int i = 0; i < 2; i++) {
        real dot = 0, aa = 0, bb = 0, cubes = 0;
        for (int k = 0; k < 3; k++) {
            const real x = (real)(3 * i + k - 2), y = x * x + 1;
            dot += x * y, aa += x * x, bb += y * y;
            cubes += powl(fabsl(x - y + 1e-6L), 3);
        }
        cosine.v[i] = dot / sqrtl(aa * bb);
        distance.v[i] = cbrtl(cubes);
        for (int k = 0; k < 3; k++)
            unit.v[3 * i + k] = (real)(3 * i + k - 2) / sqrtl(aa);
    }
    check_free(&cosine, tn_cosine_similarity(a, b, 1), "cosine_similarity");
    check_free(&distance, tn_pairwise_distance(a, b, .p = TN_SCALAR(3)), "pairwise_distance");
    check_free(&unit, tn_normalize(a, TN_DIMS(1)), "normalize");
    TRUTH(kit_item(tn_normalize(tn_full_like(a, 0), TN_DIMS(1)), 0) == 0);
    REFUSED(tn_cosine_similarity(a, tn_ones(TN_SHAPE(4)), 1), TN_EINVAL,
            "objects cannot be broadcast to a single shape: (2, 3) and (4,)");
    REFUSED(tn_cosine_similarity(a, a, 1, .eps = TN_SCALAR(-1)), TN_EINVAL, "eps must be non-negative");
    tn_scope_close(s);
}

static tn_tensor *values(double a, double b, double c, double d)
{
    const double all[] = {a, b, c, d};
    tn_tensor *t = tn_zeros(TN_SHAPE(4), .dtype = TN_F64);
    for (int i = 0; i < 4; i++)
        (void)tn_fill_(tn_select(t, 0, i), all[i]);
    return t;
}

static void run_numbers(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = values(NAN, INFINITY, -INFINITY, -2.5), *i = tn_arange(0, 4, 1), *b = tn_gt(i, 1);
    HOLDS(tn_nan_to_num(x, .nan = TN_SCALAR(7), .posinf = TN_SCALAR(8)), TN_SHAPE(4), 7, 8, -DBL_MAX, -2.5);
    HOLDS(tn_frac(values(1.5, -2.25, 3, 0)), TN_SHAPE(4), 0.5, -0.25, 0, 0);
    HOLDS(tn_deg2rad(values(180, 0, 0, 0)), TN_SHAPE(4), acos(-1), 0, 0, 0);
    HOLDS(tn_rad2deg(values(acos(-1), 0, 0, 0)), TN_SHAPE(4), 180, 0, 0, 0);
    TRUTH(tn_positive(i) == i);
    REFUSED(tn_positive(b), TN_EMISSING, "on a bool tensor is not supported");
    REFUSED(tn_frac(i), TN_EDTYPE, "\"frac_cpu\" not implemented for 'Long'");
    HOLDS(tn_count_nonzero(tn_reshape(i, TN_SHAPE(2, 2)), .dim = TN_DIMS(0)), TN_SHAPE(2), 1, 2);
    HOLDS(tn_nansum(values(NAN, 1, 2, NAN)), TN_SHAPE(), 3);
    HOLDS(tn_nanmean(values(NAN, 1, 2, NAN), .keepdim = true), TN_SHAPE(1), 1.5);
    REFUSED(tn_nanmean(i), TN_EMISSING, "expected input to have floating point");
    tn_scope_close(s);
}

static void run_distances(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *a = tn_reshape(values(0, 0, 3, 4), TN_SHAPE(2, 2)), *b = tn_reshape(values(0, 0, 6, 8), TN_SHAPE(2, 2));
    HOLDS(tn_cdist(a, b), TN_SHAPE(2, 2), 0, 10, 5, 5);
    HOLDS(tn_cdist(a, b, .p = TN_SCALAR(1)), TN_SHAPE(2, 2), 0, 14, 7, 7);
    HOLDS(tn_dist(a, b), TN_SHAPE(), 5);
    HOLDS(tn_kron(tn_select(a, 0, 1), b), TN_SHAPE(2, 4), 0, 0, 0, 0, 18, 24, 24, 32);
    REFUSED(tn_cdist(a, tn_ones(TN_SHAPE(2, 3))), TN_EINVAL, "same number of columns. X1: 2 X2: 3");
    REFUSED(tn_cdist(a, b, .p = TN_SCALAR(-1)), TN_EINVAL, "non-negative p values");
    REFUSED(tn_dist(tn_ones(TN_SHAPE(1), .dtype = TN_I64), tn_ones(TN_SHAPE(1), .dtype = TN_I64)), TN_EMISSING,
            "Got Long");
    tn_scope_close(s);
}

static void run_lookups(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *line = values(1, 3, 3, 7), *x = values(0, 3, 4, 9), *rows = tn_reshape(line, TN_SHAPE(2, 2)),
              *i = tn_arange(0, 4, 1);
    HOLDS(tn_searchsorted(line, x), TN_SHAPE(4), 0, 1, 3, 4);
    HOLDS(tn_searchsorted(line, x, .right = true, .out_int32 = true), TN_SHAPE(4), 0, 3, 3, 4);
    HOLDS(tn_searchsorted(rows, tn_reshape(x, TN_SHAPE(2, 2))), TN_SHAPE(2, 2), 0, 1, 1, 2);
    HOLDS(tn_searchsorted(tn_flip(line, TN_DIMS(0)), 3, .sorter = tn_flip(i, TN_DIMS(0))), TN_SHAPE(), 1);
    HOLDS(tn_bucketize(5, line), TN_SHAPE(), 3);
    HOLDS(tn_isin(x, line), TN_SHAPE(4), 0, 1, 0, 0);
    HOLDS(tn_isin(x, 4, .invert = true), TN_SHAPE(4), 1, 1, 0, 1);
    REFUSED(tn_searchsorted(rows, 3), TN_EINVAL, "input value can be a scalar only when");
    REFUSED(tn_searchsorted(line, x, .sorter = tn_add(i, 1)), TN_EINVAL, "sorter index out of range");
    REFUSED(tn_bucketize(x, rows), TN_EINVAL, "boundaries tensor must be 1 dimension, but got dim(2)");
    REFUSED(tn_isin(tn_gt(x, 0), x), TN_EMISSING, "Unsupported input type");
    tn_scope_close(s);
}

const structural_case cases_composed[] = {
    {"threshold", run_formulas},
    {"hardsigmoid", run_formulas},
    {"hardswish", run_formulas},
    {"prelu", run_formulas},
    {"celu", run_formulas},
    {"selu", run_formulas},
    {"mish", run_formulas},
    {"logsigmoid", run_formulas},
    {"softsign", run_formulas},
    {"tanhshrink", run_formulas},
    {"hardshrink", run_formulas},
    {"softshrink", run_formulas},
    {"glu", run_formulas},
    {"weighted_mse_loss", run_formulas},
    {"weighted_l1_loss", run_formulas},
    {"weighted_huber_loss", run_formulas},
    {"pairwise_distance", run_rows},
    {"cosine_similarity", run_rows},
    {"normalize", run_rows},
    {"deg2rad", run_numbers},
    {"rad2deg", run_numbers},
    {"positive", run_numbers},
    {"frac", run_numbers},
    {"nan_to_num", run_numbers},
    {"count_nonzero", run_numbers},
    {"nansum", run_numbers},
    {"nanmean", run_numbers},
    {"dist", run_distances},
    {"cdist", run_distances},
    {"kron", run_distances},
    {"searchsorted", run_lookups},
    {"bucketize", run_lookups},
    {"isin", run_lookups},
    {NULL, NULL},
};
