/* tenon/cuda.h: what only GPUs have: streams, events, properties, reset.
 *
 * Work is queued on the calling thread's current stream of its device and runs in order there; the call returns at once.
 * Two streams run side by side: order them with tn_stream_wait_stream or an event, and say with tn_tensor_record_stream
 * that a tensor is used on another stream than the one it was made on. Streams and events are reference counted; the
 * functions that make or return one give the caller a reference. A device argument may be TN_CUDA(-1) or zero: the current
 * one.
 */
#ifndef TENON_CUDA_H
#define TENON_CUDA_H

#include <tenon/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- devices ---- */

/* The calling thread's current GPU: 0 at first. What "cuda" without an index means. */
TN_API int32_t tn_cuda_current_device(void);
/* Not recommended, as in PyTorch: naming devices is clearer. A negative index changes nothing. */
TN_API tn_status tn_cuda_set_device(int32_t index) TN_MUST_USE;

/* What a GPU is; none of it changes, none of it needs a context. Names are those of torch.cuda.get_device_properties(). */
typedef struct tn_cuda_properties {
    char name[128];
    int32_t major, minor; /* compute capability */
    int64_t total_memory; /* bytes */
    int32_t multi_processor_count, warp_size, max_threads_per_block, max_threads_per_multi_processor;
    int32_t regs_per_multiprocessor;
    int64_t shared_memory_per_block, shared_memory_per_block_optin, shared_memory_per_multiprocessor; /* bytes */
    int64_t L2_cache_size;                                                                            /* bytes */
    int32_t clock_rate, memory_clock_rate; /* kHz; 0: unknown */
    int32_t memory_bus_width;              /* bits */
    int32_t pci_domain_id, pci_bus_id, pci_device_id;
    bool is_integrated, is_multi_gpu_board;
    char uuid[40];     /* "d49a2b4e-..." */
    char pci_text[16]; /* "0000:17:00.0" */
} tn_cuda_properties;
TN_API tn_status tn_cuda_device_properties(tn_device device, tn_cuda_properties *out) TN_MUST_USE;

/* "NVIDIA H200". NULL with an error set if there is no such device; else valid for ever. */
TN_API const char *tn_cuda_device_name(tn_device device);
TN_API tn_status tn_cuda_device_capability(tn_device device, int32_t *major, int32_t *minor) TN_MUST_USE;

/* The number that nvidia-smi gives this GPU: CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER make it differ from cuda's. Found by
 * UUID, or by PCI address. -1 where NVML is not there; with an error set if there is no such device. */
TN_API int32_t tn_cuda_physical(tn_device device);

/* Which of the driver's devices it is, as other libraries and CUDA itself count them (after CUDA_VISIBLE_DEVICES): its own
 * index, unless TENON_VISIBLE_DEVICES says otherwise. -1 with an error set if there is no such device.
 *
 * TENON_VISIBLE_DEVICES lists what cuda:0, cuda:1, ... are, by these ordinals, each as often as is wanted: with 0,0 one GPU
 * is two devices. Each of them has streams, an allocator with its statistics, a generator and cuBLAS handles of its own;
 * their copies and waits are those of two GPUs. They share what a GPU has once: its memory (and what limits that), and its
 * context: they are lost together, reset together, and tn_synchronize of one waits for all. */
TN_API int32_t tn_cuda_ordinal(tn_device device);

/* Could kernels of the device read and write the other's memory over a link, as the driver says? *out: true of two devices that
 * are one GPU, false of a device and itself. Needs no context. Copies between GPUs work either way; tn_transfer_stats counts
 * those that went through the host. TN_EDEVICE for no such device. */
TN_API tn_status tn_cuda_can_access_peer(tn_device device, tn_device peer, bool *out) TN_MUST_USE;

/* A GPU of this machine as NVML sees it now, all processes counted. Numbers are -1 where it says nothing. */
typedef struct tn_cuda_status {
    int32_t physical; /* nvidia-smi's number */
    tn_device device; /* the (first) cuda device that it is; index -1: hidden from this process */
    char name[128];
    char uuid[48];                                  /* "GPU-d49a2b4e-..." */
    char pci_text[32];                              /* "00000000:17:00.0" */
    int64_t memory_total, memory_used, memory_free; /* bytes */
    int32_t gpu_utilization, memory_utilization;    /* per cent */
    int32_t temperature, fan;                       /* degrees Celsius; per cent */
    int32_t power, power_limit;                     /* milliwatts */
    int32_t performance_state;                      /* 0 (fastest) to 15 */
    int32_t persistence_mode, display_active;       /* 0 or 1 */
    int32_t compute_mode;                           /* 0: default, 2: prohibited, 3: one process */
    int64_t ecc_errors;                             /* uncorrected, since the driver was loaded */
} tn_cuda_status;
/* Every GPU of the machine, hidden ones too. Writes up to cap rows; returns how many there are: 0 where NVML is not there.
 * Makes no context. */
