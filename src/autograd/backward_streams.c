/* Streams of a backward pass. A device enters the list when another stream than the caller's is first made current on it,
 * so a pass over one stream, or on the CPU, keeps no list at all. */
#include "autograd/engine.h"
#include "core/alloc.h"
#include "core/error.h"

static const tn__queue *queue_of(tn_device d)
{
    return tn__backend_of(d)->queue;
}

tn__stream *tn__backward_stream_current(tn_device device)
{
    const tn__queue *q = queue_of(device);
    return TN_UNLIKELY(q != NULL) ? q->current(device) : NULL;
}

tn__stream *tn__backward_stream_of(const tn_tensor *t)
{
    return tn__backward_stream_current(t->device);
}

/* The caller's stream of a device that is in the list, or NULL. */
static tn__stream *listed(const tn__backward_streams *l, tn_device d)
{
    for (int64_t i = 0; i < l->n; i++)
        if (tn__same_device(l->caller[i]->device, d))
            return l->caller[i];
    return NULL;
}

tn__stream *tn__backward_stream_caller(const tn__backward_streams *l, tn__stream *now)
{
    tn__stream *caller = now ? listed(l, now->device) : NULL;
    return caller ? caller : now;
}

static bool is_used(const tn__backward_streams *l, const tn__stream *s)
{
    for (int64_t i = 0; i < l->n_used; i++)
        if (l->used[i] == s)
            return true;
    return false;
}

/* s takes the place of 'now'. */
static tn_status note(tn__backward_streams *l, tn__stream *now, tn__stream *s)
{
    if (!tn__grow(&l->caller, sizeof *l->caller, &l->cap, l->n + 1) ||
        !tn__grow(&l->used, sizeof *l->used, &l->used_cap, l->n_used + 1))
        return tn__error_memory("a backward pass", sizeof *l->used * (size_t)(l->n_used + 1));
    if (!listed(l, s->device))
        l->caller[l->n++] = tn__stream_retain(now);
    if (!is_used(l, s))
        l->used[l->n_used++] = tn__stream_retain(s);
    return TN_OK;
}

tn_status tn__backward_stream_enter(tn__backward_streams *l, tn__stream *s, tn__stream **before)
{
    *before = NULL;
    if (TN_LIKELY(!s))
        return TN_OK;
    const tn__queue *q = queue_of(s->device);
    tn__stream *now = q->current(s->device);
    if (!now)
        return tn_error_code();
    if (now == s)
        return TN_OK;
    if (note(l, now, s))
        return TN_ENOMEM;
    q->set_current(s);
    if (q->current(s->device) != s) { /* out of memory, or a stream that a reset has made void */
        q->set_current(now);
        return tn__error(TN_EDEVICE, "stream %u of %s, on which the forward ran, cannot be used any more",
                         (unsigned)s->id, tn_device_text(s->device).s);
    }
    *before = now;
    return TN_OK;
}

void tn__backward_stream_leave(tn__stream *before)
{
    if (before)
        queue_of(before->device)->set_current(before);
}

tn_status tn__backward_stream_wait(tn__stream *s, tn__stream *other)
{
    return queue_of(s->device)->wait(s, other);
}

tn_status tn__backward_streams_close(tn__backward_streams *l, tn_status e)
{
    tn__error_copy record;
    if (TN_LIKELY(l->n_used == 0))
        return e;
    tn__error_save(&record);
    for (int64_t i = 0; i < l->n_used; i++) {
        tn_status waited = TN__STREAM_WAIT(backward_end, listed(l, l->used[i]->device), l->used[i]);
        if (waited && !e) {
            e = waited;
            tn__error_save(&record);
        }
        tn__stream_release(l->used[i]);
    }
    for (int64_t i = 0; i < l->n; i++)
        tn__stream_release(l->caller[i]);
    l->n = l->n_used = 0;
    tn__error_restore(&record);
    return e;
}

void tn__backward_streams_free(tn__backward_streams *l)
{
    tn__block_put(l->caller, (size_t)l->cap * sizeof *l->caller);
    tn__block_put(l->used, (size_t)l->used_cap * sizeof *l->used);
}
