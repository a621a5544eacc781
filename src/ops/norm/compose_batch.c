/* Normalisation over batches, groups and instances, channel by channel. What is of 16 bits is computed in float32. */
#include "op/infer.h"
#include "ops/norm/compose.h"
#include "ops/norm/infer_kinds.h"

/* ---- over batches ---- */

/* Are there as many of everything as channels? In evaluation the statistics must be there. */
static bool channels_fit(const tn_tensor *x, bool training, tn_tensor *const own[4])
{
    static const char *const names[] = {"running_mean", "running_var", "weight", "bias"};
    const int64_t channels = x->ndim > 1 ? x->shape[1] : 0;
    for (int i = 0; i < 4; i++)
        if (!own[i] && i < 2 && !training)
            return tn__error(TN_EINVAL, "%s must be defined in evaluation mode", names[i]), false;
        else if (own[i] && own[i]->numel != channels && !(x->ndim == 1 && x->numel == 0))
            return tn__error(TN_EINVAL, "%s should contain %lld elements not %lld", names[i], (long long)channels,
                             (long long)own[i]->numel),
                   false;
    return true;
}

/* running = (1 - momentum) * running + momentum * now, not recorded */
static bool moved(tn_tensor *running, tn_tensor *now, double momentum)
{
    if (!running)
        return true;
    now = tn_to(now, .dtype = running->dtype);
    tn_tensor *kept = tn_mul_(running, 1 - momentum);
    return (momentum == 1 ? tn_add_(kept, now) : tn_add_scaled_(kept, now, momentum)) != NULL;
}

/* Moves the running mean and variance by those of x, a batch, over dimensions; not recorded. */
static bool follow_batch(tn_tensor *x, tn_tensor *const running[2], tn_dims dims, double momentum)
{
    const bool was = tn__set_no_grad(true);
    tn_tensor *mean = NULL, *var = tn_var_mean(tn__widened(x), .dims = dims, .mean = &mean);
    const bool done = var && moved(running[0], mean, momentum) && moved(running[1], var, momentum);
    tn__set_no_grad(was);
    return done;
}

/* An empty batch, with the history that it would have. */
static tn_tensor *empty_batch(tn_tensor *x, tn_tensor *weight, tn_tensor *bias)
{
    tn_tensor *empty = tn_clone(x);
    if (weight)
        empty = tn_mul(empty, tn_sum(weight));
    if (bias)
        empty = tn_mul(empty, tn_sum(bias));
    return empty ? tn_to(empty, .dtype = x->dtype) : NULL;
}

/* One value for each channel, beside x. */
static tn_tensor *in_line(tn_tensor *t, const tn_tensor *x)
{
    int64_t shape[TN_MAX_DIMS];
    for (int32_t d = 0; d < x->ndim; d++)
        shape[d] = d == 1 ? -1 : 1;
    return t ? tn_reshape(t, tn_dims_of(shape, x->ndim)) : NULL;
}

/* (x - running mean) / sqrt(running variance + eps) * weight + bias as one product and sum for each channel */
static tn_tensor *by_running(tn_tensor *x, tn_tensor *const own[4], tn_tensor *weight, tn_tensor *bias, double eps)
{
    tn_tensor *mean = in_line(own[0], x), *var = in_line(own[1], x);
    if (!mean || !var)
        return NULL;
    tn_tensor *scale = tn_rsqrt(tn_add(tn_to(var, .dtype = tn__dtypes[x->dtype].compute), eps));
    if (weight)
        scale = tn_mul(scale, weight);
    tn_tensor *shift = tn_neg(tn_mul(mean, scale));
    if (bias)
        shift = tn_add(shift, bias);
    const bool constant = scale && shift && (tn__self()->no_grad || !(tn__wants_grad(scale) || tn__wants_grad(shift)));
    if (constant && scale->dtype != x->dtype) /* of 16 bits: a copy, and a pass over it in 16 bits */
        return tn__product_add_(tn_clone(x), scale, shift);
    return tn__scaled(tn__widened(x), scale, shift, x->dtype);
}

