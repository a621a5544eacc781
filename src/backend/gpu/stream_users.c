/* backend/gpu/users.c: streams that use a block, and how their events are waited for. */
#include "backend/gpu/memory.h"
#include "core/alloc.h"
#include <tenon/error.h>

/* ---- slabs ---- */

enum { SLAB = 32768 };

void *tn__cuda_slab_get(tn__cuda_slab *slab, size_t item)
{
    if (TN_UNLIKELY(!slab->free)) {
        char *p = tn__block_get(SLAB);
        for (size_t i = 0; p && i + item <= SLAB; i += item)
            tn__cuda_slab_put(slab, p + i);
    }
    void *first = slab->free;
    if (first) {
        slab->free = *(void **)first;
        memset(first, 0, item);
    }
    return first;
}

void tn__cuda_slab_put(tn__cuda_slab *slab, void *item)
{
    *(void **)item = slab->free;
    slab->free = item;
}

/* ---- contexts and fork ---- */

tn__cuda_visit tn__cuda_enter(const tn__cuda_device *dev)
{
    tn__cuda_visit v = {NULL, false};
    if (tn__cu.ctx_get_current(&v.before) == TN__CU_SUCCESS && v.before != dev->context)
        v.changed = tn__cu.ctx_set_current(dev->context) == TN__CU_SUCCESS;
    return v;
}

void tn__cuda_leave(tn__cuda_visit v)
{
    if (v.changed)
        tn__cu.ctx_set_current(v.before);
}

static struct {
    pthread_once_t once;
    _Atomic bool child;
} forked = {.once = PTHREAD_ONCE_INIT};

static void note_child(void)
{
    atomic_store_explicit(&forked.child, true, memory_order_relaxed);
}

static void watch(void)
{
    pthread_atfork(NULL, NULL, note_child);
}

void tn__cuda_watch_fork(void)
{
    pthread_once(&forked.once, watch);
}

bool tn__cuda_in_child(void)
{
    return atomic_load_explicit(&forked.child, memory_order_relaxed);
}

/* ---- users ---- */

/* Streams and events that go may make their own context current; the caller's is to stay. */
static tn__cuda_visit stay(void)
{
    tn__cuda_visit v = {NULL, true};
    v.changed = tn__cu.ctx_get_current(&v.before) == TN__CU_SUCCESS;
    return v;
}

static void drop(tn__cuda_slab *slab, tn__cuda_user **at)
{
    tn__cuda_user *u = *at;
    *at = u->next;
    tn__stream_release(u->stream);
    tn__cuda_slab_put(slab, u);
}

/* The device, if what was queued on the stream may still be running: it is neither dead nor reset since. */
static tn__cuda_device *running(const tn__cuda_user *u)
{
    tn__cuda_device *dev = tn__cuda_slot(u->stream->device.index);
    return atomic_load(&dev->ready) && u->generation == atomic_load(&dev->generation) ? dev : NULL;
}

void tn__cuda_users_add(tn__cuda_slab *slab, tn__cuda_user **users, tn__stream *stream)
{
    uint32_t generation = atomic_load(&tn__cuda_slot(stream->device.index)->generation);
    for (tn__cuda_user *u = *users; u; u = u->next)
        if (u->stream == stream) {
            u->generation = generation;
            return;
        }
    tn__cuda_user *u = tn__cuda_slab_get(slab, sizeof *u);
    if (!u) { /* it cannot be remembered: it must be over */
        tn__cuda_visit v = tn__cuda_enter(tn__cuda_slot(stream->device.index));
        tn__cu.stream_synchronize(stream->handle);
        tn__cuda_leave(v);
        return;
    }
    u->stream = tn__stream_retain(stream);
    u->generation = generation;
    u->next = *users;
    *users = u;
}

void tn__cuda_users_remove(tn__cuda_slab *slab, tn__cuda_user **users, const tn__stream *stream)
{
    for (tn__cuda_user **at = users; *at; at = &(*at)->next)
        if ((*at)->stream == stream && !(*at)->event) {
            tn__cuda_visit caller = stay();
            drop(slab, at);
            tn__cuda_leave(caller);
            return;
        }
}

/* An event that is recorded on the stream now; NULL if that could not be. The thread's error record stays. */
static tn__cu_event record(tn__cuda_device *dev, const tn__stream *s)
{
    tn_status before = tn_error_code();
    tn__cu_event e = tn__cuda_event_get(dev);
    if (!e && !before)
        tn_error_clear();
    if (e && TN__WAIT(block_record, tn__cu.event_record(e, s->handle)) != TN__CU_SUCCESS) {
        tn__cuda_event_put(dev, e);
        e = NULL;
    }
    return e;
}

void tn__cuda_users_record(tn__cuda_slab *slab, tn__cuda_user **users)
{
    if (!*users)
        return;
    tn__cuda_visit caller = stay();
    while (*users) {
        tn__cuda_user *u = *users;
        tn__cuda_device *dev = running(u);
        if (dev && !u->event) {
            tn__cu.ctx_set_current(dev->context);
            u->event = record(dev, u->stream);
            if (!u->event)
                tn__cu.stream_synchronize(u->stream->handle);
        }
        if (u->event)
            users = &u->next;
        else
            drop(slab, users);
    }
    tn__cuda_leave(caller);
}

/* Has the event passed? The driver is asked in the event's own context: the caller's may be dead, or there is none. */
static bool passed(const tn__cuda_device *dev, const tn__cuda_user *u, bool wait)
{
    bool yes = true;
    tn__cuda_visit v = tn__cuda_enter(dev);
    if (wait) {
        tn__cu.event_synchronize(u->event);
        atomic_fetch_add_explicit(&tn__ledgers[dev->index].synchronizations, 1, memory_order_relaxed);
    } else {
        yes = TN__WAIT(block_query, tn__cu.event_query(u->event)) != TN__CU_NOT_READY;
    }
    tn__cuda_leave(v);
    return yes;
}

bool tn__cuda_users_passed(tn__cuda_slab *slab, tn__cuda_user **users, bool wait)
{
    tn__cuda_visit caller = {NULL, false};
    for (tn__cuda_user **at = users; *at;) {
        tn__cuda_user *u = *at;
        tn__cuda_device *dev = running(u);
        if (dev && !passed(dev, u, wait)) {
            at = &u->next;
            continue;
        }
        if (!caller.changed)
            caller = stay();
        if (dev)
            tn__cuda_event_put(dev, u->event);
        drop(slab, at);
    }
    if (caller.changed)
        tn__cuda_leave(caller);
    return *users == NULL;
}

void tn__cuda_users_forget(tn__cuda_slab *slab, tn__cuda_user **users)
{
    if (!*users)
        return;
    tn__cuda_visit caller = stay();
    while (*users)
        drop(slab, users);
    tn__cuda_leave(caller);
}
