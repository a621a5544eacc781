/* Gradients of variances, deviations and extremes by rows. */
#include "ops/family.h"

/* One backward that is not recorded, by rows where it can be, gives what a recorded one gives. */
static void same_gradient(tn_tensor *x, tn_tensor *(*f)(tn_tensor *x), double near)
{
    tn_tensor *leaf = MADE(tn_requires_grad_(MADE(tn_detach(x)), true)), *out = MADE(f(leaf)), *grad[1];
    tn_tensor *g = MADE(tn_add(MADE(tn_mul(MADE(tn_detach(out)), 0.5)), 1));
    TRUTH(tn_backward(out, .gradient = g) == TN_OK);
    TRUTH(tn_grad(TN_TENSORS(f(leaf)), TN_TENSORS(leaf), grad, .grad_outputs = TN_TENSORS(g), .create_graph = true) ==
          TN_OK);
    TRUTH(same_within(tn_tensor_grad(leaf), grad[0], near));
}

#define BY_ROWS(name, call) \
    static tn_tensor *rows_of_##name(tn_tensor *x) \
    { \
        return call; \
    }
BY_ROWS(var, tn_var(x, .dims = TN_DIMS(-1)))
BY_ROWS(var_0, tn_var(x, .dims = TN_DIMS(0), .correction = tn_scalar_i(0)))
BY_ROWS(var_all, tn_var(x))
BY_ROWS(std, tn_std(x, .dims = TN_DIMS(-1), .keepdim = true))
BY_ROWS(std_inner, tn_std(x, .dims = TN_DIMS(-1, -2)))
BY_ROWS(std_outer, tn_std(x, .dims = TN_DIMS(0, -1)))
BY_ROWS(amax, tn_amax(x, .dims = TN_DIMS(-1)))
BY_ROWS(amin, tn_amin(x, .dims = TN_DIMS(-1), .keepdim = true))
BY_ROWS(amax_all, tn_amax(x))

static void run_row_gradients(void)
{
    static tn_tensor *(*const all[])(tn_tensor * x) = {rows_of_var,  rows_of_var_0,     rows_of_var_all,
                                                       rows_of_std,  rows_of_std_inner, rows_of_std_outer,
                                                       rows_of_amax, rows_of_amin,      rows_of_amax_all};
    static const shape_list shapes[] = {
        {2, {5, 70}}, {3, {3, 1, 100}}, {3, {4, 16, 8}}, {2, {1, 40000}}, {2, {70, 4500}}};
    for (size_t i = 0; i < TN_COUNT(shapes) * KIT_DTYPES; i++) {
        kit_array x;
        tn_scope *s = tn_scope_open();
        const shape_list *shape = &shapes[i / KIT_DTYPES];
        const tn_dtype d = kit_dtypes[i % KIT_DTYPES];
        random_array(&x, d, shape->ndim, shape->dim, KIT_DENSE, true);
        for (int64_t k = 0; k < x.numel; k++) /* ties; and rows of one value */
            x.v[k] = k < x.numel / shape->dim[0] ? 2 : floorl(4 * x.v[k]) / 4;
        kit_show(&x);
        for (size_t k = 0; k < TN_COUNT(all) && kit_is_float(d); k++)
            same_gradient(x.t, all[k], d == TN_F16 || d == TN_BF16 ? 0.02 : 1e-5);
        x.v[0] = x.v[x.numel - 1] = KIT_NAN;
        kit_show(&x);
        for (size_t k = 6; k < TN_COUNT(all) && kit_is_float(d); k++)
            same_gradient(x.t, all[k], 0.02);
        kit_array_free(&x);
        tn_scope_close(s);
    }
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 70)), *g = tn_ones(TN_SHAPE(3));
    REFUSED(tn__row_gradients(g, x, TN_NONE, 0, 1), TN_EINVAL, "rows as many as g has");
    REFUSED(tn__row_gradients(tn_ones(TN_SHAPE(2)), x, TN_NONE, 1, 1), TN_EINVAL, "rows as many as g has");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"_row_gradients", run_row_gradients},
    {NULL, NULL},
};

const family_tests reduce_gradients_tests = {.cases = cases};
