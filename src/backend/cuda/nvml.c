/* What the machine says about its GPUs: NVML knows all of them, by nvidia-smi's numbers, and needs no context. */
#include "backend/cuda/cuda.h"
#include "core/alloc.h"
#include <stdio.h>
#include <strings.h>
#include <tenon/cuda.h>

/* ---- which of them is cuda:i ---- */

/* "00000000:17:00.0" and "0000:17:00.0" are one address: NVML writes the domain with eight digits. */
static bool same_address(const char *a, const char *b)
{
    unsigned x[4], y[4];
    return sscanf(a, "%x:%x:%x.%x", &x[0], &x[1], &x[2], &x[3]) == 4 &&
           sscanf(b, "%x:%x:%x.%x", &y[0], &y[1], &y[2], &y[3]) == 4 && !memcmp(x, y, sizeof x);
}

static bool same_uuid(const tn__nvml_functions *nvml, tn__nvml_device handle, const tn__gpu_device *dev)
{
    char uuid[96];
    return !nvml->device_get_uuid(handle, uuid, sizeof uuid) && !strcasecmp(uuid, tn__cuda_uuid_str(dev).s);
}

static bool is_device(const tn__nvml_functions *nvml, tn__nvml_device handle, const tn__gpu_device *dev)
{
    tn__nvml_pci pci;
    if (same_uuid(nvml, handle, dev))
        return true;
    /* a slice of a GPU (MIG) has a UUID of its own, and the address of the whole */
    return !nvml->device_get_pci_info(handle, &pci) && same_address(pci.bus_id, dev->pci);
}

static int32_t find_physical(const tn__gpu_device *dev, tn__nvml_device *handle)
{
    const tn__nvml_functions *nvml = tn__nvml();
    unsigned n = 0;
    if (!nvml || nvml->device_get_count(&n))
        return -1;
    for (unsigned i = 0; i < n; i++)
        if (!nvml->device_get_handle_by_index(i, handle) && is_device(nvml, *handle, dev))
            return (int32_t)i;
    return -1;
}

int32_t tn__cuda_physical_of(const tn__gpu_device *dev)
{
    tn__nvml_device handle;
    return find_physical(dev, &handle);
}

/* NVML's own handle of the device, a whole GPU or a slice of one (MIG), by the UUID that the driver says. An NVML that does not
 * know slices by theirs shows only that it is none of the GPUs, though it has the address of one. */
static bool find_own(const tn__gpu_device *dev, tn__nvml_device *handle, bool *slice)
{
    const tn__nvml_functions *nvml = tn__nvml();
    tn__cuda_uuid_text uuid = tn__cuda_uuid_str(dev);
    *slice = false;
    if (!nvml || !*uuid.s || find_physical(dev, handle) < 0)
        return false;
    if (same_uuid(nvml, *handle, dev))
        return true;
    *slice = true;
    memcpy(uuid.s, "MIG", 3);
    return nvml->device_get_handle_by_uuid && !nvml->device_get_handle_by_uuid(uuid.s, handle);
}

bool tn__cuda_is_slice(const tn__gpu_device *dev)
{
    tn__nvml_device handle;
    bool slice;
    find_own(dev, &handle, &slice);
    return slice;
}

int64_t tn__cuda_free_memory(const tn__gpu_device *dev)
{
    tn__nvml_device handle;
    tn__nvml_memory memory;
    bool slice;
    if (!find_own(dev, &handle, &slice) || tn__nvml()->device_get_memory_info(handle, &memory))
        return 0;
    return (int64_t)memory.free;
}

static tn_device visible_as(const tn__nvml_functions *nvml, tn__nvml_device handle)
{
    for (int32_t i = 0; i < tn__gpu_count(TN_DEVICE_CUDA); i++)
        if (is_device(nvml, handle, tn__gpu_slot(TN_CUDA(i))))
            return TN_CUDA(i);
    return TN_CUDA(-1);
}

const char *tn_cuda_driver_version(void)
{
    static struct {
        pthread_mutex_t lock;
        char text[64];
    } driver = {.lock = PTHREAD_MUTEX_INITIALIZER};
    const tn__nvml_functions *nvml = tn__nvml();
    pthread_mutex_lock(&driver.lock);
    if (nvml && !*driver.text && nvml->system_get_driver_version(driver.text, sizeof driver.text))
        driver.text[0] = '\0';
    pthread_mutex_unlock(&driver.lock);
    return driver.text;
}

/* ---- figures ---- */

/* A figure that many cards do not have. */
static int32_t figure(unsigned (*ask)(tn__nvml_device, unsigned *), tn__nvml_device handle)
{
    unsigned value;
    return ask(handle, &value) ? -1 : (int32_t)value;
}

