/* Derivatives of the family activation, from public operations: of gradients that are rows, so those of second order. */
#include "ops/activation/derive.h"

/* s (1 - s), the slope of s = sigmoid(x) */
static tn_tensor *slope_of(tn_tensor *s)
{
    return tn_mul(s, tn_sub(1, s));
}

/* s (1 - s) (2 + x (1 - 2 s)) */
tn_tensor *tn__silu_bend(tn_tensor *g, tn_scalar x)
{
    tn_tensor *s = tn_sigmoid(x.v.t);
    return tn_mul(g, tn_mul(slope_of(s), tn_add(tn_mul(x, tn_sub(1, tn_mul(s, 2))), 2)));
}

/* The normal density times (2 - x^2) */
tn_tensor *tn__gelu_bend(tn_tensor *g, tn_scalar x)
{
    tn_tensor *square = tn_square(x.v.t), *density = tn_mul(tn_exp(tn_mul(square, -0.5)), 0.39894228040143267794);
    return tn_mul(g, tn_mul(density, tn_sub(2, square)));
}

/* f = x s(u), u = x (A + B x^2): s (1 - s) (2 u' + x ((1 - 2 s) u'^2 + u'')) */
tn_tensor *tn__gelu_tanh_bend(tn_tensor *g, tn_scalar x)
{
    const double a = 1.5957691216057307117, b = 0.071354816272600249;
    tn_tensor *square = tn_square(x.v.t), *s = tn_sigmoid(tn_mul(x, tn_add(tn_mul(square, b), a)));
    tn_tensor *first = tn_add(tn_mul(square, 3 * b), a), *second = tn_mul(x, 6 * b);
    tn_tensor *rest = tn_add(tn_mul(tn_sub(1, tn_mul(s, 2)), tn_square(first)), second);
    return tn_mul(g, tn_mul(slope_of(s), tn_add(tn_mul(first, 2), tn_mul(x, rest))));
}

/* w = tanh(softplus(x)), s = sigmoid(x): w' = (1 - w^2) s; 2 w' + x (1 - w^2) (s (1 - s) - 2 w s^2) */
tn_tensor *tn__mish_bend(tn_tensor *g, tn_scalar x)
{
    tn_tensor *w = tn_tanh(tn_softplus(x.v.t)), *s = tn_sigmoid(x.v.t), *left = tn_sub(1, tn_square(w));
    tn_tensor *rest = tn_sub(slope_of(s), tn_mul(tn_mul(w, tn_square(s)), 2));
    return tn_mul(g, tn_mul(left, tn_add(tn_mul(s, 2), tn_mul(x, rest))));
}

tn_tensor *tn__softplus_bend(tn_tensor *g, tn_scalar x, tn_scalar threshold)
{
    return tn_where(tn_gt(x, threshold), 0, tn_mul(g, slope_of(tn_sigmoid(x.v.t))));
}

/* -2 sign(x) / (1 + |x|)^3 */
tn_tensor *tn__softsign_bend(tn_tensor *g, tn_scalar x)
{
    return tn_mul(tn_mul(g, -2), tn_div(tn_sign(x.v.t), tn_pow(tn_add(tn_abs(x.v.t), 1), 3)));
}

/* 2 t (1 - t^2), t = tanh(x) */
tn_tensor *tn__tanhshrink_bend(tn_tensor *g, tn_scalar x)
{
    tn_tensor *t = tn_tanh(x.v.t);
    return tn_mul(tn_mul(g, 2), tn_mul(t, tn_sub(1, tn_square(t))));
}

/* s (1 - s) (1 - 2 s) */
tn_tensor *tn__gate_bend(tn_tensor *g, tn_scalar x)
{
    tn_tensor *s = tn_sigmoid(x.v.t);
    return tn_mul(g, tn_mul(slope_of(s), tn_sub(1, tn_mul(s, 2))));
}

/* Of the first half g s(b), of the other g a s'(b), side by side. */
tn_status tn__d_glu(tn__backward *b)
{
    const tn__glu_params *p = b->node->params;
    tn_tensor *x = tn__saved_tensor(b, 0), *half[2], *g = b->g[0];
    if (x && tn__self()->no_grad && tn__contiguous(x) && tn__contiguous(g) && x->dtype == g->dtype)
        return tn__give(b, 0, tn__half_gradients(g, x, TN__BOTH__gated, p->dim));
    if (!x || tn_chunk(x, 2, p->dim, half, 2) == 0)
        return tn_error_code();
    return tn__give(b, 0, tn_cat(TN_TENSORS(tn__gated(g, half[1]), tn__gate_backward(g, half[0], half[1])), p->dim));
}

tn_tensor *tn__slope_grad(tn_tensor *g, tn_scalar x)
{
    if (x.kind != TN_SCALAR_TENSOR)
        return tn__scalar_double(&x) > 0 ? tn_zeros_like(g) : tn_mul(g, x);
    return tn_where(tn_gt(x, 0), 0, tn_mul(g, x));
}

tn_tensor *tn__hardtanh_slope(tn_tensor *g, tn_scalar x, tn_scalar low, tn_scalar high)
{
    const double from = tn__scalar_double(&low), to = tn__scalar_double(&high);
    if (from == -to)
        return tn__inside(g, x, high);
    if (from == 0 && to == 6)
        return tn__relu6_backward(g, x);
    return tn_where(tn_logical_or(tn_le(x, low), tn_ge(x, high)), 0, g);
}
