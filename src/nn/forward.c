/* Running modules. The user's forward runs inside a barrier scope, so what it makes on the way dies with it. */
#include "core/callback.h"
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
    if (!m->cls.forward) {
        tn_tensor *one;
        return tn__forward_n(t, m, &x, 1, &one, 1) ? NULL : one;
    }
    tn__stale stale;
    tn__stale_begin(&stale, t);
    tn__barrier_push(t, &scope);
    tn_tensor *y = m->cls.forward(m, x);
    t->site = site;
    if (!y || y == TN_NONE) {
        tn__barrier_pop(t, &scope, NULL);
        y = no_result(m, y);
        tn__stale_end(&stale, t);
        return y;
    }
    tn__stale_end(&stale, t);
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

/* ---- several ---- */

int32_t tn_module_outputs(const tn_module *m)
{
    if (!m || !m->sequence)
        return !m ? 0 : m->cls.forward_n ? TN_MAX(m->cls.outputs, 1) : m->cls.forward != NULL;
    int32_t n = 0;
    for (int64_t i = m->slots[TN__CHILDREN].n; i-- > 0 && !n;)
        n = tn_module_outputs(tn__slot_child(m, i)); /* 0: an empty sequence */
    return n;
}

int32_t tn_module_inputs(const tn_module *m)
{
    if (!m || !m->sequence)
        return !m ? 0 : m->cls.forward_n ? m->cls.inputs : m->cls.forward != NULL;
    for (int64_t i = 0; i < m->slots[TN__CHILDREN].n; i++)
        if (tn_module_outputs(tn__slot_child(m, i)))
            return tn_module_inputs(tn__slot_child(m, i));
    return 0;
}

/* How many m gives for n. */
static size_t gives(const tn_module *m, size_t n)
{
    int32_t outputs = tn_module_outputs(m);
    return outputs ? (size_t)outputs : n;
}

/* A sequence's inputs are checked where they go. */
static tn_status check_counts(const tn_module *m, size_t n, size_t n_y)
{
    if (!m->cls.forward && !m->cls.forward_n)
        return tn__error(TN_EMISSING, "Module [%s] is missing the required \"forward\" function", m->cls.name);
    size_t inputs = m->sequence ? 0 : (size_t)tn_module_inputs(m), outputs = gives(m, n);
    if (n == 0 || n > TN_FORWARD_MAX || (inputs && n != inputs))
        return tn__error(TN_EINVAL, "%s takes %s%zu tensor%s, got %zu%s", m->cls.name, inputs ? "" : "1 to ",
                         inputs ? inputs : (size_t)TN_FORWARD_MAX, inputs == 1 ? "" : "s", n,
                         n == 1 ? ": tn_forward_n takes several" : "");
    if (n_y != outputs)
        return tn__error(TN_EINVAL, "%s gives %zu tensor%s, not %zu: tn_forward_n(m, inputs, out, %zu)", m->cls.name,
                         outputs, outputs == 1 ? "" : "s", n_y, outputs);
    return TN_OK;
}

/* What is wrong with the results of a forward_n, if anything. */
static tn_status check_results(const tn_module *m, tn_status e, tn_tensor *const *y, size_t n)
{
    size_t i = 0;
    while (!e && i < n && y[i] && y[i] != TN_NONE)
        i++;
    if (!e && i == n)
        return TN_OK;
    if (!e && y[i])
        return tn__error(TN_ETYPE, "the forward_n of %s gave TN_NONE, not a tensor, as result %zu", m->cls.name, i);
    if (tn_error_code())
        return tn_error_code();
    return e ? tn__error(tn__status_of(e), "the forward_n of %s failed, but no failed call is on record", m->cls.name)
             : tn__error(TN_EINVAL, "the forward_n of %s gave NULL as result %zu, but no failed call is on record",
                         m->cls.name, i);
}

/* The class's forward_n inside a barrier scope; its results go out of that. */
static tn_status run_several(tn__thread *t, tn_module *m, tn_tensor *const *x, size_t n, tn_tensor **y, size_t n_y)
{
    tn_scope scope;
    const char *site = t->site;
    tn__stale stale;
    tn__stale_begin(&stale, t);
    tn__barrier_push(t, &scope);
    tn_status e = m->cls.forward_n(m, x, n, y, n_y);
    t->site = site;
    e = check_results(m, e, y, n_y);
    tn__stale_end(&stale, t);
    for (size_t i = 0; i < n_y; i++)
        y[i] = e ? NULL : tn__object_retain(y[i]);
    tn__barrier_pop(t, &scope, NULL);
    for (size_t i = 0; i < n_y; i++)
        if (y[i] && !tn__scope_receive(t, y[i]))
            e = TN_ENOMEM;
    return e;
}

