/* Activations and losses composed of operations, and sums of products. */
#include "autograd/functions.h"
#include "op/infer.h"
#include <stdio.h>

/* The same, for what PyTorch calls otherwise on each device. */
static tn_tensor *floating_there(const char *what, tn_tensor *x)
{
    char name[32];
    if (TN_LIKELY(x && x != TN_NONE && tn__dtype_is_float(x->dtype)))
        return x;
    snprintf(name, sizeof name, "%s_%s", what, x && x != TN_NONE && x->device.type == TN_DEVICE_CUDA ? "cuda" : "cpu");
    return tn__floating(x && x != TN_NONE ? name : what, x);
}

/* ---- activations ---- */

tn_tensor *tn__fn_gelu(tn_tensor *x, const tn_gelu_options *o)
{
    if (!tn__floating("GeluKernelImpl", x))
        return NULL;
    if (!o->tanh)
        return tn_mul(tn_mul(x, 0.5), tn_erfc(tn_mul(x, -0.70710678118654752)));
    /* (1 + tanh(y)) / 2 = sigmoid(2 y), y = sqrt(2 / pi) (x + 0.044715 x^3) */
    tn_tensor *slope = tn_add(tn_mul(tn_square(x), 2 * 0.79788456080286536 * 0.044715), 2 * 0.79788456080286536);
    return tn_mul(x, tn_sigmoid(tn_mul(x, slope)));
}

tn_tensor *tn__fn_silu(tn_tensor *x)
{
    return floating_there("silu", x) ? tn_mul(x, tn_sigmoid(x)) : NULL;
}

tn_tensor *tn__fn_softplus(tn_tensor *x, const tn_softplus_options *o)
{
    const double beta = tn__number_or(o->beta, 1), threshold = tn__number_or(o->threshold, 20);
    if (!floating_there("softplus", x) || tn__number_check(&o->beta, tn__between(x->dtype)) ||
        tn__number_check(&o->threshold, tn__between(x->dtype)))
        return NULL;
    tn_tensor *scaled = beta == 1 ? x : tn_mul(x, beta), *linear = tn_gt(scaled, threshold);
    tn_tensor *positive = tn_gt(scaled, 0); /* the exponential of what is not: it overflows in no dtype */
    tn_tensor *rest = tn_log1p(tn_exp(tn_where(positive, tn_scalar_t(tn_neg(scaled)), tn_scalar_t(scaled))));
    tn_tensor *soft = tn_where(positive, tn_scalar_t(tn_add(scaled, rest)), tn_scalar_t(rest));
    return tn_where(linear, tn_scalar_t(x), tn_scalar_t(beta == 1 ? soft : tn_div(soft, beta)));
}

tn_tensor *tn__fn_leaky_relu(tn_tensor *x, const tn_leaky_relu_options *o)
{
    if (!floating_there("leaky_relu", x) || tn__number_check(&o->negative_slope, tn__between(x->dtype)))
        return NULL;
    return tn_where(tn_gt(x, 0), tn_scalar_t(x), tn_scalar_t(tn_mul(x, tn__number_or(o->negative_slope, 0.01))));
}

tn_tensor *tn__fn_elu(tn_tensor *x, const tn_elu_options *o)
{
    if (!floating_there("elu", x) || tn__number_check(&o->alpha, tn__between(x->dtype)))
        return NULL;
    tn_tensor *low =
        tn_le(x, 0); /* the rest filled with 0, not clamped: a clamp has no slope at 0; NaN has that of x */
    tn_tensor *below = tn_mul(tn_expm1(tn_where(low, x, 0)), tn__number_or(o->alpha, 1));
    return tn_where(low, tn_scalar_t(below), tn_scalar_t(x));
}

tn_tensor *tn__fn_hardtanh(tn_tensor *x, const tn_hardtanh_options *o)
{
    tn_scalar low = o->min_val.kind ? o->min_val : tn_scalar_i(-1),
              high = o->max_val.kind ? o->max_val : tn_scalar_i(1);
    if (x && x != TN_NONE && !tn__dtype_is_float(x->dtype)) { /* the result has x's dtype */
        low = tn_scalar_i(tn__scalar_int(&low));
        high = tn_scalar_i(tn__scalar_int(&high));
    }
    return tn_clamp(x, low, high);
}

