/* backend/cuda/cuda.h: what the files of the CUDA backend share.
 *
 * libcuda, NVRTC, cuBLAS and NVML are opened at run time (TENON_FAKE_GPUS: libtenon_fakegpu.so in place of all four). A
 * device's primary context is retained at its first use; listing devices makes none. Every path that talks to a device
 * begins with tn__cuda_use, which makes its context current on the calling thread. */
#ifndef TENON_BACKEND_CUDA_CUDA_H
#define TENON_BACKEND_CUDA_CUDA_H

#include "abi/abi.h"
#include "backend/gpu/gpu.h"
#include "backend/ledger.h"
#include <pthread.h>

extern const tn__backend tn__cuda_backend;
extern const tn__mover tn__cuda_mover;              /* mover.c */
extern const tn__queue tn__cuda_queue;              /* stream.c */
extern const struct tn__gpu_driver tn__cuda_driver; /* driver.c */

/* ---- library.c: the functions of the four libraries ---- */
#define FN(name, symbol, older, parameters)       tn__cu_result(*name) parameters;
#define OPTIONAL(name, symbol, older, parameters) tn__cu_result(*name) parameters;
typedef struct tn__cu_functions {
#include "abi/cuda.def"
} tn__cu_functions;
#define FN(name, symbol, older, parameters)       unsigned(*name) parameters;
#define OPTIONAL(name, symbol, older, parameters) unsigned(*name) parameters;
typedef struct tn__nvrtc_functions {
#include "abi/nvrtc.def"
} tn__nvrtc_functions;
#define FN(name, symbol, older, parameters) unsigned(*name) parameters;
typedef struct tn__cublas_functions {
#include "abi/cublas.def"
} tn__cublas_functions;
#define FN(name, symbol, older, parameters)       unsigned(*name) parameters;
#define OPTIONAL(name, symbol, older, parameters) unsigned(*name) parameters;
typedef struct tn__nvml_functions {
#include "abi/nvml.def"
} tn__nvml_functions;

/* The driver's functions. Valid once tn__cuda_count() > 0. */
extern tn__cu_functions tn__cu;
/* Each opens its library at first use; NULL with an error that says what was not found and how to get it. */
const tn__nvrtc_functions *tn__nvrtc(void);
const tn__cublas_functions *tn__cublas(void);
const tn__nvml_functions *tn__nvml(void); /* NULL without an error */
/* TENON_FAKE_GPUS is set: one library stands in for the four. */
bool tn__cuda_is_fake(void);
typedef enum tn__cuda_library_id { TN__LIB_CUDA, TN__LIB_NVRTC, TN__LIB_CUBLAS, TN__LIB_NVML } tn__cuda_library_id;
/* Opens it. NULL if it is there, else what was looked for and how to get it. */
const char *tn__cuda_library(tn__cuda_library_id which);
/* Where it was found; NULL if it is not there. */
const char *tn__cuda_library_path(tn__cuda_library_id which);

/* ---- device.c ---- */
enum { TN__CUDA_MAX = 64, TN__RING = 16 };

/* The last launches of a stream, by name. */
typedef struct tn__cuda_ring {
    _Atomic(const char *) label[TN__RING];
    _Atomic uint64_t queued, done; /* launches so far; those known to be complete */
    uint64_t mark;                 /* of a synchronisation of the device, under its lock */
} tn__cuda_ring;

/* A stream that the library made. */
typedef struct tn__cuda_stream {
    tn__stream base;
    uint32_t generation; /* of the device, when it was made: its handle is void when that has changed */
    int32_t priority;
    tn__cuda_ring ring;
    struct tn__cuda_stream *next, *prev; /* of one device, under its lock */
} tn__cuda_stream;

typedef struct tn__cuda_device {
    int32_t index, ordinal;          /* cuda's, the driver's: not the same where TENON_VISIBLE_DEVICES says so */
    int32_t first;                   /* the lowest index of those that are the same GPU */
    struct tn__cuda_device *sibling; /* the next of those, in a ring; itself where there is no other */
    char name[128], pci[16];         /* "NVIDIA H200", "0000:17:00.0" */
    tn__cu_device handle;
    tn__cu_context context; /* NULL until first use; siblings have the same, and each has retained it */
    _Atomic bool ready;     /* context, limits and default stream are there; false when dead or in a forked child */
    _Atomic bool dead;      /* an asynchronous failure: everything fails until tn_cuda_reset */
    _Atomic uint32_t generation; /* counts resets: memory and streams of an earlier one are gone with their context */
    pthread_mutex_t lock;        /* of first use, death, streams and spare events */
    tn__gpu_limits limits;
    /* The default stream, never destroyed. Its handle is NULL; but a context has one such stream alone, so that of every
     * sibling but the first is made with the context. */
    tn__stream stream;
    tn__cuda_ring ring;       /* of the default stream */
    tn__cuda_stream *streams; /* the others */
    tn__cu_event *spare;      /* events without timing that nobody uses */
    int64_t n_spare, cap_spare;
    uint64_t (*fault)[4];      /* where kernels report bad indices: pinned memory that is mapped */
    void *fault_address;       /* the device's address of it */
    void *allocator, *library; /* of allocator.c and of product.c */
    char death[2048];          /* what killed it */
} tn__cuda_device;

