/* Streams: the default one of each device, own ones, which is current where, and who waits for whom. */
#include "backend/gpu/device.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/tensor.h"
#include "core/thread.h"
#include <stdio.h>
#include <tenon/cuda.h>

/* ---- what was launched ---- */

static tn__gpu_ring *ring_of(tn__gpu_device *dev, tn__stream *s)
{
    return s == &dev->stream ? &dev->ring : &((tn__gpu_stream *)s)->ring;
}

void tn__gpu_note_launch(tn__gpu_device *dev, tn__stream *s, const char *label)
{
    tn__gpu_ring *r = ring_of(dev, s);
    uint64_t n = atomic_fetch_add_explicit(&r->queued, 1, memory_order_relaxed);
    atomic_store_explicit(&r->label[n % TN__GPU_RING], label, memory_order_relaxed);
}

uint64_t tn__gpu_queued(tn__gpu_device *dev, tn__stream *s)
{
    return atomic_load_explicit(&ring_of(dev, s)->queued, memory_order_relaxed);
}

void tn__gpu_note_done(tn__gpu_device *dev, tn__stream *s, uint64_t queued)
{
    tn__gpu_ring *r = ring_of(dev, s);
    if (atomic_load_explicit(&r->done, memory_order_relaxed) < queued)
        atomic_store_explicit(&r->done, queued, memory_order_relaxed);
}

/* snprintf that goes on behind what is there. */
static void add(char *text, size_t size, const char *a, const char *b)
{
    size_t n = strlen(text);
    snprintf(text + n, size - n, "%s%s", a, b);
}

static void list_unfinished(const tn__gpu_ring *r, uint32_t id, char *text, size_t size)
{
    uint64_t end = atomic_load(&r->queued), begin = atomic_load(&r->done);
    char which[40];
    if (begin >= end)
        return;
    add(text, size, *text ? "; " : "", end - begin > TN__GPU_RING ? "... " : "");
    begin = TN_MAX(begin, end > TN__GPU_RING ? end - TN__GPU_RING : 0);
    for (uint64_t i = begin; i < end; i++) {
        const char *label = atomic_load(&r->label[i % TN__GPU_RING]);
        add(text, size, i > begin ? ", " : "", label ? label : "?");
    }
    snprintf(which, sizeof which, id ? " on stream %u" : " on the default stream", (unsigned)id);
    add(text, size, which, "");
}

/* Whose they are, where that is not the device the message is about. */
static void list_device(tn__gpu_device *dev, bool other, char *text, size_t size)
{
    char part[640] = "", whose[40] = "";
    pthread_mutex_lock(&dev->lock);
    list_unfinished(&dev->ring, 0, part, sizeof part);
    for (tn__gpu_stream *s = dev->streams; s; s = s->next)
        list_unfinished(&s->ring, s->base.id, part, sizeof part);
    pthread_mutex_unlock(&dev->lock);
    if (other)
        snprintf(whose, sizeof whose, " of %s", tn_device_text(dev->device).s);
    if (*part)
        add(text, size, *text ? "; " : "", part);
    if (*part)
        add(text, size, whose, "");
}

void tn__gpu_unfinished(tn__gpu_device *dev, char *text, size_t size)
{
    *text = '\0';
    list_device(dev, false, text, size);
    for (tn__gpu_device *s = dev->first; s; s = tn__gpu_sibling(s))
        if (s != dev)
            list_device(s, true, text, size);
}

/* ---- own streams ---- */

static tn__gpu_device *slot_of(const tn__stream *s)
{
    return tn__gpu_slot(s->device);
}

static bool is_own(const tn__stream *s)
{
    return s != &slot_of(s)->stream;
}

bool tn__gpu_is_foreign(const tn__stream *s)
{
    return is_own(s) && ((const tn__gpu_stream *)s)->foreign;
}

/* Is its context gone? */
static bool is_void(const tn__stream *s)
{
    return is_own(s) && ((const tn__gpu_stream *)s)->generation != atomic_load(&slot_of(s)->generation);
}

static void destroy(tn__stream *base)
{
    TN__DOOR(tn__self());
    tn__gpu_stream *s = (tn__gpu_stream *)base;
    tn__gpu_device *dev = slot_of(base);
    if (!is_void(base) && !tn__gpu_forked()) { /* in a forked child a thread that is not there may hold the lock */
        pthread_mutex_lock(&dev->lock);
        if (s->prev)
            s->prev->next = s->next;
        else
            dev->streams = s->next;
        if (s->next)
            s->next->prev = s->prev;
        pthread_mutex_unlock(&dev->lock);
        if (!s->foreign && tn__gpu_peek(base->device))
            dev->driver->stream_destroy(base->handle);
    }
    tn__block_put(s, sizeof *s);
}

