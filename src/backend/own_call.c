/* What callbacks of a program's own operations are given. Copies pass the device's own copy kernel, on its current stream. */
#include "backend/own_call.h"
#include "core/error.h"
#include "op/infer.h"

/* The dtype that the callback gets for one of dtype d. 0: it cannot. */
static tn_dtype known_dtype(uint32_t known, tn_dtype d)
{
    if (!known || known >> d & 1)
        return d;
    return tn__dtype_is_float(d) && known >> TN_F32 & 1 ? TN_F32 : 0;
}

static tn_op_view view_of(const tn__view *v)
{
    tn_op_view o = {.data = v->data, .dtype = v->dtype, .ndim = v->ndim, .numel = v->numel};
    if (v->ndim)
        memcpy(o.shape, v->shape, sizeof *v->shape * (size_t)v->ndim);
    return o;
}

static tn_status copy(const tn__launch *l, const tn__view *to, const tn__view *from)
{
    tn__iter it;
    if (to->numel == 0)
        return TN_OK;
    tn__iter_copy(&it, to, from);
    return tn__backend_of(l->device)->copy(l->device, &it);
}

/* A dense tensor as the spec says, noted as copy k; its view, or one of nothing with the error set. */
static tn__view make_copy(tn__own_call *c, const tn__launch *l, int32_t k, const tn__spec *s)
{
    c->copy[k] = tn__tensor_make(s, l->device);
    return tn__view_of(c->copy[k]);
}

static tn_status take_input(tn__own_call *c, const tn__launch *l, int32_t i, const tn__spec *common, uint32_t known)
{
    const tn__view *v = &l->in[i];
    tn__spec s = {.dtype = common ? common->dtype : v->dtype};
    if (!v->dtype) {
        c->in[i] = (tn_op_view){0};
        return TN_OK;
    }
    if (!(s.dtype = known_dtype(known, s.dtype)))
        return tn__no_dtype(c->op->name, v->dtype);
    if (common)
        tn__spec_set(&s, s.dtype, common->shape, common->ndim);
    else
        tn__spec_set(&s, s.dtype, v->shape, v->ndim);
    if (v->contiguous && s.dtype == v->dtype && tn__same_shape(s.shape, s.ndim, v->shape, v->ndim)) {
        c->in[i] = view_of(v);
        return TN_OK;
    }
    const tn__view to = make_copy(c, l, i, &s);
    c->in[i] = view_of(&to);
    return to.dtype ? copy(l, &to, v) : tn_error_code();
}

static tn_status take_result(tn__own_call *c, const tn__launch *l, int32_t i, uint32_t known)
{
    const tn__view *v = &l->out[i];
    tn__spec s;
    tn__spec_set(&s, known_dtype(known, v->dtype), v->shape, v->ndim);
    c->empty &= v->numel == 0;
    c->out[i] = view_of(v);
    if (s.dtype == v->dtype)
        return TN_OK;
    if (!s.dtype)
        return tn__no_dtype(c->op->name, v->dtype);
    const tn__view to = make_copy(c, l, TN_OP_INPUTS + i, &s);
    c->out[i] = view_of(&to);
    return to.dtype ? TN_OK : tn_error_code();
}

tn_status tn__own_begin(tn__own_call *c, const tn__launch *l, uint32_t known)
{
    const tn_op *op = tn__own_of(l->op);
    const tn__own_params *p = l->params;
    tn__spec common;
    const bool broadcast = op->def.rule == TN_OP_BROADCAST;
    *c = (tn__own_call){.op = op, .empty = true};
    tn_status e = broadcast ? tn__own_broadcast(l->operand, l->n_in, &common) : TN_OK;
    for (int32_t i = 0; i < l->n_in && !e; i++)
        e = take_input(c, l, i, broadcast ? &common : NULL, known);
    for (int32_t i = 0; i < l->n_out && !e; i++)
        e = take_result(c, l, i, known);
    const tn_op_view *o = &c->out[0];
    c->width = o->ndim ? o->shape[o->ndim - 1] : 1;
    c->args = (tn_op_args){.struct_size = sizeof c->args,
                           .name = op->name,
                           .user = op->def.user,
                           .device = l->device,
                           .n_in = l->n_in,
                           .n_out = l->n_out,
                           .n_params = (int32_t)strlen(op->params),
                           .in = c->in,
                           .out = c->out,
                           .param = p ? p->p : NULL,
                           .items = op->def.items == TN_OP_WHOLE  ? 1
                                    : op->def.items == TN_OP_ROWS ? o->numel / TN_MAX(c->width, 1)
                                                                  : o->numel};
    return e;
}

tn_status tn__own_end(tn__own_call *c, const tn__launch *l, tn_status e)
{
    for (int32_t i = 0; i < l->n_out && !e; i++) {
        const tn__view from = tn__view_of(c->copy[TN_OP_INPUTS + i]);
        if (from.dtype)
            e = copy(l, &l->out[i], &from);
    }
    for (size_t i = 0; i < TN_COUNT(c->copy); i++)
        tn__object_release(c->copy[i]);
    return e;
}
