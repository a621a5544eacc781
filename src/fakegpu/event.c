/* Events: a point of a stream's queue, and the time it was reached. One that was never recorded counts as reached. */
#include "fakegpu/driver.h"
#include <stdlib.h>

void fake_event_put(fake_event *e)
{
    if (--e->refs)
        return;
    if (e->stream)
        fake_stream_put(e->stream);
    fake_clock_free(&e->clock);
    free(e);
}

static bool reached(const fake_event *e)
{
    return !e->stream || fake_stream_reached(e->stream, e->number);
}

static void close_event(fake_event *e)
{
    for (fake_event **at = &e->context->events; *at; at = &(*at)->next)
        if (*at == e) {
            *at = e->next;
            break;
        }
    e->context->device->count[TN__FAKE_EVENTS]--;
    fake_handle_remove(e);
    fake_event_put(e);
}

void fake_events_clear(fake_context *c)
{
    while (c->events)
        close_event(c->events);
}

static tn__cu_result enter_event(tn__cu_event event)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    if (!fake_handle_is(event, FAKE_EVENT))
        return fake_leave(TN__CU_INVALID_HANDLE);
    r = fake_context_error(event->context);
    return r ? fake_leave(r) : TN__CU_SUCCESS;
}

tn__cu_result cuEventCreate(tn__cu_event *event, unsigned flags)
{
    fake_context *c;
    tn__cu_result r = fake_enter_context(&c);
    if (r)
        return r;
    if (!event || flags & ~(unsigned)(TN__CU_EVENT_BLOCKING_SYNC | TN__CU_EVENT_DISABLE_TIMING))
        return fake_leave(TN__CU_INVALID_VALUE);
    fake_event *e = calloc(1, sizeof *e);
    if (!e || !fake_handle_add(e, FAKE_EVENT)) {
        free(e);
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    }
    e->context = c;
    e->flags = flags;
    e->refs = 1;
    e->next = c->events;
    c->events = e;
    c->device->count[TN__FAKE_EVENTS]++;
    *event = e;
    return fake_leave(TN__CU_SUCCESS);
}

/* Also of a dead device: its handle goes, the error is said. */
tn__cu_result cuEventDestroy_v2(tn__cu_event event)
{
    tn__cu_result r = fake_enter();
    if (r)
        return r;
    if (!fake_handle_is(event, FAKE_EVENT))
        return fake_leave(TN__CU_INVALID_HANDLE);
    r = fake_context_error(event->context);
    close_event(event);
    return fake_leave(r);
}

tn__cu_result cuEventRecord(tn__cu_event event, tn__cu_stream stream)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_queue(stream, &c, &s);
    if (r)
        return r;
    if (!fake_handle_is(event, FAKE_EVENT) || event->context != s->context)
        return fake_leave(TN__CU_INVALID_HANDLE);
    fake_item *item = calloc(1, sizeof *item);
    if (!item)
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    item->kind = FAKE_RECORD;
    item->event = event;
    item->generation = ++event->generation;
    event->refs++;
    r = fake_queue(s, item);
    if (r)
        return fake_leave(r);
    s->refs++;
    if (event->stream)
        fake_stream_put(event->stream);
    event->stream = s;
    event->number = s->last;
    fake_order_join(s);
    fake_clock_copy(&event->clock, &s->clock);
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuStreamWaitEvent(tn__cu_stream stream, tn__cu_event event, unsigned flags)
{
    fake_context *c;
    fake_stream *s;
    tn__cu_result r = fake_enter_queue(stream, &c, &s);
    if (r)
        return r;
    if (!fake_handle_is(event, FAKE_EVENT))
        return fake_leave(TN__CU_INVALID_HANDLE);
    if (flags)
        return fake_leave(TN__CU_INVALID_VALUE);
    r = fake_context_error(event->context);
    if (r)
        return fake_leave(r);
    fake_order_wait(s, event);
    if (reached(event) || event->stream == s)
        return fake_leave(TN__CU_SUCCESS);
    fake_item *item = calloc(1, sizeof *item);
    if (!item)
        return fake_leave(TN__CU_OUT_OF_MEMORY);
    item->kind = FAKE_WAIT;
    item->on = event->stream;
    item->upto = event->number;
    event->stream->refs++;
    r = fake_queue(s, item);
    if (!r)
        fake_order_join(s);
    return fake_leave(r);
}

tn__cu_result cuEventQuery(tn__cu_event event)
{
    tn__cu_result r = enter_event(event);
    if (r)
        return r;
    if (!reached(event))
        return fake_leave(TN__CU_NOT_READY);
    fake_order_known(&event->clock);
    return fake_leave(TN__CU_SUCCESS);
}

tn__cu_result cuEventSynchronize(tn__cu_event event)
{
    tn__cu_result r = enter_event(event);
    if (r)
        return r;
    fake_context *c = event->context;
    c->device->count[TN__FAKE_SYNCHRONIZATIONS]++;
    fake_clock then = {0}; /* it may be recorded anew meanwhile */
    fake_clock_copy(&then, &event->clock);
    if (event->stream)
        fake_wait(event->stream, event->number);
    if (!c->error)
        fake_order_known(&then);
    fake_clock_free(&then);
    return fake_leave(fake_context_error(c));
}

tn__cu_result cuEventElapsedTime(float *milliseconds, tn__cu_event start, tn__cu_event end)
{
    tn__cu_result r = enter_event(start);
    if (r)
        return r;
    if (!milliseconds)
        return fake_leave(TN__CU_INVALID_VALUE);
    if (!fake_handle_is(end, FAKE_EVENT) || start->context != end->context || !start->stream || !end->stream ||
        (start->flags | end->flags) & TN__CU_EVENT_DISABLE_TIMING)
        return fake_leave(TN__CU_INVALID_HANDLE);
    if (!reached(start) || !reached(end))
        return fake_leave(TN__CU_NOT_READY);
    fake_order_known(&start->clock); /* whoever knows how long it took knows that it is over */
    fake_order_known(&end->clock);
    *milliseconds = (float)(end->time - start->time);
    return fake_leave(TN__CU_SUCCESS);
}
