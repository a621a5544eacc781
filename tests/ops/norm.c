/* Normalisation: small cases worked out by hand. */
#include "ops/family.h"

static void run_norms(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_sub(tn_mul(tn_gt(counted(TN_SHAPE(2, 2), 4), 2), 6.0), 3), *t = tn_t(x);
    tn_tensor *mean = tn_zeros(TN_SHAPE(2)), *var = tn_ones(TN_SHAPE(2)), *w = counted(TN_SHAPE(2), 2);
    /* -3, 3: mean 0, variance 9 */
    HOLDS(tn_layer_norm(t, TN_DIMS(2), .eps = TN_SCALAR(7)), TN_SHAPE(2, 2), -0.75, 0.75, -0.75, 0.75);
    HOLDS(tn_layer_norm(t, TN_DIMS(2), .weight = w, .bias = w, .eps = TN_SCALAR(7)), TN_SHAPE(2, 2), 0.25, 3.5, 0.25,
          3.5);
    HOLDS(tn_batch_norm(x, TN_NONE, TN_NONE, .training = true, .eps = TN_SCALAR(7)), TN_SHAPE(2, 2), -0.75, -0.75, 0.75,
          0.75);
    HOLDS(tn_batch_norm(tn_add(x, 1), mean, var, .weight = w, .bias = w, .training = true, .momentum = TN_SCALAR(0.5),
                        .eps = TN_SCALAR(7)),
          TN_SHAPE(2, 2), 0.25, 0.5, 1.75, 3.5);
    HOLDS(mean, TN_SHAPE(2), 0.5, 0.5);
    HOLDS(var, TN_SHAPE(2), 9.5, 9.5); /* half of 1 and of the unbiased 18 */
    HOLDS(tn_batch_norm(x, mean, var, .eps = TN_SCALAR(6.5)), TN_SHAPE(2, 2), -0.875, -0.875, 0.625, 0.625);
    REFUSED(tn_layer_norm(x, tn_dims_of(NULL, 1)), TN_EINVAL, "a list of 0 to 8 numbers was expected");
    REFUSED(tn_layer_norm(x, TN_DIMS(3)), TN_EINVAL,
            "Given normalized_shape=[3], expected input with shape [*, 3], but got input of size[2, 2]");
    REFUSED(tn_layer_norm(x, TN_DIMS(2), .weight = mean, .bias = tn_ones(TN_SHAPE(2), .dtype = TN_F64)), TN_EDTYPE,
            "expected scalar type Float but found Double");
    REFUSED(tn_batch_norm(x, TN_NONE, TN_NONE), TN_EINVAL, "running_mean must be defined in evaluation mode");
    REFUSED(tn_batch_norm(tn_ones(TN_SHAPE(1, 2)), mean, var, .training = true), TN_EVALUE,
            "Expected more than 1 value per channel");
    tn_scope_close(s);
}

/* Of any layout, of 16 bits too, and rows longer than a block. */
static void layer_norm_each(kit_array *x)
{
    const real small = 0.5L;
    if (!x->ndim)
        return;
    const int64_t n = x->shape[x->ndim - 1];
    tn_tensor *got = tn_layer_norm(x->t, TN_DIMS(n), .eps = TN_SCALAR(0.5));
    if (!kit_is_float(x->dtype)) {
        refused(got, TN_EDTYPE, "not implemented for", "layer_norm");
        return;
    }
    expected e;
    expected_init(&e, x->dtype, x->ndim, x->shape);
    expected_tolerate(&e);
    for (int64_t at = 0; at < x->numel; at += n) {
        real mean = 0, var = 0, most = 0;
        for (int64_t k = at; k < at + n; k++)
            mean += x->v[k] / (real)n;
        for (int64_t k = at; k < at + n; k++) {
            var += (x->v[k] - mean) * (x->v[k] - mean) / (real)n;
            most = fmaxl(most, fabsl(x->v[k]));
        }
        for (int64_t k = at; k < at + n; k++) { /* errors: of the difference, of the mean, of the scale */
            e.v[k] = (x->v[k] - mean) / sqrtl(var + small);
            e.tol[k] = compute_eps(x->dtype) * (8 * fabsl(e.v[k]) + 4 * most / sqrtl(var + small));
        }
    }
    e.ulps = kit_digits(x->dtype) < 24 ? 1 : 0;
    check_free(&e, got, "layer_norm of %s %s %s", tn_dtype_name(x->dtype), kit_shape_text(x->ndim, x->shape),
               kit_layout_names[x->layout]);
}

static void run_layer_norm(void)
{
    static const shape_list rows[] = {{2, {3, 5000}}, {2, {700, 3}}, {2, {40, 1025}}, {3, {2, 5, 33}}};
    each_array(layer_norm_each, true);
    for (int i = 6; i < KIT_DTYPES; i++)
        for (size_t k = 0; k < TN_COUNT(rows); k++)
            for (int layout = KIT_DENSE; layout <= KIT_TRANSPOSED; layout++) {
                kit_array x;
                tn_scope *s = tn_scope_open();
                random_array(&x, kit_dtypes[i], rows[k].ndim, rows[k].dim, (kit_layout)layout, true);
                layer_norm_each(&x);
                kit_array_free(&x);
                tn_scope_close(s);
            }
    run_norms();
}

static const structural_case cases[] = {
    {"layer_norm", run_layer_norm},
    {"batch_norm", run_norms},
    {NULL, NULL},
};

/* ---- gradients ---- */

F(layer_norm, tn_layer_norm(x, TN_DIMS(tn_tensor_size(x, -1)), .eps = TN_SCALAR(0.25)))
F(layer_norm_scaled, tn_layer_norm(x, TN_DIMS(tn_tensor_size(x, -1)), .weight = tn_select(y, 0, 0),
                                   .bias = tn_select(y, 0, -1), .eps = TN_SCALAR(0.25)))
F(standardize_first, tn__standardize(x, 0, 0.25))
F(standardize_backward, tn__standardize_backward(x, y, 1, 0.25))

static const gradient_case gradients[] = {
    ONE(layer_norm),
    TWO(layer_norm_scaled),
    ONE(standardize_first),
    TWO(standardize_backward),
    {NULL, NULL, 0, {{0, {0}}}, false},
};

/* ---- PyTorch's records ---- */

static bool record_layer_norm(record *r, results *out)
{
    dims_buffer b;
    return give(out, tn_layer_norm(r->input.t, dims_of(record_arg(r, 0, "normalized_shape"), &b),
                                   .weight = TENSOR(1, "weight"), .bias = TENSOR(2, "bias"), .eps = AT(3, "eps")));
}

static tn_tensor *or_none(value v)
{
    return v.kind == V_TENSOR ? v.t : TN_NONE;
}

static bool record_batch_norm(record *r, results *out)
{
    return give(out, tn_batch_norm(r->input.t, or_none(record_arg(r, 0, "running_mean")),
                                   or_none(record_arg(r, 1, "running_var")), .weight = TENSOR(2, "weight"),
                                   .bias = TENSOR(3, "bias"), .training = flag_of(record_arg(r, 4, "training")),
                                   .momentum = AT(5, "momentum"), .eps = AT(6, "eps")));
}

static const named_adapter adapters[] = {
    {"nn.functional.layer_norm", record_layer_norm},
    {"nn.functional.batch_norm", record_batch_norm},
    {NULL, NULL},
};

const family_tests norm_tests = {cases, gradients, adapters};