/* Devices there are; 0, never an error, where there is no driver. */
int32_t tn__cuda_count(void);
/* This is a child of fork() of a process that had opened the driver: nothing of it may be called, no lock taken. */
bool tn__cuda_forked(void);
/* What it says to whoever asks there, as an error. */
tn_status tn__cuda_refuse_child(void);
/* Why there is none, as an error. */
tn_status tn__cuda_why_none(void);
/* The slot of device i < tn__cuda_count(), used or not: for what needs no context. */
tn__cuda_device *tn__cuda_slot(int32_t i);

/* The device, usable, its context current on this thread. NULL with an error set: no driver, no such device, in a forked
 * child, dead. The fast path is one load and two compares: which context is current is the driver's to say, since other
 * code on this thread may have changed it. */
tn__cuda_device *tn__cuda_use(tn_device d);
/* The same, but never makes a context: NULL, without an error, if the device was not used yet. */
tn__cuda_device *tn__cuda_peek(tn_device d);

/* ---- logical.c: which of the driver's devices they are ---- */
/* Of the driver's n devices those that TENON_VISIBLE_DEVICES lists, or all. -1: it is no such list. */
int32_t tn__cuda_logical(int32_t n, int32_t ordinal[TN__CUDA_MAX]);
/* What is wrong with it, as an error. */
tn_status tn__cuda_bad_list(int32_t n);
/* The slot, whose index and ordinal are set, joins those before it that are the same GPU. */
void tn__cuda_join(tn__cuda_device *dev);
/* "cuda:0, cuda:2"; "" where no other device is the same GPU. */
void tn__cuda_siblings_str(const tn__cuda_device *dev, char *text, size_t size);
/* Over all that are one GPU: for (s = tn__cuda_slot(dev->first); s; s = tn__cuda_sibling(s)). */
static inline tn__cuda_device *tn__cuda_sibling(const tn__cuda_device *s)
{
    return s->sibling->index == s->first ? NULL : s->sibling;
}
static inline bool tn__cuda_is_shared(const tn__cuda_device *dev)
{
    return dev->sibling != dev;
}

/* ---- device.c again ---- */
/* What public functions are given: cuda, cuda:i or nothing said. TN_EVALUE for another type, TN_EDEVICE for no such device. */
tn_status tn__cuda_resolve(tn_device asked, tn_device *out);
/* CUDA_LAUNCH_BLOCKING is set: each launch is waited for, so a failure names its own. */
bool tn__cuda_launches_block(void);

/* ---- error.c ---- */
/* "an illegal memory access was encountered" */
const char *tn__cuda_result_text(tn__cu_result r);
/* A result as an error, whatever it means for the device. dev may be NULL. report: of tn__cuda_report. */
tn_status tn__cuda_plain_failure(const tn__cuda_device *dev, tn__cu_result r, const char *what, const char *report);
/* Why it is dead, as an error. Under its lock. */
tn_status tn__cuda_dead(const tn__cuda_device *dev);

/* Turns a result into an error: PyTorch's text first, then Tenon's; sticky ones kill the device. TN_OK for success.
 * what: the driver call or the operation. */
tn_status tn__cuda_failed(tn__cuda_device *dev, tn__cu_result result, const char *what);
static inline tn_status tn__cuda_check(tn__cuda_device *dev, tn__cu_result result, const char *what)
{
    return TN_LIKELY(result == TN__CU_SUCCESS) ? TN_OK : tn__cuda_failed(dev, result, what);
}

/* What a fake GPU says about the failed call; "" on real ones. */
void tn__cuda_report(char *text, size_t size);

/* After the host has waited: index faults that kernels reported, as an error (TN_EINDEX), once. */
tn_status tn__cuda_take_fault(tn__cuda_device *dev);

/* ---- properties.c, nvml.c: what needs no context ---- */
typedef struct tn__cuda_uuid_text {
    char s[48];
} tn__cuda_uuid_text;
/* "GPU-d49a2b4e-..."; "" if the driver does not know it. */
tn__cuda_uuid_text tn__cuda_uuid_str(const tn__cuda_device *dev);
/* nvidia-smi's number; -1 where NVML is not there or does not know the device. */
int32_t tn__cuda_physical_of(const tn__cuda_device *dev);
/* Is it a slice of a GPU (MIG)? NVML then tells of the whole one. False where NVML is not there. */
bool tn__cuda_is_slice(const tn__cuda_device *dev);
/* Bytes that no process holds; 0 where NVML is not there, and for slices. */
int64_t tn__cuda_free_memory(const tn__cuda_device *dev);
void tn__cuda_info(int32_t index, tn_device_info *out);

