/* Streams, as programs see them. */
#include "fakegpu/driver.h"

tn__cu_result cuStreamCreateWithPriority(tn__cu_stream *stream, unsigned flags, int priority)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    if (!stream || flags & ~(unsigned)TN__CU_STREAM_NON_BLOCKING)
        return fake_leave(TN__CU_INVALID_VALUE);
    fake_stream *s = fake_stream_new(c, flags);
    if (!s)
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    s->priority = priority > 0 ? 0 : priority < -5 ? -5 : priority; /* as a real driver does */
    c->device->count[TN__FAKE_STREAMS]++;
    if (!fake_handle_add(s, FAKE_STREAM)) {
        fake_stream_close(s);
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    }
    *stream = s;
    return fake_leave(TN__CU_SUCCESS);
}

/* Also of a dead device: its handle goes, the error is said. */
tn__cu_result cuStreamDestroy_v2(tn__cu_stream stream)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    if (!fake_handle_is(stream, FAKE_STREAM))
        return fake_leave(TN__CU_INVALID_HANDLE);
    r = fake_context_error(stream->context);
    fake_stream_close(stream);
    return fake_leave(r);
}

tn__cu_result cuStreamQuery(tn__cu_stream stream)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_stream(stream, &c, &s);
    if (r)
        return r;
    if (s->oldest != UINT64_MAX)
        return fake_leave(TN__CU_NOT_READY);
    fake_order_known(&s->clock);
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuStreamSynchronize(tn__cu_stream stream)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_stream(stream, &c, &s);
    if (r)
        return r;
    c = s->context;
    c->device->count[TN__FAKE_SYNCHRONIZATIONS]++;
    fake_synchronize(s);
    return fake_leave(fake_context_error(c));
}
