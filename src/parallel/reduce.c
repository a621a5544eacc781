/* Sums of gradients over devices.
 *
 * The sum is made by pairs: 1 into 0 and 3 into 2 side by side, then 2 into 0; so each link carries each gradient once, and
 * n devices take log2(n) rounds. Gradients take turns on a device's two reduce streams: while one is added, the next one crosses.
 * Large ones go in chunks, so that what has landed needs little memory, and a round's first chunk need not wait for the last
 * one of the round before. A reduce stream waits for the events of the
 * gradients that it adds, not for what their streams do later.
 */
#include "parallel/parallel.h"
#include "backend/transfer.h"
#include "core/alloc.h"
#include <tenon/autograd.h>

enum { CHUNK = 4 << 20 }; /* bytes: long enough for a link's full speed */

/* ---- reduce streams ---- */

/* Borrowed from the team; made at first use. NULL with the error set. */
static tn_stream *reduce_stream(tn_team *team, size_t place, int which)
{
    const tn_device d = team->device[place];
    pthread_mutex_lock(&team->lock);
    tn_stream **slot = &team->reduce[place * TN__REDUCE_STREAMS + (size_t)which];
    if (!*slot)
        *slot = tn__backend_of(d)->queue->make(d, -1);
    tn_stream *s = *slot;
    pthread_mutex_unlock(&team->lock);
    return s;
}

/* A device that takes part. */
typedef struct side {
    tn_stream *reduce[TN__REDUCE_STREAMS]; /* NULL: its work is not queued */
    tn__stream *caller;                    /* its current stream, to be brought back; retained */
    bool begun;
} side;

/* All sums of one backward pass. */
typedef struct work {
    const tn__gradients *gs;
    side *side; /* [n_devices] */
    int which;  /* of the reduce streams: of the tensor that is summed */
} work;

static tn_status open_side(work *w, size_t i)
{
    tn_team_step *step = w->gs->step;
    side *s = &w->side[i];
    if (!step->member[i].stream || s->caller)
        return TN_OK;
    tn__stream *now = tn__stream_of(step->device[i]);
    if (!now)
        return tn_error_code();
    for (int k = 0; k < TN__REDUCE_STREAMS; k++)
        if (!(s->reduce[k] = reduce_stream(step->team, step->member[i].place, k)))
            return tn_error_code();
    s->caller = tn__stream_retain(now);
    return TN_OK;
}

/* Work for device i goes on its reduce stream from now on. */
static void enter(const work *w, size_t i)
{
    tn_stream *s = w->side[i].reduce[w->which];
    if (s)
        tn__backend_of(s->device)->queue->set_current(s);
}

static void leave(const work *w, size_t i)
{
    tn__stream *s = w->side[i].caller;
    if (s)
        tn__backend_of(s->device)->queue->set_current(s);
}

static tn_status queue_wait(tn_stream *s, tn_stream *other)
{
    return tn__backend_of(s->device)->queue->wait(s, other);
}

/* ---- one tensor ---- */

/* One device's part of the sum of one tensor: its memory as it lies, in one dimension. */
typedef struct part {
    size_t at; /* device */
    tn_tensor *whole, *flat;
    tn_event *event;
} part;

/* The reduce stream waits for the gradient. */
static tn_status await(work *w, const part *p)
{
    side *s = &w->side[p->at];
    tn_stream *stream = s->reduce[w->which];
    if (!stream)
        return TN_OK;
    tn_status e = TN__QUEUED(reduce_arrival, tn__wait_event(stream, p->event));
    if (!e && !s->begun) {
        s->begun = true;
        tn__step_reach(w->gs->step, p->at, TN__POINT_REDUCE, stream);
    }
    return e;
}

static tn_tensor *flat_view(const tn_tensor *t)
{
    tn_tensor *f = tn__tensor_alias(t);
    if (!f)
        return NULL;
    f->ndim = 1;
    f->shape[0] = t->numel;
    f->stride[0] = 1;
    tn__tensor_geometry(f);
    return f;
}

