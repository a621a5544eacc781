/* Derivatives of the family random, from public operations. */
#include "autograd/functions.h"

/* ---- losses ---- */

tn_status tn__d_dropout(tn__backward *b)
{
    const tn__dropout_params *a = b->node->params;
    return tn__give(b, 0, tn__dropout(b->g[0], a->p, a->seed, a->offset));
}
