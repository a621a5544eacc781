/* Events: a pool of those without timing for the library's own waits, and the public ones. */
#include "backend/gpu/memory.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/thread.h"
#include <tenon/cuda.h>

/* ---- the pool ---- */

/* The host may be going to wait for it. */
static tn__gpu_result event_new(tn__gpu_device *dev, uint32_t flags, void **e)
{
    return dev->driver->event_new(flags | (tn__gpu_how_to_wait() == TN__GPU_WAY_BLOCK ? TN_EVENT_BLOCKING : 0), e);
}

void *tn__gpu_event_get(tn__gpu_device *dev)
{
    void *e = NULL;
    pthread_mutex_lock(&dev->lock);
    if (dev->n_spare)
        e = dev->spare[--dev->n_spare];
    pthread_mutex_unlock(&dev->lock);
    if (!e && tn__gpu_check(dev, event_new(dev, 0, &e), "making an event"))
        return NULL;
    return e;
}

void tn__gpu_event_put(tn__gpu_device *dev, void *e)
{
    bool kept = false;
    pthread_mutex_lock(&dev->lock);
    if (atomic_load(&dev->ready) && tn__grow(&dev->spare, sizeof *dev->spare, &dev->cap_spare, dev->n_spare + 1)) {
        dev->spare[dev->n_spare++] = e;
        kept = true;
    }
    pthread_mutex_unlock(&dev->lock);
    if (kept || !atomic_load(&dev->ready))
        return;
    tn__gpu_visit v = tn__gpu_enter(dev); /* callers go on in the context that is current */
    dev->driver->event_destroy(e);
    tn__gpu_leave(v);
}

tn_status tn__gpu_waits(tn__gpu_device *dev, tn__gpu_device *of, tn__gpu_result r)
{
    if (TN_LIKELY(r == TN__GPU_OK))
        return TN_OK;
    tn__gpu_result own = of == dev ? r : dev->driver->stream_query(NULL); /* of dev, whose context is current */
    bool is_mine = own != TN__GPU_OK && own != TN__GPU_NOT_READY;
    return tn__gpu_failed(is_mine ? dev : of, r, "making a stream wait");
}

/* ---- public ---- */

struct tn_event {
    _Atomic int32_t refs;
    uint32_t flags;
    tn__gpu_device *device; /* NULL: never recorded */
    uint32_t generation;    /* of the device, at the first record: the handle is void when it has changed */
    void *handle;
};

tn_event *tn_event_new(uint32_t flags)
{
    tn__enter(TN__NOWHERE);
    tn_event *e = tn__block_zero(sizeof *e);
    if (!e) {
        tn__error_memory("an event", sizeof *e);
        return NULL;
    }
    atomic_init(&e->refs, 1);
    e->flags = flags;
    return e;
}

tn_event *tn_event_retain(tn_event *e)
{
    if (e)
        atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return e;
}

static bool is_void(const tn_event *e)
{
    return e->device && e->generation != atomic_load(&e->device->generation);
}

