/* Device memory and pinned host memory. */
#include "fakegpu/driver.h"
#include <stdlib.h>
#include <string.h>

/* Between blocks lies one more grain, which stays shut for AddressSanitizer, as does what rounding adds. */
static size_t rounded(size_t bytes)
{
    return (bytes + FAKE_GRAIN - 1) / FAKE_GRAIN * FAKE_GRAIN;
}

/* Memory of a context that is being ended goes with it, but for what the caller registered. */
fake_block *fake_block_of(const void *address)
{
    fake_device *d = fake_device_of(address);
    fake_block *b = fake_table_find(d ? &d->blocks : &fake.pinned, address);
    if (!b || b->away)
        return NULL;
    return b->registered || !(d ? d : b->locker)->context.stopping ? b : NULL;
}

/* ---- where a new block goes: the next gap above the cursor, so that freed addresses rest for a while. That scatters
 * blocks over the lower half of the addresses; the upper half is kept for those that find no gap among them. ---- */

static bool find_gap(const fake_device *d, char *from, char *to, size_t size, char **found)
{
    size_t i = fake_table_after(&d->blocks, from);
    if (i && d->blocks.at[i - 1]->base + d->blocks.at[i - 1]->size + FAKE_GRAIN > from)
        from = d->blocks.at[i - 1]->base + d->blocks.at[i - 1]->size + FAKE_GRAIN;
    for (; from < to; i++) {
        const char *end = i < d->blocks.n && d->blocks.at[i]->base < to ? d->blocks.at[i]->base : to;
        if (end > from && (size_t)(end - from) >= size + FAKE_GRAIN) {
            *found = from;
            return true;
        }
        if (i >= d->blocks.n)
            return false;
        from = d->blocks.at[i]->base + d->blocks.at[i]->size + FAKE_GRAIN;
    }
    return false;
}

static fake_block *place(fake_device *d, size_t bytes)
{
    size_t size = rounded(bytes);
    fake_block *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    char *half = d->base + d->span / 2, *end = d->base + d->span;
    if (!find_gap(d, d->base + d->cursor, half, size, &b->base) && !find_gap(d, d->base, half, size, &b->base) &&
        !find_gap(d, half, end, size, &b->base)) {
        free(b);
        return NULL;
    }
    b->bytes = bytes;
    b->size = size;
    b->device = d;
    if (!fake_table_insert(&d->blocks, b)) {
        free(b);
        return NULL;
    }
    if (b->base < half)
        d->cursor = (size_t)(b->base + size - d->base);
    d->used += size;
    return b;
}

static uint64_t *counts(const fake_block *b)
{
    return b->device ? b->device->count : fake.count;
}

static void count_new(const fake_block *b)
{
    counts(b)[TN__FAKE_ALLOCATIONS]++;
    counts(b)[TN__FAKE_LIVE]++;
}

static void forget(fake_block *b)
{
    counts(b)[TN__FAKE_FREES]++;
    counts(b)[TN__FAKE_LIVE]--;
    fake_table_remove(b->device ? &b->device->blocks : &fake.pinned, b);
    if (b->device)
        b->device->used -= b->size;
    fake_history_clear(&b->history);
    free(b->parts);
    free(b);
}

fake_block *fake_memory_place(fake_device *d, size_t bytes)
{
    if (bytes > d->capacity || rounded(bytes) > d->capacity - d->used)
        return NULL;
    fake_block *b = place(d, bytes);
    if (b)
        count_new(b);
    return b;
}

bool fake_memory_insert(fake_block *b)
{
    const bool ok = fake_table_insert(&fake.pinned, b);
    if (ok)
        count_new(b);
    return ok;
}

void fake_memory_retire(fake_block *b)
{
    b->away = true;
}

void fake_memory_release(fake_block *b)
{
    forget(b);
}

/* Freeing is a write of the host: work that nobody has waited for must not touch the block. */
static bool in_use(fake_block *b)
{
    return fake.order && fake_order_free(&(fake_touch){b, 0, b->bytes, true});
}

