/* Operations of the user's own: a node whose derivative is a callback. */
#include "autograd/anomaly.h"
#include "autograd/functions.h"
#include "autograd/hooks.h"
#include "core/alloc.h"
#include "core/callback.h"
#include <stdio.h>

/* What such a node keeps: its ctx. */
typedef struct own {
    tn_function_class cls;
    void *ctx;
    char name[64]; /* "MyReLUBackward" */
    bool zeros;
    size_t bytes, n_saved;
    int32_t slot[]; /* [n_saved] among the node's saved tensors; -1: TN_NONE */
} own;

/* One call of tn_function_apply. */
typedef struct passage {
    tn__thread *self;
    const tn_function_class *cls;
    const tn_function_options *o;
    tn_tensors in, out;
    tn_tensor **result;
    bool records;
    tn__node *node, *slices;
} passage;

static void free_own(void *ctx)
{
    own *f = ctx;
    if (f->cls.destroy)
        f->cls.destroy(f->ctx);
    tn__callbacks_add(-1);
    tn__block_put(f, f->bytes);
}

/* The last place of what is there twice: an output's gradient is that place's. */
static int64_t last_index_of(tn_tensors list, const tn_tensor *t)
{
    for (size_t i = list.n; i-- > 0;)
        if (list.t[i] == t)
            return (int64_t)i;
    return -1;
}

static int64_t index_of(tn_tensors list, const tn_tensor *t)
{
    for (size_t i = 0; i < list.n; i++)
        if (list.t[i] == t)
            return (int64_t)i;
    return -1;
}

/* ---- backward ---- */

static own *own_of(const tn__node *n)
{
    return n && n->op == TN__OPS && n->derive ? n->ctx : NULL;
}

tn_status tn__all_gradients(const tn__backward *b, bool zeros, tn_tensor **g)
{
    for (int32_t o = 0; o < b->node->n_out; o++) {
        const tn__meta *m = &b->node->out[o];
        g[o] = b->g[o];
        if (g[o] || !zeros || !m->dtype)
            continue;
        g[o] = tn_zeros(tn_dims_of(m->shape, m->ndim), .dtype = m->dtype, .device = m->device);
        if (!g[o])
            return tn_error_code();
    }
    return TN_OK;
}

/* Could broadcasting have made g's shape of m's? */
static bool compatible(const tn_tensor *g, const tn__meta *m)
{
    if (g->ndim < m->ndim)
        return false;
    for (int32_t d = 0; d < m->ndim; d++)
        if (m->shape[d] != 1 && m->shape[d] != g->shape[g->ndim - m->ndim + d])
            return false;
    return true;
}

static tn_status check_gradient(const char *name, const tn_tensor *g, const tn__meta *m, int32_t i)
{
    if (!compatible(g, m))
        return tn__error(TN_EGRAD,
                         "Function %s returned an invalid gradient at index %d - got %s but expected shape compatible "
                         "with %s",
                         name, (int)i, tn__shape_str(g->shape, g->ndim).s, tn__shape_str(m->shape, m->ndim).s);
    if (g->ndim && !tn__same_device(g->device, m->device))
        return tn__error(TN_EGRAD,
                         "Function %s returned an invalid gradient at index %d - expected device %s but got %s", name,
                         (int)i, tn_device_text(m->device).s, tn_device_text(g->device).s);
    return TN_OK;
}

tn_status tn__hand_gradients(tn__thread *t, tn_scope *scope, const tn__backward *b, const char *name, tn_status e)
{
    const int32_t n = b->node->n_in;
    for (int32_t i = 0; i < n; i++) {
        tn_tensor *g = b->grad[i];
        if (!g || g == TN_NONE || !b->need[i] || e || (e = check_gradient(name, g, &b->node->in[i], i)))
            b->grad[i] = NULL;
        else
            tn__object_retain(g);
    }
    tn__barrier_pop(t, scope, NULL);
    for (int32_t i = 0; i < n; i++) {
        tn_tensor *g = b->grad[i];
        if (!g)
            continue;
        if (tn__object_sole(g)) {
            tn__scope_adopt(t, g);
            continue;
        }
        if (!tn__scope_hold(t, g)) {
            b->grad[i] = NULL;
            e = TN_ENOMEM;
        }
        tn__object_release(g);
    }
    return e;
}

