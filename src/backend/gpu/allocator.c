/* backend/gpu/allocator.c: the caching allocator of device memory. Sizes, splitting and counters are those of PyTorch's
 * (c10/cuda/CUDACachingAllocator): what memory_stats() says of a program is the same there and here. */
#include "backend/gpu/allocator_settings.h"
#include "backend/gpu/arena.h"
#include "core/alloc.h"
#include "core/env.h"
#include "core/error.h"
#include "core/thread.h"

typedef tn__gpu_arena arena;

static struct {
    pthread_once_t once;
    bool no_cache; /* TENON_NO_CACHE */
    const tn__gpu_settings *settings;
    arena of[TN__GPU_MAX];
} memory = {.once = PTHREAD_ONCE_INIT};

static void memory_start(void)
{
    memory.no_cache = tn__env_flag("TENON_NO_CACHE", false);
    memory.settings = tn__gpu_settings_now();
    for (int i = 0; i < TN__GPU_MAX; i++) {
        arena *a = &memory.of[i];
        a->dev = tn__gpu_numbered(i);
        pthread_mutex_init(&a->lock, NULL);
        a->waiting_end = &a->waiting;
        atomic_init(&a->most, INT64_MAX);
    }
}

arena *tn__gpu_arena_of(const tn__gpu_device *dev)
{
    pthread_once(&memory.once, memory_start);
    return &memory.of[tn__gpu_number(dev->device)];
}

/* ---- counters ---- */

static inline void change(tn__gpu_tally *c, bool large, int64_t n)
{
    if (n > 0)
        tn__gpu_up(c, large, n);
    else if (n < 0)
        tn__gpu_down(c, large, -n);
}

static inline bool is_split(const tn__gpu_block *b)
{
    return !b->region && (b->before || b->after); /* what a region's parts leave free is its to give back */
}

/* ---- sizes ---- */

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static size_t block_size(size_t bytes)
{
    if (memory.no_cache)
        return bytes;
    const size_t divisions = TN_UNLIKELY(memory.settings->rounds) ? tn__gpu_divisions_of(memory.settings, bytes) : 0;
    if (divisions > 1 && bytes > TN__GPU_ROUND * divisions)
        return tn__gpu_round_to_division(bytes, divisions);
    return round_up(bytes, TN__GPU_ROUND);
}

static size_t segment_size(size_t size)
{
    if (memory.no_cache)
        return size;
    if (size <= TN__GPU_SMALL)
        return TN__GPU_SMALL_SEGMENT;
    return size < TN__GPU_LARGE ? TN__GPU_LARGE_SEGMENT : round_up(size, TN__GPU_LARGE_ROUND);
}

/* ---- what one GPU may hold: all devices that it is, together ---- */

static arena *whole_of(const arena *a)
{
    return &memory.of[tn__gpu_number(a->dev->first->device)];
}

int64_t tn__gpu_allowed(const arena *a)
{
    return TN_MIN(atomic_load(&whole_of(a)->most), a->dev->memory_limit);
}

int64_t tn__gpu_held(const arena *a)
{
    return atomic_load(&whole_of(a)->held);
}

bool tn__gpu_claim(arena *a, size_t size)
{
    _Atomic int64_t *held = &whole_of(a)->held;
    int64_t now = atomic_load(held);
    do {
        if (now + (int64_t)size > tn__gpu_allowed(a))
            return false;
    } while (!atomic_compare_exchange_weak(held, &now, now + (int64_t)size));
    return true;
}

void tn__gpu_unclaim(arena *a, int64_t size)
{
    atomic_fetch_sub(&whole_of(a)->held, size);
}

/* ---- pools and segments; the lock is held ---- */

static tn__gpu_pool *pool_of(arena *a, tn__stream *stream)
{
    for (tn__gpu_pool **at = &a->pools; *at; at = &(*at)->next) {
        tn__gpu_pool *p = *at;
        if (p->stream != stream)
            continue;
        *at = p->next;
        p->next = a->pools;
        a->pools = p;
        return p;
    }
    tn__gpu_pool *p = tn__block_zero(sizeof *p);
    if (p) {
        p->stream = tn__stream_retain(stream);
        p->next = a->pools;
        a->pools = p;
    }
    return p;
}

