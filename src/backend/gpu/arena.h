/* backend/gpu/arena.h: one device's part of the caching allocator, for the files that are it: allocator.c (blocks), expandable.c
 * (segments that grow), allocator_age.c (what is given back before memory is short), memory_stats.c, memory_report.c,
 * memory_snapshot.c. */
#ifndef TENON_BACKEND_GPU_ARENA_H
#define TENON_BACKEND_GPU_ARENA_H

#include "backend/gpu/memory.h"

typedef struct tn__gpu_arena {
    const tn__gpu_device *dev;
    pthread_mutex_t lock; /* guards all that follows */
    uint32_t generation;  /* counts what was forgotten */
    tn__gpu_slab blocks, users, regions;
    tn__gpu_pool *pools; /* the one used last comes first */
    tn__gpu_block *segments;
    tn__gpu_block *waiting, **waiting_end; /* given back, but other streams may still use them; the oldest first */
    tn__gpu_block *scratch;
    tn__gpu_statistics stats;
    uint64_t taken; /* blocks so far: the clock by which free ones grow old */
    /* Of the whole GPU, in the arena of the first of its devices; of no lock. */
    _Atomic int64_t held; /* bytes in segments of all of them */
    _Atomic int64_t most; /* what that may be, by tn_cuda_set_per_process_memory_fraction; INT64_MAX at first */
} tn__gpu_arena;

/* ---- allocator.c ---- */
tn__gpu_arena *tn__gpu_arena_of(const tn__gpu_device *dev);
/* Bytes that the GPU may hold, and that all devices that are it do hold. */
int64_t tn__gpu_allowed(const tn__gpu_arena *a);
int64_t tn__gpu_held(const tn__gpu_arena *a);
/* Takes so much of that; false: it is more than allowed. And gives it back. */
bool tn__gpu_claim(tn__gpu_arena *a, size_t size);
void tn__gpu_unclaim(tn__gpu_arena *a, int64_t size);
/* A free block that is its whole segment, in no tree, goes back to the driver. A context of the device is current. */
void tn__gpu_segment_put(tn__gpu_arena *a, tn__gpu_block *b);
/* A segment's first block joins the list of segments, or leaves it. */
void tn__gpu_segment_link(tn__gpu_arena *a, tn__gpu_block *b);
void tn__gpu_segment_unlink(tn__gpu_arena *a, tn__gpu_block *b);
/* The rest of b, behind its first 'size' bytes, becomes a block of its own, of the same state, in no tree. NULL: no memory. */
tn__gpu_block *tn__gpu_block_split(tn__gpu_arena *a, tn__gpu_block *b, size_t size);
/* b becomes one with the block behind it, which is in no tree. */
void tn__gpu_block_join(tn__gpu_arena *a, tn__gpu_block *b);

/* ---- memory_report.c: what the report of too little memory needs; the lock is held ---- */
TN_COLD void tn__gpu_note_shortage(tn__gpu_arena *a, size_t asked, tn__gpu_shortage *s);

static inline tn__gpu_block **tn__gpu_tree_of(const tn__gpu_block *b)
{
    return &b->pool->free[b->large];
}

/* ---- allocator_age.c: the lock is held, a context of the device is current ---- */
/* Gives free segments back, the oldest first, where the GPU holds more than garbage_collection_threshold of what it may. */
void tn__gpu_collect_old(tn__gpu_arena *a);
/* Memory is short for a request of that size: gives back segments above max_split_size_mb, one that is large enough or several.
 * False: there are none to help. */
bool tn__gpu_release_oversize(tn__gpu_arena *a, tn__gpu_pool *pool, size_t size);

/* ---- expandable.c: the lock is held, a context of the device is current ---- */
/* A free block of that size in the pool's segment that grows, taken out of its tree. */
tn__gpu_result tn__gpu_region_grow(tn__gpu_arena *a, tn__gpu_pool *pool, size_t size, bool large, tn__gpu_block **out);
/* Gives the memory of all free pages back; a region without memory goes as a whole, and its blocks. first: of its segment. */
void tn__gpu_region_trim(tn__gpu_arena *a, tn__gpu_block *first);
/* The context goes: so does the memory, whoever has it. The blocks stay with the caller. */
void tn__gpu_region_forget(tn__gpu_arena *a, tn__gpu_block *first);

/* ---- counters ---- */

static inline void tn__gpu_up(tn__gpu_tally *c, bool large, int64_t n)
{
    for (int k = 0; k < 2; k++) {
        tn__gpu_tally *i = &c[k == 0 ? TN__GPU_ALL : large ? TN__GPU_IN_LARGE : TN__GPU_IN_SMALL];
        i->now += n;
        i->up += n;
        if (i->now > i->peak)
            i->peak = i->now;
    }
}

static inline void tn__gpu_down(tn__gpu_tally *c, bool large, int64_t n)
{
    for (int k = 0; k < 2; k++) {
        tn__gpu_tally *i = &c[k == 0 ? TN__GPU_ALL : large ? TN__GPU_IN_LARGE : TN__GPU_IN_SMALL];
        i->now -= n;
        i->down += n;
    }
}

#endif
