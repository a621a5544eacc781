/* What GPUs are: asked of the driver; no context is made for it. */
#include "backend/cuda/cuda.h"
#include "backend/gpu/kernel_cache.h"
#include "core/dynlib.h"
#include "core/error.h"
#include "core/thread.h"
#include <stdio.h>
#include <tenon/cuda.h>

/* 0 where the driver does not know it. */
static int attribute(const tn__gpu_device *dev, unsigned which)
{
    int value = 0;
    return tn__cu.device_get_attribute(&value, which, (tn__cu_device)dev->handle) == TN__CU_SUCCESS ? value : 0;
}

tn__cuda_uuid_text tn__cuda_uuid_str(const tn__gpu_device *dev)
{
    tn__cuda_uuid_text t = {"GPU-"};
    tn__cu_uuid uuid;
    if (tn__cu.device_get_uuid(&uuid, (tn__cu_device)dev->handle) != TN__CU_SUCCESS) {
        t.s[0] = '\0';
        return t;
    }
    size_t n = 4;
    for (int i = 0; i < 16; i++)
        n += (size_t)snprintf(t.s + n, sizeof t.s - n, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                              (unsigned char)uuid.bytes[i]);
    return t;
}

static void numbers(const tn__gpu_device *dev, tn_cuda_properties *p)
{
    p->major = attribute(dev, TN__CU_COMPUTE_CAPABILITY_MAJOR);
    p->minor = attribute(dev, TN__CU_COMPUTE_CAPABILITY_MINOR);
    p->multi_processor_count = attribute(dev, TN__CU_MULTIPROCESSOR_COUNT);
    p->warp_size = attribute(dev, TN__CU_WARP_SIZE);
    p->max_threads_per_block = attribute(dev, TN__CU_MAX_THREADS_PER_BLOCK);
    p->max_threads_per_multi_processor = attribute(dev, TN__CU_MAX_THREADS_PER_MULTIPROCESSOR);
    p->regs_per_multiprocessor = attribute(dev, TN__CU_MAX_REGISTERS_PER_MULTIPROCESSOR);
    p->shared_memory_per_block = attribute(dev, TN__CU_MAX_SHARED_MEMORY_PER_BLOCK);
    p->shared_memory_per_block_optin = attribute(dev, TN__CU_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    p->shared_memory_per_multiprocessor = attribute(dev, TN__CU_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    p->L2_cache_size = attribute(dev, TN__CU_L2_CACHE_SIZE);
    p->clock_rate = attribute(dev, TN__CU_CLOCK_RATE);
    p->memory_clock_rate = attribute(dev, TN__CU_MEMORY_CLOCK_RATE);
    p->memory_bus_width = attribute(dev, TN__CU_GLOBAL_MEMORY_BUS_WIDTH);
    p->pci_domain_id = attribute(dev, TN__CU_PCI_DOMAIN_ID);
    p->pci_bus_id = attribute(dev, TN__CU_PCI_BUS_ID);
    p->pci_device_id = attribute(dev, TN__CU_PCI_DEVICE_ID);
    p->is_integrated = attribute(dev, TN__CU_INTEGRATED) != 0;
    p->is_multi_gpu_board = attribute(dev, TN__CU_MULTI_GPU_BOARD) != 0;
}

static tn__gpu_device *slot_of(tn_device device)
{
    tn_device d;
    tn__enter(TN__NOWHERE);
    return tn__gpu_resolve(device, &d) ? NULL : tn__gpu_slot(d);
}

tn_status tn_cuda_device_properties(tn_device device, tn_cuda_properties *out)
{
    const tn__gpu_device *dev = slot_of(device);
    size_t total = 0;
    if (!dev)
        return tn_error_code();
    if (tn__gpu_forked())
        return tn__gpu_refuse_child(dev->device.type);
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", dev->name);
    if (tn__cu.device_total_mem(&total, (tn__cu_device)dev->handle) == TN__CU_SUCCESS)
        out->total_memory = (int64_t)total;
    numbers(dev, out);
    const tn__cuda_uuid_text uuid = tn__cuda_uuid_str(dev);
    snprintf(out->uuid, sizeof out->uuid, "%.39s", *uuid.s ? uuid.s + 4 : "");
    snprintf(out->pci_text, sizeof out->pci_text, "%s", dev->pci);
    return TN_OK;
}

const char *tn_cuda_device_name(tn_device device)
{
    const tn__gpu_device *dev = slot_of(device);
    return dev ? dev->name : NULL;
}

tn_status tn_cuda_device_capability(tn_device device, int32_t *major, int32_t *minor)
{
    const tn__gpu_device *dev = slot_of(device);
    if (!dev)
        return tn_error_code();
    if (tn__gpu_forked())
        return tn__gpu_refuse_child(dev->device.type);
    if (major)
        *major = attribute(dev, TN__CU_COMPUTE_CAPABILITY_MAJOR);
    if (minor)
        *minor = attribute(dev, TN__CU_COMPUTE_CAPABILITY_MINOR);
    return TN_OK;
}

int32_t tn_cuda_physical(tn_device device)
{
    const tn__gpu_device *dev = slot_of(device);
    return dev ? tn__cuda_physical_of(dev) : -1;
}

int32_t tn_cuda_ordinal(tn_device device)
{
    const tn__gpu_device *dev = slot_of(device);
    return dev ? dev->ordinal : -1;
}

/* ---- a row of tn_devices ---- */

void tn__cuda_info(int32_t index, tn_device_info *out)
{
    const tn__gpu_device *dev = tn__gpu_slot(TN_CUDA(index));
    size_t total = 0;
    int version = 0;
    snprintf(out->name, sizeof out->name, "%.95s", dev->name);
    if (tn__cu.device_total_mem(&total, (tn__cu_device)dev->handle) == TN__CU_SUCCESS)
        out->total_memory = (int64_t)total;
    out->free_memory = tn__cuda_free_memory(dev);
    out->units = attribute(dev, TN__CU_MULTIPROCESSOR_COUNT);
    out->physical = tn__cuda_physical_of(dev);
    snprintf(out->uuid, sizeof out->uuid, "%s", tn__cuda_uuid_str(dev).s);
    if (tn__cuda_is_slice(dev))
        memcpy(out->uuid, "MIG", 3);
    snprintf(out->pci_bus_id, sizeof out->pci_bus_id, "%s", dev->pci);
    tn__cu.driver_get_version(&version);
    snprintf(out->detail, sizeof out->detail, "compute capability %d.%d; driver %s%sfor CUDA %d.%d",
             attribute(dev, TN__CU_COMPUTE_CAPABILITY_MAJOR), attribute(dev, TN__CU_COMPUTE_CAPABILITY_MINOR),
             tn_cuda_driver_version(), *tn_cuda_driver_version() ? " " : "", version / 1000, version % 1000 / 10);
}

/* ---- libraries ---- */

static int32_t version_of(tn__cuda_library_id which)
{
    int major = 0, minor = 0, version = 0;
    if (which == TN__LIB_CUDA && tn__cu.driver_get_version(&version) == TN__CU_SUCCESS)
        return version;
    if (which == TN__LIB_NVRTC && !tn__nvrtc()->version(&major, &minor))
        return major * 1000 + minor * 10;
    if (which == TN__LIB_CUBLAS && !tn__cublas()->get_version(NULL, &version))
        return version / 10000 * 1000 + version / 100 % 100 * 10; /* 130100 is 13.1.0 */
    return 0;
}

static void describe(tn__cuda_library_id which, tn_cuda_library *out)
{
    static const char *const names[] = {"driver", "NVRTC", "cuBLAS", "NVML"};
    const char *missing = tn__cuda_library(which), *path = tn__cuda_library_path(which);
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", names[which]);
    snprintf(out->missing, sizeof out->missing, "%.511s", missing ? missing : "");
    snprintf(out->path, sizeof out->path, "%.255s", path ? path : "");
    out->found = !missing;
    out->fake = tn__cuda_is_fake();
    out->version = missing ? 0 : version_of(which);
}

size_t tn_cuda_libraries(tn_cuda_library *out, size_t cap)
{
    for (size_t i = 0; i <= TN__LIB_NVML && i < cap; i++)
        describe((tn__cuda_library_id)i, &out[i]);
    return TN__LIB_NVML + 1;
}

int64_t tn_kernel_cache_folder(char *out, size_t size)
{
    return tn__cache_folder(out, size);
}