/* It is in no list any more. The stream's end may change the current context, which is to stay. */
static void pool_put(tn__gpu_pool *p)
{
    const tn__gpu_visit caller = tn__gpu_stay(tn__gpu_slot(p->stream->device)->driver);
    tn__stream_release(p->stream);
    tn__gpu_leave(caller);
    tn__block_put(p, sizeof *p);
}

static void count_oversize(tn__gpu_tally *c, size_t size, void (*count)(tn__gpu_tally *c))
{
    if (TN_UNLIKELY(size >= memory.settings->max_split))
        count(c);
}

static void one_more(tn__gpu_tally *c)
{
    c->up++;
    c->peak = TN_MAX(c->peak, ++c->now);
}

static void one_less(tn__gpu_tally *c)
{
    c->down++;
    c->now--;
}

void tn__gpu_segment_link(arena *a, tn__gpu_block *b)
{
    b->next_segment = a->segments;
    if (a->segments)
        a->segments->segment_before = b;
    a->segments = b;
}

void tn__gpu_segment_unlink(arena *a, tn__gpu_block *b)
{
    if (b->segment_before)
        b->segment_before->next_segment = b->next_segment;
    else
        a->segments = b->next_segment;
    if (b->next_segment)
        b->next_segment->segment_before = b->segment_before;
}

/* Memory of the driver as one free block, which is in no tree yet. */
static tn__gpu_result segment_get(arena *a, tn__gpu_pool *pool, size_t size, bool large, tn__gpu_block **out)
{
    void *p;
    if (!tn__gpu_claim(a, size))
        return TN__GPU_OUT_OF_MEMORY;
    tn__gpu_result r = a->dev->driver->memory_get(size, &p);
    if (r) {
        tn__gpu_unclaim(a, (int64_t)size);
        return r;
    }
    tn__gpu_block *b = tn__gpu_slab_get(&a->blocks, sizeof *b); /* there is one: take() has seen to it */
    b->p = p;
    b->size = size;
    b->pool = pool;
    b->stream = pool->stream;
    b->generation = a->generation;
    b->device = tn__gpu_slot(pool->stream->device);
    b->large = large;
    tn__gpu_segment_link(a, b);
    count_oversize(&a->stats.oversize_segment, size, one_more);
    pool->held++;
    tn__gpu_up(a->stats.segment, large, 1);
    tn__gpu_up(a->stats.reserved_bytes, large, (int64_t)size);
    a->stats.device_allocs++;
    *out = b;
    return TN__GPU_OK;
}

void tn__gpu_segment_put(arena *a, tn__gpu_block *b)
{
    a->dev->driver->memory_put(b->p); /* a failure is an older one of the device, told elsewhere */
    tn__gpu_segment_unlink(a, b);
    count_oversize(&a->stats.oversize_segment, b->size, one_less);
    b->pool->held--;
    tn__gpu_unclaim(a, (int64_t)b->size);
    tn__gpu_down(a->stats.segment, b->large, 1);
    tn__gpu_down(a->stats.reserved_bytes, b->large, (int64_t)b->size);
    a->stats.device_frees++;
    tn__gpu_slab_put(&a->blocks, b);
}

/* ---- blocks; the lock is held ---- */

tn__gpu_block *tn__gpu_block_split(arena *a, tn__gpu_block *b, size_t size)
{
    tn__gpu_block *rest = tn__gpu_slab_get(&a->blocks, sizeof *rest);
    if (!rest)
        return NULL;
    rest->p = b->p + size;
    rest->size = b->size - size;
    rest->pool = b->pool;
    rest->stream = b->stream;
    rest->region = b->region;
    rest->since = b->since;
    rest->generation = b->generation;
    rest->device = b->device;
    rest->state = b->state;
    rest->large = b->large;
    rest->before = b;
    rest->after = b->after;
    if (rest->after)
        rest->after->before = rest;
    b->after = rest;
    b->size = size;
    return rest;
}

