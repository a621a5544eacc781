/* backend/gpu/peer.c: bytes between two devices. Two that are one GPU have no link between them. A direct link is trusted
 * only after a pattern has crossed it and come back unchanged (some machines say that they have a link and deliver rubbish);
 * where there is none, or a bad one, the bytes go through pinned memory, the devices waiting for each other and the host for
 * neither. */
#include "backend/gpu/memory.h"
#include "core/alloc.h"
#include <tenon/error.h>

typedef enum link_state { UNKNOWN, DIRECT, STAGED } link_state;

static struct {
    pthread_mutex_t lock; /* of finding out */
    _Atomic uint8_t link[TN__CUDA_MAX][TN__CUDA_MAX];
} peers = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* One copy: where, on which streams. */
typedef struct crossing {
    tn__cuda_device *from, *to;
    tn__stream *from_stream, *to_stream;
} crossing;

static tn__cu_ptr address(const void *p)
{
    return (tn__cu_ptr)(uintptr_t)p;
}

static tn__cu_stream handle(const tn__stream *s)
{
    return s->handle;
}

/* Makes the device's context current. */
static tn_status at(const tn__cuda_device *dev)
{
    return tn__cuda_use(TN_CUDA(dev->index)) ? TN_OK : tn_error_code();
}

/* What is queued on 'waiting' from now on waits for what is on 'first' now. */
static tn_status order(tn__cuda_device *first_dev, tn__stream *first, tn__cuda_device *waiting_dev, tn__stream *waiting,
                       bool before)
{
    tn_status e = at(first_dev);
    tn__cu_event event = e ? NULL : tn__cuda_event_get(first_dev);
    if (!event)
        return tn_error_code();
    tn__cu_result r = TN__WAIT(peer_record, tn__cu.event_record(event, handle(first)));
    e = tn__cuda_check(first_dev, r, "cuEventRecord");
    if (!e)
        e = at(waiting_dev);
    if (!e) {
        r = before ? TN__WAIT(peer_before, tn__cu.stream_wait_event(handle(waiting), event, 0))
                   : TN__WAIT(peer_after, tn__cu.stream_wait_event(handle(waiting), event, 0));
        e = tn__cuda_waits(waiting_dev, first_dev, r);
    }
    tn__cuda_event_put(first_dev, event);
    return e;
}

/* Devices that are one GPU have one memory; the waits around the copy are those of two. */
static tn_status send(const crossing *c, void *to, const void *from, size_t bytes)
{
    tn__cu_stream s = handle(c->from_stream);
    if (c->from->first == c->to->first)
        return tn__cuda_check(c->from, tn__cu.memcpy_dtod_async(address(to), address(from), bytes, s),
                              "cuMemcpyDtoDAsync");
    tn__cu_result r = tn__cu.memcpy_peer_async(address(to), c->to->context, address(from), c->from->context, bytes, s);
    if (TN_LIKELY(r == TN__CU_SUCCESS))
        return TN_OK;
    tn__cu_result mine = tn__cu.stream_query(s); /* which of the two is it? */
    bool is_mine = mine != TN__CU_SUCCESS && mine != TN__CU_NOT_READY;
    return tn__cuda_failed(is_mine || r == TN__CU_INVALID_VALUE ? c->from : c->to, r, "cuMemcpyPeerAsync");
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
        tn__cuda_visit v = tn__cuda_enter(c->from);
        tn__cu.stream_synchronize(handle(c->from_stream));
        tn__cuda_leave(v);
    }
    return e;
}

/* ---- through the host ---- */

typedef struct chunk {
    tn__cuda_pin *pin;
    tn__cu_event came, went; /* of the source: it is in the chunk; of the destination: it has left it */
    bool busy;
} chunk;

static tn_status chunk_get(const crossing *c, chunk *k, size_t size)
{
    k->pin = at(c->from) ? NULL : tn__cuda_pin_get(c->from, size); /* the chunk before has left the other's context */
    k->came = k->pin ? tn__cuda_event_get(c->from) : NULL;
    k->went = k->came && !at(c->to) ? tn__cuda_event_get(c->to) : NULL;
    return k->went ? TN_OK : tn_error_code();
}

