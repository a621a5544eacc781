/* Derivatives of reductions, scans, softmax and losses, from public operations. */
#include "autograd/functions.h"

/* The gradient of a reduction's result with the reduced dimensions back, as size 1. */
static tn_tensor *unreduced(const tn__backward *b, tn_tensor *g)
{
    const tn__node *n = b->node;
    const tn__reduction_params *p = n->params;
    if (p->keepdim || g->ndim == n->in[0].ndim)
        return g;
    int64_t shape[TN_MAX_DIMS];
    for (int32_t d = 0; d < n->in[0].ndim; d++)
        shape[d] = n->in[0].shape[d];
    for (int32_t i = 0; i < p->dim.n; i++)
        shape[p->dim.d[i]] = 1;
    return tn_reshape(g, ((tn_dims){n->in[0].ndim, shape}));
}

static int64_t reduced_count(const tn__node *n)
{
    const tn__reduction_params *p = n->params;
    int64_t count = 1;
    for (int32_t i = 0; i < p->dim.n; i++)
        count *= n->in[0].shape[p->dim.d[i]];
    return count;
}

tn_status tn__d_sum(tn__backward *b)
{
    return tn__give(b, 0, tn_expand(unreduced(b, b->g[0]), tn__input_shape(b, 0)));
}

tn_status tn__d_mean(tn__backward *b)
{
    tn_tensor *g = tn_div(unreduced(b, b->g[0]), (double)reduced_count(b->node));
    return tn__give(b, 0, tn_expand(g, tn__input_shape(b, 0)));
}

/* Element i becomes the product of those before it. Each round doubles how many of them are in it. */
static tn_tensor *product_before(tn_tensor *x, int64_t dim)
{
    int64_t n = x->shape[dim];
    tn_tensor *one = tn_ones_like(tn_slice(x, dim, 0, 1, 1));
    tn_tensor *p = tn_cat(TN_TENSORS(one, tn_slice(x, dim, 0, n - 1, 1)), dim);
    for (int64_t have = 1; have < n - 1 && p; have += have) {
        tn_tensor *rest = tn_mul(tn_slice(p, dim, have, n, 1), tn_slice(p, dim, 0, n - have, 1));
        p = tn_cat(TN_TENSORS(tn_slice(p, dim, 0, have, 1), rest), dim);
    }
    return p;
}

/* Product of the others, from both sides: right also where elements are zero. */
static tn_tensor *product_of_others(tn_tensor *x, int64_t dim)
{
    tn_tensor *after = product_before(tn_flip(x, TN_DIMS(dim)), dim);
    return tn_mul(product_before(x, dim), tn_flip(after, TN_DIMS(dim)));
}

tn_status tn__d_prod(tn__backward *b)
{
    const tn__node *n = b->node;
    const tn__reduction_params *p = n->params;
    tn_tensor *x = tn__saved_tensor(b, 0), *g = b->g[0];
    if (!x)
        return tn_error_code();
    if (x->numel == 0)
        return tn__give(b, 0, tn_zeros_like(x));
    if (p->dim.given) {
        if (x->ndim == 0)
            return tn__give(b, 0, g);
        return tn__give(b, 0, tn_mul(unreduced(b, g), product_of_others(x, p->dim.d[0])));
    }
    tn_tensor *flat = product_of_others(tn_reshape(x, TN_SHAPE(-1)), 0);
    return tn__give(b, 0, tn_mul(g, tn_reshape(flat, tn__input_shape(b, 0))));
}

/* For x = U S V^T and a change dx, the singular values change by the diagonal of U^T dx V (Giles, Collected matrix
 * derivative results for forward and reverse mode algorithmic differentiation, 2008), so the gradient of their sum is
 * U V^T. Where some are zero, the columns of U and V that belong to them are a choice, and U V^T one of many
 * subgradients: as in PyTorch, whose svd_backward multiplies whatever U and V its library found. */
