/* Activations and losses composed of operations, and sums of products. */
#include "autograd/functions.h"
#include <stdio.h>

static double number_or(tn_scalar s, double otherwise)
{
    return s.kind ? tn__scalar_double(&s) : otherwise;
}

/* x, if it is a tensor of a floating dtype. */
static tn_tensor *floating(const char *what, tn_tensor *x)
{
    if (!x)
        tn__poisoned(what);
    else if (x == TN_NONE)
        tn__error(TN_ETYPE, "%s: an operand that must be a tensor is TN_NONE", what);
    else if (!tn__dtype_is_float(x->dtype))
        tn__no_dtype(what, x->dtype);
    else
        return x;
    return NULL;
}

/* The same, for what PyTorch calls otherwise on each device. */
static tn_tensor *floating_there(const char *what, tn_tensor *x)
{
    char name[32];
    if (TN_LIKELY(x && x != TN_NONE && tn__dtype_is_float(x->dtype)))
        return x;
    snprintf(name, sizeof name, "%s_%s", what, x && x != TN_NONE && x->device.type == TN_DEVICE_CUDA ? "cuda" : "cpu");
    return floating(x && x != TN_NONE ? name : what, x);
}

/* ---- activations ---- */

tn_tensor *tn__fn_gelu(tn_tensor *x, const tn_gelu_options *o)
{
    if (!floating("GeluKernelImpl", x))
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
    const double beta = number_or(o->beta, 1), threshold = number_or(o->threshold, 20);
    if (!floating_there("softplus", x))
        return NULL;
    tn_tensor *scaled = beta == 1 ? x : tn_mul(x, beta), *linear = tn_gt(scaled, threshold);
    tn_tensor *positive = tn_gt(scaled, 0); /* the exponential of what is not: it overflows in no dtype */
    tn_tensor *rest = tn_log1p(tn_exp(tn_where(positive, tn_scalar_t(tn_neg(scaled)), tn_scalar_t(scaled))));
    tn_tensor *soft = tn_where(positive, tn_scalar_t(tn_add(scaled, rest)), tn_scalar_t(rest));
    return tn_where(linear, tn_scalar_t(x), tn_scalar_t(beta == 1 ? soft : tn_div(soft, beta)));
}

tn_tensor *tn__fn_leaky_relu(tn_tensor *x, const tn_leaky_relu_options *o)
{
    if (!floating_there("leaky_relu", x))
        return NULL;
    return tn_where(tn_gt(x, 0), tn_scalar_t(x), tn_scalar_t(tn_mul(x, number_or(o->negative_slope, 0.01))));
}

tn_tensor *tn__fn_elu(tn_tensor *x, const tn_elu_options *o)
{
    if (!floating_there("elu", x))
        return NULL;
    tn_tensor *low =
        tn_le(x, 0); /* the rest filled with 0, not clamped: a clamp has no slope at 0; NaN has that of x */
    tn_tensor *below = tn_mul(tn_expm1(tn_where(low, x, 0)), number_or(o->alpha, 1));
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
    const double beta = number_or(o->beta, 1);
    if (beta < 0)
        return tn__fail(TN_EINVAL, "smooth_l1_loss does not support negative values for beta.");
    tn_tensor *d = floating_there("smooth_l1", tn_abs(tn_sub(x, target)));
    if (beta > 0)
        d = square_near_0(d, tn_ge(d, beta), tn_sub(d, 0.5 * beta), 0.5 / beta);
    return tn__reduce_loss(d, o->reduction);
}

tn_tensor *tn__fn_huber_loss(tn_tensor *x, tn_tensor *target, const tn_huber_loss_options *o)
{
    const double delta = number_or(o->delta, 1);
    if (delta <= 0)
        return tn__fail(TN_EINVAL, "huber_loss does not support non-positive values for delta.");
    tn_tensor *d = floating_there("huber", tn_abs(tn_sub(x, target)));
    d = square_near_0(d, tn_gt(d, delta), tn_mul(tn_sub(d, 0.5 * delta), delta), 0.5);
    return tn__reduce_loss(d, o->reduction);
}

tn_tensor *tn__fn_binary_cross_entropy(tn_tensor *x, tn_tensor *target, const tn_binary_cross_entropy_options *o)
{
    if (!floating("binary_cross_entropy", x) || !floating("binary_cross_entropy", target))
        return NULL;
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

/* Integers are multiplied by the whole part of the number. */
static tn_tensor *scaled(tn_tensor *x, tn_scalar by)
{
    if (!x || !by.kind)
        return x;
    return tn__dtype_is_float(x->dtype) ? tn_mul(x, by) : tn_mul(x, tn__scalar_int(&by));
}

tn_tensor *tn__fn_addcmul(tn_tensor *x, tn_tensor *a, tn_tensor *b, const tn_addcmul_options *o)
{
    return tn_add(x, scaled(tn_mul(a, b), o->value));
}

tn_tensor *tn__fn_addcdiv(tn_tensor *x, tn_tensor *a, tn_tensor *b, const tn_addcdiv_options *o)
{
    return tn_add(x, scaled(tn_div(a, b), o->value));
}

/* From the nearer end, so that weight 1 gives the end itself. */
tn_tensor *tn__fn_lerp(tn_tensor *x, tn_tensor *end, tn_scalar weight)
{
    tn_tensor *way = tn_sub(end, x), *w = tn__operand(&weight);
    if (!w && weight.kind != TN_SCALAR_TENSOR) {
        const double by = number_or(weight, 0);
        return by < 0.5 && by > -0.5 ? tn_add(x, tn_mul(way, by)) : tn_sub(end, tn_mul(way, 1 - by));
    }
    return tn_where(tn_lt(tn_abs(w), 0.5), tn_scalar_t(tn_add(x, tn_mul(w, way))),
                    tn_scalar_t(tn_sub(end, tn_mul(way, tn_sub(1, w)))));
}

tn_tensor *tn__fn_baddbmm(tn_tensor *x, tn_tensor *a, tn_tensor *b, const tn_baddbmm_options *o)
{
    tn_tensor *product = scaled(tn_bmm(a, b), o->alpha);
    if (o->beta.kind && tn__scalar_double(&o->beta) == 0) /* NaN in x does not count */
        return product;
    return tn_add(scaled(x, o->beta), product);
}
