/* backend/gpu/pinned.c: page-locked host memory. The driver takes long to make some, so it is kept: blocks, whose sizes
 * are powers of two, are cut by halves out of sheets; one is used again once the streams that used it are past it. Halves
 * are joined again when the cache is emptied.
 *
 * A sheet is memory of the process's own that the driver locks (registers): it outlives a reset of the device in whose
 * context that was done, so CPU tensors stay whole; they are ordinary memory then (where the driver locks none but its
 * own, a reset moves them: their addresses change). It is mapped shared: after a fork() no copy on write can part the
 * pages that the host sees from those that the device reaches. */
#include "backend/gpu/memory.h"
#include "backend/host_touch.h"
#include "core/alloc.h"
#include "core/env.h"
#include "core/error.h"
#include "core/thread.h"
#include <sys/mman.h>

enum { LEAST = 9, SHEET = 21, BINS = 64, PAGE = 4096 }; /* LEAST, SHEET: logarithms of sizes */

static struct {
    pthread_once_t once;
    pthread_mutex_t lock; /* guards all that follows */
    bool no_cache;        /* TENON_NO_CACHE: each block is a sheet, given back at once */
    tn__gpu_slab pins, users;
    tn__gpu_pin *sheets;
    tn__gpu_pin *free[BINS];
    tn__gpu_pin *waiting, **waiting_end; /* given back, but streams may still use them; the oldest first */
    tn_pinned_statistics stats;
} host = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER, .waiting_end = &host.waiting};

static void host_start(void)
{
    host.no_cache = tn__env_flag("TENON_NO_CACHE", false);
}

static uint32_t bin_of(size_t bytes)
{
    return bytes <= 1 << LEAST ? LEAST : (uint32_t)(64 - __builtin_clzll((unsigned long long)(bytes - 1)));
}

/* ---- sheets; the lock is held ---- */

static tn__gpu_result map(const tn__gpu_driver *driver, size_t size, void **out)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return TN__GPU_OUT_OF_MEMORY;
    tn__gpu_result r = driver->host_lock(p, size);
    if (r)
        munmap(p, size);
    *out = p;
    return r;
}

/* Some systems lock only what the driver itself allocates, and the process may be allowed to lock little. */
static tn__gpu_result sheet_memory(const tn__gpu_driver *driver, size_t size, void **p, bool *mapped)
{
    tn__gpu_result r = map(driver, size, p);
    *mapped = r == TN__GPU_OK;
    if (r)
        r = driver->host_get(size, p, NULL);
    return r;
}

/* The driver lets go of the sheet's pages; a context of its device is current. */
static void unlock(const tn__gpu_pin *s)
{
    if (s->mapped)
        s->device->driver->host_unlock(s->p);
    else
        s->device->driver->host_put(s->p);
}

static void sheet_put(tn__gpu_pin *s)
{
    tn__gpu_pin **at = &host.sheets;
    while (*at != s)
        at = &(*at)->next_sheet;
    *at = s->next_sheet;
    host.stats.reserved -= (int64_t)s->size;
    if (!s->lost) {
        tn__gpu_visit v = tn__gpu_enter(s->device);
        unlock(s);
        tn__gpu_leave(v);
    }
    if (s->mapped)
        munmap(s->p, s->size);
    tn__gpu_slab_put(&host.pins, s);
}

/* Joins the halves that are free again. True if all of b is. */
static bool join(tn__gpu_pin *b)
{
    if (!b->half[0])
        return b->free;
    bool low = join(b->half[0]), high = join(b->half[1]);
    if (!low || !high)
        return false;
    tn__gpu_slab_put(&host.pins, b->half[0]);
    tn__gpu_slab_put(&host.pins, b->half[1]);
    b->half[0] = b->half[1] = NULL;
    b->free = true;
    return true;
}

static void push(tn__gpu_pin *b)
{
    b->free = true;
    b->link = host.free[b->bin];
    host.free[b->bin] = b;
}

