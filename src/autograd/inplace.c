/* In-place writes and views: PyTorch's rules (torch/csrc/autograd, view and inplace documentation), its texts. */
#include "autograd/functions.h"
#include <pthread.h>

void tn__make_view(tn_tensor *v, tn_tensor *x, bool multi)
{
    v->base = tn__object_retain(x->base ? x->base : x);
    const uint32_t made = x->obj.flags & (TN__VIEW_NO_GRAD | TN__VIEW_MULTI); /* what x is a view of by says it first */
    const uint32_t here = tn__self()->no_grad ? TN__VIEW_NO_GRAD : multi ? TN__VIEW_MULTI : 0;
    v->obj.flags |= TN__IS_VIEW | (made ? made : here);
    v->view_version = tn__tensor_version(v);
}

tn_tensor *tn__no_view(tn_tensor *v)
{
    if (!v || !v->base)
        return v;
    tn__object_release(v->base);
    v->base = NULL;
    v->obj.flags &= ~(uint32_t)(TN__IS_VIEW | TN__VIEW_NO_GRAD | TN__VIEW_MULTI | TN__VIEW_FUNCTION);
    return v;
}

#define MULTIPLE_VIEWS \
    "This view is the output of a function that returns multiple views. Such functions do not allow the output views " \
    "to be " \
    "modified inplace. You should replace the inplace operation by an out-of-place one."
#define AMBIGUOUS \
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving " \
    "both the " \
    "view and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both " \
    "outside (if you want the inplace to be tracked)."

#define OWN_FUNCTION \
    "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic " \
    "to " \
    "handle view+inplace would override the custom backward associated with the custom Function, leading to " \
    "incorrect " \
    "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."

/* The node of a view that is one of several, and the texts about such: written to, or stale. */
static tn_status multi_view(const tn_tensor *t, const char *what_happened, const char *why)
{
    char name[64] = "a function";
    int64_t piece = 0;
    const tn__object *node = t->node;
    if (node && node->cls == &tn__node_class) {
        const tn__node *n = (const tn__node *)node;
        tn__node_text text = tn__node_name(n);
        if (n->op < TN__OPS && tn__ops[n->op].piece_at)
            memcpy(&piece, (const char *)n->params + tn__ops[n->op].piece_at - 1, sizeof piece);
        else
            piece = t->node_output;
        char *cut = NULL; /* the last one: a Function may be called BackwardHook */
        for (char *next = strstr(text.s, "Backward"); next; next = strstr(next + 1, "Backward"))
            cut = next;
        if (cut)
            *cut = '\0';
        memcpy(name, text.s, sizeof name);
    }
    return tn__error(TN_EGRAD, "Output %lld of %s is a view and %s. %s", (long long)piece, name, what_happened, why);
}

/* Views keep the memory that their base had: what is done to them says nothing about the base any more. */
static TN_COLD tn_status moved_base(void)
{
    return tn__error(TN_EGRAD,
                     "a view is used whose base was given other memory since (its data was set, or its module "
                     "moved): take the view again, or detach() it");
}

tn_status tn__check_inplace(const tn_tensor *t, bool records)
{
    bool wanted = tn__wants_grad(t);
    if (tn__self()->no_grad || !(wanted || records))
        return TN_OK;
    if (t->base) {
        if (t->storage != t->base->storage)
            return moved_base();
        if (wanted && !t->base->node && !(t->obj.flags & TN__VIEW_FUNCTION))
            return tn__error(TN_EGRAD, "a view of a leaf Variable that requires grad is being used in an in-place "
                                       "operation.");
        if (t->obj.flags & TN__VIEW_FUNCTION)
            return multi_view(t, "is being modified inplace", OWN_FUNCTION);
        if (t->obj.flags & TN__VIEW_MULTI)
            return multi_view(t, "is being modified inplace", MULTIPLE_VIEWS);
        if (t->obj.flags & TN__VIEW_NO_GRAD)
            return tn__error(TN_EGRAD,
                             "A view was created in no_grad mode and is being modified inplace with grad mode "
                             "enabled. " AMBIGUOUS);
        return TN_OK;
    }
    if (t->obj.flags & TN__REQUIRES_GRAD)
        return tn__error(TN_EGRAD, "a leaf Variable that requires grad is being used in an in-place operation.");
    return TN_OK;
}

