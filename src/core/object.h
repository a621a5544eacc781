/* core/object.h: reference counts and scopes.
 *
 * tn__object heads every counted struct. Destruction never recurses: an object whose last reference goes while another
 * one is being destroyed waits in a list, so a graph of any length is released with a flat stack.
 *
 * A scope owns references in two ways. The object's own slot (scope, next, prev) is for the thread that makes it, before
 * anybody else can see it: no memory, a few stores. Any further reference, and any to an object that other threads may
 * share, is an entry of the scope's list 'held', which never writes to the object.
 *
 * Invariants: an object's slot is written by the thread whose scope it names; the scope owns one reference for the slot
 * and one for each entry. next also links the list of the doomed, where no scope can hold the object any more.
 */
#ifndef TENON_CORE_OBJECT_H
#define TENON_CORE_OBJECT_H

#include "core/base.h"
#include "core/thread.h"
#include <tenon/scope.h>

typedef struct tn__class {
    const char *name;
    void (*destroy)(tn__object *); /* releases what it holds and the memory itself */
} tn__class;

struct tn__object {
    _Atomic int32_t refs;
    uint32_t flags; /* free for the class */
    const tn__class *cls;
    _Atomic(tn_scope *) scope;
    tn__object *next, *prev;
};

typedef struct tn__held {
    struct tn__held *next;
    size_t n;
    tn__object *object[14];
} tn__held;

/* A scope. Library code keeps its own on the C stack: tn__scope_push/pop; users' come from tn_scope_open. */
struct tn_scope {
    tn_scope *outer;
    tn__object *first;
    tn__held *held;
    bool barrier;   /* a user callback runs inside: scopes outside it stay open until it returns */
    bool allocated; /* made by tn_scope_open */
};

static inline void tn__object_init(tn__object *o, const tn__class *cls)
{
    atomic_init(&o->refs, 1);
    o->flags = 0;
    o->cls = cls;
    atomic_init(&o->scope, NULL);
    o->next = o->prev = NULL;
}

static inline void *tn__object_retain(void *object)
{
    tn__object *o = object;
    atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
    return object;
}

void tn__object_destroy(tn__object *o);

static inline void tn__object_release(void *object)
{
    tn__object *o = object;
    if (!o)
        return;
    /* sole owner: nobody else can change the count, so no atomic read-modify-write is needed */
    if (atomic_load_explicit(&o->refs, memory_order_acquire) == 1 ||
        atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1)
        tn__object_destroy(o);
}

/* True if the caller's reference is the only one. */
static inline bool tn__object_sole(void *object)
{
    return atomic_load_explicit(&((tn__object *)object)->refs, memory_order_acquire) == 1;
}

/* Gives the caller's reference of a new object, which no other thread has seen, to the innermost scope, if there is one. */
static inline void tn__scope_adopt(tn__thread *t, void *object)
{
    tn_scope *s = t->scope;
    tn__object *o = object;
    if (!s)
        return;
    atomic_store_explicit(&o->scope, s, memory_order_relaxed);
    o->prev = NULL;
    o->next = s->first;
    if (s->first)
        s->first->prev = o;
    s->first = o;
}

/* One more reference of any object, as a result: the innermost scope's, or the caller's where there is none. Returns it,
 * or NULL with TN_ENOMEM. */
void *tn__scope_hold(tn__thread *t, void *object);

/* The caller's reference of any object, as a result: the innermost scope's now, or still the caller's where there is none.
 * Returns it, or NULL with TN_ENOMEM and the reference released. */
void *tn__scope_receive(tn__thread *t, void *object);

/* Does s itself own a reference of the object? */
bool tn__scope_owns(const tn_scope *s, const void *object);

/* Takes the innermost scope's reference back: the caller owns it. Nothing happens where no scope has one, but a scope of
 * another thread keeps its own, and one is added. */
void tn__scope_disown(tn__thread *t, void *object);

static inline void tn__scope_push(tn__thread *t, tn_scope *s)
{
    *s = (tn_scope){.outer = t->scope};
    t->scope = s;
}

/* Closes s, the innermost scope; a reference of keep (or NULL) that s owns goes to the scope outside or to the caller.
 * Returns keep. */
void *tn__scope_pop(tn__thread *t, tn_scope *s, void *keep);

/* The same around a user callback: scopes that the callback left open are closed too. */
void tn__barrier_push(tn__thread *t, tn_scope *s);
void *tn__barrier_pop(tn__thread *t, tn_scope *s, void *keep);

#endif
