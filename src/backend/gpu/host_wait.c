/* The host waits for a device. The driver's own waits cannot be left, and no signal gets through to the thread in them. So
 * where the program has set a check (core/interrupt.h), the driver is asked again and again instead: at once for as long as
 * most waits last, then after pauses that grow with the wait. */
#include "backend/gpu/device.h"
#include "core/env.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/thread.h"
#include <sched.h>
#include <tenon/cuda.h>
#include <tenon/error.h>
#include <time.h>

enum {
    AT_ONCE = 100 * 1000, /* nanoseconds without a pause */
    SHARE = 32,           /* a pause is that part of the wait so far */
    LONGEST = 1000 * 1000
};

/* ---- how ---- */

enum { UNREAD = -1 };
static _Atomic int chosen = UNREAD;

static tn__gpu_way way_named(const char *name)
{
    static const char *const names[] = {[TN__GPU_WAY_AUTO] = "auto",
                                        [TN__GPU_WAY_SPIN] = "spin",
                                        [TN__GPU_WAY_YIELD] = "yield",
                                        [TN__GPU_WAY_BLOCK] = "block"};
    for (size_t i = TN__GPU_WAY_AUTO; name && i < TN_COUNT(names); i++)
        if (!strcmp(name, names[i]))
            return (tn__gpu_way)i;
    return TN__GPU_WAY_UNSAID;
}

tn__gpu_way tn__gpu_how_to_wait(void)
{
    int way = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (TN_UNLIKELY(way == UNREAD)) {
        const int read = (int)way_named(tn__env_choice("TENON_CUDA_WAIT"));
        if (atomic_compare_exchange_strong(&chosen, &way, read))
            way = read;
    }
    return (tn__gpu_way)way;
}

tn_status tn_cuda_set_wait(const char *how)
{
    tn__enter(TN__NOWHERE);
    const tn__gpu_way way = way_named(how);
    if (!way)
        return tn__error(TN_EVALUE, "tn_cuda_set_wait: '%s' is none of auto, spin, yield and block",
                         how ? how : "NULL");
    for (int32_t i = 0; i < TN__GPU_MAX; i++) {
        const tn__gpu_device *dev = tn__gpu_numbered(i);
        if (atomic_load(&dev->ready) || atomic_load(&dev->dead))
            return tn__error(TN_EINVAL,
                             "tn_cuda_set_wait: %s is in use, and a GPU's waits are chosen before: call it first",
                             tn_device_text(dev->device).s);
    }
    atomic_store(&chosen, (int)way);
    return TN_OK;
}

/* ---- waiting ---- */

typedef struct wait {
    tn__gpu_device *dev;
    uint32_t generation; /* of the device: what the check calls may reset it, and the events are void */
    int64_t began, looked;
} wait;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static wait begin(tn__gpu_device *dev)
{
    return (wait){.dev = dev, .generation = atomic_load(&dev->generation), .began = now()};
}

/* Between two questions. The result is what ends the wait, or TN__GPU_NOT_READY. */
static tn__gpu_result idle(wait *w)
{
    const int64_t waited = now() - w->began;
    const tn__gpu_way way = tn__gpu_how_to_wait();
    const struct timespec pause = {0, (long)TN_MIN(waited / SHARE, LONGEST)};
    if (way == TN__GPU_WAY_YIELD || (way < TN__GPU_WAY_SPIN && waited < AT_ONCE))
        sched_yield();
    else if (way != TN__GPU_WAY_SPIN)
        nanosleep(&pause, NULL);
    if (waited < AT_ONCE)
        return TN__GPU_NOT_READY;
    int64_t looked = w->looked;
    if (tn__poll_wait_check(&w->looked))
        return TN__GPU_INTERRUPTED;
    if (w->looked == looked) /* nobody was called */
        return TN__GPU_NOT_READY;
    if (!tn__gpu_use(w->dev->device))
        return TN__GPU_INTERRUPTED;
    if (w->generation == atomic_load(&w->dev->generation))
        return TN__GPU_NOT_READY;
    tn__error(TN_ECANCELED, "%s was reset while it was waited for", tn_device_text(w->dev->device).s);
    return TN__GPU_INTERRUPTED;
}

