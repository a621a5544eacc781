/* Derivatives of the family slope, from public operations: of gradients that are rows, so those of second order. */
#include "ops/slope/derive.h"
#include <math.h>

tn_tensor *tn__asin_bend(tn_tensor *g, tn_scalar x)
{
    return tn_mul(tn__asin_backward(g, x), tn_div(x, tn_sub(1, tn_square(x.v.t))));
}

/* A number or a tensor, times itself. */
static tn_scalar squared(tn_scalar s)
{
    const double v = s.kind == TN_SCALAR_TENSOR ? 0 : tn__scalar_double(&s);
    return s.kind == TN_SCALAR_TENSOR ? tn_scalar_t(tn_mul(s, s)) : tn_scalar_f(v * v);
}

tn_tensor *tn__atan2_product(tn_tensor *g, tn_scalar y, tn_scalar x)
{
    tn_tensor *norm = tn_add(squared(y), squared(x));
    return tn_div(tn_mul(g, tn_mul(y, x)), tn_square(norm));
}

tn_tensor *tn__atan2_squares(tn_tensor *g, tn_scalar y, tn_scalar x)
{
    const tn_scalar yy = squared(y), xx = squared(x);
    return tn_div(tn_mul(g, tn_sub(yy, xx)), tn_square(tn_add(yy, xx)));
}

tn_tensor *tn__logaddexp_bend(tn_tensor *g, tn_scalar a, tn_scalar b)
{
    return tn__sigmoid_backward(g, tn_sigmoid(tn_sub(a, b)));
}

/* A number or a tensor, less 1. */
static tn_scalar less_one(tn_scalar s)
{
    return s.kind == TN_SCALAR_TENSOR ? tn_scalar_t(tn_sub(s, 1)) : tn_scalar_f(tn__scalar_double(&s) - 1);
}

tn_tensor *tn__pow_bend(tn_tensor *g, tn_scalar a, tn_scalar b)
{
    return tn__pow_backward(tn_mul(g, b), a, less_one(b));
}

tn_tensor *tn__pow_bend_exponent(tn_tensor *g, tn_scalar a, tn_scalar b)
{
    const tn_scalar logarithm =
        a.kind == TN_SCALAR_TENSOR ? tn_scalar_t(tn_log(a.v.t)) : tn_scalar_f(log(tn__scalar_double(&a)));
    tn_tensor *slope = tn_mul(tn_pow(a, less_one(b)), tn_add(tn_mul(logarithm, b), 1));
    return tn_where(tn_eq(b, 0), 0, tn_mul(g, slope));
}

tn_tensor *tn__lerp_grad_start(tn_tensor *g, tn_scalar weight)
{
    if (weight.kind != TN_SCALAR_TENSOR)
        return tn_mul(g, 1 - tn__scalar_double(&weight));
    return tn__sub_product(tn_scalar_t(g), tn_scalar_t(g), weight);
}
