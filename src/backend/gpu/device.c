/* The table of devices: found without making a context, opened at first use, dead after an asynchronous failure, revived
 * by tn_cuda_reset; closed to the children of a process that used it. */
#include "backend/cuda/cuda.h"
#include "core/env.h"
#include "core/error.h"
#include "core/thread.h"
#include <stdio.h>
#include <stdlib.h>
#include <tenon/cuda.h>

static struct {
    pthread_once_t once;
    pthread_mutex_t reset; /* one at a time */
    _Atomic int32_t count; /* -1: not asked yet */
    _Atomic bool forked;   /* this is the child of a process that had initialised CUDA */
    tn_status (*none)(void);
    tn__cu_result init;
    char why[512]; /* what fake GPUs say of a cuInit that failed: it is asked once, and wanted with every error */
    int version;
    int32_t driver_count; /* of devices that the driver shows */
    tn__cuda_device device[TN__CUDA_MAX];
} table = {.once = PTHREAD_ONCE_INIT, .reset = PTHREAD_MUTEX_INITIALIZER, .count = -1};

/* ---- why there is none ---- */

static const char try_fake[] = "no NVIDIA GPU: try TENON_FAKE_GPUS=1 (simulated: correct results, no speed)";

static tn_status no_driver(void)
{
    const char *missing = tn__cuda_library(TN__LIB_CUDA);
    if (tn__cuda_is_fake())
        return tn__error(TN_EDEVICE, "No CUDA GPUs are available\n  %s", missing);
    return tn__error(TN_EDEVICE,
                     "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a "
                     "driver from http://www.nvidia.com/Download/index.aspx\n  %s\n  %s",
                     missing, try_fake);
}

static tn_status no_device(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    return tn__error(TN_EDEVICE, "No CUDA GPUs are available\n  %s%s%s\n  %s",
                     visible ? "CUDA_VISIBLE_DEVICES is '" : "the driver is there, but it sees no GPU",
                     visible ? visible : "", visible ? "': it hides every GPU that it does not list" : "",
                     tn__cuda_is_fake() ? "TENON_FAKE_GPUS is set: these are simulated" : try_fake);
}

static tn_status driver_fails(void)
{
    return tn__error(TN_EDEVICE, "CUDA error: %s\n  cuInit failed with %u: the driver is there, but not usable%s%s",
                     tn__cuda_result_text(table.init), table.init, *table.why ? "\n  " : "", table.why);
}

static tn_status driver_too_old(void)
{
    return tn__error(TN_EDEVICE,
                     "The NVIDIA driver on your system is too old (found version %d). Please update your GPU driver by "
                     "downloading and installing a new version from the URL: "
                     "http://www.nvidia.com/Download/index.aspx\n  Tenon needs one for CUDA 11.8 or newer",
                     table.version);
}

static tn_status bad_list(void)
{
    return tn__cuda_bad_list(table.driver_count);
}

/* ---- finding ---- */

/* The driver's state does not survive a fork: nothing here may touch it in the child. */
static void in_child(void)
{
    atomic_store(&table.forked, true);
    for (int32_t i = 0; i < TN__CUDA_MAX; i++)
        atomic_store(&table.device[i].ready, false);
}

bool tn__cuda_forked(void)
{
    return atomic_load_explicit(&table.forked, memory_order_relaxed);
}

static void set_up(int32_t i, int32_t ordinal, tn__cu_device handle)
{
    tn__cuda_device *dev = &table.device[i];
    dev->index = i;
    dev->ordinal = ordinal;
    tn__cuda_join(dev);
    dev->handle = handle;
    tn__cu.device_get_name(dev->name, (int)sizeof dev->name, handle);
    tn__cu.device_get_pci_bus_id(dev->pci, (int)sizeof dev->pci, handle);
    pthread_mutex_init(&dev->lock, NULL);
    atomic_init(&dev->stream.refs, 1);
    dev->stream.device = TN_CUDA(i);
}