tn_status tn__d_nuclear_norm(tn__backward *b)
{
    tn_tensor *x = tn__saved_tensor(b, 0);
    return x ? tn__give(b, 0, tn_mul(tn_unsqueeze(tn_unsqueeze(b->g[0], -1), -1), tn__polar(x))) : tn_error_code();
}

/* Equal extremes share the gradient evenly; nan: so do NaN. */
static tn_status share_extremes(tn__backward *b, bool nan)
{
    const tn__reduction_params *p = b->node->params;
    tn_tensor *x = tn__saved_tensor(b, 0), *out = x ? tn__saved_tensor(b, 1) : NULL;
    if (!out)
        return tn_error_code();
    const tn_dims dims = {p->dim.n, p->dim.d};
    tn_tensor *mine = tn_eq(x, unreduced(b, out));
    if (nan)
        mine = tn_logical_or(mine, tn_logical_and(tn_isnan(x), tn_isnan(out)));
    tn_tensor *same = tn_to(mine, .dtype = x->dtype);
    tn_tensor *count = dims.ndim ? tn_sum(same, .dim = dims, .keepdim = true) : same;
    return tn__give(b, 0, tn_mul(same, tn_div(unreduced(b, b->g[0]), count)));
}

tn_status tn__d_amax(tn__backward *b)
{
    return share_extremes(b, false);
}

/* Along a dimension the element that was named gets the gradient; over all, ties share it. */
tn_status tn__d_max(tn__backward *b)
{
    const tn__node *n = b->node;
    const tn__reduction_params *p = n->params;
    if (!p->dim.given)
        return share_extremes(b, true);
    if (n->in[0].ndim == 0)
        return tn__give(b, 0, b->g[0]);
    tn_tensor *index = tn__saved_tensor(b, 2);
    if (!index)
        return tn_error_code();
    tn_tensor *zeros = tn_zeros(tn__input_shape(b, 0), .dtype = b->g[0]->dtype, .device = b->g[0]->device);
    return tn__give(b, 0, tn_scatter(zeros, p->dim.d[0], unreduced(b, index), unreduced(b, b->g[0])));
}

static double degrees_of_freedom(const tn__node *n)
{
    const tn__reduction_params *p = n->params;
    double correction = p->correction.kind ? tn__scalar_double(&p->correction) : 1;
    return (double)reduced_count(n) - correction;
}

/* d var = 2 (x - mean) / (n - correction) */
static tn_tensor *var_slope(tn__backward *b, tn_tensor *x)
{
    const tn__reduction_params *p = b->node->params;
    const tn_dims dims = {p->dim.n, p->dim.d};
    tn_tensor *mean = dims.ndim ? tn_mean(x, .dim = dims, .keepdim = true) : x;
    return tn_mul(tn_sub(x, mean), 2 / degrees_of_freedom(b->node));
}

tn_status tn__d_var(tn__backward *b)
{
    tn_tensor *x = tn__saved_tensor(b, 0);
    return x ? tn__give(b, 0, tn_mul(unreduced(b, b->g[0]), var_slope(b, x))) : tn_error_code();
}

tn_status tn__d_std(tn__backward *b)
{
    tn_tensor *x = tn__saved_tensor(b, 0), *out = x ? tn__saved_tensor(b, 1) : NULL;
    if (!out)
        return tn_error_code();
    tn_tensor *g = tn_div(b->g[0], tn_mul(out, 2));
    g = tn_where(tn_eq(out, 0), 0, g); /* PyTorch's choice where the deviation is zero */
    return tn__give(b, 0, tn_mul(unreduced(b, g), var_slope(b, x)));
}

tn_status tn__d_cumsum(tn__backward *b)
{
    const tn__cumsum_params *p = b->node->params;
    int64_t dim = p->dim;
    if (b->node->in[0].ndim == 0)
        return tn__give(b, 0, b->g[0]);
    return tn__give(b, 0, tn_flip(tn_cumsum(tn_flip(b->g[0], TN_DIMS(dim)), dim), TN_DIMS(dim)));
}

