/* Running modules. The user's forward runs inside a barrier scope, so what it makes on the way dies with it. */
#include "nn/module.h"
#include <stdio.h>

/* Does one of this thread's scopes, from the innermost one to 'outermost', own y? */
static bool made_inside(const tn__thread *t, const tn_scope *outermost, tn_tensor *y)
{
    for (const tn_scope *s = t->scope; s; s = s->outer) {
        if (tn__scope_owns(s, y))
            return true;
        if (s == outermost)
            return false;
    }
    return false;
}

/* What a forward that gave nothing, or nothing usable, says. */
static tn_tensor *no_result(const tn_module *m, const tn_tensor *y)
{
    if (y)
        return tn__fail(TN_ETYPE, "the forward of %s gave TN_NONE, not a tensor", m->cls.name);
    if (!tn_error_code())
        tn__error(TN_EINVAL, "the forward of %s gave NULL, but no failed call is on record", m->cls.name);
    return NULL;
}

tn_tensor *tn__forward(tn__thread *t, tn_module *m, tn_tensor *x, bool *borrowed)
{
    tn_scope scope;
    const char *site = t->site;
    *borrowed = false;
    if (!m->cls.forward)
        return tn__fail(TN_EMISSING, "Module [%s] is missing the required \"forward\" function", m->cls.name);
    tn__barrier_push(t, &scope);
    tn_tensor *y = m->cls.forward(m, x);
    t->site = site;
    if (!y || y == TN_NONE) {
        tn__barrier_pop(t, &scope, NULL);
        return no_result(m, y);
    }
    if (made_inside(t, &scope, y))
        return tn__barrier_pop(t, &scope, y);
    if (y == x) {
        *borrowed = true;
        tn__barrier_pop(t, &scope, NULL);
        return y;
    }
    return tn__barrier_pop(t, &scope,
                           tn__scope_hold(t, y)); /* somebody else's: what closes now may be all that keeps it */
}

tn_tensor *tn_forward_at(const char *site, tn_module *m, tn_tensor *x)
{
    tn__thread *t = tn__enter(site);
    if (!m || !x) {
        tn__poisoned("tn_forward");
        return NULL;
    }
    if (x == TN_NONE)
        return tn__fail(TN_ETYPE, "tn_forward: the input of %s is TN_NONE", m->cls.name);
    bool borrowed;
    tn_tensor *y = tn__forward(t, m, x, &borrowed);
    return y && borrowed ? tn__scope_hold(t, y) : y;
}

tn_tensor *(tn_forward)(tn_module *m, tn_tensor *x)
{
    return tn_forward_at(TN__NOWHERE, m, x);
}

/* ---- sequential ---- */

/* Names the layer that failed, after what it said. */
static void note_layer(const tn_module *m, int64_t i)
{
    char text[256];
    const tn_module *layer = tn__slot_child(m, i);
    if (layer->slots[TN__CHILDREN].n || tn_module_to_string(layer, text, sizeof text) >= (int64_t)sizeof text)
        tn__error_append("\n  in (%s): %s", m->slots[TN__CHILDREN].at[i].name, layer->cls.name);
    else
        tn__error_append("\n  in (%s): %s", m->slots[TN__CHILDREN].at[i].name, text);
}

static tn_tensor *sequential_forward(tn_module *m, tn_tensor *x);

/* x through the layers, in the scope that is open. What that scope owns is released once the next layer has used it; so
 * a sequential inside runs right here: its first layer's input need not outlive that layer. */
static tn_tensor *run_layers(tn__thread *t, tn_module *m, tn_tensor *x)
{
    bool borrowed;
    for (int64_t i = 0; i < m->slots[TN__CHILDREN].n; i++) {
        tn_module *layer = tn__slot_child(m, i);
        bool inside = layer->cls.forward == sequential_forward;
        tn_tensor *y = inside ? run_layers(t, layer, x) : tn__forward(t, layer, x, &borrowed);
        if (!y) {
            note_layer(m, i);
            return NULL;
        }
        if (!inside && y != x && atomic_load_explicit(&x->obj.scope, memory_order_relaxed) == t->scope) {
            tn__scope_disown(t, x);
            tn__object_release(x);
        }
        x = y;
    }
    return x;
}

static tn_tensor *sequential_forward(tn_module *m, tn_tensor *x)
{
    return run_layers(tn__self(), m, x);
}

static tn_module *make_sequential(tn_module *const *modules, size_t n)
{
    static const tn_module_class cls = {.struct_size = sizeof cls, .name = "Sequential", .forward = sequential_forward};
    for (size_t i = 0; i < n; i++)
        if (!modules[i]) {
            tn__poisoned("tn_nn_sequential");
            return NULL;
        }
    tn_module *m = tn__module_make(&cls, NULL);
    for (size_t i = 0; m && i < n; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        if (!tn_module_add_child(m, name, modules[i])) {
            tn__object_release(m);
            m = NULL;
        }
    }
    return m;
}

tn_module *tn_nn_sequential_n_at(const char *site, tn_module *const *modules, size_t n)
{
    tn__thread *t = tn__enter(site);
    if (n && !modules)
        return tn__fail(TN_EINVAL, "tn_nn_sequential: not a list of modules");
    tn_module *m = make_sequential(modules, n);
    if (m)
        tn__scope_adopt(t, m);
    return m;
}

tn_module *(tn_nn_sequential_n)(tn_module *const *modules, size_t n)
{
    return tn_nn_sequential_n_at(TN__NOWHERE, modules, n);
}
