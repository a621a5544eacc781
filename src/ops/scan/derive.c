/* Derivatives of the family scan, from public operations. */
#include "autograd/functions.h"

tn_status tn__d_cumsum(tn__backward *b)
{
    const tn__cumsum_params *p = b->node->params;
    int64_t dim = p->dim;
    if (b->node->in[0].ndim == 0)
        return tn__give(b, 0, b->g[0]);
    return tn__give(b, 0, tn_flip(tn_cumsum(tn_flip(b->g[0], TN_DIMS(dim)), dim), TN_DIMS(dim)));
}
