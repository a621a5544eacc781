/* Losses that ask for a margin: between scores, distances, or classes. */
#include "ops/compose.h"
#include "ops/loss/compose.h"

static bool all_usable(const char *what, tn_tensor *const *t, int n)
{
    for (int i = 0; i < n; i++)
        if (!tn__usable(what, t[i]))
            return false;
    return true;
}

/* max(margin - x, 0) */
static tn_tensor *short_of(tn_scalar margin, tn_tensor *x)
{
    return tn_clamp_min(tn_sub(margin, x), 0);
}

tn_tensor *tn__fn_margin_ranking_loss(tn_tensor *x1, tn_tensor *x2, tn_tensor *target,
                                      const tn_margin_ranking_loss_options *o)
{
    tn_tensor *const all[] = {x1, x2, target};
    if (!all_usable("margin_ranking_loss", all, 3))
        return NULL;
    /* Of integers it wraps around before the margin makes it a float, and so does the negative of a target without a sign. */
    const bool wraps = !tn__dtypes[target->dtype].is_signed;
    tn_tensor *apart = wraps ? tn_mul(tn_neg(target), tn_sub(x1, x2)) : tn_mul(target, tn_sub(x2, x1));
    return tn__reduce_loss(tn_clamp_min(tn_add(apart, o->margin), 0), o->reduction);
}

/* x where the target is 1, max(margin - x, 0) where it is -1, both where it is neither */
tn_tensor *tn__fn_hinge_embedding_loss(tn_tensor *x, tn_tensor *target, const tn_hinge_embedding_loss_options *o)
{
    if (!tn__usable("hinge_embedding_loss", x) || !tn__usable("hinge_embedding_loss", target))
        return NULL;
    const tn_scalar margin = tn_scalar_f(tn__number_or(o->margin, 1)); /* in integers a whole one, as PyTorch */
    tn_tensor *apart = short_of(tn__dtype_is_float(x->dtype) ? margin : tn_scalar_i(tn__scalar_int(&margin)), x);
    tn_tensor *alike = tn_where(tn_eq(target, -1), 0, x);
    return tn__reduce_loss(tn_add(tn_where(tn_eq(target, 1), 0, apart), alike), o->reduction);
}

/* ---- by the angle between two vectors, or between each two of rows ---- */

static bool are_vectors(const tn_tensor *x1, const tn_tensor *x2, const tn_tensor *target)
{
    const int32_t want = target->ndim + 1;
    if (target->ndim > 1)
        tn__error(TN_EINVAL, "0D or 1D target tensor expected, multi-target not supported");
    else if (x1->ndim != want || x2->ndim != want)
        tn__error(TN_EINVAL, "%dD target tensor expects %dD input tensors, but found inputs with sizes %s and %s.",
                  (int)target->ndim, (int)want, tn__shape_str(x1->shape, x1->ndim).s,
                  tn__shape_str(x2->shape, x2->ndim).s);
    else
        return true;
    return false;
}

tn_tensor *tn__fn_cosine_embedding_loss(tn_tensor *x1, tn_tensor *x2, tn_tensor *target,
                                        const tn_cosine_embedding_loss_options *o)
{
    static const double least = 1e-12; /* what PyTorch adds to the squares of norms */
    tn_tensor *const all[] = {x1, x2, target};
    if (!all_usable("cosine_embedding_loss", all, 3) || !are_vectors(x1, x2, target))
        return NULL;
    const int64_t dim = target->ndim;
    tn_tensor *dot = tn_sum(tn_mul(x1, x2), .dim = dim);
    tn_tensor *square1 = tn_add(tn_sum(tn_mul(x1, x1), .dim = dim), least);
    tn_tensor *square2 = tn_add(tn_sum(tn_mul(x2, x2), .dim = dim), least);
    tn_tensor *cosine = tn_div(dot, tn_sqrt(tn_mul(square1, square2)));
    tn_tensor *near = tn_where(tn_eq(target, 1), tn_sub(1, cosine), 0);
    tn_tensor *far = tn_where(tn_eq(target, -1), tn_clamp_min(tn_sub(cosine, o->margin), 0), 0);
    return tn__reduce_loss(tn_add(near, far), o->reduction);
}

/* ---- by distances ---- */

