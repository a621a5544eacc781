/* Threads: the pool of tn__parallel_for, and threads for tasks that may wait. */
#include "core/parallel.h"
#include "core/alloc.h"
#include "core/env.h"
#include "core/error.h"
#include "core/thread.h"
#include <pthread.h>
#include <sched.h>
#include <tenon/device.h>

#if defined(__x86_64__) || defined(__i386__)
#define RELAX() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define RELAX() __asm__ volatile("yield")
#else
#define RELAX() ((void)0)
#endif

enum { SPIN = 4000 };

/* Each thread begins with its own stretch of chunks (so that a tensor's parts stay in one core's cache from one
 * operation to the next) and then helps the others. */
typedef struct stretch {
    _Alignas(TN_CACHE_LINE) _Atomic int64_t next;
    int64_t end;
} stretch;

/* The caller sets CALLED, the worker RUNNING and then IDLE. A caller who has done all the chunks itself takes a call back
 * that no worker has answered yet: on a busy machine nobody waits for a thread that does not get to run. */
enum { IDLE, CALLED, RUNNING };

typedef struct worker {
    _Alignas(TN_CACHE_LINE) _Atomic int state;
    _Atomic bool sleeping;
    int kept_off; /* the core where the thread may not run; -1: none */
    pthread_t thread;
    pthread_cond_t wake;
} worker;

static struct {
    pthread_mutex_t taken; /* held by the thread whose job runs */
    pthread_mutex_t lock;  /* for going to sleep */
    pthread_cond_t done;
    _Atomic bool waiting; /* the caller sleeps until a worker is done */
    _Atomic bool quit;
    int workers;        /* started */
    _Atomic int wanted; /* threads, the caller included; 0: not decided yet */
    pthread_once_t once;
    /* the job */
    tn__body body;
    void *ctx;
    int64_t n, grain;
    int parts;
    stretch part[TN__MAX_THREADS];
    worker worker[TN__MAX_THREADS]; /* [0] is the caller */
} pool = {.taken = PTHREAD_MUTEX_INITIALIZER,
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER,
          .once = PTHREAD_ONCE_INIT};

/* The child has no workers: it starts its own when it needs them. */
static void forget_workers(void)
{
    pthread_mutex_init(&pool.taken, NULL);
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.done, NULL);
    pool.workers = 0;
    atomic_store(&pool.waiting, false);
    atomic_store(&pool.quit, false);
}

static void task_threads_fork(tn__fork_phase phase);

void tn__parallel_fork(tn__fork_phase phase)
{
    if (phase == TN__FORK_PREPARE)
        pthread_mutex_lock(&pool.taken);
    else if (phase == TN__FORK_PARENT)
        pthread_mutex_unlock(&pool.taken);
    else
        forget_workers();
    task_threads_fork(phase);
}

static void pool_start(void)
{
    int64_t n = tn__env_number("TENON_NUM_THREADS", 0);
    if (n < 1)
        n = tn__env_cpu_count();
    int none = 0;
    atomic_compare_exchange_strong(&pool.wanted, &none, (int)TN_MIN(n, TN__MAX_THREADS));
}

int tn__num_threads(void)
{
    pthread_once(&pool.once, pool_start);
    return atomic_load_explicit(&pool.wanted, memory_order_relaxed);
}

static void run_stretch(stretch *s)
{
    for (;;) {
        int64_t chunk = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed);
        if (chunk >= s->end)
            return;
        int64_t begin = chunk * pool.grain;
        pool.body(pool.ctx, begin, TN_MIN(begin + pool.grain, pool.n));
    }
}

static void run_part(int me)
{
    for (int i = 0; i < pool.parts; i++)
        run_stretch(&pool.part[(me + i) % pool.parts]);
}

static bool answer(worker *w)
{
    int called = CALLED;
    return atomic_compare_exchange_strong(&w->state, &called, RUNNING);
}

static bool answered_within_spin(worker *w)
{
    for (int i = 0; i < SPIN; i++) {
        if (atomic_load_explicit(&w->state, memory_order_relaxed) == CALLED && answer(w))
            return true;
        RELAX();
    }
    return false;
}

/* A call that wakes a worker is often taken back before it is awake: it spins then for the next one. */
static void await_call(worker *w)
{
    while (!answered_within_spin(w)) {
        pthread_mutex_lock(&pool.lock);
        atomic_store(&w->sleeping, true);
        if (atomic_load(&w->state) != CALLED)
            pthread_cond_wait(&w->wake, &pool.lock);
        atomic_store(&w->sleeping, false);
        pthread_mutex_unlock(&pool.lock);
    }
}

