/* Calls of operations that programs register: inputs and parameters checked against the description, then the door. */
#include "dispatch/apply.h"
#include "op/own.h"

/* A parameter as its letter says. */
static tn_status take_param(const tn_op *op, size_t i, tn_scalar given, tn_scalar *out)
{
    const char letter = op->params[i];
    const bool whole = given.kind == TN_SCALAR_INT || given.kind == TN_SCALAR_BOOL ||
                       (given.kind == TN_SCALAR_UINT && given.v.u <= INT64_MAX);
    if (letter == 'f' && given.kind == TN_SCALAR_FLOAT)
        *out = given;
    else if (letter == 'f' && whole)
        *out = tn_scalar_f((double)given.v.i);
    else if (letter == 'i' && whole)
        *out = tn_scalar_i(given.v.i);
    else if (letter == 'b' && whole)
        *out = tn_scalar_b(given.v.i != 0);
    else
        return tn__error(TN_ETYPE, "%s: parameter %zu is to be %s", op->name, i + 1,
                         letter == 'f'   ? "a number"
                         : letter == 'i' ? "an integer"
                                         : "a bool");
    return TN_OK;
}

static tn_status take_params(const tn_op *op, const tn_op_options *o, tn__own_params *p)
{
    const size_t n = strlen(op->params);
    if (n && o->params.n == n && !o->params.p)
        return tn__error(TN_EINVAL, "%s: the list of its %zu parameters (%s) is NULL", op->name, n, op->params);
    if (o->params.n != n)
        return tn__error(TN_EINVAL, "%s takes %zu parameters (%s), got %zu", op->name, n, n ? op->params : "none",
                         o->params.n);
    for (size_t i = 0; i < n; i++) {
        tn_status e = take_param(op, i, o->params.p[i], &p->p[i]);
        if (e)
            return e;
    }
    return TN_OK;
}

tn_tensor *tn_op_call_opt(const tn_op *op, tn_tensors inputs, const tn_op_options *options)
{
    tn_op_options o;
    tn__own_params p;
    tn_scalar in[TN_OP_INPUTS];
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    if (o.second)
        *o.second = NULL;
    if (!op) {
        tn__poisoned("tn_op_call");
        return NULL;
    }
    if (inputs.n == (size_t)op->def.inputs && !inputs.t)
        return tn__fail(TN_EINVAL, "%s: the list of its %d tensors is NULL", op->name, (int)op->def.inputs);
    if (inputs.n != (size_t)op->def.inputs)
        return tn__fail(TN_EINVAL, "%s takes %d tensors, got %zu", op->name, (int)op->def.inputs, inputs.n);
    if (take_params(op, &o, &p))
        return NULL;
    for (size_t i = 0; i < inputs.n; i++)
        in[i] = tn_scalar_t(inputs.t[i]);
    tn_tensor **const more[] = {o.second};
    const uint32_t all = (UINT32_C(1) << inputs.n) - 1;
    return tn__apply(o.site, op->id, in, (int32_t)inputs.n, all & ~op->def.optional, &p, more);
}