/* Forgets; the structs belong to whoever holds references. */
void tn__gpu_streams_forget(tn__gpu_device *dev)
{
    tn__gpu_stream *next;
    for (tn__gpu_stream *s = dev->streams; s; s = next) {
        next = s->next;
        if (!s->foreign)
            dev->driver->stream_destroy(s->base.handle);
        s->base.handle = NULL;
        s->next = s->prev = NULL;
    }
    dev->streams = NULL;
    if (dev->stream.handle)
        dev->driver->stream_destroy(dev->stream.handle);
    dev->stream.handle = NULL;
    for (int64_t i = 0; i < dev->n_spare; i++)
        dev->driver->event_destroy(dev->spare[i]);
    dev->n_spare = 0;
    atomic_store(&dev->ring.done, atomic_load(&dev->ring.queued));
}

static tn_status make_handle(tn__gpu_device *dev, int32_t priority, tn__gpu_stream *s)
{
    s->priority = priority;
    return tn__gpu_check(dev, dev->driver->stream_new(&s->priority, &s->base.handle), "tn_cuda_stream_new");
}

/* handle: of another library's; NULL: one is made. */
static tn__stream *new_stream(tn__gpu_device *dev, int32_t priority, void *handle)
{
    static _Atomic uint32_t last_id;
    tn__gpu_stream *s = tn__block_zero(sizeof *s);
    if (!s) {
        tn__error_memory("a stream", sizeof *s);
        return NULL;
    }
    s->foreign = handle != NULL;
    s->base.handle = handle;
    if (!handle && make_handle(dev, priority, s)) {
        tn__block_put(s, sizeof *s);
        return NULL;
    }
    atomic_init(&s->base.refs, 1);
    s->base.device = dev->device;
    s->base.id = atomic_fetch_add(&last_id, 1) + 1;
    s->base.destroy = destroy;
    s->generation = atomic_load(&dev->generation);
    pthread_mutex_lock(&dev->lock);
    s->next = dev->streams;
    if (s->next)
        s->next->prev = s;
    dev->streams = s;
    pthread_mutex_unlock(&dev->lock);
    return &s->base;
}

/* A reference to the stream, unless the last one is being given back now. */
static bool revive(tn__stream *s)
{
    int32_t refs = atomic_load(&s->refs);
    while (refs && !atomic_compare_exchange_weak(&s->refs, &refs, refs + 1))
        ;
    return refs != 0;
}

/* The device's stream of that handle, the library's own or one that is known already, with a reference; or NULL. */
static tn__stream *known(tn__gpu_device *dev, const void *handle)
{
    pthread_mutex_lock(&dev->lock);
    tn__gpu_stream *s = dev->streams;
    while (s && (s->base.handle != handle || !revive(&s->base)))
        s = s->next;
    pthread_mutex_unlock(&dev->lock);
    return s ? &s->base : NULL;
}

/* ---- current ---- */

/* Of one thread: NULL where the default stream is current. Each holds a reference. */
typedef struct currents {
    tn__stream *stream[TN__GPU_MAX];
} currents;

static void free_currents(void *arg)
{
    currents *c = arg;
    for (int i = 0; i < TN__GPU_MAX; i++)
        tn__stream_release(c->stream[i]);
    tn__block_put(c, sizeof *c);
}

tn__stream *tn__gpu_current(tn__gpu_device *dev)
{
    const currents *c = tn__self()->streams;
    tn__stream *s = c ? c->stream[tn__gpu_number(dev->device)] : NULL;
    return TN_LIKELY(!s || is_void(s)) ? &dev->stream : s;
}

static tn__stream *current(tn_device device)
{
    TN__DOOR(tn__self());
    tn__gpu_device *dev = tn__gpu_use(device);
    return dev ? tn__gpu_current(dev) : NULL;
}

static tn_status make_current(tn__stream *s)
{
    tn__thread *t = tn__self();
    currents *c = t->streams;
    int32_t i = tn__gpu_number(s->device);
    if (!c) {
        if (!is_own(s))
            return TN_OK;
        c = t->emergency ? NULL : tn__block_zero(sizeof *c);
        if (!c)
            return tn__error_memory("a thread's current streams", sizeof *c);
        t->streams = c;
        t->streams_free = free_currents;
    }
    tn__stream *before = c->stream[i];
    c->stream[i] = is_own(s) ? tn__stream_retain(s) : NULL;
    tn__stream_release(before);
    return TN_OK;
}

static void set_current(tn__stream *s)
{
    tn_status e = make_current(s);
    (void)e; /* the default stream stays current, and the record says why */
}

/* ---- waiting ---- */