TN_API size_t tn_cuda_statuses(tn_cuda_status *out, size_t cap);

/* Who computes on a GPU, by its physical number. */
typedef struct tn_cuda_process {
    int64_t pid;
    int64_t used_memory; /* bytes; -1: unknown */
    char name[256];      /* "" where the system does not tell */
} tn_cuda_process;
TN_API size_t tn_cuda_processes(int32_t physical, tn_cuda_process *out, size_t cap);

/* The libraries of NVIDIA that Tenon opens, for reports such as `tenon doctor`: the driver, NVRTC, cuBLAS, NVML. Opens all. */
typedef struct tn_cuda_library {
    char name[16];
    bool found;
    bool fake;         /* TENON_FAKE_GPUS: the stand-in for all of them */
    int32_t version;   /* 13000 for 13.0; of the driver the CUDA version that it has; 0: unknown */
    char path[256];    /* where it was found, or "" */
    char missing[512]; /* what was looked for, and how to get it */
} tn_cuda_library;
TN_API size_t tn_cuda_libraries(tn_cuda_library *out, size_t cap);
/* The driver's own version: "580.95.05"; "" where NVML is not there. */
TN_API const char *tn_cuda_driver_version(void);
/* Where compiled kernels are kept, as snprintf writes it: 0: nowhere (no folder, or one that others may write). */
TN_API int64_t tn_kernel_cache_folder(char *out, size_t size);

/* Makes a device usable again after an asynchronous failure, or clears a healthy one: every tensor, stream and event on it
 * is void from then on (using one is an error), its memory is free. Other devices and the CPU go on; those that are the same
 * GPU (TENON_VISIBLE_DEVICES=0,0) are reset with it. No other thread may be using the device.
 * After some failures (an illegal address) a driver may refuse every context that the process makes anew. So of a device that
 * was lost a launch and a copy are tried: where they fail the result is TN_EDEVICE, "this process has to be started again",
 * the device stays lost, and another reset tries again. */
TN_API tn_status tn_cuda_reset(tn_device device) TN_MUST_USE;
/* How threads wait for GPUs, from the first use of any on, after which it is TN_EINVAL: "spin" (the shortest waits, a processor
 * each), "yield" (between two looks others may have it), "block" (asleep: a wait ends some ten microseconds later, and costs
 * nothing), "auto" (the driver chooses). TN_EVALUE for another word. Without it TENON_CUDA_WAIT says so, else the driver does.
 * A context that another library made before waits as that one chose. */
TN_API tn_status tn_cuda_set_wait(const char *how) TN_MUST_USE;
/* Has an asynchronous failure made it unusable, until it is reset? False where there is no such device. */
TN_API bool tn_cuda_is_lost(tn_device device);

/* ---- memory: tenon/memory.h has the rest ---- */

/* How the allocator holds a device's memory: each segment that it has from the driver, and the blocks in it, in the order of
 * their addresses: what torch.cuda.memory_snapshot() says. Of a segment that grows (expandable_segments) each part that memory
 * is behind is one. Sizes are bytes. */
typedef enum tn_memory_state {
    TN_MEMORY_INACTIVE,    /* free */
    TN_MEMORY_ALLOCATED,   /* in a tensor, or scratch of an operation */
    TN_MEMORY_PENDING_FREE /* released, but another stream may still use it */
} tn_memory_state;
typedef struct tn_memory_block {
    void *address;
    int64_t size, requested_size; /* requested: before rounding; 0 of free ones */
    tn_memory_state state;
    const char *site; /* "file:line" of the call that asked for it, or NULL */
} tn_memory_block;
typedef struct tn_memory_segment {
    tn_device device;
    void *address;
    void *stream; /* the driver's handle of the stream that it belongs to; NULL: the default stream */
    int64_t total_size, allocated_size, active_size, requested_size; /* active: allocated, or pending */
    bool is_large, is_expandable;
    int64_t n_blocks;
    const tn_memory_block *blocks;
} tn_memory_segment;
typedef struct tn_memory_snapshot {
    int64_t n_segments;
    const tn_memory_segment *segments;
} tn_memory_snapshot;
/* As it is now: n_segments is 0 of a device that was never used. The caller's, to be freed. NULL with an error set. */
TN_API tn_memory_snapshot *tn_cuda_memory_snapshot(tn_device device);
TN_API void tn_memory_snapshot_free(tn_memory_snapshot *snapshot);

/* ---- arithmetic ---- */

/* float32 products: "highest" (at first: float32 throughout), "high" or "medium" (factors may be rounded to TensorFloat32,
 * on GPUs that have it; sums stay float32). TN_EVALUE for another word. */
TN_API tn_status tn_set_float32_matmul_precision(const char *precision) TN_MUST_USE;
TN_API const char *tn_get_float32_matmul_precision(void);

