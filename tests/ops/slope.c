/* Slopes where formulas say nothing: on ties, at bounds, at the origin, for NaN. Values are PyTorch's. */
#include "ops/family.h"

/* The gradient at x of a function of x and a constant y. */
static tn_tensor *slope_at(double x, double y, tn_tensor *(*f)(tn_tensor *x, tn_tensor *y))
{
    tn_tensor *leaf = tn_full(TN_SHAPE(1), x, .dtype = TN_F64, .requires_grad = true);
    tn_tensor *other = tn_full(TN_SHAPE(1), y, .dtype = TN_F64);
    MADE(f(leaf, other));
    TRUTH(tn_backward(tn_sum(f(leaf, other))) == TN_OK);
    return tn_tensor_grad(leaf);
}

#define OF(name, result) \
    static tn_tensor *of_##name(tn_tensor *x, tn_tensor *y) \
    { \
        (void)y; \
        return result; \
    }
OF(maximum, tn_maximum(x, y))
OF(minimum, tn_minimum(x, y))
OF(at_least, tn_clamp_min(x, y))
OF(at_least_1, tn_clamp_min(x, 1))
OF(at_most_1, tn_clamp_max(x, 1))
OF(clamp, tn_clamp(x, -1, 1))
OF(atan2, tn_atan2(x, y))
OF(pow, tn_pow(x, y))
OF(pow_0, tn_pow(x, 0))
OF(abs, tn_abs(x))
OF(smooth_l1, tn_smooth_l1_loss(x, y))
OF(huber, tn_huber_loss(x, y))
OF(kl_div, tn_kl_div(y, x, .reduction = TN_SUM))

static void run_slopes(void)
{
    tn_scope *s = tn_scope_open();
    HOLDS(slope_at(2, 2, of_maximum), TN_SHAPE(1), 0.5);
    HOLDS(slope_at(2, 3, of_maximum), TN_SHAPE(1), 0);
    HOLDS(slope_at(2, 3, of_minimum), TN_SHAPE(1), 1);
    HOLDS(slope_at(2, NAN, of_maximum), TN_SHAPE(1), 1);
    HOLDS(slope_at(NAN, 2, of_minimum), TN_SHAPE(1), 1);
    HOLDS(slope_at(2, 2, of_at_least), TN_SHAPE(1), 0.5);
    HOLDS(slope_at(0.5, 0, of_at_least_1), TN_SHAPE(1), 0);
    HOLDS(slope_at(0.5, 0, of_at_most_1), TN_SHAPE(1), 1);
    HOLDS(slope_at(0.5, 0, of_clamp), TN_SHAPE(1), 1);
    HOLDS(slope_at(-3, 0, of_clamp), TN_SHAPE(1), 0);
    HOLDS(slope_at(0, 0, of_atan2), TN_SHAPE(1), 0);
    HOLDS(slope_at(0, 2, of_atan2), TN_SHAPE(1), 0.5);
    HOLDS(slope_at(0, 0, of_pow), TN_SHAPE(1), 0);
    HOLDS(slope_at(0, 1, of_pow), TN_SHAPE(1), 1);
    HOLDS(slope_at(0, 0, of_pow_0), TN_SHAPE(1), 0);
    HOLDS(slope_at(0, 0, of_abs), TN_SHAPE(1), 0);
    HOLDS(slope_at(5, INFINITY, of_smooth_l1), TN_SHAPE(1), -1);
    HOLDS(slope_at(3, 1, of_huber), TN_SHAPE(1), 1);
    HOLDS(slope_at(1.25, 1, of_huber), TN_SHAPE(1), 0.25);
    HOLDS(slope_at(0, 3, of_kl_div), TN_SHAPE(1), -3);
    tn_scope_close(s);
}

/* Weight 1 gives the end itself; a number that 16 bits do not hold counts as it is. */
static void run_lerp(void)
{
    tn_scope *s = tn_scope_open();
    tn_tensor *from = tn_full(TN_SHAPE(1), 0.1, .dtype = TN_F32), *to = tn_full(TN_SHAPE(1), 0.7, .dtype = TN_F32);
    TRUTH(tn_equal(tn_lerp(from, to, 1), to));
    TRUTH(tn_equal(tn_lerp(from, to, 0), from));
    tn_tensor *none = tn_zeros(TN_SHAPE(1), .dtype = TN_BF16), *much = tn_full(TN_SHAPE(1), 256, .dtype = TN_BF16);
    HOLDS(tn_lerp(none, much, 0.3), TN_SHAPE(1), 77); /* 76.8; 0.3 in bfloat16 would give 77 too, 0.7 179 or 180 */
    HOLDS(tn_lerp(none, much, 0.7), TN_SHAPE(1), 179);
    tn_scope_close(s);
}

static const structural_case cases[] = {
    {"clamp", run_slopes},
    {"lerp", run_lerp},
    {NULL, NULL},
};

const family_tests slope_tests = {cases, NULL, NULL};
