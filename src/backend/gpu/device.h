/* backend/gpu/device.h: the devices of all drivers, their streams and events, and what went wrong with them.
 *
 * A device's context is retained at its first use; listing devices makes none. Every path that talks to a device begins with
 * tn__gpu_use, which makes its context current on the calling thread. Several devices may be one GPU (visible_devices.c):
 * they share its context and its memory, and are lost and reset together. */
#ifndef TENON_BACKEND_GPU_DEVICE_H
#define TENON_BACKEND_GPU_DEVICE_H

#include "backend/gpu/gpu.h"
#include "backend/ledger.h"
#include <pthread.h>

enum { TN__GPU_EACH = 64, TN__GPU_DRIVERS = 2, TN__GPU_MAX = TN__GPU_EACH * TN__GPU_DRIVERS, TN__GPU_RING = 16 };

/* The last launches of a stream, by name. */
typedef struct tn__gpu_ring {
    _Atomic(const char *) label[TN__GPU_RING];
    _Atomic uint64_t queued, done; /* launches so far; those known to be complete */
    uint64_t at_sync;              /* what was queued when the device was last waited for; under its lock */
} tn__gpu_ring;

/* A stream that the library made; or one of others, whose handle is used while work is queued and memory is shared, and neither
 * asked nor destroyed on the library's own account: its owner may have. */
typedef struct tn__gpu_stream {
    tn__stream base;
    bool foreign;
    uint32_t generation; /* of the device, when it was made: its handle is void when that has changed */
    int32_t priority;
    tn__gpu_ring ring;
    struct tn__gpu_stream *next, *prev; /* of one device, under its lock */
} tn__gpu_stream;

typedef struct tn__gpu_device {
    const tn__gpu_driver *driver;
    tn_device device;
    int64_t memory_limit;           /* by limit_variable; INT64_MAX: none; negative: not understood; 0: not read yet */
    int32_t ordinal;                /* the driver's number: not the index where visible_variable says so */
    struct tn__gpu_device *first;   /* the lowest of those that are the same GPU */
    struct tn__gpu_device *sibling; /* the next of those, in a ring; itself where there is no other */
    char name[128], pci[16];        /* "NVIDIA H200", "0000:17:00.0" */
    intptr_t handle;                /* the driver's own */
    void *context;                  /* NULL until first use; siblings have the same, and each has retained it */
    _Atomic bool ready; /* context, limits and default stream are there; false when dead or in a forked child */
    _Atomic bool dead;  /* an asynchronous failure: everything fails until tn_cuda_reset */
    bool ruined;        /* a new context failed as well: only a new process helps; under its lock */
    bool blocking;      /* each launch is waited for, so a failure names its own; set with the context */
    _Atomic uint32_t generation; /* counts resets: memory and streams of an earlier one are gone with their context */
    pthread_mutex_t lock;        /* of first use, death, streams and spare events */
    tn__gpu_limits limits;
    /* The default stream, never destroyed. Its handle is NULL; but a context has one such stream alone, so that of every
     * sibling but the first is made with the context. */
    tn__stream stream;
    tn__gpu_ring ring;       /* of the default stream */
    tn__gpu_stream *streams; /* the others */
    void **spare;            /* events without timing that nobody uses */
    int64_t n_spare, cap_spare;
    uint64_t (*fault)[4]; /* where kernels report bad indices: pinned memory that is mapped */
    void *fault_address;  /* the device's address of it */
    void *library;        /* what the driver's libraries keep for it */
    tn__ledger *ledger;
    char death[2048]; /* what killed it */
} tn__gpu_device;

/* ---- device.c ---- */

/* Devices there are of a type; 0, never an error, where there is no driver. */
int32_t tn__gpu_count(int32_t type);
/* Why there is none, as an error. */
tn_status tn__gpu_why_none(int32_t type);
/* Which of all drivers' devices it is, below TN__GPU_MAX: what tables of them are indexed by. */
static inline int32_t tn__gpu_number(tn_device d)
{
    return (d.type == TN_DEVICE_OPENCL) * TN__GPU_EACH + d.index;
}
/* The slot of a device, used or not: for what needs no context. The index is below TN__GPU_EACH. */
tn__gpu_device *tn__gpu_slot(tn_device d);
tn__gpu_device *tn__gpu_numbered(int32_t number);

