/* Kernels of the family loss for the CPU. */
#include "backend/cpu/cpu.h"
#include "core/error.h"
#include "op/infer.h"

/* ---- negative log likelihood: x [batch][classes][spatial], target [batch][spatial] ---- */

typedef struct nll {
    const tn__view *target, *weight;
    int64_t batch, classes, spatial, ignore;
} nll;

static nll nll_of(const tn__launch *l, const tn_scalar *ignore, int32_t ndim, const int64_t *shape)
{
    nll n = {.target = &l->in[1], .weight = l->n_in > 2 && l->in[2].dtype ? &l->in[2] : NULL, .batch = 1, .spatial = 1};
    n.ignore = ignore->kind ? tn__scalar_int(ignore) : -100;
    n.classes = shape[ndim == 1 ? 0 : 1];
    if (ndim > 1)
        n.batch = shape[0];
    for (int32_t d = 2; d < ndim; d++)
        n.spatial *= shape[d];
    return n;
}

static int64_t target_of(const nll *n, int64_t i)
{
    int64_t o = n->target->contiguous ? i : tn__view_offset(n->target, i);
    return n->target->dtype == TN_U8 ? (int64_t)((const uint8_t *)n->target->data)[o]
                                     : ((const int64_t *)n->target->data)[o];
}

static double weight_of(const nll *n, int64_t c)
{
    if (!n->weight)
        return 1;
    const int64_t size = (int64_t)tn__dtype_size(n->weight->dtype);
    return tn__load_double(n->weight->dtype, (const char *)n->weight->data + c * n->weight->stride[0] * size);
}

/* The score of class t for target i. */
static double score_of(const nll *n, const tn__view *x, int64_t i, int64_t t)
{
    const bool rows = x->ndim == 2;
    const int64_t batch = rows ? i : i / n->spatial, s = rows ? 0 : i % n->spatial,
                  at = rows ? i * x->stride[0] + t * x->stride[1]
                            : tn__view_offset(x, (batch * n->classes + t) * n->spatial + s);
    return x->dtype == TN_F32
               ? (double)((const float *)x->data)[at]
               : tn__load_double(x->dtype, (const char *)x->data + at * (int64_t)tn__dtype_size(x->dtype));
}

/* Targets of rows of float32 without weights, one after another: their losses summed, and how many count. False: the usual way,
 * for other ones, or to say which one is out of bounds. */
static bool sum_plain(const nll *n, const tn__view *x, double *sum, double *total)
{
    const int64_t *target = n->target->data;
    if (x->ndim != 2 || x->dtype != TN_F32 || n->weight || n->target->dtype != TN_I64 || !n->target->contiguous)
        return false;
    int64_t many = 0;
    double s = 0;
    for (int64_t i = 0; i < n->batch; i++) {
        const int64_t t = target[i];
        if (t == n->ignore)
            continue;
        if ((uint64_t)t >= (uint64_t)n->classes)
            return false;
        s -= (double)((const float *)x->data)[i * x->stride[0] + t * x->stride[1]];
        many++;
    }
    *sum = s;
    *total = (double)many;
    return true;
}

tn_status tn__cpu_nll_loss(const tn__launch *l)
{
    const tn__nll_loss_params *p = l->params;
    const tn__view *x = &l->in[0], *out = &l->out[0], *total_out = &l->out[1];
    nll n = nll_of(l, &p->ignore_index, x->ndim, x->shape);
    const int64_t size = (int64_t)tn__dtype_size(out->dtype);
    double sum = 0, total = 0;
    const bool plain = p->reduction != TN_NO_REDUCTION && sum_plain(&n, x, &sum, &total);
    for (int64_t i = 0; !plain && i < n.batch * n.spatial; i++) {
        int64_t t = target_of(&n, i);
        double loss = 0, w = 0;
        if (t != n.ignore && (t < 0 || t >= n.classes))
            return tn__error(TN_EINDEX, "Target %lld is out of bounds.", (long long)t);
        if (t != n.ignore) {
            w = weight_of(&n, t);
            loss = -w * score_of(&n, x, i, t);
        }
        sum += loss;
        total += w;
        if (p->reduction == TN_NO_REDUCTION)
            tn__store_double(out->dtype, (char *)out->data + i * size, loss);
    }
    if (p->reduction != TN_NO_REDUCTION)
        tn__store_double(out->dtype, out->data, p->reduction == TN_SUM ? sum : sum / total);
    tn__store_double(total_out->dtype, total_out->data, total);
    return TN_OK;
}

/* in: g, target, weight, total; out: gradient of x */
tn_status tn__cpu_nll_loss_backward(const tn__launch *l)
{
    const tn__nll_loss_backward_params *p = l->params;
    const tn__view *g = &l->in[0], *out = &l->out[0];
    nll n = nll_of(l, &p->ignore_index, out->ndim, out->shape);
    const int64_t size = (int64_t)tn__dtype_size(out->dtype);
    double total = tn__load_double(l->in[3].dtype, l->in[3].data);
    if (out->numel)
        memset(out->data, 0, (size_t)(out->numel * size));
    for (int64_t i = 0; i < n.batch * n.spatial; i++) {
        int64_t t = target_of(&n, i), b = i / n.spatial, s = i % n.spatial;
        if (t == n.ignore)
            continue;
        double d =
            tn__load_double(g->dtype, (const char *)g->data + (g->numel == 1 ? 0 : tn__view_offset(g, i)) * size);
        d *= -weight_of(&n, t);
        if (p->reduction == TN_MEAN)
            d /= total;
        tn__store_double(out->dtype, (char *)out->data + ((b * n.classes + t) * n.spatial + s) * size, d);
    }
    return TN_OK;
}
