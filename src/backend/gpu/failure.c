/* From results to errors: the driver's text and PyTorch's first, then what Tenon knows; after some of them the device is
 * dead. And indices out of range, which kernels report on their own. */
#include "backend/gpu/device.h"
#include "core/error.h"
#include "op/infer.h"
#include <stdio.h>

void tn__gpu_report(const tn__gpu_driver *driver, char *text, size_t size)
{
    *text = '\0';
    if (driver->report)
        driver->report(text, size);
}

tn_status tn__gpu_dead(const tn__gpu_device *dev)
{
    char all[128], way_out[128] = "a new context fails as well, so this process has to be started again";
    tn__gpu_siblings_str(dev, all, sizeof all);
    if (!dev->ruined)
        snprintf(way_out, sizeof way_out, "tn_cuda_reset(TN_%s(%d)) revives it, without its tensors",
                 dev->driver->label, (int)dev->device.index);
    return tn__error(TN_EDEVICE, "%s\n  %s is out of use since then: %s; other devices and the cpu go on%s%s%s",
                     dev->death, tn_device_text(dev->device).s, way_out, *all ? "\n  " : "", all,
                     *all ? " are one GPU: what happens to one of them in this way happens to all" : "");
}

/* What killed it is written once; 'ready' goes first, so that nobody is on the fast path any more. */
static void kill(tn__gpu_device *dev, const char *death)
{
    pthread_mutex_lock(&dev->lock);
    if (!atomic_load(&dev->dead)) {
        atomic_store(&dev->ready, false);
        snprintf(dev->death, sizeof dev->death, "%s", death);
        atomic_store(&dev->dead, true);
    }
    pthread_mutex_unlock(&dev->lock);
}

/* The context is lost, and with it all devices that share it. */
static tn_status die(tn__gpu_device *dev, tn__gpu_result r, const char *what, const char *report)
{
    const tn__gpu_driver *driver = dev->driver;
    char unfinished[640], death[sizeof dev->death], async[200] = "";
    const bool blocking = dev->blocking;
    if (!blocking)
        snprintf(async, sizeof async,
                 "\n%s kernel errors might be asynchronously reported at some other API call.\n"
                 "For debugging consider passing %s=1",
                 driver->label, driver->blocking_variable);
    tn__gpu_unfinished(dev, unfinished, sizeof unfinished);
    snprintf(death, sizeof death, "%s error: %s%s\n  seen by %s on %s%s%s%s%s", driver->label, driver->text(r), async,
             what, tn_device_text(dev->device).s, *report ? "\n  " : "", report,
             blocking || !*unfinished ? "" : "\n  launched and not known to be done: ", blocking ? "" : unfinished);
    for (tn__gpu_device *s = dev->first; s; s = tn__gpu_sibling(s))
        kill(s, death);
    pthread_mutex_lock(&dev->lock);
    tn_status e = tn__gpu_dead(dev);
    pthread_mutex_unlock(&dev->lock);
    return e;
}

tn_status tn__gpu_plain_failure(const tn__gpu_device *dev, tn__gpu_result r, const char *what, const char *report)
{
    tn_status code = r == TN__GPU_OUT_OF_MEMORY ? TN_ENOMEM : TN_EDEVICE;
    return tn__error(code, "%s error: %s\n  in %s on %s%s%s", dev->driver->label, dev->driver->text(r), what,
                     tn_device_text(dev->device).s, *report ? "\n  " : "", report);
}

tn_status tn__gpu_failed(tn__gpu_device *dev, tn__gpu_result result, const char *what)
{
    char report[1024];
    if (result == TN__GPU_INTERRUPTED) /* the device is well; host_wait.c has said what happened */
        return tn_error_code();
    tn__gpu_report(dev->driver, report, sizeof report);
    return dev->driver->is_fatal(result) ? die(dev, result, what, report)
                                         : tn__gpu_plain_failure(dev, result, what, report);
}

tn_status tn__gpu_take_fault(tn__gpu_device *dev)
{
    uint64_t *word = *dev->fault;
    if (TN_LIKELY(!__atomic_load_n(&word[0], __ATOMIC_ACQUIRE)))
        return TN_OK;
    int64_t index = (int64_t)__atomic_load_n(&word[1], __ATOMIC_RELAXED);
    int64_t size = (int64_t)__atomic_load_n(&word[2], __ATOMIC_RELAXED);
    uint64_t op = __atomic_exchange_n(&word[0], 0, __ATOMIC_ACQ_REL);
    if (!op)
        return TN_OK;
    return tn__error(TN_EINDEX,
                     "index %lld is out of bounds for dimension with size %lld\n  seen by %s on %s, which left out "
                     "that element; the device stays usable",
                     (long long)index, (long long)size, op <= TN__ROWS ? tn__op_name((tn__op_id)(op - 1)) : "a kernel",
                     tn_device_text(dev->device).s);
}