/* Is what is left behind 'size' bytes of b a block of its own? */
static bool may_split(const tn__gpu_block *b, size_t size)
{
    const size_t left = b->size - size;
    if (!b->large || b->region)
        return left >= TN__GPU_ROUND;
    return left > TN__GPU_SMALL && size < memory.settings->max_split;
}

/* A free block for that size: what is oversize is kept for such requests, and not for much smaller ones. */
static tn__gpu_block *fitting(const tn__gpu_pool *pool, size_t size, bool large)
{
    const tn__gpu_settings *s = memory.settings;
    tn__gpu_block *b = memory.no_cache ? NULL : tn__best_fit_find(pool->free[large], size);
    if (TN_LIKELY(!b || b->size < s->max_split || b->region))
        return b;
    return size < s->max_split || b->size - size >= s->max_rounding ? NULL : b;
}

/* b, free and in no tree, becomes a taken block of that size. */
static void cut(arena *a, tn__gpu_block *b, size_t size, size_t requested)
{
    size_t left = b->size - size, whole = b->size;
    bool was_split = is_split(b);
    tn__gpu_block *rest = left && may_split(b, size) ? tn__gpu_block_split(a, b, size) : NULL;
    if (rest)
        tn__best_fit_add(tn__gpu_tree_of(rest), rest);
    if (b->size != whole && !was_split && !b->region) {
        tn__gpu_up(a->stats.inactive_split_bytes, b->large, (int64_t)left);
        tn__gpu_up(a->stats.inactive_split, b->large, 1);
    } else if (was_split) {
        tn__gpu_down(a->stats.inactive_split_bytes, b->large, (int64_t)b->size);
        if (b->size == whole)
            tn__gpu_down(a->stats.inactive_split, b->large, 1);
    }
    b->state = TN__GPU_TAKEN;
    b->requested = requested;
    a->taken++;
    count_oversize(&a->stats.oversize_allocation, b->size, one_more);
    tn__gpu_up(a->stats.allocation, b->large, 1);
    tn__gpu_up(a->stats.allocated_bytes, b->large, (int64_t)b->size);
    tn__gpu_up(a->stats.active, b->large, 1);
    tn__gpu_up(a->stats.active_bytes, b->large, (int64_t)b->size);
    tn__gpu_up(a->stats.requested_bytes, b->large, (int64_t)requested);
}

void tn__gpu_block_join(arena *a, tn__gpu_block *b)
{
    tn__gpu_block *gone = b->after;
    b->size += gone->size;
    b->after = gone->after;
    if (b->after)
        b->after->before = b;
    tn__gpu_slab_put(&a->blocks, gone);
}

/* b, which nobody uses any more, becomes free, one with its free neighbours. */
static void settle(arena *a, tn__gpu_block *b)
{
    int64_t count = 0, bytes = 0, size = (int64_t)b->size, requested = (int64_t)b->requested;
    bool large = b->large;
    count_oversize(&a->stats.oversize_allocation, b->size, one_less);
    b->state = TN__GPU_FREE;
    if (b->before && b->before->state == TN__GPU_FREE) {
        b = b->before;
        count--;
        bytes -= (int64_t)b->size;
        tn__best_fit_remove(tn__gpu_tree_of(b), b);
        tn__gpu_block_join(a, b);
    }
    if (b->after && b->after->state == TN__GPU_FREE) {
        count--;
        bytes -= (int64_t)b->after->size;
        tn__best_fit_remove(tn__gpu_tree_of(b), b->after);
        tn__gpu_block_join(a, b);
    }
    if (is_split(b)) {
        count++;
        bytes += (int64_t)b->size;
    }
    if (!b->region) {
        change(a->stats.inactive_split, large, count);
        change(a->stats.inactive_split_bytes, large, bytes);
    }
    tn__gpu_down(a->stats.active, large, 1);
    tn__gpu_down(a->stats.active_bytes, large, size);
    tn__gpu_down(a->stats.requested_bytes, large, requested);
    if (memory.no_cache) {
        tn__gpu_visit v = tn__gpu_enter(b->device);
        tn__gpu_segment_put(a, b);
        tn__gpu_leave(v);
    } else {
        b->since = a->taken;
        tn__best_fit_add(tn__gpu_tree_of(b), b);
    }
}

