#include "core/object.h"
#include "core/alloc.h"
#include "core/error.h"

static void unlink_object(tn_scope *s, tn__object *o)
{
    if (o->prev)
        o->prev->next = o->next;
    else
        s->first = o->next;
    if (o->next)
        o->next->prev = o->prev;
    o->next = o->prev = NULL;
    atomic_store_explicit(&o->scope, NULL, memory_order_relaxed);
}

static tn_scope *scope_of(void *object)
{
    return atomic_load_explicit(&((tn__object *)object)->scope, memory_order_relaxed);
}

void tn__object_destroy(tn__object *o)
{
    tn__thread *t = tn__self();
    tn_scope *s = scope_of(o);
    if (s) /* the user released the scope's reference: early, but theirs to do */
        unlink_object(s, o);
    if (t->destroying) {
        o->next = t->doomed;
        t->doomed = o;
        return;
    }
    t->destroying = true;
    for (;;) {
        o->cls->destroy(o);
        o = t->doomed;
        if (!o)
            break;
        t->doomed = o->next;
    }
    t->destroying = false;
}

static bool on_stack(const tn__thread *t, const tn_scope *s)
{
    for (const tn_scope *i = t->scope; i; i = i->outer)
        if (i == s)
            return true;
    return false;
}

void tn__scope_disown(tn__thread *t, void *object)
{
    tn__object *o = object;
    tn_scope *s = atomic_load_explicit(&o->scope, memory_order_relaxed);
    if (!s)
        return;
    if (on_stack(t, s))
        unlink_object(s, o);
    else
        tn__object_retain(o);
}

static void release_all(tn_scope *s)
{
    while (s->first) {
        tn__object *o = s->first;
        unlink_object(s, o);
        tn__object_release(o);
    }
}

void *tn__scope_pop(tn__thread *t, tn_scope *s, void *keep)
{
    t->scope = s->outer;
    if (keep && scope_of(keep) == s) {
        unlink_object(s, keep);
        tn__scope_adopt(t, keep);
    }
    release_all(s);
    if (s->allocated)
        tn__block_put(s, sizeof *s);
    return keep;
}

/* Closes every scope opened after s and then s, handing keep, whichever of them holds it, outside. */
static void *close_through(tn__thread *t, tn_scope *s, void *keep)
{
    tn_scope *holder = keep ? scope_of(keep) : NULL;
    while (t->scope != s) {
        tn__scope_pop(t, t->scope, t->scope == holder ? keep : NULL);
        holder = keep ? scope_of(keep) : NULL; /* it moves outward with each scope closed */
    }
    return tn__scope_pop(t, s, keep);
}

void tn__barrier_push(tn__thread *t, tn_scope *s)
{
    tn__scope_push(t, s);
    s->barrier = true;
    t->callbacks++;
}

void *tn__barrier_pop(tn__thread *t, tn_scope *s, void *keep)
{
    t->callbacks--;
    return close_through(t, s, keep);
}

/* ---- public ---- */

tn_scope *tn_scope_open(void)
{
    tn__thread *t = tn__self();
    tn_scope *s = tn__block_get(sizeof *s);
    if (!s)
        return tn__fail(TN_ENOMEM, "tn_scope_open: out of memory");
    tn__scope_push(t, s);
    s->allocated = true;
    return s;
}

/* True if s is on this thread's stack and may be closed now. */
static bool may_close(tn__thread *t, tn_scope *s)
{
    for (tn_scope *i = t->scope; i; i = i->outer) {
        if (i == s && i->allocated)
            return true;
        if (i->barrier) {
            tn__error(TN_EINVAL, "tn_scope_close: the scope was opened outside the callback that is running; "
                                 "it stays open until the callback has returned");
            return false;
        }
    }
    tn__error(TN_EINVAL, "tn_scope_close: not an open scope of this thread (closed before, or another thread's)");
    return false;
}

void tn_scope_close(tn_scope *scope)
{
    tn_scope_close_keep(scope, NULL);
}

tn_tensor *tn_scope_close_keep(tn_scope *scope, tn_tensor *t)
{
    tn__thread *self = tn__self();
    if (scope && may_close(self, scope))
        close_through(self, scope, t == TN_NONE ? NULL : t);
    return t;
}

static void *keep_object(void *object)
{
    if (object && object != (void *)TN_NONE)
        tn__scope_disown(tn__self(), object);
    return object;
}

static void *retain_object(void *object)
{
    return object && object != (void *)TN_NONE ? tn__object_retain(object) : object;
}

static void release_object(void *object)
{
    if (object && object != (void *)TN_NONE)
        tn__object_release(object);
}

tn_tensor *tn_keep(tn_tensor *t)
{
    return keep_object(t);
}

tn_tensor *tn_retain(tn_tensor *t)
{
    return retain_object(t);
}

void tn_release(tn_tensor *t)
{
    release_object(t);
}

tn_module *tn_module_keep(tn_module *m)
{
    return keep_object(m);
}

tn_module *tn_module_retain(tn_module *m)
{
    return retain_object(m);
}

void tn_module_release(tn_module *m)
{
    release_object(m);
}
