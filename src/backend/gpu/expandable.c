/* backend/gpu/expandable.c: segments that grow (expandable_segments:True). A stream has two, of small blocks and of large ones:
 * addresses for more than the GPU has, and memory behind as many pages as there are blocks on. What would lie in pieces in
 * segments of fixed sizes is one row here: a request that no free block fits takes the free ones at the end of the row, or in its
 * middle, and new pages behind them; and free pages are given back one by one. */
#include "backend/gpu/arena.h"

static size_t page_of(bool large)
{
    return large ? TN__GPU_LARGE_SEGMENT : TN__GPU_SMALL_SEGMENT;
}

static size_t round_down(size_t n, size_t to)
{
    return n / to * to;
}

static size_t round_up(size_t n, size_t to)
{
    return round_down(n + to - 1, to);
}

/* ---- addresses ---- */

/* All that the GPU has, and an eighth, for what lies between pages. */
static tn__gpu_result reserve(tn__gpu_arena *a, size_t page, void **addresses, size_t *size)
{
    const tn__gpu_driver *driver = a->dev->driver;
    size_t total = 0, least = 0;
    tn__gpu_result r = driver->total_memory(a->dev, &total);
    if (r)
        return r;
    *size = round_up(total + total / 8, page);
    r = driver->reserve(a->dev, *size, addresses, &least);
    if (r || page % least == 0)
        return r;
    driver->unreserve(*addresses, *size);
    return TN__GPU_OUT_OF_MEMORY;
}

static tn__gpu_result region_get(tn__gpu_arena *a, tn__gpu_pool *pool, bool large)
{
    tn__gpu_region *region = tn__gpu_slab_get(&a->regions, sizeof *region);
    tn__gpu_block *b = region ? tn__gpu_slab_get(&a->blocks, sizeof *b) : NULL;
    void *addresses = NULL;
    size_t size = 0;
    const tn__gpu_result r = b ? reserve(a, page_of(large), &addresses, &size) : TN__GPU_OUT_OF_MEMORY;
    if (r) {
        if (b)
            tn__gpu_slab_put(&a->blocks, b);
        if (region)
            tn__gpu_slab_put(&a->regions, region);
        return r;
    }
    *region = (tn__gpu_region){.first = b, .page = page_of(large)};
    *b = (tn__gpu_block){.p = addresses,
                         .size = size,
                         .pool = pool,
                         .stream = pool->stream,
                         .region = region,
                         .generation = a->generation,
                         .device = tn__gpu_slot(pool->stream->device),
                         .state = TN__GPU_UNMAPPED,
                         .large = large};
    pool->region[large] = region;
    pool->held++;
    tn__gpu_segment_link(a, b);
    return TN__GPU_OK;
}

/* Nothing is mapped: its one block is all of it. */
static void region_put(tn__gpu_arena *a, tn__gpu_region *region)
{
    tn__gpu_block *b = region->first;
    a->dev->driver->unreserve(b->p, b->size);
    tn__gpu_segment_unlink(a, b);
    b->pool->region[b->large] = NULL;
    b->pool->held--;
    tn__gpu_slab_put(&a->blocks, b);
    tn__gpu_slab_put(&a->regions, region);
}

/* ---- pages ---- */

static void count_mapped(tn__gpu_arena *a, tn__gpu_region *region, bool large, size_t bytes)
{
    if (!region->mapped)
        tn__gpu_up(a->stats.segment, large, 1);
    region->mapped += bytes;
    tn__gpu_up(a->stats.reserved_bytes, large, (int64_t)bytes);
    a->stats.device_allocs += (int64_t)(bytes / region->page);
}

static void count_unmapped(tn__gpu_arena *a, tn__gpu_region *region, bool large, size_t bytes)
{
    region->mapped -= bytes;
    if (!region->mapped)
        tn__gpu_down(a->stats.segment, large, 1);
    tn__gpu_down(a->stats.reserved_bytes, large, (int64_t)bytes);
    a->stats.device_frees += (int64_t)(bytes / region->page);
}

