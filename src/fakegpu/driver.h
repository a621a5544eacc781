/* fakegpu/driver.h: the inside of the fake driver: what its files share.
 *
 * One lock guards everything: devices, contexts, memory tables, queues, clocks. It is never held while queued work runs,
 * while memory is filled, or while a caller's function is called. Every exported function begins with one of fake_enter*,
 * which take the lock only if the call can go on, and ends with fake_leave.
 *
 * Queued items are numbered through the whole process in the order of their queueing, and items wait only for items with
 * lower numbers: so waiting never deadlocks. */
#ifndef TENON_FAKEGPU_DRIVER_H
#define TENON_FAKEGPU_DRIVER_H

#include "fakegpu/fake.h"
#include <pthread.h>

/* What is exported is declared by the lists themselves. */
#define FN(name, symbol, older, parameters)       FAKE_API tn__cu_result symbol parameters;
#define OPTIONAL(name, symbol, older, parameters) FAKE_API tn__cu_result symbol parameters;
#include "abi/cuda.def"

enum {
    FAKE_MAX_DEVICES = 64,
    FAKE_GRAIN = 512,                    /* allocations are aligned to it, sizes rounded up to it */
    FAKE_CONTEXT_BYTES = 8 * 1024 * 1024 /* what a context costs of its device's memory */
};

typedef struct fake_device fake_device;
typedef struct CUctx_st fake_context;
typedef struct CUstream_st fake_stream;
typedef struct CUevent_st fake_event;

/* ---- memory: table.c, memory.c, poison.c ---- */

/* One allocation: of a device (addresses are the device's) or pinned (device NULL). */
typedef struct fake_block {
    char *base;
    size_t bytes, size; /* asked for; rounded up */
    fake_device *device;
    bool going; /* being freed: no longer there for anybody else */
} fake_block;

/* Sorted by address. */
typedef struct fake_table {
    fake_block **at;
    size_t n, capacity;
} fake_table;

fake_block *fake_table_find(const fake_table *t, const void *address); /* the block that holds it, or NULL */
size_t fake_table_after(const fake_table *t, const void *address);     /* index of the first block above it */
bool fake_table_insert(fake_table *t, fake_block *b);
void fake_table_remove(fake_table *t, const fake_block *b);

/* Bytes of fresh and of freed memory: not a number in every floating type, -1 in every integer type. Large stretches are
 * mapped, not written: they cost memory only where they are used. 'memory' is a host address. */
void fake_poison(char *memory, size_t bytes);
/* For AddressSanitizer, where it is there: the stretch may, or may not, be touched. */
void fake_shut(const void *memory, size_t bytes);
void fake_open(const void *memory, size_t bytes);

/* The device whose address it is, or NULL. */
fake_device *fake_device_of(const void *address);
/* The block of device or pinned memory that holds the address, or NULL. */
fake_block *fake_block_of(const void *address);
/* Frees all memory of a device, of which no work is left. Lock held. */
void fake_memory_clear(fake_device *d);

/* ---- devices and contexts: device.c, context.c ---- */

struct CUctx_st {
    fake_device *device;
    unsigned retained;
    bool active, stopping;
    tn__cu_result error;  /* sticky: what killed it */
    fake_stream *streams; /* all that still have a thread or a handle; the default stream is one of them */
    fake_stream *fallback;
    fake_event *events;
    struct CUmod_st *modules;
    bool peer[FAKE_MAX_DEVICES]; /* by ordinal: whose memory it may touch */
};

struct fake_device {
    int physical, ordinal; /* ordinal: in CUDA_VISIBLE_DEVICES' order; -1 hidden */
    tn__cu_uuid uuid;
    char *base;    /* device addresses [base, base + span), which nobody can read; bytes lie at address + span */
    size_t span;   /* wider than capacity, so that fragments never matter */
    size_t cursor; /* where the next allocation looks for room: freed addresses come back late */
    size_t capacity, used;
    fake_table blocks;
    fake_context context;
    uint64_t busy; /* nanoseconds of work finished since NVML was asked, at asked (fake_now; 0: never) */
    double asked;
};

typedef struct fake_world {
    pthread_mutex_t lock;
    bool set_up, initialised, blocking;
    int n_devices, n_visible;
    fake_device device[FAKE_MAX_DEVICES]; /* by physical number */
    fake_device *visible[FAKE_MAX_DEVICES];
    fake_table pinned; /* host memory that devices may read and write on their own */
    uint64_t sequence; /* the number of the item queued last */
} fake_world;

