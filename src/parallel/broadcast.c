/* Broadcast: each tensor on each device. With a step, into memory that the team keeps, made anew only where it is out of
 * date or in use; in the graph as one node, whose gradients are summed as they come (reduce.c). */
#include "parallel/parallel.h"
#include "backend/transfer.h"
#include "core/alloc.h"
#include <tenon/autograd.h>

/* ---- what is kept ---- */

void tn__param_copies_free(tn__param_copies *k, size_t n)
{
    tn__object_release(k->source);
    for (size_t i = 0; i < n && k->copy; i++)
        tn__object_release(k->copy[i]);
    tn__block_put(k->copy, n * (sizeof *k->copy + 2 * sizeof *k->version + sizeof *k->shared));
    *k = (tn__param_copies){0};
}

/* The place of a source: where it was last time, if the list is the same, or a new one. Under the lock. */
static tn__param_copies *find_kept(tn_team *t, tn_tensor *source, int64_t guess)
{
    if (guess < t->n_kept && t->kept[guess].source == source)
        return &t->kept[guess];
    for (int64_t i = 0; i < t->n_kept; i++)
        if (t->kept[i].source == source)
            return &t->kept[i];
    if (!tn__grow(&t->kept, sizeof *t->kept, &t->cap_kept, t->n_kept + 1))
        return tn__fail(TN_ENOMEM, "out of memory for a team's list of tensors");
    tn__param_copies k = {.source = source};
    k.copy = tn__block_zero(t->n * (sizeof *k.copy + 2 * sizeof *k.version + sizeof *k.shared));
    if (!k.copy)
        return tn__fail(TN_ENOMEM, "out of memory for a team's list of copies");
    k.version = (uint32_t *)(k.copy + t->n);
    k.own = k.version + t->n;
    k.shared = (bool *)(k.own + t->n);
    tn__object_retain(source);
    t->kept[t->n_kept] = k;
    return &t->kept[t->n_kept++];
}

/* What the last two broadcasts did not name is the model's no longer. Under the lock. */
static void drop_unused(tn_team *t)
{
    int64_t n = 0;
    for (int64_t i = 0; i < t->n_kept; i++) {
        if (t->kept[i].used + 2 >= t->broadcasts)
            t->kept[n++] = t->kept[i];
        else
            tn__param_copies_free(&t->kept[i], t->n);
    }
    t->n_kept = n;
}

/* A tensor of the source's kind on another device; its elements lie as the source's, where they are dense. */
static tn_tensor *new_copy(const tn_tensor *source, tn_device device)
{
    tn__spec s = {.dtype = source->dtype, .ndim = source->ndim};
    s.strided = !tn__contiguous(source) && tn__is_dense(source->shape, source->stride, source->ndim);
    for (int32_t d = 0; d < source->ndim; d++) {
        s.shape[d] = source->shape[d];
        s.stride[d] = source->stride[d];
    }
    return tn__parallel_make(&s, device);
}

static bool same_kind(const tn_tensor *a, const tn_tensor *b)
{
    return a->dtype == b->dtype && tn__same_shape(a->shape, a->ndim, b->shape, b->ndim);
}

/* May the copy be written to again? Nothing of an earlier step shows it, and its memory follows the stream that is current. */
static bool reusable(const tn__param_copies *k, size_t place, const tn_tensor *source)
{
    const tn_tensor *c = k->copy[place];
    return c && same_kind(c, source) && !k->shared[place] &&
           (!c->storage || (atomic_load(&c->storage->refs) == 1 && c->storage->stream == tn__stream_of(c->device)));
}

/* Whoever uses the copy on another stream than its own waits for it there. */
static tn_status lend(tn__param_copies *k, size_t place)
{
    const tn_tensor *c = k->copy[place];
    tn__stream *home = c->storage ? c->storage->stream : NULL, *here = home ? tn__stream_of(c->device) : NULL;
    if (!home || here == home)
        return TN_OK;
    if (!here)
        return tn_error_code();
    k->shared[place] = true;
    return TN__QUEUED(team_kept, tn__backend_of(c->device)->queue->wait(here, home));
}