tn_tensor *tn__fn_triplet_margin_loss(tn_tensor *anchor, tn_tensor *positive, tn_tensor *negative,
                                      const tn_triplet_margin_loss_options *o)
{
    tn_tensor *const all[] = {anchor, positive, negative};
    if (!all_usable("triplet_margin_loss", all, 3))
        return NULL;
    if (anchor->ndim != positive->ndim || anchor->ndim != negative->ndim)
        return tn__fail(TN_EINVAL,
                        "The anchor, positive, and negative tensors are expected to have the same number of "
                        "dimensions, but got: anchor %dD, positive %dD, and negative %dD inputs",
                        (int)anchor->ndim, (int)positive->ndim, (int)negative->ndim);
    tn_tensor *near = tn_pairwise_distance(anchor, positive, .p = o->p, .eps = o->eps);
    tn_tensor *far = tn_pairwise_distance(anchor, negative, .p = o->p, .eps = o->eps);
    if (o->swap)
        far = tn_minimum(far, tn_pairwise_distance(positive, negative, .p = o->p, .eps = o->eps));
    tn_tensor *loss = tn_clamp_min(tn_sub(tn_add(near, tn__number_or(o->margin, 1)), far), 0);
    return tn__reduce_loss(loss, o->reduction);
}

/* ---- by classes: x is a vector of scores, or a matrix whose rows are ---- */

static bool are_scores(const tn_tensor *x, const char *kernel)
{
    if (x->ndim > 2 || (x->ndim && !x->shape[x->ndim - 1]))
        tn__error(TN_EINVAL, "Expected non-empty vector or matrix with optional 0-dim batch size, but got: %s",
                  tn__shape_str(x->shape, x->ndim).s);
    else if (!tn__dtype_is_float(x->dtype))
        tn__no_kernel(kernel, x);
    else
        return true;
    return false;
}

static bool is_int64(const tn_tensor *target)
{
    if (target->dtype != TN_I64)
        tn__error(TN_EDTYPE, "expected scalar type Long but found %s", tn__dtypes[target->dtype].legacy);
    return target->dtype == TN_I64;
}

/* Waits for the device: what is no class would read beside the scores. */
static bool within(tn_tensor *target, int64_t least, int64_t most, const char *otherwise)
{
    if (!target->numel || target->device.type == TN_DEVICE_META)
        return true;
    tn_tensor *high, *low = tn_aminmax(target, .max = &high);
    if (!low)
        return false;
    const bool fine = tn_item(low) >= (double)least && tn_item(high) <= (double)most;
    if (!fine)
        tn__error(TN_EINVAL, "%s", otherwise);
    return fine;
}

static bool fits_scores(const tn_tensor *x, const tn_tensor *target, const tn_tensor *weight)
{
    const int64_t rows = x->ndim == 2 ? x->shape[0] : 1, classes = x->ndim ? x->shape[x->ndim - 1] : 1;
    if (target->ndim > 1 || target->numel != rows)
        tn__error(TN_EINVAL,
                  "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples "
                  "(batch size). Expected target size [%lld], but got %s. Input has shape %s.",
                  (long long)rows, tn__shape_str(target->shape, target->ndim).s, tn__shape_str(x->shape, x->ndim).s);
    else if (weight && (weight->ndim > 1 || weight->numel != classes))
        tn__error(TN_EINVAL, "inconsistent weight size, expected %lld but got %s", (long long)classes,
                  tn__shape_str(weight->shape, weight->ndim).s);
    else if (weight && weight->dtype != x->dtype)
        tn__error(TN_EDTYPE, "expected scalar type %s but found %s", tn__dtypes[x->dtype].legacy,
                  tn__dtypes[weight->dtype].legacy);
    else
        return true;
    return false;
}

/* Of each row the mean over classes of weight[t] max(0, margin - x[t] + x[j])^p, j not being the target t. */
tn_tensor *tn__fn_multi_margin_loss(tn_tensor *x, tn_tensor *target, const tn_multi_margin_loss_options *o)
{
    const double p = tn__number_or(o->p, 1);
    if (!tn__usable("multi_margin_loss", x) || !tn__usable("multi_margin_loss", target))
        return NULL;
    if (p != 1 && p != 2)
        return tn__fail(TN_EINVAL, "only p == 1 and p == 2 supported");
    tn_tensor *weight = tn__given(o->weight);
    if (!are_scores(x, "multi_margin_loss_*_kernel") || !is_int64(target) || !fits_scores(x, target, weight))
        return NULL;
    const int64_t classes = x->ndim ? x->shape[x->ndim - 1] : 1;
    const bool is_cpu = x->device.type == TN_DEVICE_CPU; /* whose gather looks at the indices */
    if (!is_cpu && !within(target, 0, classes - 1, "target out of range"))
        return NULL;
    tn_tensor *rows = tn_reshape(x, TN_SHAPE(target->numel, classes));
    tn_tensor *own = tn_reshape(target, TN_SHAPE(target->numel, 1)), *scores = tn_gather(rows, 1, own);
    if (!scores)
        return is_cpu && tn_error_code() == TN_EINDEX ? tn__fail(TN_EINVAL, "target out of range") : NULL;
    const bool records = !tn__self()->no_grad && tn__wants_grad(x);
    tn_tensor *wrong = tn_sub(rows, tn_sub(scores, tn__number_or(o->margin, 1)));
    wrong = records ? tn_scatter(tn_clamp_min(wrong, 0), 1, own, 0) : tn_scatter_(tn_clamp_min_(wrong, 0), 1, own, 0);
    if (p == 2)
        wrong = tn_square(wrong);
    if (!weight && o->reduction == TN_MEAN) /* rows of one length: of all at once */
        return tn_mean(wrong);
    tn_tensor *loss = tn_div(tn_sum(wrong, .dim = 1), classes);
    if (weight)
        loss = tn_mul(loss, tn_index_select(tn_reshape(weight, TN_SHAPE(-1)), 0, tn_reshape(target, TN_SHAPE(-1))));
    if (o->reduction == TN_NO_REDUCTION)
        return tn_reshape(loss, tn__shape_of(target));
    return tn__reduce_loss(loss, o->reduction);
}

