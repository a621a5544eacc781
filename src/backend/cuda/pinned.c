/* backend/cuda/pinned.c: page-locked host memory. The driver takes long to make some, so blocks, whose sizes are powers
 * of two, are kept; one is used again once the streams that used it are past it. */
#include "backend/cuda/memory.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/thread.h"

enum { LEAST = 9, BINS = 64 }; /* the smallest block has 1 << LEAST bytes */

static struct {
    pthread_mutex_t lock; /* guards all that follows */
    tn__cuda_slab pins, users;
    tn__cuda_pin *free[BINS];
    tn__cuda_pin *waiting, **waiting_end; /* given back, but streams may still use them; the oldest first */
    tn__cuda_pin *staged;                 /* out, of tn__cuda_staging_get */
    tn_pinned_statistics stats;
} host = {.lock = PTHREAD_MUTEX_INITIALIZER, .waiting_end = &host.waiting};

static uint32_t bin_of(size_t bytes)
{
    return bytes <= 1 << LEAST ? LEAST : (uint32_t)(64 - __builtin_clzll((unsigned long long)(bytes - 1)));
}

/* ---- the lock is held ---- */

static void settle_waiting(bool wait)
{
    tn__cuda_pin **at = &host.waiting;
    while (*at) {
        tn__cuda_pin *b = *at;
        if (!tn__cuda_users_passed(&host.users, &b->users, wait)) {
            at = &b->link;
            continue;
        }
        *at = b->link;
        b->link = host.free[b->bin];
        host.free[b->bin] = b;
    }
    host.waiting_end = at;
}

static void flush(void)
{
    settle_waiting(true);
    for (int i = 0; i < BINS; i++)
        while (host.free[i]) {
            tn__cuda_pin *b = host.free[i];
            host.free[i] = b->link;
            host.stats.reserved -= (int64_t)b->size;
            tn__cu.mem_free_host(b->p);
            tn__cuda_slab_put(&host.pins, b);
        }
}

static tn__cuda_pin *make(uint32_t bin, tn__cu_result *result)
{
    tn__cuda_pin *b = tn__cuda_slab_get(&host.pins, sizeof *b);
    void *p;
    size_t size = (size_t)1 << bin;
    if (!b)
        return NULL;
    *result = tn__cu.mem_host_alloc(&p, size, TN__CU_MEMHOSTALLOC_PORTABLE);
    if (*result == TN__CU_OUT_OF_MEMORY) {
        flush();
        *result = tn__cu.mem_host_alloc(&p, size, TN__CU_MEMHOSTALLOC_PORTABLE);
    }
    if (*result) {
        tn__cuda_slab_put(&host.pins, b);
        return NULL;
    }
    b->p = p;
    b->size = size;
    b->bin = bin;
    host.stats.allocations++;
    host.stats.reserved += (int64_t)size;
    host.stats.reserved_peak = TN_MAX(host.stats.reserved_peak, host.stats.reserved);
    return b;
}

static tn__cuda_pin *take(size_t bytes, tn__cu_result *result)
{
    uint32_t bin = bin_of(bytes);
    *result = TN__CU_SUCCESS;
    if (host.waiting)
        settle_waiting(false);
    tn__cuda_pin *b = host.free[bin];
    if (b)
        host.free[bin] = b->link;
    else
        b = make(bin, result);
    if (!b)
        return NULL;
    b->link = NULL;
    b->requested = bytes;
    host.stats.allocated += (int64_t)b->size;
    host.stats.allocated_peak = TN_MAX(host.stats.allocated_peak, host.stats.allocated);
    if (tn__cu.fake_block_taken)
        tn__cu.fake_block_taken(b->p, bytes);
    return b;
}

static void give(tn__cuda_pin *b)
{
    if (tn__cu.fake_block_freed)
        tn__cu.fake_block_freed(b->p, b->requested);
    host.stats.allocated -= (int64_t)b->size;
    tn__cuda_users_record(&host.users, &b->users);
    b->link = NULL;
    if (b->users) {
        *host.waiting_end = b;
        host.waiting_end = &b->link;
    } else {
        b->link = host.free[b->bin];
        host.free[b->bin] = b;
    }
}

/* ---- blocks ---- */

