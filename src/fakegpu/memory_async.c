/* Memory in a stream's order. Taking it is an operation of the stream that writes it, freeing it another one: so whoever
 * uses it without being ordered after the first or before the second is found as with any other two operations. One pool
 * for each device, which keeps nothing. */
#include "fakegpu/driver.h"
#include <stdlib.h>
#include <string.h>

/* A pool is a device, by another type. */
static fake_device *device_of(tn__cu_pool pool)
{
    for (int i = 0; i < fake.n_visible; i++)
        if ((void *)pool == (void *)fake.visible[i])
            return fake.visible[i];
    return NULL;
}

tn__cu_result cuDeviceGetDefaultMemPool(tn__cu_pool *pool, tn__cu_device device)
{
    fake_device *d;
    tn__cu_result r = fake_enter_device(device, &d);
    if (r)
        return r;
    if (!pool)
        return fake_leave(TN__CU_INVALID_VALUE);
    *pool = (tn__cu_pool)(void *)d;
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuDeviceGetMemPool(tn__cu_pool *pool, tn__cu_device device)
{
    return cuDeviceGetDefaultMemPool(pool, device);
}

tn__cu_result cuDeviceSetMemPool(tn__cu_device device, tn__cu_pool pool)
{
    fake_device *d;
    tn__cu_result r = fake_enter_device(device, &d);
    return r ? r : fake_leave(device_of(pool) == d ? TN__CU_SUCCESS : TN__CU_INVALID_VALUE);
}

static void run_nothing(void *arg)
{
    (void)arg;
}

/* What the block holds is undefined from here on: it is filled before anybody knows its address. */
static tn__cu_result take(tn__cu_ptr *pointer, size_t bytes, fake_device *d, fake_stream *s)
{
    fake_block *b = fake_memory_place(d, bytes);
    if (!b)
        return TN__CU_OUT_OF_MEMORY;
    fake_poison(b->base + d->span, b->size);
    fake_asan_poison(b->base + d->span + bytes, b->size - bytes + FAKE_GRAIN);
    const fake_access access = {b->base, bytes, true};
    const fake_work work = {.what = "allocation (cuMemAllocAsync)", .copy = true, .anywhere = true, .run = run_nothing};
    tn__cu_result r = fake_submit(s, &work, &access, 1);
    if (r)
        fake_memory_release(b);
    else
        *pointer = (tn__cu_ptr)(uintptr_t)b->base;
    return r;
}

tn__cu_result cuMemAllocFromPoolAsync(tn__cu_ptr *pointer, size_t bytes, tn__cu_pool pool, tn__cu_stream stream)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_queue(stream, &c, &s);
    if (r)
        return r;
    fake_device *d = pool ? device_of(pool) : s->context->device;
    if (!pointer || !bytes || !d || !d->context.active)
        return fake_leave(TN__CU_INVALID_VALUE);
    if (fake_fault(FAKE_FAULT_OOM, d->ordinal))
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    return fake_leave(take(pointer, bytes, d, s));
}

tn__cu_result cuMemAllocAsync(tn__cu_ptr *pointer, size_t bytes, tn__cu_stream stream)
{
    return cuMemAllocFromPoolAsync(pointer, bytes, NULL, stream);
}

/* Runs when the stream comes to it, and where its work is thrown away. */
static void release(void *arg)
{
    fake_block *b = arg;
    fake_asan_poison(b->base + b->device->span, b->size);
    pthread_mutex_lock(&fake.lock);
    fake_memory_release(b);
    pthread_mutex_unlock(&fake.lock);
}

tn__cu_result cuMemFreeAsync(tn__cu_ptr pointer, tn__cu_stream stream)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_queue(stream, &c, &s);
    if (r)
        return r;
    fake_block *b = fake_block_of((const void *)(uintptr_t)pointer);
    if (!b || !b->device || b->base != (char *)(uintptr_t)pointer)
        return fake_leave(TN__CU_INVALID_VALUE);
    const fake_access access = {b->base, b->bytes, true};
    const fake_work work = {
        .what = "freeing (cuMemFreeAsync)", .copy = true, .anywhere = true, .run = release, .drop = release, .arg = b};
    r = fake_submit(s, &work, &access, 1);
    if (!r)
        fake_memory_retire(b);
    return fake_leave(r);
}

/* ---- a pool's attributes (CUmemPool_attribute) ---- */

static tn__cu_result enter_pool(tn__cu_pool pool, fake_device **d)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    *d = device_of(pool);
    return *d ? TN__CU_SUCCESS : fake_leave(TN__CU_INVALID_VALUE);
}

tn__cu_result cuMemPoolTrimTo(tn__cu_pool pool, size_t keep)
{
    fake_device *d;
    (void)keep; /* nothing is kept */
    tn__cu_result r = enter_pool(pool, &d);
    return r ? r : fake_leave(r);
}

enum { RELEASE_THRESHOLD = 4, RESERVED_NOW, RESERVED_MOST, USED_NOW, USED_MOST };

/* How memory is reused, and how much is kept: taken, and without effect. */
tn__cu_result cuMemPoolSetAttribute(tn__cu_pool pool, unsigned attribute, void *value)
{
    fake_device *d;
    tn__cu_result r = enter_pool(pool, &d);
    return r ? r : fake_leave(value && attribute && attribute <= USED_MOST ? TN__CU_SUCCESS : TN__CU_INVALID_VALUE);
}

tn__cu_result cuMemPoolGetAttribute(tn__cu_pool pool, unsigned attribute, void *value)
{
    fake_device *d;
    tn__cu_result r = enter_pool(pool, &d);
    if (r)
        return r;
    if (!value || !attribute || attribute > USED_MOST)
        return fake_leave(TN__CU_INVALID_VALUE);
    const int reuse = 1;
    const uint64_t bytes = attribute == RELEASE_THRESHOLD ? 0 : d->used;
    if (attribute < RELEASE_THRESHOLD)
        memcpy(value, &reuse, sizeof reuse);
    else
        memcpy(value, &bytes, sizeof bytes);
    return fake_leave(TN__CU_SUCCESS);
}