static tn_tensor *slice(const tn_tensor *flat, int64_t from, int64_t n)
{
    tn_tensor *s = tn__tensor_alias(flat);
    if (!s)
        return NULL;
    s->offset += from;
    s->shape[0] = n;
    tn__tensor_geometry(s);
    return s;
}

/* Its own copy, row-major. */
static tn_status make_own(work *w, part *p)
{
    tn__spec spec = {.dtype = p->whole->dtype, .ndim = p->whole->ndim};
    for (int32_t d = 0; d < spec.ndim; d++)
        spec.shape[d] = p->whole->shape[d];
    enter(w, p->at);
    tn_tensor *own = tn__parallel_make(&spec, p->whole->device);
    if (own)
        tn__scope_adopt(tn__self(), own);
    tn_status e = own && tn_copy_(own, p->whole) ? TN_OK : tn_error_code();
    leave(w, p->at);
    p->whole = own;
    return e;
}

/* Do the parts lie alike, so that flat chunks of them correspond? */
static bool alike(const tn_tensor *a, const tn_tensor *b)
{
    return (tn__contiguous(a) && tn__contiguous(b)) ||
           (tn__is_dense(a->shape, a->stride, a->ndim) && tn__same_shape(a->stride, a->ndim, b->stride, b->ndim));
}

/* The parts of tensor k that have a gradient; the one on its home first. */
static tn_status collect(work *w, size_t k, part *p, size_t *n)
{
    const tn__gradients *gs = w->gs;
    int64_t home = tn__step_index(gs->step, gs->home[k]);
    tn_status e = TN_OK;
    *n = 0;
    for (size_t turn = 0; turn < gs->n_devices && !e; turn++) {
        size_t i = home <= 0 || turn > (size_t)home ? turn : turn == 0 ? (size_t)home : turn - 1;
        tn_tensor *g = gs->g[i * gs->n + k];
        if (!g)
            continue;
        const tn__step_events *events = &gs->step->events[gs->step->member[i].place];
        part *q = &p[(*n)++];
        *q = (part){.at = i, .whole = g};
        e = open_side(w, i);
        q->event = w->side[i].caller ? events->arrived[gs->first + (int64_t)k] : NULL;
    }
    return e;
}

/* Parts that are added to become the sum's own, and all lie alike. */
static tn_status prepare(work *w, part *p, size_t n)
{
    tn_status e = TN_OK;
    for (size_t j = 0; j < n && !e; j++) {
        bool added_to = j % 2 == 0 && j + 1 < n;
        e = await(w, &p[j]);
        if (!e && ((added_to && !tn__is_private(p[j].whole)) || !alike(p[0].whole, p[j].whole)))
            e = make_own(w, &p[j]);
        if (!e && !(p[j].flat = flat_view(p[j].whole)))
            e = tn_error_code();
    }
    return e;
}

/* a += b, from element 'from' on. */
static tn_status add_chunk(const work *w, const part *a, const part *b, int64_t from, int64_t n)
{
    enter(w, a->at);
    enter(w, b->at);
    tn__spec spec = {.dtype = a->whole->dtype, .ndim = 1, .shape = {n}};
    tn_tensor *sum = slice(a->flat, from, n), *more = slice(b->flat, from, n);
    tn_tensor *landed = sum && more ? tn__tensor_make(&spec, a->whole->device) : NULL;
    tn_status e = landed ? tn__transfer(landed, more, false) : tn_error_code();
    if (!e && !tn_add_(sum, landed))
        e = tn_error_code();
    tn__object_release(landed);
    tn__object_release(more);
    tn__object_release(sum);
    leave(w, a->at);
    leave(w, b->at);
    tn__step_traffic(w->gs->step, (int64_t)b->at, TN__TRAFFIC_REDUCE, n * (int64_t)tn__dtype_size(spec.dtype));
    return e;
}

