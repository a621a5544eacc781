/* Shape rules of the family linalg. */
#include "op/infer.h"

/* Without the last two dimensions, which tn__fn_nuclear_norm knows to be there. */
tn_status tn__infer_nuclear_norm(tn__call *c)
{
    const tn_tensor *x = tn__in(c, 0);
    tn__spec_set(&c->spec[0], x->dtype, x->shape, x->ndim - 2);
    return tn__infer_one(c);
}

/* A new tensor: the operands may lie in strides of 0. */
tn_status tn__infer_cross(tn__call *c)
{
    const tn_tensor *a = tn__in(c, 0);
    tn__spec_set(&c->spec[0], a->dtype, a->shape, a->ndim);
    return tn__infer_one(c);
}