static tn_status derive_own(tn__backward *b)
{
    tn__thread *t = tn__self();
    const own *f = b->node->ctx;
    tn_tensor *few[8] = {NULL}, **g = few;
    const size_t n_out = (size_t)b->node->n_out, bytes = n_out * sizeof *g;
    if (n_out > TN_COUNT(few) && !(g = tn__block_zero(bytes)))
        return tn__error_memory("a backward pass", bytes);
    tn_status e = tn__all_gradients(b, f->zeros, g);
    if (!e) {
        tn_scope scope;
        const char *site = t->site;
        bool no_grad = t->no_grad;
        tn__stale stale;
        tn__stale_begin(&stale, t);
        tn__barrier_push(t, &scope);
        e = f->cls.backward((tn_node *)b->node, f->ctx, g, n_out, b->grad, (size_t)b->node->n_in);
        t->site = site;
        t->no_grad = no_grad;
        if (e)
            e = tn__callback_failed(e, f->name);
        tn__stale_end(&stale, t);
        e = tn__hand_gradients(t, &scope, b, f->name, e);
    }
    if (g != few)
        tn__block_put(g, bytes);
    return e;
}

/* ---- what is given ---- */

static bool is_dirty(const passage *p, const tn_tensor *t)
{
    int64_t i = p->o->dirty ? index_of(p->in, t) : -1;
    return i >= 0 && p->o->dirty[i];
}

static bool has_gradient(const passage *p, size_t i)
{
    const tn_tensor *t = p->out.t[i];
    return t != TN_NONE && tn__dtype_is_float(t->dtype) && !(p->o->no_gradient && p->o->no_gradient[i]);
}

#define SEVERAL_OUTPUTS \
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more " \
    "than " \
    "one Tensor. This is not supported by the current autograd engine. You should either make sure the input is not " \
    "a " \
    "view (using .clone() for example) or make your Function only return one Tensor (potentially splitting it into " \
    "two " \
    "Functions: one doing the inplace that returns a single Tensor and a second one that does the other operations)."

static tn_status check_dirty(const passage *p, size_t i)
{
    const tn_tensor *t = p->in.t[i];
    if (!p->o->dirty || !p->o->dirty[i])
        return TN_OK;
    if (t == TN_NONE)
        return tn__error(TN_ETYPE, "%s: input %zu is marked as written to, but is no tensor", p->cls->name, i);
    if (index_of(p->out, t) < 0)
        return tn__error(TN_EGRAD, "Some elements marked as dirty during the forward method were not returned as "
                                   "output. The inputs that are modified inplace must all be outputs of the Function.");
    if (!p->records)
        return TN_OK;
    if (!t->base && t->obj.flags & TN__REQUIRES_GRAD)
        return tn__error(TN_EGRAD, "a leaf Variable that requires grad has been used in an in-place operation.");
    if (!t->base)
        return TN_OK;
    if (p->out.n > 1)
        return tn__error(TN_EGRAD, SEVERAL_OUTPUTS);
    if (i != 0 || p->in.n > TN__MAX_IN)
        return tn__error(TN_EGRAD,
                         "%s: a view that is written to in place must be the first of at most %d inputs: clone it",
                         p->cls->name, (int)TN__MAX_IN);
    return tn__check_inplace(t, true);
}

static tn_status check(passage *p)
{
    p->records = false;
    if (!p->cls || !p->cls->name || !p->cls->backward)
        return tn__error(TN_EINVAL, "tn_function_apply: the class has no name, or no backward");
    for (size_t i = 0; i < p->in.n; i++) {
        const tn_tensor *t = p->in.t[i];
        if (!t)
            return tn__poisoned(p->cls->name);
        p->records |= t != TN_NONE && tn__dtype_is_float(t->dtype) && tn__wants_grad(t);
    }
    for (size_t i = 0; i < p->out.n; i++)
        if (!p->out.t[i])
            return tn__poisoned(p->cls->name);
    p->records &= !p->self->no_grad;
    tn_status e = TN_OK;
    for (size_t i = 0; i < p->in.n && !e; i++)
        e = check_dirty(p, i);
    return e;
}

/* Another tensor for what cannot be given itself: a view, so that writes in place are noticed; where it has no gradient, one
 * without any history. */
static tn_tensor *stand_in(const passage *p, tn_tensor *t, bool viewed)
{
    tn_tensor *a = tn__tensor_alias(t);
    if (a && viewed) {
        tn__make_view(a, t, false);
        a->obj.flags |= TN__VIEW_NO_GRAD | TN__VIEW_FUNCTION;
    }
    if (a)
        tn__scope_adopt(p->self, a);
    return a;
}

