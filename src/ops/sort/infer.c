/* Shape rules of the family sort. */
#include "op/infer.h"
#include "ops/sort/infer_search.h"

tn_status tn__infer_order(tn__call *c)
{
    tn__spec_like(&c->spec[0], tn__in(c, 0));
    c->spec[0].dtype = TN_I64;
    return tn__infer_one(c);
}

tn_status tn__infer_in_order(tn__call *c)
{
    tn__spec_like(&c->spec[0], tn__in(c, 0));
    return tn__infer_one(c);
}

/* Values, and where they were. */
static tn_status both(tn__call *c, int32_t ndim)
{
    const tn_tensor *x = tn__in(c, 0);
    tn__spec_set(&c->spec[0], x->dtype, x->shape, ndim);
    tn__spec_set(&c->spec[1], TN_I64, x->shape, ndim);
    const tn_status e = tn__infer_one(c);
    c->n_out = 2;
    return e;
}

tn_status tn__infer_sort(tn__call *c)
{
    return both(c, tn__in(c, 0)->ndim);
}

tn_status tn__infer_topk(tn__call *c)
{
    const tn__topk_params *p = c->params;
    const int32_t ndim = tn__in(c, 0)->ndim;
    const tn_status e = both(c, ndim);
    for (int k = 0; k < 2 && ndim; k++)
        c->spec[k].shape[ndim - 1] = p->k;
    return e;
}

tn_status tn__infer_select_kth(tn__call *c)
{
    const tn__select_params *p = c->params;
    const int32_t ndim = tn__in(c, 0)->ndim;
    c->variant = (uint8_t)p->which;
    return both(c, ndim ? ndim - 1 : 0);
}

tn_status tn__infer_search(tn__call *c)
{
    const tn__search_params *p = c->params;
    tn__spec_like(&c->spec[0], tn__in(c, 1));
    c->spec[0].dtype = p->how >= TN__SEARCH_FOUND ? TN_BOOL : p->out_int32 ? TN_I32 : TN_I64;
    return tn__infer_one(c);
}

tn_status tn__infer_row_order(tn__call *c)
{
    tn__spec_set(&c->spec[0], TN_I64, tn__in(c, 0)->shape, 1);
    return tn__infer_one(c);
}

tn_status tn__infer_runs(tn__call *c)
{
    const tn__runs_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0);
    const int64_t none = 0, *shape = x->shape;
    tn__spec_set(&c->spec[0], x->dtype, shape, 1);
    tn__spec_set(&c->spec[1], TN_I64, p->starts || p->numbers ? shape : &none, 1);
    tn__spec_set(&c->spec[2], TN_I64, p->numbers ? shape : &none, 1);
    tn__spec_set(&c->spec[3], TN_I64, &none, 0);
    const tn_status e = tn__infer_one(c);
    c->n_out = 4;
    return e;
}

tn_status tn__infer_most(tn__call *c)
{
    const tn_tensor *x = tn__in(c, 0);
    tn__spec_set(&c->spec[0], TN_I64, x->shape, x->ndim);
    c->spec[0].shape[x->ndim - 1] = 1;
    return tn__infer_one(c);
}

tn_status tn__infer_distinct(tn__call *c)
{
    const tn__distinct_params *p = c->params;
    c->variant = (uint8_t)p->of;
    tn__spec_like(&c->spec[0], tn__in(c, 0));
    tn__layout_like(&c->spec[0], tn__in(c, 0));
    return tn__infer_one(c);
}

tn_status tn__infer_bins(tn__call *c)
{
    tn__spec_like(&c->spec[0], tn__in(c, 0));
    c->spec[0].dtype = TN_I64;
    return tn__infer_one(c);
}

tn_status tn__infer_counted(tn__call *c)
{
    const tn__counted_params *p = c->params;
    const tn_tensor *weights = tn__in_or_null(c, 1);
    tn__spec_set(&c->spec[0], weights ? weights->dtype : TN_I64, &p->n, 1);
    return tn__infer_one(c);
}
