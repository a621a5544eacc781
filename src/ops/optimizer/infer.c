/* Shape rules of the family optimizer. */
#include "op/infer.h"

/* State is written too. */
static tn_status check_state(const tn__call *c, const tn_tensor *t)
{
    if (!tn__dtype_is_float(t->dtype))
        return tn__no_dtype(tn__op_name(c->op), t->dtype);
    if (t->storage && t->storage->read_only)
        return tn__error(TN_EINVAL, "%s: state %s shows read-only memory (a mapped file): clone it first",
                         tn__op_name(c->op), tn__tensor_str(t).s);
    if (tn__overlaps_itself(t->shape, t->stride, t->ndim))
        return tn__error(TN_EINVAL,
                         "%s: more than one element of the state %s refers to a single memory location: clone it first",
                         tn__op_name(c->op), tn__tensor_str(t).s);
    return TN_OK;
}

static tn_status check_step(const tn__call *c, const tn_tensor *p)
{
    if (p->node && !tn__self()->no_grad)
        return tn__error(TN_EGRAD,
                         "%s: a parameter that was computed has no step that could be recorded: detach() it, "
                         "or switch recording off",
                         tn__op_name(c->op));
    if (c->op == TN__OP_adam_step_ && ((const tn__adam_params *)c->params)->step < 1)
        return tn__error(TN_EVALUE, "adam_step_: steps are counted from 1, got %lld",
                         (long long)((const tn__adam_params *)c->params)->step);
    return TN_OK;
}

tn_status tn__infer_step(tn__call *c)
{
    const tn_tensor *p = tn__in(c, 0);
    tn_status e = check_step(c, p);
    for (int32_t i = 1; i < c->n_in; i++) {
        const tn_tensor *t = tn__operand(&c->in[i]);
        if (t && !tn__same_shape(t->shape, t->ndim, p->shape, p->ndim))
            return tn__error(TN_EINVAL, "%s: parameter %s and its gradient or state %s differ in shape",
                             tn__op_name(c->op), tn__tensor_str(p).s, tn__tensor_str(t).s);
    }
    if (!tn__dtype_is_float(p->dtype))
        return tn__no_dtype(tn__op_name(c->op), p->dtype);
    for (int32_t i = 2; i < c->n_in && !e; i++)
        if (tn__operand(&c->in[i]))
            e = check_state(c, tn__operand(&c->in[i]));
    for (int32_t i = 2; i < c->n_in && !e; i++) {
        const tn_tensor *t = tn__operand(&c->in[i]);
        if (t)
            tn__tensor_written(t);
    }
    return e ? e : tn__infer_inplace(c);
}
