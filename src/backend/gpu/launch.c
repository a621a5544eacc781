/* Kernels on their way to a device: which function of the library launches an operation's; queued on the device's current
 * stream, counted and noted by name. */
#include "backend/gpu/device.h"
#include "core/error.h"

const tn__kernel tn__gpu_kernels[TN__ROWS] = {
#define KERNEL(op, kernel) [TN__OP_##op] = tn__gpu_##kernel,
#define CPU_KERNEL(op, kernel)
#include "op/kernels.def"
};

/* Where launches block the error is this launch's own. */
static tn_status await(tn__gpu_device *dev, tn__stream *s, const char *label)
{
    uint64_t queued = tn__gpu_queued(dev, s);
    tn_status e = tn__gpu_check(dev, dev->driver->stream_synchronize(s->handle), label);
    if (!e)
        tn__gpu_note_done(dev, s, queued);
    return e;
}

tn_status tn__gpu_launched(tn__gpu_device *dev, tn__stream *s, tn__gpu_result result, const char *label)
{
    if (TN_UNLIKELY(result != TN__GPU_OK))
        return tn__gpu_failed(dev, result, label);
    tn__gpu_note_launch(dev, s, label);
    atomic_fetch_add_explicit(&dev->ledger->launches, 1, memory_order_relaxed);
    return TN_UNLIKELY(dev->blocking) ? await(dev, s, label) : TN_OK;
}

tn_status tn__gpu_launch_function(const tn__gpu_launch *l, void *function)
{
    tn__gpu_device *dev = tn__gpu_use(l->device);
    if (TN_UNLIKELY(!dev))
        return tn_error_code();
    if (TN_UNLIKELY(l->n_arg > TN__GPU_MAX_ARGS))
        return tn__error(TN_EINVAL, "%s: a kernel of %d arguments, more than %d", l->label, (int)l->n_arg,
                         TN__GPU_MAX_ARGS);
    tn__stream *s = tn__gpu_current(dev);
    return tn__gpu_launched(dev, s, dev->driver->launch(l, function, s->handle), l->label);
}

const tn__gpu_limits *tn__gpu_limits_of(tn_device device)
{
    const tn__gpu_device *dev = tn__gpu_use(device);
    return dev ? &dev->limits : NULL;
}

void *tn__gpu_fault_words(tn_device device)
{
    const tn__gpu_device *dev = tn__gpu_use(device);
    return dev ? dev->fault_address : NULL;
}

tn_status tn__gpu_zero(tn_device device, void *out, size_t bytes)
{
    tn__gpu_device *dev = bytes ? tn__gpu_use(device) : NULL;
    if (!bytes)
        return TN_OK;
    if (!dev)
        return tn_error_code();
    tn__stream *s = tn__gpu_current(dev);
    return tn__gpu_check(dev, dev->driver->fill(out, 0, bytes, s->handle), "setting memory to zero");
}
