/* Shape rules of the family sort. */
#include "op/infer.h"

tn_status tn__infer_sort(tn__call *c)
{
    tn__spec_like(&c->spec[0], tn__in(c, 0));
    c->spec[0].dtype = TN_I64;
    return tn__infer_one(c);
}

tn_status tn__infer_row_order(tn__call *c)
{
    tn__spec_set(&c->spec[0], TN_I64, tn__in(c, 0)->shape, 1);
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
