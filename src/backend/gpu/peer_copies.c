/* backend/gpu/peer_copies.c: bytes between two devices. Two that are one GPU have no link between them. A direct link is trusted
 * only after a pattern has crossed it and come back unchanged (some machines say that they have a link and deliver rubbish);
 * where there is none, or a bad one, the bytes go through pinned memory, the devices waiting for each other and the host for
 * neither. */
#include "backend/gpu/memory.h"
#include "core/alloc.h"
#include "core/thread.h"
#include <tenon/cuda.h>
#include <tenon/error.h>

typedef enum link_state { UNKNOWN, DIRECT, STAGED } link_state;

static struct {
    pthread_mutex_t lock;                           /* of finding out */
    _Atomic uint8_t link[TN__GPU_MAX][TN__GPU_MAX]; /* by number */
} peers = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* One copy: where, on which streams. */
typedef struct crossing {
    tn__gpu_device *from, *to;
    tn__stream *from_stream, *to_stream;
} crossing;

static _Atomic uint8_t *link_of(const crossing *c)
{
    return &peers.link[tn__gpu_number(c->from->device)][tn__gpu_number(c->to->device)];
}

/* Makes the device's context current. */
static tn_status at(const tn__gpu_device *dev)
{
    return tn__gpu_use(dev->device) ? TN_OK : tn_error_code();
}

/* What is queued on 'waiting' from now on waits for what is on 'first' now. */
static tn_status order(tn__gpu_device *first_dev, tn__stream *first, tn__gpu_device *waiting_dev, tn__stream *waiting,
                       bool before)
{
    const tn__gpu_driver *driver = waiting_dev->driver;
    tn_status e = at(first_dev);
    void *event = e ? NULL : tn__gpu_event_get(first_dev);
    if (!event)
        return tn_error_code();
    tn__gpu_result r = TN__WAIT(peer_record, first_dev->driver->event_record(event, first->handle));
    e = tn__gpu_check(first_dev, r, "recording an event");
    if (!e)
        e = at(waiting_dev);
    if (!e) {
        r = before ? TN__WAIT(peer_before, driver->stream_wait_event(waiting->handle, event))
                   : TN__WAIT(peer_after, driver->stream_wait_event(waiting->handle, event));
        e = tn__gpu_waits(waiting_dev, first_dev, r);
    }
    tn__gpu_event_put(first_dev, event);
    return e;
}

/* Devices that are one GPU have one memory; the waits around the copy are those of two. */
static tn_status send(const crossing *c, void *to, const void *from, size_t bytes)
{
    const tn__gpu_driver *driver = c->from->driver;
    void *s = c->from_stream->handle;
    if (c->from->first == c->to->first)
        return tn__gpu_check(c->from, driver->copy_within(to, from, bytes, s), "copying in the device");
    tn__gpu_result r = driver->copy_peer(c->to, to, c->from, from, bytes, s);
    if (TN_LIKELY(r == TN__GPU_OK))
        return TN_OK;
    tn__gpu_result mine = driver->stream_query(s); /* which of the two is it? */
    bool is_mine = mine != TN__GPU_OK && mine != TN__GPU_NOT_READY;
    return tn__gpu_failed(is_mine || r == TN__GPU_INVALID_VALUE ? c->from : c->to, r, "copying to another device");
}

static tn_status copy_direct(const crossing *c, void *to, const void *from, size_t bytes)
{
    tn_status e = order(c->to, c->to_stream, c->from, c->from_stream, true);
    if (!e)
        e = send(c, to, from, bytes);
    if (e)
        return e;
    e = order(c->from, c->from_stream, c->to, c->to_stream, false);
    if (e) { /* the destination's stream knows nothing of the copy: the host waits in its place */
        tn__gpu_visit v = tn__gpu_enter(c->from);
        (void)TN__WAIT(peer_instead, c->from->driver->stream_synchronize(c->from_stream->handle));
        tn__gpu_leave(v);
    }
    return e;
}

/* ---- through the host ---- */

typedef struct chunk {
    tn__gpu_pin *pin;
    void *came, *went; /* of the source: it is in the chunk; of the destination: it has left it */
    bool busy;
} chunk;

static tn_status chunk_get(const crossing *c, chunk *k, size_t size)
{
    k->pin = at(c->from) ? NULL : tn__gpu_pin_get(c->from, size); /* the chunk before has left the other's context */
    k->came = k->pin ? tn__gpu_event_get(c->from) : NULL;
    k->went = k->came && !at(c->to) ? tn__gpu_event_get(c->to) : NULL;
    return k->went ? TN_OK : tn_error_code();
}

