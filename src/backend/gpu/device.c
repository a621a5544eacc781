/* The table of devices: found without making a context, opened at first use, dead after an asynchronous failure, revived
 * by tn_cuda_reset; closed to the children of a process that used it. */
#include "backend/gpu/allocator_settings.h"
#include "backend/gpu/device.h"
#include "backend/gpu/run.h"
#include "core/alloc.h"
#include "core/env.h"
#include "core/error.h"
#include "core/thread.h"
#include "core/unload.h"
#include "core/variables.h"
#include <stdio.h>
#include <tenon/cuda.h>

/* One driver's part of the table. */
typedef struct fleet {
    pthread_mutex_t asking;
    _Atomic bool asked;
    int32_t count;
    bool bad_list;        /* its variable lists no devices */
    int32_t driver_count; /* of devices that the driver shows */
} fleet;

static struct {
    pthread_mutex_t reset; /* one at a time */
    _Atomic bool forked;   /* this is the child of a process that had asked for a driver's devices */
    fleet of[TN__GPU_DRIVERS];
    tn__gpu_device device[TN__GPU_MAX]; /* by number */
} table = {.reset = PTHREAD_MUTEX_INITIALIZER,
           .of = {{.asking = PTHREAD_MUTEX_INITIALIZER}, {.asking = PTHREAD_MUTEX_INITIALIZER}}};
_Static_assert(TN__GPU_DRIVERS == 2, "a mutex for each");

tn__gpu_device *tn__gpu_numbered(int32_t number)
{
    return &table.device[number];
}

tn__gpu_device *tn__gpu_slot(tn_device d)
{
    return &table.device[tn__gpu_number(d)];
}

static fleet *fleet_of(int32_t type)
{
    return &table.of[tn__gpu_number(tn_device_make(type, 0)) / TN__GPU_EACH];
}

static inline bool is_slot(tn_device d)
{
    return d.index >= 0 && d.index < TN__GPU_EACH;
}

/* ---- finding ---- */

/* The drivers' state does not survive a fork: nothing here may touch it in the child. */
static void in_child(void)
{
    atomic_store(&table.forked, true);
    for (int32_t i = 0; i < TN__GPU_MAX; i++)
        atomic_store(&table.device[i].ready, false);
}

bool tn__gpu_forked(void)
{
    return atomic_load_explicit(&table.forked, memory_order_relaxed);
}

static bool set_up(const tn__backend *b, int32_t i, int32_t ordinal)
{
    tn__gpu_device *dev = tn__gpu_slot(tn_device_make(b->type, i));
    dev->driver = b->gpu;
    dev->device = tn_device_make(b->type, i);
    dev->ledger = &b->ledgers[i];
    dev->ordinal = ordinal;
    if (!b->gpu->describe(ordinal, dev))
        return false;
    tn__gpu_join(dev);
    pthread_mutex_init(&dev->lock, NULL);
    atomic_init(&dev->stream.refs, 1);
    dev->stream.device = dev->device;
    return true;
}

static void leave_devices(void);

/* Those of the driver's devices that there are here. */
static int32_t find(const tn__backend *b, fleet *f)
{
    pthread_atfork(NULL, NULL, in_child);
    tn__at_unload(leave_devices);
    int32_t ordinal[TN__GPU_EACH];
    f->driver_count = b->gpu->find();
    if (f->driver_count <= 0)
        return 0;
    int32_t count = tn__gpu_visible(b->gpu, f->driver_count, ordinal);
    f->bad_list = count < 0;
    if (f->bad_list)
        tn__variable_refuse(b->gpu->visible_variable,
                            "it names what is none of the driver's devices, of which there %s %d",
                            f->driver_count == 1 ? "is" : "are", (int)f->driver_count);
    for (int32_t i = 0; i < count; i++)
        if (!set_up(b, i, ordinal[i]))
            return i;
    return TN_MAX(count, 0);
}

