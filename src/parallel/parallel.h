/* parallel/parallel.h: what the pieces of DataParallel share: the team, its steps, and how a step is timed.
 *
 * All work of a step is queued on the current streams of its devices, but for the sums of gradients, which run on two
 * streams of the team's own on each device ('reduce streams'): they wait only for the gradients that they add, so they
 * overlap the rest of the backward pass.
 */
#ifndef TENON_PARALLEL_PARALLEL_H
#define TENON_PARALLEL_PARALLEL_H

#include "autograd/functions.h"
#include "autograd/node.h"
#include "backend/backend.h"
#include "core/error.h"
#include <pthread.h>
#include <tenon/cuda.h>
#include <tenon/graph.h>
#include <tenon/parallel.h>

enum { TN__REDUCE_STREAMS = 2 };

/* Points of a step on a device: on its current stream, the last two on its reduce streams. */
typedef enum tn__step_point {
    TN__POINT_BEGIN,
    TN__POINT_SCATTERED,
    TN__POINT_BROADCAST,
    TN__POINT_FORWARD,
    TN__POINT_GATHERED,
    TN__POINT_BACKWARD, /* the gradient of this device's output is there */
    TN__POINT_ARRIVED,  /* the last gradient of its parameters is there */
    TN__POINT_REDUCE,
    TN__POINT_REDUCED,
    TN__POINTS
} tn__step_point;

/* What crosses between devices, counted in bytes at the replica. */
typedef enum tn__traffic {
    TN__TRAFFIC_SCATTER,
    TN__TRAFFIC_BROADCAST,
    TN__TRAFFIC_GATHER,
    TN__TRAFFIC_REDUCE,
    TN__TRAFFICS
} tn__traffic;

/* One device's part in a step. */
typedef struct tn__member {
    size_t place;      /* among the team's devices */
    tn_stream *stream; /* the maker's current one; NULL where work is not queued. Retained */
} tn__member;

/* What is reported of a device; under the team's lock 'records': a report may be asked for while a step is under way. */
typedef struct tn__record {
    bool reached[TN__POINTS];
    tn_event *last; /* gradient's that arrived; of 'arrived' */
    int64_t samples, bytes[TN__TRAFFICS];
    double host_ms; /* from enter to leave; -1: not there */
} tn__record;

/* Events of one of the team's devices, kept for the next step. */
typedef struct tn__step_events {
    tn_event *event[TN__POINTS];
    tn__record record;
    tn_event **arrived; /* of gradients: a broadcast's tensors from tn__broadcast.first on */
    int64_t n_arrived, cap_arrived;
} tn__step_events;

struct tn_team_step {
    int32_t refs;  /* under the team's lock; 0: it is the team's own */
    tn_team *team; /* retained while refs are there */
    size_t n;
    tn_device *device; /* [team's n]; the first n are this step's, as members are */
    tn__member *member;
    tn__step_events *events;   /* [team's n], by place */
    uint32_t resets;           /* of devices, when it began: its events are void since */
    int64_t tensors;           /* of its broadcasts, so far */
    struct tn_team_step *next; /* spare */
};

/* A tensor of the model and its copies. */
typedef struct tn__param_copies {
    tn_tensor *source; /* retained */
    uint64_t used;     /* the last broadcast that named it */
    tn_tensor **copy;  /* [team's n]; NULL: none */
    uint32_t *version; /* [team's n] of the source, when it was copied */
    uint32_t *own;     /* [team's n] of the copy, then: a replica's buffer may be written to */
    bool *shared;      /* [team's n] was lent to another stream than its own: not to be written to again */
} tn__param_copies;

struct tn_team {
    _Atomic int32_t refs;
    pthread_mutex_t records; /* of the steps' records; the inner lock */
    pthread_mutex_t lock;    /* of all below */
    size_t n;
    tn_device *device;
    uint32_t resets;    /* of devices, when what is kept was made */
    tn_stream **reduce; /* [n * TN__REDUCE_STREAMS]; NULL: not made yet */
    tn__param_copies *kept;
    int64_t n_kept, cap_kept;
    uint64_t broadcasts;
    tn_team_step *last; /* that reports are of; its references may be somebody's */
    tn_team_step *spare;
};