/* Settles blocks that no other stream uses any more: of the oldest ones, until one is still in use, or of all. */
static void settle_waiting(arena *a, bool all, bool wait)
{
    tn__gpu_block **at = &a->waiting;
    while (*at) {
        tn__gpu_block *b = *at;
        if (tn__gpu_users_passed(&a->users, &b->users, wait)) {
            *at = b->link;
            settle(a, b);
        } else if (all) {
            at = &b->link;
        } else {
            return;
        }
    }
    a->waiting_end = at;
}

/* Gives every segment without a taken block back to the driver. A context of the device is current. */
static void flush(arena *a)
{
    settle_waiting(a, true, true);
    for (tn__gpu_block *b = a->segments, *next; b; b = next) {
        next = b->next_segment;
        if (b->region)
            tn__gpu_region_trim(a, b);
        if (b->region || b->state != TN__GPU_FREE || b->after)
            continue;
        tn__best_fit_remove(tn__gpu_tree_of(b), b);
        tn__gpu_segment_put(a, b);
    }
    for (tn__gpu_pool **at = &a->pools; *at;) {
        tn__gpu_pool *p = *at;
        if (p->held) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        pool_put(p);
    }
}

/* Takes b back. */
static void give(arena *a, tn__gpu_block *b)
{
    if (TN_UNLIKELY(b->generation != a->generation)) { /* its memory went with the context */
        tn__gpu_users_forget(&a->users, &b->users);
        if (--b->pool->held == 0)
            pool_put(b->pool);
        tn__gpu_slab_put(&a->blocks, b);
        return;
    }
    if (a->dev->driver->block_freed)
        a->dev->driver->block_freed(b->p, b->requested);
    b->storage = NULL;
    tn__gpu_down(a->stats.allocation, b->large, 1);
    tn__gpu_down(a->stats.allocated_bytes, b->large, (int64_t)b->size);
    if (TN_UNLIKELY(b->users != NULL))
        tn__gpu_users_record(&a->users, &b->users);
    if (TN_LIKELY(!b->users)) {
        settle(a, b);
        return;
    }
    b->state = TN__GPU_WAITING;
    b->link = NULL;
    *a->waiting_end = b;
    a->waiting_end = &b->link;
}

/* What free segments a stream left behind that nobody can use any more, and on which all is done, become to's. */
static void adopt(arena *a, tn__gpu_pool *to)
{
    for (tn__gpu_pool **at = &a->pools; *at;) {
        tn__gpu_pool *p = *at;
        if (p == to || atomic_load_explicit(&p->stream->refs, memory_order_acquire) > 1 ||
            tn__gpu_is_foreign(p->stream) || /* whoever made it may have destroyed it: a flush takes its memory */
            TN__WAIT(orphan_query, a->dev->driver->stream_query(p->stream->handle)) != TN__GPU_OK) {
            at = &p->next;
            continue;
        }
        for (tn__gpu_block *b = a->segments; b; b = b->next_segment) {
            if (b->pool != p || b->region || b->state != TN__GPU_FREE || b->after)
                continue;
            tn__best_fit_remove(tn__gpu_tree_of(b), b);
            b->pool = to;
            b->stream = to->stream;
            tn__best_fit_add(tn__gpu_tree_of(b), b);
            to->held++;
            p->held--;
        }
        if (p->held) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        pool_put(p);
    }
}

/* ---- taking ---- */

typedef struct refusal {
    tn__gpu_result result;
    bool host_memory; /* there was none for a description */
    tn__gpu_shortage shortage;
} refusal;

/* Memory of the driver as a free block, in no tree. */
static tn__gpu_result more(arena *a, tn__gpu_pool *pool, size_t size, bool large, tn__gpu_block **out)
{
    if (memory.settings->expandable && !memory.no_cache && a->dev->driver->map)
        return tn__gpu_region_grow(a, pool, size, large, out);
    return segment_get(a, pool, segment_size(size), large, out);
}

/* No free block fits: blocks that waited, then those of streams that are gone, then the driver, then the driver once oversize
 * segments that help, or all of the cache, are given back. */
