/* What the library says of its own allocators, so that checks see tensors and not the large blocks they lie in. */
#include "fakegpu/driver.h"

/* Takes the lock if there is a block to speak of, and fills the touch. False: 'r' is what to give back. */
static bool enter(const void *pointer, size_t bytes, bool write, fake_touch *touch, tn__cu_result *r)
{
    *r = TN__CU_SUCCESS;
    if (fake_forked()) {
        *r = TN__CU_NOT_INITIALIZED;
        return false;
    }
    fake_report_begin();
    pthread_mutex_lock(&fake.lock);
    fake_block *b = fake.order && bytes ? fake_block_of(pointer) : NULL;
    if (!b) {
        fake_leave(0); /* not ours, or gone with its context */
        return false;
    }
    size_t from = (size_t)((const char *)pointer - b->base);
    *touch = (fake_touch){b, from, from + bytes, write};
    if (from < b->bytes && bytes <= b->bytes - from)
        return true;
    fake_report("%p + %zu bytes is past the end of the %zu bytes at %p", pointer, bytes, b->bytes, (void *)b->base);
    *r = fake_leave(TN__CU_INVALID_VALUE);
    return false;
}

tn__cu_result tenonFakeBlockTaken(const void *pointer, size_t bytes)
{
    fake_touch t;
    tn__cu_result r;
    if (!enter(pointer, bytes, true, &t, &r))
        return r;
    fake_suballocation other;
    if (!fake_suballocation_take(t.block, t.from, t.to, &other))
        return fake_leave(fake_refuse("the allocator hands out %zu bytes at %p, but %zu bytes at %p are still in use",
                                      bytes, pointer, other.to - other.from, (void *)(t.block->base + other.from)));
    if (!t.block->device)
        return fake_leave(fake_order_host("takes for writing", &t));
    fake_history_renew(&t.block->history, t.from, t.to);
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result tenonFakeBlockFreed(const void *pointer, size_t bytes)
{
    fake_touch t;
    tn__cu_result r;
    if (!enter(pointer, bytes, false, &t, &r))
        return r;
    if (fake_suballocation_free(t.block, t.from))
        return fake_leave(TN__CU_SUCCESS);
    return fake_leave(fake_refuse("the allocator takes back %zu bytes at %p that it did not hand out", bytes, pointer));
}

tn__cu_result tenonFakeHostAccess(const void *pointer, size_t bytes, int write)
{
    fake_touch t;
    tn__cu_result r;
    if (!enter(pointer, bytes, write != 0, &t, &r))
        return r;
    if (t.block->device) {
        return fake_leave(fake_refuse("the host %s %zu bytes at %p, which is memory of device %d",
                                      write ? "writes" : "reads", bytes, pointer, t.block->device->ordinal));
    }
    fake_suballocation piece;
    if (!fake_suballocation_find(t.block, t.from, &piece) || t.to > piece.to) {
        return fake_leave(fake_refuse("the host %s %zu bytes at %p of pinned memory that the allocator has taken back",
                                      write ? "writes" : "reads", bytes, pointer));
    }
    return fake_leave(fake_order_host(write ? "writes" : "reads", &t));
}

tn__cu_result tenonFakeAsanPoison(const void *pointer, size_t bytes, int poison)
{
    fake_touch t;
    tn__cu_result r;
    if (!enter(pointer, bytes, false, &t, &r))
        return r;
    if (t.block->device)
        (poison ? fake_asan_poison : fake_asan_unpoison)(t.block->base + t.block->device->span + t.from, bytes);
    return fake_leave(TN__CU_SUCCESS);
}
