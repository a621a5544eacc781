/* Shape rules of the family norm. */
#include "op/infer.h"
#include <tenon/dtype.h>

/* Parameters, inputs from 'first' to 'last', are read one after another, one for each element of a row, in the dtype that is
 * computed in. */
static tn_status rows_and_parameters(tn__call *c, int32_t first, int32_t last)
{
    tn__standardize_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0);
    const tn_dtype wide = tn__dtypes[x->dtype].compute;
    uint32_t mask;
    tn_status e = tn__infer_dims(&p->dim, x->ndim, &mask);
    for (int32_t i = first; i <= last && !e; i++) {
        const tn_tensor *of = tn__in_or_null(c, i);
        const bool fits =
            !of || (of->ndim == p->dim.n && of->ndim <= x->ndim && of->dtype == wide && tn__contiguous(of) &&
                    tn__same_shape(of->shape, of->ndim, x->shape + x->ndim - of->ndim, of->ndim));
        if (!fits)
            e = tn__error(TN_EINVAL, "%s: a parameter must be dense, of %s and of the last dimensions' shape",
                          tn__op_name(c->op), tn_dtype_name(wide));
    }
    return e;
}

tn_status tn__infer_standardize(tn__call *c)
{
    tn_status e = rows_and_parameters(c, 1, 2);
    return e ? e : tn__infer_same1(c);
}

/* Of a gradient and the input that it is of. */
tn_status tn__infer_standardize_backward(tn__call *c)
{
    tn_status e = rows_and_parameters(c, 2, 2);
    return e ? e : tn__infer_same2(c);
}

/* The gradients of parameters are of the dtype that is computed in. */
tn_status tn__infer_standardize_gradients(tn__call *c)
{
    tn_status e = rows_and_parameters(c, 2, 2);
    e = e ? e : tn__infer_same2(c);
    if (e)
        return e;
    tn__spec *s = &c->spec[1];
    tn__spec_like(s, tn__in(c, 2));
    s->ndim = 2, s->shape[0] = 2, s->shape[1] = tn__in(c, 2)->numel, s->strided = false;
    c->n_out = 2;
    return TN_OK;
}
