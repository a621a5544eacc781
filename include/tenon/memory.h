/* tenon/memory.h: what a device's memory is used for. */
#ifndef TENON_MEMORY_H
#define TENON_MEMORY_H

#include <tenon/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes. allocated: in live tensors; reserved: held from the system, in tensors or in the cache of free blocks. */
typedef struct tn_memory_statistics {
    int64_t allocated, allocated_peak, reserved, reserved_peak;
    int64_t allocations; /* blocks taken from the system since the process began */
} tn_memory_statistics;

/* Statistics of one device; all zero for a device that was never used. */
TN_API tn_memory_statistics tn_memory_stats(tn_device device);

/* Sets the peaks to the present values. */
TN_API void tn_reset_peak_memory_stats(tn_device device);

/* Returns every cached free block of that device to the system. */
TN_API void tn_empty_cache(tn_device device);

/* Live tensors in the process, views and gradients included. */
TN_API int64_t tn_live_tensors(void);

#ifdef __cplusplus
}
#endif
#endif
