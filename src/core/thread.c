/* What is kept for each thread: made at its first call, freed at its end; all of it across fork(). */
#include "core/thread.h"
#include "core/alloc.h"
#include "core/error.h"
#include "core/object.h"
#include "core/unload.h"
#include <pthread.h>
#include <stdlib.h>

#if defined(__linux__)
_Thread_local tn__thread *tn__tls __attribute__((tls_model("initial-exec")));
#else
_Thread_local tn__thread *tn__tls;
#endif

static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    pthread_key_t key;
    _Atomic bool keyed; /* the key is there */
    tn__thread *threads;
    tn__tally ended;
    tn__thread emergency;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static void thread_end(void *arg)
{
    tn__thread *t = arg;
    tn__tls = t;     /* other destructors may still call us: they must find this record, not make a new one */
    while (t->scope) /* what a thread forgot to close belongs to nobody any more */
        tn__scope_pop(t, t->scope, NULL);
    if (t->engine)
        t->engine_free(t->engine);
    if (t->streams)
        t->streams_free(t->streams);
    tn__cache_flush(t);
    pthread_mutex_lock(&registry.lock);
    if (t->prev)
        t->prev->next = t->next;
    else
        registry.threads = t->next;
    if (t->next)
        t->next->prev = t->prev;
    atomic_fetch_add(&registry.ended.tensors, t->tally.tensors);
    atomic_fetch_add(&registry.ended.small_bytes, t->tally.small_bytes);
    pthread_mutex_unlock(&registry.lock);
    free(t->message);
    tn__tls = NULL;
    free(t);
}

/* Every lock of this floor is taken before a fork, the outermost first: a thread that runs a parallel job allocates. */
static void before_fork(void)
{
    tn__parallel_fork(TN__FORK_PREPARE);
    tn__rng_fork(TN__FORK_PREPARE);
    pthread_mutex_lock(&registry.lock);
    tn__heap_fork(TN__FORK_PREPARE);
}

static void after_fork(tn__fork_phase phase)
{
    tn__heap_fork(phase);
    if (phase == TN__FORK_CHILD)
        pthread_mutex_init(&registry.lock, NULL);
    else
        pthread_mutex_unlock(&registry.lock);
    tn__rng_fork(phase);
    tn__parallel_fork(phase);
}

static void after_fork_parent(void)
{
    after_fork(TN__FORK_PARENT);
}

static void after_fork_child(void)
{
    after_fork(TN__FORK_CHILD);
}

static void registry_start(void)
{
    registry.keyed = pthread_key_create(&registry.key, thread_end) == 0;
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
    registry.emergency.emergency = true;
    tn__unload_watch();
}

tn__thread *tn__thread_start(void)
{
    pthread_once(&registry.once, registry_start);
    tn__thread *t = calloc(1, sizeof *t); /* not through the door: a record must exist before errors can */
    if (!t)
        return &registry.emergency;
    tn__cache_init(t);
    pthread_mutex_lock(&registry.lock);
    t->next = registry.threads;
    if (t->next)
        t->next->prev = t;
    registry.threads = t;
    pthread_mutex_unlock(&registry.lock);
    tn__tls = t;
    if (registry.keyed)
        pthread_setspecific(registry.key, t);
    return t;
}

void tn__threads_forget(void)
{
    if (atomic_exchange(&registry.keyed, false))
        pthread_key_delete(registry.key);
}

void tn__threads_end(void)
{
    tn__threads_forget();
    while (registry.threads)
        thread_end(registry.threads);
}

void tn__threads_each(void (*f)(tn__thread *, void *), void *ctx)
{
    pthread_mutex_lock(&registry.lock);
    for (tn__thread *t = registry.threads; t; t = t->next)
        f(t, ctx);
    pthread_mutex_unlock(&registry.lock);
}

tn__tally *tn__thread_ended_tally(void)
{
    return &registry.ended;
}
