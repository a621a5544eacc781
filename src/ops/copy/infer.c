/* Shape rules of the family copy. */
#include "op/infer.h"

tn_status tn__infer_clone(tn__call *c)
{
    tn__spec_like(&c->spec[0], tn__in(c, 0));
    tn__layout_like(&c->spec[0], tn__in(c, 0));
    return tn__infer_one(c);
}

static tn_status infer_in(tn__call *c, tn_memory_format format)
{
    tn__spec_like(&c->spec[0], tn__in(c, 0));
    const tn_status e = tn__layout_asked(&c->spec[0], tn__in(c, 0), format);
    c->all_said = e != TN_OK;
    return e ? e : tn__infer_one(c);
}

tn_status tn__infer_clone_in(tn__call *c)
{
    return infer_in(c, ((const tn__clone_in_params *)c->params)->memory_format);
}

tn_status tn__infer_to_copy(tn__call *c)
{
    const tn__to_copy_params *p = c->params;
    tn_status e = infer_in(c, p->memory_format);
    if (p->dtype)
        c->spec[0].dtype = p->dtype;
    return e;
}

tn_status tn__infer_copy_(tn__call *c)
{
    const tn_tensor *x = tn__in(c, 0), *src = tn__in(c, 1);
    int32_t lead = x->ndim - src->ndim;
    bool fits = lead >= 0;
    for (int32_t d = 0; fits && d < src->ndim; d++)
        fits = src->shape[d] == 1 || src->shape[d] == x->shape[d + lead];
    if (!fits) {
        for (int32_t d = x->ndim - 1, k = src->ndim - 1; d >= 0 && k >= 0; d--, k--)
            if (src->shape[k] != 1 && src->shape[k] != x->shape[d])
                return tn__error(TN_EINVAL,
                                 "The size of tensor a (%lld) must match the size of tensor b (%lld) at "
                                 "non-singleton dimension %d",
                                 (long long)x->shape[d], (long long)src->shape[k], (int)d);
        return tn__error(TN_EINVAL, "output with shape %s doesn't match the broadcast shape %s",
                         tn__shape_str(x->shape, x->ndim).s, tn__shape_str(src->shape, src->ndim).s);
    }
    return tn__infer_inplace(c);
}