/* Is the copy what its source is? Memory whose address was given out may have changed unseen. */
static bool is_current(const tn__param_copies *k, size_t place, const tn_tensor *source)
{
    const tn_tensor *c = k->copy[place];
    return c && k->version[place] == tn__tensor_writes(source) && k->own[place] == tn__tensor_writes(c) &&
           same_kind(c, source) && !(source->storage && atomic_load(&source->storage->exposed));
}

/* The copy at a place, up to date. Under the lock. */
static tn_tensor *refresh(tn_team_step *step, size_t i, tn__param_copies *k, tn_tensor *source)
{
    size_t place = step->member[i].place;
    uint32_t version = tn__tensor_writes(source);
    tn_tensor *c = k->copy[place];
    if (is_current(k, place, source))
        return lend(k, place) ? NULL : c;
    if (!reusable(k, place, source)) {
        c = new_copy(source, step->device[i]);
        if (!c)
            return NULL;
        tn__object_release(k->copy[place]);
        k->copy[place] = c;
        k->shared[place] = false;
    }
    k->version[place] = version - 1; /* until it is right */
    if (tn__transfer(c, source, false))
        return NULL;
    k->version[place] = version;
    k->own[place] = tn__tensor_writes(c);
    tn__step_traffic(step, (int64_t)i, TN__TRAFFIC_BROADCAST, tn__bytes_of(c));
    return c;
}

/* ---- copies ---- */

/* One call. */
typedef struct job {
    tn__thread *self;
    tn_tensors ts;
    tn_device_list devices; /* resolved */
    tn_team_step *step;
    tn_tensor **out;
} job;

/* Another tensor of the same memory, the scope's. */
static tn_tensor *alias(const job *j, const tn_tensor *t)
{
    tn_tensor *a = tn__tensor_alias(t);
    if (a)
        tn__scope_adopt(j->self, a);
    return a;
}

/* Did a reset take the memory away that is to be copied? */
static tn_status check_void(const job *j)
{
    for (size_t k = 0; k < j->ts.n; k++) {
        const tn_tensor *t = j->ts.t[k];
        const tn__queue *q = tn__backend_of(t->device)->queue;
        if (q && t->storage && q->gone(t->storage))
            return tn__error(TN_EDEVICE,
                             "tn_parallel_broadcast: tensor %zu, %s, is void: tn_cuda_reset took the memory of "
                             "%s away",
                             k, tn__tensor_str(t).s, tn_device_text(t->device).s);
    }
    return TN_OK;
}

static tn_tensor *copy_to(const job *j, size_t i, size_t k)
{
    tn_tensor *t = j->ts.t[k];
    if (tn__same_device(t->device, j->devices.d[i]))
        return alias(j, t);
    if (!j->step)
        return tn_to(t, .device = j->devices.d[i]);
    tn__param_copies *kept = find_kept(j->step->team, t, (int64_t)k);
    if (!kept)
        return NULL;
    kept->used = j->step->team->broadcasts;
    const tn_tensor *c = refresh(j->step, i, kept, t);
    return c ? alias(j, c) : NULL;
}

static tn_status copy_all(const job *j)
{
    tn_team *team = j->step ? j->step->team : NULL;
    bool was = tn__set_no_grad(true);
    uint32_t born = j->self->born;
    tn_status e = TN_OK;
    j->self->born = 0; /* parameters are no inference tensors, whatever mode they are copied in */
    if (team) {
        pthread_mutex_lock(&team->lock);
        team->broadcasts++;
    }
    for (size_t i = 0; i < j->devices.n && !e; i++) {
        for (size_t k = 0; k < j->ts.n && !e; k++)
            if (!(j->out[i * j->ts.n + k] = copy_to(j, i, k)))
                e = tn_error_code();
        if (team && !e)
            tn__step_reach(j->step, i, TN__POINT_BROADCAST, NULL);
    }
    if (team) {
        if (!e)
            drop_unused(team);
        pthread_mutex_unlock(&team->lock);
    }
    j->self->born = born;
    tn__set_no_grad(was);
    return e;
}

