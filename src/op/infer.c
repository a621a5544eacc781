/* What shape rules share. */
#include "op/infer.h"

tn_status tn__infer_dim(int64_t *dim, int32_t ndim)
{
    int32_t d;
    tn_status e = tn__wrap_dim(*dim, ndim, &d);
    *dim = d;
    return e;
}

tn_status tn__infer_dims(tn__dims *dims, int32_t ndim, uint32_t *mask)
{
    *mask = 0;
    for (int32_t i = 0; i < dims->n; i++) {
        int32_t d;
        tn_status e = tn__wrap_dim(dims->d[i], ndim, &d);
        if (e)
            return e;
        if (*mask & 1U << d)
            return tn__error(TN_EINVAL, "dim %d appears multiple times in the list of dims", (int)d);
        *mask |= 1U << d;
        dims->d[i] = d;
    }
    dims->given = dims->n > 0;
    if (ndim == 0) /* 0 and -1 name a dimension that is not there: shapes and strides have no entry for it */
        dims->n = 0;
    if (dims->given)
        return TN_OK;
    *mask = (1U << ndim) - 1;
    dims->n = ndim;
    for (int32_t d = 0; d < ndim; d++)
        dims->d[d] = d;
    return TN_OK;
}

tn_status tn__infer_same1(tn__call *c)
{
    tn__spec_like(&c->spec[0], tn__in(c, 0));
    return tn__infer_one(c);
}

tn_status tn__infer_same2(tn__call *c)
{
    const tn_tensor *a = tn__in(c, 0), *b = tn__in(c, 1);
    if (!tn__same_shape(a->shape, a->ndim, b->shape, b->ndim))
        return tn__error(TN_EINVAL, "%s: shapes differ: %s and %s", tn__op_name(c->op),
                         tn__shape_str(a->shape, a->ndim).s, tn__shape_str(b->shape, b->ndim).s);
    return tn__infer_same1(c);
}
tn_status tn__infer_inplace(tn__call *c)
{
    tn__spec_like(&c->spec[0], tn__in(c, 0));
    return tn__infer_one(c);
}

tn_dtype tn__sum_dtype(const tn_tensor *x, tn_dtype asked)
{
    return asked ? asked : tn__dtype_is_float(x->dtype) ? x->dtype : TN_I64;
}
