/* The team: devices, their steps, and points in time on their streams. */
#include "parallel/parallel.h"
#include "core/alloc.h"
#include <time.h>

/* ---- steps: made once, used again ---- */

static void free_events(tn__step_events *c)
{
    for (int k = 0; k < TN__POINTS; k++)
        tn_event_release(c->event[k]);
    for (int64_t i = 0; i < c->n_arrived; i++)
        tn_event_release(c->arrived[i]);
    tn__block_put(c->arrived, (size_t)c->cap_arrived * sizeof(tn_event *));
}

static void free_step(tn_team_step *s, size_t team_n)
{
    for (size_t i = 0; i < team_n && s->member; i++)
        tn_stream_release(s->member[i].stream);
    for (size_t i = 0; i < team_n && s->events; i++)
        free_events(&s->events[i]);
    tn__block_put(s->events, team_n * sizeof *s->events);
    tn__block_put(s->member, team_n * sizeof *s->member);
    tn__block_put(s->device, team_n * sizeof *s->device);
    tn__block_put(s, sizeof *s);
}

static tn_team_step *make_step(const tn_team *team)
{
    tn_team_step *s = tn__block_zero(sizeof *s);
    if (s) {
        s->member = tn__block_zero(team->n * sizeof *s->member);
        s->device = tn__block_zero(team->n * sizeof *s->device);
        s->events = tn__block_zero(team->n * sizeof *s->events);
    }
    if (s && s->member && s->device && s->events)
        return s;
    if (s)
        free_step(s, team->n);
    return tn__fail(TN_ENOMEM, "out of memory for a step of %zu devices", team->n);
}

/* ---- the team ---- */

/* What is kept, but for the steps that are out; under the lock, or where nobody else has the team. */
static void forget(tn_team *t)
{
    tn_team_step *next;
    for (tn_team_step *s = t->spare; s; s = next) {
        next = s->next;
        free_step(s, t->n);
    }
    t->spare = NULL;
    if (t->last && !t->last->refs)
        free_step(t->last, t->n);
    t->last = NULL;
    for (int64_t i = 0; i < t->n_kept; i++)
        tn__param_copies_free(&t->kept[i], t->n);
    t->n_kept = 0;
    for (size_t i = 0; i < t->n * TN__REDUCE_STREAMS; i++) {
        tn_stream_release(t->reduce[i]);
        t->reduce[i] = NULL;
    }
}

static void free_team(tn_team *t)
{
    if (t->reduce)
        forget(t);
    tn__block_put(t->kept, (size_t)t->cap_kept * sizeof *t->kept);
    tn__block_put(t->reduce, t->n * TN__REDUCE_STREAMS * sizeof(tn_stream *));
    tn__block_put(t->device, t->n * sizeof *t->device);
    pthread_mutex_destroy(&t->lock);
    pthread_mutex_destroy(&t->records);
    tn__block_put(t, sizeof *t);
}

static tn_team *make_team(size_t n)
{
    tn_team *t = tn__block_zero(sizeof *t);
    if (!t)
        return tn__fail(TN_ENOMEM, "out of memory for a team of devices");
    pthread_mutex_init(&t->lock, NULL);
    pthread_mutex_init(&t->records, NULL);
    atomic_init(&t->refs, 1);
    t->n = n;
    t->device = tn__block_zero(n * sizeof *t->device);
    t->reduce = tn__block_zero(n * TN__REDUCE_STREAMS * sizeof(tn_stream *));
    if (t->device && t->reduce)
        return t;
    free_team(t);
    return tn__fail(TN_ENOMEM, "out of memory for a team of %zu devices", n);
}

static tn_status take_devices(tn_team *t, tn_device_list devices)
{
    for (size_t i = 0; i < t->n; i++) {
        tn_status e = tn__device_resolve(devices.d[i], &t->device[i]);
        if (e)
            return e;
        for (size_t k = 0; k < i; k++)
            if (tn_device_equal(t->device[i], t->device[k]))
                return tn__error(TN_EINVAL,
                                 "device %s is named twice: each works on one part of the batch\n"
                                 "  TENON_VISIBLE_DEVICES=0,0 makes two devices of one GPU",
                                 tn_device_text(t->device[i]).s);
    }
    return TN_OK;
}

tn_team *tn_team_new(tn_device_list devices)
{
    tn__enter(TN__NOWHERE);
    if (!devices.n || !devices.d || devices.n > 64)
        return tn__fail(TN_EINVAL, "a team has between 1 and 64 devices, not %zu", devices.n);
    tn_team *t = make_team(devices.n);
    if (t && take_devices(t, devices)) {
        free_team(t);
        return NULL;
    }
    if (t)
        t->resets = atomic_load(&tn__resets);
    return t;
}