static void *work(void *arg)
{
    worker *w = arg;
    tn__self()->in_parallel = true;
    for (;;) {
        await_call(w);
        bool quit = atomic_load(&pool.quit);
        if (!quit)
            run_part((int)(w - pool.worker));
        atomic_store(&w->state, IDLE);
        if (atomic_load(&pool.waiting)) {
            pthread_mutex_lock(&pool.lock);
            pthread_cond_signal(&pool.done);
            pthread_mutex_unlock(&pool.lock);
        }
        if (quit)
            return NULL;
    }
}

/* A thread is often woken on the core of the one who wakes it. There it waits for that core while another is free, or takes it
 * and spins while the caller stands still (a call of 10 us then takes 100): so it may run on all cores but the caller's. */
static void keep_off_this_core(worker *w)
{
#if defined(__linux__)
    int here = sched_getcpu();
    cpu_set_t others;
    if (here < 0 || here == w->kept_off || sched_getaffinity(0, sizeof others, &others))
        return;
    CPU_CLR((size_t)here, &others);
    if (CPU_COUNT(&others) > 0 && pthread_setaffinity_np(w->thread, sizeof others, &others) == 0)
        w->kept_off = here;
#else
    (void)w;
#endif
}

/* Starts what is missing; fewer workers than wanted is not an error. Under 'taken'. */
static void start_workers(int want)
{
    while (pool.workers < want - 1) {
        worker *w = &pool.worker[pool.workers + 1];
        atomic_store(&w->state, IDLE);
        atomic_store(&w->sleeping, false);
        w->kept_off = -1;
        pthread_cond_init(&w->wake, NULL);
        if (pthread_create(&w->thread, NULL, work, w) != 0)
            return;
        keep_off_this_core(w);
        pool.workers++;
    }
}

static void call(worker *w)
{
    atomic_store(&w->state, CALLED);
    if (atomic_load(&w->sleeping)) {
        keep_off_this_core(w);
        pthread_mutex_lock(&pool.lock);
        pthread_cond_signal(&w->wake);
        pthread_mutex_unlock(&pool.lock);
    }
}

/* Under 'taken'. */
static void stop_workers(void)
{
    atomic_store(&pool.quit, true);
    for (int i = 1; i <= pool.workers; i++)
        call(&pool.worker[i]);
    for (int i = 1; i <= pool.workers; i++)
        pthread_join(pool.worker[i].thread, NULL);
    pool.workers = 0;
    atomic_store(&pool.quit, false);
}

/* Waits for a worker that has answered; a call that has not been answered is taken back. */
static void dismiss(worker *w)
{
    int called = CALLED;
    if (atomic_compare_exchange_strong(&w->state, &called, IDLE))
        return;
    for (int i = 0; i < SPIN; i++) {
        if (atomic_load_explicit(&w->state, memory_order_acquire) == IDLE)
            return;
        RELAX();
    }
    pthread_mutex_lock(&pool.lock);
    atomic_store(&pool.waiting, true);
    while (atomic_load(&w->state) != IDLE)
        pthread_cond_wait(&pool.done, &pool.lock);
    atomic_store(&pool.waiting, false);
    pthread_mutex_unlock(&pool.lock);
}

static void share(int64_t chunks)
{
    pool.parts = (int)TN_MIN((int64_t)pool.workers + 1, chunks);
    for (int i = 0; i < pool.parts; i++) {
        atomic_store_explicit(&pool.part[i].next, chunks * i / pool.parts, memory_order_relaxed);
        pool.part[i].end = chunks * (i + 1) / pool.parts;
    }
}

void tn__parallel_for(int64_t n, int64_t grain, tn__body body, void *ctx)
{
    if (n <= 0)
        return;
    grain = TN_MAX(grain, 1);
    int64_t chunks = tn__div_up(n, grain);
    tn__thread *self = tn__self();
    int want = tn__num_threads();
    if (chunks == 1 || want == 1 || self->in_parallel || self->emergency || pthread_mutex_trylock(&pool.taken) != 0) {
        for (int64_t i = 0; i < n; i += grain)
            body(ctx, i, TN_MIN(i + grain, n));
        return;
    }
    start_workers(want);
    pool.body = body;
    pool.ctx = ctx;
    pool.n = n;
    pool.grain = grain;
    share(chunks);
    for (int i = 1; i < pool.parts; i++)
        call(&pool.worker[i]);
    self->in_parallel = true;
    run_part(0);
    self->in_parallel = false;
    for (int i = 1; i < pool.parts; i++)
        dismiss(&pool.worker[i]);
    pthread_mutex_unlock(&pool.taken);
}

/* ---- threads for tasks, which may wait ---- */

