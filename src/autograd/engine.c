/* The backward engine.
 *
 * An edge always leads to a node that was recorded earlier, so taking the latest recorded node of those with a gradient
 * visits every node after all that feed it: one heap, no counting pass, no recursion.
 */
#include "autograd/engine.h"
#include "autograd/anomaly.h"
#include "autograd/functions.h"
#include "autograd/hooks.h"
#include "core/alloc.h"
#include "core/interrupt.h"
#include <pthread.h>
#include <stdlib.h>
#include <tenon/autograd.h>
#include <tenon/dtype.h>

/* What tn_grad asks for. */
typedef struct target {
    tn__edge edge;
    tn_tensor *t, *grad;
    tn__stream *on;  /* where grad is ready; borrowed */
    bool accumulate; /* backward(inputs =): into t's .grad */
} target;

typedef struct task {
    tn__thread *self;
    tn__scratch *s;
    target *targets;
    int64_t n_targets;
    tn__object **useful; /* tn_grad: nodes that lead to a target, sorted; NULL: all do */
    int64_t n_useful, useful_cap;
    bool record, retain;
} task;

/* ---- locks: accumulation into a leaf ---- */

enum { LOCKS = 64 };
static pthread_mutex_t leaf_locks[LOCKS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init_locks(void)
{
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&leaf_locks[i], NULL);
}

static void start(void)
{
    init_locks();
    pthread_atfork(NULL, NULL, init_locks);
}

/* ---- sums of gradients ---- */

/* What an operation just made, out of the innermost scope: the caller owns it. */
static tn_tensor *own(const task *k, tn_tensor *made)
{
    if (made)
        tn__scope_disown(k->self, made);
    return made;
}

/* The caller's stream of t's device. */
static tn__stream *caller_of(const task *k, const tn_tensor *t)
{
    return tn__backward_stream_caller(&k->s->streams, tn__backward_stream_of(t));
}

/* *sum += g, on the stream 'here', where the sum is ready then (*on); takes the caller's reference of g. */
static tn_status add_to(task *k, tn_tensor **sum, tn__stream **on, tn__stream *here, tn_tensor *g)
{
    tn__stream *ready = tn__backward_stream_of(g), *before = NULL;
    if (!*sum) {
        *sum = g;
        *on = ready;
        return TN_OK;
    }
    tn_status e = TN__STREAM_WAIT(backward_sum_old, here, *on);
    if (!e)
        e = TN__STREAM_WAIT(backward_sum_new, here, ready);
    if (!e)
        e = tn__backward_stream_enter(&k->s->streams, here, &before);
    *on = here;
    if (e) {
        tn__object_release(g);
        return e;
    }
    if (!k->record && tn__is_private(*sum)) {
        e = tn_add_(*sum, g) ? TN_OK : tn_error_code();
    } else {
        tn_tensor *total = own(k, tn_add(*sum, g));
        if (total) {
            tn__object_release(*sum);
            *sum = total;
        } else {
            e = tn_error_code();
        }
    }
    tn__backward_stream_leave(before);
    tn__object_release(g);
    return e;
}

/* How a leaf's gradient grows. */
typedef enum growth { IN_PLACE, SUM, TAKEN, CLONED } growth;

/* A gradient lies as its leaf does, where that is dense, else row-major: PyTorch's contract, by which optimisers read both
 * alike. */
static bool lies_as(const tn_tensor *g, const tn_tensor *leaf)
{
    if (!tn__contiguous(leaf) && !tn__is_dense(leaf->shape, leaf->stride, leaf->ndim))
        return tn__contiguous(g);
    for (int32_t d = 0; d < g->ndim; d++)
        if (g->shape[d] == 1 ? g->stride[d] == 0 : g->stride[d] != leaf->stride[d])
            return false;
    return true;
}