extern fake_world fake;

/* Reads the environment and makes the devices, once. Lock held. */
tn__cu_result fake_set_up(void);
/* env.c: TENON_FAKE_GPUS and CUDA_VISIBLE_DEVICES. */
bool fake_parse_gpus(const char *text, int *count, size_t *bytes);
int fake_parse_visible(const char *text, const fake_device *devices, int n, int *physical);
void fake_uuid_text(const tn__cu_uuid *uuid, char out[41]);

int fake_pci_bus(const fake_device *d);

tn__cu_result fake_enter(void); /* needs cuInit */
tn__cu_result fake_enter_device(tn__cu_device ordinal, fake_device **device);
tn__cu_result fake_enter_context(fake_context **context); /* a usable current context */
/* A usable current context and a stream (NULL: its default stream). */
tn__cu_result fake_enter_stream(tn__cu_stream handle, fake_context **context, fake_stream **stream);
tn__cu_result fake_leave(tn__cu_result r);
bool fake_forked(void);
fake_context *fake_current(void);

/* The last failed check, as text for tenonFakeReport. */
void fake_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- live handles: handles.c ---- */
typedef enum fake_kind { FAKE_STREAM = 1, FAKE_EVENT, FAKE_MODULE, FAKE_FUNCTION } fake_kind;
bool fake_handle_add(const void *handle, fake_kind kind);
void fake_handle_remove(const void *handle);
bool fake_handle_is(const void *handle, fake_kind kind);

/* ---- queues: queue.c ---- */

typedef struct fake_item {
    struct fake_item *next;
    uint64_t number;
    enum { FAKE_RUN, FAKE_WAIT, FAKE_RECORD } kind;
    void (*run)(void *arg);
    void (*drop)(void *arg);
    void *arg;
    char *illegal;   /* FAKE_RUN: it is not run, the device fails: why, from malloc */
    fake_stream *on; /* FAKE_WAIT: until all up to 'upto' of it is done; holds a reference */
    uint64_t upto;
    fake_event *event; /* FAKE_RECORD: holds a reference */
    uint64_t generation;
} fake_item;

struct CUstream_st {
    fake_context *context;
    fake_stream *next; /* of the context */
    unsigned id, flags;
    int refs; /* handle, thread, events, items, waiters */
    bool started, closing, discard;
    fake_item *head, *tail;
    uint64_t oldest, last; /* number of the oldest unfinished item (UINT64_MAX: idle), of the newest one */
    unsigned waiters;
    pthread_cond_t work, progress;
};

fake_stream *fake_stream_new(fake_context *c, unsigned flags);
void fake_stream_close(fake_stream *s);  /* the handle goes; queued work still runs */
void fake_stream_detach(fake_stream *s); /* takes it off its context's list */
void fake_stream_put(fake_stream *s);
static inline bool fake_stream_reached(const fake_stream *s, uint64_t number)
{
    return s->oldest > number;
}
/* Queues work. An access to memory that is not there, or not the context's, fails at once if 'strict' (a copy), else when
 * its turn comes (a kernel). The work is the queue's when this succeeds, the caller's when it fails. Lock held. */
tn__cu_result fake_submit(fake_stream *s, const char *what, const fake_access *access, int n, bool strict,
                          void (*run)(void *), void (*drop)(void *), void *arg);
/* Queues an item, after what the legacy default stream orders before it. Takes the item; when it fails, 'arg' is left to
 * the caller. Lock held. */
tn__cu_result fake_queue(fake_stream *s, fake_item *item);
void fake_wait(fake_stream *s, uint64_t number); /* releases the lock while it waits */
void fake_wait_context(fake_context *c);         /* all that is queued on it now */
void fake_discard(fake_context *c);              /* throws queued work away and waits for what runs */
/* The stream whose work runs on this thread, or NULL. */
fake_stream *fake_running(void);
void fake_fail(fake_context *c, tn__cu_result error); /* lock held */
double fake_now(void);                                /* milliseconds */

/* ---- events: event.c ---- */
struct CUevent_st {
    fake_context *context;
    fake_event *next;
    unsigned flags;
    int refs; /* handle, items */
    uint64_t generation;
    fake_stream *stream; /* where it was recorded last, NULL: never; holds a reference */
    uint64_t number;
    double time; /* of the record numbered so, once done */
};
void fake_event_put(fake_event *e);
void fake_events_clear(fake_context *c);

/* ---- modules: module.c ---- */
void fake_modules_clear(fake_context *c);

#endif