/* ---- stream.c ---- */
/* The calling thread's current stream of a device that is in use. */
tn__stream *tn__cuda_current(tn__cuda_device *dev);
/* Its device, usable, current; NULL with an error set, also when a reset has made the stream void. */
tn__cuda_device *tn__cuda_use_stream(const tn__stream *s);
tn_status tn__cuda_synchronize(tn_device device);
/* The host waits for the stream; counts in the ledger, takes faults. */
tn_status tn__cuda_stream_synchronize(tn__cuda_device *dev, tn__stream *s);
/* Events without timing, from a pool of the device. NULL with an error set. */
tn__cu_event tn__cuda_event_get(tn__cuda_device *dev);
void tn__cuda_event_put(tn__cuda_device *dev, tn__cu_event e);
/* The result of making a stream of dev, whose context is current, wait for an event of another device, as an error: where dev
 * itself is well, it is for what happened there, and kills that one. */
tn_status tn__cuda_waits(tn__cuda_device *dev, tn__cuda_device *of, tn__cu_result r);
/* The names of what was launched last on a stream, for messages about asynchronous failures. */
void tn__cuda_note_launch(tn__cuda_device *dev, tn__stream *s, const char *label);
/* Everything that was queued on the stream when 'queued' was read is done now. */
uint64_t tn__cuda_queued(tn__cuda_device *dev, tn__stream *s);
void tn__cuda_note_done(tn__cuda_device *dev, tn__stream *s, uint64_t queued);
/* "add, mm, softmax on stream 3" for every stream of the GPU with launches not known to be complete; "" if there is none.
 * No device's lock is held. */
void tn__cuda_unfinished(tn__cuda_device *dev, char *text, size_t size);
/* Reset, under the device's lock: streams and events of the old context are void. */
void tn__cuda_streams_forget(tn__cuda_device *dev);

/* ---- wait.c: the host waits; a check of the program's may end it (tn_set_wait_check) ---- */
#define TN__CUDA_INTERRUPTED UINT32_MAX /* as a result: no driver's */
/* Until the event has passed. */
tn__cu_result tn__cuda_wait_event(tn__cuda_device *dev, tn__cu_event e);
/* Until what is queued on the stream now is done. */
tn__cu_result tn__cuda_wait_stream(tn__cuda_device *dev, tn__stream *s);
/* The same of everything in the device's context. */
tn__cu_result tn__cuda_wait_context(tn__cuda_device *dev);

/* ---- compile.c: NVRTC; product.c: cuBLAS ---- */
tn_status tn__cuda_target(tn_device device, char *text, size_t size);
tn_status tn__cuda_compile(tn_device device, const char *text, const char *name, void **binary, size_t *size);
tn_status tn__cuda_product(tn_device device, const tn__gpu_product *p, const char *label);
void tn__cuda_product_forget(tn__cuda_device *dev);

/* ---- driver.c ---- */
/* After every kernel or library call that was queued: counts it, notes its name; waits for it if launches block. */
tn_status tn__cuda_launched(tn__cuda_device *dev, tn__stream *s, tn__cu_result result, const char *label);

/* ---- allocator.c: the caching allocator; pinned.c: pinned host memory ---- */
tn__storage *tn__cuda_allocate(tn_device device, size_t bytes);
tn__storage *tn__cuda_pinned(size_t bytes);
void tn__cuda_storage_used(tn__storage *s, tn__stream *stream);
void tn__cuda_storage_joined(tn__storage *s, tn__stream *stream);
/* Did a reset take its memory away? */
bool tn__cuda_storage_gone(const tn__storage *s);
void *tn__cuda_scratch_get(tn_device device, size_t bytes);
void tn__cuda_scratch_put(tn_device device, void *p, size_t bytes);
tn_memory_statistics tn__cuda_memory_stats(tn_device device);
void tn__cuda_reset_peak(tn_device device);
void tn__cuda_empty_cache(tn_device device);
/* The caches of the devices that are the same GPU, without its own. No arena's lock is held. */
void tn__cuda_empty_siblings(const tn__cuda_device *dev);
/* The context went away: everything the allocator holds of that device is void. */
void tn__cuda_allocator_forget(tn__cuda_device *dev);
/* A pinned block of at least 'bytes' for the library's own staging, given back once what is on the stream now is done. */
void *tn__cuda_staging_get(size_t bytes);
void tn__cuda_staging_put(void *p, size_t bytes, tn__stream *in_use_on);

/* ---- waits.def: every wait and event that correctness rests on, by name, so that tests can remove one ----
 * TN__WAIT(name, call) is the call, but in builds with TENON_TEST_WAITS where the test drops it (tn__drop_wait). */
#ifdef TENON_TEST_WAITS
#define TN__WAIT(name, call) (tn__wait_dropped(#name) ? TN__CU_SUCCESS : (call))
#else
#define TN__WAIT(name, call) (call)
#endif

#endif
