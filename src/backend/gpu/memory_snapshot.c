/* backend/gpu/memory_snapshot.c: what the caching allocator holds, as a list of segments and their blocks. */
#include "backend/gpu/arena.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/thread.h"
#include <tenon/cuda.h>

/* One piece of memory: what users see of it comes first, then the arrays. */
typedef struct whole {
    tn_memory_snapshot seen;
    size_t bytes, n_blocks;
} whole;

static tn_memory_segment *segments_of(whole *w)
{
    return (tn_memory_segment *)(void *)(w + 1);
}

/* A segment begins with b: memory that lies in a row behind addresses without is one of its own. */
static bool begins(const tn__gpu_block *b)
{
    return b->state != TN__GPU_UNMAPPED && (!b->before || b->before->state == TN__GPU_UNMAPPED);
}

static void count(const tn__gpu_arena *a, int64_t *segments, size_t *blocks)
{
    *segments = 0;
    *blocks = 0;
    for (const tn__gpu_block *first = a->segments; first; first = first->next_segment)
        for (const tn__gpu_block *b = first; b; b = b->after) {
            *segments += begins(b);
            *blocks += b->state != TN__GPU_UNMAPPED;
        }
}

static tn_memory_block block_of(const tn__gpu_block *b)
{
    static const tn_memory_state states[] = {[TN__GPU_FREE] = TN_MEMORY_INACTIVE,
                                             [TN__GPU_TAKEN] = TN_MEMORY_ALLOCATED,
                                             [TN__GPU_WAITING] = TN_MEMORY_PENDING_FREE};
    const bool is_free = b->state == TN__GPU_FREE;
    return (tn_memory_block){.address = b->p,
                             .size = (int64_t)b->size,
                             .requested_size = is_free ? 0 : (int64_t)b->requested,
                             .state = states[b->state],
                             .site = is_free ? NULL : b->site};
}

static void add(tn_memory_segment *s, tn_memory_block block)
{
    s->total_size += block.size;
    s->allocated_size += block.state == TN_MEMORY_ALLOCATED ? block.size : 0;
    s->active_size += block.state != TN_MEMORY_INACTIVE ? block.size : 0;
    s->requested_size += block.requested_size;
    s->n_blocks++;
}

static void write(const tn__gpu_arena *a, whole *w)
{
    tn_memory_segment *s = segments_of(w) - 1;
    tn_memory_block *at = (tn_memory_block *)(void *)(segments_of(w) + w->seen.n_segments);
    for (const tn__gpu_block *first = a->segments; first; first = first->next_segment)
        for (const tn__gpu_block *b = first; b; b = b->after) {
            if (begins(b))
                *++s = (tn_memory_segment){.device = a->dev->device,
                                           .address = b->p,
                                           .stream = b->stream->handle,
                                           .is_large = b->large,
                                           .is_expandable = b->region != NULL,
                                           .blocks = at};
            if (b->state == TN__GPU_UNMAPPED)
                continue;
            *at = block_of(b);
            add(s, *at++);
        }
}

/* No memory is taken under the lock, so there may be more by then than was counted: then again. */
static tn_status take(tn__gpu_arena *a, whole **out)
{
    for (whole *w = NULL;;) {
        int64_t segments = 0;
        size_t blocks = 0;
        pthread_mutex_lock(&a->lock);
        count(a, &segments, &blocks);
        const bool fits = w && segments <= w->seen.n_segments && blocks <= w->n_blocks;
        if (fits) {
            w->seen.n_segments = segments;
            write(a, w);
        }
        pthread_mutex_unlock(&a->lock);
        if (fits) {
            *out = w;
            return TN_OK;
        }
        if (w)
            tn__block_put(w, w->bytes);
        const size_t bytes =
            sizeof *w + (size_t)segments * sizeof(tn_memory_segment) + blocks * sizeof(tn_memory_block);
        w = tn__block_zero(bytes);
        if (!w)
            return tn__error_memory("a snapshot of memory", bytes);
        *w = (whole){.seen = {.n_segments = segments}, .bytes = bytes, .n_blocks = blocks};
        w->seen.segments = segments_of(w);
    }
}

tn_memory_snapshot *tn_cuda_memory_snapshot(tn_device device)
{
    tn_device d;
    whole *w = NULL;
    tn__enter(TN__NOWHERE);
    if (tn__gpu_resolve(device, &d))
        return NULL;
    if (tn__gpu_forked()) {
        (void)tn__gpu_refuse_child(d.type);
        return NULL;
    }
    return take(tn__gpu_arena_of(tn__gpu_slot(d)), &w) ? NULL : &w->seen;
}

void tn_memory_snapshot_free(tn_memory_snapshot *snapshot)
{
    whole *w = (whole *)(void *)snapshot;
    if (w)
        tn__block_put(w, w->bytes);
}