/* Those of the driver's n devices that there are here. */
static int32_t set_up_all(int32_t n)
{
    int32_t ordinal[TN__CUDA_MAX], count = tn__cuda_logical(n, ordinal);
    table.driver_count = n;
    if (count < 0)
        table.none = bad_list;
    for (int32_t i = 0; i < count; i++) {
        tn__cu_device handle;
        if (tn__cu.device_get(&handle, ordinal[i]) != TN__CU_SUCCESS)
            return i;
        set_up(i, ordinal[i], handle);
    }
    return TN_MAX(count, 0);
}

static int32_t find(void)
{
    int n = 0;
    table.none = no_driver;
    if (tn__cuda_library(TN__LIB_CUDA))
        return 0;
    pthread_atfork(NULL, NULL, in_child);
    table.init = tn__cu.init(0);
    if (table.init == TN__CU_SUCCESS)
        table.init = tn__cu.device_get_count(&n);
    table.none = table.init == TN__CU_SUCCESS || table.init == TN__CU_NO_DEVICE ? no_device : driver_fails;
    if (table.init != TN__CU_SUCCESS) {
        tn__cuda_report(table.why, sizeof table.why);
        return 0;
    }
    if (tn__cu.driver_get_version(&table.version) == TN__CU_SUCCESS && table.version < 11080) {
        table.none = driver_too_old;
        return 0;
    }
    return n > 0 ? set_up_all(n) : 0;
}

static void find_once(void)
{
    atomic_store(&table.count, find());
}

int32_t tn__cuda_count(void)
{
    int32_t n = atomic_load_explicit(&table.count, memory_order_acquire);
    if (TN_UNLIKELY(n < 0)) {
        pthread_once(&table.once, find_once);
        n = atomic_load(&table.count);
    }
    return n;
}

tn_status tn__cuda_why_none(void)
{
    return tn__cuda_count() ? TN_OK : table.none();
}

tn__cuda_device *tn__cuda_slot(int32_t i)
{
    return &table.device[i];
}

/* ---- first use ---- */

static tn__cu_result read_limits(tn__cuda_device *dev)
{
    int processors = 0, local = 0, memory = 0;
    tn__cu_result r = tn__cu.device_get_attribute(&processors, TN__CU_MULTIPROCESSOR_COUNT, dev->handle);
    if (!r)
        r = tn__cu.device_get_attribute(&local, TN__CU_MAX_THREADS_PER_BLOCK, dev->handle);
    if (!r)
        r = tn__cu.device_get_attribute(&memory, TN__CU_MAX_SHARED_MEMORY_PER_BLOCK, dev->handle);
    dev->limits = (tn__gpu_limits){processors, local, memory, tn__env_number("TENON_GPU_SHUFFLE", 1) != 0};
    return r;
}

static tn__cu_result make_fault_words(tn__cuda_device *dev)
{
    void *host;
    tn__cu_ptr address;
    unsigned flags = TN__CU_MEMHOSTALLOC_PORTABLE | TN__CU_MEMHOSTALLOC_DEVICEMAP;
    tn__cu_result r = tn__cu.mem_host_alloc(&host, sizeof *dev->fault, flags);
    if (r)
        return r;
    memset(host, 0, sizeof *dev->fault);
    r = tn__cu.mem_host_get_device_pointer(&address, host, 0);
    if (r) {
        tn__cu.mem_free_host(host);
        return r;
    }
    dev->fault = host;
    dev->fault_address = (void *)(uintptr_t)address;
    return TN__CU_SUCCESS;
}

/* What it has of its own in the context, which is current: the more so where others share that. */
static tn__cu_result make_own(tn__cuda_device *dev, const char **what)
{
    tn__cu_stream stream = NULL;
    tn__cu_result r = TN__CU_SUCCESS;
    *what = "making a default stream";
    if (dev->first != dev->index)
        r = tn__cu.stream_create_with_priority(&stream, TN__CU_STREAM_NON_BLOCKING, 0);
    if (r)
        return r;
    *what = "allocating pinned memory";
    r = make_fault_words(dev);
    if (!r)
        dev->stream.handle = stream;
    else if (stream)
        tn__cu.stream_destroy(stream);
    return r;
}

