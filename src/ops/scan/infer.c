/* Shape rules of the family scan. */
#include "op/infer.h"
#include <stdio.h>

tn_status tn__infer_cumsum(tn__call *c)
{
    static const char *const names[2][2] = {{"cumsum_out_*", "cumsum_*"}, {"cumprod_out_*", "cumprod_*"}};
    const char *const *name = names[c->op == TN__OP_cumprod];
    tn__running_params *p = c->params;
    tn_status e = tn__infer_dim(&p->dim, tn__in(c, 0)->ndim);
    tn__spec_like(&c->spec[0], tn__in(c, 0));
    c->spec[0].dtype = tn__sum_dtype(tn__in(c, 0), p->dtype);
    const tn_dtype to = c->spec[0].dtype;
    if (!e && ((to == TN_BOOL && tn__in(c, 0)->ndim && tn__in(c, 0)->numel) || tn__dtype_is_bare(to)))
        return tn__no_dtype_on(c->device, name[0], name[1], to);
    return e ? e : tn__infer_one(c);
}

/* Of a gradient: floating, and the result has its dtype. */
tn_status tn__infer_sum_behind(tn__call *c)
{
    tn__running_params *p = c->params;
    tn_status e = tn__infer_dim(&p->dim, tn__in(c, 0)->ndim);
    tn__spec_like(&c->spec[0], tn__in(c, 0));
    return e ? e : tn__infer_one(c);
}

tn_status tn__infer_logcumsumexp(tn__call *c)
{
    tn__running_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0);
    tn_status e = tn__infer_dim(&p->dim, x->ndim);
    if (!e && !tn__dtype_is_float(x->dtype))
        return tn__no_dtype_on(c->device, "logcumsumexp_out_*", NULL, x->dtype);
    tn__spec_like(&c->spec[0], x);
    return e ? e : tn__infer_one(c);
}

static TN_COLD tn_status no_such_extremes(const tn__call *c, tn_dtype d)
{
    char name[16];
    snprintf(name, sizeof name, "%s_*", tn__op_name(c->op));
    return tn__no_dtype_on(c->device, name, NULL, d);
}

tn_status tn__infer_cummax(tn__call *c)
{
    tn__extreme_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0);
    tn_status e = tn__infer_dim(&p->dim, x->ndim);
    if (!e && tn__dtype_is_bare(x->dtype))
        return no_such_extremes(c, x->dtype);
    tn__spec_like(&c->spec[0], x);
    tn__spec_like(&c->spec[1], x);
    c->spec[1].dtype = TN_I64;
    e = e ? e : tn__infer_one(c);
    c->n_out = 2;
    return e;
}
