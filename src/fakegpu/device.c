/* The devices: made once, from the environment; and the doors by which calls come in. */
#include "fakegpu/driver.h"
#include "fakegpu/env.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

fake_world fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- fork: the child has none of the threads, so nothing works there ---- */

static _Atomic bool forked;

static void in_child(void)
{
    atomic_store(&forked, true);
}

bool fake_forked(void)
{
    return atomic_load_explicit(&forked, memory_order_relaxed);
}

/* ---- making ---- */

static uint64_t mix(uint64_t x) /* splitmix64 */
{
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    x = (x ^ x >> 27) * 0x94d049bb133111ebU;
    return x ^ x >> 31;
}

static void make_uuid(tn__cu_uuid *uuid, int physical)
{
    uint64_t half[2] = {mix(2 * (uint64_t)physical), mix(2 * (uint64_t)physical + 1)};
    memcpy(uuid->bytes, half, sizeof uuid->bytes);
    uuid->bytes[6] = (char)((uuid->bytes[6] & 0x0f) | 0x40); /* version 4, variant 1, as real ones look */
    uuid->bytes[8] = (char)((uuid->bytes[8] & 0x3f) | 0x80);
}

/* Room for the device's addresses, which stay shut, and as much again for the bytes behind them. */
static bool make_memory(fake_device *d, size_t bytes)
{
    d->capacity = bytes;
    d->span = 2 * bytes;
    char *both = mmap(NULL, 2 * d->span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (both == MAP_FAILED)
        return false;
    d->base = both;
    d->cursor = 0;
    if (mprotect(both + d->span, d->span, PROT_READ | PROT_WRITE) == 0)
        return true;
    munmap(both, 2 * d->span);
    return false;
}

static void unmake_devices(void)
{
    while (fake.n_devices > 0) {
        const fake_device *d = &fake.device[--fake.n_devices];
        munmap(d->base, 2 * d->span);
    }
}

static tn__cu_result make_devices(int n, size_t bytes)
{
    for (int i = 0; i < n; i++) {
        fake_device *d = &fake.device[i];
        d->physical = i;
        d->ordinal = -1;
        d->context.device = d;
        make_uuid(&d->uuid, i);
        if (!make_memory(d, bytes)) {
            unmake_devices();
            fake_report("TENON_FAKE_GPUS: no room in this process's address space for %d GPUs of %zu MiB", n,
                        bytes >> 20);
            return TN__CU_OUT_OF_MEMORY;
        }
        fake.n_devices = i + 1;
    }
    int physical[FAKE_MAX_DEVICES];
    fake.n_visible = fake_parse_visible(fake_env("CUDA_VISIBLE_DEVICES"), fake.device, n, physical);
    for (int i = 0; i < fake.n_visible; i++) {
        fake.visible[i] = &fake.device[physical[i]];
        fake.visible[i]->ordinal = i;
    }
    return TN__CU_SUCCESS;
}

tn__cu_result fake_set_up(void)
{
    if (fake.set_up)
        return TN__CU_SUCCESS;
    int count;
    size_t bytes;
    if (!fake_parse_gpus(fake_env("TENON_FAKE_GPUS"), &count, &bytes) ||
        !fake_parse_capability(fake_env("TENON_FAKE_GPU_CAPABILITY"), count, fake.device))
        return TN__CU_INVALID_VALUE;
    fake.blocking = fake_env_flag("CUDA_LAUNCH_BLOCKING", false);
    const char *order = fake_env("TENON_FAKE_GPU_ORDER");
    fake.order = fake_env_flag("TENON_FAKE_GPU_ORDER", true);
    fake.warn = order && !strcasecmp(order, "warn");
    tn__cu_result r = make_devices(count, bytes);
    if (r)
        return r;
    r = fake_set_faults(fake_env("TENON_FAKE_GPU_FAULTS")); /* it names devices */
    if (!r && pthread_atfork(NULL, NULL, in_child))
        r = TN__CU_OUT_OF_MEMORY;
    if (r) {
        unmake_devices();
        return r;
    }
    fake.set_up = true;
    return TN__CU_SUCCESS;
}

/* ---- doors ---- */

tn__cu_result fake_leave(tn__cu_result r)
{
    pthread_mutex_unlock(&fake.lock);
    fake_report_end(r);
    return r;
}

tn__cu_result fake_enter(void)
{
    if (fake_forked())
        return TN__CU_NOT_INITIALIZED;
    if (fake_running()) /* a function of the host that a stream calls: it would wait for itself */
        return TN__CU_NOT_PERMITTED;
    fake_report_begin();
    pthread_mutex_lock(&fake.lock);
    if (fake.over)
        return fake_leave(TN__CU_DEINITIALIZED);
    return fake.initialised ? TN__CU_SUCCESS : fake_leave(TN__CU_NOT_INITIALIZED);
}

tn__cu_result fake_enter_device(tn__cu_device ordinal, fake_device **device)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    if (ordinal < 0 || ordinal >= fake.n_visible)
        return fake_leave(TN__CU_INVALID_DEVICE);
    *device = fake.visible[ordinal];
    return TN__CU_SUCCESS;
}