TN_COLD static tn__gpu_block *refill(arena *a, tn__stream *stream, size_t size, bool large, refusal *no)
{
    tn__gpu_block *b = NULL;
    tn__gpu_pool *pool = pool_of(a, stream);
    no->host_memory = !pool;
    if (!pool)
        return NULL;
    settle_waiting(a, true, false);
    if (pool->next) /* it is the first */
        adopt(a, pool);
    b = fitting(pool, size, large);
    if (b) {
        tn__best_fit_remove(tn__gpu_tree_of(b), b);
        return b;
    }
    if (TN_UNLIKELY(memory.settings->gc_threshold > 0))
        tn__gpu_collect_old(a);
    no->result = more(a, pool, size, large, &b);
    if (no->result == TN__GPU_OUT_OF_MEMORY && tn__gpu_release_oversize(a, pool, size))
        no->result = more(a, pool, size, large, &b);
    if (no->result == TN__GPU_OUT_OF_MEMORY) {
        flush(a);
        a->stats.alloc_retries++;
        pool = pool_of(a, stream); /* the flush drops pools that hold nothing */
        no->host_memory = !pool;
        if (pool)
            no->result = more(a, pool, size, large, &b);
    }
    return b;
}

/* Are there descriptions for what one call may need? */
static bool described(arena *a)
{
    if (TN_LIKELY(a->blocks.free && *(void **)a->blocks.free))
        return true;
    void *one = tn__gpu_slab_get(&a->blocks, sizeof(tn__gpu_block));
    void *two = tn__gpu_slab_get(&a->blocks, sizeof(tn__gpu_block));
    if (one)
        tn__gpu_slab_put(&a->blocks, one);
    if (two)
        tn__gpu_slab_put(&a->blocks, two);
    return two != NULL;
}

/* A taken block of at least 'bytes' on the stream. The lock is held. */
static tn__gpu_block *take(arena *a, tn__stream *stream, size_t bytes, refusal *no)
{
    size_t size = block_size(bytes);
    bool large = size > TN__GPU_SMALL;
    if (TN_UNLIKELY(a->waiting != NULL))
        settle_waiting(a, false, false);
    no->result = TN__GPU_OK;
    no->host_memory = !described(a);
    if (TN_UNLIKELY(no->host_memory))
        return NULL;
    tn__gpu_pool *pool = a->pools && a->pools->stream == stream ? a->pools : pool_of(a, stream);
    tn__gpu_block *b = pool ? fitting(pool, size, large) : NULL;
    if (TN_LIKELY(b != NULL))
        tn__best_fit_remove(tn__gpu_tree_of(b), b);
    else
        b = refill(a, stream, size, large, no);
    if (TN_UNLIKELY(!b))
        return NULL;
    cut(a, b, size, bytes);
    if (a->dev->driver->block_taken)
        no->result = a->dev->driver->block_taken(b->p, bytes);
    if (TN_LIKELY(!no->result))
        return b;
    give(a, b);
    return NULL;
}

/* The GPU is full: what its other devices keep for later goes. The lock is held, and let go in between. */
TN_COLD static tn__gpu_block *take_hard(tn__gpu_device *dev, arena *a, tn__stream *stream, size_t bytes, refusal *no)
{
    tn__gpu_block *b = NULL;
    if (tn__gpu_is_shared(dev)) {
        pthread_mutex_unlock(&a->lock);
        tn__gpu_empty_siblings(dev);
        pthread_mutex_lock(&a->lock);
        b = take(a, stream, bytes, no);
    }
    if (!b && no->result == TN__GPU_OUT_OF_MEMORY)
        tn__gpu_note_shortage(a, segment_size(block_size(bytes)), &no->shortage);
    return b;
}

TN_COLD static void refuse(tn__gpu_device *dev, const refusal *no)
{
    if (no->host_memory)
        tn__error_memory("the description of a block of device memory", sizeof(tn__gpu_block));
    else if (no->result == TN__GPU_OUT_OF_MEMORY && dev->memory_limit < 0)
        tn__error(TN_EVALUE, "%s='%s' is not a size: a number of bytes, or one with KiB, MiB or GiB",
                  dev->driver->limit_variable, tn__env_text(dev->driver->limit_variable));
    else if (no->result == TN__GPU_OUT_OF_MEMORY)
        tn__gpu_report_shortage(dev, &no->shortage);
    else
        tn__gpu_check(dev, no->result, "taking memory");
}