/* Under the lock. A device that cannot be opened is not dead: the next use tries again. */
static tn_status open_device(tn__cuda_device *dev)
{
    tn__cu_context context;
    char report[512];
    tn__cu_result r = tn__cu.primary_ctx_retain(&context, dev->handle);
    const char *what = "making a context";
    if (!r) {
        r = tn__cu.ctx_set_current(context);
        if (!r)
            r = read_limits(dev);
        if (!r)
            r = make_own(dev, &what);
        if (r)
            tn__cu.primary_ctx_release(dev->handle);
    }
    if (r) {
        tn__cuda_report(report, sizeof report);
        return tn__cuda_plain_failure(dev, r, what, report);
    }
    dev->context = context;
    atomic_store_explicit(&dev->ready, true, memory_order_release);
    return TN_OK;
}

tn_status tn__cuda_refuse_child(void)
{
    return tn__error(
        TN_EDEVICE,
        "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
        "'spawn' start method\n  this process is a fork() of one that had used CUDA: exec a program in it, "
        "or fork before the first use; the cpu works here");
}

static TN_COLD tn__cuda_device *use_slow(tn_device d)
{
    int32_t n = tn__cuda_count();
    if (!n && tn__cuda_why_none())
        return NULL;
    if (d.index < 0 || d.index >= n)
        return tn__fail(TN_EDEVICE, "CUDA error: invalid device ordinal\n  cuda:%d was asked for; there are %d",
                        (int)d.index, (int)n);
    if (tn__cuda_forked()) {
        tn__cuda_refuse_child();
        return NULL;
    }
    tn__cuda_device *dev = &table.device[d.index];
    pthread_mutex_lock(&dev->lock);
    tn_status e = TN_OK;
    if (atomic_load(&dev->dead))
        e = tn__cuda_dead(dev);
    else if (!atomic_load(&dev->ready))
        e = open_device(dev);
    pthread_mutex_unlock(&dev->lock);
    if (!e)
        e = tn__cuda_check(dev, tn__cu.ctx_set_current(dev->context), "making the context current");
    return e ? NULL : dev;
}

static inline bool is_current(const tn__cuda_device *dev)
{
    tn__cu_context c;
    return tn__cu.ctx_get_current(&c) == TN__CU_SUCCESS && c == dev->context;
}

tn__cuda_device *tn__cuda_use(tn_device d)
{
    if (TN_LIKELY(d.index >= 0 && d.index < TN__CUDA_MAX)) {
        tn__cuda_device *dev = &table.device[d.index];
        if (TN_LIKELY(atomic_load_explicit(&dev->ready, memory_order_acquire) && is_current(dev)))
            return dev;
    }
    return use_slow(d);
}

tn__cuda_device *tn__cuda_peek(tn_device d)
{
    if (d.index < 0 || d.index >= TN__CUDA_MAX)
        return NULL;
    tn__cuda_device *dev = &table.device[d.index];
    if (!atomic_load_explicit(&dev->ready, memory_order_acquire))
        return NULL;
    return is_current(dev) || tn__cu.ctx_set_current(dev->context) == TN__CU_SUCCESS ? dev : NULL;
}

/* ---- reset ---- */

/* From here on the device is out of use, and what it had made is void. */
static void close_device(tn__cuda_device *dev)
{
    pthread_mutex_lock(&dev->lock);
    if (!atomic_load(&dev->dead))
        snprintf(dev->death, sizeof dev->death, "CUDA error: tn_cuda_reset is at work");
    atomic_store(&dev->dead, true);
    atomic_store(&dev->ready, false);
    atomic_fetch_add(&dev->generation, 1);
    tn__cuda_streams_forget(dev);
    pthread_mutex_unlock(&dev->lock);
}