static tn_tensor *lying_as(tn_tensor *g, tn_tensor *leaf)
{
    if (g->base && tn__object_sole(g) &&
        lies_as(g, leaf)) /* as a view was made for it: dimensions of one element differ */
        return tn__restride(g, tn_dims_of(g->stride, g->ndim));
    if (!tn__contiguous(leaf) && !tn__is_dense(leaf->shape, leaf->stride, leaf->ndim))
        return tn_clone_in(g, TN_CONTIGUOUS_FORMAT);
    tn_tensor *made = tn_empty_like(leaf, .dtype = g->dtype);
    return made ? tn_copy_(made, g) : NULL;
}

static growth growth_of(const task *k, const tn_tensor *leaf, tn_tensor *g)
{
    if (leaf->grad)
        return k->record || tn__wants_grad(leaf->grad) ? SUM : IN_PLACE;
    if (k->record)
        return TAKEN;
    return tn__is_private(g) && lies_as(g, leaf) ? TAKEN
                                                 : CLONED; /* of a view of something: a leaf's gradient is its own */
}

/* On the current streams. *old: what the leaf had, to be released. */
static tn_status add_to_leaf(const task *k, tn_tensor *leaf, tn_tensor *g, growth how, tn_tensor **old)
{
    tn_tensor *total;
    if (how == IN_PLACE)
        return tn_add_(leaf->grad, g) ? TN_OK : tn_error_code();
    total = how == TAKEN ? tn__object_retain(g) : own(k, how == SUM ? tn_add(leaf->grad, g) : lying_as(g, leaf));
    if (!total)
        return tn_error_code();
    *old = leaf->grad;
    leaf->grad = total;
    return TN_OK;
}

/* A leaf's gradient is ready on the stream of its memory, whichever thread made it: one that is taken as it came was computed
 * there (sums of a node's gradients, which may lie elsewhere, are never taken: the node's entry holds them too). Others are
 * added there; new ones are made on the caller's stream. */
static tn_status add_in_order(task *k, tn_tensor *leaf, tn_tensor *g, tn_tensor **old)
{
    growth how = growth_of(k, leaf, g);
    tn__stream *ready = tn__backward_stream_of(g),
               *here = how == TAKEN ? ready : tn__backward_stream_caller(&k->s->streams, ready), *before;
    if (how == IN_PLACE && leaf->grad->storage && leaf->grad->storage->stream)
        here = leaf->grad->storage->stream;
    tn_status e = TN__STREAM_WAIT(backward_leaf, here, ready);
    if (!e)
        e = tn__backward_stream_enter(&k->s->streams, here, &before);
    if (e)
        return e;
    e = add_to_leaf(k, leaf, g, how, old);
    tn__backward_stream_leave(before);
    return e;
}

/* A leaf that was given other memory after the forward (its module was moved or converted, its data was set): the graph
 * still has what it was. */
static TN_COLD tn_status moved_since(const tn_tensor *leaf, const tn_tensor *g)
{
    if (!tn__same_shape(g->shape, g->ndim, leaf->shape, leaf->ndim))
        return tn__error(TN_EGRAD,
                         "invalid gradient - got %s but expected shape compatible with %s\n  the tensor was given "
                         "other data after the forward: run that again",
                         tn__shape_str(g->shape, g->ndim).s, tn__shape_str(leaf->shape, leaf->ndim).s);
    return tn__error(TN_EGRAD,
                     "invalid gradient - expected device %s and dtype %s but got device %s and dtype %s\n  the tensor "
                     "was moved or converted after the forward: run that again",
                     tn_device_text(leaf->device).s, tn_dtype_name(leaf->dtype), tn_device_text(g->device).s,
                     tn_dtype_name(g->dtype));
}

/* leaf.grad += g; takes the caller's reference. One leaf may be reached from two threads. */
static tn_status accumulate(task *k, tn_tensor *leaf, tn_tensor *g)
{
    pthread_mutex_t *lock = &leaf_locks[tn__pointer_hash(leaf) % LOCKS];
    tn_tensor *old = NULL;
    tn_status e = TN_OK;
    if (TN_UNLIKELY(g->dtype != leaf->dtype || !tn__same_device(g->device, leaf->device) ||
                    !tn__same_shape(g->shape, g->ndim, leaf->shape, leaf->ndim))) {
        e = moved_since(leaf, g);
    } else {
        pthread_mutex_lock(lock);
        e = add_in_order(k, leaf, g, &old);
        pthread_mutex_unlock(lock);
    }
    tn__object_release(old);
    tn__object_release(g);
    return e;
}

