/* The loader. Batches are made by make_batch, from (seed, epoch, batch) alone: in the caller's thread, or ahead of it
 * in a thread of the loader's own (not of core/parallel.h's pool: it waits, and a pool's thread must not).
 *
 * That thread works within one epoch: it is told where to begin, makes batches into a ring while there is room, and
 * then waits. An error is put beside the ring; the caller's next call reports it and lets the thread try again. The
 * thread is started with the first batch and joined when the loader is freed or set to another place.
 *
 * Batches for a GPU are made in pinned memory, and sent there by the thread that asks for them, on its current stream,
 * without waiting: the memory of a batch is used again once its copy is done.
 */
#include "autograd/functions.h"
#include "backend/backend.h"
#include "core/alloc.h"
#include "core/philox.h"
#include "core/rng.h"
#include "data/bytes.h"
#include "data/dataset.h"
#include <pthread.h>
#include <signal.h>
#include <tenon/data.h>
#include <unistd.h>

enum { TEXT = 1024 };

#define ROWS_MAX (INT64_C(1) << 40) /* of a loader that has an order */

/* One of the tensors: the address of row 0 and bytes to the next. */
typedef struct column {
    tn_tensor *t; /* owned */
    const char *rows;
    size_t row_bytes, step;
} column;

struct tn_loader {
    /* set when it is made */
    size_t n;             /* tensors in a batch */
    column *column;       /* [n]; NULL where there is a dataset: */
    tn__dataset *dataset; /* owned */
    tn_sampler sampler;   /* order is NULL: none */
    int64_t rows;         /* that there are */
    int64_t samples;      /* of an epoch: rows, or what the sampler says */
    int64_t batch_size, batches;
    int32_t slots; /* of the ring; 1 where there is no thread: a place for the batch in the making */
    bool prefetch;
    bool pinned;         /* batches are made in pinned memory */
    tn_device device;    /* where they go; the CPU: nowhere */
    tn_device gpu;       /* the one whose driver pins the memory */
    const char *warning; /* "" or what was asked for and cannot be */
    pid_t pid;           /* of the process that the thread is in */
    /* the caller's */
    uint64_t seed;
    int64_t epoch, batch; /* the next one */
    bool under_way;       /* the thread has been told of this epoch */
    bool threaded;        /* the thread is there */
    bool at_hand; /* the next batch has left the ring (the place behind its slots), but not been handed out yet */
    /* whoever makes batches: the thread while it is there */
    int64_t *order;  /* [samples] where shuffled, or a sampler says */
    int64_t ordered; /* the epoch that it is for; -1: none */
    /* between the two, under the lock */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wanted, ready;
    bool quit;
    int64_t making; /* the epoch */
    int64_t last;   /* batches up to this one are wanted */
    int64_t taken;
    _Atomic int64_t made; /* a child of fork() reads it without the lock */
    tn_tensor **ring;     /* [slots][n]: batch b is in slot b % slots, for taken <= b < made */
    tn_status error;
    char text[TEXT];
};

/* ---- the order ---- */

static bool has_order(const tn_loader_options *o)
{
    return o->shuffle || o->sampler;
}

/* Fisher-Yates with a stream of Philox blocks that no other use of the seed has. 64 random bits for each choice out of
 * at most ROWS_MAX: '%' makes none of them likelier than another by more than 2^-24 of itself. */
