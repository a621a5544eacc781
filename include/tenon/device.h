/* tenon/device.h: where a tensor lives.
 *
 * A device is a small value, {type, index}: handles, not strings, inside programs. Spelled "cpu", "cuda", "cuda:1",
 * "opencl:0", "meta"; an index of -1 means the current device of that type. Names are logical: cuda:i is the i-th
 * visible GPU.
 */
#ifndef TENON_DEVICE_H
#define TENON_DEVICE_H

#include <tenon/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Parses "cuda:1". On error the type is TN_DEVICE_INVALID, which poisons the calls it is passed to, and TN_EINVAL is
 * set with PyTorch's text. */
TN_API tn_device tn_device_parse(const char *text);

/* Its spelling, by value: printf("%s", tn_device_text(d).s). */
typedef struct tn_text {
    char s[24];
} tn_text;
TN_API tn_text tn_device_text(tn_device device);

/* Same type and same index; cuda and cuda:0 differ, as in PyTorch. */
TN_API bool tn_device_equal(tn_device a, tn_device b);

/* cuda:i where there are more than i GPUs, cpu otherwise. Never fails. */
TN_API tn_device tn_try_gpu(int32_t i);

/* Every GPU, or {cpu} where there is none. Writes up to cap devices to out; returns how many there are. */
TN_API size_t tn_try_all_gpus(tn_device *out, size_t cap);

/* Never an error: false and 0 where there is no driver, or where a setting hides what is there (tn_settings_check);
 * tn_synchronize(TN_CUDA(0)) sets the error that says why. */
TN_API bool tn_cuda_is_available(void);
TN_API int32_t tn_cuda_device_count(void);

/* Every GPU, the one with most free memory first; equal ones by index. Writes up to cap devices to out; returns how many
 * there are: 0 where there is none. Makes no context. */
TN_API size_t tn_cuda_devices_by_free_memory(tn_device *out, size_t cap);

/* One row of `tenon devices`. Listing devices makes no context on any of them. */
typedef struct tn_device_info {
    tn_device device;
    char name[96];
    int64_t total_memory; /* bytes; 0 where unknown */
    int64_t free_memory;  /* of all processes together; 0 where unknown */
    int32_t units;        /* CPU cores the pool uses, or multiprocessors */
    char detail[160];     /* instruction set, BLAS, driver ... */
    /* of GPUs: the map from logical to physical; nothing of it makes a context */
    int32_t physical;    /* nvidia-smi's number; -1 where unknown, and on others */
    char uuid[48];       /* "GPU-d49a2b4e-...", "MIG-..." of a slice, or "" */
    char pci_bus_id[32]; /* "0000:17:00.0", or "" */
} tn_device_info;
/* Writes up to cap rows; returns how many devices there are. */
TN_API size_t tn_devices(tn_device_info *out, size_t cap);

/* Threads that CPU operations use: all cores at first. n is 1 to 256; another is TN_EINVAL, and changes nothing. */
TN_API tn_status tn_set_num_threads(int32_t n) TN_MUST_USE;
TN_API int32_t tn_get_num_threads(void);

/* Waits until everything queued on the device is done, and reports what went wrong in it. */
TN_API tn_status tn_synchronize(tn_device device);

/* What a thread that waits long for a device, or computes a long backward, calls every 100 ms: to look for signals, say. It
 * may use the library. Where it returns other than 0, the call that waits ends with TN_ECANCELED: what was queued goes on,
 * and the device stays as usable as it was. One for the whole process; NULL, as at first: nothing is called, and waits are
 * the driver's own. */
typedef int (*tn_wait_check)(void);
TN_API void tn_set_wait_check(tn_wait_check check);

/* The device of factories that were told none, on this thread: cpu at first. 'cuda' without an index is the current one
 * whenever a factory is called; asking for the default tells which. */
TN_API tn_status tn_set_default_device(tn_device device) TN_MUST_USE;
TN_API tn_device tn_get_default_device(void);

/* "0.1.0" */
TN_API const char *tn_version(void);

#ifdef __cplusplus
}
#endif
#endif
