/* Descriptions of blocks, pins and users: small items of one size, taken and given back under their owner's lock. */
#include "backend/gpu/memory.h"
#include "core/alloc.h"

enum { SLAB = 32768 };

void *tn__gpu_slab_get(tn__gpu_slab *slab, size_t item)
{
    if (TN_UNLIKELY(!slab->free)) {
        char *p = tn__block_get(SLAB);
        for (size_t i = 0; p && i + item <= SLAB; i += item)
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