/* On: every operation gives the same bits in every run, also where another way is faster. */
TN_API void tn_use_deterministic_algorithms(bool on);
TN_API bool tn_are_deterministic_algorithms_enabled(void);
/* Whether tn_empty and tn_empty_like then also fill what they make, so that reading it too early gives the same bits in every
 * run and is seen: with NaN, the largest integer, true. At first they do. */
TN_API void tn_set_fill_uninitialized_memory(bool on);
TN_API bool tn_fills_uninitialized_memory(void);

/* ---- streams ---- */
typedef struct tn__stream tn_stream;

/* A new stream. A lower priority number goes first; PyTorch's 0 (normal) and -1 (high), clamped to what the device has.
 * NULL with an error set. */
TN_API tn_stream *tn_cuda_stream_new(tn_device device, int32_t priority);
TN_API tn_stream *tn_cuda_default_stream(tn_device device);
/* A stream that another library made, by the driver's handle (a CUstream, a cudaStream_t of the device's primary context), as
 * one to queue on and to wait for. NULL is the default stream; 1 (CU_STREAM_LEGACY) the context's, which is the same but where
 * several devices are one GPU; 2 (CU_STREAM_PER_THREAD) that of whichever thread queues. Twice the same handle is the same
 * stream, and so is the handle of one of the library's own. It is not destroyed with the last reference: whoever made it keeps
 * it until the tensors that were made or used on it are gone, and nothing is queued there. */
TN_API tn_stream *tn_cuda_stream_from_handle(void *handle, tn_device device);
TN_API tn_stream *tn_cuda_current_stream(tn_device device);

/* Makes it the calling thread's current stream of its device, and its device the current one. */
TN_API tn_status tn_cuda_set_stream(tn_stream *stream) TN_MUST_USE;

/* What Python's 'with stream:' does: enter makes the stream current, leave brings back what was. leave is to be called once
 * for each enter, also for one that failed (it does nothing then). */
typedef struct tn_stream_guard {
    tn_stream *before; /* NULL: enter failed */
    int32_t device;
} tn_stream_guard;
TN_API tn_stream_guard tn_stream_enter(tn_stream *stream);
TN_API void tn_stream_leave(tn_stream_guard guard);

TN_API tn_stream *tn_stream_retain(tn_stream *stream);
TN_API void tn_stream_release(tn_stream *stream);

/* What is queued on stream from now on waits for what is on the other one now, or for the event. */
TN_API tn_status tn_stream_wait_stream(tn_stream *stream, tn_stream *other) TN_MUST_USE;

/* The host waits for the stream, and hears what went wrong in it. */
TN_API tn_status tn_stream_synchronize(tn_stream *stream) TN_MUST_USE;
/* Is everything on it done? An error counts as done and is set. */
TN_API bool tn_stream_query(tn_stream *stream);

TN_API tn_device tn_stream_device(const tn_stream *stream);
/* Unique in the process; 0 for default streams. */
TN_API uint32_t tn_stream_id(const tn_stream *stream);
TN_API int32_t tn_stream_priority(const tn_stream *stream);
/* The driver's CUstream, for programs that call CUDA themselves; NULL for default streams, but where several devices are one
 * GPU: a GPU has one such stream, that of the first of them. */
TN_API void *tn_stream_handle(const tn_stream *stream);

/* The tensor's memory is used by what is on the stream now: it is not given to anybody else before that is done. */
TN_API tn_status tn_tensor_record_stream(tn_tensor *tensor, tn_stream *stream) TN_MUST_USE;

/* ---- events ---- */
typedef struct tn_event tn_event;

enum { TN_EVENT_TIMING = 1, TN_EVENT_BLOCKING = 2 }; /* BLOCKING: who waits for it sleeps rather than spins */

/* It belongs to the device of the first stream it is recorded on. NULL when memory is out. */
TN_API tn_event *tn_event_new(uint32_t flags);
TN_API tn_event *tn_event_retain(tn_event *event);
TN_API void tn_event_release(tn_event *event);

/* The event stands for everything that is on the stream now (NULL: the current stream of the current device). */
TN_API tn_status tn_event_record(tn_event *event, tn_stream *stream) TN_MUST_USE;
TN_API tn_status tn_stream_wait_event(tn_stream *stream, tn_event *event) TN_MUST_USE;
/* A new event without timing, recorded on the stream. */
TN_API tn_event *tn_stream_record_event(tn_stream *stream);
/* Is it done? True for one never recorded. An error counts as done and is set. */
TN_API bool tn_event_query(tn_event *event);
TN_API tn_status tn_event_synchronize(tn_event *event) TN_MUST_USE;
/* Milliseconds between two recorded, completed events with timing. */
TN_API tn_status tn_event_elapsed_time(tn_event *start, tn_event *end, double *milliseconds) TN_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
