/* Derivatives of the family product, from public operations. */
#include "autograd/functions.h"
#include <math.h>

/* ---- products ---- */

tn_status tn__d_mm(tn__backward *b)
{
    tn_status e = TN_OK;
    tn_scalar x = tn__saved_operand(b, 0, &e), y = tn__saved_operand(b, 1, &e);
    if (!e && b->need[0])
        e = tn__give(b, 0, tn_mm(b->g[0], tn_t(y.v.t)));
    if (!e && b->need[1])
        e = tn__give(b, 1, tn_mm(tn_t(x.v.t), b->g[0]));
    return e;
}

/* A product whose inner dimension is one element is all products of two vectors. */
static tn_tensor *batch_product(tn_tensor *a, tn_tensor *b)
{
    return a && b && a->shape[2] == 1 ? tn_mul(a, b) : tn_bmm(a, b);
}

tn_status tn__d_bmm(tn__backward *b)
{
    tn_status e = TN_OK;
    tn_scalar x = tn__saved_operand(b, 0, &e), y = tn__saved_operand(b, 1, &e);
    if (!e && b->need[0])
        e = tn__give(b, 0, batch_product(b->g[0], tn_transpose(y.v.t, 1, 2)));
    if (!e && b->need[1])
        e = tn__give(b, 1, batch_product(tn_transpose(x.v.t, 1, 2), b->g[0]));
    return e;
}

tn_status tn__d_addmm(tn__backward *b)
{
    const tn__addmm_params *a = b->node->params;
    double beta = a->beta.kind ? tn__scalar_double(&a->beta) : 1,
           alpha = a->alpha.kind ? tn__scalar_double(&a->alpha) : 1;
    tn_status e = TN_OK;
    tn_scalar x = tn__saved_operand(b, 1, &e), y = tn__saved_operand(b, 2, &e);
    tn_tensor *g = alpha == 1 || e ? b->g[0] : tn_mul(b->g[0], alpha);
    if (!e && b->need[0])
        e = tn__give(b, 0, beta == 1 ? b->g[0] : tn_mul(b->g[0], beta));
    if (!e && b->need[1])
        e = tn__give(b, 1, tn_mm(g, tn_t(y.v.t)));
    if (!e && b->need[2])
        e = tn__give(b, 2, tn_mm(tn_t(x.v.t), g));
    return e;
}

tn_status tn__d_mv(tn__backward *b)
{
    tn_status e = TN_OK;
    tn_scalar m = tn__saved_operand(b, 0, &e), v = tn__saved_operand(b, 1, &e);
    if (!e && b->need[0])
        e = tn__give(b, 0, tn_outer(b->g[0], v.v.t));
    if (!e && b->need[1])
        e = tn__give(b, 1, tn_mv(tn_t(m.v.t), b->g[0]));
    return e;
}

tn_status tn__d_dot(tn__backward *b)
{
    tn_status e = TN_OK;
    tn_scalar x = tn__saved_operand(b, 0, &e), y = tn__saved_operand(b, 1, &e);
    if (!e && b->need[0])
        e = tn__give(b, 0, tn_mul(b->g[0], y));
    if (!e && b->need[1])
        e = tn__give(b, 1, tn_mul(b->g[0], x));
    return e;
}

/* x [..., k], weight [n, k] or [k], bias [n]: as matrices of rows */
tn_status tn__d_linear(tn__backward *b)
{
    const tn__node *n = b->node;
    tn_status e = TN_OK;
    tn_scalar x = tn__saved_operand(b, 0, &e), w = tn__saved_operand(b, 1, &e);
    if (e)
        return e;
    int64_t k = n->in[0].shape[n->in[0].ndim - 1], cols = n->in[1].ndim == 2 ? n->in[1].shape[0] : 1;
    int64_t rows = tn__numel(n->in[0].shape, n->in[0].ndim - 1);
    bool flat = n->in[0].ndim == 2 && n->in[1].ndim == 2;
    tn_tensor *g = flat ? b->g[0] : tn_reshape(b->g[0], TN_SHAPE(rows, cols));
    if (b->need[0]) {
        tn_tensor *wm = n->in[1].ndim == 2 ? w.v.t : tn_reshape(w.v.t, TN_SHAPE(1, k));
        tn_tensor *gx = tn_mm(g, wm);
        e = tn__give(b, 0, flat ? gx : tn_reshape(gx, tn__input_shape(b, 0)));
    }
    if (!e && b->need[1]) {
        tn_tensor *gw = tn_mm(tn_t(g), flat ? x.v.t : tn_reshape(x.v.t, TN_SHAPE(rows, k)));
        e = tn__give(b, 1, n->in[1].ndim == 2 ? gw : tn_reshape(gw, TN_SHAPE(k)));
    }
    if (!e && n->n_in > 2 && b->need[2])
        e = tn__give(b, 2, tn_sum(g, .dim = 0));
    return e;
}

