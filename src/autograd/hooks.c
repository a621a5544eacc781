/* Hooks on gradients, and what nodes keep for them. */
#include "autograd/hooks.h"
#include "autograd/functions.h"
#include "core/alloc.h"
#include "core/callback.h"
#include <pthread.h>
#include <tenon/autograd.h>
#include <tenon/dtype.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_lock(void)
{
    pthread_mutex_init(&lock, NULL);
}

/* ---- tensors that keep their gradient ---- */

static void forget(tn_tensor *t)
{
    tn__node *n = (tn__node *)t->node;
    pthread_mutex_lock(&lock);
    if (atomic_load(&n->retained[t->node_output]) == t)
        atomic_store(&n->retained[t->node_output], NULL);
    pthread_mutex_unlock(&lock);
}

static void start(void)
{
    pthread_atfork(NULL, NULL, init_lock);
    tn__tensor_forget = forget;
}

void tn__keep_grad(tn_tensor *t)
{
    pthread_mutex_lock(&lock);
    t->obj.flags |= TN__RETAINS_GRAD;
    atomic_store(&((tn__node *)t->node)->retained[t->node_output], t);
    pthread_mutex_unlock(&lock);
}

tn_tensor *tn__retained_grad(tn__node *n, uint32_t output)
{
    pthread_mutex_lock(&lock);
    tn_tensor *t = atomic_load(&n->retained[output]);
    if (t)
        tn__object_retain(t);
    pthread_mutex_unlock(&lock);
    return t;
}

tn_status tn_retain_grad(tn_tensor *t)
{
    tn_status e = TN_OK;
    tn__enter(TN__NOWHERE);
    if (!t || t == TN_NONE)
        return tn__poisoned("tn_retain_grad");
    if (!tn__wants_grad(t))
        return tn__error(TN_EGRAD, "can't retain_grad on Tensor that has requires_grad=False");
    pthread_once(&once, start);
    tn__edge edge = tn__gradient_edge(t, &e); /* a view's history may have to be made anew */
    if (!e && edge.to && edge.to->cls == &tn__node_class)
        tn__keep_grad(t);
    tn__object_release(edge.to);
    return e;
}

/* ---- hooks ---- */

static void destroy_hook(tn__object *o)
{
    tn__block_put(o, sizeof(tn_hook));
}

static const tn__class hook_class = {.name = "hook", .destroy = destroy_hook};

static tn_hook *use(tn_hook *h)
{
    atomic_fetch_add_explicit(&h->uses, 1, memory_order_relaxed);
    return tn__object_retain(h);
}

static void end_use(tn_hook *h)
{
    if (atomic_fetch_sub_explicit(&h->uses, 1, memory_order_acq_rel) == 1) {
        tn__callbacks_add(-1);
        if (h->destroy)
            h->destroy(h->ctx);
    }
    tn__object_release(h);
}

static void append(tn__hooks *list, tn_hook *h)
{
    h->list = list;
    h->prev = list->last;
    if (list->last)
        list->last->next = h;
    else
        list->first = h;
    list->last = h;
}

/* The list's reference is the caller's then. */
static void unlink_hook(tn_hook *h)
{
    tn__hooks *list = h->list;
    if (h->prev)
        h->prev->next = h->next;
    else
        list->first = h->next;
    if (h->next)
        h->next->prev = h->prev;
    else
        list->last = h->prev;
    h->list = NULL;
    h->next = h->prev = NULL;
}

static void clear(tn__hooks *list)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        tn_hook *h = list->first;
        if (h)
            unlink_hook(h);
        pthread_mutex_unlock(&lock);
        if (!h)
            return;
        end_use(h);
    }
}

void tn__hooks_free(tn__node *n)
{
    tn__output_hooks *w = atomic_load(&n->hooks);
    for (int32_t o = 0; o < n->n_out; o++) {
        clear(&w[o].hooks);
        clear(&w[o].after);
    }
    tn__block_put(w, sizeof *w * (size_t)n->n_out);
}

/* The node's lists, made where there are none. Under the lock. */
static tn__output_hooks *hooks_of(tn__node *n)
{
    tn__output_hooks *w = atomic_load(&n->hooks);
    if (!w && (w = tn__block_zero(sizeof *w * (size_t)n->n_out)))
        atomic_store_explicit(&n->hooks, w, memory_order_release);
    return w;
}

