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
        if (p == 2)
            return tn__square_backward(g, a);
    }
    if (b.kind == TN_SCALAR_TENSOR && b.v.t->dtype == TN_BOOL)
        return tn_sub(b, 1); /* which says that it cannot be, as PyTorch does */
    return tn__pow_backward(g, a, b);
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

/* g but where 'theirs', half of it where 'tie': NaN, which compares false, passes the gradient to both, as in PyTorch */
static tn_tensor *pass_grad(tn_tensor *g, tn_tensor *theirs, tn_tensor *tie)
{
    return tn_where(tie, tn_mul(g, 0.5), tn_where(theirs, 0, g));
}

/* g where 'mine', half of it where 'tie' */
static tn_tensor *share_grad(tn_tensor *g, tn_tensor *mine, tn_tensor *tie)
{
    return tn_where(tie, tn_mul(g, 0.5), tn_where(mine, g, 0));
}

tn_tensor *tn__clamp_min_grad(tn_tensor *g, tn_scalar x, tn_scalar bound)
{
    return bound.kind == TN_SCALAR_TENSOR ? tn__maximum_backward(g, x, bound) : tn__above(g, x, bound);
}

tn_tensor *tn__clamp_max_grad(tn_tensor *g, tn_scalar x, tn_scalar bound)
{
    return bound.kind == TN_SCALAR_TENSOR ? tn__minimum_backward(g, x, bound) : tn__below(g, x, bound);
}

/* Tensor bounds share a tie with x where they are in order; number bounds take it, as PyTorch's do. */
tn_tensor *tn__clamp_grad(tn_tensor *g, tn_scalar x, tn_scalar lower, tn_scalar upper)
{
    if (lower.kind != TN_SCALAR_TENSOR && upper.kind != TN_SCALAR_TENSOR) { /* one pass where one number says both */
        const double from = tn__scalar_double(&lower), to = tn__scalar_double(&upper);
        return from == -to ? tn__nearer(g, x, upper)
               : from == 0 ? tn__up_to(g, x, upper)
                           : tn__below(tn__above(g, x, lower), x, upper);
    }
    tn_tensor *beyond = tn_logical_or(tn_lt(x, lower), tn_gt(x, upper)),
              *on = tn_logical_or(tn_eq(x, lower), tn_eq(x, upper));
    return pass_grad(g, beyond, tn_logical_and(on, tn_lt(lower, upper)));
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
