/* Shape rules of the family softmax. */
#include "op/infer.h"
#include <stdio.h>

tn_status tn__infer_softmax(tn__call *c)
{
    tn__softmax_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0);
    tn_dtype d = p->dtype ? p->dtype : x->dtype;
    tn_status e = tn__infer_dim(&p->dim, x->ndim);
    if (!e && x->numel && !tn__dtype_is_float(d)) { /* of no elements PyTorch asks no kernel */
        char name[48];
        snprintf(name, sizeof name, "%s%s_kernel_impl", tn__op_name(c->op),
                 p->dim == x->ndim - 1 || !x->ndim ? "_lastdim" : "");
        e = tn__no_dtype_on(c->device, name, "host_softmax", d);
    }
    tn__spec_like(&c->spec[0], x);
    c->spec[0].dtype = d;
    return e ? e : tn__infer_one(c);
}