static void push_free(tn__gpu_pin *b)
{
    if (b->half[0]) {
        push_free(b->half[0]);
        push_free(b->half[1]);
    } else if (b->free) {
        push(b);
    }
}

/* Nobody uses b any more. Blocks of a lost sheet are not used again. */
static void settle(tn__gpu_pin *b)
{
    if (!b->sheet->lost && !host.no_cache) {
        push(b);
        return;
    }
    if (b->moved)
        munmap(b->p, b->size);
    b->free = true;
    if (join(b->sheet))
        sheet_put(b->sheet);
}

static void settle_waiting(bool wait)
{
    tn__gpu_pin **at = &host.waiting;
    while (*at) {
        tn__gpu_pin *b = *at;
        if (!tn__gpu_users_passed(&host.users, &b->users, wait)) {
            at = &b->link;
            continue;
        }
        *at = b->link;
        settle(b);
    }
    host.waiting_end = at;
}

/* Gives every sheet back that nobody uses, and joins what is free of others. */
static void flush(void)
{
    settle_waiting(true);
    memset(host.free, 0, sizeof host.free);
    for (tn__gpu_pin *s = host.sheets, *next; s; s = next) {
        next = s->next_sheet;
        if (join(s))
            sheet_put(s);
        else if (!s->lost)
            push_free(s);
    }
}

static tn__gpu_pin *sheet_get(tn__gpu_device *dev, uint32_t bin, size_t bytes, tn__gpu_result *result)
{
    tn__gpu_pin *s = tn__gpu_slab_get(&host.pins, sizeof *s);
    void *p;
    size_t size = host.no_cache ? (bytes + PAGE - 1) / PAGE * PAGE : (size_t)1 << bin;
    if (!s)
        return NULL;
    *result = sheet_memory(dev->driver, size, &p, &s->mapped);
    if (*result == TN__GPU_OUT_OF_MEMORY) {
        flush();
        *result = sheet_memory(dev->driver, size, &p, &s->mapped);
    }
    if (*result) {
        tn__gpu_slab_put(&host.pins, s);
        return NULL;
    }
    s->p = p;
    s->size = size;
    s->bin = bin;
    s->sheet = s;
    s->device = dev;
    s->next_sheet = host.sheets;
    host.sheets = s;
    host.stats.allocations++;
    host.stats.reserved += (int64_t)size;
    host.stats.reserved_peak = TN_MAX(host.stats.reserved_peak, host.stats.reserved);
    return s;
}

/* The lower half of b; the upper one is free from now on. NULL when memory is out: b is as before. */
static tn__gpu_pin *halve(tn__gpu_pin *b)
{
    tn__gpu_pin *h[2];
    h[0] = tn__gpu_slab_get(&host.pins, sizeof *b);
    h[1] = tn__gpu_slab_get(&host.pins, sizeof *b);
    if (!h[0] || !h[1]) {
        if (h[0])
            tn__gpu_slab_put(&host.pins, h[0]);
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        h[i]->size = b->size / 2;
        h[i]->bin = b->bin - 1;
        h[i]->sheet = b->sheet;
        h[i]->p = b->p + (size_t)i * h[i]->size;
        b->half[i] = h[i];
    }
    push(h[1]);
    return h[0];
}

/* ---- blocks; the lock is held ---- */

/* A block of that bin, in no list. */
static tn__gpu_pin *find(tn__gpu_device *dev, uint32_t bin, size_t bytes, tn__gpu_result *result)
{
    tn__gpu_pin *b = NULL;
    for (uint32_t i = bin; !b && i <= TN_MAX(bin, (uint32_t)SHEET); i++)
        if (host.free[i]) {
            b = host.free[i];
            host.free[i] = b->link;
        }
    if (!b)
        b = sheet_get(dev, host.no_cache ? bin : TN_MAX(bin, (uint32_t)SHEET), bytes, result);
    while (b && b->bin > bin) {
        tn__gpu_pin *half = halve(b);
        if (!half)
            push(b);
        b = half;
    }
    return b;
}