void tn__param_copies_free(tn__param_copies *k, size_t n);

/* ---- steps ---- */

/* Notes the point on the device's stream (NULL: its current one). Timing is never a reason to fail: what cannot be noted is
 * not part of the report. */
void tn__step_reach(tn_team_step *step, size_t i, tn__step_point what, tn_stream *stream);
/* Which of the step's devices that is; -1: none. step may be NULL. */
int64_t tn__step_index(const tn_team_step *step, tn_device device);
/* Counts bytes that crossed; nothing where the device is none of a step's (i < 0). */
void tn__step_traffic(tn_team_step *step, int64_t i, tn__traffic what, int64_t bytes);
static inline int64_t tn__bytes_of(const tn_tensor *t)
{
    return t->numel * (int64_t)tn__dtype_size(t->dtype);
}
/* Notes the part of the batch that a device works on; the largest of several. */
void tn__step_samples(tn_team_step *step, int64_t i, int64_t samples);
/* Notes that a gradient's event has been recorded. */
void tn__step_arrival(tn_team_step *step, size_t i, tn_event *event);
/* What is known of device i, with references of its events: release them. */
tn__step_events tn__step_read(tn_team_step *step, size_t i);

/* The thread's error is of a replica whose device is lost: says so. NULL: no step. */
void tn__step_blame_lost(const tn_team_step *step);

/* The current stream of a device, borrowed; NULL where work is not queued, or with the error set. */
static inline tn__stream *tn__stream_of(tn_device d)
{
    const tn__queue *q = tn__backend_of(d)->queue;
    return q ? q->current(d) : NULL;
}

/* tn_stream_wait_event for the library's own: errors go on naming the user's call. */
static inline tn_status tn__wait_event(tn_stream *s, tn_event *event)
{
    tn__thread *t = tn__self();
    const char *site = t->site;
    tn_status e = tn_stream_wait_event(s, event);
    t->site = site;
    return e;
}

/* ---- gradients ---- */

/* The copies of a list of tensors on the first n_devices of a step: their gradients are g[i * n + k], NULL where none came.
 */
typedef struct tn__gradients {
    tn_team_step *step;
    tn_tensor *const *g;
    size_t n, n_devices;
    int64_t first;         /* of their events among each device's */
    const tn_device *home; /* [n] where the sums go */
} tn__gradients;

/* total[k], with recording off: the sum of the gradients of tensor k, the scope's that is open; NULL where none came. By
 * pairs of devices, in chunks, on the team's reduce streams, which wait for the gradients' events alone; the caller's
 * current streams wait for the totals. */
TN_MUST_USE tn_status tn__reduce(const tn__gradients *gs, tn_tensor **total);

/* Is it a new reference's worth: what the innermost scope owns goes out of it as these results. */
tn_status tn__parallel_hand_out(tn__thread *t, tn_scope *scope, tn_tensor **out, size_t n, tn_status e);
tn_status tn__parallel_check(const char *what, tn_tensors ts);
/* tn__tensor_make, where the size is not one that another tensor's memory has already: an expanded tensor may have any. */
tn_tensor *tn__parallel_make(const tn__spec *spec, tn_device device);

/* ---- modules ---- */

/* Replicas of a module on several devices, kept from step to step. */
typedef struct tn__replicas tn__replicas;
tn__replicas *tn__replicas_new(tn_module *m, size_t n);
void tn__replicas_free(tn__replicas *r);
/* Are they still replicas of m as it is? */
bool tn__replicas_fits(const tn__replicas *r, const tn_module *m);
/* The tensors of the module, each once: what is to be broadcast. */
tn_tensors tn__replicas_tensors(const tn__replicas *r);
/* Gives replica i its tensors (t[k] for tensor k), and then contexts of its own; NULL takes them away, so that nothing of
 * the graph is kept. */
tn_status tn__replicas_fill(tn__replicas *r, size_t i, tn_tensor *const *t);
tn_module *tn__replicas_replica(const tn__replicas *r, size_t i);

#endif
