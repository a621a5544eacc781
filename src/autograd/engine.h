/* autograd/engine.h: what one backward pass keeps: nodes whose gradients wait (ready_queue.c), and streams
 * (backward_streams.c). */
#ifndef TENON_AUTOGRAD_ENGINE_H
#define TENON_AUTOGRAD_ENGINE_H

#include "autograd/node.h"
#include "backend/backend.h"

/* ---- streams: a node runs on the stream of its forward; the thread's current streams come back ---- */

typedef struct tn__backward_streams {
    tn__stream **caller; /* by device that another stream was current on: the caller's; retained */
    int64_t n, cap;
    tn__stream **used; /* streams that were made current; retained */
    int64_t n_used, used_cap;
} tn__backward_streams;

/* The stream on which what was just computed into t is ready: the current one of its device; NULL where work is done when
 * a call returns. Borrowed. */
tn__stream *tn__backward_stream_of(const tn_tensor *t);
tn__stream *tn__backward_stream_current(tn_device device);

/* The caller's stream of a device whose current one is 'now'. */
tn__stream *tn__backward_stream_caller(const tn__backward_streams *l, tn__stream *now);

/* Makes s current, until tn__backward_stream_leave(before); NULL changes nothing. *before is NULL where nothing is to be
 * undone. */
TN_MUST_USE tn_status tn__backward_stream_enter(tn__backward_streams *l, tn__stream *s, tn__stream **before);
void tn__backward_stream_leave(tn__stream *before);

/* What is queued on s from now on waits for what is on 'other'; nothing to do where one is NULL, or both are one. */
#define TN__STREAM_WAIT(name, s, other) \
    ((s) && (other) && (s) != (other) ? TN__QUEUED(name, tn__backward_stream_wait((s), (other))) : TN_OK)
TN_MUST_USE tn_status tn__backward_stream_wait(tn__stream *s, tn__stream *other);

/* The end: the caller's streams wait for all that were used. Also after an error, whose record is kept. */
tn_status tn__backward_streams_close(tn__backward_streams *l, tn_status e);
void tn__backward_streams_free(tn__backward_streams *l);

/* ---- nodes with gradients waiting ---- */

typedef struct tn__pending {
    tn__node *node; /* NULL: free */
    tn_tensor *g[TN__MAX_OUT];
    tn__stream *on[TN__MAX_OUT]; /* where g is ready; borrowed: the node's that gave it, or the caller's */
    tn_tensor **many;            /* of a node with more outputs: their g, then their on */
    bool done;
} tn__pending;

void tn__pending_release_many(tn__pending *e);

/* By output; valid until the next entry is made. */
static inline tn_tensor **tn__pending_g(tn__pending *e)
{
    return TN_LIKELY(!e->many) ? e->g : e->many;
}
static inline tn__stream **tn__pending_on(tn__pending *e)
{
    return TN_LIKELY(!e->many) ? e->on : (tn__stream **)(void *)(e->many + e->node->n_out);
}

/* One pass's scratch; a thread keeps its own for the next one. */
typedef struct tn__scratch {
    tn__pending *entries;
    int64_t entry_cap, entry_n;
    int64_t *heap; /* indices of entries, latest node first */
    int64_t heap_cap, heap_n;
    int64_t *slots; /* hash of nodes: index + 1; a power of two */
    int64_t slot_cap;
    tn__backward_streams streams;
    bool busy;
} tn__scratch;

/* The thread's scratch, or one of its own for a pass inside a pass; NULL when memory is out. */
tn__scratch *tn__scratch_get(tn__thread *t);
/* Also releases what a pass that failed left. */
void tn__scratch_put(tn__thread *t, tn__scratch *s);

/* The node's entry, made (and put into the heap) where there is none; -1 when memory is out. */
int64_t tn__scratch_find(tn__scratch *s, tn__node *node);
/* Takes the latest node out of the heap. Its entry is done: the gradients are the caller's, the node stays the scratch's. */
void tn__scratch_pop(tn__scratch *s, tn__pending *e);
/* Releases the gradients, which are used no more. */
static inline void tn__pending_release(tn__pending *e)
{
    for (int o = 0; o < TN__MAX_OUT; o++)
        tn__object_release(e->g[o]);
    if (TN_UNLIKELY(e->many != NULL))
        tn__pending_release_many(e);
}

static inline uint64_t tn__pointer_hash(const void *p)
{
    return ((uint64_t)(uintptr_t)p >> 6) * UINT64_C(0x9E3779B97F4A7C15) >> 20;
}

#endif