/* ---- losses ---- */

/* d^2 by a factor; 'there' where d is far, where nothing is squared: the slope of an infinite square would be NaN. */
static tn_tensor *square_near_0(tn_tensor *d, tn_tensor *far, tn_tensor *there, double factor)
{
    tn_tensor *near = tn_mul(tn_square(tn_masked_fill(d, far, 0)), factor);
    return tn_where(far, tn_scalar_t(there), tn_scalar_t(near));
}

tn_tensor *tn__fn_smooth_l1_loss(tn_tensor *x, tn_tensor *target, const tn_smooth_l1_loss_options *o)
{
    const double beta = tn__number_or(o->beta, 1);
    if (beta < 0)
        return tn__fail(TN_EINVAL, "smooth_l1_loss does not support negative values for beta.");
    tn_tensor *d = tn_abs(tn__floating_difference("smooth_l1", x, target));
    if (beta > 0)
        d = square_near_0(d, tn_ge(d, beta), tn_sub(d, 0.5 * beta), 0.5 / beta);
    return tn__reduce_loss(d, o->reduction);
}

tn_tensor *tn__fn_huber_loss(tn_tensor *x, tn_tensor *target, const tn_huber_loss_options *o)
{
    const double delta = tn__number_or(o->delta, 1);
    if (delta <= 0)
        return tn__fail(TN_EINVAL, "huber_loss does not support non-positive values for delta.");
    tn_tensor *d = tn_abs(tn__floating_difference("huber", x, target));
    d = square_near_0(d, tn_gt(d, delta), tn_mul(tn_sub(d, 0.5 * delta), delta), 0.5);
    if (d && tn__dtype_is_float(x->dtype)) /* PyTorch's has the input's dtype */
        d = tn_to(d, .dtype = x->dtype);
    return tn__reduce_loss(d, o->reduction);
}

tn_tensor *tn__fn_binary_cross_entropy(tn_tensor *x, tn_tensor *target, const tn_binary_cross_entropy_options *o)
{
    if (!tn__floating("binary_cross_entropy", x) || !tn__floating("binary_cross_entropy", target))
        return NULL;
    if (x->dtype != target->dtype)
        return tn__fail(TN_EDTYPE, "Found dtype %s but expected %s", tn__dtypes[target->dtype].legacy,
                        tn__dtypes[x->dtype].legacy);
    if (!tn__same_shape(x->shape, x->ndim, target->shape, target->ndim))
        return tn__fail(TN_EVALUE,
                        "Using a target size (torch.Size(%s)) that is different to the input size (torch.Size(%s)) is "
                        "deprecated. Please ensure they have the same size.",
                        tn__shape_str(target->shape, target->ndim).s, tn__shape_str(x->shape, x->ndim).s);
    tn_tensor *loss = tn__bce(x, target);
    if (o->weight && o->weight != TN_NONE)
        loss = tn_mul(loss, o->weight);
    return tn__reduce_loss(loss, o->reduction);
}

