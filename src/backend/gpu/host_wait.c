/* The host waits for a device. The driver's own waits cannot be left, and no signal gets through to the thread in them. So
 * where the program has set a check (core/interrupt.h), the driver is asked again and again instead: at once for as long as
 * most waits last, then after pauses that grow with the wait. */
#include "backend/cuda/cuda.h"
#include "core/error.h"
#include "core/interrupt.h"
#include <sched.h>
#include <tenon/error.h>
#include <time.h>

enum {
    AT_ONCE = 100 * 1000, /* nanoseconds without a pause */
    SHARE = 32,           /* a pause is that part of the wait so far */
    LONGEST = 1000 * 1000
};

typedef struct wait {
    tn__cuda_device *dev;
    uint32_t generation; /* of the device: what the check calls may reset it, and the events are void */
    int64_t began, looked;
} wait;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static wait begin(tn__cuda_device *dev)
{
    return (wait){.dev = dev, .generation = atomic_load(&dev->generation), .began = now()};
}

/* Between two questions. The result is what ends the wait, or TN__CU_NOT_READY. */
static tn__cu_result idle(wait *w)
{
    int64_t waited = now() - w->began;
    if (waited < AT_ONCE) {
        sched_yield();
        return TN__CU_NOT_READY;
    }
    const struct timespec pause = {0, (long)TN_MIN(waited / SHARE, LONGEST)};
    nanosleep(&pause, NULL);
    int64_t looked = w->looked;
    if (tn__look_around(&w->looked))
        return TN__CUDA_INTERRUPTED;
    if (w->looked == looked) /* nobody was called */
        return TN__CU_NOT_READY;
    if (!tn__cuda_use(TN_CUDA(w->dev->index)))
        return TN__CUDA_INTERRUPTED;
    if (w->generation == atomic_load(&w->dev->generation))
        return TN__CU_NOT_READY;
    tn__error(TN_ECANCELED, "cuda:%d was reset while it was waited for", (int)w->dev->index);
    return TN__CUDA_INTERRUPTED;
}

static tn__cu_result wait_event(wait *w, tn__cu_event e)
{
    for (;;) {
        tn__cu_result r = tn__cu.event_query(e);
        if (r == TN__CU_NOT_READY)
            r = idle(w);
        if (r != TN__CU_NOT_READY)
            return r;
    }
}

tn__cu_result tn__cuda_wait_event(tn__cuda_device *dev, tn__cu_event e)
{
    if (TN_LIKELY(!tn__is_watched()))
        return tn__cu.event_synchronize(e);
    wait w = begin(dev);
    return wait_event(&w, e);
}

/* An event for one wait; NULL without an error where there is none, and the driver's wait must do. */
static tn__cu_event borrow(tn__cuda_device *dev)
{
    tn_status before = tn_error_code();
    tn__cu_event e = tn__cuda_event_get(dev);
    if (!e && !before)
        tn_error_clear();
    return e;
}

/* Up to what is queued now, which an event marks once the first moment is over: other threads may go on queueing, and then
 * the stream is never idle. */
tn__cu_result tn__cuda_wait_stream(tn__cuda_device *dev, tn__stream *s)
{
    if (TN_LIKELY(!tn__is_watched()))
        return tn__cu.stream_synchronize(s->handle);
    wait w = begin(dev);
    tn__cu_result r;
    while ((r = tn__cu.stream_query(s->handle)) == TN__CU_NOT_READY && now() - w.began < AT_ONCE)
        sched_yield();
    if (r != TN__CU_NOT_READY)
        return r;
    tn__cu_event e = borrow(dev);
    if (!e)
        return tn__cu.stream_synchronize(s->handle);
    r = tn__cu.event_record(e, s->handle);
    if (r == TN__CU_SUCCESS)
        r = wait_event(&w, e);
    if (w.generation == atomic_load(&dev->generation))
        tn__cuda_event_put(dev, e);
    return r;
}

/* Records e on the stream of the lowest number above *id, whose number *id becomes. False: there is none. Streams leave the
 * list under the lock, before their handles go. */
static bool record_next(tn__cuda_device *dev, tn__cu_event e, int64_t *id, tn__cu_result *r)
{
    const tn__stream *next = *id < 0 ? &dev->stream : NULL;
    pthread_mutex_lock(&dev->lock);
    for (const tn__cuda_stream *s = next ? NULL : dev->streams; s; s = s->next)
        if (s->base.id > *id && (!next || s->base.id < next->id))
            next = &s->base;
    if (next)
        *r = tn__cu.event_record(e, next->handle);
    if (next)
        *id = next->id;
    pthread_mutex_unlock(&dev->lock);
    return next != NULL;
}

static tn__cu_result wait_streams(tn__cuda_device *dev)
{
    wait w = begin(dev);
    tn__cu_event e = borrow(dev);
    tn__cu_result r = TN__CU_SUCCESS;
    for (int64_t id = -1; e && !r && record_next(dev, e, &id, &r);)
        if (!r)
            r = wait_event(&w, e);
    if (e && w.generation == atomic_load(&dev->generation))
        tn__cuda_event_put(dev, e);
    return r;
}

/* First for the library's own streams, so that the driver's wait, which is for those of others too, is short. */
tn__cu_result tn__cuda_wait_context(tn__cuda_device *dev)
{
    tn__cu_result r = TN__CU_SUCCESS;
    for (tn__cuda_device *s = tn__cuda_slot(dev->first); s && !r && tn__is_watched(); s = tn__cuda_sibling(s))
        if (atomic_load(&s->ready))
            r = wait_streams(s);
    return r ? r : tn__cu.ctx_synchronize();
}
