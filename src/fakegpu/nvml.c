/* NVML: all physical GPUs, whatever CUDA_VISIBLE_DEVICES hides. Where these are cut into slices (MIG), it counts the whole ones,
 * which have the memory and the processes of all their slices, and finds slices by their UUIDs. */
#include "fakegpu/driver.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FN(name, symbol, older, parameters)       FAKE_API unsigned symbol parameters;
#define OPTIONAL(name, symbol, older, parameters) FAKE_API unsigned symbol parameters;
#include "abi/nvml.def"

enum { UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_FOUND = 6 };

static unsigned users; /* nvmlInit without nvmlShutdown */

/* A handle is the address of its device, or of the UUID of a GPU that is cut into slices. */
static const tn__cu_uuid *whole_of(tn__nvml_device handle)
{
    for (int i = 0; fake.slices && i < fake.n_devices / fake.slices; i++)
        if ((tn__nvml_device)(void *)&fake.gpu_uuid[i] == handle)
            return &fake.gpu_uuid[i];
    return NULL;
}

static tn__nvml_device handle_of(int gpu)
{
    return fake.slices ? (tn__nvml_device)(void *)&fake.gpu_uuid[gpu] : (tn__nvml_device)(void *)&fake.device[gpu];
}

static int gpus(void)
{
    return fake.slices ? fake.n_devices / fake.slices : fake.n_devices;
}

/* Takes the lock if NVML may be used. */
static unsigned enter(void)
{
    if (fake_forked())
        return UNINITIALIZED;
    pthread_mutex_lock(&fake.lock);
    if (users)
        return TN__NVML_SUCCESS;
    fake_leave(0);
    return UNINITIALIZED;
}

static unsigned enter_device(tn__nvml_device handle, fake_device **device)
{
    unsigned r = enter();
    if (r)
        return r;
    const tn__cu_uuid *whole = whole_of(handle);
    if (whole) { /* by its first slice */
        *device = &fake.device[(whole - fake.gpu_uuid) * fake.slices];
        return TN__NVML_SUCCESS;
    }
    for (int i = 0; i < fake.n_devices; i++)
        if ((tn__nvml_device)(void *)&fake.device[i] == handle) {
            *device = &fake.device[i];
            return TN__NVML_SUCCESS;
        }
    return fake_leave(INVALID_ARGUMENT);
}

static unsigned put_text(char *out, unsigned size, const char *text)
{
    if (!out)
        return INVALID_ARGUMENT;
    return snprintf(out, size, "%s", text) < (int)size ? TN__NVML_SUCCESS : TN__NVML_INSUFFICIENT_SIZE;
}

unsigned nvmlInit_v2(void)
{
    if (fake_forked())
        return UNINITIALIZED;
    fake_report_begin();
    pthread_mutex_lock(&fake.lock);
    tn__cu_result r = fake_set_up();
    users += !r;
    return fake_leave(r ? INVALID_ARGUMENT : TN__NVML_SUCCESS);
}

unsigned nvmlShutdown(void)
{
    unsigned r = enter();
    if (r)
        return r;
    users--;
    return fake_leave(TN__NVML_SUCCESS);
}

unsigned nvmlSystemGetDriverVersion(char *version, unsigned size)
{
    unsigned r = enter();
    return r ? r : fake_leave(put_text(version, size, "580.00.00"));
}

unsigned nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    if (!version)
        return INVALID_ARGUMENT;
    *version = 13000;
    return TN__NVML_SUCCESS;
}

unsigned nvmlDeviceGetCount_v2(unsigned *count)
{
    unsigned r = enter();
    if (r)
        return r;
    if (!count)
        return fake_leave(INVALID_ARGUMENT);
    *count = (unsigned)gpus();
    return fake_leave(TN__NVML_SUCCESS);
}