int32_t tn__gpu_count(int32_t type)
{
    fleet *f = fleet_of(type);
    if (TN_UNLIKELY(!atomic_load_explicit(&f->asked, memory_order_acquire))) {
        const tn__backend *b = tn__backends[type];
        pthread_mutex_lock(&f->asking);
        if (!atomic_load(&f->asked))
            f->count = b && b->gpu ? find(b, f) : 0;
        atomic_store(&f->asked, true);
        pthread_mutex_unlock(&f->asking);
    }
    return f->count;
}

tn_status tn__gpu_why_none(int32_t type)
{
    const fleet *f = fleet_of(type);
    const tn__gpu_driver *driver = tn__backends[type]->gpu;
    if (tn__gpu_count(type))
        return TN_OK;
    return f->bad_list ? tn__gpu_bad_list(driver, f->driver_count) : driver->why_none();
}

tn_device tn__gpu_default(void)
{
    int32_t first = TN_DEVICE_INVALID;
    for (int32_t type = TN_DEVICE_CPU; type < TN_DEVICE_META; type++)
        if (tn__backends[type] && tn__backends[type]->gpu) {
            if (tn__gpu_count(type) > 0)
                return tn_device_make(type, -1);
            first = first < 0 ? type : first;
        }
    return tn_device_make(first, -1);
}

tn_status tn__gpu_resolve(tn_device asked, tn_device *out)
{
    if (asked.type == TN_DEVICE_DEFAULT)
        asked = tn__gpu_default();
    if (!tn__is_gpu(asked))
        return asked.type == TN_DEVICE_INVALID && tn_error_code()
                   ? tn_error_code()
                   : tn__error(TN_EVALUE, "Expected a %s device, but got: %s",
                               tn__backends[tn__gpu_default().type]->word, tn_device_text(asked).s);
    return tn__device_resolve(asked, out);
}

/* ---- first use ---- */

static tn__gpu_result make_fault_words(tn__gpu_device *dev)
{
    void *host;
    tn__gpu_result r = dev->driver->host_get(sizeof *dev->fault, &host, &dev->fault_address);
    if (r)
        return r;
    memset(host, 0, sizeof *dev->fault);
    dev->fault = host;
    return TN__GPU_OK;
}

/* What it has of its own in the context, which is current: the more so where others share that. */
static tn__gpu_result make_own(tn__gpu_device *dev, const char **what)
{
    int32_t normal = 0;
    void *stream = NULL;
    tn__gpu_result r = TN__GPU_OK;
    *what = "making a default stream";
    if (dev->first != dev)
        r = dev->driver->stream_new(&normal, &stream);
    if (r)
        return r;
    *what = "allocating pinned memory";
    r = make_fault_words(dev);
    if (!r)
        dev->stream.handle = stream;
    else if (stream)
        dev->driver->stream_destroy(stream);
    return r;
}

/* Under the lock. A device that cannot be opened is not dead: the next use tries again. */
static tn_status open_device(tn__gpu_device *dev)
{
    void *context;
    char report[512];
    if (tn__gpu_settings_check())
        return tn_error_code();
    const tn__gpu_way way = tn__gpu_how_to_wait();
    if (way != TN__GPU_WAY_UNSAID && dev->driver->context_way)
        dev->driver->context_way(dev, way);
    tn__gpu_result r = dev->driver->context_retain(dev, &context);
    const char *what = "making a context";
    if (!r) {
        r = dev->driver->context_set(context);
        if (!r)
            r = dev->driver->limits(dev, &dev->limits);
        if (!r)
            r = make_own(dev, &what);
        if (r)
            dev->driver->context_release(dev);
    }
    if (r) {
        tn__gpu_report(dev->driver, report, sizeof report);
        return tn__gpu_plain_failure(dev, r, what, report);
    }
    dev->context = context;
    if (!dev->memory_limit) {
        const char *limit = tn__env_text(dev->driver->limit_variable);
        dev->memory_limit = tn__env_bytes(dev->driver->limit_variable, limit && *limit ? -1 : INT64_MAX);
    }
    dev->limits.shuffle = tn__env_flag("TENON_GPU_SHUFFLE", true);
    dev->blocking = tn__env_flag(dev->driver->blocking_variable, false);
    atomic_store_explicit(&dev->ready, true, memory_order_release);
    return TN_OK;
}

