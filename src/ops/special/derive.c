/* Derivatives of the family special, from public operations. */
#include "ops/special/derive.h"

tn_tensor *tn__not_derived(const char *what)
{
    return tn__fail(TN_EMISSING, "the derivative for '%s' is not implemented.", what);
}

/* A number or a tensor, and more. */
static tn_scalar plus(tn_scalar s, double more)
{
    return s.kind == TN_SCALAR_TENSOR ? tn_scalar_t(tn_add(s, more)) : tn_scalar_f(tn__scalar_double(&s) + more);
}

tn_tensor *tn__polygamma_grad(tn_tensor *g, tn_scalar n, tn_scalar x)
{
    return tn_mul(g, tn__polygamma(plus(n, 1), x));
}

tn_tensor *tn__zeta_grad(tn_tensor *g, tn_scalar s, tn_scalar q)
{
    return tn_neg(tn_mul(tn_mul(g, s), tn_zeta(plus(s, 1), q)));
}

/* x^(a - 1) exp(-x) / gamma(a) */
tn_tensor *tn__igamma_grad(tn_tensor *g, tn_scalar a, tn_scalar x)
{
    tn_tensor *power = tn_mul(plus(a, -1), tn_log(x.v.t));
    return tn_mul(g, tn_exp(tn_sub(tn_sub(power, x), tn_lgamma(tn__as_tensor(a, x.v.t->device)))));
}

tn_tensor *tn__erfcx_grad(tn_tensor *g, tn_tensor *x, tn_tensor *out)
{
    return tn_mul(g, tn_sub(tn_mul(tn_mul(x, 2), out), 1.1283791670955126));
}

/* The density over the distribution: root of 2 / pi, over erfcx(-x / root 2). */
tn_tensor *tn__log_ndtr_grad(tn_tensor *g, tn_tensor *x)
{
    return tn_mul(tn_div(g, tn_erfcx(tn_mul(x, -0.70710678118654752))), 0.79788456080286536);
}

/* The second derivative is -pi^2 sinc(x) - 2 sinc'(x) / x; -pi^2 / 3 at 0. */
tn_tensor *tn__sinc_bend(tn_tensor *g, tn_tensor *x)
{
    tn_tensor *origin = tn_eq(x, 0), *slope = tn__sinc_backward(tn_ones_like(x), x);
    tn_tensor *bend = tn_sub(tn_mul(tn_sinc(x), -9.8696044010893586), tn_div(tn_mul(slope, 2), tn_where(origin, 1, x)));
    return tn_mul(g, tn_where(origin, -3.2898681336964529, bend));
}

tn_tensor *tn__logit_bend(tn_tensor *g, tn_tensor *x, tn_scalar eps)
{
    tn_tensor *factor = tn_div(tn_sub(tn_mul(x, 2), 1), tn_mul(x, tn_sub(1, x)));
    return tn__logit_backward(tn_mul(g, factor), x, eps);
}

tn_tensor *tn__i0e_grad(tn_tensor *g, tn_tensor *x, tn_tensor *out)
{
    return tn_mul(g, tn_sub(tn_i1e(x), tn_mul(tn_sgn(x), out)));
}

/* out / x, and its limit a half at 0 */
static tn_tensor *over(tn_tensor *out, tn_tensor *x)
{
    tn_tensor *origin = tn_eq(x, 0);
    return tn_where(origin, 0.5, tn_div(out, tn_where(origin, 1, x)));
}

tn_tensor *tn__i1_grad(tn_tensor *g, tn_tensor *x, tn_tensor *out)
{
    return tn_mul(g, tn_sub(tn_i0(x), over(out, x)));
}

tn_tensor *tn__i1e_grad(tn_tensor *g, tn_tensor *x, tn_tensor *out)
{
    return tn_mul(g, tn_sub(tn_sub(tn_i0e(x), tn_mul(tn_sgn(x), out)), over(out, x)));
}

tn_tensor *tn__k1_grad(tn_tensor *g, tn_tensor *x, tn_tensor *out)
{
    return tn_neg(tn_mul(g, tn_add(tn_modified_bessel_k0(x), tn_div(out, x))));
}

/* f, but 0 where x is 0 and y at or below the logarithm's least. */
static tn_tensor *unless_none(tn_tensor *f, tn_scalar x, tn_scalar y, double least)
{
    if (y.kind == TN_SCALAR_TENSOR)
        return tn_where(tn_logical_and(tn_eq(x, 0), tn_le(y, least)), 0, f);
    return tn__scalar_double(&y) <= least ? tn_where(tn_eq(x, 0), 0, f) : f;
}

tn_tensor *tn__xlogy_grad(tn_tensor *g, tn_scalar x, tn_scalar y)
{
    return unless_none(tn_xlogy(g, y), x, y, 0);
}

tn_tensor *tn__xlog1py_grad(tn_tensor *g, tn_scalar x, tn_scalar y)
{
    return unless_none(tn_xlog1py(g, y), x, y, -1);
}

/* s (1 - s) log 2, of the share s of a */
tn_tensor *tn__logaddexp2_bend(tn_tensor *g, tn_scalar a, tn_scalar b)
{
    tn_tensor *share = tn_sigmoid(tn_mul(tn_sub(a, b), 0.69314718055994531));
    return tn_mul(tn__sigmoid_backward(g, share), 0.69314718055994531);
}

tn_tensor *tn__nextafter_grad(tn_tensor *g, tn_scalar a, tn_scalar b)
{
    return tn_where(tn_eq(a, b), 0, g);
}