static tn__gpu_pin *take(tn__gpu_device *dev, size_t bytes, tn__gpu_result *result)
{
    uint32_t bin = bin_of(bytes);
    if (host.waiting)
        settle_waiting(false);
    tn__gpu_pin *b = host.free[bin];
    if (TN_LIKELY(b != NULL))
        host.free[bin] = b->link;
    else
        b = find(dev, bin, bytes, result);
    if (!b)
        return NULL;
    b->link = NULL;
    b->free = false;
    b->requested = bytes;
    host.stats.allocated += (int64_t)b->size;
    host.stats.allocated_peak = TN_MAX(host.stats.allocated_peak, host.stats.allocated);
    if (dev->driver->block_taken)
        *result = dev->driver->block_taken(b->p, bytes);
    return b;
}

static void give(tn__gpu_pin *b)
{
    const tn__gpu_driver *driver = b->sheet->device->driver;
    if (driver->block_freed)
        driver->block_freed(b->p, b->requested);
    host.stats.allocated -= (int64_t)b->size;
    b->storage = NULL;
    tn__gpu_users_record(&host.users, &b->users);
    b->link = NULL;
    if (!b->users) {
        settle(b);
        return;
    }
    *host.waiting_end = b;
    host.waiting_end = &b->link;
}

/* ---- blocks ---- */

TN_COLD static void refuse(tn__gpu_device *dev, size_t bytes, tn__gpu_result result)
{
    tn_pinned_statistics s = tn_pinned_memory_stats();
    if (result && result != TN__GPU_OUT_OF_MEMORY)
        tn__gpu_check(dev, result, "taking page-locked host memory");
    else
        tn__error(TN_ENOMEM,
                  "%s error: out of memory\n  %s of page-locked host memory could not be had; this process holds %s "
                  "of it, %s in use",
                  dev->driver->label, tn__size_str((int64_t)bytes).s, tn__size_str(s.reserved).s,
                  tn__size_str(s.allocated).s);
}

tn__gpu_pin *tn__gpu_pin_get(tn__gpu_device *dev, size_t bytes)
{
    tn__gpu_result result = TN__GPU_OK;
    tn__gpu_pin *b = NULL;
    pthread_once(&host.once, host_start);
    pthread_mutex_lock(&host.lock);
    if (TN_LIKELY(bytes <= (size_t)PTRDIFF_MAX / 2))
        b = take(dev, bytes, &result);
    if (TN_UNLIKELY(b && result)) { /* a fake GPU says that it is still in use */
        give(b);
        b = NULL;
    }
    pthread_mutex_unlock(&host.lock);
    if (TN_UNLIKELY(!b))
        refuse(dev, bytes, result);
    return b;
}

void tn__gpu_pin_used(tn__gpu_pin *b, tn__stream *stream)
{
    if (tn__gpu_forked())
        return;
    pthread_mutex_lock(&host.lock);
    tn__gpu_users_add(&host.users, &b->users, stream);
    pthread_mutex_unlock(&host.lock);
}

void tn__gpu_pin_put(tn__gpu_pin *b)
{
    if (tn__gpu_forked())
        return;
    pthread_mutex_lock(&host.lock);
    give(b);
    pthread_mutex_unlock(&host.lock);
}

