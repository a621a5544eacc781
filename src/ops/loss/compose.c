/* Functions of the family loss that are composed of others. */
#include "ops/loss/compose.h"
#include <math.h>
#include <stdio.h>
#include <tenon/dtype.h>

/* ---- losses ---- */

/* Floats of one dtype on one device: one pass computes with them. Of no elements the strides are those of two passes. */
static bool alike(const tn_tensor *x, const tn_tensor *y)
{
    return tn__usable("loss", x) && tn__usable("loss", y) && x->dtype == y->dtype && tn__dtype_is_float(x->dtype) &&
           x->numel && tn__same_device(x->device, y->device);
}

tn_tensor *tn__fn_smooth_l1_loss(tn_tensor *x, tn_tensor *target, const tn_smooth_l1_loss_options *o)
{
    const double beta = tn__number_or(o->beta, 1);
    if (beta < 0)
        return tn__fail(TN_EINVAL, "smooth_l1_loss does not support negative values for beta.");
    if (beta == 0) /* of integers, too */
        return tn_l1_loss(x, target, .reduction = o->reduction);
    if (alike(x, target))
        return tn__reduce_loss(tn__smooth_l1(x, target, beta), o->reduction);
    return tn__reduce_loss(tn__smooth_l1(tn__floating_difference("smooth_l1_*", x, target), 0, beta), o->reduction);
}

tn_tensor *tn__fn_huber_loss(tn_tensor *x, tn_tensor *target, const tn_huber_loss_options *o)
{
    const double delta = tn__number_or(o->delta, 1);
    if (delta <= 0)
        return tn__fail(TN_EINVAL, "huber_loss does not support non-positive values for delta.");
    tn_tensor *d = alike(x, target) ? tn__huber(x, target, delta)
                                    : tn__huber(tn__floating_difference("huber_*", x, target), 0, delta);
    if (d && tn__dtype_is_float(x->dtype)) /* PyTorch's has the input's dtype */
        d = tn_to(d, .dtype = x->dtype);
    return tn__reduce_loss(d, o->reduction);
}

/* The place of the first element that is not within 0 and 1, as NaN is not; the count of elements: there is none; -1: an
 * error. */
static int64_t first_improbable(tn_tensor *x)
{
    tn_tensor *beyond = tn_logical_not(tn_logical_and(tn_ge(x, 0), tn_le(x, 1)));
    tn_tensor *at = beyond ? tn_argmax(tn_to(tn_reshape(beyond, TN_SHAPE(-1)), .dtype = TN_U8)) : NULL;
    tn_tensor *any = at ? tn_any(beyond) : NULL;
    if (!any)
        return -1;
    return tn_item_int(any) ? tn_item_int(at) : x->numel;
}

/* The loss of x and target is NaN where one of them is no probability: then PyTorch's error, which asks element by element, of
 * each the input first. */
static bool were_probabilities(tn_tensor *x, tn_tensor *target, tn_tensor *loss)
{
    if (!loss || x->device.type == TN_DEVICE_META || x->numel == 0)
        return loss;
    const bool was = tn__set_no_grad(true);
    tn_error_clear();
    bool fits = !isnan(tn_item(loss->ndim ? tn_sum(loss) : loss)) && !tn_error_code();
    if (!fits && !tn_error_code()) {
        const int64_t mine = first_improbable(x), other = mine < 0 ? -1 : first_improbable(target);
        fits = other >= 0 && mine == x->numel && other == x->numel; /* a weight is NaN, then */
        if (other >= 0 && !fits)
            tn__error(TN_EINVAL, "all elements of %s should be between 0 and 1", mine <= other ? "input" : "target");
    }
    tn__set_no_grad(was);
    return fits;
}

/* Weights of losses have no derivative; PyTorch refuses them rather than leave a gradient out. */
static bool is_constant(const char *loss, const tn_tensor *weight)
{
    const bool wants = weight && !tn__self()->no_grad && tn__wants_grad(weight);
    if (wants)
        tn__error(TN_EGRAD,
                  "The function '%s' is not differentiable with respect to argument 'weight'. This input cannot have "
                  "requires_grad True.",
                  loss);
    return !wants;
}

tn_tensor *tn__fn_binary_cross_entropy(tn_tensor *x, tn_tensor *target, const tn_binary_cross_entropy_options *o)
{
    if (!tn__usable("binary_cross_entropy", x) || !tn__usable("binary_cross_entropy", target))
        return NULL;
    if (!tn__same_shape(x->shape, x->ndim, target->shape, target->ndim))
        return tn__fail(TN_EVALUE,
                        "Using a target size (torch.Size(%s)) that is different to the input size (torch.Size(%s)) is "
                        "deprecated. Please ensure they have the same size.",
                        tn__shape_str(target->shape, target->ndim).s, tn__shape_str(x->shape, x->ndim).s);
    if (!is_constant("binary_cross_entropy", o->weight == TN_NONE ? NULL : o->weight))
        return NULL;
    if (x->dtype != target->dtype)
        return tn__fail(TN_EDTYPE, "Found dtype %s but expected %s", tn__dtypes[target->dtype].legacy,
                        tn__dtypes[x->dtype].legacy);
    if (!tn__floating("binary_cross_entropy", x))
        return NULL;
    tn_tensor *loss = tn__bce(x, target);
    if (o->weight && o->weight != TN_NONE)
        loss = tn_mul(loss, o->weight);
    loss = tn__reduce_loss(loss, o->reduction);
    return o->unchecked || were_probabilities(x, target, loss) ? loss : NULL;
}

