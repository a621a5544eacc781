/* Derivatives that families share: an elementwise row's by its formulas, none, identity, zero. */
#include "autograd/functions.h"
#include "op/infer.h"

/* May one pass give the gradients of both operands? Where all lie alike, none is recorded, and who would be handed what came
 * takes a copy of it. */
static bool gives_both(const tn__backward *b, const tn_scalar *s, const tn_tensor *out)
{
    const tn__node *n = b->node;
    const tn__both *both = &tn__boths[n->op];
    const tn_tensor *g = b->g[0], *others[] = {tn__operand(&s[0]), tn__operand(&s[1]), out};
    if (!both->number || !b->need[0] || !b->need[1] || !tn__self()->no_grad ||
        !tn__is_dense(g->shape, g->stride, g->ndim))
        return false;
    for (int32_t i = 0; i < 3; i++)
        if (others[i] ? others[i]->dtype != g->dtype ||
                            !tn__same_shape(others[i]->shape, others[i]->ndim, g->shape, g->ndim) ||
                            !tn__same_shape(others[i]->stride, others[i]->ndim, g->stride, g->ndim)
                      : i < 2 && s[i].kind != TN_SCALAR_NONE)
            return false;
    for (int32_t i = 0; i < 2; i++)
        if (n->in[i].dtype != g->dtype || !tn__same_shape(n->in[i].shape, n->in[i].ndim, g->shape, g->ndim) ||
            (both->same[i] && !tn__backward_copies(b, i, g)))
            return false;
    return true;
}

static tn_status give_both(tn__backward *b, const tn_scalar *s, tn_tensor *out)
{
    tn_tensor *x = tn__operand(&s[0]), *y = tn__operand(&s[1]);
    return tn__give(b, 0,
                    tn__both_gradients(b->g[0], x ? x : TN_NONE, y ? y : TN_NONE, out ? out : TN_NONE,
                                       tn__boths[b->node->op].number - 1, .of_b = &b->grad[1]));
}

tn_status tn__derive_elementwise(tn__backward *b)
{
    const tn__node *n = b->node;
    tn_scalar s[3] = {{.kind = TN_SCALAR_NONE}};
    tn_status e = TN_OK;
    for (int32_t i = 0; i < n->n_in && !e; i++)
        s[i] = tn__saved_operand(b, i, &e);
    tn_tensor *out = NULL;
    if (!e && n->saved[n->n_in].kept) {
        out = tn__saved_tensor(b, n->n_in);
        if (!out)
            return tn_error_code();
    }
    if (!e && n->n_in == 2 && gives_both(b, s, out))
        return give_both(b, s, out);
    for (int32_t i = 0; i < n->n_in && !e; i++) {
        if (!b->need[i])
            continue;
        b->grad[i] = tn__formulas[n->op][i](b->g[0], s, out);
        if (!b->grad[i])
            e = tn_error_code();
    }
    return e;
}

tn_status tn__d_none(tn__backward *b)
{
    return tn__error(TN_EGRAD, "derivative for %s is not implemented", tn__ops[b->node->op].name);
}

tn_status tn__d_once(tn__backward *b)
{
    const char *name = tn__ops[b->node->op].name;
    return tn__error(TN_EGRAD,
                     "derivative for %s is not implemented\n  it is a gradient already: there is a first "
                     "derivative, and no second one",
                     name + (*name == '_'));
}

/* ---- helpers named in rows ---- */

tn_tensor *tn__underived(const char *name)
{
    return tn__fail(TN_EGRAD, "derivative for aten::%s is not implemented", name);
}

/* An operand as a tensor; a number becomes one of no dimensions, which does not decide about dtypes. */
tn_tensor *tn__as_tensor(tn_scalar s, tn_device device)
{
    if (s.kind == TN_SCALAR_TENSOR)
        return s.v.t;
    return tn_full(TN_SHAPE(), tn__scalar_double(&s), .dtype = TN_F64, .device = device);
}

/* ---- views ---- */

tn_status tn__d_identity(tn__backward *b)
{
    return tn__give(b, 0, b->g[0]);
}

/* ---- copies ---- */

tn_status tn__d_zero(tn__backward *b)
{
    return tn__give(b, 0, tn_zeros_like(b->g[0]));
}
