/* The shape rule of operations that programs register: the ready one of the description, then its own. */
#include "core/callback.h"
#include "op/infer.h"
#include "op/own.h"

static const char *name_of(const tn__call *c)
{
    return tn__op_name(c->op);
}

static tn_status check_dtype(const tn__call *c, const tn_op_def *d, tn_dtype dtype)
{
    return d->dtypes >> dtype & 1 ? TN_OK : tn__no_dtype(name_of(c), dtype);
}

/* One shape, one dtype. */
static tn_status infer_same(const tn__call *c, tn__spec *s)
{
    const tn_tensor *a = tn__in(c, 0);
    tn__spec_like(s, a);
    for (int32_t i = 1; i < c->n_in; i++) {
        const tn_tensor *b = tn__operand(&c->in[i]);
        if (b && !tn__same_shape(a->shape, a->ndim, b->shape, b->ndim))
            return tn__error(TN_EINVAL, "%s: shapes differ: %s and %s", name_of(c), tn__shape_str(a->shape, a->ndim).s,
                             tn__shape_str(b->shape, b->ndim).s);
        if (b && a->dtype != b->dtype)
            return tn__error(TN_EDTYPE, "%s: dtypes differ: %s and %s", name_of(c), tn__dtypes[a->dtype].name,
                             tn__dtypes[b->dtype].name);
    }
    return TN_OK;
}

tn_status tn__own_broadcast(const tn_scalar *in, int32_t n, tn__spec *s)
{
    tn__promotion p = {0};
    tn_status e = TN_OK;
    s->ndim = 0;
    s->strided = false;
    for (int32_t i = 0; i < n && !e; i++) {
        const tn_tensor *t = tn__operand(&in[i]);
        if (!t)
            continue;
        tn__promotion_add(&p, &in[i]);
        e = tn__infer_broadcast(s, t);
    }
    if (!e && !(s->dtype = tn__promotion_result(&p)))
        e = tn_error_code();
    return e;
}

/* ---- the description's own rule ---- */

static void view_of(tn_op_view *v, const tn_tensor *t)
{
    *v = (tn_op_view){0};
    if (!t)
        return;
    v->dtype = t->dtype;
    v->ndim = t->ndim;
    v->numel = t->numel;
    memcpy(v->shape, t->shape, sizeof *t->shape * (size_t)t->ndim);
}

static tn_status take(const tn__call *c, tn__spec *s, const tn_op_view *v, int32_t i)
{
    if (v->ndim < 0 || v->ndim > TN_MAX_DIMS || !tn__dtype_exists(v->dtype))
        return tn__error(TN_EINVAL, "%s: its shape rule gives result %d %d dimensions of dtype %d", name_of(c), (int)i,
                         (int)v->ndim, (int)v->dtype);
    for (int32_t d = 0; d < v->ndim; d++)
        if (v->shape[d] < 0)
            return tn__error(TN_EINVAL, "%s: its shape rule gives result %d the shape %s", name_of(c), (int)i,
                             tn__shape_str(v->shape, v->ndim).s);
    tn__spec_set(s, v->dtype, v->shape, v->ndim);
    return TN_OK;
}

static tn_status ask(tn__call *c, const tn_op_def *d)
{
    tn_op_view in[TN_OP_INPUTS], out[TN_OP_RESULTS];
    const tn__own_params *params = c->params;
    for (int32_t i = 0; i < c->n_in; i++)
        view_of(&in[i], tn__operand(&c->in[i]));
    for (int32_t i = 0; i < c->n_out; i++) {
        const tn__spec *s = &c->spec[i];
        out[i] = (tn_op_view){.dtype = s->dtype, .ndim = s->ndim};
        memcpy(out[i].shape, s->shape, sizeof *s->shape * (size_t)s->ndim);
    }
    const tn_op_args a = {sizeof a,
                          d->name,
                          d->user,
                          c->device,
                          c->n_in,
                          c->n_out,
                          (int32_t)strlen(d->params),
                          in,
                          out,
                          params ? params->p : NULL,
                          0};
    tn__thread *t = tn__self();
    tn__stale stale;
    tn__stale_begin(&stale, t);
    tn_status e = d->shape(&a);
    if (TN_UNLIKELY(e))
        e = t->error ? t->error : tn__error(tn__status_of(e), "%s: its shape rule refuses the inputs", d->name);
    tn__stale_end(&stale, t);
    for (int32_t i = 0; i < c->n_out && !e; i++)
        e = take(c, &c->spec[i], &out[i], i);
    return e;
}

tn_status tn__infer_own(tn__call *c)
{
    const tn_op_def *d = &tn__own_of(c->op)->def;
    tn__spec *s = &c->spec[0];
    tn_status e = TN_OK;
    if (d->rule == TN_OP_ANY)
        tn__spec_like(s, tn__in(c, 0));
    else
        e = d->rule == TN_OP_BROADCAST ? tn__own_broadcast(c->in, c->n_in, s) : infer_same(c, s);
    if (e || (e = check_dtype(c, d, s->dtype)))
        return e;
    c->n_out = d->results;
    for (int32_t i = 1; i < c->n_out; i++)
        c->spec[i] = *s;
    if (d->shape && (e = ask(c, d)))
        return e;
    c->compute = tn__dtypes[c->spec[0].dtype].compute;
    return TN_OK;
}