bool tn__backward_copies(const tn__backward *b, int32_t i, const tn_tensor *g)
{
    tn_tensor *leaf = (tn_tensor *)b->node->edge[i].to;
    if (!b->accumulates || leaf->obj.cls != &tn__tensor_class || !lies_as(g, leaf))
        return false;
    pthread_mutex_t *lock = &leaf_locks[tn__pointer_hash(leaf) % LOCKS];
    pthread_mutex_lock(lock);
    const bool none = !leaf->grad;
    pthread_mutex_unlock(lock);
    return none;
}

/* A gradient in its input's shape and dtype: broadcasting and promotion undone. */
static tn_tensor *sum_to_shape(tn_tensor *g, const tn__meta *m)
{
    if (!tn__same_shape(g->shape, g->ndim, m->shape, m->ndim))
        g = tn_sum_to_size(g, tn_dims_of(m->shape, m->ndim));
    if (g && (g->dtype != m->dtype || !tn__same_device(g->device, m->device)))
        g = tn_to(g, .dtype = m->dtype, .device = m->device);
    return g;
}

/* ---- the backward pass ---- */

static target *find_target(const task *k, const tn__object *to, uint32_t output)
{
    for (int64_t i = 0; i < k->n_targets; i++)
        if (k->targets[i].edge.to == to && (k->targets[i].edge.output == output || to->cls == &tn__tensor_class))
            return &k->targets[i];
    return NULL;
}

static int compare_pointers(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t) * (void *const *)a, y = (uintptr_t) * (void *const *)b;
    return x < y ? -1 : x > y;
}

/* Does a gradient there help anybody? */
static bool is_useful(const task *k, const tn__object *to)
{
    if (!k->targets)
        return true;
    if (to->cls == &tn__tensor_class)
        return find_target(k, to, 0) != NULL;
    int64_t lo = 0, hi = k->n_useful - 1;
    while (lo <= hi) {
        int64_t mid = (lo + hi) / 2;
        int c = compare_pointers(&to, &k->useful[mid]);
        if (c == 0)
            return true;
        if (c < 0)
            hi = mid - 1;
        else
            lo = mid + 1;
    }
    return false;
}

/* g (a reference is taken over) is a leaf's. */
static tn_status arrive(task *k, tn_tensor *leaf, tn_tensor *g)
{
    target *t = k->targets ? find_target(k, &leaf->obj, 0) : NULL;
    if (!tn__requires_grad(leaf)) { /* it wants none any more: requires_grad_(False), detach_() */
        tn__object_release(g);
        return TN_OK;
    }
    if (!k->targets || (t && t->accumulate))
        return accumulate(k, leaf, g);
    if (t)
        return add_to(k, &t->grad, &t->on, caller_of(k, g), g);
    tn__object_release(g);
    return TN_OK;
}

/* Sends g (a reference is taken over) along an edge. */
static tn_status send(task *k, const tn__edge *edge, tn_tensor *g)
{
    tn__object *node = edge->to;
    if (node->cls == &tn__tensor_class) {
        node = atomic_load_explicit(&((tn_tensor *)edge->to)->accumulator, memory_order_acquire);
        if (TN_LIKELY(!node) || !is_useful(k, edge->to))
            return arrive(k, (tn_tensor *)edge->to, g);
    }
    int64_t i = tn__scratch_find(k->s, (tn__node *)node);
    if (i < 0) {
        tn__object_release(g);
        return TN_ENOMEM;
    }
    tn__pending *to = &k->s->entries[i];
    if (to->done) { /* cannot be while edges lead to smaller numbers; a lost gradient would be silent */
        tn__object_release(g);
        return tn__error(TN_EGRAD, "a defect of Tenon: a gradient came for %s after its turn",
                         tn__node_name((tn__node *)node).s);
    }
    tn__stream *here = tn__backward_stream_of(g);
    if (to->node->stream && (!here || tn__same_device(here->device, to->node->stream->device)))
        here = to->node->stream; /* else it is a node over several devices: each has its own */
    tn_status e = add_to(k, &tn__pending_g(to)[edge->output], &tn__pending_on(to)[edge->output], here, g);
    if (TN_UNLIKELY(to->node->arrived != NULL) && !e)
        e = to->node->arrived(to->node, edge->output, tn__pending_on(to)[edge->output]);
    return e;
}

