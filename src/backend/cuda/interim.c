/* Memory without a cache and copies that wait, until allocator.c, pinned.c and mover.c stand: delete this file then. */
#include "backend/cuda/cuda.h"
#include "core/error.h"

static void release(tn__storage *s)
{
    if (tn__cuda_peek(s->device))
        tn__cu.mem_free((tn__cu_ptr)(uintptr_t)s->data);
}

tn__storage *tn__cuda_allocate(tn_device device, size_t bytes)
{
    tn__cu_ptr p = 0;
    tn__cuda_device *dev = tn__cuda_use(device);
    if (!dev || (bytes && tn__cuda_check(dev, tn__cu.mem_alloc(&p, bytes), "allocating memory")))
        return NULL;
    tn__storage *s = tn__storage_new(device, (void *)(uintptr_t)p, bytes, bytes ? release : NULL);
    if (!s) {
        if (bytes)
            tn__cu.mem_free(p);
        return tn__fail(TN_ENOMEM, "out of memory for a storage's description");
    }
    s->stream = tn__cuda_current(dev);
    return s;
}

void tn__cuda_storage_used(tn__storage *s, tn__stream *stream)
{
    (void)s;
    (void)stream;
}

void *tn__cuda_scratch_get(tn_device device, size_t bytes)
{
    tn__cu_ptr p = 0;
    tn__cuda_device *dev = tn__cuda_use(device);
    if (!dev || tn__cuda_check(dev, tn__cu.mem_alloc(&p, TN_MAX(bytes, (size_t)1)), "allocating memory"))
        return NULL;
    return (void *)(uintptr_t)p;
}

void tn__cuda_scratch_put(tn_device device, void *p, size_t bytes)
{
    (void)bytes;
    if (tn__cuda_peek(device))
        tn__cu.mem_free((tn__cu_ptr)(uintptr_t)p); /* waits for what uses it */
}

tn_memory_statistics tn__cuda_memory_stats(tn_device device)
{
    (void)device;
    return (tn_memory_statistics){0};
}

void tn__cuda_reset_peak(tn_device device)
{
    (void)device;
}

void tn__cuda_empty_cache(tn_device device)
{
    (void)device;
}

void tn__cuda_allocator_forget(tn__cuda_device *dev)
{
    (void)dev;
}

static tn_status upload(tn_device to_device, void *to, const void *from, size_t bytes, bool pinned, bool non_blocking)
{
    (void)pinned;
    (void)non_blocking;
    tn__cuda_device *dev = tn__cuda_use(to_device);
    if (!dev)
        return tn_error_code();
    tn__stream *s = tn__cuda_current(dev);
    tn__cu_result r = tn__cu.memcpy_htod_async((tn__cu_ptr)(uintptr_t)to, from, bytes, s->handle);
    return r ? tn__cuda_check(dev, r, "copying to the device") : tn__cuda_stream_synchronize(dev, s);
}

static tn_status download(tn_device from_device, void *to, const void *from, size_t bytes, bool pinned,
                          bool non_blocking)
{
    (void)pinned;
    (void)non_blocking;
    tn__cuda_device *dev = tn__cuda_use(from_device);
    if (!dev)
        return tn_error_code();
    tn__stream *s = tn__cuda_current(dev);
    tn__cu_result r = tn__cu.memcpy_dtoh_async(to, (tn__cu_ptr)(uintptr_t)from, bytes, s->handle);
    return r ? tn__cuda_check(dev, r, "copying from the device") : tn__cuda_stream_synchronize(dev, s);
}

static tn_status peer(tn_device to_device, void *to, tn_device from_device, const void *from, size_t bytes)
{
    (void)to;
    (void)from;
    (void)bytes;
    return tn__error(TN_EMISSING, "no copies from %s to %s yet", tn_device_text(from_device).s,
                     tn_device_text(to_device).s);
}

static tn__storage *pinned(size_t bytes)
{
    return tn__fail(TN_EMISSING, "no pinned memory (%zu bytes) yet", bytes);
}

const tn__mover tn__cuda_mover = {.upload = upload, .download = download, .peer = peer, .pinned = pinned};