tn_status tn__gpu_refuse_child(int32_t type)
{
    const char *label = tn__backends[type]->gpu->label;
    return tn__error(TN_EDEVICE,
                     "Cannot re-initialize %s in forked subprocess. To use %s with multiprocessing, you must use the "
                     "'spawn' start method\n  this process is a fork() of one that had used %s: exec a program in it, "
                     "or fork before the first use; the cpu works here",
                     label, label, label);
}

/* ---- the thread's context, as it was found ---- */

/* Only CUDA has contexts that are current on a thread. */
static void give_back(tn__thread *t)
{
    const tn__gpu_driver *driver = tn__backends[TN_DEVICE_CUDA]->gpu;
    void *found = t->found_context, *now;
    t->found_context = NULL;
    if (driver->context_get(&now) == TN__GPU_OK && now != found)
        driver->context_set(found); /* it may be gone: then there is nothing to give back */
}

/* Another context is about to become current. A thread that had none keeps ours: so do threads of CUDA's runtime. */
static void remember(const tn__gpu_driver *driver)
{
    void *now;
    tn__thread *t = tn__self();
    if (!t->inside || t->emergency || t->found_context || driver->context_get(&now) != TN__GPU_OK)
        return;
    t->found_context = now;
    t->give_back = give_back;
}

static TN_COLD tn__gpu_device *use_slow(tn_device d)
{
    int32_t n = tn__gpu_count(d.type);
    if (!n && tn__gpu_why_none(d.type))
        return NULL;
    if (d.index < 0 || d.index >= n)
        return tn__fail(TN_EDEVICE, "%s error: invalid device ordinal\n  %s was asked for; there are %d",
                        tn__backend_of(d)->gpu->label, tn_device_text(d).s, (int)n);
    if (tn__gpu_forked()) {
        tn__gpu_refuse_child(d.type);
        return NULL;
    }
    tn__gpu_device *dev = tn__gpu_slot(d);
    remember(dev->driver);
    pthread_mutex_lock(&dev->lock);
    tn_status e = TN_OK;
    if (atomic_load(&dev->dead))
        e = tn__gpu_dead(dev);
    else if (!atomic_load(&dev->ready))
        e = open_device(dev);
    pthread_mutex_unlock(&dev->lock);
    if (!e)
        e = tn__gpu_check(dev, dev->driver->context_set(dev->context), "making the context current");
    return e ? NULL : dev;
}

tn__gpu_visit tn__gpu_enter(const tn__gpu_device *dev)
{
    tn__gpu_visit v = {dev->driver, NULL, false};
    if (v.driver->context_get(&v.before) == TN__GPU_OK && v.before != dev->context)
        v.changed = v.driver->context_set(dev->context) == TN__GPU_OK;
    return v;
}

tn__gpu_visit tn__gpu_stay(const tn__gpu_driver *driver)
{
    tn__gpu_visit v = {driver, NULL, false};
    v.changed = driver->context_get(&v.before) == TN__GPU_OK;
    return v;
}

void tn__gpu_leave(tn__gpu_visit v)
{
    if (v.changed)
        v.driver->context_set(v.before);
}

static inline bool is_current(const tn__gpu_device *dev)
{
    void *c;
    return dev->driver->context_get(&c) == TN__GPU_OK && c == dev->context;
}

tn__gpu_device *tn__gpu_use(tn_device d)
{
    if (TN_LIKELY(is_slot(d))) {
        tn__gpu_device *dev = tn__gpu_slot(d);
        if (TN_LIKELY(atomic_load_explicit(&dev->ready, memory_order_acquire) && is_current(dev)))
            return dev;
    }
    return use_slow(d);
}

tn__gpu_device *tn__gpu_peek(tn_device d)
{
    if (!is_slot(d))
        return NULL;
    tn__gpu_device *dev = tn__gpu_slot(d);
    if (!atomic_load_explicit(&dev->ready, memory_order_acquire))
        return NULL;
    if (is_current(dev))
        return dev;
    remember(dev->driver);
    return dev->driver->context_set(dev->context) == TN__GPU_OK ? dev : NULL;
}

/* ---- reset ---- */