/* PyTorch's test for shared memory: ranges of dense tensors in the same storage. ALL: element by element. */
typedef enum overlap { APART, IN_PART, ALL } overlap;

static overlap overlap_of(const tn_tensor *a, const tn_tensor *b)
{
    if (a == b)
        return ALL;
    if (!a->storage || a->storage != b->storage || a->numel == 0 || b->numel == 0)
        return APART;
    if (!tn__is_dense(a->shape, a->stride, a->ndim) || !tn__is_dense(b->shape, b->stride, b->ndim))
        return APART;
    int64_t sa = (int64_t)tn__dtype_size(a->dtype), sb = (int64_t)tn__dtype_size(b->dtype);
    int64_t a0 = a->offset * sa, a1 = a0 + a->numel * sa, b0 = b->offset * sb, b1 = b0 + b->numel * sb;
    if (a0 == b0 && a1 == b1)
        return tn__same_shape(a->stride, a->ndim, b->stride, b->ndim) ? ALL : IN_PART;
    return a0 < b1 && b0 < a1 ? IN_PART : APART;
}

tn_status tn__check_apart(const tn_tensor *t, const tn_tensor *other, bool apart)
{
    overlap shared = other ? overlap_of(t, other) : APART;
    return shared == IN_PART || (shared == ALL && apart)
               ? tn__error(TN_EINVAL, "unsupported operation: some elements of the input tensor and the written-to "
                                      "tensor refer to a single memory location. Please clone() the tensor before "
                                      "performing the operation.")
               : TN_OK;
}

static tn__edge edge_of(tn_tensor *t)
{
    tn__object *node = t->node;
    if (node)
        return (tn__edge){tn__object_retain(node), t->node_output};
    if (t->obj.flags & TN__REQUIRES_GRAD)
        return (tn__edge){tn__object_retain(t), 0};
    return (tn__edge){NULL, 0};
}

/* Gives t another history, or none for now; what keeps its gradient moves along. The caller releases the old one. */
static tn__object *replace_node(tn_tensor *t, tn__node *n, uint32_t output)
{
    tn__object *old = t->node;
    bool keeps = t->obj.flags & TN__RETAINS_GRAD;
    if (keeps && old)
        tn__tensor_forget(t);
    t->node_output = output;
    t->node = n ? &n->obj : NULL;
    if (keeps && n)
        tn__keep_grad(t);
    return old;
}

/* Views may be read by several threads, and the first that reads a stale one makes its history. */
enum { VIEW_LOCKS = 32 };
static pthread_mutex_t view_locks[VIEW_LOCKS];
static pthread_once_t view_once = PTHREAD_ONCE_INIT;

static void init_view_locks(void)
{
    for (int i = 0; i < VIEW_LOCKS; i++)
        pthread_mutex_init(&view_locks[i], NULL);
}

static void start_view_locks(void)
{
    init_view_locks();
    pthread_atfork(NULL, NULL, init_view_locks);
}

static bool is_stale(const tn_tensor *v)
{
    return v->view_version != tn__tensor_version(v);
}

bool tn__needs_refresh(const tn_tensor *v)
{
    return v->base && tn__requires_grad(v->base) && is_stale(v);
}

static tn_status check_refresh(const tn_tensor *v)
{
    if (v->storage != v->base->storage)
        return moved_base();
    if (!is_stale(v) || !(v->obj.flags & (TN__VIEW_NO_GRAD | TN__VIEW_MULTI)))
        return TN_OK;
    bool multi = v->obj.flags & TN__VIEW_MULTI;
    if (v->obj.flags & TN__VIEW_FUNCTION && v->node)
        return multi_view(v, "its base or another view of its base has been modified inplace", OWN_FUNCTION);
    if (multi && v->node)
        return multi_view(v, "its base or another view of its base has been modified inplace", MULTIPLE_VIEWS);
    return tn__error(TN_EGRAD,
                     "A view was created in no_grad mode and its base or another view of its base has been modified "
                     "inplace with grad mode enabled. %s",
                     multi ? MULTIPLE_VIEWS : AMBIGUOUS);
}