/* How many columns of targets have one that counts; all on meta. Waits for the device: a row seldom has as many targets as there
 * are classes, and the work grows with both. */
static int64_t columns_of(tn_tensor *counts, int64_t classes)
{
    if (!counts || counts->device.type == TN_DEVICE_META || !counts->numel)
        return counts ? classes : -1;
    tn_tensor *last = tn_amax(tn_sum(counts, .dim = 1, .dtype = TN_I64));
    return last ? tn_item_int(last) : -1;
}

/* The losses of rows by operations over all pairs of a target and a class; on the CPU a kernel has them in a pass. */
static tn_tensor *losses_of_pairs(tn_tensor *rows, tn_tensor *places)
{
    const int64_t n = rows->shape[0], classes = rows->shape[1];
    if (!within(places, -1, classes - 1, "argument #2 'target' is out of range"))
        return NULL;
    tn_tensor *counts = tn_eq(tn_cumsum(tn_lt(places, 0), 1), 0);
    const int64_t columns = columns_of(counts, classes);
    if (columns < 0)
        return NULL;
    counts = tn_narrow(counts, 1, 0, columns);
    tn_tensor *which = tn_where(counts, tn_narrow(places, 1, 0, columns), 0);
    tn_tensor *hits = tn_zeros(TN_SHAPE(n, classes), .dtype = TN_I64, .device = rows->device);
    tn_tensor *others = tn_eq(tn_scatter_add(hits, 1, which, tn_to(counts, .dtype = TN_I64)), 0);
    tn_tensor *own = tn_unsqueeze(tn_gather(rows, 1, which), 2);
    tn_tensor *margin = tn_add(tn_sub(1, own), tn_unsqueeze(rows, 1));
    tn_tensor *each = tn_where(tn_gt(margin, 0), margin, 0); /* of NaN nothing, as PyTorch has it */
    tn_tensor *of_target = tn_sum(tn_where(tn_unsqueeze(others, 1), each, 0), .dim = 2);
    return tn_div(tn_sum(tn_where(counts, of_target, 0), .dim = 1), classes);
}

/* Of each row the sum over targets t (up to the first -1) and other classes j of max(0, 1 - (x[t] - x[j])), by classes. */
tn_tensor *tn__fn_multilabel_margin_loss(tn_tensor *x, tn_tensor *target, const tn_multilabel_margin_loss_options *o)
{
    if (!tn__usable("multilabel_margin_loss", x) || !tn__usable("multilabel_margin_loss", target) ||
        !are_scores(x, "multilabel_margin_loss_forward_out_frame"))
        return NULL;
    if (!tn__same_shape(x->shape, x->ndim, target->shape, target->ndim))
        return tn__fail(TN_EINVAL, "inconsistent target size: %s for input of size: %s",
                        tn__shape_str(target->shape, target->ndim).s, tn__shape_str(x->shape, x->ndim).s);
    const int64_t n = x->ndim == 2 ? x->shape[0] : 1, classes = x->ndim ? x->shape[x->ndim - 1] : 1;
    if (!is_int64(target))
        return NULL;
    tn_tensor *rows = tn_reshape(x, TN_SHAPE(n, classes)), *places = tn_reshape(target, TN_SHAPE(n, classes));
    if (!rows || !places)
        return NULL;
    tn_tensor *loss = tn__words_of(x->device).gpu ? losses_of_pairs(rows, places)
                                                  : tn__multilabel_margin(tn_contiguous(rows), tn_contiguous(places));
    if (o->reduction == TN_NO_REDUCTION && x->ndim < 2)
        return tn_reshape(loss, TN_SHAPE());
    return tn__reduce_loss(loss, o->reduction);
}