/* The leaf's accumulator, made where there is none. Under the lock. */
static tn__node *accumulator_of(tn_tensor *leaf)
{
    static uint64_t made;
    tn__object *there = atomic_load(&leaf->accumulator);
    if (there)
        return (tn__node *)there;
    tn__node *n = tn__node_new(TN__OPS, 0, 1, NULL);
    if (!n)
        return NULL;
    n->name = "AccumulateGrad";
    n->ctx = leaf; /* not owned: the leaf owns this node */
    n->seq = TN__FIRST_SEQ - 1 - made++ % TN__FIRST_SEQ;
    atomic_store_explicit(&leaf->accumulator, &n->obj, memory_order_release);
    return n;
}

tn_tensor *tn__accumulator_leaf(const tn__node *n)
{
    return n->op == TN__OPS && !n->derive ? n->ctx : NULL;
}

static bool enlist(const tn__edge *edge, bool after, tn_hook *h)
{
    pthread_mutex_lock(&lock);
    tn__node *n = edge->to->cls == &tn__node_class ? (tn__node *)edge->to : accumulator_of((tn_tensor *)edge->to);
    tn__output_hooks *w = n ? hooks_of(n) : NULL;
    if (w)
        append(after ? &w[edge->output].after : &w[edge->output].hooks, h);
    pthread_mutex_unlock(&lock);
    return w != NULL;
}

static tn_status add(const char *what, tn_tensor *t, bool after, const tn_hook *values, tn_hook **handle)
{
    tn_status e = TN_OK;
    tn__enter(TN__NOWHERE);
    if (handle)
        *handle = NULL;
    if (!t || t == TN_NONE)
        return tn__poisoned(what);
    if (!values->fn)
        return tn__error(TN_EINVAL, "%s: the function is NULL", what);
    if (!tn__wants_grad(t))
        return tn__error(TN_EGRAD, "cannot register a hook on a tensor that doesn't require gradient");
    pthread_once(&once, start);
    tn__edge edge = tn__gradient_edge(t, &e);
    if (e)
        return e;
    if (!edge.to) /* a view made while recording was off: nothing will come for it */
        edge.to = tn__object_retain(t);
    tn_hook *h = NULL;
    if (after && edge.to->cls == &tn__node_class)
        e = tn__error(TN_EGRAD, "post accumulate grad hooks cannot be registered on non-leaf tensors");
    else if (!(h = tn__block_get(sizeof *h)))
        e = tn__error_memory("a hook", sizeof *h);
    if (!e) {
        *h = *values;
        tn__object_init(&h->obj, &hook_class);
        atomic_init(&h->uses, 1);
        if (handle)
            *handle = tn__object_retain(h);
        if (!enlist(&edge, after, h)) {
            tn__block_put(h, sizeof *h);
            e = tn__error_memory("a hook", sizeof *h);
        } else {
            tn__callbacks_add(1);
        }
    }
    if (e && handle)
        *handle = NULL;
    tn__object_release(edge.to);
    return e;
}

tn_status tn_tensor_add_hook(tn_tensor *t, tn_hook_fn fn, void *ctx, void (*destroy)(void *ctx), tn_hook **handle)
{
    const tn_hook values = {.fn = fn, .ctx = ctx, .destroy = destroy};
    return add("tn_tensor_add_hook", t, false, &values, handle);
}

tn_status tn_tensor_add_accumulate_hook(tn_tensor *t, tn_hook_fn fn, void *ctx, void (*destroy)(void *ctx),
                                        tn_hook **handle)
{
    const tn_hook values = {.fn = fn, .ctx = ctx, .destroy = destroy};
    return add("tn_tensor_add_accumulate_hook", t, true, &values, handle);
}

void tn_hook_remove(tn_hook *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&lock);
    bool listed = h->list != NULL;
    if (listed)
        unlink_hook(h);
    pthread_mutex_unlock(&lock);
    if (listed)
        end_use(h);
}

void tn_hook_release(tn_hook *h)
{
    tn__object_release(h);
}

/* ---- looking for cycles ---- */

