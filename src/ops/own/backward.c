/* The derivative of operations that programs register: their callback, in a scope of its own. */
#include "autograd/functions.h"
#include "autograd/hooks.h"
#include "core/callback.h"
#include "op/own.h"

typedef struct saved {
    tn_tensor *in[TN_OP_INPUTS], *out[TN_OP_RESULTS], *g[TN_OP_RESULTS];
} saved;

static tn_status take(tn__backward *b, saved *s)
{
    const tn__node *n = b->node;
    tn_status e = TN_OK;
    for (int32_t i = 0; i < n->n_in + n->n_out && !e; i++) {
        const tn_scalar kept = tn__saved_operand(b, i, &e);
        *(i < n->n_in ? &s->in[i] : &s->out[i - n->n_in]) = tn__operand(&kept);
    }
    return e ? e : tn__all_gradients(b, true, s->g);
}

/* All is well, the callback says; but a call of it has failed, and a gradient that is wanted is missing: what that call gave. */
static bool lost(const tn__backward *b, const tn__thread *t)
{
    for (int32_t i = 0; i < b->node->n_in && t->error; i++)
        if (b->need[i] && !b->grad[i])
            return true;
    return false;
}

tn_status tn__d_own(tn__backward *b)
{
    const tn_op *op = tn__own_of(b->node->op);
    const tn__own_params *p = b->node->params;
    if (!op->def.backward)
        return tn__error(TN_EGRAD,
                         "Trying to backward through %s but no autograd formula was registered.\n  Give its "
                         "description a backward, or call it while recording is off",
                         op->name);
    saved s = {{NULL}, {NULL}, {NULL}};
    tn_status e = take(b, &s);
    if (e)
        return e;
    tn__thread *t = tn__self();
    tn_scope scope;
    const char *site = t->site;
    const bool no_grad = t->no_grad;
    const tn_op_backward call = {.struct_size = sizeof call,
                                 .name = op->name,
                                 .user = op->def.user,
                                 .n_in = b->node->n_in,
                                 .n_out = b->node->n_out,
                                 .n_params = (int32_t)strlen(op->params),
                                 .param = p ? p->p : NULL,
                                 .grad_out = s.g,
                                 .in = s.in,
                                 .out = s.out,
                                 .need = b->need,
                                 .grad = b->grad};
    tn__stale stale;
    tn__stale_begin(&stale, t);
    tn__barrier_push(t, &scope);
    e = op->def.backward(&call);
    if (!e && lost(b, t))
        e = t->error;
    t->site = site;
    t->no_grad = no_grad;
    if (e)
        e = tn__callback_failed(e, op->name);
    tn__stale_end(&stale, t);
    return tn__hand_gradients(t, &scope, b, op->name, e);
}