static void chunk_put(const crossing *c, chunk *k)
{
    if (k->pin) {
        tn__cuda_pin_used(k->pin, c->from_stream);
        tn__cuda_pin_used(k->pin, c->to_stream);
        tn__cuda_pin_put(k->pin);
    }
    if (k->came)
        tn__cuda_event_put(c->from, k->came);
    if (k->went)
        tn__cuda_event_put(c->to, k->went);
}

static tn_status into_chunk(const crossing *c, chunk *k, const void *from, size_t bytes)
{
    tn__cu_stream s = handle(c->from_stream);
    tn_status e = at(c->from);
    if (!e && k->busy)
        e = tn__cuda_waits(c->from, c->to, TN__WAIT(staged_went, tn__cu.stream_wait_event(s, k->went, 0)));
    if (!e)
        e = tn__cuda_check(c->from, tn__cu.memcpy_dtoh_async(k->pin->p, address(from), bytes, s), "cuMemcpyDtoHAsync");
    if (!e)
        e = tn__cuda_check(c->from, TN__WAIT(staged_came_record, tn__cu.event_record(k->came, s)), "cuEventRecord");
    return e;
}

static tn_status out_of_chunk(const crossing *c, chunk *k, void *to, size_t bytes)
{
    tn__cu_stream s = handle(c->to_stream);
    tn_status e = at(c->to);
    if (!e)
        e = tn__cuda_waits(c->to, c->from, TN__WAIT(staged_came, tn__cu.stream_wait_event(s, k->came, 0)));
    if (!e)
        e = tn__cuda_check(c->to, tn__cu.memcpy_htod_async(address(to), k->pin->p, bytes, s), "cuMemcpyHtoDAsync");
    if (!e)
        e = tn__cuda_check(c->to, TN__WAIT(staged_went_record, tn__cu.event_record(k->went, s)), "cuEventRecord");
    k->busy = true;
    return e;
}

static tn_status copy_staged(const crossing *c, char *to, const char *from, size_t bytes)
{
    chunk k[TN__CUDA_CHUNKS] = {{0}};
    tn_status e = TN_OK;
    int i = 0;
    size_t size = tn__cuda_chunk(bytes);
    for (size_t done = 0; done < bytes && !e; done += size, i = (i + 1) % TN__CUDA_CHUNKS) {
        size_t part = TN_MIN(bytes - done, size);
        e = k[i].pin ? TN_OK : chunk_get(c, &k[i], size);
        if (!e)
            e = into_chunk(c, &k[i], from + done, part);
        if (!e)
            e = out_of_chunk(c, &k[i], to + done, part);
    }
    for (i = 0; i < TN__CUDA_CHUNKS; i++)
        chunk_put(c, &k[i]);
    return e;
}

/* ---- may the link be trusted? ---- */

enum { PATTERN = 256 << 10 };

static bool enable(const crossing *c)
{
    int can = 0;
    if (tn__cu.device_can_access_peer(&can, c->from->handle, c->to->handle) || !can || at(c->from))
        return false;
    tn__cu_result r = tn__cu.ctx_enable_peer_access(c->to->context, 0);
    return r == TN__CU_SUCCESS || r == TN__CU_PEER_ACCESS_ALREADY_ENABLED;
}

static void write_pattern(uint32_t *word, uint32_t seed)
{
    for (uint32_t i = 0; i < PATTERN / 4; i++)
        word[i] = (i + seed) * UINT32_C(2654435761);
}

/* Memory on both sides and on the host: what there, and what is to come back. */
typedef struct trial {
    void *from, *to;
    tn__cuda_pin *sent, *back;
} trial;

static bool trial_get(const crossing *c, trial *t)
{
    t->from = tn__cuda_scratch_get(TN_CUDA(c->from->index), PATTERN);
    t->to = t->from ? tn__cuda_scratch_get(TN_CUDA(c->to->index), PATTERN) : NULL;
    t->sent = t->to ? tn__cuda_pin_get(c->to, PATTERN) : NULL;
    t->back = t->sent ? tn__cuda_pin_get(c->to, PATTERN) : NULL;
    return t->back != NULL;
}

