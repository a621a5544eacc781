/* Memory as programs beside Tenon ask for it, and what they ask of addresses. */
#include "fakegpu/driver.h"
#include <string.h>

tn__cu_result cuMemAllocHost_v2(void **pointer, size_t bytes)
{
    return cuMemHostAlloc(pointer, bytes, 0);
}

tn__cu_result cuMemHostGetFlags(unsigned *flags, void *pointer)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    const fake_block *b = fake_block_of(pointer);
    if (!flags || !b || b->device || b->registered)
        return fake_leave(TN__CU_INVALID_VALUE);
    *flags = TN__CU_MEMHOSTALLOC_PORTABLE | TN__CU_MEMHOSTALLOC_DEVICEMAP;
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuMemAllocPitch_v2(tn__cu_ptr *pointer, size_t *pitch, size_t width, size_t height, unsigned element)
{
    if (!pitch || !width || !height || (element != 4 && element != 8 && element != 16) || width > SIZE_MAX - FAKE_GRAIN)
        return TN__CU_INVALID_VALUE;
    const size_t row = (width + FAKE_GRAIN - 1) / FAKE_GRAIN * FAKE_GRAIN;
    if (height > SIZE_MAX / row)
        return TN__CU_OUT_OF_MEMORY;
    tn__cu_result r = cuMemAlloc_v2(pointer, row * height);
    if (!r)
        *pitch = row;
    return r;
}

tn__cu_result cuMemAllocManaged(tn__cu_ptr *pointer, size_t bytes, unsigned flags)
{
    fake_context *c;
    (void)pointer, (void)bytes, (void)flags;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    fake_report("fake GPUs have no managed memory (cuMemAllocManaged): the host cannot read what a kernel is at");
    return fake_leave(TN__CU_NOT_SUPPORTED);
}

tn__cu_result cuMemGetAddressRange_v2(tn__cu_ptr *base, size_t *bytes, tn__cu_ptr pointer)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    const fake_block *b = fake_block_of((const void *)(uintptr_t)pointer);
    if (!b || !b->device)
        return fake_leave(TN__CU_NOT_FOUND);
    if (base)
        *base = (tn__cu_ptr)(uintptr_t)b->base;
    if (bytes)
        *bytes = b->bytes;
    return fake_leave(TN__CU_SUCCESS);
}

/* ---- attributes of addresses (CUpointer_attribute) ---- */

enum {
    CONTEXT = 1,
    MEMORY_TYPE = 2,
    DEVICE_POINTER = 3,
    HOST_POINTER = 4,
    SYNC_MEMOPS = 6,
    BUFFER_ID = 7,
    IS_MANAGED = 8,
    DEVICE_ORDINAL = 9,
    IPC_CAPABLE = 10,
    RANGE_START = 11,
    RANGE_SIZE = 12,
    MAPPED = 13,
    HANDLE_TYPES = 14,
    RDMA_CAPABLE = 15,
    ACCESS_FLAGS = 16,
    POOL = 17
};

static void put_number(void *to, uint64_t value, size_t bytes)
{
    memcpy(to, &value, bytes); /* little-endian, as all that Tenon runs on */
}

/* Writes the attribute of memory in a block. */
static tn__cu_result put_attribute(void *to, unsigned attribute, const fake_block *b, tn__cu_ptr pointer)
{
    const fake_device *owner = b->device ? b->device : b->locker;
    switch (attribute) {
    case CONTEXT: put_number(to, (uintptr_t)&owner->context, 8); break;
    case MEMORY_TYPE: put_number(to, b->device ? TN__CU_MEMORYTYPE_DEVICE : TN__CU_MEMORYTYPE_HOST, 4); break;
    case DEVICE_POINTER: put_number(to, pointer, 8); break;
    case HOST_POINTER:
        if (b->device)
            return TN__CU_INVALID_VALUE;
        put_number(to, pointer, 8);
        break;
    case BUFFER_ID: put_number(to, (uintptr_t)b->base, 8); break;
    case DEVICE_ORDINAL: put_number(to, (uint64_t)owner->ordinal, 4); break;
    case RANGE_START: put_number(to, (uintptr_t)b->base, 8); break;
    case RANGE_SIZE: put_number(to, b->bytes, 8); break;
    case MAPPED: put_number(to, 1, 1); break;
    case IS_MANAGED:
    case IPC_CAPABLE:
    case RDMA_CAPABLE: put_number(to, 0, 1); break;
    case SYNC_MEMOPS: put_number(to, 0, 4); break;
    case HANDLE_TYPES:
    case POOL: put_number(to, 0, 8); break;
    case ACCESS_FLAGS: put_number(to, 3, 4); break; /* reads and writes */
    default: return TN__CU_INVALID_VALUE;
    }
    return TN__CU_SUCCESS;
}

tn__cu_result cuPointerGetAttribute(void *value, unsigned attribute, tn__cu_ptr pointer)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    const fake_block *b = fake_block_of((const void *)(uintptr_t)pointer);
    return fake_leave(value && b ? put_attribute(value, attribute, b, pointer) : TN__CU_INVALID_VALUE);
}

/* What an address has not is 0 and no error; of memory that no driver knows everything is 0, but for its device: -2. */
tn__cu_result cuPointerGetAttributes(unsigned n, unsigned *attributes, void **values, tn__cu_ptr pointer)
{
    static const unsigned char bytes[] = {0, 8, 4, 8, 8, 16, 4, 8, 1, 4, 1, 8, 8, 1, 8, 1, 4, 8};
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    if (!attributes || !values)
        return fake_leave(TN__CU_INVALID_VALUE);
    const fake_block *b = fake_block_of((const void *)(uintptr_t)pointer);
    for (unsigned i = 0; i < n; i++) {
        const unsigned a = attributes[i];
        if (!values[i] || !a || a >= sizeof bytes)
            return fake_leave(TN__CU_INVALID_VALUE);
        if (b && !put_attribute(values[i], a, b, pointer))
            continue;
        memset(values[i], 0, bytes[a]);
        if (!b && a == DEVICE_ORDINAL)
            put_number(values[i], (uint64_t)-2, 4);
    }
    return fake_leave(TN__CU_SUCCESS);
}

/* SYNC_MEMOPS: synchronous operations wait anyway. */
tn__cu_result cuPointerSetAttribute(const void *value, unsigned attribute, tn__cu_ptr pointer)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    const fake_block *b = fake_block_of((const void *)(uintptr_t)pointer);
    return fake_leave(value && b && attribute == SYNC_MEMOPS ? TN__CU_SUCCESS : TN__CU_INVALID_VALUE);
}