/* Fills a block of a device, of which nobody else knows, while others go on. */
static void poison_away(fake_block *b)
{
    char *host = b->base + b->device->span;
    const size_t size = b->size;
    b->away = true;
    pthread_mutex_unlock(&fake.lock);
    fake_poison(host, size);
    pthread_mutex_lock(&fake.lock);
    b->away = false;
}

tn__cu_result cuMemAlloc_v2(tn__cu_ptr *pointer, size_t bytes)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    fake_device *d = c->device;
    if (!pointer || !bytes)
        return fake_leave(TN__CU_INVALID_VALUE);
    if (fake_fault(FAKE_FAULT_OOM, d->ordinal))
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    fake_block *b = fake_memory_place(d, bytes);
    if (!b)
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    const uint64_t life = c->life;
    poison_away(b);
    fake_asan_poison(b->base + d->span + bytes, b->size - bytes + FAKE_GRAIN);
    r = fake_still(c, life);
    if (r)
        forget(b);
    else
        *pointer = (tn__cu_ptr)(uintptr_t)b->base;
    return fake_leave(r);
}

/* Waits, as a real driver does, for all that is queued on the device; and, what no driver does, for what others that may
 * touch its memory have queued. None promises either, so the host learns nothing by it: only the block that goes is safe. */
static void wait_for_users(fake_device *d)
{
    fake_wait_context(&d->context);
    for (int i = 0; i < fake.n_visible; i++)
        if (fake.visible[i]->context.peer[d->ordinal])
            fake_wait_context(&fake.visible[i]->context);
}

/* Also of a dead device: the memory goes, the error is said. */
tn__cu_result cuMemFree_v2(tn__cu_ptr pointer)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    if (!fake_current())
        return fake_leave(TN__CU_INVALID_CONTEXT);
    if (!pointer)
        return fake_leave(TN__CU_SUCCESS);
    fake_block *b = fake_block_of((const void *)(uintptr_t)pointer);
    if (!b || !b->device || b->pages || b->base != (char *)(uintptr_t)pointer)
        return fake_leave(TN__CU_INVALID_VALUE);
    fake_device *d = b->device;
    b->away = true;
    wait_for_users(d);
    r = fake_context_error(&d->context);
    if (in_use(b)) {
        b->away = false;
        return fake_leave(TN__CU_ILLEGAL_STATE);
    }
    poison_away(b);
    fake_asan_poison(b->base + d->span, b->size);
    forget(b);
    return fake_leave(r);
}

void fake_memory_clear(fake_device *d)
{
    for (size_t i = d->blocks.n; i-- > 0;) {
        fake_block *b = d->blocks.at[i];
        if (b->away || b->pages) /* reserved addresses are no context's */
            continue;
        poison_away(b);
        fake_asan_poison(b->base + d->span, b->size);
        forget(b);
        i = d->blocks.n; /* the table may have changed meanwhile */
    }
    for (size_t i = fake.pinned.n; i-- > 0;) {
        fake_block *b = fake.pinned.at[i];
        if (b->locker != d || b->away)
            continue;
        if (!b->registered)
            free(b->base);
        forget(b);
    }
}

tn__cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    if (!free_bytes || !total_bytes)
        return fake_leave(TN__CU_INVALID_VALUE);
    *free_bytes = c->device->capacity - c->device->used;
    *total_bytes = c->device->capacity;
    return fake_leave(TN__CU_SUCCESS);
}

/* ---- pinned host memory: its address is the same on the host and on all devices; it ends with its context ---- */

static fake_block *new_pinned(fake_device *d, size_t bytes)
{
    const size_t page = 4096;
    fake_block *b = calloc(1, sizeof *b);
    void *memory = bytes > SIZE_MAX - page ? NULL : aligned_alloc(page, (bytes + page - 1) / page * page);
    if (!b || !memory) {
        free(b);
        free(memory);
        return NULL;
    }
    memset(memory, 0xff, bytes); /* as fresh memory of devices */
    *b = (fake_block){.base = memory, .bytes = bytes, .size = bytes, .locker = d};
    return b;
}