tn__cu_result fake_enter_context(fake_context **context)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    fake_context *c = fake_current();
    if (!c)
        return fake_leave(TN__CU_INVALID_CONTEXT);
    if (!c->active)
        return fake_leave(TN__CU_CONTEXT_IS_DESTROYED);
    if (c->error)
        return fake_leave(fake_context_error(c));
    *context = c;
    return TN__CU_SUCCESS;
}

tn__cu_result fake_enter_stream(tn__cu_stream handle, fake_context **context, fake_stream **stream)
{
    tn__cu_result r = fake_enter_context(context);
    if (r)
        return r;
    const uintptr_t legacy = 1,
                    per_thread = 2; /* CU_STREAM_LEGACY, CU_STREAM_PER_THREAD: here the default stream, too */
    if (!handle || (uintptr_t)handle == legacy || (uintptr_t)handle == per_thread) {
        *stream = (*context)->fallback;
        return TN__CU_SUCCESS;
    }
    if (!fake_handle_is(handle, FAKE_STREAM))
        return fake_leave(TN__CU_INVALID_HANDLE);
    *stream = handle;
    if (!handle->context->active)
        return fake_leave(TN__CU_INVALID_HANDLE);
    r = fake_context_error(handle->context);
    return r ? fake_leave(r) : TN__CU_SUCCESS;
}

tn__cu_result fake_enter_queue(tn__cu_stream handle, fake_context **context, fake_stream **stream)
{
    tn__cu_result r = fake_enter_stream(handle, context, stream);
    while (!r && fake_wait_room(*stream)) { /* meanwhile others may have closed it, or failed */
        fake_leave(r);
        r = fake_enter_stream(handle, context, stream);
    }
    return r;
}

tn__cu_result fake_still(const fake_context *c, uint64_t life)
{
    return !c->active || c->life != life ? TN__CU_CONTEXT_IS_DESTROYED : fake_context_error(c);
}

fake_device *fake_device_of(const void *address)
{
    const char *p = address;
    for (int i = 0; i < fake.n_devices; i++)
        if (p >= fake.device[i].base && p < fake.device[i].base + fake.device[i].span)
            return &fake.device[i];
    return fake_reserved_device(p);
}

/* ---- what programs ask ---- */

tn__cu_result cuInit(unsigned flags)
{
    if (fake_forked())
        return TN__CU_NOT_INITIALIZED;
    if (flags)
        return TN__CU_INVALID_VALUE;
    fake_report_begin();
    pthread_mutex_lock(&fake.lock);
    tn__cu_result r = fake.over ? TN__CU_DEINITIALIZED : fake_set_up();
    if (!r && !fake.n_visible)
        r = TN__CU_NO_DEVICE;
    if (!r)
        fake.initialised = true;
    return fake_leave(r);
}

tn__cu_result cuDriverGetVersion(int *version)
{
    if (fake_forked())
        return TN__CU_NOT_INITIALIZED;
    if (!version)
        return TN__CU_INVALID_VALUE;
    *version = 13000;
    return TN__CU_SUCCESS;
}

