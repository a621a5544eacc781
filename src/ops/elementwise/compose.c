/* Functions of the family elementwise that are composed of others. */
#include "autograd/functions.h"
#include <math.h>
#include <stdio.h>

/* ---- sums of products ---- */

/* The dtype of a result of these operands. */
static tn_dtype common_of(const tn_scalar *in, int n)
{
    tn__promotion p = {0};
    for (int i = 0; i < n; i++)
        tn__promotion_add(&p, &in[i]);
    return tn__promotion_result(&p);
}

/* May operands of that dtype be multiplied by the number? In PyTorch's words. */
static bool scales(tn_scalar *by, tn_dtype d)
{
    if (by->kind == TN_SCALAR_NONE)
        *by = tn_scalar_i(1);
    if (by->kind == TN_SCALAR_TENSOR)
        tn__error(TN_ETYPE, "alpha must be a number");
    else if (by->kind == TN_SCALAR_BOOL && d != TN_BOOL)
        tn__error(TN_EDTYPE, "Boolean alpha only supported for Boolean results.");
    else if (by->kind == TN_SCALAR_FLOAT && !tn__dtype_is_float(d))
        tn__error(TN_EDTYPE, "For integral input tensors, argument alpha must not be a floating point number.");
    else if (!tn__number_check(by, d)) {
        if (d == TN_BOOL)
            *by = tn_scalar_b(by->v.i != 0);
        return true;
    }
    return false;
}

static bool is_bool(const tn_scalar *s)
{
    return s->kind == TN_SCALAR_TENSOR ? s->v.t && s->v.t->dtype == TN_BOOL : s->kind == TN_SCALAR_BOOL;
}

/* a + alpha * b, or a - alpha * b, into a where 'inplace' */
static tn_tensor *sum_scaled(tn_scalar a, tn_scalar b, tn_scalar alpha, bool minus, bool inplace)
{
    const tn_scalar in[] = {a, b};
    const bool bools = minus && (is_bool(&a) || is_bool(&b)); /* which the operation refuses in its own words */
    if ((a.kind == TN_SCALAR_TENSOR && !a.v.t) || (b.kind == TN_SCALAR_TENSOR && !b.v.t))
        return tn__poisoned(minus ? "sub_scaled" : "add_scaled"), NULL;
    if (!bools && !scales(&alpha, common_of(in, 2)))
        return NULL;
    if (inplace)
        return minus ? tn__sub_product_(a.v.t, b, alpha) : tn__add_product_(a.v.t, b, alpha);
    return minus ? tn__sub_product(a, b, alpha) : tn__add_product(a, b, alpha);
}

tn_tensor *tn__fn_add_scaled(tn_scalar a, tn_scalar b, tn_scalar alpha)
{
    return sum_scaled(a, b, alpha, false, false);
}

tn_tensor *tn__fn_add_scaled_(tn_tensor *a, tn_scalar b, tn_scalar alpha)
{
    return sum_scaled(tn_scalar_t(a), b, alpha, false, true);
}

tn_tensor *tn__fn_sub_scaled(tn_scalar a, tn_scalar b, tn_scalar alpha)
{
    return sum_scaled(a, b, alpha, true, false);
}

tn_tensor *tn__fn_sub_scaled_(tn_tensor *a, tn_scalar b, tn_scalar alpha)
{
    return sum_scaled(tn_scalar_t(a), b, alpha, true, true);
}

/* Can the number stand before operands of dtype d? Of integers its whole part does. */
static bool value_fits(const char *kernel, tn_device device, tn_scalar *value, tn_dtype d)
{
    char name[48], gpu[48];
    if (d == TN_BOOL) {
        snprintf(name, sizeof name, "%s_*_out", kernel);
        snprintf(gpu, sizeof gpu, "%s_*", kernel);
        tn__no_dtype_on(device, name, gpu, d);
        return false;
    }
    if (!value->kind)
        *value = tn_scalar_i(1);
    if (tn__number_check(value, tn__between(d)))
        return false;
    if (!tn__dtype_is_float(d))
        *value = tn_scalar_i(tn__scalar_int(value));
    return true;
}

/* t in what is computed between; also where the other operand alone would be taken for it: one of no dimensions promotes
 * nothing. */
static tn_tensor *between_with(tn_tensor *t, const tn_tensor *other, tn_dtype wide)
{
    return !other->ndim && t->ndim ? tn_to(t, .dtype = wide) : t;
}

