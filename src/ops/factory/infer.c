/* Shape rules of the family factory. */
#include "op/infer.h"

tn_status tn__infer_fill(tn__call *c)
{
    const tn_tensor *value = tn__operand(&c->in[1]);
    if (value && value->ndim > 0)
        return tn__error(TN_EINVAL, "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions.",
                         (int)value->ndim);
    c->variant = value != NULL;
    tn_status e = tn__number_check(&c->in[1], tn__in(c, 0)->dtype);
    return e ? e : tn__infer_clone(c);
}