static tn__gpu_result wait_event(wait *w, void *e)
{
    for (;;) {
        tn__gpu_result r = w->dev->driver->event_query(e);
        if (r == TN__GPU_NOT_READY)
            r = idle(w);
        if (r != TN__GPU_NOT_READY)
            return r;
    }
}

tn__gpu_result tn__gpu_wait_event(tn__gpu_device *dev, void *e)
{
    if (TN_LIKELY(!tn__has_wait_check()))
        return dev->driver->event_synchronize(e);
    wait w = begin(dev);
    return wait_event(&w, e);
}

/* An event for one wait; NULL without an error where there is none, and the driver's wait must do. */
static void *borrow(tn__gpu_device *dev)
{
    tn_status before = tn_error_code();
    void *e = tn__gpu_event_get(dev);
    if (!e && !before)
        tn_error_clear();
    return e;
}

/* Up to what is queued now, which an event marks once the first moment is over: other threads may go on queueing, and then
 * the stream is never idle. */
tn__gpu_result tn__gpu_wait_stream(tn__gpu_device *dev, tn__stream *s)
{
    if (TN_LIKELY(!tn__has_wait_check()))
        return dev->driver->stream_synchronize(s->handle);
    wait w = begin(dev);
    tn__gpu_result r;
    do {
        r = dev->driver->stream_query(s->handle);
        if (r == TN__GPU_NOT_READY)
            r = idle(&w);
    } while (r == TN__GPU_NOT_READY && now() - w.began < AT_ONCE);
    if (r != TN__GPU_NOT_READY)
        return r;
    void *e = borrow(dev);
    if (!e)
        return dev->driver->stream_synchronize(s->handle);
    r = dev->driver->event_record(e, s->handle);
    if (r == TN__GPU_OK)
        r = wait_event(&w, e);
    if (w.generation == atomic_load(&dev->generation))
        tn__gpu_event_put(dev, e);
    return r;
}

/* Records e on the stream of the lowest number above *id, whose number *id becomes. False: there is none. Streams leave the
 * list under the lock, before their handles go. */
static bool record_next(tn__gpu_device *dev, void *e, int64_t *id, tn__gpu_result *r)
{
    const tn__stream *next = *id < 0 ? &dev->stream : NULL;
    pthread_mutex_lock(&dev->lock);
    for (const tn__gpu_stream *s = next ? NULL : dev->streams; s; s = s->next)
        if (!s->foreign && s->base.id > *id && (!next || s->base.id < next->id))
            next = &s->base;
    if (next)
        *r = dev->driver->event_record(e, next->handle);
    if (next)
        *id = next->id;
    pthread_mutex_unlock(&dev->lock);
    return next != NULL;
}

static tn__gpu_result wait_streams(tn__gpu_device *dev)
{
    wait w = begin(dev);
    void *e = borrow(dev);
    tn__gpu_result r = TN__GPU_OK;
    for (int64_t id = -1; e && !r && record_next(dev, e, &id, &r);)
        if (!r)
            r = wait_event(&w, e);
    if (e && w.generation == atomic_load(&dev->generation))
        tn__gpu_event_put(dev, e);
    return r;
}

/* First for the library's own streams, so that the driver's wait, which is for those of others too, is short. */
tn__gpu_result tn__gpu_wait_context(tn__gpu_device *dev)
{
    tn__gpu_result r = TN__GPU_OK;
    for (tn__gpu_device *s = dev->first; s && !r && tn__has_wait_check(); s = tn__gpu_sibling(s))
        if (atomic_load(&s->ready))
            r = wait_streams(s);
    return r ? r : dev->driver->context_synchronize();
}
