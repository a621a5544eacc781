/* Reference counts, destruction without recursion, and scopes. */
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

static tn_scope *scope_of(const void *object)
{
    return atomic_load_explicit(&((const tn__object *)object)->scope, memory_order_relaxed);
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

/* ---- references beside an object's own slot ---- */

void *tn__scope_hold(tn__thread *t, void *object)
{
    tn_scope *s = t->scope;
    if (s && (!s->held || s->held->n == TN_COUNT(s->held->object))) {
        tn__held *block = tn__block_get(sizeof *block);
        if (!block)
            return tn__fail(TN_ENOMEM, "out of memory for a reference");
        block->n = 0;
        block->next = s->held;
        s->held = block;
    }
    tn__object_retain(object);
    if (s)
        s->held->object[s->held->n++] = object;
    return object;
}

void *tn__scope_receive(tn__thread *t, void *object)
{
    if (!t->scope)
        return object;
    if (tn__object_sole(object)) { /* so no scope has it */
        tn__scope_adopt(t, object);
        return object;
    }
    void *held = tn__scope_hold(t, object);
    tn__object_release(object);
    return held;
}

static tn__object **find_held(const tn_scope *s, const void *object)
{
    for (tn__held *block = s->held; block; block = block->next)
        for (size_t i = block->n; i-- > 0;)
            if (block->object[i] == object)
                return &block->object[i];
    return NULL;
}

/* The first block, which alone may be partly filled, gives up its last entry. */
static tn__object *last_held(tn_scope *s)
{
    tn__held *block = s->held;
    tn__object *o = block->object[--block->n];
    if (!block->n) {
        s->held = block->next;
        tn__block_put(block, sizeof *block);
    }
    return o;
}

bool tn__scope_owns(const tn_scope *s, const void *object)
{
    return scope_of(object) == s || find_held(s, object);
}

/* Takes one reference of o out of s: the caller owns it. False if s has none. */
static bool take(tn_scope *s, tn__object *o)
{
    if (scope_of(o) == s) {
        unlink_object(s, o);
        return true;
    }
    tn__object **entry = find_held(s, o);
    if (!entry)
        return false;
    tn__object *last = s->held->object[s->held->n - 1];
    *entry = last;
    last_held(s);
    return true;
}

void tn__scope_disown(tn__thread *t, void *object)
{
    for (tn_scope *s = t->scope; s; s = s->outer)
        if (take(s, object))
            return;
    if (scope_of(object)) /* another thread's */
        tn__object_retain(object);
}

/* Entries go first: should the user have released the slot's reference early, the object leaves its slot as it dies. */
static void release_all(tn_scope *s)
{
    while (s->held)
        tn__object_release(last_held(s));
    while (s->first) {
        tn__object *o = s->first;
        unlink_object(s, o);
        tn__object_release(o);
    }
}

/* Moves a reference of keep from s, which is closing, to the scope outside; without asking for memory. */
static void hand_out(tn_scope *s, tn__object *keep)
{
    tn_scope *outer = s->outer;
    if (scope_of(keep) == s) {
        unlink_object(s, keep);
        tn__scope_adopt(tn__self(), keep);
        return;
    }
    tn__object **entry = find_held(s, keep);
    if (!entry)
        return;
    *entry = s->held->object[s->held->n - 1];
    if (!outer || (outer->held && outer->held->n < TN_COUNT(outer->held->object))) {
        last_held(s);
        if (outer)
            outer->held->object[outer->held->n++] = keep;
        return;
    }
    tn__held *block = s->held; /* its other entries end here; it goes outside with keep alone */
    s->held = block->next;
    for (size_t i = 0; i + 1 < block->n; i++)
        tn__object_release(block->object[i]);
    *block = (tn__held){.next = outer->held, .n = 1, .object = {keep}};
    outer->held = block;
}

void *tn__scope_pop(tn__thread *t, tn_scope *s, void *keep)
{
    t->scope = s->outer;
    if (keep)
        hand_out(s, keep);
    release_all(s);
    if (s->allocated)
        tn__block_put(s, sizeof *s);
    return keep;
}

/* Closes every scope opened after s and then s; a reference of keep goes outward with each. */
static void *close_through(tn__thread *t, tn_scope *s, void *keep)
{
    while (t->scope != s)
        tn__scope_pop(t, t->scope, keep);
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

tn_scope *tn_scope_suspend(void)
{
    tn__thread *t = tn__self();
    tn_scope *open = t->scope;
    t->scope = NULL;
    return open;
}

void tn_scope_resume(tn_scope *open)
{
    tn__self()->scope = open;
}

tn_scope *tn_scope_open(void)
{
    tn__thread *t = tn__enter(TN__NOWHERE);
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
    tn__thread *self = tn__enter(TN__NOWHERE);
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

tn_tensor *tn_scope_hold(tn_tensor *t)
{
    return t && t != TN_NONE ? tn__scope_hold(tn__self(), t) : t;
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
