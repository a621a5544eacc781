/* Primary contexts: one of each device, counted; each thread has a stack of those it works in, the top is current. */
#include "fakegpu/driver.h"

enum { DEPTH = 16 };

static _Thread_local struct {
    fake_context *at[DEPTH];
    unsigned n;
} stack;

fake_context *fake_current(void)
{
    return stack.n ? stack.at[stack.n - 1] : NULL;
}

tn__cu_result fake_push_context(fake_context *c)
{
    if (stack.n == DEPTH)
        return TN__CU_OUT_OF_MEMORY;
    stack.at[stack.n++] = c;
    return TN__CU_SUCCESS;
}

fake_context *fake_pop_context(void)
{
    return stack.n ? stack.at[--stack.n] : NULL;
}

static tn__cu_result start(fake_context *c)
{
    fake_device *d = c->device;
    if (d->ruin)
        return d->ruin;
    if (c->stopping) /* by another thread */
        return TN__CU_CONTEXT_IS_DESTROYED;
    if (d->used + FAKE_CONTEXT_BYTES > d->capacity)
        return TN__CU_OUT_OF_MEMORY;
    c->fallback = fake_stream_new(c, 0);
    if (!c->fallback)
        return TN__CU_OUT_OF_MEMORY;
    d->used += FAKE_CONTEXT_BYTES;
    d->busy = 0;
    d->asked = fake_now();
    c->error = TN__CU_SUCCESS;
    c->life++;
    c->active = true;
    return TN__CU_SUCCESS;
}

/* Ends the context: its work is thrown away, all that was made in it is gone. */
static void stop(fake_context *c)
{
    if (!c->active)
        return;
    c->active = false; /* from now on nothing is queued; what other devices still do with its memory ends first */
    c->stopping = true;
    fake_discard(c);
    for (int i = 0; i < fake.n_visible; i++) {
        fake_context *other = &fake.visible[i]->context;
        if (other != c && other->active) /* copies between two need no access */
            fake_wait_context(other);
        other->peer[c->device->ordinal] = false;
        c->peer[i] = false;
    }
    fake_order_over(c); /* pinned memory that it used may be used again */
    fake_modules_clear(c);
    fake_events_clear(c);
    fake_streams_clear(c);
    c->fallback = NULL;
    fake_clock_free(&c->ended[0]);
    fake_clock_free(&c->ended[1]);
    fake_memory_clear(c->device);
    c->device->used -= FAKE_CONTEXT_BYTES;
    c->stopping = false;
}

tn__cu_result fake_context_retain(fake_context *c)
{
    tn__cu_result r = c->active ? TN__CU_SUCCESS : start(c);
    c->retained += !r;
    return r;
}

void fake_context_release(fake_context *c)
{
    if (--c->retained == 0)
        stop(c);
}

tn__cu_result cuDevicePrimaryCtxRetain(tn__cu_context *context, tn__cu_device device)
{
    fake_device *d;
    tn__cu_result r = fake_enter_device(device, &d);
    if (r)
        return r;
    if (!context)
        return fake_leave(TN__CU_INVALID_VALUE);
    r = fake_context_retain(&d->context);
    if (!r)
        *context = &d->context;
    return fake_leave(r);
}

tn__cu_result cuDevicePrimaryCtxRelease_v2(tn__cu_device device)
{
    fake_device *d;
    tn__cu_result r = fake_enter_device(device, &d);
    if (r)
        return r;
    if (d->context.retained == d->context.created)
        return fake_leave(TN__CU_INVALID_CONTEXT);
    fake_context_release(&d->context);
    return fake_leave(TN__CU_SUCCESS);
}

/* The count stays, but the context is gone until it is retained again. */
tn__cu_result cuDevicePrimaryCtxReset_v2(tn__cu_device device)
{
    fake_device *d;
    tn__cu_result r = fake_enter_device(device, &d);
    if (r)
        return r;
    stop(&d->context);
    return fake_leave(d->ruin);
}

/* They are kept for the contexts to come; how these wait does not depend on them here. */
tn__cu_result cuDevicePrimaryCtxSetFlags_v2(tn__cu_device device, unsigned flags)
{
    fake_device *d;
    tn__cu_result r = fake_enter_device(device, &d);
    if (r)
        return r;
    const unsigned how = flags & TN__CU_CTX_SCHED_MASK;
    if (flags & ~(unsigned)TN__CU_CTX_FLAGS_MASK || how & (how - 1)) /* two ways at once */
        return fake_leave(TN__CU_INVALID_VALUE);
    d->context.flags = flags;
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuDevicePrimaryCtxGetState(tn__cu_device device, unsigned *flags, int *active)
{
    fake_device *d;
    tn__cu_result r = fake_enter_device(device, &d);
    if (r)
        return r;
    if (!flags || !active)
        return fake_leave(TN__CU_INVALID_VALUE);
    *flags = d->context.flags;
    *active = d->context.active;
    return fake_leave(TN__CU_SUCCESS);
}

bool fake_is_context(const fake_context *c)
{
    for (int i = 0; i < fake.n_visible; i++)
        if (c == &fake.visible[i]->context)
            return true;
    return false;
}

tn__cu_result cuCtxSetCurrent(tn__cu_context context)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    if (context && !fake_is_context(context))
        return fake_leave(TN__CU_INVALID_CONTEXT);
    if (context && !context->active)
        return fake_leave(TN__CU_CONTEXT_IS_DESTROYED);
    fake_pop_context();
    return fake_leave(context ? fake_push_context(context) : TN__CU_SUCCESS);
}

tn__cu_result cuCtxGetCurrent(tn__cu_context *context)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    if (!context)
        return fake_leave(TN__CU_INVALID_VALUE);
    *context = fake_current();
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuCtxSynchronize(void)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    c->device->count[TN__FAKE_SYNCHRONIZATIONS]++;
    fake_synchronize_context(c);
    return fake_leave(fake_context_error(c));
}

tn__cu_result cuCtxEnablePeerAccess(tn__cu_context peer, unsigned flags)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    if (flags)
        return fake_leave(TN__CU_INVALID_VALUE);
    if (!fake_is_context(peer) || !peer->active || peer == c)
        return fake_leave(TN__CU_INVALID_CONTEXT);
    if (fake_fault_pair(FAKE_FAULT_PEER, c->device->ordinal, peer->device->ordinal))
        return fake_leave(TN__CU_PEER_ACCESS_UNSUPPORTED);
    if (c->peer[peer->device->ordinal])
        return fake_leave(TN__CU_PEER_ACCESS_ALREADY_ENABLED);
    c->peer[peer->device->ordinal] = true;
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return fake_leave(TN__CU_SUCCESS);
}