/* A view whose base was written to since (through whatever alias): its history is now 'that part of the base'. */
static tn_status make_history(tn_tensor *v, tn__object **old)
{
    tn_status e = check_refresh(v);
    if (e)
        return e;
    tn__node *n = tn__view_node(v);
    if (!n)
        return TN_ENOMEM;
    tn__node_input(n, 0, v->base, edge_of(v->base));
    tn__node_output(n, 0, v);
    *old = replace_node(v, n, 0);
    v->view_version = tn__tensor_version(v); /* last: who sees it sees the node */
    return TN_OK;
}

static tn_status refresh_view(tn_tensor *v)
{
    tn__object *old = NULL;
    pthread_once(&view_once, start_view_locks);
    pthread_mutex_t *lock = &view_locks[((uintptr_t)v >> 8) % VIEW_LOCKS];
    pthread_mutex_lock(lock);
    tn_status e = tn__needs_refresh(v) ? make_history(v, &old) : TN_OK;
    pthread_mutex_unlock(lock);
    tn__object_release(old); /* may run a user's function */
    return e;
}

tn__edge tn__gradient_edge(tn_tensor *t, tn_status *status)
{
    *status = tn__needs_refresh(t) ? refresh_view(t) : TN_OK;
    if (*status)
        return (tn__edge){NULL, 0};
    return edge_of(t);
}

tn__node *tn__rebase_prepare(tn_tensor *t, tn__node *node)
{
    tn__node *s = tn__slices_node(t, node->n_in);
    if (!s)
        return NULL;
    tn__node_input(s, 0, t->base, edge_of(t->base));
    for (int32_t i = 1; i < node->n_in; i++) {
        s->in[i] = node->in[i];
        s->edge[i] = node->edge[i];
        if (s->edge[i].to)
            tn__object_retain(s->edge[i].to);
    }
    tn__node_output(s, 0, t->base);
    s->inner = node; /* owned from here on */
    return s;
}

void tn__rebase(tn_tensor *t, tn__node *node, uint32_t output, tn__node *slices)
{
    if (!t->base) {
        tn__object_release(replace_node(t, node, output));
        return;
    }
    tn__object_release(replace_node(t->base, slices, 0));
    tn__object_release(replace_node(t, NULL, 0));
    t->view_version = tn__tensor_version(t) - 1; /* stale: its own history is made anew when it is asked for */
}

tn_status tn_tensor_check_inplace(const tn_tensor *t, bool recorded)
{
    tn__enter(TN__NOWHERE);
    return !t || t == TN_NONE ? tn__poisoned("tn_tensor_check_inplace")
                              : tn__check_inplace(t, recorded && !tn__self()->no_grad);
}

/* ---- views in place ---- */

tn_status tn_tensor_set_view(tn_tensor *t, tn_tensor *view)
{
    tn__enter(TN__NOWHERE);
    if (!t || !view || t == TN_NONE || view == TN_NONE)
        return tn__poisoned("tn_tensor_set_view");
    if (!view->base || view->base != (t->base ? t->base : t) || view->storage != t->storage || view->dtype != t->dtype)
        return tn__error(TN_EINVAL, "tn_tensor_set_view: %s is no view of %s", tn__tensor_str(view).s,
                         tn__tensor_str(t).s);
    tn_status e = tn__check_inplace(t, false);
    if (e)
        return e;
    t->ndim = view->ndim;
    t->numel = view->numel;
    t->offset = view->offset;
    memcpy(t->shape, view->shape, sizeof t->shape);
    memcpy(t->stride, view->stride, sizeof t->stride);
    t->obj.flags = (t->obj.flags & ~(uint32_t)TN__CONTIGUOUS) | (view->obj.flags & TN__CONTIGUOUS);
    tn__tensor_written(t);
    if (t->base) { /* stale now: its history is made anew when it is asked for */
        tn__object_release(replace_node(t, NULL, 0));
    } else if (view->node) {
        tn__object_release(replace_node(t, (tn__node *)tn__object_retain(view->node), view->node_output));
    }
    return TN_OK;
}