static void unmap_pages(const tn__gpu_arena *a, char *at, size_t bytes, size_t page)
{
    for (size_t done = 0; done < bytes; done += page)
        a->dev->driver->unmap(at + done, page);
}

/* Page by page, so that each can go by itself. */
static tn__gpu_result map_pages(tn__gpu_arena *a, char *at, size_t bytes, size_t page)
{
    if (!tn__gpu_claim(a, bytes))
        return TN__GPU_OUT_OF_MEMORY;
    tn__gpu_result r = TN__GPU_OK;
    size_t done = 0;
    while (done < bytes && !(r = a->dev->driver->map(a->dev, at + done, page)))
        done += page;
    if (r) {
        unmap_pages(a, at, done, page);
        tn__gpu_unclaim(a, (int64_t)bytes);
    }
    return r;
}

/* b, which is free and in no tree, takes in its free neighbours and joins the tree. */
static void settle(tn__gpu_arena *a, tn__gpu_block *b)
{
    if (b->before && b->before->state == TN__GPU_FREE) {
        b = b->before;
        tn__best_fit_remove(tn__gpu_tree_of(b), b);
        tn__gpu_block_join(a, b);
    }
    if (b->after && b->after->state == TN__GPU_FREE) {
        tn__best_fit_remove(tn__gpu_tree_of(b), b->after);
        tn__gpu_block_join(a, b);
    }
    tn__best_fit_add(tn__gpu_tree_of(b), b);
}

/* The first 'bytes' of b, which has no memory, get some. */
static tn__gpu_result map_front(tn__gpu_arena *a, tn__gpu_block *b, size_t bytes)
{
    const size_t page = b->region->page;
    if (bytes < b->size && !tn__gpu_block_split(a, b, bytes))
        return TN__GPU_OUT_OF_MEMORY;
    const tn__gpu_result r = map_pages(a, b->p, bytes, page);
    if (r) {
        if (b->after && b->after->state == TN__GPU_UNMAPPED)
            tn__gpu_block_join(a, b);
        return r;
    }
    count_mapped(a, b->region, b->large, bytes);
    b->state = TN__GPU_FREE;
    b->since = a->taken;
    settle(a, b);
    return TN__GPU_OK;
}

/* Where free blocks and addresses without memory, side by side, reach for so much: the first of these; NULL: nowhere. */
static tn__gpu_block *find_row(const tn__gpu_region *region, size_t size)
{
    tn__gpu_block *first = NULL;
    size_t row = 0;
    for (tn__gpu_block *b = region->first; b && row < size; b = b->after) {
        const bool usable = b->state == TN__GPU_FREE || b->state == TN__GPU_UNMAPPED;
        first = !usable ? NULL : first ? first : b;
        row = usable ? row + b->size : 0;
    }
    return row < size ? NULL : first;
}

/* Memory behind the row, until so much of it is one free block: that is first, and takes in what comes behind it. */
static tn__gpu_result fill_row(tn__gpu_arena *a, tn__gpu_block *first, size_t size)
{
    while (first->state == TN__GPU_UNMAPPED || first->size < size) {
        tn__gpu_block *b = first->state == TN__GPU_UNMAPPED ? first : first->after;
        const size_t missing = b == first ? size : size - first->size;
        const tn__gpu_result r = map_front(a, b, TN_MIN(b->size, round_up(missing, b->region->page)));
        if (r)
            return r;
    }
    return TN__GPU_OK;
}

tn__gpu_result tn__gpu_region_grow(tn__gpu_arena *a, tn__gpu_pool *pool, size_t size, bool large, tn__gpu_block **out)
{
    tn__gpu_result r = pool->region[large] ? TN__GPU_OK : region_get(a, pool, large);
    tn__gpu_block *first = r ? NULL : find_row(pool->region[large], size);
    if (first)
        r = fill_row(a, first, size);
    tn__gpu_block *b = first && !r ? tn__best_fit_find(pool->free[large], size) : NULL;
    if (b)
        tn__best_fit_remove(tn__gpu_tree_of(b), b);
    *out = b;
    return r ? r : b ? TN__GPU_OK : TN__GPU_OUT_OF_MEMORY;
}

