/* fakegpu/driver.h: the inside of the fake driver: what its files share.
 *
 * One lock guards everything: devices, contexts, memory tables, queues, clocks. It is never held while queued work runs,
 * while much memory is filled, or while a caller's function is called. Every exported function begins
 * with one of fake_enter*, which take the lock only if the call can go on, and ends with fake_leave.
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
#define FN(name, symbol, since, parameters)    FAKE_API tn__cu_result symbol parameters;
#define NEWER(name, symbol, since, parameters) FAKE_API tn__cu_result symbol parameters;
#include "abi/cuda_beside.def"

enum {
    FAKE_MAX_DEVICES = 64,
    FAKE_GRAIN = 512,                    /* allocations are aligned to it, sizes rounded up to it */
    FAKE_CONTEXT_BYTES = 8 * 1024 * 1024 /* what a context costs of its device's memory */
};

typedef struct fake_device fake_device;
typedef struct fake_physical fake_physical;
typedef struct CUctx_st fake_context;
typedef struct CUstream_st fake_stream;
typedef struct CUevent_st fake_event;

/* ---- what is known of a stretch of memory: suballocation.c, access_history.c ---- */

/* A piece of a block that the library's allocator handed out, or took back and has not handed out since. */
typedef struct fake_suballocation {
    size_t from, to; /* bytes of the block */
    bool live;
    bool fenced; /* work was queued that shuts what lies behind it */
} fake_suballocation;

/* One access in the past: the 'tick'-th operation of the stream that has this slot in all clocks. */
typedef struct fake_epoch {
    uint64_t tick;
    const char *what; /* of fake_call_name */
    unsigned stream;  /* its id */
    uint16_t slot;
    int16_t device; /* ordinal */
} fake_epoch;

/* A stretch of a block whose bytes have one history: the last write, and the last read of each stream since. */
typedef struct fake_segment {
    size_t from, to;
    fake_epoch write; /* tick 0: none */
    fake_epoch *reads;
    unsigned n_reads, room;
    bool stale; /* written for an earlier tensor, not yet for the one that has the bytes now */
} fake_segment;

typedef struct fake_history {
    fake_segment *at; /* sorted; what is between was never touched */
    size_t n, room;
} fake_history;

/* ---- memory: allocation_table.c, memory.c, poison.c ---- */

/* One allocation: of a device (addresses are the device's) or pinned (device NULL). */
typedef struct fake_block {
    char *base;
    size_t bytes, size; /* asked for; rounded up */
    fake_device *device;
    fake_device *locker;   /* of pinned memory: in whose context, with which it ends */
    bool registered;       /* pinned memory that is the caller's: it stays, as ordinary memory */
    bool uncut;            /* its parts could not be kept: nothing in it is checked */
    bool away;             /* being made or freed, by a thread that has it alone: no longer there for anybody else */
    const void *module;    /* of a variable: the module that it is a part of */
    fake_physical **pages; /* reserved addresses: the memory behind each 2 MiB of them, or NULL */
    char *mapping;         /* and where they were got */
    fake_suballocation *parts; /* sorted; none: the block is one piece */
    size_t n_parts, room_parts;
    fake_history history;
} fake_block;

/* The live piece that holds a byte, or the block itself as one if it was never cut. False: the byte is in none; 'piece' is
 * then the piece taken back that it lies in (from == to: in none). */
bool fake_suballocation_find(const fake_block *b, size_t offset, fake_suballocation *piece);
/* False: it overlaps a live one, which is written to 'piece'. */
bool fake_suballocation_take(fake_block *b, size_t from, size_t to, fake_suballocation *piece);
bool fake_suballocation_free(fake_block *b, size_t from); /* false: no live piece begins there */
/* The live piece at the offset, if it was not fenced yet; *end: where what rounding added behind it ends. */
fake_suballocation *fake_suballocation_unfenced(fake_block *b, size_t offset, size_t *end);

/* Memory for what checks need (realloc). NULL: there is none, which is counted; checks must then find less, never more. Lock
 * held. */
void *fake_analysis_memory(void *old, size_t bytes);

/* ---- order: vector_clock.c, access_history.c, race_check.c ----
 * Every stream, event, and the host has a vector clock: for each stream, up to which of its operations all is over for
 * whoever has the clock. The threads of the host are one: how they wait for each other cannot be seen from here, so what
 * one of them has waited for, all know. */
