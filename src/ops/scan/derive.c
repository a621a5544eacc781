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

/* The elements that were the largest get the gradients of all places where they were. */
tn_status tn__d_cummax(tn__backward *b)
{
    const tn__extreme_params *p = b->node->params;
    tn_tensor *index = tn__saved_tensor(b, 2), *g = b->g[0];
    if (!index || g->ndim == 0)
        return index ? tn__give(b, 0, g) : tn_error_code();
    tn_tensor *zeros = tn_zeros(tn__input_shape(b, 0), .dtype = g->dtype, .device = g->device);
    return tn__give(b, 0, tn_scatter_add(zeros, p->dim, index, g));
}
