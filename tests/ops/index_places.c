/* Places of elements as numbers. */
#include "ops/family.h"

static void run_nonzero_static(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_reshape(tn_arange(0, 6, 1, .dtype = TN_F32), TN_SHAPE(2, 3));
    HOLDS(tn_nonzero_static(x, 2), TN_SHAPE(2, 2), 0, 1, 0, 2);
    HOLDS(tn_nonzero_static(x, 6), TN_SHAPE(6, 2), 0, 1, 0, 2, 1, 0, 1, 1, 1, 2, -1, -1);
    HOLDS(tn_nonzero_static(tn_select(x, 0, 0), 3, .fill_value = TN_SCALAR(7)), TN_SHAPE(3, 1), 1, 2, 7);
    HOLDS(tn_nonzero_static(x, 0), TN_SHAPE(0, 2), 0);
    HOLDS(tn_nonzero_static(tn_ones(TN_SHAPE()), 2), TN_SHAPE(2, 0), 0);
    REFUSED(tn_nonzero_static(x, -1), TN_EINVAL, "nonzero_static: 'size' must be an non-negative integer");
    tn_scope_close(s);
}

static void run_unravel_index(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *at = tn_tensor_from(TN_LIST(3, 5, 23), .dtype = TN_I64), *out[3];
    TRUTH(tn_unravel_index(at, TN_SHAPE(2, 3, 4), out, 3) == 3);
    HOLDS(out[0], TN_SHAPE(3), 0, 0, 1);
    HOLDS(out[1], TN_SHAPE(3), 0, 1, 2);
    HOLDS(out[2], TN_SHAPE(3), 3, 1, 3);
    TRUTH(tn_unravel_index(at, TN_SHAPE(2, 0), out, 3) == 0 && tn_error_code() == TN_EINVAL);
    tn_error_clear();
    TRUTH(tn_unravel_index(tn_ones(TN_SHAPE(1)), TN_SHAPE(2), out, 3) == 0 && tn_error_code() == TN_ETYPE);
    tn_error_clear();
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"nonzero_static", run_nonzero_static}, {"unravel_index", run_unravel_index}, {NULL, NULL}};

/* ---- PyTorch's records ---- */

ADAPTER(nonzero_static, tn_nonzero_static(x, int_of(record_arg(r, -1, "size"), 0)))

static bool record_unravel_index(record *r, results *out)
{
    dims_buffer b;
    const tn_dims shape = dims_of(record_arg(r, 0, "shape"), &b);
    const int64_t n = shape.ndim ? tn_unravel_index(r->input.t, shape, out->t, 4) : 0;
    out->n = (int)n;
    return n == shape.ndim;
}

static const named_adapter adapters[] = {
    {"nonzero_static", record_nonzero_static}, {"unravel_index", record_unravel_index}, {NULL, NULL}};

const family_tests index_places_tests = {cases, NULL, adapters};
