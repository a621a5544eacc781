/* Derivatives of the family sort, from public operations. */
#include "autograd/functions.h"

/* PyTorch has none either, and says so in these words. */
tn_status tn__d_distinct(tn__backward *b)
{
    static const char *const names[] = {"_unique2", "unique_dim", "unique_consecutive"};
    const tn__distinct_params *p = b->node->params;
    return tn__error(TN_EMISSING, "the derivative for '%s' is not implemented.", names[p->of]);
}
