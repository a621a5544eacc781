/* fakegpu/fake.h: the inside of libtenon_fakegpu.so, which answers as libcuda, NVRTC, cuBLAS and NVML. It depends on
 * abi/ alone: it shares no line with the library that it tests.
 *
 * Parts: driver (devices, contexts, memory, copies, streams, events, modules: driver.h), order (who may touch which memory
 * when: race_check.c), compiler (NVRTC: text to a shared object with the machine's C compiler), kernel (loads that, runs groups
 * of work items as fibers), cublas, nvml, faults (TENON_FAKE_GPU_FAULTS).
 *
 * Device memory has two addresses: the device's, which the host cannot read (PROT_NONE), and the host's, where the bytes
 * are. Whatever the library passes is a device address; only run functions of queued work see host addresses. */
#ifndef TENON_FAKEGPU_FAKE_H
#define TENON_FAKEGPU_FAKE_H

#include "abi/abi.h"
#include <stdbool.h>

#define FAKE_API __attribute__((visibility("default")))

/* ---- driver: what compiler, kernel and cuBLAS use of it ---- */

/* One stretch of memory that queued work touches. bytes 0: the whole block that holds the pointer. */
typedef struct fake_access {
    const void *pointer; /* a device address, or pinned host memory */
    size_t bytes;
    bool write;
} fake_access;

/* Queues work on a stream (NULL: the default stream of the current context) after checking that its memory is there, is
 * the context's (or a peer's with access), and that no conflicting access is unordered with it. 'what' names it in
 * reports (copied). run(arg) is called on the stream's thread, or drop(arg) if the work is thrown away, be it later or by
 * this very call when it fails; each frees arg (drop NULL: nothing to free). */
tn__cu_result fake_enqueue(tn__cu_stream stream, const char *what, const fake_access *access, int n,
                           void (*run)(void *arg), void (*drop)(void *arg), void *arg);

/* Handles of libraries, which end with the context that is current when they are added. Checks give: SUCCESS, or INVALID_HANDLE
 * for one that was removed or never added, CONTEXT_IS_DESTROYED, with a report, for one whose context is no more. */
tn__cu_result fake_library_handle_add(const void *handle);
tn__cu_result fake_library_handle_check(const void *handle);
bool fake_library_handle_remove(const void *handle); /* false: it was none */

/* Why the call in progress fails, as text for the calling thread's tenonFakeReport. */
void fake_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Where the bytes of a device address are; the pointer itself if it is no device address (pinned memory, NULL). */
void *fake_host_address(const void *device_pointer);

/* Makes the device of the running work fail from now on: run functions call it ("divergent barrier in kernel ..."). */
void fake_device_fail(tn__cu_result error, const char *report);

/* ---- compiler and kernel: what the driver uses of them ---- */

typedef struct fake_module fake_module;

typedef struct fake_kernel_arg {
    uint32_t size;
    bool pointer, constant; /* constant: const pointer, read only */
    bool nested;            /* a pointer to pointers, which nobody can translate */
    uint8_t align;          /* of CUDA C alone */
} fake_kernel_arg;

enum { FAKE_MAX_ARGS = 64 };

typedef struct fake_kernel {
    char name[128];
    int n_args;
    fake_kernel_arg arg[FAKE_MAX_ARGS];
    bool barrier;         /* declared KERNEL_B: work items of a group run as fibers */
    int max_items;        /* of a group: what the kernel says (KERNEL_N), or the device's most */
    uint32_t local_bytes; /* of local memory (LOCAL_MEM), for one group */
    const struct tn_kernel_info *info;
    fake_module *module;
} fake_kernel;

/* What a device of this kind can hold. */
enum { FAKE_MAX_ITEMS = 1024, FAKE_MAX_LOCAL_BYTES = 48 << 10 };

/* Loads what the fake NVRTC made, for a device of that compute capability (90). TN__CU_INVALID_IMAGE if it is something
 * else, TN__CU_NO_BINARY_FOR_GPU if it is not for such a device, or another build of this library made it (it is to be compiled
 * anew). */
tn__cu_result fake_module_load(const void *image, int capability, fake_module **module);
void fake_module_unload(fake_module *module);
void *fake_module_library(const fake_module *module); /* for dlsym */
/* The address and size of a variable; NULL: there is none of that name. */
void *fake_module_variable(fake_module *module, const char *name, size_t *bytes);
/* NULL if there is none of that name. Valid until the module is unloaded. */
const fake_kernel *fake_module_kernel(fake_module *module, const char *name);

/* To be asked at launch: TN__CU_INVALID_VALUE for impossible sizes, TN__CU_LAUNCH_OUT_OF_RESOURCES for a kernel that needs
 * more than there is. 'why' gets the reason ("" if none). */
tn__cu_result fake_kernel_check(const fake_kernel *kernel, const unsigned groups[3], const unsigned local[3], char *why,
                                size_t size);

/* ---- CUDA C: cuda_run.c, image.c ---- */

/* Was it written in CUDA C, by a program beside Tenon? */
bool fake_kernel_is_cuda(const fake_kernel *kernel);
/* As fake_kernel_run, with as many bytes of dynamic shared memory. */
void fake_cuda_run(const fake_kernel *kernel, const unsigned groups[3], const unsigned local[3], unsigned shared_bytes,
                   void **args);
/* fake_module_load for whatever a program gives: also what nvrtcGetPTX gave. *what: somebody else's image is that, or NULL. */
tn__cu_result fake_image_load(const void *image, int capability, fake_module **module, const char **what);

/* What an argument may reach: the tensor that it points into, to the byte. Host addresses; NULL: it is no pointer, or nothing
 * is known. */
typedef struct fake_extent {
    const char *from, *to;
} fake_extent;

/* Whether it is the host address of memory of a device: nobody's own variable. */
bool fake_is_device_memory(const void *host_address);

/* Whether races are looked for: then a launch is to say what its arguments may reach. */
bool fake_kernel_watches(void);

/* Runs all groups; returns when they are done. args[i] points to the i-th argument's value, pointers already host addresses;
 * extent[i] says what it may reach, where launches are watched (NULL: not known). */
void fake_kernel_run(const fake_kernel *kernel, const unsigned groups[3], const unsigned local[3], void **args,
                     const fake_extent *extent);

#endif