typedef struct fake_clock {
    uint64_t *at; /* by slot; beyond n: 0 */
    unsigned n, room;
} fake_clock;

void fake_clock_join(fake_clock *clock, const fake_clock *other);
void fake_clock_copy(fake_clock *clock, const fake_clock *other);
void fake_clock_set(fake_clock *clock, unsigned slot, uint64_t tick);
void fake_clock_free(fake_clock *clock);
static inline bool fake_clock_covers(const fake_clock *clock, const fake_epoch *e)
{
    return e->slot < clock->n && clock->at[e->slot] >= e->tick;
}

/* One stretch that an operation touches, found. */
typedef struct fake_touch {
    fake_block *block; /* NULL: nothing to check */
    size_t from, to;
    bool write;
} fake_touch;

/* The epoch of an access that the clock does not cover and that conflicts with the touch; NULL: none. 'write': it wrote. */
const fake_epoch *fake_history_conflict(const fake_history *h, const fake_touch *t, const fake_clock *clock,
                                        bool *write);
void fake_history_note(fake_history *h, const fake_touch *t, fake_epoch epoch);
void fake_history_clear(fake_history *h);
/* The bytes were handed out anew: what they hold is stale. */
void fake_history_renew(fake_history *h, size_t from, size_t to);
/* Finds a stale stretch in the touch that nobody uses any more who is not covered by the clock; then it is stale no more:
 * the caller poisons it. False: there is none. */
bool fake_history_stale(fake_history *h, const fake_touch *t, const fake_clock *clock, fake_touch *stale);

/* The name of a call for reports, with the place of the user's call where that is known: "kernel 'flat' (add at prog.c:12)".
 * Kept for ever, one for all that are alike. */
const char *fake_call_name(const char *what);

/* What is queued on the stream now comes after all that the host knows of, and what default streams order. Only for what
 * is queued: else the stream does not wait for them. */
void fake_order_join(fake_stream *s);
/* fake_order_join for an operation, by a name of fake_call_name; refuses it, with a report, if it would touch memory out of
 * order. */
tn__cu_result fake_order_check(fake_stream *s, const char *what, const fake_touch *touch, int n);
void fake_order_note(fake_stream *s, const char *what, const fake_touch *touch, int n);
/* The same for the host, now: 'doing' is "reads" or the like. */
tn__cu_result fake_order_host(const char *doing, const fake_touch *touch);
/* The same for freeing the whole block: of the device's own work it waits for what uses the block. */
tn__cu_result fake_order_free(const fake_touch *touch);
bool fake_order_is_used(const fake_touch *touch);          /* would it be refused to the host now? */
void fake_order_wait(fake_stream *s, const fake_event *e); /* the stream waits for the event */
void fake_order_known(const fake_clock *clock);            /* the host has waited for it */
/* The context is lost: what was queued on it touches memory no more, and the host may know. Of what it waited for on other
 * devices the host learns nothing. */
void fake_order_over(const fake_context *c);
void fake_order_collect(const fake_context *c, fake_clock *clock); /* joins all that was ever queued on it */
void fake_order_end(fake_stream *s);                               /* the stream is no more */

/* ---- for programs that know nothing of Tenon: beside.c ---- */

/* Shows a report on standard error if TENON_FAKE_GPU_REPORT says so: who asks for no report sees it there. */
void fake_show(const char *report);

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
/* The same for a part of a block: only very large ones are mapped, since a process has a limited number of mappings. */
void fake_poison_again(char *memory, size_t bytes);
/* For AddressSanitizer, where it is there: the stretch may, or may not, be touched. */
void fake_asan_poison(const void *memory, size_t bytes);
void fake_asan_unpoison(const void *memory, size_t bytes);
bool fake_has_asan(void);

/* The device whose address it is, or NULL. */
fake_device *fake_device_of(const void *address);
/* The block of device or pinned memory that holds the address, or NULL: also where it is being made or freed, or its
 * context. */