/* A block for a storage, or for scratch (NULL). NULL with an error set. */
static tn__gpu_block *get(tn_device device, size_t bytes, const tn__storage *storage)
{
    TN__DOOR(tn__self());
    tn__gpu_device *dev = tn__gpu_use(device);
    if (!dev)
        return NULL;
    arena *a = tn__gpu_arena_of(dev);
    tn__stream *stream = tn__gpu_current(dev);
    refusal no;
    if (TN_UNLIKELY(bytes > (size_t)PTRDIFF_MAX / 2))
        return tn__fail(TN_ENOMEM, "%s out of memory. Tried to allocate %zu bytes", dev->driver->label, bytes);
    pthread_mutex_lock(&a->lock);
    tn__gpu_block *b = take(a, stream, bytes, &no);
    if (TN_UNLIKELY(!b && no.result == TN__GPU_OUT_OF_MEMORY))
        b = take_hard(dev, a, stream, bytes, &no);
    if (TN_LIKELY(b != NULL)) {
        b->storage = storage;
        b->site = tn__self()->site;
        if (!storage) {
            b->link = a->scratch;
            a->scratch = b;
        }
    }
    pthread_mutex_unlock(&a->lock);
    if (TN_UNLIKELY(!b))
        refuse(dev, &no);
    return b;
}

/* On any thread, whatever context is current there. */
static void release(tn__storage *s)
{
    tn__gpu_block *b = s->ctx;
    if (tn__gpu_forked())
        return;
    arena *a = tn__gpu_arena_of(b->device);
    pthread_mutex_lock(&a->lock);
    give(a, b);
    pthread_mutex_unlock(&a->lock);
}

/* ---- what the backend offers ---- */

tn__storage *tn__gpu_allocate(tn_device device, size_t bytes)
{
    tn__storage *s = tn__storage_new(device, NULL, bytes, NULL);
    if (!s)
        return tn__fail(TN_ENOMEM, "out of memory for a storage's description");
    if (!bytes)
        return s;
    tn__gpu_block *b = get(device, bytes, s);
    if (TN_UNLIKELY(!b)) {
        tn__storage_release(s);
        return NULL;
    }
    s->data = b->p;
    s->stream = b->stream;
    s->ctx = b;
    s->release = release;
    return s;
}

void tn__gpu_storage_used(tn__storage *s, tn__stream *stream)
{
    if (s->pinned) {
        tn__gpu_pinned_used(s, stream);
        return;
    }
    tn__gpu_block *b = s->release == release ? s->ctx : NULL;
    if (!b || b->stream == stream || tn__gpu_forked())
        return;
    arena *a = tn__gpu_arena_of(b->device);
    pthread_mutex_lock(&a->lock);
    if (b->generation == a->generation)
        tn__gpu_users_add(&a->users, &b->users, stream);
    pthread_mutex_unlock(&a->lock);
}

void tn__gpu_storage_joined(tn__storage *s, tn__stream *stream)
{
    tn__gpu_block *b = s->release == release ? s->ctx : NULL;
    if (!b || tn__gpu_forked())
        return;
    arena *a = tn__gpu_arena_of(b->device);
    pthread_mutex_lock(&a->lock);
    tn__gpu_users_remove(&a->users, &b->users, stream);
    pthread_mutex_unlock(&a->lock);
}

bool tn__gpu_storage_gone(const tn__storage *s)
{
    const tn__gpu_block *b = s->release == release ? s->ctx : NULL;
    if (!b || tn__gpu_forked())
        return false;
    arena *a = tn__gpu_arena_of(b->device);
    pthread_mutex_lock(&a->lock);
    bool gone = b->generation != a->generation;
    pthread_mutex_unlock(&a->lock);
    return gone;
}

void *tn__gpu_scratch_get(tn_device device, size_t bytes)
{
    tn__gpu_block *b = get(device, TN_MAX(bytes, 1), NULL);
    return b ? b->p : NULL;
}

