/* Derivatives that families share: an elementwise row's by its formulas, none, identity, zero. */
#include "autograd/functions.h"
#include "op/infer.h"

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