static tn_status make_result(const passage *p, size_t i)
{
    tn_tensor *t = p->out.t[i], **r = &p->result[i];
    if (t == TN_NONE) {
        *r = TN_NONE;
        return TN_OK;
    }
    const bool look = !p->o->new_outputs, grad = has_gradient(p, i), dirty = is_dirty(p, t);
    const int64_t first = look ? index_of(p->out, t) : (int64_t)i;
    bool itself = dirty || !look || index_of(p->in, t) < 0;
    if (itself && first < (int64_t)i) { /* there twice: one tensor, for users too */
        *r = tn__scope_hold(p->self, p->result[first]);
        return *r ? TN_OK : TN_ENOMEM;
    }
    if (p->records && !dirty) /* its history is to be this function's, or none */
        itself &= grad ? !tn__requires_grad(t) : !tn__wants_grad(t);
    *r = itself ? tn__scope_hold(p->self, t) : stand_in(p, t, grad || !p->records);
    return *r ? TN_OK : TN_ENOMEM;
}

/* ---- recording ---- */

/* Where a saved tensor goes: beside the input or output that it is, or further ones. */
static tn_status save(passage *p, own *f, size_t i, int32_t *more)
{
    tn__node *n = p->node;
    tn_tensor *t = p->o->saved.t[i];
    tn_status e = TN_OK;
    if (!t)
        return tn__poisoned(p->cls->name);
    f->slot[i] = -1;
    if (t == TN_NONE)
        return TN_OK;
    int64_t in = is_dirty(p, t) ? -1 : index_of(p->in, t), out = in >= 0 ? -1 : last_index_of(p->out, t);
    if (in >= 0) {
        f->slot[i] = (int32_t)in;
    } else if (out >= 0 && has_gradient(p, (size_t)out)) {
        f->slot[i] = n->n_in + (int32_t)out;
    } else {
        f->slot[i] = n->n_in + n->n_out + *more;
        if (tn__wants_grad(t) && out < 0)
            n->edge[n->n_in + *more] = tn__gradient_edge(t, &e);
        (*more)++;
    }
    const tn_scalar value = tn_scalar_t(t);
    if (!e && !n->saved[f->slot[i]].kept && !tn__node_save(n, f->slot[i], &value))
        e = tn_error_code();
    return e;
}

static own *new_own(const passage *p, void *ctx)
{
    const size_t bytes = sizeof(own) + sizeof(int32_t) * p->o->saved.n;
    own *f = tn__block_zero(bytes);
    if (!f) {
        tn__error_memory("recording a function", bytes);
        return NULL;
    }
    f->cls = *p->cls;
    f->cls.name = NULL;
    f->ctx = ctx;
    f->zeros = !p->o->none_for_zeros;
    f->bytes = bytes;
    f->n_saved = p->o->saved.n;
    snprintf(f->name, sizeof f->name, "%.*sBackward", (int)(sizeof f->name - sizeof "Backward"), p->cls->name);
    return f;
}

static tn_status describe(passage *p)
{
    tn__node *n = p->node;
    tn_status e = TN_OK;
    for (size_t i = 0; i < p->in.n; i++) {
        tn_tensor *t = p->in.t[i];
        tn__edge edge = {NULL, 0};
        if (t == TN_NONE)
            continue;
        if (tn__dtype_is_float(t->dtype) && tn__wants_grad(t))
            edge = tn__gradient_edge(t, &e);
        if (e)
            return e;
        tn__node_input(n, (int32_t)i, t, edge);
    }
    for (size_t i = 0; i < p->out.n; i++)
        if (p->out.t[i] != TN_NONE)
            tn__node_output(n, (int32_t)i, p->out.t[i]);
        else
            n->out[i] = (tn__meta){.dtype = TN_DTYPE_DEFAULT};
    return TN_OK;
}

/* The node takes ctx only when nothing can fail any more. */
static tn_status record(passage *p, own *f)
{
    tn__node *n = p->node = tn__node_make(TN__OPS, (int32_t)p->in.n, (int32_t)p->out.n, (int32_t)p->o->saved.n, NULL);
    int32_t more = 0;
    if (!n)
        return TN_ENOMEM;
    if (tn__anomaly_watched())
        tn__anomaly_recorded(n);
    n->derive = derive_own;
    n->ctx = f;
    n->name = f->name;
    tn_status e = describe(p);
    for (size_t i = 0; i < p->o->saved.n && !e; i++)
        e = save(p, f, i, &more);
    for (size_t i = 0; i < p->out.n && !e; i++) {
        tn_tensor *t = p->out.t[i];
        if (has_gradient(p, i) && t->base && is_dirty(p, t) && !(p->slices = tn__rebase_prepare(t, n)))
            e = TN_ENOMEM;
    }
    return e;
}

