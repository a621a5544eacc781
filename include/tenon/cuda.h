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

/* Makes a device usable again after an asynchronous failure, or clears a healthy one: every tensor, stream and event on it
 * is void from then on (using one is an error), its memory is free. Other devices and the CPU go on. No other thread may be
 * using the device. */
TN_API tn_status tn_cuda_reset(tn_device device) TN_MUST_USE;

/* ---- arithmetic ---- */

/* float32 products: "highest" (at first: float32 throughout), "high" or "medium" (factors may be rounded to TensorFloat32,
 * on GPUs that have it; sums stay float32). TN_EVALUE for another word. */
TN_API tn_status tn_set_float32_matmul_precision(const char *precision) TN_MUST_USE;
TN_API const char *tn_get_float32_matmul_precision(void);

/* On: every operation gives the same bits in every run, also where another way is faster. */
TN_API void tn_use_deterministic_algorithms(bool on);
TN_API bool tn_are_deterministic_algorithms_enabled(void);

/* ---- streams ---- */
typedef struct tn__stream tn_stream;

/* A new stream. A lower priority number goes first; PyTorch's 0 (normal) and -1 (high), clamped to what the device has.
 * NULL with an error set. */
TN_API tn_stream *tn_cuda_stream_new(tn_device device, int32_t priority);
TN_API tn_stream *tn_cuda_default_stream(tn_device device);
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
/* The driver's CUstream, for programs that call CUDA themselves; NULL for default streams. */
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