fake_block *fake_block_of(const void *address);
/* Whose reserved addresses the address is among, or NULL. With the lock or without. */
fake_device *fake_reserved_device(const char *address);
/* Is there memory behind the stretch? False only of reserved addresses. */
bool fake_is_mapped(const fake_block *b, size_t from, size_t to);
/* A block of device memory that lies nowhere yet in use; NULL: no room. Its bytes are to be poisoned. Lock held. */
fake_block *fake_memory_place(fake_device *d, size_t bytes);
bool fake_memory_insert(fake_block *b); /* pinned memory, counted; false: no memory */
/* From now on it is no live memory for anybody; its bytes stay until fake_memory_release. Lock held. */
void fake_memory_retire(fake_block *b);
void fake_memory_release(fake_block *b);
/* Frees all memory of a device, of which no work is left; what other threads are making or freeing is left to them. Releases
 * the lock while memory is filled. */
void fake_memory_clear(fake_device *d);

/* ---- devices and contexts: device.c, context.c ---- */

struct CUctx_st {
    fake_device *device;
    unsigned retained, flags, created; /* created: how many of those retained were cuCtxCreate */
    bool active, stopping;
    tn__cu_result error;  /* sticky: what killed it */
    char *report;         /* and how, from malloc; NULL: there was no memory */
    bool heard;           /* somebody has read it */
    uint64_t life;        /* how often it was made: what was begun in an earlier life is not of this one */
    fake_stream *streams; /* all that still have a thread or a handle; the default stream is one of them */
    fake_stream *fallback;
    fake_event *events;
    struct CUmod_st *modules;
    fake_clock ended[2];         /* of streams that are no more: blocking ones, NON_BLOCKING ones */
    bool peer[FAKE_MAX_DEVICES]; /* by ordinal: whose memory it may touch */
};

struct fake_device {
    int physical, ordinal; /* ordinal: in CUDA_VISIBLE_DEVICES' order; -1 hidden */
    int gpu;               /* whose slice it is; the same number where GPUs are whole */
    tn__cu_uuid uuid;
    int capability; /* 90 for 9.0 */
    char *base;     /* device addresses [base, base + span), which nobody can read; bytes lie at address + span */
    size_t span;    /* twice the capacity, so that fragments hardly matter */
    size_t cursor;  /* in its lower half: where the next allocation looks for room: freed addresses come back late */
    size_t capacity, used;
    fake_table blocks;
    fake_context context;
    tn__cu_result ruin; /* what killed a context, where faults are fatal: none is made again */
    double busy,
        asked; /* milliseconds of work finished since NVML was asked, or the context made: at asked (fake_now) */
    uint64_t count[16]; /* TN__FAKE_... of abi.h */
};

typedef struct fake_world {
    pthread_mutex_t lock;
    bool set_up, initialised;
    bool over;     /* the process ends: nothing works any more */
    bool blocking; /* CUDA_LAUNCH_BLOCKING */
    bool order;    /* TENON_FAKE_GPU_ORDER is not 0 */
    bool warn;     /* it is 'warn': what is missing is said, and nothing is refused for it */
    bool blind;    /* a clock could not be kept: nothing is found unordered any more */
    int n_devices, n_visible;
    int slices;                             /* of each GPU (TENON_FAKE_GPU_MIG): devices are these; 0: GPUs are whole */
    fake_device device[FAKE_MAX_DEVICES];   /* by physical number */
    tn__cu_uuid gpu_uuid[FAKE_MAX_DEVICES]; /* of the GPUs, where devices are slices of them */
    fake_device *visible[FAKE_MAX_DEVICES];
    fake_table pinned;  /* host memory that devices may read and write on their own */
    uint64_t count[16]; /* of no device: pinned memory, pageable copies */
    uint64_t sequence;  /* the number of the item queued last */
} fake_world;

extern fake_world fake;

/* Reads the environment and makes the devices, once. Lock held. */
tn__cu_result fake_set_up(void);
/* env.c: TENON_FAKE_GPUS, TENON_FAKE_GPU_CAPABILITY and CUDA_VISIBLE_DEVICES. */
bool fake_parse_gpus(const char *text, int *count, size_t *bytes);
bool fake_parse_slices(const char *text, int count, int *slices);
bool fake_parse_capability(const char *text, int n, fake_device *devices);
int fake_parse_visible(const char *text, const fake_device *devices, int n, int *physical);
void fake_uuid_text(const char *kind, const tn__cu_uuid *uuid, char out[41]); /* kind: GPU, MIG */
const char *fake_name(void);

int fake_pci_bus(const fake_device *d);
int fake_attribute_beside(unsigned attribute); /* which Tenon does not ask for; -1: there is none */

