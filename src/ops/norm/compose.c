/* Normalisation over features and over batches. What is of 16 bits is computed in float32. */
#include "ops/compose.h"
#include "ops/norm/compose.h"
#include "ops/norm/infer_kinds.h"
#include <stdio.h>

/* Are parameters and statistics (NULL: not given) of x's dtype? Beside one of 16 bits they may all be of float32. */
bool tn__parameters_fit(const tn_tensor *x, tn_tensor *const *t, int n)
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

tn_tensor *tn__widened(tn_tensor *x)
{
    return x->dtype == TN_F16 || x->dtype == TN_BF16 ? tn_to(x, .dtype = TN_F32) : x;
}

/* x * weight + bias, of which either may be missing, in dtype d */
tn_tensor *tn__scaled(tn_tensor *x, tn_tensor *weight, tn_tensor *bias, tn_dtype d)
{
    if (x && weight && bias && weight->dtype == x->dtype && bias->dtype == x->dtype)
        return tn_to(tn__add_product(bias, x, weight), .dtype = d);
    if (weight)
        x = tn_mul(x, weight);
    if (bias)
        x = tn_add(x, bias);
    return x ? tn_to(x, .dtype = d) : NULL;
}

static tn_tensor *parameter(tn_tensor *t, tn_dtype d)
{
    return t ? tn_contiguous(tn_to(t, .dtype = d)) : TN_NONE;
}

/* x's last dimensions, as many as the shape has, over which it is brought to a scale: with its parameters one pass, which rounds
 * once. */
static tn_tensor *by_features(tn_tensor *x, const tn_dims *shape, int kind, double eps, tn_tensor *weight,
                              tn_tensor *bias)
{
    const tn_dtype wide = tn__dtypes[x->dtype].compute;
    const bool apart = bias && !weight;
    int64_t last[TN_MAX_DIMS];
    for (int32_t i = 0; i < shape->ndim; i++)
        last[i] = i - shape->ndim;
    return tn__standardize(apart ? tn__widened(x) : x, parameter(weight, wide), parameter(apart ? NULL : bias, wide),
                           tn_dims_of(last, shape->ndim), kind, eps);
}

/* ---- over features ---- */

/* any: how PyTorch's message begins the list of sizes, of which the first may be any */
static bool features_fit(const char *any, const tn_tensor *x, const tn_dims *shape, const tn_tensor *weight,
                         const tn_tensor *bias)
{
    const tn_tensor *own[] = {weight, bias};
    char sizes[24 * TN_MAX_DIMS + 4] = "";
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
        snprintf(sizes + strlen(sizes), 24, "%s%lld", d ? ", " : "", (long long)shape->dim[d]);
    tn__error(TN_EINVAL, "Given normalized_shape=%s, expected input with shape [%s%s], but got input of size%s",
              tn__shape_str(shape->dim, shape->ndim).s, any, sizes, tn__shape_str(x->shape, x->ndim).s);
    return false;
}

tn_tensor *tn__fn_layer_norm(tn_tensor *x, const tn_dims *shape, const tn_layer_norm_options *o)
{
    tn_tensor *weight = tn__given(o->weight), *bias = tn__given(o->bias), *own[] = {weight, bias};
    if (!tn__usable("layer_norm", x) || !tn__dims_fit("layer_norm", shape) ||
        !features_fit("*, ", x, shape, weight, bias) || !tn__floating("LayerNormKernelImpl", x) ||
        !tn__parameters_fit(x, own, 2))
        return NULL;
    tn_tensor *y = by_features(x, shape, TN__BY_VARIANCE, tn__number_or(o->eps, 1e-5), weight, bias);
    return weight ? y : tn__scaled(y, NULL, bias, x->dtype);
}

/* What PyTorch says of these sizes in words of its own. */
static bool squares_fit(const tn_tensor *x, const tn_dims *shape)
{
    if (x->ndim < shape->ndim)
        tn__error(TN_EVALUE, "Input tensor must have at least %d dimensions, but got %d", (int)shape->ndim,
                  (int)x->ndim);
    return x->ndim >= shape->ndim;
}

tn_tensor *tn__fn_rms_norm(tn_tensor *x, const tn_dims *shape, const tn_rms_norm_options *o)
{
    tn_tensor *weight = tn__given(o->weight);
    if (!tn__usable("rms_norm", x) || !tn__dims_fit("rms_norm", shape) || !squares_fit(x, shape) ||
        !features_fit("*", x, shape, weight, NULL) || !tn__floating("rms_norm", x))
        return NULL;
    const double eps = tn__number_or(o->eps, x->dtype == TN_F64 ? DBL_EPSILON : FLT_EPSILON);
    if (weight && (weight->dtype == x->dtype || weight->dtype == tn__dtypes[x->dtype].compute))
        return by_features(x, shape, TN__BY_SQUARES, eps, weight, NULL);
    return tn__scaled(by_features(weight ? tn__widened(x) : x, shape, TN__BY_SQUARES, eps, NULL, NULL), weight, NULL,
                      x->dtype);
}
