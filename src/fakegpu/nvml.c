/* NVML: all physical GPUs, whatever CUDA_VISIBLE_DEVICES hides. */
#include "fakegpu/driver.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FN(name, symbol, older, parameters)       FAKE_API unsigned symbol parameters;
#define OPTIONAL(name, symbol, older, parameters) FAKE_API unsigned symbol parameters;
#include "abi/nvml.def"

enum { UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_FOUND = 6 };

static unsigned users; /* nvmlInit without nvmlShutdown */

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
    *count = (unsigned)fake.n_devices;
    return fake_leave(TN__NVML_SUCCESS);
}

unsigned nvmlDeviceGetHandleByIndex_v2(unsigned index, tn__nvml_device *device)
{
    unsigned r = enter();
    if (r)
        return r;
    if (!device || index >= (unsigned)fake.n_devices)
        return fake_leave(INVALID_ARGUMENT);
    *device = (tn__nvml_device)(void *)&fake.device[index];
    return fake_leave(TN__NVML_SUCCESS);
}

unsigned nvmlDeviceGetName(tn__nvml_device device, char *name, unsigned size)
{
    fake_device *d = NULL;
    unsigned r = enter_device(device, &d);
    return r ? r : fake_leave(put_text(name, size, "Tenon fake GPU"));
}

unsigned nvmlDeviceGetUUID(tn__nvml_device device, char *uuid, unsigned size)
{
    fake_device *d = NULL;
    unsigned r = enter_device(device, &d);
    if (r)
        return r;
    char text[41];
    fake_uuid_text(&d->uuid, text);
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
    *memory = (tn__nvml_memory){.total = d->capacity, .free = d->capacity - d->used, .used = d->used};
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