unsigned nvmlDeviceGetHandleByIndex_v2(unsigned index, tn__nvml_device *device)
{
    unsigned r = enter();
    if (r)
        return r;
    if (!device || index >= (unsigned)gpus())
        return fake_leave(INVALID_ARGUMENT);
    *device = handle_of((int)index);
    return fake_leave(TN__NVML_SUCCESS);
}

unsigned nvmlDeviceGetHandleByUUID(const char *uuid, tn__nvml_device *device)
{
    char text[41];
    unsigned r = enter();
    if (r)
        return r;
    if (!uuid || !device)
        return fake_leave(INVALID_ARGUMENT);
    *device = NULL;
    for (int i = 0; i < gpus(); i++) {
        fake_uuid_text("GPU", &fake.gpu_uuid[i], text);
        if (!strcmp(text, uuid))
            *device = handle_of(i);
    }
    for (int i = 0; fake.slices && i < fake.n_devices; i++) {
        fake_uuid_text("MIG", &fake.device[i].uuid, text);
        if (!strcmp(text, uuid))
            *device = (tn__nvml_device)(void *)&fake.device[i];
    }
    return fake_leave(*device ? TN__NVML_SUCCESS : NOT_FOUND);
}

unsigned nvmlDeviceGetName(tn__nvml_device device, char *name, unsigned size)
{
    fake_device *d = NULL;
    unsigned r = enter_device(device, &d);
    return r ? r : fake_leave(put_text(name, size, whole_of(device) ? "Tenon fake GPU" : fake_name()));
}

unsigned nvmlDeviceGetUUID(tn__nvml_device device, char *uuid, unsigned size)
{
    fake_device *d = NULL;
    unsigned r = enter_device(device, &d);
    if (r)
        return r;
    char text[41];
    const tn__cu_uuid *whole = whole_of(device);
    fake_uuid_text(whole || !fake.slices ? "GPU" : "MIG", whole ? whole : &d->uuid, text);
    return fake_leave(put_text(uuid, size, text));
}

unsigned nvmlDeviceGetPciInfo_v3(tn__nvml_device device, tn__nvml_pci *pci)
{
    fake_device *d = NULL;
    unsigned r = enter_device(device, &d);
    if (r)
        return r;
    if (!pci)
        return fake_leave(INVALID_ARGUMENT);
    *pci = (tn__nvml_pci){.bus = (unsigned)fake_pci_bus(d), .pci_device_id = 0xffff10de};
    snprintf(pci->bus_id_legacy, sizeof pci->bus_id_legacy, "0000:%02X:00.0", pci->bus);
    snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", pci->bus);
    return fake_leave(TN__NVML_SUCCESS);
}

unsigned nvmlDeviceGetMemoryInfo(tn__nvml_device device, tn__nvml_memory *memory)
{
    fake_device *d = NULL;
    unsigned r = enter_device(device, &d);
    if (r)
        return r;
    if (!memory)
        return fake_leave(INVALID_ARGUMENT);
    const fake_device *end = d + (whole_of(device) ? fake.slices : 1);
    *memory = (tn__nvml_memory){.total = 0};
    for (; d < end; d++) {
        memory->total += d->capacity;
        memory->used += d->used;
    }
    memory->free = memory->total - memory->used;
    return fake_leave(TN__NVML_SUCCESS);
}

/* The share of the time since it was asked last, or since the context was made, that some stream ran something; above 0 while
 * one does, or has something queued. */
unsigned nvmlDeviceGetUtilizationRates(tn__nvml_device device, tn__nvml_utilization *utilization)
{
    fake_device *d = NULL;
    unsigned r = enter_device(device, &d);
    if (r)
        return r;
    if (!utilization)
        return fake_leave(INVALID_ARGUMENT);
    const double now = fake_now(), spent = now - d->asked;
    double busy = d->busy;
    bool works = busy > 0;
    for (const fake_stream *s = d->context.streams; s; s = s->next) {
        busy += fake_busy(s, now);
        works = works || s->oldest != UINT64_MAX;
    }
    const double share = spent > 0 ? busy * 100 / spent : 0;
    *utilization = (tn__nvml_utilization){.gpu = share >= 100 ? 100
                                                 : share < 1  ? works
                                                              : (unsigned)(share + 0.5),
                                          .memory = (unsigned)(d->used * 100 / d->capacity)};
    d->asked = now;
    d->busy = 0;
    return fake_leave(TN__NVML_SUCCESS);
}

