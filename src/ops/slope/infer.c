/* Shape rules of the family slope. */
#include "op/infer.h"

static tn_status check_row(const tn__call *c, int64_t of)
{
    return of >= 0 && of < TN__BOTHS ? TN_OK : tn__error(TN_EINVAL, "%s: no row has the number", tn__op_name(c->op));
}

tn_status tn__infer_both_gradients(tn__call *c)
{
    const tn__both_gradients_params *p = c->params;
    const tn_tensor *g = tn__in(c, 0);
    bool fits = tn__dtype_is_float(g->dtype) && tn__is_dense(g->shape, g->stride, g->ndim);
    for (int32_t i = 1; i < c->n_in && fits; i++) {
        const tn_tensor *t = tn__in_or_null(c, i);
        fits = !t || (t->dtype == g->dtype && tn__same_shape(t->shape, t->ndim, g->shape, g->ndim) &&
                      tn__same_shape(t->stride, t->ndim, g->stride, g->ndim));
    }
    if (!fits)
        return tn__error(TN_EINVAL, "%s: tensors must be dense, of one floating dtype and one layout",
                         tn__op_name(c->op));
    tn__spec_like(&c->spec[0], g);
    tn__layout_like(&c->spec[0], g);
    c->spec[1] = c->spec[0];
    tn_status e = check_row(c, p->of);
    e = e ? e : tn__infer_one(c);
    c->n_out = 2;
    return e;
}

tn_status tn__infer_half_gradients(tn__call *c)
{
    tn__half_gradients_params *p = c->params;
    const tn_tensor *g = tn__in(c, 0), *x = tn__in(c, 1);
    tn_status e = check_row(c, p->of);
    e = e ? e : tn__infer_dim(&p->dim, x->ndim);
    if (e)
        return e;
    if (!x->ndim || g->dtype != x->dtype || !tn__dtype_is_float(g->dtype) || !tn__contiguous(g) || !tn__contiguous(x) ||
        2 * g->numel != x->numel || 2 * g->shape[p->dim] != x->shape[p->dim])
        return tn__error(TN_EINVAL, "%s: tensors must be dense, of one floating dtype, one half of the other",
                         tn__op_name(c->op));
    tn__spec_like(&c->spec[0], x);
    return tn__infer_one(c);
}