static void load(const tn__nvml_functions *nvml, tn__nvml_device handle, tn_cuda_status *s)
{
    tn__nvml_memory memory;
    tn__nvml_utilization use;
    unsigned celsius;
    unsigned long long errors;
    bool known = !nvml->device_get_memory_info(handle, &memory);
    s->memory_total = known ? (int64_t)memory.total : -1;
    s->memory_used = known ? (int64_t)memory.used : -1;
    s->memory_free = known ? (int64_t)memory.free : -1;
    known = !nvml->device_get_utilization(handle, &use);
    s->gpu_utilization = known ? (int32_t)use.gpu : -1;
    s->memory_utilization = known ? (int32_t)use.memory : -1;
    s->temperature = nvml->device_get_temperature(handle, TN__NVML_TEMPERATURE_GPU, &celsius) ? -1 : (int32_t)celsius;
    s->ecc_errors =
        nvml->device_get_ecc_errors(handle, 1, 0, &errors) ? -1 : (int64_t)errors; /* uncorrected, volatile */
    s->fan = figure(nvml->device_get_fan_speed, handle);
    s->power = figure(nvml->device_get_power_usage, handle);
    s->power_limit = figure(nvml->device_get_power_limit, handle);
    s->performance_state = figure(nvml->device_get_performance_state, handle);
    s->persistence_mode = figure(nvml->device_get_persistence_mode, handle);
    s->display_active = figure(nvml->device_get_display_active, handle);
    s->compute_mode = figure(nvml->device_get_compute_mode, handle);
}

static void status_of(const tn__nvml_functions *nvml, tn__nvml_device handle, unsigned i, tn_cuda_status *s)
{
    tn__nvml_pci pci;
    memset(s, 0, sizeof *s);
    s->physical = (int32_t)i;
    s->device = visible_as(nvml, handle);
    if (nvml->device_get_name(handle, s->name, sizeof s->name))
        s->name[0] = '\0';
    if (nvml->device_get_uuid(handle, s->uuid, sizeof s->uuid))
        s->uuid[0] = '\0';
    if (!nvml->device_get_pci_info(handle, &pci))
        snprintf(s->pci_text, sizeof s->pci_text, "%.31s", pci.bus_id);
    load(nvml, handle, s);
}

size_t tn_cuda_statuses(tn_cuda_status *out, size_t cap)
{
    const tn__nvml_functions *nvml = tn__nvml();
    unsigned n = 0;
    if (!nvml || nvml->device_get_count(&n))
        return 0;
    for (unsigned i = 0; i < n && i < cap; i++) {
        tn__nvml_device handle;
        if (nvml->device_get_handle_by_index(i, &handle))
            return i;
        status_of(nvml, handle, i, &out[i]);
    }
    return n;
}

/* ---- processes ---- */

/* NVML's list, from tn__block_get; more may come between two questions, so there is room for some. */
static tn__nvml_process *list_processes(const tn__nvml_functions *nvml, tn__nvml_device handle, unsigned *n,
                                        size_t *bytes)
{
    unsigned known = 0;
    nvml->device_get_processes(handle, &known, NULL);
    *n = known + 16;
    *bytes = *n * sizeof(tn__nvml_process);
    tn__nvml_process *list = tn__block_get(*bytes);
    if (list && nvml->device_get_processes(handle, n, list)) {
        tn__block_put(list, *bytes);
        return NULL;
    }
    return list;
}

size_t tn_cuda_processes(int32_t physical, tn_cuda_process *out, size_t cap)
{
    const tn__nvml_functions *nvml = tn__nvml();
    tn__nvml_device handle;
    unsigned n;
    size_t bytes;
    if (!nvml || physical < 0 || nvml->device_get_handle_by_index((unsigned)physical, &handle))
        return 0;
    tn__nvml_process *list = list_processes(nvml, handle, &n, &bytes);
    for (unsigned i = 0; list && i < n && i < cap; i++) {
        const unsigned long long used = list[i].used_memory; /* all bits set: not told */
        out[i] = (tn_cuda_process){.pid = list[i].pid, .used_memory = used > INT64_MAX ? -1 : (int64_t)used};
        if (nvml->system_get_process_name(list[i].pid, out[i].name, sizeof out[i].name))
            out[i].name[0] = '\0';
    }
    tn__block_put(list, bytes);
    return list ? n : 0;
}

int32_t tn__cuda_processes_of(const tn__gpu_device *dev, tn__gpu_process *out, int32_t cap)
{
    enum { PROCESSES = 64 };
    const tn__nvml_functions *nvml = tn__nvml();
    tn__nvml_device handle;
    tn__nvml_process p[PROCESSES];
    unsigned n = PROCESSES;
    bool slice;
    if (!find_own(dev, &handle, &slice) || nvml->device_get_processes(handle, &n, p))
        return 0;
    const int32_t written = TN_MIN((int32_t)n, cap);
    for (int32_t i = 0; i < written; i++)
        out[i] = (tn__gpu_process){p[i].pid, p[i].used_memory > INT64_MAX ? -1 : (int64_t)p[i].used_memory};
    return written;
}