/* The gradient of an output, for who asked for it: a tensor that keeps it, and tn_grad. */
static tn_status capture(task *k, tn__node *n, uint32_t o, tn_tensor *g)
{
    tn_status s = TN_OK;
    if (TN_UNLIKELY(atomic_load_explicit(&n->retained[o], memory_order_relaxed) != NULL)) {
        tn_tensor *t = tn__retained_grad(n, o);
        if (t)
            s = accumulate(k, t, tn__object_retain(g));
        tn__object_release(t);
    }
    target *want = k->targets ? find_target(k, &n->obj, o) : NULL;
    if (!s && want)
        s = want->accumulate ? accumulate(k, want->t, tn__object_retain(g))
                             : add_to(k, &want->grad, &want->on, caller_of(k, g), tn__object_retain(g));
    return s;
}

/* Hooks see the gradients of the outputs first. */
static tn_status look(task *k, tn__pending *e)
{
    tn_status s = TN_OK;
    tn_tensor **g = tn__pending_g(e);
    bool hooked = atomic_load_explicit(&e->node->hooks, memory_order_acquire) != NULL;
    for (uint32_t o = 0; o < (uint32_t)e->node->n_out && !s; o++) {
        if (!g[o])
            continue;
        if (TN_UNLIKELY(hooked))
            s = tn__hooks_run(k->self, e->node, o, &g[o]);
        if (!s)
            s = capture(k, e->node, o, g[o]);
    }
    return s;
}

/* A derivative's result: from its scope where it was made there, else one reference more. */
static tn_tensor *take(const task *k, const tn_scope *scope, tn_tensor *g)
{
    if (atomic_load_explicit(&g->obj.scope, memory_order_relaxed) == scope)
        return own(k, g);
    return tn__object_retain(g);
}

static tn_status spread(task *k, const tn_scope *scope, tn__node *n, tn_tensor **grad)
{
    for (int32_t i = 0; i < n->n_in; i++) {
        if (!grad[i] || !n->edge[i].to)
            continue;
        tn_tensor *g = sum_to_shape(grad[i], &n->in[i]);
        if (!g)
            return tn_error_code();
        tn_status e = send(k, &n->edge[i], take(k, scope, g));
        if (e)
            return e;
    }
    return TN_OK;
}

static tn_status run_node(task *k, const tn_scope *scope, tn__pending *e)
{
    tn__node *n = e->node;
    tn_tensor *few[TN__MAX_IN] = {NULL}, **grad = few;
    bool few_needs[TN__MAX_IN], *need = few_needs;
    size_t bytes = (size_t)n->n_in * (sizeof *grad + sizeof *need);
    if (n->n_in > TN__MAX_IN) {
        grad = tn__block_zero(bytes);
        if (!grad)
            return tn__error_memory("a backward pass", bytes);
        need = (bool *)(grad + n->n_in);
    }
    bool any = false;
    for (int32_t i = 0; i < n->n_in; i++) {
        need[i] = n->edge[i].to && is_useful(k, n->edge[i].to);
        any |= need[i];
    }
    tn__backward b = {
        .node = n, .g = tn__pending_g(e), .need = need, .grad = grad, .accumulates = !k->targets && !k->record};
    tn_status s = TN_OK;
    bool given = false;
    for (int32_t o = 0; o < n->n_out; o++)
        given |= b.g[o] != NULL;
    if (any && given)
        s = n->derive(&b);
    if (!s && tn__anomaly_asks_nan())
        s = tn__anomaly_nan(n, grad);
    if (!s)
        s = spread(k, scope, n, grad);
    if (grad != few)
        tn__block_put(grad, bytes);
    return s;
}