static void chunk_put(const crossing *c, chunk *k)
{
    if (k->pin) {
        tn__gpu_pin_used(k->pin, c->from_stream);
        tn__gpu_pin_used(k->pin, c->to_stream);
        tn__gpu_pin_put(k->pin);
    }
    if (k->came)
        tn__gpu_event_put(c->from, k->came);
    if (k->went)
        tn__gpu_event_put(c->to, k->went);
}

static tn_status into_chunk(const crossing *c, chunk *k, const void *from, size_t bytes)
{
    void *s = c->from_stream->handle;
    tn_status e = at(c->from);
    if (!e && k->busy)
        e = tn__gpu_waits(c->from, c->to, TN__WAIT(staged_went, c->from->driver->stream_wait_event(s, k->went)));
    if (!e)
        e = tn__gpu_check(c->from, c->from->driver->copy_out(k->pin->p, from, bytes, s), "copying from the device");
    if (!e)
        e = tn__gpu_check(c->from, TN__WAIT(staged_came_record, c->from->driver->event_record(k->came, s)),
                          "recording an event");
    return e;
}

static tn_status out_of_chunk(const crossing *c, chunk *k, void *to, size_t bytes)
{
    void *s = c->to_stream->handle;
    tn_status e = at(c->to);
    if (!e)
        e = tn__gpu_waits(c->to, c->from, TN__WAIT(staged_came, c->to->driver->stream_wait_event(s, k->came)));
    if (!e)
        e = tn__gpu_check(c->to, c->to->driver->copy_in(to, k->pin->p, bytes, s), "copying to the device");
    if (!e)
        e = tn__gpu_check(c->to, TN__WAIT(staged_went_record, c->to->driver->event_record(k->went, s)),
                          "recording an event");
    k->busy = true;
    return e;
}

static tn_status copy_staged(const crossing *c, char *to, const char *from, size_t bytes)
{
    chunk k[TN__GPU_CHUNKS] = {{0}};
    tn_status e = TN_OK;
    int i = 0;
    size_t size = tn__gpu_chunk(bytes);
    for (size_t done = 0; done < bytes && !e; done += size, i = (i + 1) % TN__GPU_CHUNKS) {
        size_t part = TN_MIN(bytes - done, size);
        e = k[i].pin ? TN_OK : chunk_get(c, &k[i], size);
        if (!e)
            e = into_chunk(c, &k[i], from + done, part);
        if (!e)
            e = out_of_chunk(c, &k[i], to + done, part);
    }
    for (i = 0; i < TN__GPU_CHUNKS; i++)
        chunk_put(c, &k[i]);
    return e;
}

/* ---- may the link be trusted? ---- */

enum { PATTERN = 256 << 10 };

static bool enable(const crossing *c)
{
    return !at(c->from) && c->from->driver->peer_enable(c->from, c->to);
}

static void write_pattern(uint32_t *word, uint32_t seed)
{
    for (uint32_t i = 0; i < PATTERN / 4; i++)
        word[i] = (i + seed) * UINT32_C(2654435761);
}

/* Memory on both sides and on the host: what there, and what is to come back. */
typedef struct trial {
    void *from, *to;
    tn__gpu_pin *sent, *back;
} trial;

static bool trial_get(const crossing *c, trial *t)
{
    t->from = tn__gpu_scratch_get(c->from->device, PATTERN);
    t->to = t->from ? tn__gpu_scratch_get(c->to->device, PATTERN) : NULL;
    t->sent = t->to ? tn__gpu_pin_get(c->to, PATTERN) : NULL;
    t->back = t->sent ? tn__gpu_pin_get(c->to, PATTERN) : NULL;
    return t->back != NULL;
}

static void trial_put(const crossing *c, const trial *t)
{
    tn__gpu_scratch_put(c->from->device, t->from, PATTERN);
    tn__gpu_scratch_put(c->to->device, t->to, PATTERN);
    if (t->sent) {
        tn__gpu_pin_used(t->sent, c->from_stream);
        tn__gpu_pin_put(t->sent);
    }
    if (t->back) {
        tn__gpu_pin_used(t->back, c->to_stream);
        tn__gpu_pin_put(t->back);
    }
}