tn_status tn__d_softmax(tn__backward *b)
{
    const tn__softmax_params *p = b->node->params;
    tn_tensor *out = tn__saved_tensor(b, 1);
    return out ? tn__give(b, 0, tn__softmax_backward(b->g[0], out, p->dim)) : tn_error_code();
}

tn_status tn__d_log_softmax(tn__backward *b)
{
    const tn__softmax_params *p = b->node->params;
    tn_tensor *out = tn__saved_tensor(b, 1);
    return out ? tn__give(b, 0, tn__log_softmax_backward(b->g[0], out, p->dim)) : tn_error_code();
}

/* r = y (g - sum(g y)): with respect to g: softmax_backward(gg, y); to y: gg g - gg sum(g y) - g sum(gg y) */
tn_status tn__d_softmax_backward(tn__backward *b)
{
    const tn__softmax_params *p = b->node->params;
    tn_tensor *g = tn__saved_tensor(b, 0), *y = g ? tn__saved_tensor(b, 1) : NULL, *gg = b->g[0];
    int64_t dim = p->dim;
    if (!y)
        return tn_error_code();
    tn_status e = TN_OK;
    if (b->need[0])
        e = tn__give(b, 0, tn__softmax_backward(gg, y, dim));
    if (!e && b->need[1]) {
        tn_tensor *gy = tn_sum(tn_mul(g, y), .dim = TN_DIMS(dim), .keepdim = true);
        tn_tensor *ggy = tn_sum(tn_mul(gg, y), .dim = TN_DIMS(dim), .keepdim = true);
        e = tn__give(b, 1, tn_sub(tn_sub(tn_mul(gg, g), tn_mul(gg, gy)), tn_mul(g, ggy)));
    }
    return e;
}

/* r = g - exp(y) sum(g): with respect to g: gg - sum(gg exp(y)); to y: -gg exp(y) sum(g) */
tn_status tn__d_log_softmax_backward(tn__backward *b)
{
    const tn__softmax_params *a = b->node->params;
    tn_tensor *g = tn__saved_tensor(b, 0), *y = g ? tn__saved_tensor(b, 1) : NULL, *gg = b->g[0];
    int64_t dim = a->dim;
    if (!y)
        return tn_error_code();
    tn_tensor *p = tn_exp(y);
    tn_status e = TN_OK;
    if (b->need[0])
        e = tn__give(b, 0, tn_sub(gg, tn_sum(tn_mul(gg, p), .dim = TN_DIMS(dim), .keepdim = true)));
    if (!e && b->need[1])
        e = tn__give(b, 1, tn_neg(tn_mul(tn_mul(gg, p), tn_sum(g, .dim = TN_DIMS(dim), .keepdim = true))));
    return e;
}

tn_status tn__d_logsumexp(tn__backward *b)
{
    tn_tensor *x = tn__saved_tensor(b, 0), *out = x ? tn__saved_tensor(b, 1) : NULL;
    if (!out)
        return tn_error_code();
    return tn__give(b, 0, tn_mul(unreduced(b, b->g[0]), tn_exp(tn_sub(x, unreduced(b, out)))));
}

/* ---- losses ---- */

tn_status tn__d_nll_loss(tn__backward *b)
{
    const tn__nll_params *a = b->node->params;
    tn_status e = TN_OK;
    tn_scalar target = tn__saved_operand(b, 1, &e), weight = tn__saved_operand(b, 2, &e);
    int32_t n = b->node->n_in;
    if (n < 3)
        weight = tn_scalar_none();
    tn_scalar total = tn__saved_operand(b, n + 1, &e);
    if (e)
        return e;
    return tn__give(b, 0,
                tn__nll_loss_backward(b->g[0], target.v.t, weight.kind ? weight.v.t : TN_NONE, total.v.t,
                                      tn__input_shape(b, 0), a->reduction, a->ignore_index));
}

