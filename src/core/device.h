/* core/device.h: device values. Which devices exist is the registry's business (backend/registry.c). */
#ifndef TENON_CORE_DEVICE_H
#define TENON_CORE_DEVICE_H

#include "core/base.h"
#include <tenon/device.h>

static inline bool tn__same_device(tn_device a, tn_device b)
{
    return a.type == b.type && a.index == b.index;
}

/* cpu and meta have no index: tensors there report -1, whatever was asked for. */
static inline bool tn__device_has_index(int32_t type)
{
    return type == TN_DEVICE_CUDA || type == TN_DEVICE_OPENCL;
}

/* What errors say of a device, in the words of its backend, which backend/registry.c asks; the default device's where none
 * was named. */
typedef struct tn__device_words {
    const char *kernels; /* in names of kernels: "cpu", "cuda" */
    bool gpu;            /* its kernels and types of tensors have names of their own */
} tn__device_words;
tn__device_words tn__words_of(tn_device d);

#endif