tn__cu_result cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    unsigned known = TN__CU_MEMHOSTALLOC_PORTABLE | TN__CU_MEMHOSTALLOC_DEVICEMAP | 4; /* 4: write-combined */
    if (!pointer || !bytes || flags & ~known)
        return fake_leave(TN__CU_INVALID_VALUE);
    const bool fails = fake_fault(FAKE_FAULT_HOST, c->device->ordinal);
    const uint64_t life = c->life;
    fake_leave(TN__CU_SUCCESS); /* filling takes long */
    fake_block *b = fails ? NULL : new_pinned(c->device, bytes);
    if (!b)
        return TN__CU_OUT_OF_MEMORY;
    pthread_mutex_lock(&fake.lock);
    r = fake_still(c, life); /* its context may be gone, which would have taken it along */
    if (!r && !fake_table_insert(&fake.pinned, b))
        r = TN__CU_OUT_OF_MEMORY;
    if (r) {
        free(b->base);
        free(b);
        return fake_leave(r);
    }
    count_new(b);
    *pointer = b->base;
    return fake_leave(TN__CU_SUCCESS);
}

/* Forgets pinned memory, unless work that nobody has waited for touches it. */
static tn__cu_result let_go(fake_block *b)
{
    if (in_use(b))
        return TN__CU_ILLEGAL_STATE;
    b->away = true;
    for (int i = 0; i < fake.n_visible; i++) /* kernels that have it as an argument are not checked */
        fake_wait_context(&fake.visible[i]->context);
    forget(b);
    return TN__CU_SUCCESS;
}

tn__cu_result cuMemFreeHost(void *pointer)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    fake_block *b = fake_block_of(pointer);
    if (!b || b->device || b->registered || b->base != pointer)
        return fake_leave(TN__CU_INVALID_VALUE);
    r = let_go(b);
    if (!r)
        free(pointer);
    return fake_leave(r);
}

/* Memory of the caller's own, locked until it is unregistered or the context goes. */
tn__cu_result cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned flags)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    unsigned known = TN__CU_MEMHOSTALLOC_PORTABLE | TN__CU_MEMHOSTALLOC_DEVICEMAP | 12; /* 12: I/O, read only */
    if (!pointer || !bytes || flags & ~known)
        return fake_leave(TN__CU_INVALID_VALUE);
    if (fake_fault(FAKE_FAULT_REGISTER, c->device->ordinal))
        return fake_leave(TN__CU_NOT_SUPPORTED);
    if (fake_fault(FAKE_FAULT_HOST, c->device->ordinal))
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    size_t next = fake_table_after(&fake.pinned, pointer);
    const fake_block *above = next < fake.pinned.n ? fake.pinned.at[next] : NULL;
    if (fake_table_find(&fake.pinned, pointer) || (above && above->base < (char *)pointer + bytes))
        return fake_leave(TN__CU_HOST_MEMORY_ALREADY_REGISTERED);
    fake_block *b = calloc(1, sizeof *b);
    if (!b)
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    *b = (fake_block){.base = pointer, .bytes = bytes, .size = bytes, .locker = c->device, .registered = true};
    if (!fake_table_insert(&fake.pinned, b)) {
        free(b);
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    }
    count_new(b);
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuMemHostUnregister(void *pointer)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    fake_block *b = fake_block_of(pointer);
    if (!b || b->device || !b->registered || b->base != pointer)
        return fake_leave(TN__CU_HOST_MEMORY_NOT_REGISTERED);
    return fake_leave(let_go(b));
}

tn__cu_result cuMemHostGetDevicePointer_v2(tn__cu_ptr *pointer, void *host, unsigned flags)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    const fake_block *b = fake_block_of(host);
    if (!pointer || flags || !b || b->device)
        return fake_leave(TN__CU_INVALID_VALUE);
    *pointer = (tn__cu_ptr)(uintptr_t)host;
    return fake_leave(TN__CU_SUCCESS);
}