tn_tensor *tn__fn_addcmul(tn_tensor *x, tn_tensor *a, tn_tensor *b, const tn_addcmul_options *o)
{
    tn_scalar value = o->value;
    if (!tn__usable("addcmul", x) || !tn__usable("addcmul", a) || !tn__usable("addcmul", b))
        return NULL;
    const tn_scalar in[] = {tn_scalar_t(x), tn_scalar_t(a), tn_scalar_t(b)};
    const tn_dtype d = common_of(in, 3);
    if (d == TN_BOOL && !tn_eq(tn_eq(x, a), b)) /* shapes that do not fit are said first */
        return NULL;
    if (!value_fits("addcmul", x->device, &value, d))
        return NULL;
    if (tn__scalar_double(&value) == 1)
        return tn__add_product(x, tn_scalar_t(a), tn_scalar_t(b));
    b = between_with(b, a, tn__between(d));
    return tn_to(tn__add_product(x, tn_scalar_t(tn_mul(tn_to(a, .dtype = tn__between(d)), b)), value), .dtype = d);
}

tn_tensor *tn__fn_addcdiv(tn_tensor *x, tn_tensor *a, tn_tensor *b, const tn_addcdiv_options *o)
{
    tn_scalar value = o->value;
    if (!tn__usable("addcdiv", x) || !tn__usable("addcdiv", a) || !tn__usable("addcdiv", b))
        return NULL;
    if (!tn__dtype_is_float(a->dtype) && !tn__dtype_is_float(b->dtype))
        return tn__fail(TN_EDTYPE,
                        "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will "
                        "perform a true division of tensor1 and tensor2. The historic addcdiv behavior can be "
                        "implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer "
                        "inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv "
                        "behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all "
                        "dtypes.");
    const tn_scalar in[] = {tn_scalar_t(x), tn_scalar_t(a), tn_scalar_t(b)};
    const tn_dtype d = common_of(in, 3);
    if (!value_fits("addcdiv", x->device, &value, d))
        return NULL;
    const bool alike = tn__dtype_is_float(d) && x->dtype == d && a->dtype == d && b->dtype == d;
    if (alike && tn__scalar_double(&value) == 1)
        return tn__add_quotient(x, a, b);
    if (alike && d == tn__between(d))
        return tn__add_quotient(x, tn_mul(a, value), b);
    tn_tensor *part = tn_to(a, .dtype = tn__between(d));
    if (tn__scalar_double(&value) != 1)
        part = tn_mul(part, value);
    return tn_to(tn_add(x, tn_div(part, between_with(b, a, tn__between(d)))), .dtype = d);
}

/* PyTorch's lerp promotes nothing but a weight of no dimensions. */
static bool same_dtype(const tn_tensor *x, const tn_tensor *t, const char *name)
{
    if (t == TN_NONE || t->dtype == x->dtype)
        return true;
    tn__error(TN_EDTYPE, "expected dtype %s for `%s` but got dtype %s", tn__dtypes[x->dtype].scalar, name,
              tn__dtypes[t->dtype].scalar);
    return false;
}

tn_tensor *tn__fn_lerp(tn_tensor *x, tn_tensor *end, tn_scalar weight)
{
    tn_tensor *w = tn__operand(&weight);
    const bool number = weight.kind != TN_SCALAR_TENSOR;
    if (!tn__usable("lerp", x) || !tn__usable("lerp", end) || !tn__usable("lerp", number ? x : w) ||
        !same_dtype(x, end, "end"))
        return NULL;
    if (!number && w->ndim > 0 && !same_dtype(x, w, "weight"))
        return NULL;
    const tn_scalar in[] = {tn_scalar_t(x), weight};
    const tn_dtype d = number ? x->dtype : common_of(in, 2), wide = tn__between(d);
    if (!tn__dtype_is_float(d)) { /* which is said of what fits otherwise */
        const bool fits = tn_eq(number ? x : tn_eq(x, w), end) != NULL;
        return fits ? tn__floating(number ? "lerp_kernel_scalar" : "lerp_kernel_tensor", x) : NULL;
    }
    if (number && tn__number_check(&weight, wide))
        return NULL;
    if (!number && !tn__dtype_is_float(w->dtype)) /* 1 - weight would wrap around */
        weight = tn_scalar_t(tn_to(w, .dtype = wide));
    if (x->dtype == wide || number || w->dtype == d)
        return tn__lerp(x, end, weight);
    return tn_to(tn__lerp(tn_to(x, .dtype = wide), tn_to(end, .dtype = wide), weight), .dtype = d);
}

/* ---- rounding ---- */

