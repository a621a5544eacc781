/* backend/gpu/stream_users.c: streams that use a block, and how their events are waited for. */
#include "backend/gpu/memory.h"
#include "core/alloc.h"
#include <tenon/error.h>

/* Streams and events that go may make their own context current; the caller's is to stay. All users of a block are streams
 * of one driver. */
static tn__gpu_visit stay(const tn__gpu_user *u)
{
    return tn__gpu_stay(tn__gpu_slot(u->stream->device)->driver);
}

static void drop(tn__gpu_slab *slab, tn__gpu_user **at)
{
    tn__gpu_user *u = *at;
    *at = u->next;
    tn__stream_release(u->stream);
    tn__gpu_slab_put(slab, u);
}

/* The device, if what was queued on the stream may still be running: it is neither dead nor reset since. */
static tn__gpu_device *running(const tn__gpu_user *u)
{
    tn__gpu_device *dev = tn__gpu_slot(u->stream->device);
    return atomic_load(&dev->ready) && u->generation == atomic_load(&dev->generation) ? dev : NULL;
}

void tn__gpu_users_add(tn__gpu_slab *slab, tn__gpu_user **users, tn__stream *stream)
{
    const tn__gpu_device *dev = tn__gpu_slot(stream->device);
    uint32_t generation = atomic_load(&dev->generation);
    for (tn__gpu_user *u = *users; u; u = u->next)
        if (u->stream == stream) {
            u->generation = generation;
            return;
        }
    tn__gpu_user *u = tn__gpu_slab_get(slab, sizeof *u);
    if (!u) { /* it cannot be remembered: it must be over */
        tn__gpu_visit v = tn__gpu_enter(dev);
        (void)TN__WAIT(block_unlisted, dev->driver->stream_synchronize(stream->handle));
        tn__gpu_leave(v);
        return;
    }
    u->stream = tn__stream_retain(stream);
    u->generation = generation;
    u->next = *users;
    *users = u;
}

void tn__gpu_users_remove(tn__gpu_slab *slab, tn__gpu_user **users, const tn__stream *stream)
{
    for (tn__gpu_user **at = users; *at; at = &(*at)->next)
        if ((*at)->stream == stream && !(*at)->event) {
            tn__gpu_visit caller = stay(*at);
            drop(slab, at);
            tn__gpu_leave(caller);
            return;
        }
}

/* An event that is recorded on the stream now; NULL if that could not be. The thread's error record stays. */
static void *record(tn__gpu_device *dev, const tn__stream *s)
{
    tn_status before = tn_error_code();
    void *e = tn__gpu_event_get(dev);
    if (!e && !before)
        tn_error_clear();
    if (e && TN__WAIT(block_record, dev->driver->event_record(e, s->handle)) != TN__GPU_OK) {
        tn__gpu_event_put(dev, e);
        e = NULL;
    }
    return e;
}

void tn__gpu_users_record(tn__gpu_slab *slab, tn__gpu_user **users)
{
    if (!*users)
        return;
    tn__gpu_visit caller = stay(*users);
    while (*users) {
        tn__gpu_user *u = *users;
        tn__gpu_device *dev = running(u);
        if (dev && !u->event) {
            dev->driver->context_set(dev->context);
            u->event = record(dev, u->stream);
            if (!u->event)
                (void)TN__WAIT(block_unmarked, dev->driver->stream_synchronize(u->stream->handle));
        }
        if (u->event)
            users = &u->next;
        else
            drop(slab, users);
    }
    tn__gpu_leave(caller);
}

/* Has the event passed? The driver is asked in the event's own context: the caller's may be dead, or there is none. */
static bool passed(const tn__gpu_device *dev, const tn__gpu_user *u, bool wait)
{
    bool yes = true;
    tn__gpu_visit v = tn__gpu_enter(dev);
    if (wait) {
        (void)TN__WAIT(block_wait, dev->driver->event_synchronize(u->event));
        atomic_fetch_add_explicit(&dev->ledger->synchronizations, 1, memory_order_relaxed);
    } else {
        yes = TN__WAIT(block_query, dev->driver->event_query(u->event)) != TN__GPU_NOT_READY;
    }
    tn__gpu_leave(v);
    return yes;
}

bool tn__gpu_users_passed(tn__gpu_slab *slab, tn__gpu_user **users, bool wait)
{
    tn__gpu_visit caller = {NULL, NULL, false};
    for (tn__gpu_user **at = users; *at;) {
        tn__gpu_user *u = *at;
        tn__gpu_device *dev = running(u);
        if (dev && !passed(dev, u, wait)) {
            at = &u->next;
            continue;
        }
        if (!caller.changed)
            caller = stay(u);
        if (dev)
            tn__gpu_event_put(dev, u->event);
        drop(slab, at);
    }
    if (caller.changed)
        tn__gpu_leave(caller);
    return *users == NULL;
}

void tn__gpu_users_forget(tn__gpu_slab *slab, tn__gpu_user **users)
{
    if (!*users)
        return;
    tn__gpu_visit caller = stay(*users);
    while (*users)
        drop(slab, users);
    tn__gpu_leave(caller);
}
