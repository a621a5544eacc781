/* backend/gpu/host_copies.c: bytes between the host and a device, on the device's current stream.
 *
 * The device's copy engines reach pinned memory alone. Pageable memory goes through pinned chunks: while one is under way
 * the next is filled, by all threads. */
#include "backend/gpu/memory.h"
#include "core/parallel.h"
#include <tenon/error.h>

enum {
    GRAIN = 256 << 10, /* of a parallel copy between pageable and pinned memory */
    SMALL = 1 << 20,   /* so much goes through one block */
    AHEAD = 64         /* chunks that an upload that must not wait may fill */
};

typedef struct copying {
    char *to;
    const char *from;
} copying;

static void copy_part(void *ctx, int64_t begin, int64_t end)
{
    copying *c = ctx;
    memcpy(c->to + begin, c->from + begin, (size_t)(end - begin));
}

static void copy_bytes(void *to, const void *from, size_t bytes)
{
    copying c = {to, from};
    if (bytes <= GRAIN)
        memcpy(to, from, bytes);
    else
        tn__parallel_for((int64_t)bytes, GRAIN, copy_part, &c);
}

tn_status tn__gpu_touch(tn__gpu_device *dev, const void *p, size_t bytes, int write)
{
    if (TN_LIKELY(!dev->driver->host_access))
        return TN_OK;
    return tn__gpu_check(dev, dev->driver->host_access(p, bytes, write), "copying on the host");
}

/* ---- chunks in flight ---- */

/* Large enough to cost little each, small enough that the first is under way soon. */
size_t tn__gpu_chunk(size_t bytes)
{
    size_t size = TN__GPU_CHUNK / 8;
    while (size < TN__GPU_CHUNK && size * TN__GPU_CHUNKS < bytes)
        size *= 2;
    return TN_MIN(size, bytes);
}

typedef struct chunk {
    tn__gpu_pin *pin;
    void *event; /* recorded behind the copy that used it last; NULL before the first */
    size_t at, bytes;
} chunk;

/* Waits until the copy that used the chunk last is done. */
static tn_status chunk_wait(tn__gpu_device *dev, chunk *c)
{
    tn__gpu_result r = TN__WAIT(chunk_wait, tn__gpu_wait_event(dev, c->event));
    atomic_fetch_add_explicit(&dev->ledger->synchronizations, 1, memory_order_relaxed);
    return tn__gpu_check(dev, r, "waiting for a copy");
}

static tn_status chunk_get(tn__gpu_device *dev, chunk *c, size_t size)
{
    c->pin = tn__gpu_pin_get(dev, size);
    c->event = c->pin ? tn__gpu_event_get(dev) : NULL;
    return c->event ? TN_OK : tn_error_code();
}

static tn_status chunk_record(tn__gpu_device *dev, chunk *c, tn__stream *s)
{
    return tn__gpu_check(dev, TN__WAIT(chunk_record, dev->driver->event_record(c->event, s->handle)),
                         "recording an event");
}

static void chunks_put(tn__gpu_device *dev, chunk *c, int n, tn__stream *in_use_on)
{
    for (int i = 0; i < n; i++) {
        if (c[i].pin && in_use_on)
            tn__gpu_pin_used(c[i].pin, in_use_on);
        if (c[i].pin)
            tn__gpu_pin_put(c[i].pin);
        if (c[i].event)
            tn__gpu_event_put(dev, c[i].event);
    }
}

/* ---- uploads ---- */

/* From pageable memory, little enough for one block. */
static tn_status upload_small(tn__gpu_device *dev, tn__stream *s, void *to, const void *from, size_t bytes)
{
    tn__gpu_pin *pin = tn__gpu_pin_get(dev, bytes);
    if (!pin)
        return tn_error_code();
    tn_status e = tn__gpu_touch(dev, pin->p, bytes, 1);
    if (!e) {
        copy_bytes(pin->p, from, bytes);
        e = tn__gpu_check(dev, dev->driver->copy_in(to, pin->p, bytes, s->handle), "copying to the device");
        tn__gpu_pin_used(pin, s);
    }
    tn__gpu_pin_put(pin);
    return e;
}

/* Several chunks, at most n of them at once: then the first is filled again, when its copy is done. */
static tn_status upload_large(tn__gpu_device *dev, tn__stream *s, char *to, const char *from, size_t bytes, int n)
{
    chunk c[AHEAD] = {{0}};
    tn_status e = TN_OK;
    int used = 0;
    size_t size = tn__gpu_chunk(bytes);
    for (size_t at = 0, i = 0; at < bytes && !e; at += size, i = (i + 1) % (size_t)n) {
        size_t part = TN_MIN(bytes - at, size);
        used += !c[i].pin;
        e = c[i].pin ? chunk_wait(dev, &c[i]) : chunk_get(dev, &c[i], size);
        if (!e)
            e = tn__gpu_touch(dev, c[i].pin->p, part, 1);
        if (e)
            break;
        copy_bytes(c[i].pin->p, from + at, part);
        e = tn__gpu_check(dev, dev->driver->copy_in(to + at, c[i].pin->p, part, s->handle), "copying to the device");
        if (!e)
            e = chunk_record(dev, &c[i], s);
    }
    chunks_put(dev, c, used, s);
    return e;
}

