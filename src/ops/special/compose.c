/* Functions of the family special that are composed of others. */
#include "ops/compose.h"
#include <math.h>

tn_tensor *tn__fn_polygamma(int64_t n, tn_tensor *x)
{
    if (!tn__usable("polygamma", x))
        return NULL;
    if (n < 0)
        return tn__fail(TN_EINVAL, "polygamma(n, x) does not support negative n.");
    return n == 0 ? tn_digamma(x) : n == 1 ? tn__trigamma(x) : tn__polygamma(tn_scalar_i(n), x);
}

enum { LARGEST_P = 65536 }; /* of mvlgamma: a gradient keeps a node for each */

tn_tensor *tn__fn_mvlgamma(tn_tensor *x, int64_t p)
{
    if (!tn__usable("mvlgamma", x))
        return NULL;
    if (x->dtype == TN_BOOL)
        return tn__fail(TN_EDTYPE, "The input tensor may not be a boolean tensor.");
    if (p < 1)
        return tn__fail(TN_EINVAL, "p has to be greater than or equal to 1");
    if (p > LARGEST_P)
        return tn__fail(TN_EINVAL, "mvlgamma: p is at most %d, not %lld", LARGEST_P, (long long)p);
    const tn_dtype d = tn__dtype_is_float(x->dtype) ? x->dtype : tn__default_dtype();
    tn_tensor *wide = tn_to(x, .dtype = tn__between(d)), *sum = tn_lgamma(wide);
    for (int64_t j = 1; j < p && sum; j++)
        sum = tn_add(sum, tn_lgamma(tn_sub(wide, 0.5 * (double)j)));
    const double beside = 0.25 * (double)p * (double)(p - 1) * log(3.14159265358979323846);
    return tn_to(p > 1 ? tn_add(sum, beside) : sum, .dtype = d);
}

tn_tensor *tn__fn_logit(tn_tensor *x, const tn_logit_options *o)
{
    return tn__usable("logit", x) ? tn__logit(x, tn__number_or(o->eps, -1)) : NULL;
}

tn_tensor *tn__fn_heaviside(tn_tensor *x, tn_tensor *values)
{
    if (!tn__usable("heaviside", x) || !tn__usable("heaviside", values))
        return NULL;
    return x->dtype == values->dtype
               ? tn__heaviside(x, values)
               : tn__fail(TN_EDTYPE, "heaviside is not yet implemented for tensors with different dtypes.");
}

/* Of 16 bits where the result is: the loops compute in float32. */
tn_tensor *tn__fn_nextafter(tn_tensor *a, tn_tensor *b)
{
    if (!tn__usable("nextafter", a) || !tn__usable("nextafter", b))
        return NULL;
    tn__promotion p = {0};
    const tn_scalar in[] = {tn_scalar_t(a), tn_scalar_t(b)};
    tn__promotion_add(&p, &in[0]);
    tn__promotion_add(&p, &in[1]);
    const tn_dtype d = tn__promotion_result(&p);
    if (d != TN_F16 && d != TN_BF16)
        return tn__nextafter(a, b);
    return tn__nextafter_narrow(a, b, tn_scalar_i(d == TN_F16 ? 10 : 7));
}

tn_tensor *tn__fn_frexp(tn_tensor *x, const tn_frexp_options *o)
{
    if (!tn__usable("frexp", x))
        return NULL;
    if (!tn__dtype_is_float(x->dtype))
        return tn__fail(TN_EDTYPE, "torch.frexp() only supports floating-point dtypes");
    tn_tensor *mantissa = tn__mantissa(x);
    if (!mantissa || !o->exponent)
        return mantissa;
    return tn__scope_give(tn_to(tn__exponent(tn_detach(x)), .dtype = TN_I32), o->exponent) ? mantissa : NULL;
}

/* x, a float, times 2 to the power of whole numbers, in x's dtype: what 2 to that power overflows may still be a number. In
 * float64, whose powers of 2 from -1000 to 1000 are exact; three of them go from its smallest number past its largest. */
static tn_tensor *shifted(tn_tensor *x, tn_tensor *places)
{
    const tn_dtype own = x->dtype;
    tn_tensor *left = tn_to(tn_clamp(tn_to(places, .dtype = TN_F64), -2200, 2200), .dtype = TN_F64);
    x = tn_to(x, .dtype = TN_F64);
    for (int i = 0; i < (own == TN_F64 ? 3 : 1); i++) {
        tn_tensor *part = tn_clamp(left, -1000, 1000);
        x = tn_mul(x, tn_exp2(part));
        left = tn_sub(left, part);
    }
    return tn_to(x, .dtype = own);
}

tn_tensor *tn__fn_ldexp(tn_tensor *x, tn_tensor *other)
{
    if (!tn__usable("ldexp", x) || !tn__usable("ldexp", other))
        return NULL;
    if (!tn__dtype_is_float(x->dtype) || tn__dtype_is_float(other->dtype))
        return tn_mul(x, tn_exp2(other));
    if (other->dtype == TN_BOOL)
        return tn__no_kernel("ldexp_*_exp", other), NULL;
    return shifted(x, other);
}

/* A tensor in float64; a number as a floating one. */
static tn_scalar in_double(tn_scalar s)
{
    return s.kind == TN_SCALAR_TENSOR ? tn_scalar_t(tn_to(s.v.t, .dtype = TN_F64)) : tn_scalar_f(tn__scalar_double(&s));
}

static bool usable_operand(const tn_scalar *s)
{
    return s->kind != TN_SCALAR_TENSOR || tn__usable("float_power", s->v.t);
}

tn_tensor *tn__fn_float_power(tn_scalar x, tn_scalar exponent)
{
    return usable_operand(&x) && usable_operand(&exponent) ? tn_pow(in_double(x), in_double(exponent)) : NULL;
}

tn_tensor *tn__fn_float_power_(tn_tensor *x, tn_scalar exponent)
{
    if (!tn__usable("float_power_", x) || !usable_operand(&exponent))
        return NULL;
    if (x->dtype != TN_F64)
        return tn__fail(TN_EDTYPE,
                        "the base given to float_power_ has dtype %s but the operation's result requires dtype Double",
                        tn__dtypes[x->dtype].legacy);
    return tn_pow_(x, in_double(exponent));
}

/* ---- what complex numbers would have: of others the tensor itself ---- */

tn_tensor *tn__fn_real(tn_tensor *x)
{
    return tn__usable("real", x) ? x : NULL;
}

tn_tensor *tn__fn_conj(tn_tensor *x)
{
    return tn__usable("conj", x) ? x : NULL;
}

tn_tensor *tn__fn_conj_physical(tn_tensor *x)
{
    return tn__usable("conj_physical", x) ? x : NULL;
}

tn_tensor *tn__fn_resolve_conj(tn_tensor *x)
{
    return tn__usable("resolve_conj", x) ? x : NULL;
}

tn_tensor *tn__fn_resolve_neg(tn_tensor *x)
{
    return tn__usable("resolve_neg", x) ? x : NULL;
}

tn_tensor *tn__fn_isreal(tn_tensor *x)
{
    return tn__usable("isreal", x) ? tn_full_like(x, 1, .dtype = TN_BOOL) : NULL;
}

tn_tensor *tn__fn_adjoint(tn_tensor *x)
{
    if (!tn__usable("adjoint", x))
        return NULL;
    if (x->ndim == 1)
        return tn__fail(TN_EINVAL,
                        "tensor.adjoint() is only supported on matrices or batches of matrices. Got %d-D tensor.",
                        (int)x->ndim);
    return x->ndim ? tn_transpose(x, -2, -1) : x;
}
