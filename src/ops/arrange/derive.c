/* Derivatives of the family arrange, from public operations. */
#include "autograd/functions.h"

/* ---- copies ---- */

tn_status tn__d_tril(tn__backward *b)
{
    const tn__triangle_params *p = b->node->params;
    int64_t n = p->diagonal;
    return tn__give(b, 0, b->node->op == TN__OP_tril ? tn_tril(b->g[0], n) : tn_triu(b->g[0], n));
}

tn_status tn__d_flip(tn__backward *b)
{
    const tn__flip_params *p = b->node->params;
    return tn__give(b, 0, tn_flip(b->g[0], tn_dims_of(p->dims.d, p->dims.n)));
}

/* ---- joining and indexing ---- */

tn_status tn__d_cat(tn__backward *b)
{
    const tn__node *n = b->node;
    const tn__join_params *p = n->params;
    int64_t at = 0, dim = p->dim;
    for (int32_t i = 0; i < n->n_in; i++) {
        bool blank = n->in[i].ndim == 1 && n->in[i].shape[0] == 0;
        int64_t len = blank ? 0 : n->in[i].shape[dim];
        tn_status e = TN_OK;
        if (b->need[i])
            e = tn__give(b, i,
                         blank ? tn_zeros(TN_SHAPE(0), .dtype = n->in[i].dtype, .device = b->g[0]->device)
                               : tn_slice(b->g[0], dim, at, at + len, 1));
        if (e)
            return e;
        at += len;
    }
    return TN_OK;
}

tn_status tn__d_stack(tn__backward *b)
{
    const tn__join_params *p = b->node->params;
    for (int32_t i = 0; i < b->node->n_in; i++)
        if (b->need[i] && tn__give(b, i, tn_select(b->g[0], p->dim, i)))
            return tn_error_code();
    return TN_OK;
}

/* As far the other way. */
tn_status tn__d_roll(tn__backward *b)
{
    const tn__roll_params *p = b->node->params;
    int64_t back[TN_MAX_DIMS];
    for (int32_t i = 0; i < p->shifts.n; i++)
        back[i] = -p->shifts.d[i];
    return tn__give(b, 0, tn_roll(b->g[0], tn_dims_of(back, p->shifts.n), .dims = tn_dims_of(p->dim.d, p->dim.n)));
}