static tn_status refuse_void(const tn__stream *s)
{
    return tn__error(TN_EDEVICE, "stream %u of %s is void: tn_cuda_reset took its device's context away",
                     (unsigned)s->id, tn_device_text(s->device).s);
}

tn__gpu_device *tn__gpu_use_stream(const tn__stream *s)
{
    if (TN_UNLIKELY(is_void(s))) {
        refuse_void(s);
        return NULL;
    }
    return tn__gpu_use(s->device);
}

static tn_status wait_for(tn__stream *s, tn__stream *other)
{
    TN__DOOR(tn__self());
    if (s == other)
        return TN_OK;
    tn__gpu_device *from = tn__gpu_use_stream(other);
    void *e = from ? tn__gpu_event_get(from) : NULL;
    if (!e)
        return tn_error_code();
    tn__gpu_result r = TN__WAIT(stream_wait_record, from->driver->event_record(e, other->handle));
    tn_status st = tn__gpu_check(from, r, "recording an event");
    tn__gpu_device *dev = st ? NULL : tn__gpu_use_stream(s);
    if (dev)
        st = tn__gpu_waits(dev, from, TN__WAIT(stream_wait, dev->driver->stream_wait_event(s->handle, e)));
    else
        st = tn_error_code();
    tn__gpu_event_put(from, e); /* the wait has taken what it needs of it */
    return st;
}

tn_status tn__gpu_stream_synchronize(tn__gpu_device *dev, tn__stream *s)
{
    uint64_t queued = tn__gpu_queued(dev, s);
    atomic_fetch_add_explicit(&dev->ledger->synchronizations, 1, memory_order_relaxed);
    tn_status e = tn__gpu_check(dev, tn__gpu_wait_stream(dev, s), "waiting for a stream");
    if (e)
        return e;
    tn__gpu_note_done(dev, s, queued);
    return tn__gpu_take_fault(dev);
}

static tn_status synchronize(tn__stream *s)
{
    TN__DOOR(tn__self());
    tn__gpu_device *dev = tn__gpu_use_stream(s);
    return dev ? tn__gpu_stream_synchronize(dev, s) : tn_error_code();
}

/* Notes what every stream of the device has queued, or that all of that is done. */
static void mark_all(tn__gpu_device *dev, bool done)
{
    pthread_mutex_lock(&dev->lock);
    tn__gpu_ring *r = &dev->ring;
    for (tn__gpu_stream *next = dev->streams; r; r = next ? &next->ring : NULL, next = next ? next->next : NULL) {
        if (done)
            atomic_store_explicit(&r->done, r->at_sync, memory_order_relaxed);
        else
            r->at_sync = atomic_load_explicit(&r->queued, memory_order_relaxed);
    }
    pthread_mutex_unlock(&dev->lock);
}

tn_status tn__gpu_synchronize(tn_device device)
{
    TN__DOOR(tn__self());
    tn__gpu_device *dev = tn__gpu_use(device);
    if (!dev)
        return tn_error_code();
    atomic_fetch_add_explicit(&dev->ledger->synchronizations, 1, memory_order_relaxed);
    mark_all(dev, false);
    tn_status e = tn__gpu_check(dev, tn__gpu_wait_context(dev), "waiting for the device");
    if (e)
        return e;
    mark_all(dev, true);
    return tn__gpu_take_fault(dev);
}

static tn__stream *make(tn_device device, int32_t priority)
{
    TN__DOOR(tn__self());
    tn__gpu_device *dev = tn__gpu_use(device);
    return dev ? new_stream(dev, priority, NULL) : NULL;
}

static tn_status enter(tn__stream *s)
{
    TN__DOOR(tn__self());
    tn_status e = tn__gpu_use_stream(s) ? make_current(s) : tn_error_code();
    if (!e)
        tn__self()->current_device[s->device.type] = s->device.index;
    return e;
}

const tn__queue tn__gpu_queue = {
    .make = make,
    .current = current,
    .set_current = set_current,
    .enter = enter,
    .wait = wait_for,
    .used = tn__gpu_storage_used,
    .joined = tn__gpu_storage_joined,
    .synchronize = synchronize,
    .gone = tn__gpu_storage_gone,
    .lost = tn__gpu_is_lost,
};

/* ---- public ---- */

static tn_status no_stream(const char *what)
{
    tn__enter(TN__NOWHERE);
    return tn__poisoned(what);
}

tn_stream *tn_cuda_stream_new(tn_device device, int32_t priority)
{
    tn_device d;
    tn__enter(TN__NOWHERE);
    return tn__gpu_resolve(device, &d) ? NULL : make(d, priority);
}

