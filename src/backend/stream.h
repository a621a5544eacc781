/* backend/stream.h: a queue of work on one device. What runs on one stream runs in order; two streams are ordered only by
 * tn__queue.wait. */
#ifndef TENON_BACKEND_STREAM_H
#define TENON_BACKEND_STREAM_H

#include "core/base.h"

typedef struct tn__stream {
    _Atomic int32_t refs;
    tn_device device;
    uint32_t id;  /* unique in the process; 0: the default stream of its device */
    void *handle; /* the driver's; NULL is the driver's default stream */
    void (*destroy)(struct tn__stream *);
} tn__stream;

static inline tn__stream *tn__stream_retain(tn__stream *s)
{
    if (s)
        atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

static inline void tn__stream_release(tn__stream *s)
{
    if (s && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1)
        s->destroy(s);
}

/* A wait that correctness rests on, by name: the call, a tn_status, but in builds with TENON_TEST_WAITS where a test
 * drops it. */
#ifdef TENON_TEST_WAITS
bool tn__wait_dropped(const char *name);
/* From now on the waits of that name (a static string; NULL: none) are left out. */
void tn__drop_wait(const char *name);
/* How many were, since then. */
int64_t tn__waits_left_out(void);
#define TN__QUEUED(name, call) (tn__wait_dropped(#name) ? TN_OK : (call))
#else
#define TN__QUEUED(name, call) (call)
#endif

#endif