static void shuffle(int64_t *order, int64_t n, uint64_t seed, uint64_t epoch)
{
    const uint32_t tag = 0x6c6f6164; /* "load" */
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    tn__u32x4 block = {{0}};
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t i = n - 1; i > 0; i--) {
        uint64_t k = (uint64_t)(n - 1 - i);
        if (k % 2 == 0) {
            const uint32_t counter[4] = {(uint32_t)(k / 2), (uint32_t)(k / 2 >> 32), (uint32_t)epoch,
                                         tag ^ (uint32_t)(epoch >> 32)};
            block = tn__philox(key, counter);
        }
        const uint32_t *v = block.v + k % 2 * 2;
        int64_t j = (int64_t)(((uint64_t)v[1] << 32 | v[0]) % (uint64_t)(i + 1)), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

/* ---- one batch ---- */

static void gather(const column *c, const int64_t *order, int64_t begin, int64_t count, char *to)
{
    size_t n = c->row_bytes;
    if (!order && c->step == n) {
        memcpy(to, c->rows + (size_t)begin * n, (size_t)count * n);
        return;
    }
    for (int64_t i = 0; i < count; i++, to += n) {
        int64_t row = order ? order[begin + i] : begin + i;
        memcpy(to, c->rows + (size_t)row * c->step, n);
    }
}

static tn_tensor *make_rows(const column *c, const int64_t *order, int64_t begin, int64_t count, bool pinned)
{
    tn__spec s = {.dtype = c->t->dtype, .ndim = c->t->ndim};
    for (int32_t d = 0; d < s.ndim; d++)
        s.shape[d] = d ? c->t->shape[d] : count;
    tn_tensor *t = pinned ? tn__tensor_make_pinned(&s) : tn__tensor_make(&s, TN_CPU);
    if (t && t->numel)
        gather(c, order, begin, count, tn__tensor_data(t));
    return t;
}

static void release_batch(tn_tensor **out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tn__object_release(out[i]);
}

/* The rows of an epoch, where there is an order. */
static tn_status set_order(tn_loader *l, int64_t epoch)
{
    tn_status e = TN_OK;
    l->ordered = -1;
    if (l->sampler.order)
        e = tn__sampler_order(&l->sampler, l->seed, epoch, l->rows, l->order, l->samples);
    else
        shuffle(l->order, l->rows, l->seed, (uint64_t)epoch);
    l->ordered = e ? -1 : epoch;
    return e;
}

static tn_status make_columns(const tn_loader *l, int64_t begin, int64_t count, tn_tensor **out)
{
    size_t made = 0;
    while (made < l->n && (out[made] = make_rows(&l->column[made], l->order, begin, count, l->pinned)))
        made++;
    if (made == l->n)
        return TN_OK;
    release_batch(out, made);
    return tn_error_code();
}

/* out[0 .. n) are new, in no scope; on error none is left. */
static tn_status make_batch(tn_loader *l, int64_t epoch, int64_t batch, tn_tensor **out)
{
    tn_status e = l->order && l->ordered != epoch ? set_order(l, epoch) : TN_OK;
    if (e)
        return e;
    int32_t *current = &tn__self()->current_device[l->gpu.type], was = *current;
    int64_t begin = batch * l->batch_size, count = TN_MIN(l->batch_size, l->samples - begin);
    *current = l->gpu.index;
    if (l->dataset)
        e = tn__dataset_batch(l->dataset, &(tn__batch){l->order, begin, count, l->seed, epoch, l->pinned}, out);
    else
        e = make_columns(l, begin, count, out);
    *current = was;
    return e;
}

/* ---- the thread ---- */

static tn_tensor **hand_of(const tn_loader *l)
{
    return l->ring + (size_t)l->slots * l->n;
}

static tn_tensor **slot_of(const tn_loader *l, int64_t batch)
{
    return l->ring + (size_t)(batch % l->slots) * l->n;
}

static int64_t made_so_far(tn_loader *l)
{
    return atomic_load_explicit(&l->made, memory_order_acquire);
}

/* Under the lock. False: the thread is to end. */
static bool await_work(tn_loader *l, int64_t *epoch, int64_t *batch)
{
    for (;;) {
        *epoch = l->making;
        *batch = made_so_far(l);
        if (l->quit)
            return false;
        if (!l->error && *batch < l->last && *batch - l->taken < l->slots)
            return true;
        pthread_cond_wait(&l->wanted, &l->lock);
    }
}

static void note_error(tn_loader *l, tn_status e)
{
    l->error = e;
    size_t n = strnlen(tn_error_message(), TEXT - 1);
    memcpy(l->text, tn_error_message(), n);
    l->text[n] = '\0';
    tn_error_clear();
}

static void *work(void *arg)
{
    tn_loader *l = arg;
    int64_t epoch, batch;
    pthread_mutex_lock(&l->lock);
    while (await_work(l, &epoch, &batch)) {
        pthread_mutex_unlock(&l->lock);
        tn_status e = make_batch(l, epoch, batch, slot_of(l, batch));
        pthread_mutex_lock(&l->lock);
        if (e)
            note_error(l, e);
        else
            atomic_store_explicit(&l->made, batch + 1, memory_order_release);
        pthread_cond_signal(&l->ready);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* Signals are for the program's own threads, but for those of a fault, which its handlers must see. Where no thread can
 * be had, batches are made when they are asked for. */
static void start_thread(tn_loader *l)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < TN_COUNT(faults); i++)
        sigdelset(&blocked, faults[i]);
    if (pthread_sigmask(SIG_SETMASK, &blocked, &before) != 0)
        return;
    l->quit = false;
    l->threaded = pthread_create(&l->thread, NULL, work, l) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void drop_ring(tn_loader *l)
{
    for (int64_t b = l->taken; b < made_so_far(l); b++)
        release_batch(slot_of(l, b), l->n);
    if (l->at_hand)
        release_batch(hand_of(l), l->n);
    l->at_hand = false;
    l->taken = 0;
    atomic_store(&l->made, 0);
    l->last = 0;
    l->error = TN_OK;
    l->under_way = false;
}

static void stop_thread(tn_loader *l)
{
    if (l->threaded) {
        pthread_mutex_lock(&l->lock);
        l->quit = true;
        pthread_cond_signal(&l->wanted);
        pthread_mutex_unlock(&l->lock);
        pthread_join(l->thread, NULL);
        l->threaded = false;
    }
    drop_ring(l);
}

/* A child of fork() has no thread, a lock in any state, and perhaps half an order. What the thread had finished can be
 * freed; a batch that it was at is lost to the child. The GPU's driver pins no memory there. */
static void after_fork(tn_loader *l)
{
    if (!(l->prefetch || l->pinned) || l->pid == getpid())
        return;
    l->prefetch = l->pinned = false;
    if (l->threaded)
        l->ordered = -1;
    l->threaded = false;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->wanted, NULL);
    pthread_cond_init(&l->ready, NULL);
    drop_ring(l);
}

static void begin_epoch(tn_loader *l)
{
    if (!l->threaded)
        start_thread(l);
    pthread_mutex_lock(&l->lock);
    l->making = l->epoch;
    l->taken = l->batch;
    atomic_store_explicit(&l->made, l->batch, memory_order_release);
    l->last = l->threaded ? l->batches : 0;
    pthread_cond_signal(&l->wanted);
    pthread_mutex_unlock(&l->lock);
    l->under_way = l->threaded;
}

/* The next batch, out of the ring. Batches made before an error come first. */
static tn_status take_batch(tn_loader *l, tn_tensor **out)
{
    pthread_mutex_lock(&l->lock);
    while (made_so_far(l) == l->taken && !l->error)
        pthread_cond_wait(&l->ready, &l->lock);
    tn_status e = TN_OK;
    if (made_so_far(l) > l->taken) {
        memcpy(out, slot_of(l, l->taken), l->n * sizeof *out);
        l->taken++;
    } else {
        e = tn__error(l->error, "%s", l->text);
        l->error = TN_OK;
    }
    pthread_cond_signal(&l->wanted);
    pthread_mutex_unlock(&l->lock);
    return e;
}

/* The batch at hand goes to its device, on the thread's current stream. After an error all of it is sent next time: what
 * was there may have gone with a reset of the device. */
static tn_status send_batch(tn_loader *l)
{
    tn_tensor **hand = hand_of(l), **there = hand + l->n;
    bool was = tn__set_no_grad(true);
    size_t sent = 0;
    for (; sent < l->n && (there[sent] = tn_to(hand[sent], .device = l->device, .non_blocking = true)); sent++)
        tn__scope_disown(tn__self(), there[sent]);
    tn__set_no_grad(was);
    if (sent < l->n) {
        release_batch(there, sent);
        return tn_error_code();
    }
    release_batch(hand, l->n);
    memcpy(hand, there, l->n * sizeof *hand);
    return TN_OK;
}

/* out[0 .. n): the next batch, where it is to be. */
static tn_status deliver(tn_loader *l, tn_tensor **out)
{
    tn_status e = TN_OK;
    if (!l->at_hand)
        e = l->under_way ? take_batch(l, hand_of(l)) : make_batch(l, l->epoch, l->batch, hand_of(l));
    if (e)
        return e;
    l->at_hand = true;
    if (l->device.type != TN_DEVICE_CPU && (e = send_batch(l)))
        return e;
    memcpy(out, hand_of(l), l->n * sizeof *out);
    l->at_hand = false;
    return TN_OK;
}

/* ---- making one ---- */

static bool rows_are_contiguous(const tn_tensor *t)
{
    return t->ndim > 0 && tn__is_contiguous(t->shape + 1, t->stride + 1, t->ndim - 1);
}

static tn_status check_tensor(const tn_tensor *t, size_t i)
{
    if (!t)
        return tn__poisoned("tn_loader_new");
    if (t == TN_NONE)
        return tn__error(TN_ETYPE, "tn_loader_new: tensor %zu is TN_NONE", i);
    if (t->device.type != TN_DEVICE_CPU)
        return tn__error(TN_EDEVICE,
                         "tn_loader_new: tensor %zu is on %s, batches are gathered on the cpu: tn_cpu(t), and "
                         "move each batch",
                         i, tn_device_text(t->device).s);
    if (t->ndim == 0)
        return tn__error(TN_EINVAL, "tn_loader_new: tensor %zu has no dimension to walk over: it is 0-dim", i);
    return TN_OK;
}

/* A tensor of the loader's own over t's memory, or a copy with contiguous rows: what t is moved to, as a parameter of a
 * module may be, is not the loader's business. */
static tn_status fill_column(column *c, tn_tensor *t)
{
    tn__thread *self = tn__self();
    tn_scope scope;
    tn__scope_push(self, &scope);
    bool was = tn__set_no_grad(true);
    c->t = rows_are_contiguous(t) ? tn_detach(t) : tn_contiguous(t);
    tn__set_no_grad(was);
    if (c->t)
        tn__object_retain(c->t);
    tn__scope_pop(self, &scope, NULL);
    if (!c->t)
        return tn_error_code();
    size_t item = tn__dtype_size(t->dtype);
    c->rows = tn__tensor_data(c->t);
    c->row_bytes = (size_t)tn__numel(c->t->shape + 1, c->t->ndim - 1) * item;
    c->step = (size_t)c->t->stride[0] * item;
    return TN_OK;
}

static tn_status check_tensors(tn_tensors tensors)
{
    if (tensors.n == 0 || !tensors.t)
        return tn__error(TN_EINVAL, "tn_loader_new: a list of one or more tensors was expected");
    for (size_t i = 0; i < tensors.n; i++) {
        tn_status e = check_tensor(tensors.t[i], i);
        if (e)
            return e;
        if (tensors.t[i]->shape[0] != tensors.t[0]->shape[0])
            return tn__error(TN_EINVAL, "Size mismatch between tensors: tensor 0 has %lld rows, tensor %zu has %lld",
                             (long long)tensors.t[0]->shape[0], i, (long long)tensors.t[i]->shape[0]);
    }
    return TN_OK;
}

static tn_status check_options(const tn_loader_options *o, int64_t rows)
{
    if (has_order(o) && rows > ROWS_MAX)
        return tn__error(TN_EINVAL, "tn_loader_new: %lld rows are more than can be shuffled", (long long)rows);
    if (o->shuffle && o->sampler)
        return tn__error(TN_EVALUE, "sampler option is mutually exclusive with shuffle");
    if (o->sampler && (o->sampler->struct_size < sizeof *o->sampler || !o->sampler->order || o->sampler->length < 0 ||
                       o->sampler->length > ROWS_MAX))
        return tn__error(TN_EINVAL, "a loader's sampler has its size, an 'order', and a length of 0 to 2^40");
    if (o->batch_size < 0)
        return tn__error(TN_EVALUE, "batch_size should be a positive integer value, but got batch_size=%lld",
                         (long long)o->batch_size);
    if (o->prefetch < 0)
        return tn__error(TN_EVALUE, "prefetch should be a number of batches, 0 or more, but got prefetch=%d",
                         (int)o->prefetch);
    return TN_OK;
}

/* Where batches are made and where they go. */
static tn_status set_device(tn_loader *l, const tn_loader_options *o)
{
    l->warning = "";
    l->device = TN_CPU;
    l->gpu = TN_CPU;
    if (o->device.type && tn__device_resolve(o->device, &l->device))
        return tn_error_code();
    const tn__backend *pinner = o->pin_memory || tn__backend_of(l->device)->mover ? tn__accelerator() : NULL;
    l->pinned = pinner != NULL;
    if (pinner)
        l->gpu =
            tn__is_gpu(l->device) ? l->device : tn_device_make(pinner->type, tn__self()->current_device[pinner->type]);
    if (o->pin_memory && !l->pinned)
        l->warning =
            "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't "
            "be used.";
    return TN_OK;
}

static uint64_t drawn_seed(void)
{
    tn_rng_state s = tn__rng_take(TN_CPU, 1);
    tn__u32x4 block = tn__philox_block(s.seed, s.offset);
    return (uint64_t)block.v[1] << 32 | block.v[0];
}

static void set_up(tn_loader *l, size_t n, int64_t rows, const tn_loader_options *o)
{
    l->n = n;
    l->rows = rows;
    l->samples = rows;
    if (o->sampler) {
        l->sampler = *o->sampler;
        l->samples = l->sampler.length ? l->sampler.length : rows;
    }
    l->batch_size = o->batch_size ? o->batch_size : 1;
    l->batches = l->samples / l->batch_size + (!o->drop_last && l->samples % l->batch_size != 0);
    l->seed = o->seed || !(has_order(o) || l->dataset) ? o->seed : drawn_seed();
    l->prefetch = o->prefetch > 0 && l->batches > 0;
    l->slots = l->prefetch ? (int32_t)TN_MIN((int64_t)o->prefetch, l->batches) : 1;
    l->pid = getpid();
    l->ordered = -1;
    atomic_init(&l->made, 0);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->wanted, NULL);
    pthread_cond_init(&l->ready, NULL);
}

