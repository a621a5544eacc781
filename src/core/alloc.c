/* The allocation door, and the cache of free blocks: small ones by thread, large ones in one shared list. */
#include "core/alloc.h"
#include "core/env.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#if TN_ASAN
#include <sanitizer/asan_interface.h>
#endif

/* COLOURS: big blocks begin at so many places of a huge page, COLOUR bytes from one to the next: if all began alike, the rows of
 * operands that are a power of 2 long would share the same few sets of every cache. SLACK: whole pages for that. */
enum { LARGE_BINS = 240, HUGE_PAGE = 2 << 20, COLOURS = 8, COLOUR = 4096 + 128, SLACK = 9 * 4096 };

typedef struct free_block {
    struct free_block *next;
} free_block;

static struct {
    pthread_mutex_t lock; /* guards what follows, to 'cached' */
    pthread_once_t once;
    free_block *small[TN__BINS];
    uint32_t small_count[TN__BINS];
    free_block *large[LARGE_BINS];
    int64_t cached; /* bytes in large[] */
    int64_t limit;  /* no more than this in large[]; the rest goes back to the system */
    bool no_cache;
    _Atomic int64_t door_left, door_count, door_live;
    _Atomic int64_t reserved, reserved_peak, allocated, allocated_peak;
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

void tn__heap_fork(tn__fork_phase phase)
{
    if (phase == TN__FORK_PREPARE)
        pthread_mutex_lock(&heap.lock);
    else if (phase == TN__FORK_PARENT)
        pthread_mutex_unlock(&heap.lock);
    else
        pthread_mutex_init(&heap.lock, NULL);
}

static void heap_start(void)
{
    heap.no_cache = TN_ASAN || tn__env_flag("TENON_NO_CACHE", false);
    int64_t quarter = tn__env_physical_memory() / 4;
    heap.limit = tn__env_bytes("TENON_CPU_CACHE_LIMIT", quarter > 0 ? quarter : INT64_C(1) << 30);
}

/* ---- the door ---- */

static void raise_peak(_Atomic int64_t *peak, int64_t now)
{
    int64_t seen = atomic_load_explicit(peak, memory_order_relaxed);
    while (seen < now &&
           !atomic_compare_exchange_weak_explicit(peak, &seen, now, memory_order_relaxed, memory_order_relaxed))
        ;
}

static bool door_refuses(void)
{
    atomic_fetch_add_explicit(&heap.door_count, 1, memory_order_relaxed);
    if (TN_LIKELY(atomic_load_explicit(&heap.door_left, memory_order_relaxed) == 0))
        return false;
    return atomic_fetch_sub_explicit(&heap.door_left, 1, memory_order_relaxed) == 1;
}

static bool is_mapped(size_t bytes)
{
    return bytes >= HUGE_PAGE && !TN_ASAN;
}

/* Big blocks are mapped on a 2 MiB boundary, where the kernel can back them with huge pages, and begin a little after it. */
static void *map_huge(size_t given)
{
    static _Atomic uint32_t turn;
    const size_t bytes = given + SLACK;
    char *raw = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED)
        return NULL;
    char *p = (char *)(((uintptr_t)raw + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
    if (p > raw)
        munmap(raw, (size_t)(p - raw));
    char *end = raw + bytes + HUGE_PAGE;
    if (end > p + bytes)
        munmap(p + bytes, (size_t)(end - (p + bytes)));
#ifdef MADV_HUGEPAGE
    madvise(p, bytes, MADV_HUGEPAGE);
#endif
    return p + atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed) % COLOURS * COLOUR;
}

static void unmap_huge(void *p, size_t given)
{
    munmap((void *)((uintptr_t)p & ~(uintptr_t)(HUGE_PAGE - 1)), given + SLACK);
}

static void *door_get(size_t bytes)
{
    if (door_refuses())
        return NULL;
    void *p = is_mapped(bytes) ? map_huge(bytes) : aligned_alloc(TN_CACHE_LINE, bytes);
    if (!p)
        return NULL;
    atomic_fetch_add_explicit(&heap.door_live, 1, memory_order_relaxed);
    int64_t now = atomic_fetch_add_explicit(&heap.reserved, (int64_t)bytes, memory_order_relaxed) + (int64_t)bytes;
    raise_peak(&heap.reserved_peak, now);
    return p;
}

static void door_put(void *p, size_t bytes)
{
    atomic_fetch_sub_explicit(&heap.door_live, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&heap.reserved, (int64_t)bytes, memory_order_relaxed);
    if (is_mapped(bytes))
        unmap_huge(p, bytes);
    else
        free(p);
}

/* Under AddressSanitizer what rounding added to the bytes that were asked for is nobody's. */
static inline void *fenced(void *p, size_t bytes, size_t rounded)
{
#if TN_ASAN
    if (p)
        __asan_poison_memory_region((char *)p + bytes, rounded - bytes);
#else
    (void)bytes, (void)rounded;
#endif
    return p;
}

void tn__door_fail(int64_t nth)
{
    atomic_store(&heap.door_left, nth);
}

int64_t tn__door_count(void)
{
    return atomic_load(&heap.door_count);
}

int64_t tn__door_live(void)
{
    return atomic_load(&heap.door_live);
}

/* ---- size classes ---- */

/* Small: multiples of 64 to 1 KiB, then four steps a doubling to 64 KiB. */
static inline int small_bin(size_t bytes)
{
    if (bytes <= 1024)
        return bytes ? (int)((bytes - 1) >> 6) : 0;
    int top = 63 - __builtin_clzll((unsigned long long)(bytes - 1)); /* 2^top <= bytes-1 */
    return 16 + (top - 10) * 4 + (int)(((bytes - 1) >> (top - 2)) & 3);
}

static inline size_t small_size(int bin)
{
    if (bin < 16)
        return (size_t)(bin + 1) << 6;
    int top = (bin - 16) / 4 + 10, step = (bin - 16) % 4;
    return ((size_t)1 << top) + (size_t)(step + 1) * ((size_t)1 << (top - 2));
}

/* Large: eight steps a doubling above 64 KiB, rounded up to pages, or to huge pages from 2 MiB on. */
static size_t large_round(size_t bytes, int *bin)
{
    int top = 63 - __builtin_clzll((unsigned long long)(bytes - 1));
    size_t step = (size_t)1 << (top - 3);
    size_t size = (bytes + step - 1) & ~(step - 1);
    size_t page = size >= HUGE_PAGE ? HUGE_PAGE : 4096;
    size = (size + page - 1) & ~(page - 1);
    top = 63 - __builtin_clzll((unsigned long long)(size - 1));
    int b = (top - 16) * 8 + (int)(((size - 1) >> (top - 3)) & 7);
    *bin = b < LARGE_BINS ? b : LARGE_BINS - 1;
    return size;
}

static bool too_big(size_t bytes)
{
    return bytes > (size_t)PTRDIFF_MAX / 2;
}

/* ---- small blocks: per-thread lists; batches travel to and from the shared list ---- */

void tn__cache_init(tn__thread *t)
{
    pthread_once(&heap.once, heap_start);
    for (int b = 0; b < TN__BINS; b++) {
        size_t n = (size_t)(256 << 10) / small_size(b);
        t->bin[b].cap = heap.no_cache ? 0 : (uint32_t)TN_MIN(TN_MAX(n, 4), 1024);
    }
}

TN_COLD static void *small_refill(tn__thread *t, int b)
{
    tn__bin *bin = &t->bin[b];
    if (!heap.no_cache && !t->emergency) {
        pthread_mutex_lock(&heap.lock);
        while (heap.small[b] && bin->count < bin->cap / 2 + 1) {
            free_block *f = heap.small[b];
            heap.small[b] = f->next;
            heap.small_count[b]--;
            f->next = bin->head;
            bin->head = f;
            bin->count++;
        }
        pthread_mutex_unlock(&heap.lock);
        if (bin->head) {
            free_block *f = bin->head;
            bin->head = f->next;
            bin->count--;
            return f;
        }
    }
    return door_get(small_size(b));
}

/* Half of a full list goes to the shared one, which other threads draw from. */
TN_COLD static void small_spill(tn__thread *t, int b, uint32_t keep)
{
    tn__bin *bin = &t->bin[b];
    if (bin->count <= keep)
        return;
    pthread_mutex_lock(&heap.lock);
    while (bin->count > keep) {
        free_block *f = bin->head;
        bin->head = f->next;
        bin->count--;
        f->next = heap.small[b];
        heap.small[b] = f;
        heap.small_count[b]++;
    }
    pthread_mutex_unlock(&heap.lock);
}

void tn__cache_flush(tn__thread *t)
{
    for (int b = 0; b < TN__BINS; b++)
        small_spill(t, b, 0);
}

/* ---- large blocks ---- */

static void *large_take(int bin, size_t size)
{
    pthread_mutex_lock(&heap.lock);
    free_block *f = heap.large[bin];
    if (f) {
        heap.large[bin] = f->next;
        heap.cached -= (int64_t)size;
    }
    pthread_mutex_unlock(&heap.lock);
    return f;
}

/* Gives back to the system what the cache holds of the largest blocks, until no more than 'keep' bytes are left. */
static void large_trim(int64_t keep)
{
    for (int b = LARGE_BINS - 1; b >= 0; b--) {
        for (;;) {
            pthread_mutex_lock(&heap.lock);
            free_block *f = heap.cached > keep ? heap.large[b] : NULL;
            size_t size = f ? *(size_t *)(f + 1) : 0;
            if (f) {
                heap.large[b] = f->next;
                heap.cached -= (int64_t)size;
            }
            pthread_mutex_unlock(&heap.lock);
            if (!f)
                break;
            door_put(f, size);
        }
    }
}

void tn__heap_end(void)
{
    for (int b = 0; b < TN__BINS; b++)
        for (free_block *f = heap.small[b], *next; f; f = next) {
            next = f->next;
            door_put(f, small_size(b));
        }
    large_trim(0);
}

static void *large_get(size_t bytes)
{
    int bin;
    size_t size = large_round(bytes, &bin);
    void *p = heap.no_cache ? NULL : large_take(bin, size);
    if (p)
        return p;
    p = fenced(door_get(size), bytes, size);
    if (p || heap.no_cache)
        return p;
    large_trim(0); /* memory is short: what lies idle first, then once more */
    return door_get(size);
}

static void large_put(void *p, size_t bytes)
{
    int bin;
    size_t size = large_round(bytes, &bin);
    if (heap.no_cache || (int64_t)size > heap.limit) {
        door_put(p, size);
        return;
    }
    free_block *f = p;
    *(size_t *)(f + 1) = size;
    pthread_mutex_lock(&heap.lock);
    f->next = heap.large[bin];
    heap.large[bin] = f;
    heap.cached += (int64_t)size;
    bool over = heap.cached > heap.limit;
    pthread_mutex_unlock(&heap.lock);
    if (over)
        large_trim(heap.limit);
}

/* ---- what the library calls ---- */

void *tn__block_get(size_t bytes)
{
    tn__thread *t = tn__self();
    if (TN_UNLIKELY(bytes > TN__SMALL_MAX))
        return too_big(bytes) ? NULL : large_get(bytes);
    int b = small_bin(bytes);
    free_block *f = t->bin[b].head;
    if (TN_UNLIKELY(!f))
        return fenced(small_refill(t, b), bytes, small_size(b));
    t->bin[b].head = f->next;
    t->bin[b].count--;
    return f;
}

void tn__block_put(void *block, size_t bytes)
{
    if (!block)
        return;
    tn__thread *t = tn__self();
    if (TN_UNLIKELY(bytes > TN__SMALL_MAX)) {
        large_put(block, bytes);
        return;
    }
    int b = small_bin(bytes);
    tn__bin *bin = &t->bin[b];
    if (TN_UNLIKELY(bin->cap == 0)) { /* no cache, or no thread record to keep one in */
        door_put(block, small_size(b));
        return;
    }
    ((free_block *)block)->next = bin->head;
    bin->head = block;
    if (TN_UNLIKELY(++bin->count > bin->cap))
        small_spill(t, b, bin->cap / 2);
}

void *tn__block_zero(size_t bytes)
{
    void *p = tn__block_get(bytes);
    if (p)
        memset(p, 0, bytes);
    return p;
}

bool tn__grow(void *array, size_t item, int64_t *cap, int64_t need)
{
    void **slot = array;
    if (need <= *cap)
        return true;
    int64_t n = TN_MAX(need, *cap * 2);
    n = TN_MAX(n, 8);
    void *p = tn__block_get((size_t)n * item);
    if (!p)
        return false;
    if (*slot) {
        memcpy(p, *slot, (size_t)*cap * item);
        tn__block_put(*slot, (size_t)*cap * item);
    }
    *slot = p;
    *cap = n;
    return true;
}

char *tn__text_get(const char *text)
{
    size_t n = strlen(text) + 1;
    char *p = tn__block_get(n);
    if (p)
        memcpy(p, text, n);
    return p;
}

void tn__text_put(char *text)
{
    if (text)
        tn__block_put(text, strlen(text) + 1);
}

/* ---- statistics of the CPU as a device ---- */

void tn__cpu_memory_count(int64_t bytes)
{
    if (bytes <= TN__SMALL_MAX && -bytes <= TN__SMALL_MAX) { /* no shared write on the path of small operations */
        tn__tally_add(&tn__self()->tally.small_bytes, bytes);
        return;
    }
    int64_t now = atomic_fetch_add_explicit(&heap.allocated, bytes, memory_order_relaxed) + bytes;
    if (bytes > 0)
        raise_peak(&heap.allocated_peak, now);
}

static void add_small(tn__thread *t, void *sum)
{
    *(int64_t *)sum += atomic_load_explicit(&t->tally.small_bytes, memory_order_relaxed);
}

tn_memory_statistics tn__cpu_memory_stats(void)
{
    int64_t small = atomic_load(&tn__thread_ended_tally()->small_bytes);
    tn__threads_each(add_small, &small);
    tn_memory_statistics s = {
        .allocated = atomic_load(&heap.allocated) + small,
        .reserved = atomic_load(&heap.reserved),
        .reserved_peak = atomic_load(&heap.reserved_peak),
        .allocations = atomic_load(&heap.door_count),
    };
    s.allocated_peak = TN_MAX(atomic_load(&heap.allocated_peak) + small, s.allocated);
    return s;
}

void tn__cpu_memory_reset_peak(void)
{
    atomic_store(&heap.allocated_peak, atomic_load(&heap.allocated));
    atomic_store(&heap.reserved_peak, atomic_load(&heap.reserved));
}

void tn__cpu_empty_cache(void)
{
    tn__cache_flush(tn__self());
    large_trim(0);
    for (int b = 0; b < TN__BINS; b++) {
        pthread_mutex_lock(&heap.lock);
        free_block *f = heap.small[b];
        heap.small[b] = NULL;
        heap.small_count[b] = 0;
        pthread_mutex_unlock(&heap.lock);
        while (f) {
            free_block *next = f->next;
            door_put(f, small_size(b));
            f = next;
        }
    }
}
