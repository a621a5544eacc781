/* Shape rules of copies, fills, random numbers and optimiser steps. */
#include "core/rng.h"
#include "op/infer.h"

tn_status tn__infer_clone(tn__call *c)
{
    tn__spec_like(&c->spec[0], tn__in(c, 0));
    tn__layout_like(&c->spec[0], tn__in(c, 0));
    return tn__infer_one(c);
}

tn_status tn__infer_to_copy(tn__call *c)
{
    const tn__copy_params *p = c->params;
    tn_status e = tn__infer_clone(c);
    if (p->dtype)
        c->spec[0].dtype = p->dtype;
    return e;
}

tn_status tn__infer_copy_(tn__call *c)
{
    const tn_tensor *x = tn__in(c, 0), *src = tn__in(c, 1);
    int32_t lead = x->ndim - src->ndim;
    bool fits = lead >= 0;
    for (int32_t d = 0; fits && d < src->ndim; d++)
        fits = src->shape[d] == 1 || src->shape[d] == x->shape[d + lead];
    if (!fits) {
        for (int32_t d = x->ndim - 1, k = src->ndim - 1; d >= 0 && k >= 0; d--, k--)
            if (src->shape[k] != 1 && src->shape[k] != x->shape[d])
                return tn__error(TN_EINVAL,
                                 "The size of tensor a (%lld) must match the size of tensor b (%lld) at "
                                 "non-singleton dimension %d",
                                 (long long)x->shape[d], (long long)src->shape[k], (int)d);
        return tn__error(TN_EINVAL, "output with shape %s doesn't match the broadcast shape %s",
                         tn__shape_str(x->shape, x->ndim).s, tn__shape_str(src->shape, src->ndim).s);
    }
    return tn__infer_inplace(c);
}

tn_status tn__infer_fill(tn__call *c)
{
    const tn_tensor *value = tn__operand(&c->in[1]);
    if (value && value->ndim > 0)
        return tn__error(TN_EINVAL, "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions.",
                         (int)value->ndim);
    c->variant = value != NULL;
    tn_status e = tn__number_check(&c->in[1], tn__in(c, 0)->dtype);
    return e ? e : tn__infer_clone(c);
}

tn_status tn__infer_tril(tn__call *c)
{
    tn__triangle_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0);
    if (x->ndim < 2)
        return tn__error(TN_EINVAL, "%s: input tensor must have at least 2 dimensions", tn__op_name(c->op));
    int64_t rows = x->shape[x->ndim - 2], cols = x->shape[x->ndim - 1];
    p->diagonal = TN_MAX(TN_MIN(p->diagonal, cols), -rows); /* further diagonals are outside all the same */
    return tn__infer_same1(c);
}

tn_status tn__infer_flip(tn__call *c)
{
    tn__flip_params *p = c->params;
    uint32_t mask;
    tn_status e = tn__infer_dims(&p->dims, tn__in(c, 0)->ndim, &mask);
    if (!p->dims.given)
        p->dims.n = 0; /* no dimension named: nothing is flipped */
    return e ? e : tn__infer_clone(c);
}

tn_status tn__infer_random(tn__call *c)
{
    tn__random_params *p = c->params;
    const tn_tensor *x = tn__in(c, 0);
    bool whole = c->op == TN__OP__randint || c->op == TN__OP__randperm;
    const bool uniform = c->op == TN__OP_uniform_;
    if (!whole && !tn__dtype_is_float(x->dtype) && (uniform || x->numel)) /* of no elements PyTorch asks no kernel */
        return tn__no_dtype(uniform ? "check_uniform_bounds" : tn__op_name(c->op), x->dtype);
    if (uniform && !(p->from <= p->to))
        return tn__error(TN_EINVAL, "uniform_ expects to return a [from, to) range, but found from=%g > to=%g",
                         p->from, p->to);
    if (c->op == TN__OP_normal_ && !(p->std >= 0))
        return tn__error(TN_EINVAL, "normal expects std >= 0.0, but found std %g", p->std);
    if (c->op == TN__OP__randint && p->low >= p->high)
        return tn__error(TN_EINVAL, "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                         (long long)p->low, (long long)p->high);
    if (c->op == TN__OP__randperm && x->dtype == TN_BOOL)
        return tn__no_dtype("randperm", TN_BOOL);
    int64_t per_block = whole || x->dtype == TN_F64 ? 2 : 4; /* numbers that one Philox block gives */
    tn_rng_state r = tn__rng_take(x->device, (uint64_t)tn__div_up(x->numel, per_block));
    p->seed = (int64_t)r.seed;
    p->offset = (int64_t)r.offset;
    return tn__infer_inplace(c);
}

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
        return tn__error(TN_EVALUE, "adam_step_: steps are counted from 1, got %lld", (long long)((const tn__adam_params *)c->params)->step);
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