static bool batch_fits(const tn_tensor *x, tn_tensor *const own[4], bool training, double eps)
{
    int64_t each = 1;
    for (int32_t d = 0; d < x->ndim; d++)
        each *= d == 1 ? 1 : x->shape[d];
    if (training && each == 1)
        tn__error(TN_EVALUE, "Expected more than 1 value per channel when training, got input size torch.Size(%s)",
                  tn__shape_str(x->shape, x->ndim).s);
    else if (eps < 0 || (training && eps <= 0))
        tn__error(TN_EVALUE, "batch_norm eps must be %s, but got %g",
                  training ? "positive during training" : "non-negative", eps);
    else
        return x->numel == 0 || channels_fit(x, training, own);
    return false;
}

static bool statistics_fit(tn_tensor *x, tn_tensor *const own[4])
{
    tn_tensor *const in_order[] = {own[2], own[3], own[0], own[1]};
    if (!own[0] != !own[1])
        tn__error(TN_EVALUE, "running_mean and running_var must either both be None or neither be None");
    else if (x->ndim < 2)
        tn__error(TN_EINDEX, "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
    else
        return tn__floating("batch_norm", x) && tn__parameters_fit(x, in_order, 4);
    return false;
}

/* Running statistics have no derivative; PyTorch refuses those that want one. */
static bool are_constant(tn_tensor *const running[2])
{
    for (int i = 0; i < 2; i++)
        if (running[i] && !tn__self()->no_grad && tn__wants_grad(running[i]))
            return tn__error(TN_EGRAD,
                             "The function 'native_batch_norm' is not differentiable with respect to argument "
                             "'running_%s'. This input cannot have requires_grad True.",
                             i ? "var" : "mean"),
                   false;
    return true;
}

/* x, with mean 0 and variance 1 over all dimensions but the channels'. Where these lie last they are columns of rows. */
static tn_tensor *standardized(tn_tensor *x, tn_dims dims, double eps)
{
    if (tn__suggest_format(x->shape, x->stride, x->ndim) == TN_CONTIGUOUS_FORMAT)
        return tn__standardize(x, TN_NONE, TN_NONE, dims, TN__BY_VARIANCE, eps);
    tn_dims turned = dims, back = dims;
    turned.ndim = back.ndim = x->ndim;
    turned.dim[dims.ndim] = 1;
    back.dim[1] = dims.ndim;
    for (int32_t d = 1; d < dims.ndim; d++) {
        back.dim[d + 1] = d;
        dims.dim[d] = d;
    }
    tn_tensor *y = tn__standardize(tn_permute(x, turned), TN_NONE, TN_NONE, dims, TN__BY_VARIANCE, eps);
    return tn__no_view(tn_permute(y, back));
}

tn_tensor *tn__fn_batch_norm(tn_tensor *x, tn_tensor *running_mean, tn_tensor *running_var,
                             const tn_batch_norm_options *o)
{
    tn_tensor *own[] = {tn__given(running_mean), tn__given(running_var), tn__given(o->weight), tn__given(o->bias)};
    const double eps = tn__number_or(o->eps, 1e-5);
    int64_t rest[TN_MAX_DIMS], n = 0;
    if (!tn__usable("batch_norm", x) || !batch_fits(x, own, o->training, eps) || !are_constant(own))
        return NULL;
    if (x->ndim != 1 && x->numel == 0)
        return empty_batch(x, own[2], own[3]);
    if (x->numel == 0)
        return channels_fit(x, o->training, own) ? tn_clone(x) : NULL;
    if (!statistics_fit(x, own))
        return NULL;
    for (int32_t d = 0; d < x->ndim; d++)
        if (d != 1)
            rest[n++] = d;
    const tn_dims dims = tn_dims_of(rest, (int32_t)n);
    tn_tensor *weight = in_line(own[2], x), *bias = in_line(own[3], x);
    if (!o->training)
        return by_running(x, own, weight, bias, eps);
    if ((own[0] || own[1]) && !follow_batch(x, own, dims, tn__number_or(o->momentum, 0.1)))
        return NULL;
    tn_tensor *wide = own[2] || own[3] ? tn__widened(x) : x;
    return tn__scaled(standardized(wide, dims, eps), weight, bias, x->dtype);
}

/* ---- over groups of channels, and each channel of each instance ---- */

/* Is a parameter one element for each channel? */
static bool is_of_channels(const char *name, const tn_tensor *t, const tn_tensor *x)
{
    if (!t || (t->ndim == 1 && t->numel == x->shape[1]))
        return true;
    tn__error(TN_EINVAL,
              "Expected %s to be a vector of size equal to the number of channels in input, but got %s of shape %s and "
              "input of shape %s",
              name, name, tn__shape_str(t->shape, t->ndim).s, tn__shape_str(x->shape, x->ndim).s);
    return false;
}

static bool groups_fit(const tn_tensor *x, int64_t groups, tn_tensor *const own[2])
{
    if (x->ndim == 0)
        tn__error(TN_EINDEX, "Dimension specified as 0 but tensor has no dimensions");
    else if (x->ndim == 1)
        tn__error(TN_EINDEX, "Dimension out of range (expected to be in range of [-1, 0], but got 1)");
    else if (groups <= 0)
        tn__error(TN_EINVAL, "Expected num groups to be greater than 0, got %lld", (long long)groups);
    else if (x->shape[1] % groups)
        tn__error(TN_EINVAL,
                  "Expected number of channels in input to be divisible by num_groups, but got input of shape %s and "
                  "num_groups=%lld",
                  tn__shape_str(x->shape, x->ndim).s, (long long)groups);
    else
        return is_of_channels("weight", own[0], x) && is_of_channels("bias", own[1], x);
    return false;
}

/* Of x (N, C, ...) each instance's channels, in so many groups, with mean 0 and variance 1. */
static tn_tensor *grouped(tn_tensor *x, int64_t groups, double eps)
{
    if (!x || !x->numel)
        return x;
    tn_tensor *rows = tn_reshape(x, TN_SHAPE(x->shape[0], groups, -1));
    return tn_reshape(tn__standardize(rows, TN_NONE, TN_NONE, TN_DIMS(2), TN__BY_VARIANCE, eps), tn__shape_of(x));
}

tn_tensor *tn__fn_group_norm(tn_tensor *x, int64_t groups, const tn_group_norm_options *o)
{
    tn_tensor *own[] = {tn__given(o->weight), tn__given(o->bias)};
    if (!tn__usable("group_norm", x) || !groups_fit(x, groups, own) || !tn__floating("GroupNormKernelImpl", x) ||
        !tn__parameters_fit(x, own, 2))
        return NULL;
    tn_tensor *y = grouped(own[0] || own[1] ? tn__widened(x) : x, groups, tn__number_or(o->eps, 1e-5));
    if (y && x->numel)
        y = tn_contiguous_in(y, tn__suggest_format(x->shape, x->stride, x->ndim));
    return tn__scaled(y, in_line(own[0], x), in_line(own[1], x), x->dtype);
}

/* The running statistics go towards the mean of those of the instances. */
static bool follow_instances(tn_tensor *x, tn_tensor *const running[2], double momentum)
{
    const bool was = tn__set_no_grad(true);
    tn_tensor *mean = NULL, *rows = tn_reshape(tn__widened(x), TN_SHAPE(x->shape[0], x->shape[1], -1));
    tn_tensor *var = tn_var_mean(rows, .dim = 2, .mean = &mean);
    const bool done = var && moved(running[0], tn_mean(mean, .dim = 0), momentum) &&
                      moved(running[1], tn_mean(var, .dim = 0), momentum);
    tn__set_no_grad(was);
    return done;
}

tn_tensor *tn__fn_instance_norm(tn_tensor *x, tn_tensor *running_mean, tn_tensor *running_var,
                                const tn_instance_norm_options *o)
{
    tn_tensor *own[] = {tn__given(running_mean), tn__given(running_var), tn__given(o->weight), tn__given(o->bias)};
    const double eps = tn__number_or(o->eps, 1e-5);
    if (!tn__usable("instance_norm", x))
        return NULL;
    if (!o->use_input_stats && (!own[0] || !own[1]))
        return tn__fail(TN_EINVAL, "Expected running_mean and running_var to be defined when use_input_stats is false");
    if (!statistics_fit(x, own) || !channels_fit(x, true, own))
        return NULL;
    tn_tensor *weight = in_line(own[2], x), *bias = in_line(own[3], x);
    if (!o->use_input_stats)
        return by_running(tn_contiguous(x), own, weight, bias, eps);
    if (own[0] && x->numel && !follow_instances(x, own, tn__number_or(o->momentum, 0.1)))
        return NULL;
    tn_tensor *y = grouped(weight || bias ? tn__widened(x) : x, x->shape[1], eps);
    return tn__scaled(y, weight, bias, x->dtype);
}
