/* Losses with weights, distances and similarities of rows, composed of operations. */
#include "ops/compose.h"
#include "ops/loss/compose.h"

tn_tensor *tn__fn_kl_div(tn_tensor *x, tn_tensor *target, const tn_kl_div_options *o)
{
    if (!tn__usable("kl_div", x) || !tn__usable("kl_div", target))
        return NULL;
    if (!tn__dtype_is_float(x->dtype) || !tn__dtype_is_float(target->dtype))
        return tn__fail(TN_EINVAL, "kl_div: Integral inputs not supported.");
    tn_tensor *loss;
    if (o->log_target) {
        loss = tn_mul(tn_exp(target), tn_sub(target, x));
    } else if (x->dtype == target->dtype) {
        loss = tn__kl_div(x, target);
    } else {
        tn_tensor *none = tn_eq(target, 0), *own = tn_mul(target, tn_log(tn_masked_fill(target, none, 1)));
        loss = tn_sub(own, tn_mul(target, x));
    }
    if (o->reduction != TN_BATCH_MEAN)
        return tn__reduce_loss(loss, o->reduction);
    return x->ndim ? tn_div(tn_sum(loss), x->shape[0]) : tn_sum(loss);
}

static bool weighs(const tn_tensor *x, const tn_tensor *weight)
{
    if (!tn__usable("input", x) || !tn__usable("weight", weight))
        return false;
    if (tn__same_shape(x->shape, x->ndim, weight->shape, weight->ndim))
        return true;
    tn__error(TN_EVALUE, "Weights and input must have the same size.");
    return false;
}

/* loss * weight, reduced; its mean is one over the weights. */
static tn_tensor *weighted(tn_tensor *loss, tn_tensor *weight, int64_t reduction)
{
    loss = tn_mul(loss, weight);
    return reduction == TN_MEAN ? tn_div(tn_sum(loss), tn_sum(weight)) : tn__reduce_loss(loss, reduction);
}

tn_tensor *tn__fn_weighted_mse_loss(tn_tensor *x, tn_tensor *target, tn_tensor *weight,
                                    const tn_weighted_mse_loss_options *o)
{
    return weighs(x, weight) ? weighted(tn_square(tn_sub(x, target)), weight, o->reduction) : NULL;
}

tn_tensor *tn__fn_weighted_l1_loss(tn_tensor *x, tn_tensor *target, tn_tensor *weight,
                                   const tn_weighted_l1_loss_options *o)
{
    return weighs(x, weight) ? weighted(tn_abs(tn_sub(x, target)), weight, o->reduction) : NULL;
}

tn_tensor *tn__fn_weighted_huber_loss(tn_tensor *x, tn_tensor *target, tn_tensor *weight,
                                      const tn_weighted_huber_loss_options *o)
{
    if (!weighs(x, weight))
        return NULL;
    tn_tensor *loss = tn_huber_loss(x, target, .reduction = TN_NO_REDUCTION, .delta = o->delta);
    return tn__reduce_loss(tn_mul(loss, weight), o->reduction);
}

tn_tensor *tn__fn_pairwise_distance(tn_tensor *x1, tn_tensor *x2, const tn_pairwise_distance_options *o)
{
    tn_tensor *d = tn_add(tn_sub(x1, x2), tn__number_or(o->eps, 1e-6));
    if (d && !tn__dtype_is_float(d->dtype))
        d = tn_div(d, 1);
    return tn_norm(d, .p = o->p, .dim = -1, .keepdim = o->keepdim);
}

/* x's norms along dim, none less than eps. What is below is lifted by a constant, so that the norm's slope counts there too. */
static tn_tensor *norm_above(tn_tensor *x, int64_t dim, double eps)
{
    tn_tensor *n = tn_norm(x, .p = tn_scalar_i(2), .dim = dim, .keepdim = true);
    const bool was = tn__set_no_grad(true);
    tn_tensor *lift = tn_where(tn_lt(n, eps), tn_sub(eps, n), 0.0);
    tn__set_no_grad(was);
    return tn_add(n, lift);
}

tn_tensor *tn__fn_cosine_similarity(tn_tensor *x1, tn_tensor *x2, int64_t dim, const tn_cosine_similarity_options *o)
{
    const double eps = tn__number_or(o->eps, 1e-8);
    tn_tensor *x[] = {x1, x2};
    if (!tn__usable("cosine_similarity", x1) || !tn__usable("cosine_similarity", x2))
        return NULL;
    const tn_dtype common = tn_promote_types(x1->dtype, x2->dtype);
    if (!tn__dtype_is_float(common))
        return tn__fail(TN_EDTYPE, "expected common dtype to be floating point, yet common dtype is %s",
                        tn__dtypes[common].legacy);
    if (eps < 0)
        return tn__fail(TN_EINVAL, "eps must be non-negative, got: %g", eps);
    for (int i = 0; i < 2; i++)
        if (!tn__dtype_is_float(x[i]->dtype))
            x[i] = tn_to(x[i], .dtype = common);
    if (!tn__broadcast_all(x, 2))
        return NULL;
    x1 = tn_div(x[0], norm_above(x[0], dim, eps));
    return tn_sum(tn_mul(x1, tn_div(x[1], norm_above(x[1], dim, eps))), .dim = dim);
}

enum { BY_NORM = 2 }; /* as _standardize counts kinds */

tn_tensor *tn__fn_normalize(tn_tensor *x, const tn_dims *dim, const tn_normalize_options *o)
{
    if (!tn__usable("normalize", x) || !tn__dims_fit("normalize", dim))
        return NULL;
    if (!o->nuclear && tn__dtype_is_float(x->dtype) && tn__number_or(o->p, 2) == 2 && tn_tensor_is_contiguous(x))
        return tn__standardize(x, TN_NONE, TN_NONE, *dim, BY_NORM, tn__number_or(o->eps, 1e-12));
    tn_tensor *n = o->nuclear ? tn_nuclear_norm(x, .dims = *dim, .keepdim = true)
                              : tn_norm(x, .p = o->p, .dims = *dim, .keepdim = true);
    return tn_div(x, tn_clamp_min(n, tn__number_or(o->eps, 1e-12)));
}
