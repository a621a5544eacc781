/* Derivatives of the family loss, from public operations. */
#include "ops/loss/derive.h"
#include <math.h>

/* ---- helpers named in rows ---- */

/* p (1 - p), not less than 1e-12 */
static tn_tensor *variance(tn_scalar p)
{
    return tn_clamp_min(tn_mul(tn_sub(1, p), p), 1e-12);
}

tn_tensor *tn__bce_slope(tn_tensor *g, tn_scalar p)
{
    if (p.kind == TN_SCALAR_TENSOR)
        return tn_div(g, variance(p));
    const double v = tn__scalar_double(&p) * (1 - tn__scalar_double(&p));
    return tn_div(g, v > 1e-12 ? v : 1e-12);
}

/* With v = p (1 - p): (v - (p - y) v') / v^2, v' = 1 - 2 p, or 0 where v is not less than it may be */
tn_tensor *tn__bce_bend(tn_tensor *g, tn_scalar p, tn_scalar y)
{
    tn_tensor *v = variance(p), *turn = tn_where(tn_gt(v, 1e-12), tn_sub(1, tn_mul(p, 2)), 0);
    return tn_mul(g, tn_div(tn_sub(v, tn_mul(tn_sub(p, y), turn)), tn_square(v)));
}

tn_tensor *tn__within(tn_tensor *g, tn_scalar a, tn_scalar b, tn_scalar c)
{
    return tn_where(tn_lt(tn_abs(tn_sub(a, b)), c), g, 0);
}

static bool is_one(tn_scalar c)
{
    return c.kind != TN_SCALAR_TENSOR && tn__scalar_double(&c) == 1;
}

tn_tensor *tn__smooth_l1_grad(tn_tensor *g, tn_scalar a, tn_scalar b, tn_scalar c)
{
    return is_one(c) ? tn__unit_huber_backward(g, a, b) : tn_mul(g, tn__smooth_l1_slope(a, b, c));
}

tn_tensor *tn__huber_grad(tn_tensor *g, tn_scalar a, tn_scalar b, tn_scalar c)
{
    return is_one(c) ? tn__unit_huber_backward(g, a, b) : tn_mul(g, tn__huber_slope(a, b, c));
}

tn_tensor *tn__bce_grad_target(tn_tensor *g, tn_scalar p)
{
    tn_tensor *t = tn__as_tensor(p, g->device);
    return tn_mul(g, tn_sub(tn_log1p(tn_neg(t)), tn_log(t)));
}

/* ---- losses ---- */

tn_status tn__d_nll_loss(tn__backward *b)
{
    const tn__nll_loss_params *a = b->node->params;
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

tn_status tn__d_cross_entropy(tn__backward *b)
{
    const tn__cross_entropy_params *p = b->node->params;
    tn_status e = TN_OK;
    tn_tensor *x = tn__saved_tensor(b, 0), *sums = x ? tn__saved_tensor(b, b->node->n_in + 1) : NULL, *g = b->g[0];
    const tn_scalar target = tn__saved_operand(b, 1, &e);
    if (!sums || e)
        return tn_error_code();
    if (tn__self()->no_grad)
        return tn__give(b, 0,
                        tn__cross_entropy_backward(tn_contiguous(g), x, target.v.t, sums, p->reduction, p->ignore));
    tn_tensor *total = tn_to(tn_detach(tn_select(sums, 0, -1)), .dtype = x->dtype);
    tn_tensor *of_log = tn__nll_loss_backward(g, target.v.t, TN_NONE, total, tn__input_shape(b, 0), p->reduction,
                                              tn_scalar_i(p->ignore));
    return tn__give(b, 0, tn__log_softmax_backward(of_log, tn_log_softmax(x, 1), 1));
}

/* Linear in g: the gradient is the loss's forward of gg. */
tn_status tn__d_nll_loss_backward(tn__backward *b)
{
    const tn__nll_loss_backward_params *a = b->node->params;
    tn_status e = TN_OK;
    tn_scalar target = tn__saved_operand(b, 1, &e), weight = tn__saved_operand(b, 2, &e);
    if (e)
        return e;
    return tn__give(b, 0,
                    tn_nll_loss(b->g[0], target.v.t, .weight = weight.kind ? weight.v.t : NULL,
                                .reduction = a->reduction, .ignore_index = a->ignore_index));
}

/* The slope at each score is the second result, and constant but at the margin. */
tn_status tn__d_multilabel_margin(tn__backward *b)
{
    tn_status e = TN_OK;
    const tn_scalar slope = tn__saved_operand(b, b->node->n_in + 1, &e);
    return e ? e : tn__give(b, 0, tn_mul(tn_unsqueeze(b->g[0], 1), tn_detach(slope.v.t)));
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
    tn_tensor *g = tn__mse_backward(loss_gradient(b, broadcast_numel(x, y)), x, y);
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
    if (b->need[0] && positive.kind) { /* t = 1 + (p - 1) y:  (1 - y) - t (1 - s) */
        tn_tensor *t = tn_add(tn_mul(tn_sub(positive, 1), y), 1);
        e = tn__give(b, 0, tn_mul(g, tn_sub(tn_sub(1, y), tn_mul(t, tn_sub(1, tn_sigmoid(x))))));
    } else if (b->need[0]) {
        e = tn__give(b, 0, tn__bce_logits_backward(g, x, y));
    }
    if (!e && b->need[1]) { /* -x + (p - 1) log(1 + exp(-x)) */
        tn_tensor *slope = tn_neg(x);
        if (positive.kind)
            slope = tn_sub(slope, tn_mul(tn_sub(positive, 1), log_sigmoid(x)));
        e = tn__give(b, 1, tn_mul(g, slope));
    }
    return e;
}
