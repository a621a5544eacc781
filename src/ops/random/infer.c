/* Shape rules of the family random. */
#include "core/rng.h"
#include "op/infer.h"

tn_status tn__infer_random(tn__call *c)
{
    tn__random_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0);
    bool whole = c->op == TN__OP__randint || c->op == TN__OP__randperm;
    const bool uniform = c->op == TN__OP_uniform_;
    if (!whole && !tn__dtype_is_float(x->dtype) && (uniform || x->numel)) /* of no elements PyTorch asks no kernel */
        return tn__no_dtype(uniform ? "check_uniform_bounds" : tn__op_name(c->op), x->dtype);
    if (uniform && !(p->from <= p->to))
        return tn__error(TN_EINVAL, "uniform_ expects to return a [from, to) range, but found from=%g > to=%g", p->from,
                         p->to);
    if (c->op == TN__OP_normal_ && !(p->std >= 0))
        return tn__error(TN_EINVAL, "normal expects std >= 0.0, but found std %g", p->std);
    if (c->op == TN__OP__randint && p->low >= p->high)
        return tn__error(TN_EINVAL, "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                         (long long)p->low, (long long)p->high);
    if (c->op == TN__OP__randperm && (x->dtype == TN_BOOL || tn__dtype_is_bare(x->dtype)))
        return tn__no_dtype("randperm", x->dtype);
    int64_t per_block = whole || x->dtype == TN_F64 ? 2 : 4; /* numbers that one Philox block gives */
    tn_rng_state r = tn__rng_take(x->device, (uint64_t)tn__div_up(x->numel, per_block));
    p->seed = (int64_t)r.seed;
    p->offset = (int64_t)r.offset;
    return tn__infer_inplace(c);
}
