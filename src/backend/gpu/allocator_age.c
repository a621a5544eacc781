/* backend/gpu/allocator_age.c: segments that are given back before memory is short, or first when it is: old ones by
 * garbage_collection_threshold, oversize ones by max_split_size_mb. */
#include "backend/gpu/allocator_settings.h"
#include "backend/gpu/arena.h"

static bool is_whole_and_free(const tn__gpu_block *b)
{
    return !b->region && b->state == TN__GPU_FREE && !b->after;
}

static void give_back(tn__gpu_arena *a, tn__gpu_block *b)
{
    tn__best_fit_remove(tn__gpu_tree_of(b), b);
    tn__gpu_segment_put(a, b);
}

/* Free large segments, and how old they are together: blocks that were taken since each became free. */
static int64_t count_old(const tn__gpu_arena *a, double *age)
{
    int64_t n = 0;
    *age = 0;
    for (const tn__gpu_block *b = a->segments; b; b = b->next_segment)
        if (b->large && is_whole_and_free(b)) {
            n++;
            *age += (double)(a->taken - b->since);
        }
    return n;
}

/* All that are as old as the mean, or older: not only as many as needed, so that it is not needed again at once. */
void tn__gpu_collect_old(tn__gpu_arena *a)
{
    const double share = tn__gpu_settings_now()->gc_threshold;
    size_t total = 0;
    if (share <= 0 || a->dev->driver->total_memory(a->dev, &total))
        return;
    const int64_t limit = (int64_t)(share * (double)TN_MIN(tn__gpu_allowed(a), (int64_t)total));
    double age;
    int64_t n;
    while (tn__gpu_held(a) > limit && (n = count_old(a, &age)) > 0)
        for (tn__gpu_block *b = a->segments, *next; b; b = next) {
            next = b->next_segment;
            if (b->large && is_whole_and_free(b) && (double)(a->taken - b->since) * (double)n >= age)
                give_back(a, b);
        }
}

bool tn__gpu_release_oversize(tn__gpu_arena *a, tn__gpu_pool *pool, size_t size)
{
    const size_t least = tn__gpu_settings_now()->max_split;
    if (least == SIZE_MAX)
        return false;
    const size_t wanted = TN_MAX(size, least);
    size_t released = 0;
    tn__gpu_block *one = tn__best_fit_find(pool->free[true], wanted);
    if (one && is_whole_and_free(one)) {
        give_back(a, one);
        return true;
    }
    for (tn__gpu_block *b = a->segments, *next; b && released < wanted; b = next) {
        next = b->next_segment;
        if (b->pool != pool || b->size < least || !is_whole_and_free(b))
            continue;
        released += b->size;
        give_back(a, b);
    }
    return released >= wanted;
}