/* ---- the graph ---- */

/* What the node remembers: of the tensors that want a gradient. */
typedef struct context {
    size_t bytes, n, n_devices;
    int64_t first;
    tn_team_step *step; /* retained, or NULL */
    tn_device home[];   /* [n] */
} context;

static void free_context(void *ctx)
{
    context *c = ctx;
    tn_team_step_release(c->step);
    tn__block_put(c, c->bytes);
}

/* With a graph of its own, or on devices that are no team: each sum is an operation. */
static tn_status sum_recorded(const context *c, tn_tensor *const *g, tn_tensor **total)
{
    tn_tensor *few[64];
    for (size_t k = 0; k < c->n; k++) {
        size_t n = 0;
        for (size_t i = 0; i < c->n_devices && n < TN_COUNT(few); i++)
            if (g[i * c->n + k])
                few[n++] = g[i * c->n + k];
        if (n && !(total[k] = tn_parallel_reduce_add(((tn_tensors){few, n}), c->home[k])))
            return tn_error_code();
    }
    return TN_OK;
}

static tn_status broadcast_backward(tn_node *self, void *ctx, tn_tensor *const *g, size_t n_out, tn_tensor **gx,
                                    size_t n_in)
{
    const context *c = ctx;
    (void)self;
    (void)n_out;
    (void)n_in;
    if (!c->step || tn_is_grad_enabled())
        return sum_recorded(c, g, gx);
    const tn__gradients gs = {c->step, g, c->n, c->n_devices, c->first, c->home};
    return tn__reduce(&gs, gx);
}

static const tn_function_class broadcast_class = {.struct_size = sizeof broadcast_class,
                                                  .name = "Broadcast",
                                                  .backward = broadcast_backward,
                                                  .destroy = free_context};

/* A gradient of a copy is there: whoever adds it waits for this point, not for all that the stream does after it. */
static tn_status note_arrival(tn__node *node, uint32_t output, tn__stream *on)
{
    const context *c = tn_node_context((tn_node *)node);
    size_t i = output / c->n;
    tn__thread *t = tn__self();
    const char *site = t->site;
    if (!on)
        return TN_OK;
    const tn__step_events *events = &c->step->events[c->step->member[i].place];
    tn_event *event = events->arrived[c->first + (int64_t)(output % c->n)];
    tn_status e = TN__QUEUED(reduce_record, tn_event_record(event, on));
    t->site = site;
    if (!e)
        tn__step_arrival(c->step, i, event);
    return e;
}

/* Events for n more tensors. */
static tn_status grow_events(tn_team_step *step, size_t n_devices, int64_t need)
{
    for (size_t i = 0; i < n_devices; i++) {
        tn__step_events *c = &step->events[step->member[i].place];
        if (!step->member[i].stream)
            continue;
        if (!tn__grow(&c->arrived, sizeof(tn_event *), &c->cap_arrived, need))
            return tn__error_memory("a step's events", (size_t)need * sizeof(tn_event *));
        while (c->n_arrived < need) {
            tn__thread *t = tn__self();
            const char *site = t->site;
            tn_event *e = tn_event_new(TN_EVENT_TIMING);
            t->site = site;
            if (!e)
                return tn_error_code();
            c->arrived[c->n_arrived++] = e;
        }
    }
    return TN_OK;
}

static context *make_context(const job *j, size_t n)
{
    const size_t bytes = sizeof(context) + n * sizeof(tn_device);
    context *c = tn__block_zero(bytes);
    if (!c)
        return tn__fail(TN_ENOMEM, "out of memory for recording a broadcast");
    c->bytes = bytes;
    c->n = n;
    c->n_devices = j->devices.n;
    if (!j->step)
        return c;
    c->first = j->step->tensors;
    if (grow_events(j->step, j->devices.n, c->first + (int64_t)n)) {
        tn__block_put(c, bytes);
        return NULL;
    }
    j->step->tensors += (int64_t)n;
    c->step = tn_team_step_retain(j->step);
    return c;
}

static bool wants(const tn_tensor *t)
{
    return tn__dtype_is_float(t->dtype) && tn__wants_grad(t);
}