/* What waits for a leaf with hooks is there. Those see it where the caller sees it: on its stream. */
static tn_status accumulate_watched(task *k, tn__pending *e, tn_tensor *leaf)
{
    tn_status s = TN__STREAM_WAIT(backward_watched, tn__backward_stream_of(e->g[0]), e->on[0]);
    if (!s)
        s = look(k, e);
    if (!s)
        s = arrive(k, leaf, tn__object_retain(e->g[0]));
    if (s || (k->targets && !find_target(k, &leaf->obj, 0)->accumulate))
        return s;
    tn_tensor *sum = leaf->grad; /* it grew in place on the stream of its memory, which may be another one */
    if (sum && sum->storage)
        s = TN__STREAM_WAIT(backward_grown, tn__backward_stream_of(sum), sum->storage->stream);
    return s ? s : tn__hooks_run_after(k->self, e->node, leaf);
}

/* Does a node that was told of each gradient as it came wait for them by itself? Not where others look at them first, and
 * not where its derivative is recorded. */
static bool waits_itself(const task *k, const tn__node *n)
{
    if (TN_LIKELY(!n->arrived) || k->targets || k->record || atomic_load_explicit(&n->hooks, memory_order_relaxed))
        return false;
    for (int32_t o = 0; o < n->n_out; o++)
        if (atomic_load_explicit(&n->retained[o], memory_order_relaxed))
            return false;
    return true;
}

/* The stream on which a node reads a gradient that is ready on another one: its own, or, where its outputs lie on several
 * devices, the current one of that device. */
static tn__stream *reader_of(const tn__node *n, const tn__stream *on)
{
    if (TN_LIKELY(!on || !n->stream || tn__same_device(on->device, n->stream->device)))
        return n->stream;
    return tn__backward_stream_current(on->device);
}

/* One node's turn, on the stream of its forward. */
static tn_status visit(task *k, tn__pending *e)
{
    tn_scope scope;
    tn__stream *before = NULL;
    tn_status s = TN_OK;
    tn_tensor *leaf = tn__accumulator_leaf(e->node);
    const bool waits = !waits_itself(k, e->node);
    for (int32_t o = 0; o < e->node->n_out && waits && !s; o++)
        s = TN__STREAM_WAIT(backward_input, reader_of(e->node, tn__pending_on(e)[o]), tn__pending_on(e)[o]);
    if (!s)
        s = tn__backward_stream_enter(&k->s->streams, e->node->stream, &before);
    if (s)
        return s;
    tn__scope_push(k->self, &scope);
    s = leaf ? accumulate_watched(k, e, leaf) : look(k, e);
    if (!s && !leaf)
        s = run_node(k, &scope, e);
    tn__scope_pop(k->self, &scope, NULL);
    tn__backward_stream_leave(before);
    return s;
}

/* Does the pass go through the node? Where it ends at its outputs, what was saved for its derivative stays. */
static bool passes_on(const task *k, const tn__node *n)
{
    bool any = !k->targets;
    for (int32_t i = 0; i < n->n_in && !any; i++)
        any = n->edge[i].to && is_useful(k, n->edge[i].to);
    return any;
}

static tn_status run_graph(task *k)
{
    tn__scratch *s = k->s;
    int64_t looked = 0;
    while (s->heap_n) {
        tn__pending e;
        if (tn__has_wait_check() && tn__poll_wait_check(&looked))
            return tn_error_code();
        tn__scratch_pop(s, &e);
        tn_status st = visit(k, &e);
        tn__pending_release(&e);
        if (st) {
            if (tn__anomaly_watched())
                tn__anomaly_failed(e.node);
            if (e.node->site)
                tn__error_append("\n  in the backward of %s, recorded at %s", tn__node_name(e.node).s, e.node->site);
            return st;
        }
        if (!k->retain && passes_on(k, e.node))
            tn__node_free_saved(e.node);
    }
    return TN_OK;
}