static void trial_put(const crossing *c, const trial *t)
{
    tn__cuda_scratch_put(TN_CUDA(c->from->index), t->from, PATTERN);
    tn__cuda_scratch_put(TN_CUDA(c->to->index), t->to, PATTERN);
    if (t->sent) {
        tn__cuda_pin_used(t->sent, c->from_stream);
        tn__cuda_pin_put(t->sent);
    }
    if (t->back) {
        tn__cuda_pin_used(t->back, c->to_stream);
        tn__cuda_pin_put(t->back);
    }
}

/* *same: the pattern arrived. */
static tn_status send_pattern(const crossing *c, const trial *t, bool *same)
{
    tn__cu_stream to = handle(c->to_stream);
    write_pattern((uint32_t *)t->sent->p, (uint32_t)c->from->index * 64 + (uint32_t)c->to->index);
    tn_status e = at(c->to);
    if (!e)
        e = tn__cuda_check(c->to, tn__cu.memset_d8_async(address(t->to), 0xA5, PATTERN, to), "cuMemsetD8Async");
    if (!e)
        e = at(c->from);
    if (!e)
        e = tn__cuda_check(c->from,
                           tn__cu.memcpy_htod_async(address(t->from), t->sent->p, PATTERN, handle(c->from_stream)),
                           "cuMemcpyHtoDAsync");
    if (!e)
        e = copy_direct(c, t->to, t->from, PATTERN);
    if (!e)
        e = tn__cuda_check(c->to, tn__cu.memcpy_dtoh_async(t->back->p, address(t->to), PATTERN, to),
                           "cuMemcpyDtoHAsync");
    if (!e) {
        e = tn__cuda_check(c->to, TN__WAIT(peer_pattern, tn__cu.stream_synchronize(to)), "cuStreamSynchronize");
        atomic_fetch_add_explicit(&tn__ledgers[c->to->index].synchronizations, 1, memory_order_relaxed);
    }
    if (!e)
        e = tn__cuda_touch(c->to, t->back->p, PATTERN, 0);
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
        peers.link[c->from->index][c->to->index] = STAGED;
        return TN_OK;
    }
    tn_status before = tn_error_code(), e = TN_OK;
    if (trial_get(c, &t)) {
        e = send_pattern(c, &t, &same);
        *state = same ? DIRECT : STAGED;
        if (!e)
            peers.link[c->from->index][c->to->index] = (uint8_t)*state;
    } else if (!before) {
        tn_error_clear();
    }
    trial_put(c, &t);
    return e;
}

static tn_status find_link(const crossing *c, link_state *state)
{
    _Atomic uint8_t *known = &peers.link[c->from->index][c->to->index];
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

tn_status tn__cuda_peer(tn_device to_device, void *to, tn_device from_device, const void *from, size_t bytes)
{
    crossing c = {.to = tn__cuda_use(to_device)};
    c.to_stream = c.to ? tn__cuda_current(c.to) : NULL;
    c.from = c.to ? tn__cuda_use(from_device) : NULL;
    if (!c.from)
        return tn_error_code();
    c.from_stream = tn__cuda_current(c.from);
    if (!bytes)
        return TN_OK;
    link_state link;
    tn_status e = find_link(&c, &link);
    if (e)
        return e;
    tn__ledger_crossing(c.from->index, TN__PEER_OUT, bytes);
    tn__ledger_crossing(c.to->index, TN__PEER_IN, bytes);
    if (link == DIRECT)
        return copy_direct(&c, to, from, bytes);
    atomic_fetch_add_explicit(&tn__ledgers[c.from->index].staged, 1, memory_order_relaxed);
    return copy_staged(&c, to, from, bytes);
}

void tn__cuda_peer_forget(int32_t device)
{
    for (int i = 0; i < TN__CUDA_MAX; i++) {
        atomic_store_explicit(&peers.link[device][i], UNKNOWN, memory_order_release);
        atomic_store_explicit(&peers.link[i][device], UNKNOWN, memory_order_release);
    }
}