tn_team *tn_team_retain(tn_team *t)
{
    if (t)
        atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

void tn_team_release(tn_team *t)
{
    if (t && atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1)
        free_team(t);
}

static bool is_lost(tn_device d)
{
    const tn__queue *q = tn__backend_of(d)->queue;
    return q && q->lost(d);
}

size_t tn_team_devices(tn_team *t, tn_device *out, size_t cap)
{
    size_t n = 0;
    tn__enter(TN__NOWHERE);
    if (!t) {
        tn__poisoned("tn_team_devices");
        return 0;
    }
    for (size_t i = 0; i < t->n; i++) {
        if (is_lost(t->device[i]))
            continue;
        if (n < cap)
            out[n] = t->device[i];
        n++;
    }
    return n;
}

/* ---- a step ---- */

/* One that nobody has. Under the lock. */
static tn_team_step *take_step(tn_team *t)
{
    uint32_t resets = atomic_load(&tn__resets);
    if (TN_UNLIKELY(resets != t->resets)) { /* what a reset took away is void */
        forget(t);
        t->resets = resets;
    }
    tn_team_step *s = t->spare;
    if (s)
        t->spare = s->next;
    else if (!(s = make_step(t)))
        return NULL;
    s->refs = 1;
    s->resets = resets;
    s->next = NULL;
    return s;
}

/* It is what reports are of; the one before goes back to the others, or does when it is let go. */
static void announce(tn_team_step *s)
{
    tn_team *t = s->team;
    pthread_mutex_lock(&t->lock);
    if (t->last && !t->last->refs) {
        t->last->next = t->spare;
        t->spare = t->last;
    }
    t->last = s;
    pthread_mutex_unlock(&t->lock);
}

/* Takes the devices that are there, each with the stream that is current. */
static tn_status begin(tn_team_step *s)
{
    const tn_team *t = s->team;
    s->n = 0;
    s->tensors = 0;
    for (size_t i = 0; i < t->n; i++) {
        tn__member *m = &s->member[s->n];
        pthread_mutex_lock(&s->team->records);
        s->events[i].record = (tn__record){.host_ms = -1};
        pthread_mutex_unlock(&s->team->records);
        if (is_lost(t->device[i])) {
            if (i == 0)
                return tn__error(TN_EDEVICE,
                                 "%s, the main device of a team, is lost: an asynchronous failure has made it "
                                 "unusable\n  tn_cuda_reset(device) makes it usable; what was in its memory is gone",
                                 tn_device_text(t->device[i]).s);
            continue;
        }
        tn__stream *stream = tn__stream_of(t->device[i]);
        if (!stream && tn__backend_of(t->device[i])->queue)
            return tn_error_code();
        m->stream = tn__stream_retain(stream);
        m->place = i;
        s->device[s->n++] = t->device[i];
    }
    return TN_OK;
}

tn_team_step *tn_team_step_new(tn_team *t)
{
    tn__enter(NULL);
    if (!t) {
        tn__poisoned("tn_team_step_new");
        return NULL;
    }
    pthread_mutex_lock(&t->lock);
    tn_team_step *s = take_step(t);
    pthread_mutex_unlock(&t->lock);
    if (!s)
        return NULL;
    s->team = tn_team_retain(t);
    if (begin(s)) {
        tn_team_step_release(s);
        return NULL;
    }
    announce(s);
    for (size_t i = 0; i < s->n; i++)
        tn__step_reach(s, i, TN__POINT_BEGIN, NULL);
    return s;
}

tn_team_step *tn_team_step_retain(tn_team_step *s)
{
    if (!s)
        return NULL;
    pthread_mutex_lock(&s->team->lock);
    s->refs++;
    pthread_mutex_unlock(&s->team->lock);
    return s;
}

/* The last reference gives it back to its team. */
void tn_team_step_release(tn_team_step *s)
{
    if (!s)
        return;
    tn_team *t = s->team;
    pthread_mutex_lock(&t->lock);
    bool back = --s->refs == 0;
    if (back) {
        for (size_t i = 0; i < t->n; i++) {
            tn_stream_release(s->member[i].stream);
            s->member[i].stream = NULL;
        }
        if (s->resets != atomic_load(&tn__resets) && t->last != s) {
            free_step(s, t->n); /* its events are void */
        } else if (t->last != s) {
            s->next = t->spare;
            t->spare = s;
        }
    }
    pthread_mutex_unlock(&t->lock);
    if (back)
        tn_team_release(t);
}

tn_device_list tn_team_step_devices(const tn_team_step *s)
{
    return s ? (tn_device_list){s->device, s->n} : (tn_device_list){NULL, 0};
}

int64_t tn__step_index(const tn_team_step *s, tn_device device)
{
    for (size_t i = 0; s && i < s->n; i++)
        if (tn_device_equal(s->device[i], device))
            return (int64_t)i;
    return -1;
}

/* ---- points in time ---- */

void tn__step_reach(tn_team_step *s, size_t i, tn__step_point what, tn_stream *stream)
{
    tn__thread *t = tn__self();
    const char *site = t->site;
    if (!s->member[i].stream)
        return;
    tn__step_events *c = &s->events[s->member[i].place];
    tn_status before = tn_error_code();
    if (!c->event[what])
        c->event[what] = tn_event_new(TN_EVENT_TIMING);
    tn_stream *on = stream ? stream : tn__stream_of(s->device[i]);
    bool reached = c->event[what] && on && !tn_event_record(c->event[what], on);
    pthread_mutex_lock(&s->team->records);
    c->record.reached[what] = reached;
    pthread_mutex_unlock(&s->team->records);
    if (!reached && !before)
        tn_error_clear();
    t->site = site;
}

static tn__record *record_of(const tn_team_step *s, int64_t i)
{
    return &s->events[s->member[i].place].record;
}

void tn__step_traffic(tn_team_step *s, int64_t i, tn__traffic what, int64_t bytes)
{
    if (!s || i < 0)
        return;
    pthread_mutex_lock(&s->team->records);
    record_of(s, i)->bytes[what] += bytes;
    pthread_mutex_unlock(&s->team->records);
}

void tn__step_samples(tn_team_step *s, int64_t i, int64_t samples)
{
    if (!s || i < 0)
        return;
    pthread_mutex_lock(&s->team->records);
    record_of(s, i)->samples = TN_MAX(record_of(s, i)->samples, samples);
    pthread_mutex_unlock(&s->team->records);
}

void tn__step_arrival(tn_team_step *s, size_t i, tn_event *event)
{
    pthread_mutex_lock(&s->team->records);
    record_of(s, (int64_t)i)->last = event;
    pthread_mutex_unlock(&s->team->records);
}

tn__step_events tn__step_read(tn_team_step *s, size_t i)
{
    const tn__step_events *c = &s->events[s->member[i].place];
    tn__step_events copy = {.arrived = NULL};
    pthread_mutex_lock(&s->team->records);
    copy.record = c->record;
    for (int k = 0; k < TN__POINTS; k++)
        copy.event[k] = c->record.reached[k] ? tn_event_retain(c->event[k]) : NULL;
    tn_event_retain(copy.record.last);
    pthread_mutex_unlock(&s->team->records);
    return copy;
}

/* ---- around a replica's forward ---- */

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

tn_replica_guard tn_team_step_enter(tn_team_step *s, size_t i)
{
    const tn_replica_guard none = {.replica = -1};
    tn__thread *t = tn__enter(NULL);
    if (!s || i >= s->n) {
        tn__error(TN_EINVAL, "tn_team_step_enter: the step has no replica %zu", i);
        return none;
    }
    tn__stream *stream = s->member[i].stream;
    tn_replica_guard g = {.device = t->current_device[s->device[i].type], .replica = (int32_t)i};
    g.entered_ms = now_ms();
    if (!stream)
        return g;
    tn__stream *before = tn__stream_of(s->device[i]);
    if (!before)
        return none;
    g.stream = tn__stream_retain(before);
    if (tn__backend_of(before->device)->queue->enter(stream)) {
        tn__stream_release(before);
        return none;
    }
    return g;
}

void tn_team_step_leave(tn_team_step *s, tn_replica_guard g)
{
    tn__thread *t = tn__self();
    if (!s || g.replica < 0)
        return;
    pthread_mutex_lock(&s->team->records);
    record_of(s, g.replica)->host_ms = now_ms() - g.entered_ms;
    pthread_mutex_unlock(&s->team->records);
    tn__step_reach(s, (size_t)g.replica, TN__POINT_FORWARD, NULL);
    tn__stream *before = g.stream;
    if (before)
        tn__backend_of(before->device)->queue->set_current(before);
    tn__stream_release(before);
    t->current_device[s->device[g.replica].type] = g.device;
}

void tn_team_step_blame(const tn_team_step *s, size_t i)
{
    tn__error_copy was;
    tn__thread *t = tn__self();
    const char *site = t->site;
    tn__error_save(&was);
    if (!was.code || !s || i >= s->n)
        return;
    t->site = NULL; /* the original says it */
    tn__error(was.code, "Caught an error in replica %zu on device %d.\nOriginal error:\n%s", i, (int)s->device[i].index,
              was.text);
    t->site = site;
}

void tn__step_blame_lost(const tn_team_step *s)
{
    for (size_t i = 0; s && i < s->n; i++)
        if (is_lost(s->device[i])) {
            tn_team_step_blame(s, i);
            return;
        }
}