/* ---- which nodes lead to a target ---- */

typedef struct node_list {
    tn__node **node;
    int64_t n, cap;
} node_list;

static int by_seq(const void *a, const void *b)
{
    const tn__node *x = *(tn__node *const *)a, *y = *(tn__node *const *)b;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Every node reachable from the roots, without recursion; entries of the scratch serve as the visited set. */
static tn_status collect(task *k, node_list *list)
{
    for (int64_t i = 0; i < k->s->entry_n; i++) {
        tn__node *n = k->s->entries[i].node;
        if (!tn__grow(&list->node, sizeof *list->node, &list->cap, list->n + 1))
            return tn__error_memory("a backward pass", sizeof *list->node * (size_t)list->n);
        list->node[list->n++] = n;
        for (int32_t e = 0; e < n->n_in; e++)
            if (n->edge[e].to && n->edge[e].to->cls == &tn__node_class &&
                tn__scratch_find(k->s, (tn__node *)n->edge[e].to) < 0)
                return TN_ENOMEM;
    }
    return TN_OK;
}

static bool node_useful(const task *k, const tn__node *n, const bool *marks, tn__node *const *sorted, int64_t count)
{
    for (int32_t o = 0; o < n->n_out; o++)
        if (find_target(k, &n->obj, (uint32_t)o))
            return true;
    for (int32_t e = 0; e < n->n_in; e++) {
        const tn__object *to = n->edge[e].to;
        if (!to)
            continue;
        if (to->cls == &tn__tensor_class) {
            if (find_target(k, to, 0))
                return true;
            continue;
        }
        tn__node *key = (tn__node *)(uintptr_t)to;
        int64_t lo = 0, hi = count - 1;
        while (lo <= hi) {
            int64_t mid = (lo + hi) / 2;
            int c = by_seq(&key, &sorted[mid]);
            if (c == 0) {
                if (marks[mid])
                    return true;
                break;
            }
            if (c < 0)
                hi = mid - 1;
            else
                lo = mid + 1;
        }
    }
    return false;
}

/* Marks nodes from the earliest on: a node's edges lead to earlier ones. */
static tn_status mark_useful(task *k)
{
    node_list list = {NULL, 0, 0};
    tn_status e = collect(k, &list);
    bool *marks = NULL;
    size_t bytes = (size_t)TN_MAX(list.n, 1) * sizeof *marks,
           useful_bytes = (size_t)TN_MAX(list.n, 1) * sizeof *k->useful;
    if (!e) {
        marks = tn__block_zero(bytes);
        k->useful = tn__block_get(useful_bytes);
        k->useful_cap = k->useful ? TN_MAX(list.n, 1) : 0;
        if (!marks || !k->useful)
            e = tn__error_memory("a backward pass", bytes);
    }
    if (!e) {
        int64_t n = 0;
        if (list.n)
            qsort(list.node, (size_t)list.n, sizeof *list.node, by_seq);
        for (int64_t i = 0; i < list.n; i++) {
            marks[i] = node_useful(k, list.node[i], marks, list.node, i);
            if (marks[i])
                k->useful[n++] = &list.node[i]->obj;
        }
        k->n_useful = n;
        qsort(k->useful, (size_t)n, sizeof *k->useful, compare_pointers);
    }
    tn__block_put(marks, bytes);
    tn__block_put(list.node, (size_t)list.cap * sizeof *list.node);
    return e;
}

/* ---- roots ---- */

static tn_tensor *root_gradient(tn_tensor *t, tn_tensor *g, int64_t i)
{
    if (!g || g == TN_NONE) {
        if (t->numel != 1)
            return tn__fail(TN_EGRAD, "grad can be implicitly created only for scalar outputs");
        return tn_ones_like(t);
    }
    if (!tn__same_shape(g->shape, g->ndim, t->shape, t->ndim))
        return tn__fail(TN_EGRAD,
                        "Mismatch in shape: grad_output[%lld] has a shape of torch.Size(%s) and output[%lld] has a "
                        "shape of torch.Size(%s).",
                        (long long)i, tn__shape_str(g->shape, g->ndim).s, (long long)i,
                        tn__shape_str(t->shape, t->ndim).s);
    if (g->ndim && !tn__same_device(g->device, t->device))
        return tn__fail(TN_EDEVICE, "invalid gradient at index %lld - expected device %s but got %s", (long long)i,
                        tn_device_text(t->device).s, tn_device_text(g->device).s);
    tn__meta m = {.dtype = t->dtype, .ndim = t->ndim, .device = t->device};
    for (int32_t d = 0; d < t->ndim; d++)
        m.shape[d] = t->shape[d];
    return sum_to_shape(g, &m);
}

static tn_status check_roots(tn_tensors roots)
{
    for (size_t i = 0; i < roots.n; i++) {
        if (!roots.t[i] || roots.t[i] == TN_NONE)
            return tn__poisoned("tn_backward");
        if (!tn__requires_grad(roots.t[i]) && !tn__needs_refresh(roots.t[i]))
            return tn__error(TN_EGRAD, "element %d of tensors does not require grad and does not have a grad_fn",
                             (int)i);
    }
    return TN_OK;
}

/* For tn_grad the graph is looked through before anything runs; the scratch serves both passes. */
static tn_status find_useful(task *k, tn_tensors roots)
{
    tn_status e = TN_OK;
    for (size_t i = 0; i < roots.n && !e; i++) {
        tn__edge edge = tn__gradient_edge(roots.t[i], &e);
        if (!e && edge.to->cls == &tn__node_class && tn__scratch_find(k->s, (tn__node *)edge.to) < 0)
            e = TN_ENOMEM;
        tn__object_release(edge.to);
    }
    if (!e)
        e = mark_useful(k);
    tn__scratch_put(k->self, k->s);
    k->s = tn__scratch_get(k->self);
    return k->s ? e : TN_ENOMEM;
}

static tn_status send_roots(task *k, tn_tensors roots, tn_tensors gradients)
{
    tn_status e = TN_OK;
    for (size_t i = 0; i < roots.n && !e; i++) {
        tn_tensor *g = root_gradient(roots.t[i], i < gradients.n ? gradients.t[i] : NULL, (int64_t)i);
        if (!g)
            return tn_error_code();
        tn__edge edge = tn__gradient_edge(roots.t[i], &e);
        if (!e && is_useful(k, edge.to))
            e = send(k, &edge, tn__object_retain(g));
        tn__object_release(edge.to);
    }
    return e;
}

static tn_status run(task *k, tn_tensors roots, tn_tensors gradients)
{
    tn_scope scope;
    pthread_once(&once, start);
    tn_status e = check_roots(roots);
    if (e)
        return e;
    k->self = tn__self();
    k->s = tn__scratch_get(k->self);
    if (!k->s)
        return TN_ENOMEM;
    bool was = tn__set_no_grad(!k->record);
    tn__scope_push(k->self, &scope);
    if (k->targets)
        e = find_useful(k, roots);
    if (!e)
        e = send_roots(k, roots, gradients);
    if (!e)
        e = run_graph(k);
    tn__scope_pop(k->self, &scope, NULL);
    tn__set_no_grad(was);
    if (k->s) {
        e = tn__backward_streams_close(&k->s->streams, e);
        tn__scratch_put(k->self, k->s);
    }
    return e;
}

/* ---- public ---- */

static void free_targets(task *k, size_t bytes)
{
    for (int64_t i = 0; i < k->n_targets; i++) {
        tn__object_release(k->targets[i].edge.to);
        tn__object_release(k->targets[i].grad);
    }
    tn__block_put(k->targets, bytes);
    tn__block_put(k->useful, (size_t)k->useful_cap * sizeof *k->useful);
}

static tn_status make_targets(task *k, tn_tensors inputs, bool accumulate_them)
{
    size_t bytes = TN_MAX(inputs.n, 1) * sizeof *k->targets;
    k->targets = tn__block_zero(bytes);
    if (!k->targets)
        return tn__error_memory("a list of inputs", bytes);
    for (size_t i = 0; i < inputs.n; i++) {
        tn_status e = TN_OK;
        tn_tensor *t = inputs.t[i];
        if (!t || t == TN_NONE)
            return tn__poisoned("tn_grad");
        if (!tn__wants_grad(t))
            return tn__error(TN_EGRAD, "One of the differentiated Tensors does not require grad");
        target *to = &k->targets[k->n_targets];
        to->t = t;
        to->accumulate = accumulate_them;
        to->edge = tn__gradient_edge(t, &e);
        if (e)
            return e;
        k->n_targets++;
    }
    return TN_OK;
}

static tn_status backward(task *k, tn_tensors roots, tn_tensors gradients, tn_tensors inputs)
{
    size_t bytes = TN_MAX(inputs.n, 1) * sizeof *k->targets;
    tn_status e = inputs.n ? make_targets(k, inputs, true) : TN_OK;
    if (!e)
        e = run(k, roots, gradients);
    if (k->targets)
        free_targets(k, bytes);
    return e;
}

tn_status tn_backward_opt(tn_tensor *t, const tn_backward_options *options)
{
    tn_backward_options o;
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    task k = {.record = o.create_graph, .retain = o.retain_graph || o.create_graph};
    return backward(&k, TN_TENSORS(t), o.gradient ? TN_TENSORS(o.gradient) : (tn_tensors){NULL, 0}, o.inputs);
}

tn_status tn_backward_all_opt(tn_tensors ts, const tn_backward_all_options *options)
{
    tn_backward_all_options o;
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    task k = {.record = o.create_graph, .retain = o.retain_graph || o.create_graph};
    if (o.gradients.n && o.gradients.n != ts.n)
        return tn__error(TN_EGRAD, "got %zu tensors and %zu gradients", ts.n, o.gradients.n);
    return backward(&k, ts, o.gradients, o.inputs);
}

/* A reference of g for the caller or its scope. A new tensor, which nobody else has seen, takes its own slot there. */
static tn_tensor *give(tn__thread *self, tn_tensor *g)
{
    if (!tn__object_sole(g))
        return tn__scope_hold(self, g);
    tn__scope_adopt(self, tn__object_retain(g));
    return g;
}

tn_status tn_grad_opt(tn_tensors outputs, tn_tensors inputs, tn_tensor **grads, const tn_grad_options *options)
{
    tn_grad_options o;
    tn__options_in(&o, sizeof o, options);
    tn__thread *self = tn__enter(o.site);
    for (size_t i = 0; i < inputs.n; i++)
        grads[i] = NULL;
    task k = {.record = o.create_graph, .retain = o.retain_graph || o.create_graph};
    size_t bytes = TN_MAX(inputs.n, 1) * sizeof *k.targets;
    tn_status e = make_targets(&k, inputs, false);
    if (!e)
        e = run(&k, outputs, o.grad_outputs);
    for (int64_t i = 0; i < k.n_targets && !e && !o.allow_unused; i++)
        if (!k.targets[i].grad && find_target(&k, k.targets[i].edge.to, k.targets[i].edge.output) == &k.targets[i])
            e = tn__error(TN_EGRAD,
                          "The differentiated Tensor at index %lld appears to not have been used in the graph. Set "
                          "allow_unused=True if this is the desired behavior.",
                          (long long)i);
    for (int64_t i = 0; i < k.n_targets && !e; i++) { /* an input that was named twice gets the same gradient twice */
        target *first = find_target(&k, k.targets[i].edge.to, k.targets[i].edge.output);
        if (!first->grad)
            continue;
        grads[i] = give(self, first->grad);
        if (!grads[i])
            e = TN_ENOMEM;
    }
    for (size_t i = 0; i < inputs.n && e; i++) /* what was given before memory ran out is the scope's */
        grads[i] = NULL;
    if (k.targets)
        free_targets(&k, bytes);
    return e;
}
