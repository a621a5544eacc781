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

/* ---- gradients of both operands at once ---- */

typedef tn_tensor *(*of_two)(tn_tensor *x, tn_tensor *y);
OF(add, tn_add(x, y))
OF(sub, tn_sub(x, y))
OF(mul, tn_mul(x, y))
OF(div, tn_div(x, y))
OF(fmod, tn_fmod(x, y))
OF(remainder, tn_remainder(x, y))
OF(hypot, tn_hypot(x, y))
OF(square, tn_mul(x, x))
OF(power, tn_pow(tn_abs(x), y))

/* -2 .. 2 in quarters, with both zeros; beside each other in different orders. */
static tn_tensor *quarters(tn_dims shape, int64_t step, tn_dtype dtype, bool turned)
{
    int64_t n = 1;
    for (int32_t d = 0; d < shape.ndim; d++)
        n *= shape.dim[d];
    tn_tensor *made = tn_sub(tn_div(tn_remainder(tn_mul(tn_arange(0, (double)n, 1, .dtype = TN_F32), step), 17), 4), 2);
    made = tn_to(tn_reshape(made, shape), .dtype = dtype);
    return turned ? tn_transpose(tn_contiguous(tn_transpose(made, 0, -1)), 0, -1) : made;
}

static tn_tensor *leaf_of(tn_tensor *t, bool wish)
{
    return tn_requires_grad_(tn_detach(t), wish);
}

/* What each operand is given beside the other is what it is given alone, and what a recorded backward gives. */
static void gives_the_same(of_two f, tn_dims shape, tn_dtype dtype, bool turned)
{
    tn_tensor *x = quarters(shape, 3, dtype, turned), *y = quarters(shape, 5, dtype, turned);
    tn_tensor *a = leaf_of(x, true), *b = leaf_of(y, true), *out = f(a, b), *grads[2];
    tn_tensor *g = tn_mul(quarters(shape, 7, out->dtype, turned), 0.5);
    const double near = dtype == TN_F16 || dtype == TN_BF16 ? 0.02 : 0; /* roundings between passes */
    TRUTH(tn_backward(out, .gradient = g) == TN_OK);
    TRUTH(tn_grad(TN_TENSORS(f(a, b)), TN_TENSORS(a, b), grads, .grad_outputs = TN_TENSORS(g), .create_graph = true,
                  .allow_unused = true) == TN_OK);
    for (int i = 0; i < 2; i++) {
        tn_tensor *one = leaf_of(x, i == 0), *other = leaf_of(y, i == 1), *mine = tn_tensor_grad(i ? b : a);
        if (!grads[i])
            continue;
        TRUTH(tn_backward(f(one, other), .gradient = g) == TN_OK);
        TRUTH(same_within(mine, tn_tensor_grad(i ? other : one), near));
        TRUTH(same_within(mine, grads[i], near));
        TRUTH(!shape.ndim || tn_tensor_stride(mine).dim[0] == tn_tensor_stride(x).dim[0]);
    }
    TRUTH(tn_backward(f(a, b), .gradient = g) == TN_OK); /* added to what is there */
    TRUTH(same_within(tn_tensor_grad(a), tn_mul(grads[0], 2), 2 * near));
}

static void run_both(void)
{
    static const of_two all[] = {of_add,   of_sub,   of_mul,     of_div,     of_fmod,  of_remainder, of_pow,
                                 of_power, of_atan2, of_maximum, of_minimum, of_hypot, of_square};
    static const tn_dtype dtypes[] = {TN_F16, TN_BF16, TN_F32, TN_F64};
    for (size_t i = 0; i < TN_COUNT(all) * TN_COUNT(dtypes); i++) {
        tn_scope *s = tn_scope_open();
        const of_two f = all[i / TN_COUNT(dtypes)];
        const tn_dtype d = dtypes[i % TN_COUNT(dtypes)];
        gives_the_same(f, TN_SHAPE(), d, false);
        gives_the_same(f, TN_SHAPE(0), d, false);
        gives_the_same(f, TN_SHAPE(3, 5), d, false);
        gives_the_same(f, TN_SHAPE(41, 83), d, false);
        gives_the_same(f, TN_SHAPE(41, 83), d, true);
        tn_scope_close(s);
    }
}

/* The same of halves: rows long and short, of other dimensions than the last, and of none. */
static void run_halves(void)
{
    static const tn_dtype dtypes[] = {TN_F16, TN_BF16, TN_F32, TN_F64};
    const struct {
        tn_dims shape;
        int64_t dim;
    } all[] = {{TN_SHAPE(2), 0},      {TN_SHAPE(3, 8), 1},       {TN_SHAPE(7, 6), -1}, {TN_SHAPE(300, 10), 1},
               {TN_SHAPE(6, 700), 0}, {TN_SHAPE(3, 4, 3000), 1}, {TN_SHAPE(0, 4), 1},  {TN_SHAPE(5, 300), 1}};
    for (size_t i = 0; i < TN_COUNT(all) * TN_COUNT(dtypes); i++) {
        tn_scope *s = tn_scope_open();
        const tn_dtype d = dtypes[i % TN_COUNT(dtypes)];
        const double near = d == TN_F64 ? 1e-12 : d == TN_F32 ? 1e-6 : 0.01;
        const tn_dims shape = all[i / TN_COUNT(dtypes)].shape;
        const int64_t dim = all[i / TN_COUNT(dtypes)].dim;
        tn_tensor *x = leaf_of(quarters(shape, 3, d, false), true), *out = tn_glu(x, dim), *grad[1];
        tn_tensor *g = tn_to(tn_add(tn_mul(out, 0.25), 1), .dtype = d);
        g = leaf_of(g, false);
        TRUTH(tn_backward(out, .gradient = g) == TN_OK);
        TRUTH(tn_grad(TN_TENSORS(tn_glu(x, dim)), TN_TENSORS(x), grad, .grad_outputs = TN_TENSORS(g),
                      .create_graph = true) == TN_OK);
        TRUTH(same_within(tn_tensor_grad(x), grad[0], near));
        tn_scope_close(s);
    }
    tn_scope *s = tn_scope_open();
    tn_tensor *x = tn_ones(TN_SHAPE(2, 4)), *y = tn_ones(TN_SHAPE(4, 2)), *b = NULL;
    REFUSED(tn__both_gradients(x, y, TN_NONE, TN_NONE, TN__BOTH_mul, .of_b = &b), TN_EINVAL, "one layout");
    REFUSED(tn__both_gradients(x, x, x, TN_NONE, TN__BOTHS, .of_b = &b), TN_EINVAL, "no row has the number");
    REFUSED(tn__half_gradients(x, x, TN__BOTH__gated, 1), TN_EINVAL, "one half of the other");
    REFUSED(tn__half_gradients(x, x, -1, 1), TN_EINVAL, "no row has the number");
    REFUSED(tn__half_gradients(x, x, TN__BOTH__gated, 2), TN_EINDEX, "Dimension out of range");
    tn_scope_close(s);
}

static void run_all_slopes(void)
{
    run_slopes();
    run_both();
    run_halves();
}

static const structural_case cases[] = {
    {"clamp", run_all_slopes},
    {"lerp", run_lerp},
    {NULL, NULL},
};

const family_tests slope_tests = {cases, NULL, NULL};
