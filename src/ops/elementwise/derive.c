/* Derivatives of the family elementwise, from public operations. */
#include "ops/elementwise/derive.h"
#include <math.h>

/* ---- helpers named in rows ---- */

/* Of the divisor; PyTorch has none where the dividend is a number. */
tn_tensor *tn__remainder_grad(tn_tensor *g, tn_scalar a, tn_scalar b)
{
    return a.kind == TN_SCALAR_TENSOR ? tn_neg(tn_mul(g, tn_div_floor(a, b))) : tn__underived("remainder");
}

/* b * a^(b-1), and 0 where b is 0 */
tn_tensor *tn__pow_grad_base(tn_tensor *g, tn_scalar a, tn_scalar b)
{
    if (b.kind != TN_SCALAR_TENSOR) {
        double p = tn__scalar_double(&b);
        if (p == 0)
            return tn_zeros_like(g);
        return tn_mul(g, tn_mul(p == 2 ? a : tn_scalar_t(tn_pow(a, p - 1)), p));
    }
    tn_tensor *slope = tn_mul(tn_pow(a, tn_sub(b, 1)), b);
    return tn_where(tn_eq(b, 0), 0, tn_mul(g, slope));
}

/* a^b * log(a), and 0 where a is 0 and b >= 0 */
tn_tensor *tn__pow_grad_exponent(tn_tensor *g, tn_scalar a, tn_scalar b, tn_tensor *out)
{
    if (a.kind != TN_SCALAR_TENSOR) {
        double base = tn__scalar_double(&a);
        tn_tensor *slope = tn_mul(out, log(base));
        return tn_mul(g, base != 0 ? slope : tn_where(tn_ge(b, 0), 0, slope));
    }
    tn_tensor *slope = out ? tn_mul(out, tn_log(tn_to(a.v.t, .dtype = out->dtype))) : NULL; /* as exact as out is */
    return tn_mul(g, tn_where(tn_logical_and(tn_eq(a, 0), tn_ge(b, 0)), 0, slope));
}

/* A number or a tensor, times itself. */
static tn_scalar squared(tn_scalar s)
{
    const double v = s.kind == TN_SCALAR_TENSOR ? 0 : tn__scalar_double(&s);
    return s.kind == TN_SCALAR_TENSOR ? tn_scalar_t(tn_mul(s, s)) : tn_scalar_f(v * v);
}

tn_tensor *tn__atan2_grad(tn_tensor *g, tn_scalar of, tn_scalar a, tn_scalar b)
{
    tn_tensor *square = tn_add(squared(a), squared(b));
    return tn_mul(
        g, tn_masked_fill(tn_div(of, square), tn_eq(square, 0), 0)); /* PyTorch's choice where there is no angle */
}

tn_tensor *tn__pass_grad(tn_tensor *g, tn_tensor *theirs, tn_tensor *tie)
{
    return tn_where(tie, tn_mul(g, 0.5), tn_where(theirs, 0, g));
}

/* g where 'mine', half of it where 'tie' */
static tn_tensor *share_grad(tn_tensor *g, tn_tensor *mine, tn_tensor *tie)
{
    return tn_where(tie, tn_mul(g, 0.5), tn_where(mine, g, 0));
}

tn_tensor *tn__bound_grad(tn_tensor *g, tn_scalar x, tn_scalar bound, tn_tensor *inside, tn_tensor *beyond)
{
    return bound.kind == TN_SCALAR_TENSOR ? tn__pass_grad(g, beyond, tn_eq(x, bound)) : tn_where(inside, g, 0);
}

/* Tensor bounds share a tie with x where they are in order; number bounds take it, as PyTorch's do. */
tn_tensor *tn__clamp_grad(tn_tensor *g, tn_scalar x, tn_scalar lower, tn_scalar upper)
{
    if (lower.kind != TN_SCALAR_TENSOR && upper.kind != TN_SCALAR_TENSOR)
        return tn_where(tn_logical_and(tn_gt(x, lower), tn_lt(x, upper)), g, 0);
    tn_tensor *beyond = tn_logical_or(tn_lt(x, lower), tn_gt(x, upper)),
              *on = tn_logical_or(tn_eq(x, lower), tn_eq(x, upper));
    return tn__pass_grad(g, beyond, tn_logical_and(on, tn_lt(lower, upper)));
}

tn_tensor *tn__clamp_grad_lower(tn_tensor *g, tn_scalar x, tn_scalar lower, tn_scalar upper)
{
    tn_tensor *tie = tn_logical_and(tn_eq(x, lower), tn_lt(lower, upper));
    return share_grad(g, tn_logical_and(tn_lt(x, lower), tn_le(lower, upper)), tie);
}

/* Crossed bounds: the upper one is the result, whatever x is. */
tn_tensor *tn__clamp_grad_upper(tn_tensor *g, tn_scalar x, tn_scalar lower, tn_scalar upper)
{
    tn_tensor *beyond = tn_logical_and(tn_gt(x, upper), tn_le(lower, upper));
    tn_tensor *tie = tn_logical_and(tn_eq(x, upper), tn_lt(lower, upper));
    return share_grad(g, tn_logical_or(beyond, tn_gt(lower, upper)), tie);
}