/* What one call shares with its threads. */
typedef struct task_batch {
    tn__task task;
    void *ctx;
    int64_t left;
    pthread_cond_t done;
} task_batch;

typedef struct task_thread {
    pthread_cond_t wake;
    pthread_t thread;
    task_batch *call; /* NULL: idle */
    int64_t i;
    bool quit;
    struct task_thread *next;
} task_thread;

static struct {
    pthread_mutex_t lock;
    task_thread *idle;
} task_threads = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* In a child its threads are gone; what they lay in stays with the process. */
static void task_threads_fork(tn__fork_phase phase)
{
    if (phase == TN__FORK_PREPARE) {
        pthread_mutex_lock(&task_threads.lock);
    } else if (phase == TN__FORK_PARENT) {
        pthread_mutex_unlock(&task_threads.lock);
    } else {
        pthread_mutex_init(&task_threads.lock, NULL);
        task_threads.idle = NULL;
    }
}

static void *run_tasks(void *arg)
{
    task_thread *h = arg;
    pthread_mutex_lock(&task_threads.lock);
    for (;;) {
        while (!h->call && !h->quit)
            pthread_cond_wait(&h->wake, &task_threads.lock);
        if (h->quit)
            break;
        task_batch *c = h->call;
        pthread_mutex_unlock(&task_threads.lock);
        c->task(c->ctx, h->i);
        pthread_mutex_lock(&task_threads.lock);
        h->call = NULL;
        h->next = task_threads.idle;
        task_threads.idle = h;
        if (--c->left == 0)
            pthread_cond_signal(&c->done);
    }
    pthread_mutex_unlock(&task_threads.lock);
    return NULL;
}

/* A thread that waits for work; NULL where none can be had. Under the lock. */
static task_thread *get_task_thread(void)
{
    task_thread *h = task_threads.idle;
    if (h) {
        task_threads.idle = h->next;
        return h;
    }
    h = tn__block_zero(sizeof *h);
    if (!h)
        return NULL;
    pthread_cond_init(&h->wake, NULL);
    if (pthread_create(&h->thread, NULL, run_tasks, h)) {
        pthread_cond_destroy(&h->wake);
        tn__block_put(h, sizeof *h);
        return NULL;
    }
    return h;
}

static void stop_task_threads(void)
{
    pthread_mutex_lock(&task_threads.lock);
    task_thread *h = task_threads.idle, *next;
    task_threads.idle = NULL;
    for (next = h; next; next = next->next) {
        next->quit = true;
        pthread_cond_signal(&next->wake);
    }
    pthread_mutex_unlock(&task_threads.lock);
    for (; h; h = next) {
        next = h->next;
        pthread_join(h->thread, NULL);
        pthread_cond_destroy(&h->wake);
        tn__block_put(h, sizeof *h);
    }
}

void tn__run_tasks(int64_t n, tn__task task, void *ctx)
{
    task_batch c = {.task = task, .ctx = ctx};
    uint64_t mine = 1; /* bit i: here */
    pthread_cond_init(&c.done, NULL);
    pthread_mutex_lock(&task_threads.lock);
    for (int64_t i = 1; i < n; i++) {
        task_thread *h = i < 64 ? get_task_thread() : NULL;
        if (!h) {
            mine |= UINT64_C(1) << TN_MIN(i, 63);
            continue;
        }
        h->call = &c;
        h->i = i;
        c.left++;
        pthread_cond_signal(&h->wake);
    }
    pthread_mutex_unlock(&task_threads.lock);
    for (int64_t i = 0; i < n; i++)
        if (mine >> TN_MIN(i, 63) & 1)
            task(ctx, i);
    pthread_mutex_lock(&task_threads.lock);
    while (c.left)
        pthread_cond_wait(&c.done, &task_threads.lock);
    pthread_mutex_unlock(&task_threads.lock);
    pthread_cond_destroy(&c.done);
}

void tn__parallel_end(void)
{
    stop_workers();
    stop_task_threads();
}

tn_status tn_set_num_threads(int32_t n)
{
    tn__enter(TN__NOWHERE);
    if (n < 1)
        return tn__error(TN_EINVAL, "set_num_threads expects a positive integer");
    if (n > TN__MAX_THREADS)
        return tn__error(TN_EINVAL, "set_num_threads expects at most %d threads, got %d", TN__MAX_THREADS, (int)n);
    pthread_once(&pool.once, pool_start);
    pthread_mutex_lock(&pool.taken);
    int want = n;
    if (pool.workers > want - 1)
        stop_workers();
    atomic_store(&pool.wanted, want);
    pthread_mutex_unlock(&pool.taken);
    return TN_OK;
}

int32_t tn_get_num_threads(void)
{
    return tn__num_threads();
}
