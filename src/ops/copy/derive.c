/* Derivatives of the family copy, from public operations. */
#include "autograd/functions.h"

/* ---- copies ---- */

tn_status tn__d_to_copy(tn__backward *b)
{
    return tn__give(b, 0, tn_to(b->g[0], .dtype = b->node->in[0].dtype, .device = b->node->in[0].device));
}

tn_status tn__d_copy_(tn__backward *b)
{
    tn_status e = b->need[0] ? tn__give(b, 0, tn_zeros_like(b->g[0])) : TN_OK;
    return !e && b->need[1] ? tn__give(b, 1, b->g[0]) : e;
}