static tn_status add_up(const work *w, const part *p, size_t n)
{
    const int64_t numel = p[0].whole->numel, each = CHUNK / (int64_t)tn__dtype_size(p[0].whole->dtype);
    tn_status e = TN_OK;
    for (int64_t from = 0; from < numel && !e; from += each)
        for (size_t s = 1; s < n && !e; s *= 2)
            for (size_t j = 0; j + s < n && !e; j += 2 * s)
                e = add_chunk(w, &p[j], &p[j + s], from, TN_MIN(each, numel - from));
    return e;
}

static tn_status sum_one(work *w, size_t k, part *p, tn_tensor **total)
{
    size_t n;
    tn_status e = collect(w, k, p, &n);
    if (!e && n > 1) {
        w->which = (w->which + 1) % TN__REDUCE_STREAMS;
        e = prepare(w, p, n);
        if (!e)
            e = add_up(w, p, n);
        for (size_t j = 0; j < n; j++)
            tn__object_release(p[j].flat);
    }
    if (!e && n == 1 && w->side[p->at].caller) /* nothing to add: ready where it was made */
        e = TN__QUEUED(reduce_home, tn__wait_event(w->side[p->at].caller, p->event));
    *total = !e && n ? p[0].whole : NULL;
    return e;
}

/* ---- all of them ---- */

/* Gradients that the reduce streams read, of a stream that waits for them now: their memory needs no events of its own. */
static void join(const work *w)
{
    const tn__gradients *gs = w->gs;
    for (size_t i = 0; i < gs->n_devices; i++) {
        const side *s = &w->side[i];
        for (size_t k = 0; k < gs->n && s->begun; k++) {
            const tn_tensor *g = gs->g[i * gs->n + k];
            if (!g || !g->storage || g->storage->stream != s->caller)
                continue;
            for (int which = 0; which < TN__REDUCE_STREAMS; which++)
                tn__backend_of(g->device)->queue->joined(g->storage, s->reduce[which]);
        }
    }
}

/* The caller's streams wait for the reduce streams. */
static tn_status finish(work *w, tn_status e)
{
    for (size_t i = 0; i < w->gs->n_devices; i++) {
        side *s = &w->side[i];
        if (!s->caller)
            continue;
        if (!e && s->begun) {
            e = TN__QUEUED(reduce_streams, queue_wait(s->reduce[0], s->reduce[1]));
            tn__step_reach(w->gs->step, i, TN__POINT_REDUCED, s->reduce[0]);
            if (!e)
                e = TN__QUEUED(reduce_done, queue_wait(s->caller, s->reduce[0]));
        }
    }
    if (!e)
        join(w);
    for (size_t i = 0; i < w->gs->n_devices; i++)
        tn__stream_release(w->side[i].caller);
    return e;
}

/* Sums that are to lie elsewhere than they were made. */
static tn_status send_home(const tn__gradients *gs, tn_tensor **total)
{
    for (size_t k = 0; k < gs->n; k++) {
        if (!total[k] || tn__same_device(total[k]->device, gs->home[k]))
            continue;
        tn__step_traffic(gs->step, tn__step_index(gs->step, total[k]->device), TN__TRAFFIC_REDUCE,
                         tn__bytes_of(total[k]));
        total[k] = tn_to(total[k], .device = gs->home[k]);
        if (!total[k])
            return tn_error_code();
    }
    return TN_OK;
}

tn_status tn__reduce(const tn__gradients *gs, tn_tensor **total)
{
    const size_t bytes = gs->n_devices * (sizeof(side) + sizeof(part));
    side *sides = tn__block_zero(bytes);
    if (!sides)
        return tn__error_memory("sums of gradients", bytes);
    work w = {.gs = gs, .side = sides};
    part *p = (part *)(void *)(sides + gs->n_devices);
    tn_status e = TN_OK;
    for (size_t k = gs->n; k-- > 0 && !e;) /* the last layers' gradients came first */
        e = sum_one(&w, k, p, &total[k]);
    e = finish(&w, e);
    tn__block_put(sides, bytes);
    if (!e)
        e = send_home(gs, total);
    if (e)
        tn__step_blame_lost(gs->step);
    return e;
}

