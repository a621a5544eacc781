/* What backend/gpu asks of a driver: kernels loaded and launched; memory set to zero. */
#include "backend/cuda/cuda.h"
#include "core/error.h"

enum { MAX_ARGS = 64 };

static tn_status load(tn_device device, const void *binary, size_t size, void **module)
{
    tn__cu_module m = NULL;
    (void)size; /* a cubin says itself how long it is */
    tn__cuda_device *dev = tn__cuda_use(device);
    if (!dev)
        return tn_error_code();
    tn_status e = tn__cuda_check(dev, tn__cu.module_load_data(&m, binary), "loading kernels");
    *module = m;
    return e;
}

static tn_status function(tn_device device, void *module, const char *name, void **out)
{
    tn__cu_function f = NULL;
    tn__cuda_device *dev = tn__cuda_use(device);
    if (!dev)
        return tn_error_code();
    tn_status e = tn__cuda_check(dev, tn__cu.module_get_function(&f, module, name), name);
    *out = f;
    return e;
}

/* With CUDA_LAUNCH_BLOCKING the error is this launch's own. */
static tn_status await(tn__cuda_device *dev, tn__stream *s, const char *label)
{
    uint64_t queued = tn__cuda_queued(dev, s);
    tn_status e = tn__cuda_check(dev, tn__cu.stream_synchronize(s->handle), label);
    if (!e)
        tn__cuda_note_done(dev, s, queued);
    return e;
}

tn_status tn__cuda_launched(tn__cuda_device *dev, tn__stream *s, tn__cu_result result, const char *label)
{
    if (TN_UNLIKELY(result != TN__CU_SUCCESS))
        return tn__cuda_failed(dev, result, label);
    tn__cuda_note_launch(dev, s, label);
    atomic_fetch_add_explicit(&tn__ledgers[dev->index].launches, 1, memory_order_relaxed);
    return TN_UNLIKELY(tn__cuda_launches_block()) ? await(dev, s, label) : TN_OK;
}

static tn_status launch(const tn__gpu_launch *l, void *fn)
{
    void *args[MAX_ARGS];
    const uint32_t *g = l->groups, *n = l->local;
    tn__cuda_device *dev = tn__cuda_use(l->device);
    if (TN_UNLIKELY(!dev))
        return tn_error_code();
    if (TN_UNLIKELY(l->n_arg > MAX_ARGS))
        return tn__error(TN_EINVAL, "%s: a kernel of %d arguments, more than %d", l->label, (int)l->n_arg, MAX_ARGS);
    for (int32_t i = 0; i < l->n_arg; i++)
        args[i] = (void *)(uintptr_t)l->arg[i].value;
    tn__stream *s = tn__cuda_current(dev);
    tn__cu_result r = tn__cu.launch_kernel(fn, TN_MAX(g[0], 1U), TN_MAX(g[1], 1U), TN_MAX(g[2], 1U), TN_MAX(n[0], 1U),
                                           TN_MAX(n[1], 1U), TN_MAX(n[2], 1U), 0, s->handle, args, NULL);
    return tn__cuda_launched(dev, s, r, l->label);
}

static const tn__gpu_limits *limits(tn_device device)
{
    const tn__cuda_device *dev = tn__cuda_use(device);
    return dev ? &dev->limits : NULL;
}

static void *fault_words(tn_device device)
{
    const tn__cuda_device *dev = tn__cuda_use(device);
    return dev ? dev->fault_address : NULL;
}

static tn_status zero(tn_device device, void *p, size_t bytes)
{
    tn__cuda_device *dev = tn__cuda_use(device);
    if (!dev)
        return tn_error_code();
    tn__stream *s = tn__cuda_current(dev);
    tn__cu_ptr address = (tn__cu_ptr)(uintptr_t)p;
    return tn__cuda_check(dev, tn__cu.memset_d8_async(address, 0, bytes, s->handle), "setting memory to zero");
}

const tn__gpu_driver tn__cuda_driver = {
    .target = tn__cuda_target,
    .compile = tn__cuda_compile,
    .load = load,
    .function = function,
    .launch = launch,
    .limits = limits,
    .fault_words = fault_words,
    .scratch_get = tn__cuda_scratch_get,
    .scratch_put = tn__cuda_scratch_put,
    .product = tn__cuda_product,
    .zero = zero,
};