/* ---- distances ---- */

/* g / distance^power, 0 where the distance is 0 */
static tn_tensor *ratio(tn_tensor *g, tn_tensor *distance, double power)
{
    tn_tensor *zero = tn_eq(distance, 0), *over = power == 1 ? distance : tn_pow(distance, power);
    return tn_masked_fill(tn_div(g, over), zero, 0);
}

/* For d = |x - y|, dd / dx = (x - y) / d: summed over y, x times the sum of the ratios less their product with y. */
static tn_tensor *euclidean_slope(tn_tensor *each, tn_tensor *x, tn_tensor *y)
{
    return tn_sub(tn_mul(x, tn_sum(each, .dim = -1, .keepdim = true)), tn_matmul(each, y));
}

tn_status tn__d_euclidean(tn__backward *b)
{
    tn_tensor *x1 = tn__saved_tensor(b, 0), *x2 = x1 ? tn__saved_tensor(b, 1) : NULL,
              *out = x2 ? tn__saved_tensor(b, 2) : NULL;
    if (!out)
        return tn_error_code();
    tn_tensor *each = ratio(b->g[0], out, 1);
    tn_status e = b->need[0] ? tn__give(b, 0, euclidean_slope(each, x1, x2)) : TN_OK;
    return !e && b->need[1] ? tn__give(b, 1, euclidean_slope(tn_transpose(each, -2, -1), x2, x1)) : e;
}

/* The gradient of x, composed of operations: what is to be differentiated again. */
static tn_tensor *distance_slopes(tn_tensor *g, tn_tensor *x, tn_tensor *y, tn_tensor *out, double p)
{
    if (p == 0)
        return tn_mul(x, 0);
    if (p == 2)
        return euclidean_slope(ratio(g, out, 1), x, y);
    tn_tensor *d = tn_sub(tn_unsqueeze(x, -2), tn_unsqueeze(y, -3)), *slope = tn_sign(d);
    if (p == INFINITY) {
        slope = tn_mul(slope, tn_eq(tn_abs(d), tn_unsqueeze(out, -1)));
    } else if (p != 1) {
        tn_tensor *zero = tn_eq(d, 0);
        slope = tn_mul(slope, tn_pow(tn_masked_fill(tn_abs(d), zero, 1), p - 1));
        g = ratio(g, out, p - 1);
    }
    return tn_sum(tn_mul(slope, tn_unsqueeze(g, -1)), .dim = -2);
}

/* Numbers of each two of n rows as a symmetric matrix, [1, n, n], whose diagonal is 0. */
static tn_tensor *both_ways(tn_tensor *v, int64_t n)
{
    tn_tensor *at = tn_arange(0, (double)n, 1, .dtype = TN_I64, .device = v->device), *down = tn_unsqueeze(at, 1);
    tn_tensor *i = tn_minimum(down, at), *j = tn_maximum(down, at);
    tn_tensor *before = tn_bitwise_right_shift(tn_mul(i, tn_sub(2 * n - 1, i)), 1);
    tn_tensor *place = tn_clamp_min(tn_add(before, tn_sub(tn_sub(j, i), 1)), 0);
    tn_tensor *all = tn_index_select(v, 0, tn_reshape(place, TN_SHAPE(n * n)));
    return tn_reshape(tn_masked_fill(tn_reshape(all, TN_SHAPE(n, n)), tn_eq(down, at), 0), TN_SHAPE(1, n, n));
}

/* Of each two rows of one matrix. */
static tn_status give_pairs(tn__backward *b, tn_tensor *x, tn_tensor *out, double p)
{
    const int64_t n = x->shape[1];
    if (!b->need[0])
        return TN_OK;
    return tn__give(b, 0,
                    tn__self()->no_grad ? tn__distances_backward(b->g[0], x, x, out, p)
                                        : distance_slopes(both_ways(b->g[0], n), x, x, both_ways(out, n), p));
}

tn_status tn__d_distances(tn__backward *b)
{
    const tn__distances_params *a = b->node->params;
    const bool again = !tn__self()->no_grad;
    tn_tensor *x[2] = {tn__saved_tensor(b, 0), tn__saved_tensor(b, 1)}, *out = tn__saved_tensor(b, 2);
    tn_status e = x[0] && x[1] && out ? TN_OK : tn_error_code();
    if (!e && a->upper)
        return give_pairs(b, x[0], out, a->p);
    for (int i = 0; i < 2 && !e; i++) {
        tn_tensor *g = i ? tn_transpose(b->g[0], 1, 2) : b->g[0], *known = i ? tn_transpose(out, 1, 2) : out;
        if (b->need[i])
            e = tn__give(b, i,
                         again ? distance_slopes(g, x[i], x[1 - i], known, a->p)
                               : tn__distances_backward(g, x[i], x[1 - i], known, a->p));
    }
    return e;
}