/* The driver's own memory goes with the context: what a tensor holds there is brought away. */
static void move_away(tn__gpu_pin *b)
{
    void *p = mmap(NULL, b->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return;
    memcpy(p, b->p, b->requested);
    b->p = b->storage->data = p;
    b->moved = true;
}

/* It is ordinary memory from now on; what still copies from or to it is waited for. */
static void lose(tn__gpu_pin *b)
{
    for (int i = 0; i < 2 && b->half[0]; i++)
        lose(b->half[i]);
    if (b->storage)
        atomic_store(&b->storage->pinned, false);
    tn__gpu_users_record(&host.users, &b->users);
    tn__gpu_users_passed(&host.users, &b->users, true);
    if (b->storage && !b->sheet->mapped)
        move_away(b);
}

/* What other devices still do with sheets of this one is waited for: its context is what locks them, and it is current. Pages
 * are unlocked before anybody unmaps them: a driver that still had them locked would hold on to what is another's by then. */
void tn__gpu_pinned_forget(const tn__gpu_device *device)
{
    pthread_mutex_lock(&host.lock);
    for (tn__gpu_pin *s = host.sheets; s; s = s->next_sheet) {
        if (s->device != device || s->lost)
            continue;
        s->lost = true;
        lose(s);
        unlock(s);
    }
    flush();
    pthread_mutex_unlock(&host.lock);
}

tn_pinned_statistics tn_pinned_memory_stats(void)
{
    if (tn__gpu_forked())
        return (tn_pinned_statistics){0};
    pthread_mutex_lock(&host.lock);
    tn_pinned_statistics s = host.stats;
    pthread_mutex_unlock(&host.lock);
    return s;
}

void tn_empty_pinned_cache(void)
{
    if (tn__gpu_forked())
        return;
    pthread_mutex_lock(&host.lock);
    flush();
    pthread_mutex_unlock(&host.lock);
}

/* ---- storages ---- */

/* This thread's current device, or one that is in use already: any one's context will do, the memory is pinned for all. */
static tn__gpu_device *current(int32_t type)
{
    int32_t at = tn__self()->current_device[type];
    if (!atomic_load(&tn__gpu_slot(tn_device_make(type, at))->ready))
        for (int32_t i = 0; i < tn__gpu_count(type); i++)
            if (atomic_load(&tn__gpu_slot(tn_device_make(type, i))->ready)) {
                at = i;
                break;
            }
    return tn__gpu_use(tn_device_make(type, at));
}

static void release(tn__storage *s)
{
    tn__gpu_pin_put(s->ctx);
}

tn__storage *tn__gpu_pinned(int32_t type, size_t bytes)
{
    tn__storage *s = tn__storage_new(TN_CPU, NULL, bytes, NULL);
    if (!s)
        return tn__fail(TN_ENOMEM, "out of memory for a storage's description");
    atomic_store(&s->pinned, true);
    if (!bytes)
        return s;
    tn__gpu_device *dev = current(type);
    tn__gpu_pin *b = dev ? tn__gpu_pin_get(dev, bytes) : NULL;
    if (!b) {
        tn__storage_release(s);
        return NULL;
    }
    pthread_mutex_lock(&host.lock);
    b->storage = s;
    atomic_store(&s->pinned, !b->sheet->lost); /* a reset may have come between */
    pthread_mutex_unlock(&host.lock);
    s->data = b->p;
    s->ctx = b;
    s->release = release;
    if (TN_UNLIKELY(dev->driver->simulated && dev->driver->simulated()))
        atomic_store_explicit(&tn__pinned_watched, true, memory_order_relaxed);
    return s;
}

/* A child of a fork() has the memory, and no device that would know. */
tn_status tn__gpu_pinned_touch(const tn__storage *s, const void *p, size_t bytes, bool write)
{
    char report[1024];
    if (s->release != release || tn__gpu_forked())
        return TN_OK;
    const tn__gpu_device *dev = ((const tn__gpu_pin *)s->ctx)->sheet->device;
    const tn__gpu_result r = dev->driver->host_access(p, bytes, write);
    if (!r)
        return TN_OK;
    tn__gpu_report(dev->driver, report, sizeof report);
    return tn__gpu_plain_failure(dev, r, write ? "writing pinned memory" : "reading pinned memory", report);
}

void tn__gpu_pinned_used(tn__storage *s, tn__stream *stream)
{
    if (s->release == release)
        tn__gpu_pin_used(s->ctx, stream);
}

void tn__gpu_pinned_end(void)
{
    tn_empty_pinned_cache();
    tn__gpu_slab_end(&host.pins);
    tn__gpu_slab_end(&host.users);
}
