/* backend/gpu/driver.h: what a GPU must be able to do, as one const struct: all that another driver writes (OpenCL: a folder
 * beside backend/cuda). Everything else about GPUs stands in backend/gpu, once: which devices are usable, the caching
 * allocator, pinned memory, streams and events, copies in pieces, statistics, messages, compiled kernels.
 *
 * There are two kinds of functions. Raw ones say what the device says and do nothing else: no error is set, no lock taken,
 * nothing is called back. Their device's context is current when they are called (context_set), and some are called under
 * locks. Services return a tn_status with the error set and make the device usable themselves (tn__gpu_use).
 *
 * Contexts, streams, events, modules and functions are the driver's own handles, as void *. Memory is addresses, the same
 * for kernels and for copies; the host adds to them and never reads there. */
#ifndef TENON_BACKEND_GPU_DRIVER_H
#define TENON_BACKEND_GPU_DRIVER_H

#include "core/base.h"

struct tn__gpu_device;
struct tn__gpu_launch;
struct tn__gpu_limits;
struct tn__gpu_gemm_call;

/* 0: done. Below 0: what all drivers say alike. Above 0: a driver's own number. */
typedef int32_t tn__gpu_result;
enum {
    TN__GPU_OK = 0,
    TN__GPU_NOT_READY = -1, /* of a query: work is still under way */
    TN__GPU_OUT_OF_MEMORY = -2,
    TN__GPU_INVALID_VALUE = -3,
    TN__GPU_INTERRUPTED = -4 /* no driver's: the program's own check ended a wait, and has set the error */
};

enum { TN__GPU_MAX_ARGS = 64 }; /* of a kernel */

/* How the host waits for a device: not said (as the driver does), left to the driver, at full speed, giving the processor away
 * between two looks, asleep. */
typedef enum tn__gpu_way {
    TN__GPU_WAY_UNSAID,
    TN__GPU_WAY_AUTO,
    TN__GPU_WAY_SPIN,
    TN__GPU_WAY_YIELD,
    TN__GPU_WAY_BLOCK
} tn__gpu_way;

/* A process that uses a GPU. */
typedef struct tn__gpu_process {
    int64_t pid, used_memory; /* bytes; -1: not told */
} tn__gpu_process;