/* From here on the device is out of use, and what it had made is void. */
static void close_device(tn__gpu_device *dev)
{
    pthread_mutex_lock(&dev->lock);
    if (!atomic_load(&dev->dead))
        snprintf(dev->death, sizeof dev->death, "%s error: tn_cuda_reset is at work", dev->driver->label);
    atomic_store(&dev->dead, true);
    atomic_store(&dev->ready, false);
    atomic_fetch_add(&dev->generation, 1);
    tn__gpu_streams_forget(dev);
    pthread_mutex_unlock(&dev->lock);
}

static void give_fault_words(tn__gpu_device *dev)
{
    pthread_mutex_lock(&dev->lock);
    if (dev->fault)
        dev->driver->host_put(dev->fault);
    dev->fault = NULL;
    dev->fault_address = NULL;
    pthread_mutex_unlock(&dev->lock);
}

/* The context, which is current nowhere, goes when the last has let go of it. */
static void let_go(tn__gpu_device *dev)
{
    pthread_mutex_lock(&dev->lock);
    if (dev->context)
        dev->driver->context_release(dev);
    dev->context = NULL;
    pthread_mutex_unlock(&dev->lock);
}

/* What is under way ends first: copies write to host memory that goes here too. What lives in the context is told, of all
 * devices that share it before the first of them lets go of it; the driver takes the context itself away. The allocators are
 * told without the devices' locks: under their own they ask for events and let streams go. */
static void take_context(tn__gpu_device *first, void *context)
{
    tn__gpu_device *dev;
    tn__thread *self = tn__self();
    atomic_fetch_add(&tn__resets, 1);
    remember(first->driver);
    if (self->found_context == context) /* it goes */
        self->found_context = NULL;
    first->driver->context_set(context);
    first->driver->context_synchronize(); /* a dead device says so at once */
    for (dev = first; dev; dev = tn__gpu_sibling(dev)) {
        if (dev->driver->forget)
            dev->driver->forget(dev);
        tn__gpu_forget(dev->device);
    }
    for (dev = first; dev; dev = tn__gpu_sibling(dev))
        close_device(dev);
    for (dev = first; dev; dev = tn__gpu_sibling(dev))
        tn__gpu_allocator_forget(dev);
    for (dev = first; dev; dev = tn__gpu_sibling(dev))
        give_fault_words(dev);
    first->driver->context_set(NULL);
    for (dev = first; dev; dev = tn__gpu_sibling(dev))
        let_go(dev);
}

static void *context_of(const tn__gpu_device *first)
{
    void *context = NULL;
    for (const tn__gpu_device *s = first; s && !context; s = tn__gpu_sibling(s))
        context = s->context;
    return context;
}

/* The library goes: contexts are let go of, and what is known of the devices is forgotten. Memory is given back before: a
 * context that somebody else in the process has, too, stays (with the code of kernels in it). */
static void leave_devices(void)
{
    if (tn__gpu_forked())
        return;
    for (int32_t i = 0; i < TN__GPU_MAX; i++) {
        tn__gpu_device *dev = &table.device[i];
        void *context = dev->driver && dev->first == dev ? context_of(dev) : NULL;
        for (tn__gpu_device *s = dev; context && s; s = tn__gpu_sibling(s))
            if (!atomic_load(&s->dead))
                tn__gpu_empty_cache(s->device);
        if (context)
            take_context(dev, context);
    }
    for (int32_t i = 0; i < TN__GPU_MAX; i++) {
        tn__gpu_device *dev = &table.device[i];
        if (dev->driver)
            tn__gpu_kernels_end(dev->device);
        tn__block_put(dev->spare, (size_t)dev->cap_spare * sizeof *dev->spare);
        dev->spare = NULL;
        dev->cap_spare = 0;
    }
    tn__gpu_memory_end();
}

/* What it is from now on, and all devices that are the same GPU; death: NULL where they are well. */
static void pronounce(tn__gpu_device *asked, const char *death)
{
    for (tn__gpu_device *dev = asked->first; dev; dev = tn__gpu_sibling(dev)) {
        pthread_mutex_lock(&dev->lock);
        if (death)
            atomic_store(&dev->ready, false);
        atomic_store(&dev->dead, death != NULL);
        dev->ruined = death != NULL;
        snprintf(dev->death, sizeof dev->death, "%s", death ? death : "");
        pthread_mutex_unlock(&dev->lock);
    }
}