tn__cu_result fake_enter(void); /* needs cuInit */
tn__cu_result fake_enter_device(tn__cu_device ordinal, fake_device **device);
tn__cu_result fake_enter_context(fake_context **context); /* a usable current context */
/* A usable current context and a stream (NULL: its default stream). */
tn__cu_result fake_enter_stream(tn__cu_stream handle, fake_context **context, fake_stream **stream);
/* The same for a call that queues something: waits for room first. */
tn__cu_result fake_enter_queue(tn__cu_stream handle, fake_context **context, fake_stream **stream);
tn__cu_result fake_leave(tn__cu_result r);
/* For a call that let go of the lock: is the context, whose 'life' it noted before, still that one, and well? Lock held. */
tn__cu_result fake_still(const fake_context *c, uint64_t life);
bool fake_forked(void);
fake_context *fake_current(void);
tn__cu_result fake_push_context(fake_context *c); /* of the calling thread: it is current then */
fake_context *fake_pop_context(void);             /* NULL: there is none */
bool fake_is_context(const fake_context *c);      /* is it one of those there are? */
tn__cu_result fake_context_retain(fake_context *c);
void fake_context_release(fake_context *c);

/* Around a call: after one that failed, tenonFakeReport has its own text or none. The doors do it. */
void fake_report_begin(void);
void fake_report_end(tn__cu_result r); /* lock not held */
/* What killed the context (SUCCESS: nothing), for this call to give; its text becomes this thread's. Lock held. */
tn__cu_result fake_context_error(const fake_context *c);
/* How it died, for fake_context_error. Lock held. */
void fake_report_death(fake_context *c, const char *report);
/* fake_report for a check that only fake GPUs make: counts it, and gives ILLEGAL_STATE. Lock held. */
tn__cu_result fake_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for a missing order between two calls, by their names of fake_call_name. Where TENON_FAKE_GPU_ORDER says 'warn', it
 * gives SUCCESS, and the text goes to stderr as soon as the call leaves, if it is the first one of these two. */