/* Graphs without any of these are not walked: most programs have none. */
static _Atomic int64_t callbacks;

void tn__callbacks_add(int n)
{
    atomic_fetch_add_explicit(&callbacks, n, memory_order_relaxed);
}

/* A walk over what one reference alone keeps: down from its object by way of objects with one reference each. What is not
 * reached because there is no room, or it is too deep, counts as what others keep too. Both depend on the way to an object
 * alone, not on what is beside that way: else an object that becomes the only one's between two looks of a collection (see
 * function.c of python) would push others out of the second. No object is on two walks, so a look at all wrappers sees each
 * once; not all of a deep graph, for thousands of losses may be kept with the graphs of all their steps. */
enum { WAITING = 64, DEEPEST = 64 };

typedef struct walk {
    tn_callback_visitor visit; /* NULL: hooks are taken out */
    void *arg;
    tn_hook *taken; /* by next; their lists' references */
    int depth;      /* of what is looked at */
    size_t n;
    struct {
        tn__object *object;
        int depth;
    } todo[WAITING];
} walk;

static int walk_list(walk *w, tn__hooks *list)
{
    for (tn_hook *h = list->first, *next; h; h = next) {
        next = h->next;
        int found = w->visit ? w->visit(h->destroy, h->ctx, w->arg) : 0;
        if (found)
            return found;
        if (w->visit)
            continue;
        unlink_hook(h);
        h->next = w->taken;
        w->taken = h;
    }
    return 0;
}

static int walk_hooks(walk *w, tn__node *n)
{
    int found = 0;
    tn__output_hooks *o = atomic_load(&n->hooks);
    for (int32_t i = 0; o && i < n->n_out && !found; i++)
        if (!(found = walk_list(w, &o[i].hooks)))
            found = walk_list(w, &o[i].after);
    return found;
}

static void walk_on(walk *w, void *object)
{
    if (!object || w->n == WAITING || w->depth == DEEPEST)
        return;
    w->todo[w->n].object = object;
    w->todo[w->n++].depth = w->depth + 1;
}

static int walk_node(walk *w, tn__node *n)
{
    void (*destroy)(void *);
    void *ctx = tn__function_ctx(n, &destroy);
    int found = walk_hooks(w, n);
    if (!found && ctx && w->visit)
        found = w->visit(destroy, ctx, w->arg);
    for (int32_t i = n->n_in + n->n_more; i-- > 0;)
        walk_on(w, n->edge[i].to);
    walk_on(w, n->inner);
    return found;
}

/* A leaf's node is the leaf. Who has the node of a tensor that retains its gradient reaches the tensor by it, although the
 * count does not say so. */
static int walk_tensor(walk *w, tn_tensor *t)
{
    tn__object *accumulator = atomic_load(&t->accumulator), *node = atomic_load(&t->node);
    if (node && t->obj.flags & TN__RETAINS_GRAD && !tn__object_sole(node))
        return 0;
    walk_on(w, node);
    return accumulator ? walk_hooks(w, (tn__node *)accumulator) : 0;
}

