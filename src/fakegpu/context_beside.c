/* Contexts as programs beside Tenon make them. A context that is made (cuCtxCreate) is its device's primary one, held once
 * more: memory of a device is in one context, and goes when nobody holds that one any longer. */
#include "fakegpu/driver.h"

static tn__cu_result create(tn__cu_context *context, tn__cu_device device)
{
    fake_device *d;
    tn__cu_result r = fake_enter_device(device, &d);
    if (r)
        return r;
    if (!context)
        return fake_leave(TN__CU_INVALID_VALUE);
    r = fake_context_retain(&d->context);
    if (r)
        return fake_leave(r);
    r = fake_push_context(&d->context);
    if (r) {
        fake_context_release(&d->context);
        return fake_leave(r);
    }
    d->context.created++;
    *context = &d->context;
    return fake_leave(TN__CU_SUCCESS);
}

enum { FLAGS = 0xff }; /* how the host waits, and what is mapped: nothing that is seen here */

tn__cu_result cuCtxCreate_v2(tn__cu_context *context, unsigned flags, tn__cu_device device)
{
    return flags & ~(unsigned)FLAGS ? TN__CU_INVALID_VALUE : create(context, device);
}

tn__cu_result cuCtxCreate_v3(tn__cu_context *context, tn__cu_affinity *affinity, int n, unsigned flags,
                             tn__cu_device device)
{
    (void)affinity;
    return n ? TN__CU_NOT_SUPPORTED : cuCtxCreate_v2(context, flags, device);
}

tn__cu_result cuCtxCreate_v4(tn__cu_context *context, tn__cu_ctx_parameters *parameters, unsigned flags,
                             tn__cu_device device)
{
    return parameters ? TN__CU_NOT_SUPPORTED : cuCtxCreate_v2(context, flags, device);
}

tn__cu_result cuCtxDestroy_v2(tn__cu_context context)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    if (!fake_is_context(context) || !context->created)
        return fake_leave(TN__CU_INVALID_CONTEXT);
    context->created--;
    if (fake_current() == context)
        fake_pop_context();
    fake_context_release(context);
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuCtxPushCurrent_v2(tn__cu_context context)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    if (!context || !fake_is_context(context))
        return fake_leave(TN__CU_INVALID_CONTEXT);
    return fake_leave(context->active ? fake_push_context(context) : TN__CU_CONTEXT_IS_DESTROYED);
}

tn__cu_result cuCtxPopCurrent_v2(tn__cu_context *context)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    fake_context *c = fake_pop_context();
    if (c && context)
        *context = c;
    return fake_leave(c ? TN__CU_SUCCESS : TN__CU_INVALID_CONTEXT);
}

tn__cu_result cuCtxGetDevice(tn__cu_device *device)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    if (!device)
        return fake_leave(TN__CU_INVALID_VALUE);
    *device = c->device->ordinal;
    return fake_leave(TN__CU_SUCCESS);
}

/* A number of the current context. */
static tn__cu_result tell(unsigned *to, unsigned value)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    if (!to)
        return fake_leave(TN__CU_INVALID_VALUE);
    *to = value;
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuCtxGetFlags(unsigned *flags)
{
    return tell(flags, 0);
}

tn__cu_result cuCtxGetId(tn__cu_context context, unsigned long long *id)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    context = context ? context : fake_current();
    if (!fake_is_context(context))
        return fake_leave(TN__CU_INVALID_CONTEXT);
    if (!id)
        return fake_leave(TN__CU_INVALID_VALUE);
    *id = (unsigned long long)context->device->ordinal + 1;
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuCtxGetApiVersion(tn__cu_context context, unsigned *version)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    context = context ? context : fake_current();
    if (!fake_is_context(context))
        return fake_leave(TN__CU_INVALID_CONTEXT);
    if (!version)
        return fake_leave(TN__CU_INVALID_VALUE);
    *version = 3020; /* as since CUDA 3.2 */
    return fake_leave(TN__CU_SUCCESS);
}

/* Stack, printf's buffer, the kernels' heap: as a real one begins. */
tn__cu_result cuCtxGetLimit(size_t *value, unsigned limit)
{
    static const size_t limits[] = {1024, 1 << 20, 8 << 20};
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    if (!value || limit >= sizeof limits / sizeof *limits)
        return fake_leave(TN__CU_INVALID_VALUE);
    *value = limits[limit];
    return fake_leave(TN__CU_SUCCESS);
}

/* Taken and without effect: what the host gives is enough. */
tn__cu_result cuCtxSetLimit(unsigned limit, size_t value)
{
    size_t now;
    (void)value;
    return cuCtxGetLimit(&now, limit);
}

tn__cu_result cuCtxGetCacheConfig(unsigned *config)
{
    return tell(config, 0);
}

tn__cu_result cuCtxSetCacheConfig(unsigned config)
{
    unsigned now;
    return config > 3 ? TN__CU_INVALID_VALUE : tell(&now, 0);
}

tn__cu_result cuCtxDisablePeerAccess(tn__cu_context peer)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    if (!fake_is_context(peer))
        return fake_leave(TN__CU_INVALID_CONTEXT);
    bool *access = &c->peer[peer->device->ordinal];
    r = *access ? TN__CU_SUCCESS : TN__CU_PEER_ACCESS_NOT_ENABLED;
    if (!r)
        fake_synchronize_context(c); /* what is queued may use it */
    *access = false;
    return fake_leave(r);
}