static void attach(passage *p)
{
    tn__node *n = p->node;
    for (size_t i = 0; i < p->out.n; i++) {
        tn_tensor *r = p->result[i];
        if (!has_gradient(p, i))
            continue;
        if (r == p->out.t[i] && is_dirty(p, r)) {
            tn__rebase(r, p->slices ? n : tn__object_retain(&n->obj), (uint32_t)i, p->slices);
            continue;
        }
        r->node_output = (uint32_t)i;
        r->obj.flags |= r->base ? TN__VIEW_FUNCTION : 0;
        if (r->node != &n->obj) /* else it was there before */
            atomic_store_explicit(&r->node, tn__object_retain(&n->obj), memory_order_relaxed);
    }
    if (!p->slices) /* else they own it */
        tn__object_release(&n->obj);
}

static tn_status run(passage *p, void *ctx)
{
    tn_status e = TN_OK;
    for (size_t i = 0; i < p->out.n && !e; i++)
        e = make_result(p, i);
    if (e || !p->records)
        return e;
    own *f = new_own(p, ctx);
    if (!f)
        return TN_ENOMEM;
    e = record(p, f);
    if (!e) {
        p->node->ctx_free = free_own;
        tn__callbacks_add(1);
        attach(p);
        return TN_OK;
    }
    if (p->slices)
        tn__object_release(&p->slices->obj);
    else if (p->node)
        tn__object_release(&p->node->obj);
    tn__block_put(f, f->bytes);
    return e;
}

tn_status tn_function_apply_opt(const tn_function_class *cls, void *ctx, tn_tensors inputs, tn_tensors outputs,
                                tn_tensor **results, const tn_function_options *options)
{
    tn_function_options o;
    tn_function_class c;
    tn__options_in(&o, sizeof o, options);
    tn__options_in(&c, sizeof c, cls);
    passage p = {.self = tn__enter(o.site), .cls = &c, .o = &o, .in = inputs, .out = outputs, .result = results};
    for (size_t i = 0; i < outputs.n; i++)
        results[i] = NULL;
    tn_status e = check(&p);
    if (!e)
        e = run(&p, ctx);
    if (!e && !p.records && c.destroy)
        c.destroy(ctx);
    for (size_t i = 0; i < outputs.n && e; i++) {
        if (!p.self->scope && results[i] && results[i] != TN_NONE) /* else the scope has it */
            tn__object_release(results[i]);
        results[i] = NULL;
    }
    return e;
}

/* ---- asking ---- */

void *tn__function_ctx(const tn__node *n, void (**destroy)(void *ctx))
{
    const own *f = n->ctx_free == free_own ? n->ctx : NULL;
    *destroy = f ? f->cls.destroy : NULL;
    return f ? f->ctx : NULL;
}

static tn__node *function_node(const tn_node *n)
{
    tn__object *o = (tn__object *)(uintptr_t)n;
    return o && o->cls == &tn__node_class && own_of((tn__node *)o) ? (tn__node *)o : NULL;
}

void *tn_node_context(const tn_node *n)
{
    const tn__node *node = function_node(n);
    return node ? own_of(node)->ctx : NULL;
}

size_t tn_node_saved_count(const tn_node *n)
{
    const tn__node *node = function_node(n);
    return node ? own_of(node)->n_saved : 0;
}

tn_tensor *tn_node_saved(tn_node *n, size_t i)
{
    tn__node *node = function_node(n);
    tn__thread *t = tn__enter(NULL);
    if (i >= tn_node_saved_count(n))
        return tn__fail(TN_EINDEX, "tn_node_saved: tensor %zu of %zu", i, tn_node_saved_count(n));
    int32_t slot = own_of(node)->slot[i];
    tn__backward b = {.node = node};
    if (slot < 0)
        return TN_NONE;
    tn_scope scope;
    tn__scope_push(t, &scope);
    tn_tensor *saved = tn__saved_tensor(&b, slot);
    bool made = saved && tn__scope_owns(&scope, saved);
    tn__scope_pop(t, &scope, made ? saved : NULL);
    return made || !saved ? saved : tn__scope_hold(t, saved);
}
