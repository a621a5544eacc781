/* Shape rules of the family norm. */
#include "op/infer.h"

/* Of one input, or of a gradient and the input that it is of. */
tn_status tn__infer_standardize(tn__call *c)
{
    tn__standardize_params *p = c->params;
    uint32_t mask;
    tn_status e = tn__infer_dims(&p->dim, tn__in(c, 0)->ndim, &mask);
    if (e)
        return e;
    return c->n_in > 1 ? tn__infer_same2(c) : tn__infer_same1(c);
}