tn_status tn__forward_n(tn__thread *t, tn_module *m, tn_tensor *const *x, size_t n, tn_tensor **y, size_t n_y)
{
    memset(y, 0, n_y * sizeof *y);
    if (m->cls.forward && n == 1 && n_y == 1) {
        bool borrowed;
        if (x[0] == TN_NONE)
            return tn__error(TN_ETYPE, "tn_forward: the input of %s is TN_NONE", m->cls.name);
        y[0] = tn__forward(t, m, x[0], &borrowed);
        if (y[0] && borrowed)
            y[0] = tn__scope_hold(t, y[0]);
        return y[0] ? TN_OK : tn_error_code();
    }
    tn_status e = check_counts(m, n, n_y);
    if (!e)
        e = run_several(t, m, x, n, y, n_y);
    if (e)
        memset(y, 0, n_y * sizeof *y);
    return e;
}

/* ---- public ---- */

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

tn_status tn_forward_n_at(const char *site, tn_module *m, tn_tensors inputs, tn_tensor **out, size_t n_out)
{
    tn__thread *t = tn__enter(site);
    if ((inputs.n && !inputs.t) || (n_out && !out))
        return tn__error(TN_EINVAL, "tn_forward_n: not a list of tensors, or no room for results");
    for (size_t i = 0; i < n_out; i++)
        out[i] = NULL;
    if (!m)
        return tn__poisoned("tn_forward_n");
    for (size_t i = 0; i < inputs.n; i++)
        if (!inputs.t[i])
            return tn__poisoned("tn_forward_n");
    return tn__forward_n(t, m, inputs.t, inputs.n, out, n_out);
}

tn_status(tn_forward_n)(tn_module *m, tn_tensors inputs, tn_tensor **out, size_t n_out)
{
    return tn_forward_n_at(TN__NOWHERE, m, inputs, out, n_out);
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

/* What goes from layer to layer. */
typedef struct values {
    tn_tensor *at[TN_FORWARD_MAX];
    size_t n;
} values;

static bool is_among(const values *v, const tn_tensor *t)
{
    for (size_t i = 0; i < v->n; i++)
        if (v->at[i] == t)
            return true;
    return false;
}

/* Releases of x what the open scope owns and y is not: the layer has used it. */
static void drop_used(tn__thread *t, const values *x, const values *y)
{
    for (size_t i = 0; i < x->n; i++) {
        tn_tensor *v = x->at[i];
        if (v == TN_NONE || is_among(y, v) || atomic_load_explicit(&v->obj.scope, memory_order_relaxed) != t->scope)
            continue;
        for (size_t k = i + 1; k < x->n; k++) /* once, should it be there twice */
            if (x->at[k] == v)
                v = NULL;
        if (!v)
            continue;
        tn__scope_disown(t, v);
        tn__object_release(v);
    }
}

/* One layer that takes or gives several. */
static tn_status run_layer(tn__thread *t, tn_module *layer, values *v)
{
    values y = {.n = gives(layer, v->n)};
    tn_status e = tn__forward_n(t, layer, v->at, v->n, y.at, y.n);
    if (e)
        return e;
    drop_used(t, v, &y);
    *v = y;
    return TN_OK;
}

/* v through the layers, in the scope that is open. What that scope owns is released once the next layer has used it; so
 * a sequential inside runs right here: its first layer's input need not outlive that layer. */
static tn_status run_layers(tn__thread *t, tn_module *m, values *v)
{
    bool borrowed;
    for (int64_t i = 0; i < m->slots[TN__CHILDREN].n; i++) {
        tn_module *layer = tn__slot_child(m, i);
        tn_tensor *x = v->at[0], *y = NULL;
        tn_status e = TN_OK;
        if (layer->cls.forward == sequential_forward)
            e = run_layers(t, layer, v);
        else if (v->n > 1 || !layer->cls.forward)
            e = run_layer(t, layer, v);
        else if (!(y = tn__forward(t, layer, x, &borrowed)))
            e = tn_error_code();
        if (e) {
            note_layer(m, i);
            return e;
        }
        if (!y)
            continue;
        if (y != x && atomic_load_explicit(&x->obj.scope, memory_order_relaxed) == t->scope) {
            tn__scope_disown(t, x);
            tn__object_release(x);
        }
        v->at[0] = y;
    }
    return TN_OK;
}

static tn_tensor *sequential_forward(tn_module *m, tn_tensor *x)
{
    values v;
    v.n = 1;
    v.at[0] = x;
    if (run_layers(tn__self(), m, &v))
        return NULL;
    if (v.n == 1)
        return v.at[0];
    return check_counts(m, 1, 1) ? NULL : v.at[0];
}

static tn_status sequential_forward_n(tn_module *m, tn_tensor *const *x, size_t n, tn_tensor **y, size_t n_y)
{
    values v = {.n = n};
    memcpy(v.at, x, n * sizeof *x);
    tn_status e = run_layers(tn__self(), m, &v);
    memcpy(y, v.at, (e ? 0 : n_y) * sizeof *y);
    return e;
}

static tn_module *make_sequential(tn_module *const *modules, size_t n)
{
    static const tn_module_class cls = {.struct_size = sizeof cls,
                                        .name = "Sequential",
                                        .forward = sequential_forward,
                                        .forward_n = sequential_forward_n};
    for (size_t i = 0; i < n; i++)
        if (!modules[i]) {
            tn__poisoned("tn_nn_sequential");
            return NULL;
        }
    tn_module *m = tn__module_make(&cls, NULL);
    if (m)
        m->sequence = true;
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
