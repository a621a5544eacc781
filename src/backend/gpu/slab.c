/* Descriptions of blocks, pins and users: small items of one size, taken and given back under their owner's lock. */
#include "backend/gpu/memory.h"
#include "core/alloc.h"

enum { PAGE = 32768, FIRST = 64 }; /* FIRST: where items begin */

void *tn__gpu_slab_get(tn__gpu_slab *slab, size_t item)
{
    if (TN_UNLIKELY(!slab->free)) {
        char *p = tn__block_get(PAGE);
        if (p) {
            *(void **)p = slab->pages;
            slab->pages = p;
        }
        for (size_t i = FIRST; p && i + item <= PAGE; i += item)
            tn__gpu_slab_put(slab, p + i);
    }
    void *first = slab->free;
    if (first) {
        slab->free = *(void **)first;
        memset(first, 0, item);
    }
    return first;
}

void tn__gpu_slab_put(tn__gpu_slab *slab, void *item)
{
    *(void **)item = slab->free;
    slab->free = item;
}

void tn__gpu_slab_end(tn__gpu_slab *slab)
{
    for (void *page = slab->pages, *next; page; page = next) {
        next = *(void **)page;
        tn__block_put(page, PAGE);
    }
    *slab = (tn__gpu_slab){NULL, NULL};
}
