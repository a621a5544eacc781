/* Derivatives of the family product, from public operations. */
#include "autograd/functions.h"

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

tn_status tn__d_bmm(tn__backward *b)
{
    tn_status e = TN_OK;
    tn_scalar x = tn__saved_operand(b, 0, &e), y = tn__saved_operand(b, 1, &e);
    if (!e && b->need[0])
        e = tn__give(b, 0, tn_bmm(b->g[0], tn_transpose(y.v.t, 1, 2)));
    if (!e && b->need[1])
        e = tn__give(b, 1, tn_bmm(tn_transpose(x.v.t, 1, 2), b->g[0]));
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