/* ---- losses ---- */

tn_tensor *tn__reduce_loss(tn_tensor *x, int64_t reduction)
{
    switch (reduction) {
    case TN_MEAN: return tn_mean(x);
    case TN_SUM: return tn_sum(x);
    case TN_NO_REDUCTION: return x;
    default:
        return tn__fail(TN_EVALUE, "%lld is not a valid value for reduction: TN_MEAN, TN_SUM, TN_NO_REDUCTION",
                        (long long)reduction);
    }
}

tn_tensor *tn__difference(tn_tensor *x, tn_tensor *target)
{
    if (!x || !target || x == TN_NONE || target == TN_NONE)
        return tn_sub(x, target);                       /* which says so */
    bool apart = x->device.type != target->device.type; /* then one of them stands for a number */
    if (!apart && x->dtype != target->dtype && x->ndim == 0 && target->ndim)
        x = tn_expand(x, tn__shape_of(target));
    else if (!apart && x->dtype != target->dtype && target->ndim == 0 && x->ndim)
        target = tn_expand(target, tn__shape_of(x));
    return tn_sub(x, target);
}

static tn_tensor *unless_bool(tn_tensor *x, tn_dtype common)
{
    return x->dtype == TN_BOOL ? tn_to(x, .dtype = common) : x;
}

tn_tensor *tn__floating_difference(const char *kernel, tn_tensor *x, tn_tensor *target)
{
    const bool both = x && target && x != TN_NONE && target != TN_NONE;
    const tn_dtype common = both ? tn_promote_types(x->dtype, target->dtype) : TN_F32;
    if (both && !common)
        return NULL;
    if (both && common != TN_BOOL) { /* bool has no difference, but is a number here */
        x = unless_bool(x, common);
        target = unless_bool(target, common);
    }
    tn_tensor *d = common == TN_BOOL ? tn_logical_xor(x, target) : tn__difference(x, target);
    if (!d || tn__dtype_is_float(d->dtype))
        return d;
    tn__no_kernel(kernel, d);
    return NULL;
}

tn_tensor *tn__fn_mse_loss(const tn_scalar *in, tn__mse_loss_params *p)
{
    tn_tensor *x = in[0].v.t, *y = in[1].v.t;
    return tn__reduce_loss(
        alike(x, y) ? tn__square_difference(x, y) : tn_square(tn__floating_difference("mse_*", x, y)), p->reduction);
}

tn_tensor *tn__fn_l1_loss(tn_tensor *x, tn_tensor *target, const tn_l1_loss_options *o)
{
    return tn__reduce_loss(alike(x, target) ? tn__abs_difference(x, target) : tn_abs(tn__difference(x, target)),
                           o->reduction);
}

/* (1 - y) x + (1 + (p - 1) y) (log(1 + exp(-|x|)) + max(-x, 0)) */
tn_tensor *tn__fn_binary_cross_entropy_with_logits(const tn_scalar *in, tn__bce_with_logits_params *p)
{
    tn_tensor *x = in[0].v.t, *y = in[1].v.t;
    if (!tn__same_shape(x->shape, x->ndim, y->shape, y->ndim))
        return tn__fail(TN_EVALUE, "Target size (torch.Size(%s)) must be the same as input size (torch.Size(%s))",
                        tn__shape_str(y->shape, y->ndim).s, tn__shape_str(x->shape, x->ndim).s);
    if (!tn__dtype_is_float(x->dtype)) {
        tn__no_dtype_on(x->device, "log_sigmoid_*", "log_sigmoid_forward_*", x->dtype);
        return NULL;
    }
    if (!tn__dtype_is_float(y->dtype) && y->dtype != TN_BOOL) /* the result has the target's dtype, as in PyTorch */
        return tn__fail(TN_EDTYPE, "result type %s can't be cast to the desired output type %s",
                        tn__dtypes[x->dtype].legacy, tn__dtypes[y->dtype].legacy);
    if (!in[3].kind && alike(x, y)) {
        tn_tensor *one = tn__bce_logits(x, y);
        return tn__reduce_loss(in[2].kind ? tn_mul(one, in[2]) : one, p->reduction);
    }
    tn_tensor *soft = tn_add(tn_log1p(tn_exp(tn_neg(tn_abs(x)))), tn_clamp_min(tn_neg(x), 0));
    if (in[3].kind)
        soft = tn_mul(tn_add(tn_mul(tn_sub(in[3], 1), y), 1), soft);
    tn_tensor *loss = tn_add(tn_mul(tn_sub(1, y), x), soft);
    if (in[2].kind)
        loss = tn_mul(loss, in[2]);
    return tn__reduce_loss(loss ? tn_to(loss, .dtype = y->dtype) : NULL, p->reduction);
}