/* *same: the pattern arrived. */
static tn_status send_pattern(const crossing *c, const trial *t, bool *same)
{
    const tn__gpu_driver *driver = c->to->driver;
    void *to = c->to_stream->handle;
    write_pattern((uint32_t *)t->sent->p, (uint32_t)c->from->device.index * 64 + (uint32_t)c->to->device.index);
    tn_status e = at(c->to);
    if (!e)
        e = tn__gpu_check(c->to, driver->fill(t->to, 0xA5, PATTERN, to), "setting memory");
    if (!e)
        e = at(c->from);
    if (!e)
        e = tn__gpu_check(c->from, driver->copy_in(t->from, t->sent->p, PATTERN, c->from_stream->handle),
                          "copying to the device");
    if (!e)
        e = copy_direct(c, t->to, t->from, PATTERN);
    if (!e)
        e = tn__gpu_check(c->to, driver->copy_out(t->back->p, t->to, PATTERN, to), "copying from the device");
    if (!e) {
        e = tn__gpu_check(c->to, TN__WAIT(peer_pattern, driver->stream_synchronize(to)), "waiting for a stream");
        atomic_fetch_add_explicit(&c->to->ledger->synchronizations, 1, memory_order_relaxed);
    }
    if (!e)
        e = tn__gpu_touch(c->to, t->back->p, PATTERN, 0);
    *same = !e && !memcmp(t->sent->p, t->back->p, PATTERN);
    return e;
}

/* Finds out about the link. Where there is no memory to find out with, it is STAGED for now and asked again later. */
static tn_status try_link(const crossing *c, link_state *state)
{
    trial t = {0};
    bool same = false;
    *state = STAGED;
    if (!enable(c)) {
        *link_of(c) = STAGED;
        return TN_OK;
    }
    tn_status before = tn_error_code(), e = TN_OK;
    if (trial_get(c, &t)) {
        e = send_pattern(c, &t, &same);
        *state = same ? DIRECT : STAGED;
        if (!e)
            *link_of(c) = (uint8_t)*state;
    } else if (!before) {
        tn_error_clear();
    }
    trial_put(c, &t);
    return e;
}

static tn_status find_link(const crossing *c, link_state *state)
{
    _Atomic uint8_t *known = link_of(c);
    if (c->from->first == c->to->first) { /* one GPU: no link to find out about */
        *state = DIRECT;
        return TN_OK;
    }
    *state = (link_state)atomic_load_explicit(known, memory_order_acquire);
    if (TN_LIKELY(*state != UNKNOWN))
        return TN_OK;
    pthread_mutex_lock(&peers.lock);
    *state = (link_state)*known;
    tn_status e = *state == UNKNOWN ? try_link(c, state) : TN_OK;
    pthread_mutex_unlock(&peers.lock);
    return e;
}

tn_status tn__gpu_peer(tn_device to_device, void *to, tn_device from_device, const void *from, size_t bytes)
{
    crossing c = {.to = tn__gpu_use(to_device)};
    c.to_stream = c.to ? tn__gpu_current(c.to) : NULL;
    c.from = c.to ? tn__gpu_use(from_device) : NULL;
    if (!c.from)
        return tn_error_code();
    c.from_stream = tn__gpu_current(c.from);
    if (!bytes)
        return TN_OK;
    link_state link;
    tn_status e = find_link(&c, &link);
    if (e)
        return e;
    tn__ledger_crossing(c.from->ledger, TN__PEER_OUT, bytes);
    tn__ledger_crossing(c.to->ledger, TN__PEER_IN, bytes);
    if (link == DIRECT)
        return copy_direct(&c, to, from, bytes);
    atomic_fetch_add_explicit(&c.from->ledger->staged, 1, memory_order_relaxed);
    return copy_staged(&c, to, from, bytes);
}

void tn__gpu_peer_forget(const tn__gpu_device *device)
{
    const int32_t n = tn__gpu_number(device->device);
    for (int i = 0; i < TN__GPU_MAX; i++) {
        atomic_store_explicit(&peers.link[n][i], UNKNOWN, memory_order_release);
        atomic_store_explicit(&peers.link[i][n], UNKNOWN, memory_order_release);
    }
}

tn_status tn_cuda_can_access_peer(tn_device device, tn_device peer, bool *out)
{
    tn_device d, p = TN_CPU;
    tn__enter(TN__NOWHERE);
    tn_status e = tn__gpu_resolve(device, &d);
    if (!e)
        e = tn__gpu_resolve(peer, &p);
    if (e)
        return e;
    if (tn__gpu_forked())
        return tn__gpu_refuse_child(d.type);
    const tn__gpu_device *from = tn__gpu_slot(d), *to = tn__gpu_slot(p);
    *out = from != to &&
           (from->first == to->first || (from->driver == to->driver && from->driver->peer_reaches(from, to)));
    return TN_OK;
}
