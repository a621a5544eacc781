/* Streams and events as programs beside Tenon use them; functions of the host that streams call. */
#include "fakegpu/driver.h"
#include <stdlib.h>

tn__cu_result cuStreamCreate(tn__cu_stream *stream, unsigned flags)
{
    return cuStreamCreateWithPriority(stream, flags, 0);
}

/* Asked of a stream: which number it has. */
static tn__cu_result tell(tn__cu_stream handle, int *priority, unsigned *flags)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_stream(handle, &c, &s);
    if (r)
        return r;
    if (priority)
        *priority = s->priority;
    else if (flags)
        *flags = s->flags;
    else
        r = TN__CU_INVALID_VALUE;
    return fake_leave(r);
}

tn__cu_result cuStreamGetPriority(tn__cu_stream stream, int *priority)
{
    return tell(stream, priority, NULL);
}

tn__cu_result cuStreamGetFlags(tn__cu_stream stream, unsigned *flags)
{
    return tell(stream, NULL, flags);
}

tn__cu_result cuStreamGetCtx(tn__cu_stream stream, tn__cu_context *context)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_stream(stream, &c, &s);
    if (r)
        return r;
    if (!context)
        return fake_leave(TN__CU_INVALID_VALUE);
    *context = s->context;
    return fake_leave(TN__CU_SUCCESS);
}

/* Fake GPUs have no graphs: nothing is ever captured. */
tn__cu_result cuStreamIsCapturing(tn__cu_stream stream, unsigned *status)
{
    unsigned flags;
    tn__cu_result r = tell(stream, NULL, &flags);
    if (!r && status)
        *status = 0;
    return r || status ? r : TN__CU_INVALID_VALUE;
}

tn__cu_result cuEventRecordWithFlags(tn__cu_event event, tn__cu_stream stream, unsigned flags)
{
    return flags ? TN__CU_INVALID_VALUE : cuEventRecord(event, stream); /* 1: for a graph that is being captured */
}

tn__cu_result cuEventElapsedTime_v2(float *milliseconds, tn__cu_event start, tn__cu_event end)
{
    return cuEventElapsedTime(milliseconds, start, end);
}

/* ---- functions of the host ---- */

typedef struct call {
    tn__cu_host_function function; /* or */
    tn__cu_callback callback;      /* which learns the stream and its state: also where the device has failed */
    tn__cu_stream stream;
    fake_context *context;
    void *data;
} call;

static void run_call(void *arg)
{
    call *c = arg;
    if (c->function)
        c->function(c->data);
    else
        c->callback(c->stream, TN__CU_SUCCESS, c->data);
    free(c);
}

static void drop_call(void *arg)
{
    call *c = arg;
    pthread_mutex_lock(&fake.lock);
    const tn__cu_result error = c->context->error ? c->context->error : TN__CU_CONTEXT_IS_DESTROYED;
    pthread_mutex_unlock(&fake.lock);
    if (c->callback)
        c->callback(c->stream, error, c->data);
    free(c);
}

static tn__cu_result queue_call(tn__cu_stream stream, call wanted)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_queue(stream, &c, &s);
    if (r)
        return r;
    call *own = malloc(sizeof *own);
    if (!own)
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    *own = wanted;
    own->stream = stream;
    own->context = s->context;
    const fake_work work = {
        .what = "a function of the host", .copy = true, .run = run_call, .drop = drop_call, .arg = own};
    r = fake_submit(s, &work, NULL, 0);
    if (r)
        free(own);
    return fake_leave(r);
}

tn__cu_result cuLaunchHostFunc(tn__cu_stream stream, tn__cu_host_function function, void *data)
{
    return function ? queue_call(stream, (call){.function = function, .data = data}) : TN__CU_INVALID_VALUE;
}

tn__cu_result cuStreamAddCallback(tn__cu_stream stream, tn__cu_callback callback, void *data, unsigned flags)
{
    return callback && !flags ? queue_call(stream, (call){.callback = callback, .data = data}) : TN__CU_INVALID_VALUE;
}