/* ---- giving back ---- */

/* b's whole pages have no memory any more: it is one with addresses beside it that have none either. Gives that back. */
static tn__gpu_block *unmap(tn__gpu_arena *a, tn__gpu_block *b)
{
    unmap_pages(a, b->p, b->size, b->region->page);
    tn__gpu_unclaim(a, (int64_t)b->size);
    count_unmapped(a, b->region, b->large, b->size);
    b->state = TN__GPU_UNMAPPED;
    if (b->after && b->after->state == TN__GPU_UNMAPPED)
        tn__gpu_block_join(a, b);
    if (b->before && b->before->state == TN__GPU_UNMAPPED) {
        b = b->before;
        tn__gpu_block_join(a, b);
    }
    return b;
}

/* Where the whole pages in b begin and end, from the beginning of the region on. False: there are none. */
static bool pages_in(const tn__gpu_block *b, size_t *from, size_t *to)
{
    const size_t page = b->region->page, at = (size_t)(b->p - b->region->first->p);
    *from = round_up(at, page);
    *to = round_down(at + b->size, page);
    return b->state == TN__GPU_FREE && *from < *to;
}

/* The whole pages in b, which is free, go; what is left at both ends stays free. Gives back the last of these blocks. Where there
 * is no memory to describe them, b stays as it is, or what has been cut off it does. */
static tn__gpu_block *trim_block(tn__gpu_arena *a, tn__gpu_block *b)
{
    const size_t at = (size_t)(b->p - b->region->first->p);
    size_t from, to;
    if (!pages_in(b, &from, &to))
        return b;
    tn__best_fit_remove(tn__gpu_tree_of(b), b);
    tn__gpu_block *middle = from > at ? tn__gpu_block_split(a, b, from - at) : b;
    tn__gpu_block *end = middle && middle->size > to - from ? tn__gpu_block_split(a, middle, to - from) : NULL;
    const bool described = middle && middle->size == to - from;
    if (!described) {
        if (middle && middle != b)
            tn__gpu_block_join(a, b);
        tn__best_fit_add(tn__gpu_tree_of(b), b);
        return b;
    }
    if (middle != b)
        tn__best_fit_add(tn__gpu_tree_of(b), b);
    if (end)
        tn__best_fit_add(tn__gpu_tree_of(end), end);
    middle = unmap(a, middle);
    return end ? end : middle;
}

void tn__gpu_region_trim(tn__gpu_arena *a, tn__gpu_block *first)
{
    tn__gpu_region *region = first->region;
    const tn__gpu_block *any = first;
    size_t from, to;
    while (any && !pages_in(any, &from, &to))
        any = any->after;
    if (any)
        a->dev->driver->context_synchronize(); /* unmapping, unlike giving a segment back, waits for nothing */
    for (tn__gpu_block *b = any ? first : NULL; b; b = b->after)
        b = trim_block(a, b);
    if (!region->mapped)
        region_put(a, region);
}

void tn__gpu_region_forget(tn__gpu_arena *a, tn__gpu_block *first)
{
    tn__gpu_region *region = first->region;
    char *const begin = first->p, *mapped = NULL, *end = begin;
    for (tn__gpu_block *b = first; b; b = b->after) {
        if (b->state == TN__GPU_UNMAPPED && mapped)
            unmap_pages(a, mapped, (size_t)(b->p - mapped), region->page);
        mapped = b->state == TN__GPU_UNMAPPED ? NULL : mapped ? mapped : b->p;
        end = b->p + b->size;
        b->region = NULL;
    }
    if (mapped)
        unmap_pages(a, mapped, (size_t)(end - mapped), region->page);
    a->dev->driver->unreserve(begin, (size_t)(end - begin));
    tn__gpu_slab_put(&a->regions, region);
}