/* Targets are probabilities of x's shape. */
static tn_tensor *cross_entropy_probabilities(tn_tensor *logp, tn_tensor *target, const tn_cross_entropy_options *o,
                                              int64_t dim)
{
    int64_t classes = logp->shape[dim];
    if (o->label_smoothing > 0)
        target = tn_add(tn_mul(target, 1 - o->label_smoothing), o->label_smoothing / (double)classes);
    tn_tensor *loss = tn_mul(logp, target);
    if (o->weight) {
        int64_t shape[TN_MAX_DIMS];
        for (int32_t d = 0; d < logp->ndim; d++)
            shape[d] = d == dim ? classes : 1;
        loss = tn_mul(loss, tn_reshape(o->weight, tn_dims_of(shape, logp->ndim)));
    }
    if (o->reduction == TN_MEAN)
        return tn_div(tn_neg(tn_sum(loss)), (double)logp->numel / (double)classes);
    loss = tn_neg(tn_sum(loss, .dim = dim));
    return o->reduction == TN_SUM ? tn_sum(loss) : loss;
}

/* What label smoothing adds: the mean of -log p over all classes. */
static tn_tensor *smooth_part(tn_tensor *logp, tn_tensor *target, const tn_cross_entropy_options *o, int64_t dim,
                              int64_t ignore)
{
    tn_tensor *weighted = logp;
    if (o->weight) {
        int64_t shape[TN_MAX_DIMS];
        for (int32_t d = 0; d < logp->ndim; d++)
            shape[d] = d == dim ? logp->shape[d] : 1;
        weighted = tn_mul(logp, tn_reshape(o->weight, tn_dims_of(shape, logp->ndim)));
    }
    tn_tensor *ignored = tn_eq(target, ignore);
    tn_tensor *loss = tn_masked_fill(tn_neg(tn_sum(weighted, .dim = dim)), ignored, 0);
    if (o->reduction != TN_MEAN)
        return o->reduction == TN_SUM ? tn_sum(loss) : loss;
    tn_tensor *kept = tn_to(tn_logical_not(ignored), .dtype = logp->dtype);
    if (o->weight) {
        tn_tensor *safe = tn_masked_fill(target, ignored, 0);
        kept = tn_mul(kept,
                      tn_reshape(tn_index_select(o->weight, 0, tn_reshape(safe, TN_SHAPE(-1))), tn__shape_of(target)));
    }
    return tn_div(tn_sum(loss), tn_sum(kept));
}

enum { LEAST_CLASSES = 32 }; /* of fewer rows go many at once in a softmax, which is quicker than each for itself */

/* Rows of one dense tensor, each of one class, that all count alike: one pass gives the loss, one its gradient. */
static bool is_one_pass(const tn_tensor *x, const tn_tensor *target, const tn_cross_entropy_options *o)
{
    return !o->weight && o->label_smoothing <= 0 && x->ndim == 2 && x->numel && x->shape[1] >= LEAST_CLASSES &&
           tn__dtype_is_float(x->dtype) && tn__contiguous(x) && target->dtype == TN_I64 && target->ndim == 1 &&
           target->shape[0] == x->shape[0] && tn__contiguous(target) && tn__same_device(x->device, target->device) &&
           o->reduction >= TN_MEAN && o->reduction <= TN_NO_REDUCTION;
}

tn_tensor *tn__fn_cross_entropy(tn_tensor *x, tn_tensor *target, const tn_cross_entropy_options *options)
{
    tn_cross_entropy_options said = *options, *o = &said;
    if (o->weight == TN_NONE)
        o->weight = NULL;
    if (!tn__usable("cross_entropy", x) || !tn__usable("cross_entropy", target))
        return NULL;
    if (o->label_smoothing > 1)
        return tn__fail(TN_EINVAL, "label_smoothing must be between 0.0 and 1.0. Got: %g", o->label_smoothing);
    const bool alike = tn__same_shape(x->shape, x->ndim, target->shape, target->ndim);
    if (alike && !tn__dtype_is_float(target->dtype))
        return tn__fail(TN_EDTYPE, "Expected floating point type for target with class probabilities, got %s",
                        tn__dtypes[target->dtype].legacy);
    int64_t dim = x->ndim == 1 ? 0 : 1, ignore = o->ignore_index.kind ? tn__scalar_int(&o->ignore_index) : -100;
    if (is_one_pass(x, target, o))
        return tn__cross_entropy(x, target, o->reduction, ignore);
    tn_tensor *logp = tn_log_softmax(x, dim);
    if (!logp)
        return NULL;
    if (alike)
        return cross_entropy_probabilities(logp, target, o, dim);
    tn_tensor *loss =
        tn_nll_loss(logp, target, .weight = o->weight, .reduction = o->reduction, .ignore_index = tn_scalar_i(ignore));
    if (o->label_smoothing <= 0) /* as in PyTorch: below 0 there is none */
        return loss;
    double eps = o->label_smoothing;
    return tn_add(tn_mul(loss, 1 - eps),
                  tn_mul(smooth_part(logp, target, o, dim, ignore), eps / (double)x->shape[dim]));
}