typedef struct tn__gpu_driver {
    /* ---- its words ---- */
    const char *name;              /* "cuda": the type of its devices */
    const char *label;             /* "CUDA": what messages begin with */
    const char *allocates;         /* "cudaMalloc": in the summary of memory */
    const char *visible_variable;  /* "TENON_VISIBLE_DEVICES": which of the driver's devices there are */
    const char *limit_variable;    /* "TENON_CUDA_MEMORY_LIMIT": bytes of each GPU */
    const char *blocking_variable; /* "CUDA_LAUNCH_BLOCKING": a flag; each launch is waited for */

    /* ---- devices; no context is made ---- */
    /* Opens the driver, once in a process: how many devices it shows. 0, never an error, where there is none. */
    int32_t (*find)(void);
    /* Service. Why there is none, as an error. */
    tn_status (*why_none)(void);
    /* Fills dev->handle, name and pci for the driver's ordinal. False if it cannot be had. */
    bool (*describe)(int32_t ordinal, struct tn__gpu_device *dev);
    tn__gpu_result (*limits)(const struct tn__gpu_device *dev, struct tn__gpu_limits *out);
    tn__gpu_result (*total_memory)(const struct tn__gpu_device *dev, size_t *bytes);
    /* Optional. Who uses the device: up to cap rows, returns how many were written. */
    int32_t (*processes)(const struct tn__gpu_device *dev, tn__gpu_process *out, int32_t cap);

    /* ---- contexts: one for each GPU, whose devices share it; one is current on each thread ---- */
    /* Optional. How waits in the device's context are to be made, before there is one; one that others made stays as it is. */
    void (*context_way)(const struct tn__gpu_device *dev, tn__gpu_way way);
    tn__gpu_result (*context_retain)(const struct tn__gpu_device *dev, void **context);
    void (*context_release)(const struct tn__gpu_device *dev);
    /* Takes everything of the GPU away and makes it well again. */
    tn__gpu_result (*context_reset)(const struct tn__gpu_device *dev);
    /* Of the calling thread: another library may have changed it, so this is asked before each use, and must be fast. */
    tn__gpu_result (*context_get)(void **context);
    tn__gpu_result (*context_set)(void *context);
    /* The host waits for all that is queued in the current context. */
    tn__gpu_result (*context_synchronize)(void);

    /* ---- streams: NULL is the context's own ---- */
    /* A lower priority goes first; *priority becomes what the device has nearest to it. */
    tn__gpu_result (*stream_new)(int32_t *priority, void **stream);
    void (*stream_destroy)(void *stream);
    tn__gpu_result (*stream_query)(void *stream);
    tn__gpu_result (*stream_synchronize)(void *stream);
    tn__gpu_result (*stream_wait_event)(void *stream, void *event);

    /* ---- events ---- */
    tn__gpu_result (*event_new)(uint32_t flags, void **event); /* TN_EVENT_TIMING, TN_EVENT_BLOCKING */
    void (*event_destroy)(void *event);
    tn__gpu_result (*event_record)(void *event, void *stream);
    tn__gpu_result (*event_query)(void *event);
    tn__gpu_result (*event_synchronize)(void *event);
    tn__gpu_result (*event_elapsed_time)(void *start, void *end, float *milliseconds);

    /* ---- memory ---- */
    tn__gpu_result (*memory_get)(size_t bytes, void **memory);
    void (*memory_put)(void *memory);
    /* Optional, all four: addresses of their own, and memory behind parts of them. page: what addresses and sizes of parts
     * are multiples of. What is mapped at once is unmapped at once, when nothing that uses it is under way; kernels and
     * copies of every device with a link reach it. Neither addresses nor memory go with a context. */
    tn__gpu_result (*reserve)(const struct tn__gpu_device *dev, size_t bytes, void **addresses, size_t *page);
    void (*unreserve)(void *addresses, size_t bytes);
    tn__gpu_result (*map)(const struct tn__gpu_device *dev, void *at, size_t bytes);
    void (*unmap)(void *at, size_t bytes);
    tn__gpu_result (*memory_info)(size_t *free_bytes, size_t *total_bytes);
    /* Page-locked host memory of the driver's own; address, if not NULL, becomes what kernels call it by. */
    tn__gpu_result (*host_get)(size_t bytes, void **memory, void **address);
    void (*host_put)(void *memory);
    /* Locks the process's own pages, for all devices of the driver. An error where it locks none but its own. */
    tn__gpu_result (*host_lock)(void *memory, size_t bytes);
    void (*host_unlock)(void *memory);

    /* ---- queued on a stream: copies between host and device, in a device, between two; one byte again and again ---- */
    tn__gpu_result (*copy_in)(void *to, const void *from_host, size_t bytes, void *stream);
    tn__gpu_result (*copy_out)(void *to_host, const void *from, size_t bytes, void *stream);
    tn__gpu_result (*copy_within)(void *to, const void *from, size_t bytes, void *stream);
    tn__gpu_result (*copy_peer)(const struct tn__gpu_device *to_device, void *to,
                                const struct tn__gpu_device *from_device, const void *from, size_t bytes, void *stream);
    tn__gpu_result (*fill)(void *to, uint8_t value, size_t bytes, void *stream);
    /* Could 'from' reach the other's memory? Needs no context of either. */
    bool (*peer_reaches)(const struct tn__gpu_device *from, const struct tn__gpu_device *to);
    /* Lets 'from', whose context is current, reach the other's memory. False: they have no link. */
    bool (*peer_enable)(const struct tn__gpu_device *from, const struct tn__gpu_device *to);

    /* ---- kernels ---- */
    /* Service. What compiled kernels depend on beside their text: "cuda 13.0 sm_90". At most 'size' bytes. */
    tn_status (*target)(tn_device device, char *text, size_t size);
    /* Service. Text to binary (from tn__block_get). TN_EDEVICE with the compiler's log on failure. */
    tn_status (*compile)(tn_device device, const char *text, const char *name, void **binary, size_t *size);
    /* Services. */
    tn_status (*load)(tn_device device, const void *binary, size_t size, void **module);
    tn_status (*function)(tn_device device, void *module, const char *name, void **function);
    /* Raw: queues it. Group sizes of 0 mean 1. */
    tn__gpu_result (*launch)(const struct tn__gpu_launch *l, void *function, void *stream);
    /* Optional service: a library's gemm. TN_EMISSING, with no error set, if it is not there or not for this one. */
    tn_status (*gemm)(tn_device device, const struct tn__gpu_gemm_call *p, const char *label);
    /* Optional: the context, which is current, is about to go: what libraries keep in it goes first. */
    void (*forget)(struct tn__gpu_device *dev);

    /* ---- failures ---- */
    /* "an illegal memory access was encountered" */
    const char *(*text)(tn__gpu_result result);
    /* After it the context is lost: every later call in it gives the same. */
    bool (*is_fatal)(tn__gpu_result result);

    /* ---- optional: simulated devices, which know more ---- */
    /* Are they? Asked once they are found. */
    bool (*simulated)(void);
    /* Why the last call failed; "" where there is nothing to add. */
    void (*report)(char *text, size_t size);
    /* Sub-allocation: a block was cut out of memory for a tensor, or taken back. */
    tn__gpu_result (*block_taken)(const void *block, size_t bytes);
    void (*block_freed)(const void *block, size_t bytes);
    /* The host is about to read (write 0) or write (1) pinned memory. */
    tn__gpu_result (*host_access)(const void *memory, size_t bytes, int write);
} tn__gpu_driver;

#endif
