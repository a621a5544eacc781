/* Integrals: trapezoid. Values are PyTorch's. */
#include "ops/family.h"

static void run_trapezoid(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *a = counted(TN_SHAPE(2, 3), 6),
              *x = tn_to(tn_slice(four_values(1, 2, 4, 0), 0, 0, 3, 1), .dtype = TN_F32);
    HOLDS(tn_trapezoid(a, -1), TN_SHAPE(2), 4, 10);
    HOLDS(tn_trapezoid(a, 0, .dx = TN_SCALAR(3)), TN_SHAPE(3), 7.5, 10.5, 13.5);
    HOLDS(tn_trapezoid(a, 1, .x = x), TN_SHAPE(2), 6.5, 15.5);
    HOLDS(tn_trapezoid(a, 0, .x = tn_stack(TN_TENSORS(x, tn_mul(x, 2)), 0)), TN_SHAPE(3), 2.5, 7, 18);
    HOLDS(tn_trapezoid(tn_unsqueeze(a, 0), 1, .x = tn_stack(TN_TENSORS(x, tn_mul(x, 2)), 0)), TN_SHAPE(1, 3), 2.5, 7,
          18);
    HOLDS(tn_trapezoid(tn_to(a, .dtype = TN_I64), 1), TN_SHAPE(2), 4, 10);
    HOLDS(tn_trapezoid(tn_narrow(a, 1, 0, 0), 1), TN_SHAPE(2), 0, 0);
    HOLDS(tn_trapezoid(tn_narrow(a, 1, 0, 1), 1), TN_SHAPE(2), 0, 0);
    REFUSED(tn_trapezoid(tn_select(x, 0, 0), 0), TN_EINDEX, "Dimension specified as 0 but tensor has no dimensions");
    REFUSED(tn_trapezoid(a, 2), TN_EINDEX, "Dimension out of range");
    REFUSED(tn_trapezoid(a, 0, .x = x), TN_EINVAL, "trapezoid: There must be one `x` value for each sample point");
    REFUSED(tn_trapezoid(x, 0, .x = a), TN_EINVAL, "The size of tensor a (2) must match the size of tensor b (3)");
    REFUSED(tn_trapezoid(tn_gt(a, 0), 0), TN_EMISSING, "received a bool input for `y`, but bool is not supported");
    REFUSED(tn_trapezoid(a, 1, .x = tn_gt(x, 0)), TN_EMISSING, "received a bool input for `x` or `y`, but bool");
    REFUSED(tn_trapezoid(a, 1, .dx = tn_scalar_b(true)), TN_EINVAL, "we only support dx as a real number.");
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"trapezoid", run_trapezoid},
    {NULL, NULL},
};

/* ---- gradients ---- */

F(trapezoid, tn_trapezoid(x, 0, .dx = TN_SCALAR(0.5)))
F(trapezoid_at, tn_trapezoid(x, 1, .x = y))

static const gradient_case gradients[] = {ONE(trapezoid), TWO(trapezoid_at), {NULL, NULL, 0, {{0, {0}}}, false}};

/* ---- PyTorch's records ---- */

ADAPTER(trapezoid, tn_trapezoid(x, DIM(-1, "dim", -1), .x = TENSOR(0, "x"), .dx = SCALAR("dx")))

static const named_adapter adapters[] = {
    {"trapezoid", record_trapezoid},
    {"trapz", record_trapezoid},
    {NULL, NULL},
};

const family_tests reduce_trapezoid_tests = {cases, gradients, adapters};