void tn_event_release(tn_event *e)
{
    TN__DOOR(tn__self());
    if (!e || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (e->device && !is_void(e) && tn__gpu_peek(e->device->device))
        e->device->driver->event_destroy(e->handle);
    tn__block_put(e, sizeof *e);
}

static tn_status no_event(const char *what)
{
    tn__enter(TN__NOWHERE);
    return tn__poisoned(what);
}

static tn_status refuse_void(const tn_event *e)
{
    return tn__error(TN_EDEVICE, "an event of %s is void: tn_cuda_reset took its device's context away",
                     tn_device_text(e->device->device).s);
}

/* The device of a recorded event, usable. */
static tn__gpu_device *use(const tn_event *e)
{
    if (is_void(e)) {
        refuse_void(e);
        return NULL;
    }
    return tn__gpu_use(e->device->device);
}

static tn_status make_handle(tn_event *e, tn__gpu_device *dev)
{
    tn_status st = tn__gpu_check(dev, event_new(dev, e->flags, &e->handle), "making an event");
    if (!st) {
        e->device = dev;
        e->generation = atomic_load(&dev->generation);
    }
    return st;
}

static tn_status record(tn_event *e, tn__gpu_device *dev, tn__stream *s)
{
    if (e->device && e->device != dev)
        return tn__error(TN_EDEVICE, "Event device %d does not match recording stream's device %d.",
                         (int)e->device->device.index, (int)dev->device.index);
    if (e->device && is_void(e))
        return refuse_void(e);
    tn_status st = e->device ? TN_OK : make_handle(e, dev);
    return st ? st : tn__gpu_check(dev, dev->driver->event_record(e->handle, s->handle), "recording an event");
}

tn_status tn_event_record(tn_event *e, tn_stream *stream)
{
    if (!e)
        return no_event("tn_event_record");
    tn_device d;
    TN__DOOR(tn__enter(TN__NOWHERE));
    tn_status st = TN_OK;
    if (!stream && (st = tn__gpu_resolve(tn__gpu_default(), &d)))
        return st;
    tn__gpu_device *dev = stream ? tn__gpu_use_stream(stream) : tn__gpu_use(d);
    return dev ? record(e, dev, stream ? stream : tn__gpu_current(dev)) : tn_error_code();
}

tn_status tn_stream_wait_event(tn_stream *stream, tn_event *e)
{
    if (!stream || !e)
        return no_event("tn_stream_wait_event");
    TN__DOOR(tn__enter(TN__NOWHERE));
    if (!e->device)
        return TN_OK; /* never recorded: nothing to wait for, as in PyTorch */
    tn__gpu_device *dev = use(e) ? tn__gpu_use_stream(stream) : NULL;
    if (!dev)
        return tn_error_code();
    tn__gpu_result r = dev->driver->stream_wait_event(stream->handle, e->handle);
    return tn__gpu_waits(dev, e->device, r);
}

tn_event *tn_stream_record_event(tn_stream *stream)
{
    if (!stream) {
        no_event("tn_stream_record_event");
        return NULL;
    }
    tn_event *e = tn_event_new(0);
    if (e && tn_event_record(e, stream)) {
        tn_event_release(e);
        return NULL;
    }
    return e;
}

bool tn_event_query(tn_event *e)
{
    if (!e)
        return no_event("tn_event_query") != TN_OK;
    TN__DOOR(tn__enter(TN__NOWHERE));
    tn__gpu_device *dev = e->device ? use(e) : NULL;
    if (!dev)
        return true;
    tn__gpu_result r = dev->driver->event_query(e->handle);
    if (r != TN__GPU_NOT_READY && tn__gpu_check(dev, r, "asking an event"))
        return true;
    return r != TN__GPU_NOT_READY;
}

tn_status tn_event_synchronize(tn_event *e)
{
    if (!e)
        return no_event("tn_event_synchronize");
    TN__DOOR(tn__enter(TN__NOWHERE));
    if (!e->device)
        return TN_OK;
    tn__gpu_device *dev = use(e);
    if (!dev)
        return tn_error_code();
    atomic_fetch_add_explicit(&dev->ledger->synchronizations, 1, memory_order_relaxed);
    tn_status st = tn__gpu_check(dev, tn__gpu_wait_event(dev, e->handle), "waiting for an event");
    return st ? st : tn__gpu_take_fault(dev);
}

tn_status tn_event_elapsed_time(tn_event *start, tn_event *end, double *milliseconds)
{
    float ms = 0;
    if (!start || !end || !milliseconds)
        return no_event("tn_event_elapsed_time");
    TN__DOOR(tn__enter(TN__NOWHERE));
    if (!(start->flags & end->flags & TN_EVENT_TIMING))
        return tn__error(TN_EVALUE, "Both events must be created with argument 'enable_timing=True'.\n"
                                    "  tn_event_new(TN_EVENT_TIMING)");
    if (!start->device || !end->device)
        return tn__error(TN_EVALUE, "Both events must be recorded before calculating elapsed time.");
    tn__gpu_device *dev = use(start) ? use(end) : NULL;
    if (!dev)
        return tn_error_code();
    tn__gpu_result r = dev->driver->event_elapsed_time(start->handle, end->handle, &ms);
    if (r == TN__GPU_NOT_READY)
        return tn__error(TN_EINVAL, "Both events must be completed before calculating elapsed time.");
    *milliseconds = (double)ms;
    return tn__gpu_check(dev, r, "the time between two events");
}