/* This is a child of fork() of a process that had opened a driver: nothing of it may be called, no lock taken. */
bool tn__gpu_forked(void);
/* What it says to whoever asks there, as an error. */
tn_status tn__gpu_refuse_child(int32_t type);

/* The device, usable, its context current on this thread. NULL with an error set: no driver, no such device, in a forked
 * child, dead. The fast path is one load and two compares: which context is current is the driver's to say, since other
 * code on this thread may have changed it. */
tn__gpu_device *tn__gpu_use(tn_device d);
/* The same, but never makes a context: NULL, without an error, if the device was not used yet. */
tn__gpu_device *tn__gpu_peek(tn_device d);

/* Has an asynchronous failure made it unusable, until it is reset? Asks nothing of the driver, sets no error. */
bool tn__gpu_is_lost(tn_device d);

/* The current device of the first driver that has any; where none has, of the first driver. */
tn_device tn__gpu_default(void);
/* What public functions are given: a GPU's type alone, its i-th, or nothing said. TN_EVALUE for another type, TN_EDEVICE
 * for no such device. */
tn_status tn__gpu_resolve(tn_device asked, tn_device *out);

/* A device's context made current for a moment on a thread that may have another one, or none. */
typedef struct tn__gpu_visit {
    const tn__gpu_driver *driver;
    void *before;
    bool changed;
} tn__gpu_visit;
tn__gpu_visit tn__gpu_enter(const tn__gpu_device *dev);
void tn__gpu_leave(tn__gpu_visit v);
/* Whatever is done meanwhile, tn__gpu_leave brings back the context that is current now. */
tn__gpu_visit tn__gpu_stay(const tn__gpu_driver *driver);

/* ---- visible_devices.c: which of the driver's devices they are ---- */
/* Of the driver's n devices those that its variable lists, or all. -1: it is no such list. */
int32_t tn__gpu_visible(const tn__gpu_driver *driver, int32_t n, int32_t ordinal[TN__GPU_EACH]);
/* What is wrong with it, as an error. */
tn_status tn__gpu_bad_list(const tn__gpu_driver *driver, int32_t n);
/* The slot, whose device and ordinal are set, joins those before it that are the same GPU. */
void tn__gpu_join(tn__gpu_device *dev);
/* "cuda:0, cuda:2"; "" where no other device is the same GPU. */
void tn__gpu_siblings_str(const tn__gpu_device *dev, char *text, size_t size);
/* Over all that are one GPU: for (s = dev->first; s; s = tn__gpu_sibling(s)). */
static inline tn__gpu_device *tn__gpu_sibling(const tn__gpu_device *s)
{
    return s->sibling == s->first ? NULL : s->sibling;
}
static inline bool tn__gpu_is_shared(const tn__gpu_device *dev)
{
    return dev->sibling != dev;
}

/* ---- failure.c ---- */
/* A result as an error, whatever it means for the device. report: of the driver, "" where it has none. */
tn_status tn__gpu_plain_failure(const tn__gpu_device *dev, tn__gpu_result r, const char *what, const char *report);
/* What a simulated device says about the failed call; "" on real ones. */
void tn__gpu_report(const tn__gpu_driver *driver, char *text, size_t size);
/* Why it is dead, as an error. Under its lock. */
tn_status tn__gpu_dead(const tn__gpu_device *dev);

/* Turns a result into an error: PyTorch's text first, then Tenon's; fatal ones kill the device. TN_OK for success.
 * what: the driver call or the operation. */
tn_status tn__gpu_failed(tn__gpu_device *dev, tn__gpu_result result, const char *what);
static inline tn_status tn__gpu_check(tn__gpu_device *dev, tn__gpu_result result, const char *what)
{
    return TN_LIKELY(result == TN__GPU_OK) ? TN_OK : tn__gpu_failed(dev, result, what);
}

/* After the host has waited: index faults that kernels reported, as an error (TN_EINDEX), once. */
tn_status tn__gpu_take_fault(tn__gpu_device *dev);