void tn__gpu_scratch_put(tn_device device, void *p, size_t bytes)
{
    (void)bytes;
    if (!p || tn__gpu_forked())
        return;
    arena *a = tn__gpu_arena_of(tn__gpu_slot(device));
    pthread_mutex_lock(&a->lock);
    for (tn__gpu_block **at = &a->scratch; *at; at = &(*at)->link) {
        tn__gpu_block *b = *at;
        if (b->p != p)
            continue;
        *at = b->link;
        give(a, b);
        break;
    }
    pthread_mutex_unlock(&a->lock);
}

void tn__gpu_empty_cache(tn_device device)
{
    TN__DOOR(tn__self());
    if (tn__gpu_forked() || !tn__gpu_peek(device))
        return;
    arena *a = tn__gpu_arena_of(tn__gpu_slot(device));
    pthread_mutex_lock(&a->lock);
    flush(a);
    pthread_mutex_unlock(&a->lock);
}

tn_status tn__gpu_set_memory_fraction(tn__gpu_device *dev, double fraction)
{
    arena *a = tn__gpu_arena_of(dev);
    size_t total = 0;
    tn_status e = tn__gpu_check(dev, dev->driver->total_memory(dev, &total), "asking for the total memory");
    if (e)
        return e;
    atomic_store(&whole_of(a)->most, (int64_t)(fraction * (double)total));
    return TN_OK;
}

/* ---- reset ---- */

static void zero(tn__gpu_tally *c)
{
    for (int k = 0; k < TN__GPU_KINDS; k++) {
        c[k].down += c[k].now;
        c[k].now = 0;
    }
}

static void zero_all(tn__gpu_statistics *s)
{
    zero(s->allocated_bytes);
    zero(s->active_bytes);
    zero(s->requested_bytes);
    zero(s->reserved_bytes);
    zero(s->inactive_split_bytes);
    zero(s->allocation);
    zero(s->active);
    zero(s->segment);
    zero(s->inactive_split);
    s->oversize_allocation.down += s->oversize_allocation.now;
    s->oversize_segment.down += s->oversize_segment.now;
    s->oversize_allocation.now = s->oversize_segment.now = 0;
}

/* Blocks in tensors stay described until these give them back; so do their streams. */
static void forget_segment(arena *a, tn__gpu_block *first)
{
    if (first->region)
        tn__gpu_region_forget(a, first);
    for (tn__gpu_block *b = first, *after; b; b = after) {
        after = b->after;
        if (b->state == TN__GPU_TAKEN) {
            b->pool->held++;
            continue;
        }
        tn__gpu_users_forget(&a->users, &b->users);
        tn__gpu_slab_put(&a->blocks, b);
    }
}

void tn__gpu_allocator_forget(tn__gpu_device *dev)
{
    arena *a = tn__gpu_arena_of(dev);
    pthread_mutex_lock(&a->lock);
    a->generation++;
    for (tn__gpu_pool *p = a->pools; p; p = p->next) {
        p->held = 0;
        p->region[false] = p->region[true] = NULL;
    }
    for (tn__gpu_block *first = a->segments, *next; first; first = next) {
        next = first->next_segment;
        forget_segment(a, first);
    }
    a->segments = a->waiting = NULL;
    a->waiting_end = &a->waiting;
    while (a->pools) {
        tn__gpu_pool *p = a->pools;
        a->pools = p->next;
        if (!p->held)
            pool_put(p);
    }
    tn__gpu_unclaim(a, a->stats.reserved_bytes[TN__GPU_ALL].now);
    zero_all(&a->stats);
    pthread_mutex_unlock(&a->lock);
    tn__gpu_pinned_forget(dev);
    tn__gpu_peer_forget(dev);
}

void tn__gpu_memory_end(void)
{
    for (int i = 0; i < TN__GPU_MAX; i++) {
        tn__gpu_slab_end(&memory.of[i].blocks);
        tn__gpu_slab_end(&memory.of[i].users);
        tn__gpu_slab_end(&memory.of[i].regions);
    }
    tn__gpu_pinned_end();
}