/* The node of the n tensors that want gradients; list: room for the tensors, and twice for their copies. */
static tn_status record_n(const job *j, size_t n, tn_tensor **list)
{
    tn_tensor **in = list, **copies = list + n, **results = copies + n * j->devices.n;
    context *c = make_context(j, n);
    if (!c)
        return tn_error_code();
    for (size_t k = 0, at = 0; k < j->ts.n; k++) {
        tn_tensor *t = j->ts.t[k];
        if (!wants(t))
            continue;
        in[at] = t;
        c->home[at] = t->device;
        for (size_t i = 0; i < j->devices.n; i++)
            copies[i * n + at] = j->out[i * j->ts.n + k];
        at++;
    }
    tn_status e =
        tn_function_apply(&broadcast_class, c, ((tn_tensors){in, n}), ((tn_tensors){copies, n * j->devices.n}), results,
                          .new_outputs = true, .none_for_zeros = true);
    if (e) {
        free_context(c);
        return e;
    }
    if (c->step)
        ((tn__node *)atomic_load(&results[0]->node))->arrived = note_arrival;
    for (size_t k = 0, at = 0; k < j->ts.n; k++) {
        if (!wants(j->ts.t[k]))
            continue;
        for (size_t i = 0; i < j->devices.n; i++)
            j->out[i * j->ts.n + k] = results[i * n + at];
        at++;
    }
    return TN_OK;
}

static tn_status record(const job *j)
{
    size_t n = 0;
    for (size_t k = 0; k < j->ts.n && !j->self->no_grad; k++)
        n += wants(j->ts.t[k]);
    if (!n)
        return TN_OK;
    const size_t bytes = n * (1 + 2 * j->devices.n) * sizeof(tn_tensor *);
    tn_tensor **list = tn__block_get(bytes);
    if (!list)
        return tn__error_memory("recording a broadcast", bytes);
    tn_status e = record_n(j, n, list);
    tn__block_put(list, bytes);
    return e;
}

/* ---- public ---- */

static tn_status check(const job *j, tn_device_list devices, tn_device *resolved)
{
    tn_status e = j->ts.n ? tn__parallel_check("tn_parallel_broadcast", j->ts) : TN_OK;
    if (!e && (!devices.n || !devices.d || devices.n > 64))
        e = tn__error(TN_EINVAL, "tn_parallel_broadcast: between 1 and 64 devices, not %zu", devices.n);
    if (!e && j->step && devices.n > j->step->n)
        e = tn__error(TN_EINVAL, "tn_parallel_broadcast: %zu devices, but the step has %zu", devices.n, j->step->n);
    for (size_t i = 0; i < devices.n && !e; i++) {
        e = tn__device_resolve(devices.d[i], &resolved[i]);
        if (!e && j->step && !tn_device_equal(resolved[i], j->step->device[i]))
            e = tn__error(TN_EINVAL, "tn_parallel_broadcast: device %zu is %s, but the step's is %s", i,
                          tn_device_text(resolved[i]).s, tn_device_text(j->step->device[i]).s);
    }
    return e;
}

tn_status tn_parallel_broadcast_opt(tn_tensors ts, tn_device_list devices, tn_tensor **out,
                                    const tn_parallel_options *options)
{
    tn_parallel_options o;
    tn_scope scope;
    tn_device resolved[64];
    tn__options_in(&o, sizeof o, options);
    tn__thread *t = tn__enter(o.site);
    job j = {t, ts, {resolved, devices.n}, o.step, out};
    tn_status e = check(&j, devices, resolved);
    if (e)
        return e;
    const size_t n = ts.n * devices.n;
    for (size_t i = 0; i < n; i++)
        out[i] = NULL;
    tn__scope_push(t, &scope);
    e = TN_UNLIKELY(atomic_load(&tn__resets) != 0) ? check_void(&j) : TN_OK;
    if (!e)
        e = copy_all(&j);
    if (!e)
        e = record(&j);
    if (e)
        tn__step_blame_lost(o.step);
    return tn__parallel_hand_out(t, &scope, out, n, e);
}
