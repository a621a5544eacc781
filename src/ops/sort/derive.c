/* Derivatives of the family sort, from public operations. */
#include "autograd/functions.h"

/* PyTorch has none either, and says so in these words. */
tn_status tn__d_distinct(tn__backward *b)
{
    static const char *const names[] = {"_unique2", "unique_dim", "unique_consecutive"};
    const tn__distinct_params *p = b->node->params;
    return tn__error(TN_EMISSING, "the derivative for '%s' is not implemented.", names[p->of]);
}

/* What was taken from each row of the last dimension gets the gradient of where it went; index: where it was. */
static tn_status scattered(tn__backward *b, tn_tensor *index, tn_tensor *g)
{
    if (!index)
        return tn_error_code();
    if (b->node->in[0].ndim == 0)
        return tn__give(b, 0, g);
    tn_tensor *zeros = tn_zeros(tn__input_shape(b, 0), .dtype = g->dtype, .device = g->device);
    return tn__give(b, 0, tn_scatter_(zeros, -1, index, tn_scalar_t(g)));
}

tn_status tn__d_sort(tn__backward *b)
{
    return scattered(b, tn__saved_tensor(b, 2), b->g[0]);
}

/* One of each row. */
tn_status tn__d_select_kth(tn__backward *b)
{
    tn_tensor *index = tn__saved_tensor(b, 2);
    if (b->node->in[0].ndim == 0)
        return tn__give(b, 0, b->g[0]);
    return scattered(b, index ? tn_unsqueeze(index, -1) : NULL, tn_unsqueeze(b->g[0], -1));
}

/* All that are the median share the gradient evenly. */
tn_status tn__d_median_of_all(tn__backward *b)
{
    tn_tensor *x = tn__saved_tensor(b, 0), *out = x ? tn__saved_tensor(b, 1) : NULL;
    if (!out)
        return tn_error_code();
    tn_tensor *equal = tn_logical_or(tn_eq(x, out), tn_logical_and(tn_isnan(x), tn_isnan(out)));
    return tn__give(b, 0, tn_div(tn_mul(b->g[0], equal), tn_sum(equal)));
}
