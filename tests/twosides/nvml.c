/* src/abi's declarations of NVML against NVIDIA's header. */
#include <nvml.h>

#include "twosides.h"

SAME_SIZE(tn__nvml_memory, nvmlMemory_t);
SAME_PLACE(tn__nvml_memory, total, nvmlMemory_t, total);
SAME_PLACE(tn__nvml_memory, free, nvmlMemory_t, free);
SAME_PLACE(tn__nvml_memory, used, nvmlMemory_t, used);
SAME_SIZE(tn__nvml_utilization, nvmlUtilization_t);
SAME_PLACE(tn__nvml_utilization, gpu, nvmlUtilization_t, gpu);
SAME_SIZE(tn__nvml_pci, nvmlPciInfo_t);
SAME_PLACE(tn__nvml_pci, domain, nvmlPciInfo_t, domain);
SAME_PLACE(tn__nvml_pci, bus_id, nvmlPciInfo_t, busId);
SAME_SIZE(tn__nvml_process, nvmlProcessInfo_t);
SAME_PLACE(tn__nvml_process, used_memory, nvmlProcessInfo_t, usedGpuMemory);
SAME_PLACE(tn__nvml_process, gpu_instance, nvmlProcessInfo_t, gpuInstanceId);

/* one type each for the pointers' sake; sizes and places were compared */
#define tn__nvml_memory                           nvmlMemory_t
#define tn__nvml_utilization                      nvmlUtilization_t
#define tn__nvml_pci                              nvmlPciInfo_t
#define tn__nvml_process                          nvmlProcessInfo_t
#define OPTIONAL(name, symbol, older, parameters) FN(name, symbol, older, parameters)
#include "abi/nvml.def"

SAME(TN__NVML_SUCCESS, NVML_SUCCESS);
SAME(TN__NVML_NOT_SUPPORTED, NVML_ERROR_NOT_SUPPORTED);
SAME(TN__NVML_INSUFFICIENT_SIZE, NVML_ERROR_INSUFFICIENT_SIZE);
SAME(TN__NVML_TEMPERATURE_GPU, NVML_TEMPERATURE_GPU);