tn__cu_result cuDeviceGetCount(int *count)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    if (!count)
        return fake_leave(TN__CU_INVALID_VALUE);
    *count = fake.n_visible;
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuDeviceGet(tn__cu_device *device, int ordinal)
{
    fake_device *d;
    tn__cu_result r = fake_enter_device(ordinal, &d);
    if (r)
        return r;
    if (!device)
        return fake_leave(TN__CU_INVALID_VALUE);
    *device = ordinal;
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuDeviceGetName(char *name, int size, tn__cu_device device)
{
    fake_device *d;
    tn__cu_result r = fake_enter_device(device, &d);
    if (r)
        return r;
    if (!name || size <= 0)
        return fake_leave(TN__CU_INVALID_VALUE);
    snprintf(name, (size_t)size, "Tenon fake GPU");
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuDeviceGetUuid_v2(tn__cu_uuid *uuid, tn__cu_device device)
{
    fake_device *d;
    tn__cu_result r = fake_enter_device(device, &d);
    if (r)
        return r;
    if (!uuid)
        return fake_leave(TN__CU_INVALID_VALUE);
    *uuid = d->uuid;
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuDeviceTotalMem_v2(size_t *bytes, tn__cu_device device)
{
    fake_device *d;
    tn__cu_result r = fake_enter_device(device, &d);
    if (r)
        return r;
    if (!bytes)
        return fake_leave(TN__CU_INVALID_VALUE);
    *bytes = d->capacity;
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuDeviceGetPCIBusId(char *id, int size, tn__cu_device device)
{
    fake_device *d;
    tn__cu_result r = fake_enter_device(device, &d);
    if (r)
        return r;
    if (!id || size < 13)
        return fake_leave(TN__CU_INVALID_VALUE);
    snprintf(id, (size_t)size, "%04X:%02X:%02X.0", 0, (unsigned)fake_pci_bus(d), 0);
    return fake_leave(TN__CU_SUCCESS);
}

int fake_pci_bus(const fake_device *d)
{
    return 0x10 + d->physical;
}

static int attribute_of(const fake_device *d, unsigned attribute)
{
    switch (attribute) {
    case TN__CU_MAX_THREADS_PER_BLOCK: return 1024;
    case TN__CU_MAX_SHARED_MEMORY_PER_BLOCK: return 48 * 1024;
    case TN__CU_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return 48 * 1024;
    case TN__CU_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return 96 * 1024;
    case TN__CU_WARP_SIZE: return 32;
    case TN__CU_MAX_REGISTERS_PER_BLOCK: return 65536;
    case TN__CU_MAX_REGISTERS_PER_MULTIPROCESSOR: return 65536;
    case TN__CU_CLOCK_RATE: return 1000000;
    case TN__CU_MEMORY_CLOCK_RATE: return 1000000;
    case TN__CU_GLOBAL_MEMORY_BUS_WIDTH: return 64;
    case TN__CU_MULTIPROCESSOR_COUNT: return 4;
    case TN__CU_MAX_THREADS_PER_MULTIPROCESSOR: return 2048;
    case TN__CU_L2_CACHE_SIZE: return 4 << 20;
    case TN__CU_INTEGRATED: return 0;
    case TN__CU_MULTI_GPU_BOARD: return 0;
    case TN__CU_CAN_MAP_HOST_MEMORY: return 1;
    case TN__CU_UNIFIED_ADDRESSING: return 1;
    case TN__CU_PCI_BUS_ID: return fake_pci_bus(d);
    case TN__CU_PCI_DEVICE_ID: return 0;
    case TN__CU_PCI_DOMAIN_ID: return 0;
    case TN__CU_COMPUTE_CAPABILITY_MAJOR: return d->capability / 10;
    case TN__CU_COMPUTE_CAPABILITY_MINOR: return d->capability % 10;
    }
    return fake_attribute_beside(attribute);
}

tn__cu_result cuDeviceGetAttribute(int *value, unsigned attribute, tn__cu_device device)
{
    fake_device *d;
    tn__cu_result r = fake_enter_device(device, &d);
    if (r)
        return r;
    int v = attribute_of(d, attribute);
    if (!value || v < 0)
        return fake_leave(TN__CU_INVALID_VALUE);
    *value = v;
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuDeviceCanAccessPeer(int *can, tn__cu_device device, tn__cu_device peer)
{
    fake_device *d;
    tn__cu_result r = fake_enter_device(device, &d);
    if (r)
        return r;
    if (peer < 0 || peer >= fake.n_visible)
        return fake_leave(TN__CU_INVALID_DEVICE);
    if (!can)
        return fake_leave(TN__CU_INVALID_VALUE);
    *can = device != peer && !fake_fault_pair(FAKE_FAULT_PEER, device, peer);
    return fake_leave(TN__CU_SUCCESS);
}