static size_t order_bytes(const tn_loader *l)
{
    return (size_t)l->samples * sizeof *l->order;
}

/* The slots, the place behind them, and one for that batch on its device. */
static size_t ring_bytes(const tn_loader *l)
{
    return (size_t)(l->slots + 2) * l->n * sizeof *l->ring;
}

static tn_status make_room(tn_loader *l, const tn_loader_options *o)
{
    const size_t ring = ring_bytes(l), order = order_bytes(l);
    l->ring = tn__block_get(ring);
    l->order = has_order(o) ? tn__block_get(order) : NULL;
    return l->ring && (l->order || !has_order(o)) ? TN_OK : tn__error_memory("a loader", ring + order);
}

static tn_status fill_columns(tn_loader *l, tn_tensors tensors)
{
    l->column = tn__block_zero(l->n * sizeof *l->column);
    tn_status e = l->column ? TN_OK : tn__error_memory("a loader", l->n * sizeof *l->column);
    for (size_t i = 0; i < l->n && !e; i++)
        e = fill_column(&l->column[i], tensors.t[i]);
    return e;
}

/* ---- public ---- */

tn_loader *tn_loader_new_opt(tn_tensors tensors, const tn_loader_options *options)
{
    tn_loader_options o;
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    if (check_tensors(tensors) || check_options(&o, tensors.t[0]->shape[0]))
        return NULL;
    if (o.workers)
        return tn__fail(TN_EVALUE, "tn_loader_new: workers=%d, but tensors have no 'get' to call", (int)o.workers);
    tn_loader *l = tn__block_zero(sizeof *l);
    if (!l) {
        tn__error_memory("a loader", sizeof *l);
        return NULL;
    }
    set_up(l, tensors.n, tensors.t[0]->shape[0], &o);
    if (set_device(l, &o) || make_room(l, &o) || fill_columns(l, tensors)) {
        tn_loader_free(l);
        return NULL;
    }
    return l;
}

