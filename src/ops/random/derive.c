/* Derivatives of the family random, from public operations. */
#include "autograd/functions.h"

tn_status tn__d_dropout(tn__backward *b)
{
    const tn__dropout_params *a = b->node->params;
    return tn__give(b, 0, tn__dropout(b->g[0], a->p, a->seed, a->offset));
}

tn_status tn__d_standard_gamma(tn__backward *b)
{
    tn_tensor *x = tn__saved_tensor(b, 0), *out = x ? tn__saved_tensor(b, 1) : NULL;
    return out ? tn__give(b, 0, tn_mul(b->g[0], tn_standard_gamma_grad(x, out))) : tn_error_code();
}

/* Each part moves with its own concentration, and the others make room. */
tn_status tn__d_sample_dirichlet(tn__backward *b)
{
    tn_tensor *x = tn__saved_tensor(b, 0), *out = x ? tn__saved_tensor(b, 1) : NULL;
    if (!out)
        return tn_error_code();
    const int64_t last = x->ndim - 1;
    tn_tensor *slope = tn_dirichlet_grad(out, x, tn_sum(x, .dim = last, .keepdim = true));
    tn_tensor *common = tn_sum(tn_mul(out, b->g[0]), .dim = last, .keepdim = true);
    return tn__give(b, 0, tn_mul(slope, tn_sub(b->g[0], common)));
}