tn_tensor *tn__fn_kl_div(tn_tensor *x, tn_tensor *target, const tn_kl_div_options *o)
{
    if (!x || !target)
        return tn__poisoned("kl_div"), NULL;
    if (x == TN_NONE || target == TN_NONE)
        return tn__fail(TN_ETYPE, "kl_div: an operand that must be a tensor is TN_NONE");
    if (!tn__dtype_is_float(x->dtype) || !tn__dtype_is_float(target->dtype))
        return tn__fail(TN_EINVAL, "kl_div: Integral inputs not supported.");
    if (o->log_target)
        return tn__reduce_loss(tn_mul(tn_exp(target), tn_sub(target, x)), o->reduction);
    tn_tensor *none = tn_eq(target, 0), *own = tn_mul(target, tn_log(tn_masked_fill(target, none, 1)));
    return tn__reduce_loss(tn_sub(own, tn_mul(target, x)), o->reduction);
}

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
    char name[64];
    if (d == TN_BOOL) {
        snprintf(name, sizeof name, "%s_%s", kernel, device.type == TN_DEVICE_CUDA ? "cuda" : "cpu_out");
        tn__no_dtype(name, d);
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

/* From the nearer end, so that weight 1 gives the end itself. */
static tn_tensor *lerp(tn_tensor *x, tn_tensor *end, tn_scalar weight)
{
    tn_tensor *way = tn_sub(end, x), *w = tn__operand(&weight);
    if (!w) {
        const double by = tn__number_or(weight, 0);
        return by < 0.5 && by > -0.5 ? tn__add_product(x, tn_scalar_t(way), tn_scalar_f(by))
                                     : tn__sub_product(end, tn_scalar_t(way), tn_scalar_f(1 - by));
    }
    return tn_where(tn_lt(tn_abs(w), 0.5), tn_scalar_t(tn_add(x, tn_mul(w, way))),
                    tn_scalar_t(tn_sub(end, tn_mul(way, tn_sub(1, w)))));
}

tn_tensor *tn__fn_lerp(tn_tensor *x, tn_tensor *end, tn_scalar weight)
{
    tn_tensor *w = tn__operand(&weight);
    const bool number = weight.kind != TN_SCALAR_TENSOR;
    if (!tn__usable("lerp", x) || !tn__usable("lerp", end) || !tn__usable("lerp", number ? x : w) || !same_dtype(x, end, "end"))
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
    if (x->dtype == wide)
        return lerp(x, end, weight);
    return tn_to(lerp(tn_to(x, .dtype = wide), tn_to(end, .dtype = wide), weight), .dtype = d);
}

/* Integers are multiplied by the whole part of the number. */
static tn_tensor *scaled(tn_tensor *x, tn_scalar by)
{
    if (!x || !by.kind)
        return x;
    return tn__dtype_is_float(x->dtype) ? tn_mul(x, by) : tn_mul(x, tn__scalar_int(&by));
}

/* PyTorch asks for the result's shape first, then for dtypes; the rest bmm says. */
static bool adds_products(tn_tensor *x, tn_tensor *a, tn_tensor *b)
{
    int64_t shape[3];
    for (int32_t d = 0; d < 3; d++) {
        const tn_tensor *t = d < 2 ? a : b;
        int32_t at;
        if (tn__wrap_own_dim(d, t->ndim, &at))
            return false;
        shape[d] = t->shape[at];
    }
    if (tn__check_expand(x, shape, 3))
        return false;
    if (x->dtype != a->dtype) {
        tn__error(TN_EDTYPE, "Input dtypes must be the same, got: input %s, batch1: %s, batch2: %s",
                  tn__dtypes[x->dtype].scalar, tn__dtypes[a->dtype].scalar, tn__dtypes[b->dtype].scalar);
        return false;
    }
    const bool fits = a->ndim == 3 && b->ndim == 3 && a->shape[0] == b->shape[0] && a->shape[2] == b->shape[1] &&
                      a->numel && b->numel; /* of nothing any dtype will do */
    if (x->dtype == TN_BOOL && fits)
        tn__no_dtype("baddbmm", TN_BOOL);
    return x->dtype != TN_BOOL || !fits;
}

tn_tensor *tn__fn_baddbmm(tn_tensor *x, tn_tensor *a, tn_tensor *b, const tn_baddbmm_options *o)
{
    if (!tn__usable("baddbmm", x) || !tn__usable("baddbmm", a) || !tn__usable("baddbmm", b) || !adds_products(x, a, b))
        return NULL;
    if (tn__number_check(&o->alpha, tn__between(x->dtype)) || tn__number_check(&o->beta, tn__between(x->dtype)))
        return NULL;
    tn_tensor *product = scaled(tn_bmm(a, b), o->alpha);
    if (x->dtype == TN_BOOL) /* of nothing */
        return tn_to(product, .dtype = TN_BOOL);
    if (o->beta.kind && tn__scalar_double(&o->beta) == 0) { /* NaN in x does not count, but x's history does */
        const bool recorded = tn__wants_grad(x) && !tn__self()->no_grad;
        return recorded ? tn_add(product, tn_masked_fill(x, tn_ones_like(x, .dtype = TN_BOOL), 0)) : product;
    }
    if (!o->beta.kind || tn__scalar_double(&o->beta) == 1)
        return tn_add(product, x); /* lies as the product does */
    return tn__add_product(product, tn_scalar_t(x),
                           tn__dtype_is_float(x->dtype) ? o->beta : tn_scalar_i(tn__scalar_int(&o->beta)));
}