/* A number that does not change. */
static unsigned constant(tn__nvml_device device, unsigned *out, unsigned value)
{
    fake_device *d = NULL;
    unsigned r = enter_device(device, &d);
    if (r)
        return r;
    if (!out)
        return fake_leave(INVALID_ARGUMENT);
    *out = value;
    return fake_leave(TN__NVML_SUCCESS);
}

unsigned nvmlDeviceGetTemperature(tn__nvml_device device, unsigned sensor, unsigned *celsius)
{
    return sensor == TN__NVML_TEMPERATURE_GPU ? constant(device, celsius, 30) : INVALID_ARGUMENT;
}

unsigned nvmlDeviceGetPowerUsage(tn__nvml_device device, unsigned *milliwatts)
{
    return constant(device, milliwatts, 10000);
}

unsigned nvmlDeviceGetEnforcedPowerLimit(tn__nvml_device device, unsigned *milliwatts)
{
    return constant(device, milliwatts, 100000);
}

unsigned nvmlDeviceGetFanSpeed(tn__nvml_device device, unsigned *percent)
{
    (void)device, (void)percent; /* as on cards that the machine's fans cool */
    return TN__NVML_NOT_SUPPORTED;
}

unsigned nvmlDeviceGetPerformanceState(tn__nvml_device device, unsigned *state)
{
    return constant(device, state, 0);
}

unsigned nvmlDeviceGetPersistenceMode(tn__nvml_device device, unsigned *mode)
{
    return constant(device, mode, 0);
}

unsigned nvmlDeviceGetDisplayActive(tn__nvml_device device, unsigned *active)
{
    return constant(device, active, 0);
}

unsigned nvmlDeviceGetComputeMode(tn__nvml_device device, unsigned *mode)
{
    return constant(device, mode, 0);
}

unsigned nvmlDeviceGetTotalEccErrors(tn__nvml_device device, unsigned error_type, unsigned counter_type,
                                     unsigned long long *count)
{
    (void)device, (void)error_type, (void)counter_type, (void)count; /* as on cards without ECC */
    return TN__NVML_NOT_SUPPORTED;
}

unsigned nvmlDeviceGetComputeRunningProcesses_v3(tn__nvml_device device, unsigned *count, tn__nvml_process *processes)
{
    fake_device *d = NULL;
    unsigned r = enter_device(device, &d);
    if (r)
        return r;
    if (!count)
        return fake_leave(INVALID_ARGUMENT);
    unsigned cap = *count;
    const fake_device *end = d + (whole_of(device) ? fake.slices : 1); /* this process has one slice alone */
    while (d + 1 < end && !d->context.active)
        d++;
    *count = d->context.active;
    if (!*count)
        return fake_leave(TN__NVML_SUCCESS);
    if (!cap || !processes)
        return fake_leave(TN__NVML_INSUFFICIENT_SIZE);
    processes[0] = (tn__nvml_process){
        .pid = (unsigned)getpid(), .used_memory = d->used, .gpu_instance = UINT32_MAX, .compute_instance = UINT32_MAX};
    return fake_leave(TN__NVML_SUCCESS);
}

unsigned nvmlSystemGetProcessName(unsigned pid, char *name, unsigned size)
{
    unsigned r = enter();
    if (r)
        return r;
    fake_leave(r);
    char path[64], text[1024] = "";
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid); /* its first string is the program */
    FILE *in = fopen(path, "rb");
    if (!in)
        return NOT_FOUND;
    size_t got = fread(text, 1, sizeof text - 1, in);
    fclose(in);
    return got ? put_text(name, size, text) : NOT_FOUND;
}
