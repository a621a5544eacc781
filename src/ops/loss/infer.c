/* Shape rules of the family loss. */
#include "op/infer.h"

/* ---- losses by class index ---- */

/* A class for each place of x but the dimension of classes. */
static tn_status check_targets(const tn_tensor *x, const tn_tensor *target)
{
    const int64_t batch = target->ndim ? target->shape[0] : 0;
    if (x->ndim < 1)
        return tn__error(TN_EVALUE, "Expected 1 or more dimensions (got 0)");
    if (x->ndim == 1 && target->ndim == 1 && batch != 1)
        return tn__error(TN_EVALUE, "For 1D input, 1D target must have size 1, but got target size: %lld",
                         (long long)batch);
    if (x->ndim > 1 && x->shape[0] != batch)
        return tn__error(TN_EVALUE, "Expected input batch_size (%lld) to match target batch_size (%lld).",
                         (long long)x->shape[0], (long long)batch);
    if (x->ndim <= 2)
        return target->ndim <= 1 ? TN_OK
                                 : tn__error(TN_EINVAL, "0D or 1D target tensor expected, multi-target not supported");
    if (x->ndim == 4 && target->ndim != 3)
        return tn__error(TN_EINVAL,
                         "only batches of spatial targets supported (3D tensors) but got targets of dimension: %d",
                         (int)target->ndim);
    int64_t want[TN_MAX_DIMS] = {x->shape[0]};
    for (int32_t d = 1; d < x->ndim - 1; d++)
        want[d] = x->shape[d + 1];
    if (x->ndim == 4 && !tn__same_shape(want, 3, target->shape, 3)) /* images have words of their own; no ')' */
        return tn__error(TN_EINVAL, "size mismatch (got input: %s , target: %s", tn__shape_str(x->shape, 4).s,
                         tn__shape_str(target->shape, 3).s);
    if (!tn__same_shape(want, x->ndim - 1, target->shape, target->ndim))
        return tn__error(TN_EINVAL, "Expected target size %s, got %s", tn__shape_str(want, x->ndim - 1).s,
                         tn__shape_str(target->shape, target->ndim).s);
    return TN_OK;
}

static tn_status check_classes(const tn__call *c, const tn_tensor *x, const tn_tensor *target, const tn_tensor *weight)
{
    tn_status e = check_targets(x, target);
    if (e)
        return e;
    int64_t classes = x->shape[x->ndim == 1 ? 0 : 1];
    if (target->dtype != TN_I64 && target->dtype != TN_U8)
        return tn__error(TN_EDTYPE, "expected target dtype to be Long or Byte, but got %s",
                         tn__dtypes[target->dtype].legacy);
    if (weight && (weight->ndim != 1 || weight->shape[0] != classes))
        return tn__error(TN_EINVAL,
                         "weight tensor should be defined either for all %lld classes or no classes but got "
                         "weight tensor of shape: %s",
                         (long long)classes, tn__shape_str(weight->shape, weight->ndim).s);
    if (!tn__dtype_is_float(x->dtype))
        return tn__no_dtype_on(c->device, x->ndim > 2 ? "nll_loss2d_forward_out_frame" : "nll_loss_out_frame",
                               "nll_loss_forward_reduce_*_kernel_2d", x->dtype);
    if (weight && weight->dtype != x->dtype)
        return tn__error(TN_EDTYPE, "expected scalar type %s but found %s", tn__dtypes[x->dtype].legacy,
                         tn__dtypes[weight->dtype].legacy);
    return TN_OK;
}

tn_status tn__infer_nll_loss(tn__call *c)
{
    const tn__nll_loss_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0), *target = tn__in(c, 1);
    tn_status e = check_classes(c, x, target, tn__in_or_null(c, 2));
    if (e)
        return e;
    bool each = p->reduction == TN_NO_REDUCTION;
    tn__spec_set(&c->spec[0], x->dtype, target->shape, each ? target->ndim : 0);
    tn__spec_set(&c->spec[1], x->dtype, NULL, 0);
    (void)tn__infer_one(c);
    c->n_out = 2;
    return TN_OK;
}

/* tn__fn_cross_entropy asks only where they are so. */
static tn_status check_rows(const tn__call *c, const tn_tensor *x, const tn_tensor *target)
{
    if (x->ndim == 2 && x->numel && target->ndim == 1 && target->shape[0] == x->shape[0] && target->dtype == TN_I64 &&
        tn__contiguous(x) && tn__contiguous(target) && tn__dtype_is_float(x->dtype))
        return TN_OK;
    return tn__error(TN_EINVAL, "%s: scores %s and targets %s do not fit", tn__op_name(c->op),
                     tn__shape_str(x->shape, x->ndim).s, tn__shape_str(target->shape, target->ndim).s);
}

tn_status tn__infer_cross_entropy(tn__call *c)
{
    const tn__cross_entropy_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0), *target = tn__in(c, 1);
    const int64_t sums = x->ndim ? 2 * x->shape[0] + 1 : 0;
    tn_status e = check_rows(c, x, target);
    if (e)
        return e;
    tn__spec_set(&c->spec[0], x->dtype, target->shape, p->reduction == TN_NO_REDUCTION);
    tn__spec_set(&c->spec[1], tn__dtypes[x->dtype].compute, &sums, 1);
    (void)tn__infer_one(c);
    c->n_out = 2;
    return TN_OK;
}

tn_status tn__infer_cross_entropy_backward(tn__call *c)
{
    const tn__cross_entropy_params *p = c->params;
    const tn_tensor *g = tn__in(c, 0), *x = tn__in(c, 1), *sums = tn__in(c, 3);
    tn_status e = check_rows(c, x, tn__in(c, 2));
    if (!e && (g->dtype != x->dtype || !tn__contiguous(g) || sums->numel != 2 * x->shape[0] + 1 ||
               g->numel != (p->reduction == TN_NO_REDUCTION ? x->shape[0] : 1) || !tn__contiguous(sums) ||
               sums->dtype != tn__dtypes[x->dtype].compute))
        e = tn__error(TN_EINVAL, "cross_entropy_backward: the gradient does not fit");
    tn__spec_like(&c->spec[0], x);
    return e ? e : tn__infer_one(c);
}

tn_status tn__infer_nll_loss_backward(tn__call *c)
{
    const tn__nll_loss_backward_params *p = c->params;
    tn__spec_set(&c->spec[0], tn__in(c, 0)->dtype, p->shape.d, p->shape.n);
    return tn__infer_one(c);
}

/* tn__fn_multilabel_margin_loss has made them so. */
tn_status tn__infer_multilabel_margin(tn__call *c)
{
    const tn_tensor *x = tn__in(c, 0), *target = tn__in(c, 1);
    if (x->ndim != 2 || target->dtype != TN_I64 || !tn__same_shape(x->shape, 2, target->shape, target->ndim) ||
        !tn__contiguous(x) || !tn__contiguous(target))
        return tn__error(TN_EINVAL, "multilabel_margin_loss: scores %s and targets %s do not fit",
                         tn__shape_str(x->shape, x->ndim).s, tn__shape_str(target->shape, target->ndim).s);
    tn__spec_set(&c->spec[0], x->dtype, x->shape, 1);
    tn__spec_set(&c->spec[1], x->dtype, x->shape, 2);
    (void)tn__infer_one(c);
    c->n_out = 2;
    return TN_OK;
}