tn_loader *tn_loader_from_opt(const tn_dataset *dataset, const tn_loader_options *options)
{
    tn_loader_options o;
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    tn__dataset *d = tn__dataset_new(dataset, o.workers);
    int64_t rows = d ? tn__dataset_length(d) : -1;
    tn_loader *l = NULL;
    if (rows >= 0 && !check_options(&o, rows) && !(l = tn__block_zero(sizeof *l)))
        tn__error_memory("a loader", sizeof *l);
    if (!l) {
        tn__dataset_drop(d);
        return NULL;
    }
    l->dataset = d;
    set_up(l, tn__dataset_tensors(d), rows, &o);
    if (!set_device(l, &o) && !make_room(l, &o))
        return l;
    l->dataset = NULL; /* whose ctx is still the caller's */
    tn__dataset_drop(d);
    tn_loader_free(l);
    return NULL;
}

void tn_loader_free(tn_loader *l)
{
    if (!l)
        return;
    after_fork(l);
    stop_thread(l);
    for (size_t i = 0; l->column && i < l->n; i++)
        tn__object_release(l->column[i].t);
    tn__block_put(l->column, l->n * sizeof *l->column);
    tn__block_put(l->ring, ring_bytes(l));
    tn__block_put(l->order, order_bytes(l));
    tn__dataset_free(l->dataset);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->wanted);
    pthread_cond_destroy(&l->ready);
    tn__block_put(l, sizeof *l);
}

