/* Derivatives of the family softmax, from public operations. */
#include "autograd/functions.h"

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
    const tn__softmax_backward_params *p = b->node->params;
    tn_tensor *g = tn__saved_tensor(b, 0), *y = g ? tn__saved_tensor(b, 1) : NULL, *gg = b->g[0];
    int64_t dim = p->dim;
    if (!y)
        return tn_error_code();
    tn_status e = TN_OK;
    if (b->need[0])
        e = tn__give(b, 0, tn__softmax_backward(gg, y, dim));
    if (!e && b->need[1]) {
        tn_tensor *gy = tn_sum(tn_mul(g, y), .dim = dim, .keepdim = true);
        tn_tensor *ggy = tn_sum(tn_mul(gg, y), .dim = dim, .keepdim = true);
        e = tn__give(b, 1, tn_sub(tn_sub(tn_mul(gg, g), tn_mul(gg, gy)), tn_mul(g, ggy)));
    }
    return e;
}

/* r = g - exp(y) sum(g): with respect to g: gg - sum(gg exp(y)); to y: -gg exp(y) sum(g) */
tn_status tn__d_log_softmax_backward(tn__backward *b)
{
    const tn__softmax_backward_params *a = b->node->params;
    tn_tensor *g = tn__saved_tensor(b, 0), *y = g ? tn__saved_tensor(b, 1) : NULL, *gg = b->g[0];
    int64_t dim = a->dim;
    if (!y)
        return tn_error_code();
    tn_tensor *p = tn_exp(y);
    tn_status e = TN_OK;
    if (b->need[0])
        e = tn__give(b, 0, tn_sub(gg, tn_sum(tn_mul(gg, p), .dim = dim, .keepdim = true)));
    if (!e && b->need[1])
        e = tn__give(b, 1, tn_neg(tn_mul(tn_mul(gg, p), tn_sum(g, .dim = dim, .keepdim = true))));
    return e;
}
