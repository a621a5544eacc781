/* Normalisation over features and over batches. What is of 16 bits is computed in float32. */
#include "ops/compose.h"
#include <stdio.h>

/* Are parameters and statistics (NULL: not given) of x's dtype? Beside one of 16 bits they may all be of float32. */
static bool dtypes_fit(const tn_tensor *x, tn_tensor *const *t, int n)
{
    const tn_tensor *first = NULL, *other = NULL;
    bool floats = true;
    for (int i = 0; i < n; i++) {
        first = first ? first : t[i];
        other = other || !t[i] || t[i]->dtype == x->dtype ? other : t[i];
        floats &= !t[i] || t[i]->dtype == TN_F32;
    }
    if (!other)
        return true;
    if (first->dtype == x->dtype)
        tn__error(TN_EDTYPE, "expected scalar type %s but found %s", tn__dtypes[x->dtype].legacy,
                  tn__dtypes[other->dtype].legacy);
    else if (x->dtype == TN_F64 && first->dtype == TN_F32)
        tn__error(TN_EDTYPE, "mixed dtype (CPU): all inputs must share same datatype.");
    else if ((x->dtype != TN_F16 && x->dtype != TN_BF16) || !floats)
        tn__error(TN_EDTYPE, "mixed dtype (CPU): expect parameter to have scalar type of Float");
    else
        return true;
    return false;
}

static tn_tensor *widened(tn_tensor *x)
{
    return x->dtype == TN_F16 || x->dtype == TN_BF16 ? tn_to(x, .dtype = TN_F32) : x;
}

/* x * weight + bias, of which either may be missing, in dtype d */
static tn_tensor *scaled(tn_tensor *x, tn_tensor *weight, tn_tensor *bias, tn_dtype d)
{
    if (weight)
        x = tn_mul(x, weight);
    if (bias)
        x = tn_add(x, bias);
    return x ? tn_to(x, .dtype = d) : NULL;
}

/* ---- over features ---- */

static bool features_fit(const tn_tensor *x, const tn_dims *shape, const tn_tensor *weight, const tn_tensor *bias)
{
    const tn_tensor *own[] = {weight, bias};
    char sizes[24 * TN_MAX_DIMS + 4] = "*";
    if (shape->ndim < 1) {
        tn__error(TN_EINVAL,
                  "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but "
                  "got normalized_shape = []");
        return false;
    }
    for (int i = 0; i < 2; i++)
        if (own[i] && !tn__same_shape(own[i]->shape, own[i]->ndim, shape->dim, shape->ndim)) {
            tn__error(
                TN_EINVAL,
                "Expected %s to be of same shape as normalized_shape, but got %s of shape %s and normalized_shape = %s",
                i ? "bias" : "weight", i ? "bias" : "weight", tn__shape_str(own[i]->shape, own[i]->ndim).s,
                tn__shape_str(shape->dim, shape->ndim).s);
            return false;
        }
    if (x->ndim >= shape->ndim &&
        tn__same_shape(x->shape + x->ndim - shape->ndim, shape->ndim, shape->dim, shape->ndim))
        return true;
    for (int32_t d = 0; d < shape->ndim && d < TN_MAX_DIMS; d++)
        snprintf(sizes + strlen(sizes), 24, ", %lld", (long long)shape->dim[d]);
    tn__error(TN_EINVAL, "Given normalized_shape=%s, expected input with shape [%s], but got input of size%s",
              tn__shape_str(shape->dim, shape->ndim).s, sizes, tn__shape_str(x->shape, x->ndim).s);
    return false;
}

tn_tensor *tn__fn_layer_norm(tn_tensor *x, const tn_dims *shape, const tn_layer_norm_options *o)
{
    tn_tensor *weight = tn__given(o->weight), *bias = tn__given(o->bias), *own[] = {weight, bias};
    int64_t rows[TN_MAX_DIMS];
    if (!tn__usable("layer_norm", x) || !tn__dims_fit("layer_norm", shape) || !features_fit(x, shape, weight, bias) ||
        !tn__floating("LayerNormKernelImpl", x) || !dtypes_fit(x, own, 2))
        return NULL;
    const int32_t lead = x->ndim - shape->ndim;
    for (int32_t d = 0; d < lead; d++)
        rows[d] = x->shape[d];
    rows[lead] = tn__numel(shape->dim, shape->ndim);
    tn_tensor *wide = weight || bias ? widened(x) : x; /* else one pass rounds once */
    if (shape->ndim > 1)
        wide = tn_reshape(wide, tn_dims_of(rows, lead + 1));
    wide = tn__standardize(wide, lead, tn__number_or(o->eps, 1e-5));
    if (shape->ndim > 1)
        wide = tn_reshape(wide, tn__shape_of(x));
    if (wide && weight && bias && weight->dtype == wide->dtype && bias->dtype == wide->dtype)
        return tn_to(tn__add_product(bias, wide, weight), .dtype = x->dtype);
    return wide ? scaled(wide, weight, bias, x->dtype) : NULL;
}

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

/* Moves the statistics by those of a batch of so many elements a channel. */
static bool follow(tn_tensor *const running[2], tn_tensor *mean, tn_tensor *var, double momentum, int64_t count)
{
    const bool was = tn__set_no_grad(true);
    bool done = mean && var && moved(running[0], tn_reshape(mean, TN_SHAPE(-1)), momentum);
    if (done && running[1])
        done = moved(running[1], tn_mul(tn_reshape(var, TN_SHAPE(-1)), (double)count / (double)(count - 1)), momentum);
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
        return tn__floating("batch_norm", x) && dtypes_fit(x, in_order, 4);
    return false;
}

tn_tensor *tn__fn_batch_norm(tn_tensor *x, tn_tensor *running_mean, tn_tensor *running_var,
                             const tn_batch_norm_options *o)
{
    tn_tensor *own[] = {tn__given(running_mean), tn__given(running_var), tn__given(o->weight), tn__given(o->bias)};
    const double eps = tn__number_or(o->eps, 1e-5);
    int64_t rest[TN_MAX_DIMS], n = 0;
    if (!tn__usable("batch_norm", x) || !batch_fits(x, own, o->training, eps))
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
    tn_tensor *wide = widened(x), *mean, *var, *centred;
    if (o->training) {
        mean = tn_mean(wide, .dims = dims, .keepdim = true);
        centred = tn_sub(wide, mean);
        var = tn_mean(tn_mul(centred, centred), .dims = dims, .keepdim = true);
        if (!follow(own, mean, var, tn__number_or(o->momentum, 0.1), x->numel / x->shape[1]))
            return NULL;
    } else {
        centred = tn_sub(wide, in_line(own[0], x));
        var = in_line(own[1], x);
    }
    wide = tn_mul(centred, tn_rsqrt(tn_add(var, eps)));
    return scaled(wide, in_line(own[2], x), in_line(own[3], x), x->dtype);
}