tn__cu_result fake_unordered(const char *call, const char *other, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* For the end of the process: how many of these there were, "" where nobody asked for it. Lock held. */
void fake_summary(char *text, size_t size);

/* ---- fault_injection.c: lock held ---- */
typedef enum fake_fault_kind {
    FAKE_FAULT_OOM,
    FAKE_FAULT_HOST,
    FAKE_FAULT_NOCUBIN,
    FAKE_FAULT_LAUNCH,
    FAKE_FAULT_LOST,
    FAKE_FAULT_REGISTER,
    FAKE_FAULT_FATAL,
    FAKE_FAULT_PEER,
    FAKE_FAULT_BADPEER,
    FAKE_FAULT_SLOWCOPY,
    FAKE_FAULT_SLOWSTREAM,
    FAKE_FAULT_DELAY,
    FAKE_FAULT_ORDER
} fake_fault_kind;
tn__cu_result fake_set_faults(const char *text);
bool fake_fault(fake_fault_kind kind, int device); /* counts: is this the one to fail? */
bool fake_fault_pair(fake_fault_kind kind, int a, int b);
double fake_fault_delay(bool copy, int device); /* milliseconds */

/* ---- live handles: handles.c ---- */
typedef enum fake_kind { FAKE_STREAM = 1, FAKE_EVENT, FAKE_MODULE, FAKE_FUNCTION, FAKE_LIBRARY } fake_kind;
bool fake_handle_add(const void *handle, fake_kind kind);
void fake_handle_remove(const void *handle);
bool fake_handle_is(const void *handle, fake_kind kind);

/* ---- queues: queue.c ---- */

typedef struct fake_work {
    const char *what; /* for reports; not kept */
    bool copy;        /* or a fill: not a kernel */
    bool anywhere;    /* its device needs no access to the memory of others */
    void (*run)(void *arg);
    void (*drop)(void *arg); /* NULL: nothing to do */
    void *arg;
} fake_work;

/* Stale bytes, to be poisoned before the work that touches them runs. */
typedef struct fake_stretch {
    struct fake_stretch *next;
    char *memory; /* a host address */
    size_t bytes;
    enum { FAKE_STALE, FAKE_OPEN, FAKE_SHUT } becomes;
} fake_stretch;

typedef struct fake_item {
    struct fake_item *next;
    uint64_t number;
    enum { FAKE_RUN, FAKE_WAIT, FAKE_RECORD } kind;
    fake_work work;
    double delay;        /* FAKE_RUN: milliseconds, before it is run */
    tn__cu_result error; /* FAKE_RUN: it is not run, the device fails so */
    char *report;        /* and this is why, from malloc */
    fake_stretch *stale; /* FAKE_RUN: from malloc */
    fake_stream *on;     /* FAKE_WAIT: until all up to 'upto' of it is done; holds a reference */
    uint64_t upto;
    fake_event *event; /* FAKE_RECORD: holds a reference */
    uint64_t generation;
} fake_item;

struct CUstream_st {
    fake_context *context;
    fake_stream *next; /* of the context */
    unsigned id, flags;
    int priority;
    int refs;         /* handle, thread, events, items, waiters */
    pthread_t thread; /* if started; detaches itself at its end */
    bool started, closing, discard;
    fake_item *head, *tail;
    fake_item *current;    /* what the thread runs: in a forked child, which has no such thread, it is not lost */
    unsigned queued;       /* items in the list */
    uint64_t oldest, last; /* number of the oldest unfinished item (UINT64_MAX: idle), of the newest one */
    double begun;          /* when what runs now began (fake_now); 0: nothing runs */
    unsigned waiters;
    pthread_cond_t work, progress;
    fake_clock clock;
    unsigned slot;         /* in all clocks; valid once has_slot: from the first operation on */
    uint64_t host_version; /* of the host's clock when it was joined last */
    bool has_slot;
};

fake_stream *fake_stream_new(fake_context *c, unsigned flags);
void fake_stream_close(fake_stream *s);  /* the handle goes; queued work still runs */
void fake_stream_detach(fake_stream *s); /* takes it off its context's list */
void fake_stream_put(fake_stream *s);
void fake_streams_clear(fake_context *c); /* closes all and waits for their threads' end */
static inline bool fake_stream_reached(const fake_stream *s, uint64_t number)
{
    return s->oldest > number;
}
/* Queues work. An access to memory that is not there, or not the context's, fails at once for a copy, for a kernel when its
 * turn comes. The work is the queue's when this succeeds, the caller's when it fails. Lock held. */
tn__cu_result fake_submit(fake_stream *s, const fake_work *work, const fake_access *access, int n);
/* Queues an item, after what the legacy default stream orders before it. Takes the item; when it fails, 'arg' is left to
 * the caller. Lock held. */
tn__cu_result fake_queue(fake_stream *s, fake_item *item);
void fake_wait(fake_stream *s, uint64_t number); /* releases the lock while it waits */
/* Waits while as much is queued as a queue holds, which releases the lock. False: there was room. */
bool fake_wait_room(fake_stream *s);
void fake_wait_context(fake_context *c); /* all that is queued on it now */
void fake_synchronize(fake_stream *s);   /* the host waits for all that is queued on it now, and knows it */
void fake_synchronize_context(fake_context *c);
tn__cu_result fake_if_blocking(fake_stream *s); /* after a launch: CUDA_LAUNCH_BLOCKING waits for it */
void fake_discard(fake_context *c);             /* throws queued work away and waits for what runs */
/* The stream whose work runs on this thread, or NULL. */
fake_stream *fake_running(void);
/* The context is dead from now on, for this reason. Lock held. */
void fake_fail(fake_context *c, tn__cu_result error, const char *report);
double fake_now(void); /* milliseconds */
/* Of the time since NVML was asked, how much of what the stream runs now, or ran until now, has taken. */
double fake_busy(const fake_stream *s, double now);

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
    fake_clock clock;
};
void fake_event_put(fake_event *e);
void fake_events_clear(fake_context *c);

/* ---- modules: module.c ---- */
struct CUfunc_st {
    tn__cu_function next; /* of the module */
    tn__cu_module module;
    const fake_kernel *kernel;
    char what[144]; /* "kernel 'add'" */
};

struct CUmod_st {
    tn__cu_module next; /* of the context */
    fake_context *context;
    fake_module *loaded;
    tn__cu_function functions;
};
void fake_modules_clear(fake_context *c);
/* Is it a variable of a module that was asked for? Copies may name it like device memory. Lock held. */
bool fake_is_variable(const void *address);

#endif
