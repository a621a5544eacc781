#include "core/thread.h"
#include "core/alloc.h"
#include "core/error.h"
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
    tn__thread *threads;
    tn__tally ended;
    tn__thread emergency;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static void thread_end(void *arg)
{
    tn__thread *t = arg;
    tn__tls = t; /* other destructors may still call us: they must find this record, not make a new one */
    if (t->engine)
        t->engine_free(t->engine);
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

static void lock_registry(void)
{
    pthread_mutex_lock(&registry.lock);
}

static void unlock_registry(void)
{
    pthread_mutex_unlock(&registry.lock);
}

static void forget_registry(void)
{
    pthread_mutex_init(&registry.lock, NULL);
}

static void registry_start(void)
{
    pthread_key_create(&registry.key, thread_end);
    pthread_atfork(lock_registry, unlock_registry, forget_registry);
    registry.emergency.emergency = true;
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
    pthread_setspecific(registry.key, t);
    return t;
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