/* A launch and a copy on a device that was dead, as an error where they fail. */
static tn_status try_kernel(tn__gpu_device *dev)
{
    enum { N = 64, VALUE = 0x5eed };
    int32_t got[N] = {0};
    const int64_t n = N, step = 1;
    void *p = tn__gpu_scratch_get(dev->device, sizeof got);
    if (!p)
        return tn_error_code();
    const tn__view view = {
        .data = p, .dtype = TN_I32, .ndim = 1, .contiguous = true, .numel = N, .shape = &n, .stride = &step};
    tn_status e = tn__gpu_fill_view(dev->device, &view, VALUE, "tn_cuda_reset");
    if (!e)
        e = tn__gpu_mover.download(dev->device, got, p, sizeof got, false, false);
    tn__gpu_scratch_put(dev->device, p, sizeof got);
    return e || got[N - 1] == VALUE ? e : tn__error(TN_EDEVICE, "%s error: a kernel wrote nothing", dev->driver->label);
}

/* The driver's references do not say whether a context can live where an earlier one died of an illegal address or the like
 * ("the process must be terminated and relaunched"): so one is made, and tried. */
static tn_status revive(tn__gpu_device *asked)
{
    char death[sizeof asked->death];
    tn__error_copy before;
    tn__error_save(&before);
    pronounce(asked, NULL);
    tn__gpu_device *dev = tn__gpu_use(asked->device);
    tn_status e = dev ? try_kernel(dev) : tn_error_code();
    if (!e || (dev && !tn__gpu_is_lost(asked->device))) { /* no compiler, no memory: nothing against the device */
        tn__error_restore(&before);
        return TN_OK;
    }
    snprintf(death, sizeof death, "%.*s", (int)strcspn(tn_error_message(), "\n"), tn_error_message());
    pronounce(asked, death);
    pthread_mutex_lock(&asked->lock);
    e = tn__gpu_dead(asked);
    pthread_mutex_unlock(&asked->lock);
    return e;
}

/* The context goes. A driver that refuses to reset a healthy device leaves it dead, and it can be tried again; what it says
 * of a lost one is less than what trying shows. */
static tn_status end_context(tn__gpu_device *dev, bool *was_dead)
{
    pthread_mutex_lock(&table.reset);
    *was_dead = atomic_load(&dev->dead);
    void *context = context_of(dev->first);
    tn__gpu_result r = TN__GPU_OK;
    if (context)
        take_context(dev->first, context);
    if (atomic_load(&dev->dead))
        r = dev->driver->context_reset(dev);
    if (!r && !*was_dead)
        pronounce(dev, NULL);
    pthread_mutex_unlock(&table.reset);
    return r && !*was_dead ? tn__gpu_plain_failure(dev, r, "tn_cuda_reset", "") : TN_OK;
}

tn_status tn_cuda_reset(tn_device device)
{
    tn_device d;
    TN__DOOR(tn__enter(TN__NOWHERE));
    tn_status e = tn__gpu_resolve(device, &d);
    if (e)
        return e;
    if (tn__gpu_forked())
        return tn__gpu_refuse_child(d.type);
    tn__gpu_device *dev = tn__gpu_slot(d);
    bool was_dead;
    e = end_context(dev, &was_dead);
    return !e && was_dead ? revive(dev) : e;
}

bool tn__gpu_is_lost(tn_device d)
{
    return atomic_load(&tn__gpu_slot(d)->dead);
}

/* Asks nothing of the driver, opens nothing, sets no error: what was never used is not lost. */
bool tn_cuda_is_lost(tn_device device)
{
    if (device.type == TN_DEVICE_DEFAULT)
        device = TN_CUDA(-1);
    if (!tn__is_gpu(device))
        return false;
    if (device.index < 0)
        device.index = tn__self()->current_device[device.type];
    return device.index < tn__gpu_count(device.type) && tn__gpu_is_lost(device);
}