static tn_status upload(tn_device to_device, void *to, const void *from, size_t bytes, bool pinned, bool non_blocking)
{
    tn__gpu_device *dev = tn__gpu_use(to_device);
    if (!dev)
        return tn_error_code();
    if (!bytes)
        return TN_OK;
    tn__stream *s = tn__gpu_current(dev);
    tn__ledger_crossing(dev->ledger, pinned ? TN__UPLOAD_PINNED : TN__UPLOAD_PAGEABLE, bytes);
    if (!pinned)
        return bytes <= SMALL ? upload_small(dev, s, to, from, bytes)
                              : upload_large(dev, s, to, from, bytes, non_blocking ? AHEAD : TN__GPU_CHUNKS);
    tn_status e = tn__gpu_check(dev, dev->driver->copy_in(to, from, bytes, s->handle), "copying to the device");
    return e || non_blocking ? e : TN__WAIT(upload_wait, tn__gpu_stream_synchronize(dev, s));
}

/* ---- downloads ---- */

static tn_status download_small(tn__gpu_device *dev, tn__stream *s, void *to, const void *from, size_t bytes)
{
    tn__gpu_pin *pin = tn__gpu_pin_get(dev, bytes);
    if (!pin)
        return tn_error_code();
    tn_status e = tn__gpu_check(dev, dev->driver->copy_out(pin->p, from, bytes, s->handle), "copying from the device");
    if (!e)
        e = TN__WAIT(download_small, tn__gpu_stream_synchronize(dev, s));
    if (!e)
        e = tn__gpu_touch(dev, pin->p, bytes, 0);
    if (!e)
        copy_bytes(to, pin->p, bytes);
    else
        tn__gpu_pin_used(pin, s);
    tn__gpu_pin_put(pin);
    return e;
}

static tn_status download_queue(tn__gpu_device *dev, tn__stream *s, chunk *c, const char *from, size_t at, size_t bytes)
{
    c->at = at;
    c->bytes = TN_MIN(bytes - at, tn__gpu_chunk(bytes));
    tn_status e =
        tn__gpu_check(dev, dev->driver->copy_out(c->pin->p, from + at, c->bytes, s->handle), "copying from the device");
    return e ? e : chunk_record(dev, c, s);
}

/* Chunks are queued ahead; each that has come is copied out, and queued again for a later part. */
static tn_status download_large(tn__gpu_device *dev, tn__stream *s, char *to, const char *from, size_t bytes)
{
    chunk c[TN__GPU_CHUNKS] = {{0}};
    tn_status e = TN_OK;
    size_t queued = 0, done = 0, size = tn__gpu_chunk(bytes);
    int used = 0;
    for (; used < TN__GPU_CHUNKS && queued < bytes && !e; used++) {
        e = chunk_get(dev, &c[used], size);
        if (!e)
            e = download_queue(dev, s, &c[used], from, queued, bytes);
        queued += size;
    }
    for (int i = 0; done < bytes && !e; i = (i + 1) % TN__GPU_CHUNKS) {
        e = chunk_wait(dev, &c[i]);
        if (!e)
            e = tn__gpu_touch(dev, c[i].pin->p, c[i].bytes, 0);
        if (e)
            break;
        copy_bytes(to + c[i].at, c[i].pin->p, c[i].bytes);
        done += c[i].bytes;
        if (queued < bytes)
            e = download_queue(dev, s, &c[i], from, queued, bytes);
        queued += size;
    }
    chunks_put(dev, c, used, e ? s : NULL);
    return e ? e : tn__gpu_take_fault(dev);
}

static tn_status download(tn_device from_device, void *to, const void *from, size_t bytes, bool pinned,
                          bool non_blocking)
{
    tn__gpu_device *dev = tn__gpu_use(from_device);
    if (!dev)
        return tn_error_code();
    if (!bytes)
        return TN_OK;
    tn__stream *s = tn__gpu_current(dev);
    tn__ledger_crossing(dev->ledger, pinned ? TN__DOWNLOAD_PINNED : TN__DOWNLOAD_PAGEABLE, bytes);
    if (!pinned)
        return bytes <= SMALL ? download_small(dev, s, to, from, bytes) : download_large(dev, s, to, from, bytes);
    tn_status e = tn__gpu_check(dev, dev->driver->copy_out(to, from, bytes, s->handle), "copying from the device");
    return e || non_blocking ? e : TN__WAIT(download_pinned, tn__gpu_stream_synchronize(dev, s));
}

const tn__mover tn__gpu_mover = {
    .upload = upload,
    .download = download,
    .peer = tn__gpu_peer,
    .pinned = tn__gpu_pinned,
    .touch = tn__gpu_pinned_touch,
};
