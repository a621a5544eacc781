/* The GPUs of this machine, read from the library's list of devices and from NVML. */
#include "gpus.h"
#include <stdio.h>
#include <string.h>

const char gpus_list[] = "TENON_VISIBLE_DEVICES";

bool gpus_bad_list(void)
{
    const char *list = tn_setting_value(gpus_list);
    return list && *list && !tn_cuda_device_count() && tn_synchronize(TN_CUDA(0)) &&
           strstr(tn_error_message(), gpus_list);
}

static bool is_listed(const gpus *g, const char *uuid)
{
    for (size_t i = 0; *uuid && i < g->n; i++)
        if (!strcmp(g->gpu[i].uuid, uuid))
            return true;
    return false;
}

/* Without NVML the driver still tells of the GPUs that are visible: their names and sizes, but not nvidia-smi's numbers. */
static void from_devices(gpus *g)
{
    tn_device_info d[MAX_GPUS + 1];
    size_t n = tn_devices(d, MAX_GPUS + 1);
    for (size_t i = 0; i < n && i <= MAX_GPUS && g->n < MAX_GPUS; i++) {
        if (d[i].device.type != TN_DEVICE_CUDA || is_listed(g, d[i].uuid)) /* one GPU may be several devices */
            continue;
        tn_cuda_status *s = &g->gpu[g->n++];
        *s = (tn_cuda_status){.physical = d[i].physical,
                              .device = d[i].device,
                              .memory_used = -1,
                              .memory_free = -1,
                              .gpu_utilization = -1,
                              .memory_utilization = -1,
                              .temperature = -1,
                              .fan = -1,
                              .power = -1,
                              .power_limit = -1,
                              .performance_state = -1,
                              .persistence_mode = -1,
                              .display_active = -1,
                              .compute_mode = -1,
                              .ecc_errors = -1};
        s->memory_total = d[i].total_memory ? d[i].total_memory : -1;
        snprintf(s->name, sizeof s->name, "%s", d[i].name);
        snprintf(s->uuid, sizeof s->uuid, "%s", d[i].uuid);
        snprintf(s->pci_text, sizeof s->pci_text, "%s", d[i].pci_bus_id);
    }
}

void gpus_read(gpus *g)
{
    tn_cuda_library driver;
    memset(g, 0, sizeof *g);
    tn_cuda_libraries(&driver, 1);
    g->simulated = driver.fake && driver.found;
    g->driver = tn_cuda_driver_version();
    if (driver.version)
        snprintf(g->cuda, sizeof g->cuda, "%d.%d", (int)driver.version / 1000, (int)driver.version % 1000 / 10);
    g->n = tn_cuda_statuses(g->gpu, MAX_GPUS);
    g->n = g->n < MAX_GPUS ? g->n : MAX_GPUS;
    if (!g->n)
        from_devices(g);
    for (size_t i = 0; i < g->n; i++) {
        if (g->gpu[i].physical < 0)
            continue;
        size_t n = tn_cuda_processes(g->gpu[i].physical, g->process[i], MAX_PROCESSES);
        g->n_processes[i] = n < MAX_PROCESSES ? n : MAX_PROCESSES;
    }
}

const char *gpu_mode(int64_t compute_mode)
{
    static const char *const names[] = {"Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process"};
    return compute_mode >= 0 && compute_mode < 4 ? names[compute_mode] : "N/A";
}