static int walk_from(walk *w, const void *object)
{
    int found = 0;
    if (!object || object == (const void *)TN_NONE || !atomic_load_explicit(&callbacks, memory_order_relaxed))
        return 0;
    pthread_mutex_lock(&lock);
    walk_on(w, (void *)(uintptr_t)object);
    while (w->n && !found) {
        tn__object *o = w->todo[--w->n].object;
        w->depth = w->todo[w->n].depth;
        if (tn__object_sole(o))
            found = o->cls == &tn__node_class ? walk_node(w, (tn__node *)o) : walk_tensor(w, (tn_tensor *)o);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

int tn_tensor_visit_callbacks(const tn_tensor *t, tn_callback_visitor visit, void *arg)
{
    return walk_from(&(walk){.visit = visit, .arg = arg}, t);
}

int tn_node_visit_callbacks(const tn_node *n, tn_callback_visitor visit, void *arg)
{
    return walk_from(&(walk){.visit = visit, .arg = arg}, n);
}

/* They go when the walk is over: what they free may change the graph. */
static void drop(const void *object)
{
    walk w = {.visit = NULL};
    walk_from(&w, object);
    for (tn_hook *h = w.taken, *next; h; h = next) {
        next = h->next;
        h->next = NULL;
        end_use(h);
    }
}

void tn_tensor_drop_hooks(const tn_tensor *t)
{
    drop(t);
}

void tn_node_drop_hooks(const tn_node *n)
{
    drop(n);
}

/* ---- running ---- */

tn_status tn__callback_failed(tn_status e, const char *what)
{
    if (tn_error_code())
        return tn_error_code();
    return tn__error(tn__status_of(e), "%s failed, but no failed call is on record", what);
}

static tn_status check_replacement(const tn_tensor *g, const tn_tensor *other)
{
    if (other->dtype != g->dtype || !tn__same_device(other->device, g->device))
        return tn__error(TN_EGRAD, "hook has changed the type of value (was %s on %s got %s on %s)",
                         tn_dtype_name(g->dtype), tn_device_text(g->device).s, tn_dtype_name(other->dtype),
                         tn_device_text(other->device).s);
    if (!tn__same_shape(other->shape, other->ndim, g->shape, g->ndim))
        return tn__error(TN_EGRAD, "hook has changed the size of value (was %s got %s)",
                         tn__shape_str(g->shape, g->ndim).s, tn__shape_str(other->shape, other->ndim).s);
    return TN_OK;
}

/* *g is the caller's reference; NULL replace: of what is shown, none can be replaced. */
static tn_status call(tn__thread *self, const tn_hook *h, tn_tensor *shown, tn_tensor **g)
{
    tn_scope scope;
    tn_tensor *other = NULL;
    const char *site = self->site;
    bool no_grad = self->no_grad;
    tn__stale stale;
    tn__stale_begin(&stale, self);
    tn__barrier_push(self, &scope);
    tn_status e = h->fn(h->ctx, shown, g ? &other : NULL);
    self->site = site;
    self->no_grad = no_grad;
    if (e)
        e = tn__callback_failed(e, "a hook");
    bool replaced = !e && other && other != TN_NONE && other != shown;
    if (replaced)
        e = check_replacement(shown, other);
    if (replaced && !e)
        tn__object_retain(other);
    tn__barrier_pop(self, &scope, NULL);
    tn__stale_end(&stale, self);
    if (replaced && !e) {
        tn__object_release(*g);
        *g = other;
    }
    return e;
}

enum { FEW = 8 };

/* The list's hooks, each retained, into few or a block of *n; NULL where memory is out. */
static tn_hook **snapshot(const tn__hooks *list, tn_hook **few, size_t *n)
{
    tn_hook **all = few;
    size_t count = 0;
    pthread_mutex_lock(&lock);
    for (const tn_hook *h = list->first; h; h = h->next)
        count++;
    if (count > FEW)
        all = tn__block_get(sizeof *all * count);
    *n = 0;
    for (tn_hook *h = list->first; h && all; h = h->next)
        all[(*n)++] = use(h);
    pthread_mutex_unlock(&lock);
    if (!all)
        tn__error_memory("a list of hooks", sizeof *all * count);
    return all;
}

/* g NULL: the leaf is shown. */
static tn_status run_list(tn__thread *self, const tn__hooks *list, tn_tensor *leaf, tn_tensor **g)
{
    tn_hook *few[FEW], **all;
    size_t n;
    tn_status e = TN_OK;
    if (!(all = snapshot(list, few, &n)))
        return TN_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (!e) /* also one that was removed by one before it, as PyTorch has it */
            e = call(self, all[i], g ? *g : leaf, g);
        end_use(all[i]);
    }
    if (all != few)
        tn__block_put(all, sizeof *all * n);
    return e;
}

tn_status tn__hooks_run(tn__thread *self, tn__node *n, uint32_t output, tn_tensor **g)
{
    tn__output_hooks *w = atomic_load_explicit(&n->hooks, memory_order_acquire);
    return run_list(self, &w[output].hooks, NULL, g);
}

tn_status tn__hooks_run_after(tn__thread *self, tn__node *n, tn_tensor *leaf)
{
    tn__output_hooks *w = atomic_load_explicit(&n->hooks, memory_order_acquire);
    return run_list(self, &w[0].after, leaf, NULL);
}