/* Linear in g: the gradient is the loss's forward of gg. */
tn_status tn__d_nll_loss_backward(tn__backward *b)
{
    const tn__nll_params *a = b->node->params;
    tn_status e = TN_OK;
    tn_scalar target = tn__saved_operand(b, 1, &e), weight = tn__saved_operand(b, 2, &e);
    if (e)
        return e;
    return tn__give(b, 0,
                tn_nll_loss(b->g[0], target.v.t, .weight = weight.kind ? weight.v.t : NULL, .reduction = a->reduction,
                            .ignore_index = a->ignore_index));
}

/* The gradient of a loss's elements: the reduction undone. */
static tn_tensor *loss_gradient(const tn__backward *b, int64_t numel)
{
    const tn__mse_loss_params *p = b->node->params;
    return p->reduction == TN_MEAN ? tn_div(b->g[0], (double)numel) : b->g[0];
}

static int64_t broadcast_numel(const tn_tensor *a, const tn_tensor *b)
{
    int64_t n = 1;
    for (int32_t d = 0; d < TN_MAX(a->ndim, b->ndim); d++) {
        int64_t x = d < a->ndim ? a->shape[a->ndim - 1 - d] : 1, y = d < b->ndim ? b->shape[b->ndim - 1 - d] : 1;
        n *= x == 1 ? y : x;
    }
    return n;
}

tn_status tn__d_mse_loss(tn__backward *b)
{
    tn_tensor *x = tn__saved_tensor(b, 0), *y = x ? tn__saved_tensor(b, 1) : NULL;
    if (!y)
        return tn_error_code();
    tn_tensor *g = tn_mul(tn_mul(tn_sub(x, y), 2), loss_gradient(b, broadcast_numel(x, y)));
    tn_status e = b->need[0] ? tn__give(b, 0, g) : TN_OK;
    return !e && b->need[1] ? tn__give(b, 1, tn_neg(g)) : e;
}

/* log(1 / (1 + exp(-x))) = min(x, 0) - log(1 + exp(-|x|)), written so that its derivative at 0 is right too */
static tn_tensor *log_sigmoid(tn_tensor *x)
{
    tn_tensor *negative = tn_lt(x, 0);
    return tn_sub(tn_where(negative, x, 0), tn_log1p(tn_exp(tn_where(negative, x, tn_neg(x)))));
}

/* loss = (1 - y) x + (1 + (p - 1) y) log(1 + exp(-x)), times weight; p: pos_weight */
tn_status tn__d_bce_with_logits(tn__backward *b)
{
    tn_status e = TN_OK;
    tn_tensor *x = tn__saved_tensor(b, 0), *y = x ? tn__saved_tensor(b, 1) : NULL;
    if (!y)
        return tn_error_code();
    tn_scalar weight = tn__saved_operand(b, 2, &e), positive = tn__saved_operand(b, 3, &e);
    if (e)
        return e;
    tn_tensor *g = loss_gradient(b, x->numel);
    if (weight.kind)
        g = tn_mul(g, weight);
    tn_tensor *s = tn_sigmoid(x);
    if (b->need[0]) {
        tn_tensor *slope;
        if (positive.kind) { /* t = 1 + (p - 1) y:  (1 - y) - t (1 - s) */
            tn_tensor *t = tn_add(tn_mul(tn_sub(positive, 1), y), 1);
            slope = tn_sub(tn_sub(1, y), tn_mul(t, tn_sub(1, s)));
        } else {
            slope = tn_sub(s, y);
        }
        e = tn__give(b, 0, tn_mul(g, slope));
    }
    if (!e && b->need[1]) { /* -x + (p - 1) log(1 + exp(-x)) */
        tn_tensor *slope = tn_neg(x);
        if (positive.kind)
            slope = tn_sub(slope, tn_mul(tn_sub(positive, 1), log_sigmoid(x)));
        e = tn__give(b, 1, tn_mul(g, slope));
    }
    return e;
}

tn_status tn__d_dropout(tn__backward *b)
{
    const tn__dropout_params *a = b->node->params;
    return tn__give(b, 0, tn__dropout(b->g[0], a->p, a->seed, a->offset));
}