static void give_fault_words(tn__cuda_device *dev)
{
    pthread_mutex_lock(&dev->lock);
    if (dev->fault)
        tn__cu.mem_free_host(dev->fault);
    dev->fault = NULL;
    dev->fault_address = NULL;
    pthread_mutex_unlock(&dev->lock);
}

/* The context, which is current nowhere, goes when the last has let go of it. */
static void let_go(tn__cuda_device *dev)
{
    pthread_mutex_lock(&dev->lock);
    if (dev->context)
        tn__cu.primary_ctx_release(dev->handle);
    dev->context = NULL;
    pthread_mutex_unlock(&dev->lock);
}

/* What is under way ends first: copies write to host memory that goes here too. What lives in the context is told, of all
 * devices that share it before the first of them lets go of it; the driver takes the context itself away. The allocators are
 * told without the devices' locks: under their own they ask for events and let streams go. */
static void take_context(tn__cuda_device *first, tn__cu_context context)
{
    tn__cuda_device *dev;
    atomic_fetch_add(&tn__resets, 1);
    tn__cu.ctx_set_current(context);
    tn__cu.ctx_synchronize(); /* a dead device says so at once */
    for (dev = first; dev; dev = tn__cuda_sibling(dev)) {
        tn__cuda_product_forget(dev);
        tn__gpu_forget(TN_CUDA(dev->index));
    }
    for (dev = first; dev; dev = tn__cuda_sibling(dev))
        close_device(dev);
    for (dev = first; dev; dev = tn__cuda_sibling(dev))
        tn__cuda_allocator_forget(dev);
    for (dev = first; dev; dev = tn__cuda_sibling(dev))
        give_fault_words(dev);
    tn__cu.ctx_set_current(NULL);
    for (dev = first; dev; dev = tn__cuda_sibling(dev))
        let_go(dev);
}

/* The context is gone, or the driver says why not: then the devices stay dead, and this can be tried again. */
static tn_status revive(tn__cuda_device *asked)
{
    tn__cu_result r = tn__cu.primary_ctx_reset(asked->handle);
    for (tn__cuda_device *dev = tn__cuda_slot(asked->first); dev && !r; dev = tn__cuda_sibling(dev)) {
        pthread_mutex_lock(&dev->lock);
        atomic_store(&dev->dead, false);
        dev->death[0] = '\0';
        pthread_mutex_unlock(&dev->lock);
    }
    return r ? tn__cuda_plain_failure(asked, r, "tn_cuda_reset", "") : TN_OK;
}

tn_status tn_cuda_reset(tn_device device)
{
    tn_device d;
    tn__cu_context context = NULL;
    tn__enter(TN__NOWHERE);
    tn_status e = tn__cuda_resolve(device, &d);
    if (e)
        return e;
    if (tn__cuda_forked())
        return tn__cuda_refuse_child();
    tn__cuda_device *dev = &table.device[d.index], *first = &table.device[dev->first];
    pthread_mutex_lock(&table.reset);
    for (const tn__cuda_device *s = first; s && !context; s = tn__cuda_sibling(s))
        context = s->context;
    if (context)
        take_context(first, context);
    if (atomic_load(&dev->dead))
        e = revive(dev);
    pthread_mutex_unlock(&table.reset);
    return e;
}

/* Asks nothing of the driver, opens nothing, sets no error: what was never used is not lost. */
bool tn_cuda_is_lost(tn_device device)
{
    int32_t i = device.index;
    if (device.type == TN_DEVICE_DEFAULT || (device.type == TN_DEVICE_CUDA && i < 0))
        i = tn_cuda_current_device();
    else if (device.type != TN_DEVICE_CUDA)
        return false;
    return i >= 0 && i < tn__cuda_count() && atomic_load(&table.device[i].dead);
}