TN_COLD static void refuse(tn__cuda_device *dev, size_t bytes, tn__cu_result result)
{
    if (result && result != TN__CU_OUT_OF_MEMORY)
        tn__cuda_check(dev, result, "cuMemHostAlloc");
    else
        tn__error(TN_ENOMEM,
                  "CUDA error: out of memory\n  %s of page-locked host memory could not be had; this process holds %s "
                  "of it, %s in use",
                  tn__cuda_size_str((int64_t)bytes).s, tn__cuda_size_str(host.stats.reserved).s,
                  tn__cuda_size_str(host.stats.allocated).s);
}

tn__cuda_pin *tn__cuda_pin_get(tn__cuda_device *dev, size_t bytes)
{
    tn__cu_result result = TN__CU_SUCCESS;
    tn__cuda_pin *b = NULL;
    tn__cuda_watch_fork();
    pthread_mutex_lock(&host.lock);
    if (bytes <= (size_t)PTRDIFF_MAX / 2)
        b = take(bytes, &result);
    if (TN_UNLIKELY(!b))
        refuse(dev, bytes, result);
    pthread_mutex_unlock(&host.lock);
    return b;
}

void tn__cuda_pin_used(tn__cuda_pin *b, tn__stream *stream)
{
    if (tn__cuda_in_child())
        return;
    pthread_mutex_lock(&host.lock);
    tn__cuda_users_add(&host.users, &b->users, stream);
    pthread_mutex_unlock(&host.lock);
}

void tn__cuda_pin_put(tn__cuda_pin *b)
{
    if (tn__cuda_in_child())
        return;
    pthread_mutex_lock(&host.lock);
    give(b);
    pthread_mutex_unlock(&host.lock);
}

tn_pinned_statistics tn_pinned_memory_stats(void)
{
    if (tn__cuda_in_child())
        return (tn_pinned_statistics){0};
    pthread_mutex_lock(&host.lock);
    tn_pinned_statistics s = host.stats;
    pthread_mutex_unlock(&host.lock);
    return s;
}

void tn_empty_pinned_cache(void)
{
    if (tn__cuda_in_child())
        return;
    pthread_mutex_lock(&host.lock);
    flush();
    pthread_mutex_unlock(&host.lock);
}

/* ---- storages ---- */

/* This thread's current device, in use. Any one's context will do: the memory is pinned for all. */
static tn__cuda_device *current(void)
{
    return tn__cuda_use(TN_CUDA(tn__self()->current_device[TN_DEVICE_CUDA]));
}

static void release(tn__storage *s)
{
    tn__cuda_pin_put(s->ctx);
}

tn__storage *tn__cuda_pinned(size_t bytes)
{
    tn__storage *s = tn__storage_new(TN_CPU, NULL, bytes, NULL);
    if (!s)
        return tn__fail(TN_ENOMEM, "out of memory for a storage's description");
    s->pinned = true;
    if (!bytes)
        return s;
    tn__cuda_device *dev = current();
    tn__cuda_pin *b = dev ? tn__cuda_pin_get(dev, bytes) : NULL;
    if (!b) {
        tn__storage_release(s);
        return NULL;
    }
    s->data = b->p;
    s->ctx = b;
    s->release = release;
    return s;
}

void tn__cuda_pinned_used(tn__storage *s, tn__stream *stream)
{
    if (s->release == release)
        tn__cuda_pin_used(s->ctx, stream);
}

/* ---- staging ---- */

void *tn__cuda_staging_get(size_t bytes)
{
    tn__cuda_device *dev = current();
    tn__cuda_pin *b = dev ? tn__cuda_pin_get(dev, bytes) : NULL;
    if (!b)
        return NULL;
    pthread_mutex_lock(&host.lock);
    b->link = host.staged;
    host.staged = b;
    pthread_mutex_unlock(&host.lock);
    return b->p;
}

void tn__cuda_staging_put(void *p, size_t bytes, tn__stream *in_use_on)
{
    (void)bytes;
    if (!p || tn__cuda_in_child())
        return;
    pthread_mutex_lock(&host.lock);
    for (tn__cuda_pin **at = &host.staged; *at; at = &(*at)->link) {
        tn__cuda_pin *b = *at;
        if (b->p != p)
            continue;
        *at = b->link;
        if (in_use_on)
            tn__cuda_users_add(&host.users, &b->users, in_use_on);
        give(b);
        break;
    }
    pthread_mutex_unlock(&host.lock);
}