/* ---- stream.c ---- */
/* The calling thread's current stream of a device that is in use. */
tn__stream *tn__gpu_current(tn__gpu_device *dev);
/* Its device, usable, current; NULL with an error set, also when a reset has made the stream void. */
tn__gpu_device *tn__gpu_use_stream(const tn__stream *s);
bool tn__gpu_is_foreign(const tn__stream *s);
tn_status tn__gpu_synchronize(tn_device device);
/* The host waits for the stream; counts in the ledger, takes faults. */
tn_status tn__gpu_stream_synchronize(tn__gpu_device *dev, tn__stream *s);
/* The names of what was launched last on a stream, for messages about asynchronous failures. */
void tn__gpu_note_launch(tn__gpu_device *dev, tn__stream *s, const char *label);
/* Everything that was queued on the stream when 'queued' was read is done now. */
uint64_t tn__gpu_queued(tn__gpu_device *dev, tn__stream *s);
void tn__gpu_note_done(tn__gpu_device *dev, tn__stream *s, uint64_t queued);
/* "add, mm, softmax on stream 3" for every stream of the GPU with launches not known to be complete; "" if there is none.
 * No device's lock is held. */
void tn__gpu_unfinished(tn__gpu_device *dev, char *text, size_t size);
/* Reset, under the device's lock: streams and events of the old context are void. */
void tn__gpu_streams_forget(tn__gpu_device *dev);
extern const tn__queue tn__gpu_queue;

/* ---- event.c ---- */
/* Events without timing, from a pool of the device. NULL with an error set. */
void *tn__gpu_event_get(tn__gpu_device *dev);
void tn__gpu_event_put(tn__gpu_device *dev, void *e);
/* The result of making a stream of dev, whose context is current, wait for an event of another device, as an error: where dev
 * itself is well, it is for what happened there, and kills that one. */
tn_status tn__gpu_waits(tn__gpu_device *dev, tn__gpu_device *of, tn__gpu_result r);

/* ---- host_wait.c: the host waits; a check of the program's may end it (tn_set_wait_check) ---- */
/* By tn_cuda_set_wait, else TENON_CUDA_WAIT. */
tn__gpu_way tn__gpu_how_to_wait(void);
/* Until the event has passed. */
tn__gpu_result tn__gpu_wait_event(tn__gpu_device *dev, void *e);
/* Until what is queued on the stream now is done. */
tn__gpu_result tn__gpu_wait_stream(tn__gpu_device *dev, tn__stream *s);
/* The same of everything in the device's context. */
tn__gpu_result tn__gpu_wait_context(tn__gpu_device *dev);

/* ---- launch.c ---- */
/* Queues a function that is loaded on the device's current stream. */
tn_status tn__gpu_launch_function(const tn__gpu_launch *l, void *function);
/* After every kernel or library call that was queued: counts it, notes its name; waits for it if launches block. */
tn_status tn__gpu_launched(tn__gpu_device *dev, tn__stream *s, tn__gpu_result result, const char *label);

/* ---- allocator.c: the caching allocator; pinned.c: pinned host memory; memory_stats.c ---- */
tn__storage *tn__gpu_allocate(tn_device device, size_t bytes);
tn__storage *tn__gpu_pinned(int32_t type, size_t bytes);
void tn__gpu_storage_used(tn__storage *s, tn__stream *stream);
void tn__gpu_storage_joined(tn__storage *s, tn__stream *stream);
/* Did a reset take its memory away? */
bool tn__gpu_storage_gone(const tn__storage *s);
tn_memory_statistics tn__gpu_memory_stats(tn_device device);
void tn__gpu_reset_peak(tn_device device);
void tn__gpu_empty_cache(tn_device device);
/* The caches of the devices that are the same GPU, without its own. No arena's lock is held. */
void tn__gpu_empty_siblings(const tn__gpu_device *dev);
/* The context went away: everything the allocator holds of that device is void. */
void tn__gpu_allocator_forget(tn__gpu_device *dev);
/* The library goes, every context has: what described memory, and what is kept of pinned memory, is freed. */
void tn__gpu_memory_end(void);
/* A pinned block of at least 'bytes' for the library's own staging, given back once what is on the stream now is done. */
void *tn__gpu_staging_get(int32_t type, size_t bytes);
void tn__gpu_staging_put(void *p, size_t bytes, tn__stream *in_use_on);

/* ---- host_copies.c, peer_copies.c ---- */
extern const tn__mover tn__gpu_mover;

/* ---- waits.def: every wait and event that correctness rests on, by name, so that tests can remove one ----
 * TN__WAIT(name, call) is the call, but in builds with TENON_TEST_WAITS where the test drops it (tn__drop_wait). */
#ifdef TENON_TEST_WAITS
#define TN__WAIT(name, call) (tn__wait_dropped(#name) ? TN__GPU_OK : (call))
#else
#define TN__WAIT(name, call) (call)
#endif

#endif
