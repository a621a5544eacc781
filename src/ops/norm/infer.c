/* Shape rules of the family norm. */
#include "op/infer.h"
#include <tenon/dtype.h>

/* Parameters are read one after another in the dtype that is computed in. */
static tn_status parameter(const tn__call *c, int32_t i)
{
    const tn_tensor *x = tn__in(c, 0), *p = tn__in_or_null(c, i);
    if (p && (p->dtype != tn__dtypes[x->dtype].compute || !tn__contiguous(p)))
        return tn__error(TN_EDTYPE, "%s: a parameter must be dense and of %s", tn__op_name(c->op),
                         tn_dtype_name(tn__dtypes[x->dtype].compute));
    return TN_OK;
}

tn_status tn__infer_standardize(tn__call *c)
{
    tn__standardize_params *p = c->params;
    uint32_t mask;
    tn_status e = tn__infer_dims(&p->dim, tn__in(c, 0)->ndim, &mask);
    if (!e)
        e = parameter(c, 1);
    if (!e)
        e = parameter(c, 2);
    return e ? e : tn__infer_same1(c);
}

/* Of a gradient and the input that it is of. */
tn_status tn__infer_standardize_backward(tn__call *c)
{
    tn__standardize_params *p = c->params;
    uint32_t mask;
    tn_status e = tn__infer_dims(&p->dim, tn__in(c, 0)->ndim, &mask);
    if (!e)
        e = parameter(c, 2);
    return e ? e : tn__infer_same2(c);
}