/* ---- a sum of any tensors, as an operation ---- */

typedef struct homes {
    size_t bytes, n;
    tn_device device[];
} homes;

static void free_homes(void *ctx)
{
    homes *h = ctx;
    tn__block_put(h, h->bytes);
}

static tn_status sum_backward(tn_node *self, void *ctx, tn_tensor *const *g, size_t n_out, tn_tensor **gx, size_t n_in)
{
    const homes *h = ctx;
    (void)self;
    (void)n_out;
    for (size_t i = 0; i < n_in; i++)
        if (!(gx[i] = tn_to(g[0], .device = h->device[i])))
            return tn_error_code();
    return TN_OK;
}

static const tn_function_class sum_class = {
    .struct_size = sizeof sum_class, .name = "ReduceAdd", .backward = sum_backward, .destroy = free_homes};

/* By pairs; each partial sum where its first tensor is, the last one where it is asked for, if one of them is there. */
static tn_tensor *sum_pairs(tn_tensor **t, size_t n, tn_device device)
{
    for (size_t j = 1; j < n; j++)
        if (tn__same_device(t[j]->device, device) && !tn__same_device(t[0]->device, device)) {
            tn_tensor *first = t[j];
            t[j] = t[0];
            t[0] = first;
        }
    for (size_t s = 1; s < n; s *= 2)
        for (size_t j = 0; j + s < n; j += 2 * s) {
            tn_tensor *other = tn_to(t[j + s], .device = t[j]->device);
            if (!other || !(t[j] = tn_add(t[j], other)))
                return NULL;
        }
    return tn_to(t[0], .device = device);
}

static tn_tensor *reduce_add(tn_tensors ts, tn_device device, homes *h, tn_tensor **room)
{
    tn_tensor *out = NULL;
    bool was = tn__set_no_grad(true);
    for (size_t i = 0; i < ts.n; i++) {
        room[i] = ts.t[i];
        h->device[i] = ts.t[i]->device;
    }
    tn_tensor *sum = sum_pairs(room, ts.n, device);
    tn__set_no_grad(was);
    if (!sum || tn_function_apply(&sum_class, h, ts, TN_TENSORS(sum), &out)) {
        free_homes(h);
        return NULL;
    }
    return out;
}

static tn_status check_alike(tn_tensors ts)
{
    tn_status e = tn__parallel_check("tn_parallel_reduce_add", ts);
    for (size_t i = 1; i < ts.n && !e; i++)
        if (ts.t[i]->dtype != ts.t[0]->dtype ||
            !tn__same_shape(ts.t[i]->shape, ts.t[i]->ndim, ts.t[0]->shape, ts.t[0]->ndim))
            e = tn__error(TN_EINVAL, "tn_parallel_reduce_add: tensor %zu is %s, tensor 0 is %s", i,
                          tn__tensor_str(ts.t[i]).s, tn__tensor_str(ts.t[0]).s);
    return e;
}

tn_tensor *tn_parallel_reduce_add_opt(tn_tensors ts, tn_device device, const tn_parallel_options *options)
{
    tn_parallel_options o;
    tn_scope scope;
    tn_device to;
    tn__options_in(&o, sizeof o, options);
    tn__thread *t = tn__enter(o.site);
    if (check_alike(ts) || tn__device_resolve(device, &to))
        return NULL;
    const size_t bytes = sizeof(homes) + ts.n * sizeof(tn_device), room_bytes = ts.n * sizeof(tn_tensor *);
    homes *h = tn__block_zero(bytes);
    tn_tensor **room = tn__block_get(room_bytes), *out = NULL;
    if (!h || !room) {
        tn__error_memory("a sum over devices", bytes);
        tn__block_put(h, bytes);
    } else {
        h->bytes = bytes;
        h->n = ts.n;
        tn__scope_push(t, &scope);
        out = reduce_add(ts, to, h, room);
        tn__scope_pop(t, &scope, out);
    }
    tn__block_put(room, room_bytes);
    return out;
}