/* For less than no decimals the other way round, since 10^decimals is not exact. */
static tn_tensor *with_decimals(tn_tensor *x, int64_t decimals)
{
    const double ten = pow(10, fabs((double)decimals));
    return decimals < 0 ? tn_mul(tn_round(tn_div(x, ten)), ten) : tn__round_decimals(x, ten);
}

tn_tensor *tn__fn_round_decimals(tn_tensor *x, int64_t decimals)
{
    if (!tn__usable("round", x))
        return NULL;
    if (!decimals)
        return tn_round(x);
    if (!tn__floating("round_*", x))
        return NULL;
    if (x->dtype == tn__between(x->dtype) || decimals > 0)
        return with_decimals(x, decimals);
    return tn_to(with_decimals(tn_to(x, .dtype = tn__between(x->dtype)), decimals), .dtype = x->dtype);
}

tn_tensor *tn__fn_round_decimals_(tn_tensor *x, int64_t decimals)
{
    if (!tn__usable("round_", x))
        return NULL;
    return decimals ? tn_copy_(x, tn__fn_round_decimals(x, decimals)) : tn_round_(x); /* one write, one version */
}

/* ---- bounds and comparisons ---- */

tn_tensor *tn__fn_clamp(tn_tensor *x, tn_scalar lower, tn_scalar upper)
{
    if (!lower.kind && !upper.kind)
        return tn__fail(TN_EINVAL, "torch.clamp: At least one of 'min' or 'max' must not be None");
    if (!upper.kind)
        return tn_clamp_min(x, lower);
    if (!lower.kind)
        return tn_clamp_max(x, upper);
    return tn__clamp(x, lower, upper);
}

tn_tensor *tn__fn_clamp_(tn_tensor *x, tn_scalar lower, tn_scalar upper)
{
    if (!lower.kind && !upper.kind)
        return tn__fn_clamp(x, lower, upper);
    if (!upper.kind)
        return tn_clamp_min_(x, lower);
    return lower.kind ? tn__clamp_(x, lower, upper) : tn_clamp_max_(x, upper);
}

tn_tensor *tn__fn_bitwise_not(tn_tensor *x)
{
    if (!tn__usable("bitwise_not", x))
        return NULL;
    return x->dtype == TN_BOOL ? tn_logical_not(x) : tn__bitwise_not(x);
}

tn_tensor *tn__fn_bitwise_not_(tn_tensor *x)
{
    if (!tn__usable("bitwise_not_", x))
        return NULL;
    return x->dtype == TN_BOOL ? tn_logical_not_(x) : tn__bitwise_not_(x);
}

/* Each step is rounded as a tensor of the dtype is. */
static tn_tensor *is_near(tn_tensor *a, tn_tensor *b, double rtol, double atol)
{
    if (!a || !b || tn__dtype_size(a->dtype) > 2)
        return tn__near(a, b, tn__allowance(b, rtol, atol));
    tn_tensor *allowed = tn__allowance(tn_mul(b, rtol), 1, atol);
    return tn_logical_or(tn_eq(a, b), tn__near(tn_sub(a, b), 0, allowed));
}

tn_tensor *tn__fn_isclose(tn_tensor *a, tn_tensor *b, const tn_isclose_options *o)
{
    double rtol = o->rtol.kind ? tn__scalar_double(&o->rtol) : 1e-5,
           atol = o->atol.kind ? tn__scalar_double(&o->atol) : 1e-8;
    if (!tn__usable("isclose", a) || !tn__usable("isclose", b))
        return NULL;
    if (a->dtype != b->dtype)
        return tn__fail(TN_EDTYPE, "%s did not match %s", tn__dtypes[a->dtype].legacy, tn__dtypes[b->dtype].legacy);
    if (!(rtol >= 0) || !(atol >= 0)) /* NaN is not */
        return tn__fail(TN_EINVAL, "%s must be greater than or equal to zero, but got %g", rtol >= 0 ? "atol" : "rtol",
                        rtol >= 0 ? atol : rtol);
    const bool is_float = tn__dtype_is_float(a->dtype);
    tn_tensor *both = o->equal_nan && is_float ? tn_logical_and(tn_isnan(a), tn_isnan(b)) : NULL;
    tn_tensor *close = rtol == 0 && atol == 0 ? tn_eq(a, b)
                       : is_float             ? is_near(a, b, rtol, atol)
                                              : is_near(tn_to(a, .dtype = tn__default_dtype()),
                                                        tn_to(b, .dtype = tn__default_dtype()), rtol, atol);
    return both ? tn_logical_or(close, both) : close;
}