/* An epoch begins: a dataset has the length that its batches are counted by. The loader's thread waits meanwhile. */
static tn_status check_length(const tn_loader *l)
{
    if (!l->dataset || l->under_way || l->at_hand)
        return TN_OK;
    int64_t rows = tn__dataset_length(l->dataset);
    if (rows == l->rows)
        return TN_OK;
    return rows < 0 ? tn_error_code()
                    : tn__error(TN_EINVAL, "the length of a dataset changed from %lld to %lld: that needs a new loader",
                                (long long)l->rows, (long long)rows);
}

int32_t(tn_loader_next_at)(const char *site, tn_loader *l, tn_tensor **out, size_t cap)
{
    tn__thread *self = tn__enter(site);
    if (!l) {
        tn__poisoned("tn_loader_next");
        return -1;
    }
    if (!out || cap < l->n) {
        tn__error(TN_EINVAL, "tn_loader_next: room for %zu tensors was expected, got %zu", l->n, out ? cap : 0);
        return -1;
    }
    after_fork(l);
    if (l->batch >= l->batches) {
        l->epoch++;
        l->batch = 0;
        l->under_way = false;
        return 0;
    }
    if (l->batch == 0 && check_length(l))
        return -1;
    if (l->prefetch && !l->under_way)
        begin_epoch(l);
    if (deliver(l, out))
        return -1;
    l->batch++;
    for (size_t i = 0; i < l->n; i++) {
        out[i]->site = self->site; /* the birthplace is where it was asked for */
        tn__scope_adopt(self, out[i]);
    }
    return 1;
}