tn_stream *tn_cuda_stream_from_handle(void *handle, tn_device device)
{
    const uintptr_t legacy =
        1; /* CU_STREAM_LEGACY: the context's default stream, which is that of its first device alone */
    tn_device d;
    tn__enter(TN__NOWHERE);
    tn__gpu_device *dev = tn__gpu_resolve(device, &d) ? NULL : tn__gpu_use(d);
    if (!dev)
        return NULL;
    if (!handle || handle == dev->stream.handle || ((uintptr_t)handle == legacy && dev->first == dev))
        return tn__stream_retain(&dev->stream);
    tn__stream *s = known(dev, handle);
    return s ? s : new_stream(dev, 0, handle);
}

tn_stream *tn_cuda_default_stream(tn_device device)
{
    tn_device d;
    TN__DOOR(tn__enter(TN__NOWHERE));
    tn__gpu_device *dev = tn__gpu_resolve(device, &d) ? NULL : tn__gpu_use(d);
    return dev ? tn__stream_retain(&dev->stream) : NULL;
}

tn_stream *tn_cuda_current_stream(tn_device device)
{
    tn_device d;
    TN__DOOR(tn__enter(TN__NOWHERE));
    tn__gpu_device *dev = tn__gpu_resolve(device, &d) ? NULL : tn__gpu_use(d);
    return dev ? tn__stream_retain(tn__gpu_current(dev)) : NULL;
}

tn_status tn_cuda_set_stream(tn_stream *s)
{
    if (!s)
        return no_stream("tn_cuda_set_stream");
    tn__enter(TN__NOWHERE);
    return enter(s);
}

tn_stream_guard tn_stream_enter(tn_stream *s)
{
    tn_stream_guard g = {NULL, s ? tn__self()->current_device[s->device.type] : 0};
    tn_stream *before = s ? tn_cuda_current_stream(s->device) : NULL;
    if (tn_cuda_set_stream(s))
        tn__stream_release(before);
    else
        g.before = before;
    return g;
}

/* Also where the device died inside: bringing back asks nothing of the driver. */
void tn_stream_leave(tn_stream_guard g)
{
    if (!g.before)
        return;
    set_current(g.before);
    tn__self()->current_device[g.before->device.type] = g.device;
    tn__stream_release(g.before);
}

tn_stream *tn_stream_retain(tn_stream *s)
{
    return tn__stream_retain(s);
}

void tn_stream_release(tn_stream *s)
{
    tn__stream_release(s);
}

tn_status tn_stream_wait_stream(tn_stream *s, tn_stream *other)
{
    if (!s || !other)
        return no_stream("tn_stream_wait_stream");
    tn__enter(TN__NOWHERE);
    return wait_for(s, other);
}

tn_status tn_stream_synchronize(tn_stream *s)
{
    if (!s)
        return no_stream("tn_stream_synchronize");
    tn__enter(TN__NOWHERE);
    return synchronize(s);
}

bool tn_stream_query(tn_stream *s)
{
    if (!s)
        return no_stream("tn_stream_query") != TN_OK;
    TN__DOOR(tn__enter(TN__NOWHERE));
    tn__gpu_device *dev = tn__gpu_use_stream(s);
    if (!dev)
        return true;
    uint64_t queued = tn__gpu_queued(dev, s);
    tn__gpu_result r = dev->driver->stream_query(s->handle);
    if (r == TN__GPU_NOT_READY)
        return false;
    if (!tn__gpu_check(dev, r, "asking a stream"))
        tn__gpu_note_done(dev, s, queued);
    return true;
}

tn_device tn_stream_device(const tn_stream *s)
{
    return s ? s->device : tn_device_make(TN_DEVICE_INVALID, -1);
}

uint32_t tn_stream_id(const tn_stream *s)
{
    return s ? s->id : 0;
}

int32_t tn_stream_priority(const tn_stream *s)
{
    return s && is_own(s) ? ((const tn__gpu_stream *)s)->priority : 0;
}

void *tn_stream_handle(const tn_stream *s)
{
    TN__DOOR(tn__self());
    /* a default stream that has one has it with the context, which a reset may have taken */
    if (s && !s->handle && slot_of(s)->first != slot_of(s) && !tn__gpu_use(s->device))
        return NULL;
    return s ? s->handle : NULL;
}

tn_status tn_tensor_record_stream(tn_tensor *t, tn_stream *s)
{
    if (!t || !s)
        return no_stream("tn_tensor_record_stream");
    TN__DOOR(tn__enter(TN__NOWHERE));
    if (t == TN_NONE || !t->storage || (!tn__backend_of(t->device)->queue && !t->storage->pinned))
        return tn__error(TN_EDEVICE, "record_stream: only memory of a GPU and pinned memory are used by streams");
    if (!tn__gpu_use_stream(s))
        return tn_error_code();
    tn__gpu_storage_used(t->storage, s);
    return TN_OK;
}
