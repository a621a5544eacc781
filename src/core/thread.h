/* core/thread.h: what the library keeps per thread: error record, call site, scope stack, gradient mode, small-block
 * cache. One pointer in thread-local storage leads to it; it is made at a thread's first call and freed at its end.
 */
#ifndef TENON_CORE_THREAD_H
#define TENON_CORE_THREAD_H

#include "core/base.h"

#define TN__BINS 40 /* size classes of the small-block cache, core/alloc.c */

typedef struct tn__bin {
    void *head;
    uint32_t count, cap;
} tn__bin;

/* Tallies that live_tensors() and memory statistics add up over all threads: written by their owner only. */
typedef struct tn__tally {
    _Atomic int64_t tensors, small_bytes, tapped;
} tn__tally;

typedef struct tn__object tn__object;

typedef struct tn__thread {
    const char *site; /* the user's call in progress, "file.c:42", or NULL */
    tn_scope *scope;  /* innermost scope, or NULL                           */
    bool no_grad;     /* gradient recording is off                          */
    tn_tensor *into;  /* what the user's next call may write its result to (tn_into), or NULL; not owned */
    tn_tensor *apart; /* the same of any call that comes next, the library's own too                       */
    uint32_t born;    /* flags of new tensors: TN__INFERENCE in inference mode, else none */
    bool in_parallel; /* a body of tn__parallel_for is running here         */
    bool destroying;  /* an object is being destroyed: queue, do not recurse */
    bool emergency;   /* the shared record used when even this struct could not be had */
    bool unsited;     /* the error on record names no place of a call */
    tn_status error;
    int32_t callbacks;  /* user callbacks in progress */
    tn__object *doomed; /* objects waiting to be destroyed */
    tn_device default_device;
    int32_t current_device[8]; /* by device type */
    tn__tally tally;
    tn__bin bin[TN__BINS];
    char *message; /* error text, TN__MESSAGE bytes, allocated with the first error */
    void *engine;  /* backward's scratch, kept between runs; autograd/engine.c */
    void (*engine_free)(void *);
    int32_t inside; /* doors (TN__DOOR) that this thread is in, one in another */
    /* The GPU context that was this thread's when it came in by the outermost door, and which a driver has changed since: another
     * library's, or that of another device. NULL: nothing is to be given back. */
    void *found_context;
    void (*give_back)(struct tn__thread *);
    void *streams; /* current streams of GPUs, where not the default ones; the backend's */
    void (*streams_free)(void *);
    struct tn__meter *meter;        /* counts what this thread makes on meta; NULL: nothing does */
    struct tn__thread *next, *prev; /* all threads, under the registry's lock */
} tn__thread;

#define TN__MESSAGE 4096

#if defined(__linux__)
extern _Thread_local tn__thread *tn__tls __attribute__((tls_model("initial-exec")));
#else
extern _Thread_local tn__thread *tn__tls;
#endif

/* Makes this thread's record; never fails (an emergency record is shared if memory is out). */
TN_COLD tn__thread *tn__thread_start(void);

static inline tn__thread *tn__self(void)
{
    tn__thread *t = tn__tls;
    return TN_LIKELY(t != NULL) ? t : tn__thread_start();
}

/* What a plain function (no macro, so no call site) passes. */
#define TN__NOWHERE ""

/* Every public function that may fail begins here (getters where they fail): errors name the call in progress, not an
 * earlier one. NULL leaves the site of the function that calls. */
static inline tn__thread *tn__enter(const char *site)
{
    tn__thread *t = tn__self();
    if (site) {
        t->site = *site ? site : NULL;
        t->into = NULL;
        t->unsited = false;
    }
    return t;
}

/* Whoever may make a GPU's context current on the user's thread does it within a door, whose end, at the function's, leaves the
 * thread as it was found: other libraries in the process (PyTorch, CuPy) rely on theirs. Costs nothing where nothing changed. */
static inline tn__thread *tn__door_open(tn__thread *t)
{
    t->inside++;
    return t;
}

static inline void tn__door_close(tn__thread *const *door)
{
    tn__thread *t = *door;
    if (--t->inside == 0 && TN_UNLIKELY(t->found_context != NULL))
        t->give_back(t);
}

#define TN__DOOR(thread) \
    __attribute__((cleanup(tn__door_close), unused)) tn__thread *const door_ = tn__door_open(thread)

/* What each lock of the floor does around fork(): taken before it, released in the parent, made anew in the child. */
typedef enum tn__fork_phase { TN__FORK_PREPARE, TN__FORK_PARENT, TN__FORK_CHILD } tn__fork_phase;
void tn__parallel_fork(tn__fork_phase phase);
void tn__rng_fork(tn__fork_phase phase);
void tn__heap_fork(tn__fork_phase phase);

/* Of tn__unload: the records of all threads end here, since no thread will end them. */
void tn__threads_end(void);
/* No thread that ends later runs code of the library. */
void tn__threads_forget(void);

/* Calls f(thread, ctx) for every thread that has a record, under the registry's lock. */
void tn__threads_each(void (*f)(tn__thread *, void *), void *ctx);

/* Tallies of threads that have ended. */
tn__tally *tn__thread_ended_tally(void);

static inline void tn__tally_add(_Atomic int64_t *tally, int64_t n)
{
    atomic_store_explicit(tally, atomic_load_explicit(tally, memory_order_relaxed) + n, memory_order_relaxed);
}

#endif
