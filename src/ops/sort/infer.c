/* Shape rules of the family sort. */
#include "op/infer.h"

tn_status tn__infer_sort(tn__call *c)
{
    tn__spec_like(&c->spec[0], tn__in(c, 0));
    c->spec[0].dtype = TN_I64;
    return tn__infer_one(c);
}