int32_t(tn_loader_next)(tn_loader *l, tn_tensor **out, size_t cap)
{
    return (tn_loader_next_at)(TN__NOWHERE, l, out, cap);
}

const char *tn_loader_warning(const tn_loader *l)
{
    return l ? l->warning : "";
}

int64_t tn_loader_batches(const tn_loader *l)
{
    return l ? l->batches : 0;
}

tn_loader_state tn_loader_get_state(const tn_loader *l)
{
    return l ? (tn_loader_state){l->seed, l->epoch, l->batch} : (tn_loader_state){0};
}

tn_status tn_loader_set_state(tn_loader *l, tn_loader_state state)
{
    tn__enter(TN__NOWHERE);
    if (!l)
        return tn__poisoned("tn_loader_set_state");
    if (state.epoch < 0 || state.epoch > INT64_MAX / 2 || state.batch < 0 || state.batch > l->batches)
        return tn__error(TN_EVALUE, "tn_loader_set_state: epoch %lld, batch %lld: an epoch has %lld batches",
                         (long long)state.epoch, (long long)state.batch, (long long)l->batches);
    after_fork(l);
    stop_thread(l);
    l->ordered = l->seed == state.seed ? l->ordered : -1;
    l->seed = state.seed;
    l->epoch = state.epoch;
    l->batch = state.batch;
    return TN_OK;
}
