/* Replicas at work: by one thread where they only queue, else by a thread each. */
#include "core/parallel.h"
#include "core/alloc.h"
#include "nn/module.h"
#include "parallel/parallel.h"
#include <tenon/autograd.h>

/* One replica's turn. */
typedef struct turn {
    tn_module *m;
    tn_tensor *x, *y;      /* y: a reference, of the thread's that ran it */
    tn__stream *stream;    /* the caller's current one, of x's device; NULL where work is not queued */
    tn__error_copy *error; /* of a turn on a thread of its own */
} turn;

typedef struct job {
    tn_team_step *step; /* or NULL */
    turn *turn;
    bool no_grad;
    uint32_t born;
    const char *site;
    tn_device default_device;
} job;

/* Does it hold nothing but modules of the library, which queue and never wait? */
static bool only_queues(const tn_module *m)
{
    tn__module_iter w;
    tn__module_iter_begin(&w, m);
    for (const tn_module *i; (i = tn__module_iter_next(&w));)
        if (i->user)
            return false;
    return true;
}

/* Without a step: its input's device is current meanwhile, with the caller's stream. */
static tn_tensor *run_plain(tn__thread *t, const turn *w)
{
    int32_t *current = &t->current_device[w->x->device.type], device = *current;
    tn__stream *before = w->stream ? tn__stream_of(w->x->device) : NULL;
    if (w->stream && !before)
        return NULL;
    tn__stream_retain(before);
    if (w->stream) {
        tn__backend_of(w->x->device)->queue->set_current(w->stream);
        *current = w->x->device.index;
    }
    tn_tensor *y = tn_forward_at(t->site, w->m, w->x);
    if (before)
        tn__backend_of(before->device)->queue->set_current(before);
    tn__stream_release(before);
    *current = device;
    return y;
}

static tn_tensor *run(const job *j, int64_t i)
{
    tn__thread *t = tn__self();
    const turn *w = &j->turn[i];
    if (!j->step)
        return run_plain(t, w);
    tn_replica_guard g = tn_team_step_enter(j->step, (size_t)i);
    tn_tensor *y = g.replica < 0 ? NULL : tn_forward_at(j->site, w->m, w->x);
    tn_team_step_leave(j->step, g);
    return y;
}

/* Every device's current stream is the caller's, until they are given back. */
static void lend_streams(const tn_team_step *step, tn__stream **before)
{
    for (size_t i = 0; step && i < step->n; i++) {
        tn__stream *s = step->member[i].stream;
        before[i] = s ? tn__stream_retain(tn__stream_of(s->device)) : NULL;
        if (before[i])
            tn__backend_of(s->device)->queue->set_current(s);
    }
}

static void give_streams_back(const tn_team_step *step, tn__stream *const *before)
{
    for (size_t i = 0; step && i < step->n; i++) {
        if (before[i])
            tn__backend_of(before[i]->device)->queue->set_current(before[i]);
        tn__stream_release(before[i]);
    }
}

/* On a thread for tasks: settings as the caller has them. */
static void run_turn(void *ctx, int64_t i)
{
    const job *j = ctx;
    turn *w = &j->turn[i];
    tn__thread *t = tn__self();
    const struct {
        bool no_grad;
        uint32_t born;
        tn_device default_device;
        tn_status error;
    } was = {t->no_grad, t->born, t->default_device, t->error};
    tn__stream *streams[64];
    tn_scope *open = tn_scope_suspend();
    lend_streams(j->step, streams);
    t->error = was.error; /* a device that is lost has no stream: its replica will say so */
    t->site = j->site;
    t->no_grad = j->no_grad;
    t->born = j->born;
    t->default_device = j->default_device;
    w->y = run(j, i);
    if (!w->y) {
        tn__error_save(w->error);
        t->error = was.error;
    }
    t->no_grad = was.no_grad;
    t->born = was.born;
    t->default_device = was.default_device;
    give_streams_back(j->step, streams);
    tn_scope_resume(open);
}

/* The result into the caller's scope. NULL where it failed. */
static tn_tensor *receive(tn__thread *t, tn_tensor *y)
{
    if (!y || !t->scope)
        return y;
    if (tn__object_sole(y) && !atomic_load_explicit(&y->obj.scope, memory_order_relaxed)) {
        tn__scope_adopt(t, y);
        return y;
    }
    tn_tensor *held = tn__scope_hold(t, y);
    tn__object_release(y);
    return held;
}

static tn_status run_on_threads(tn__thread *t, job *j, size_t n, tn_tensor **outputs)
{
    const size_t bytes = n * sizeof(tn__error_copy);
    tn__error_copy *errors = tn__block_get(bytes);
    tn_status e = TN_OK;
    if (!errors)
        return tn__error_memory("running replicas", bytes);
    for (size_t i = 0; i < n; i++)
        j->turn[i].error = &errors[i];
    tn__run_tasks((int64_t)n, run_turn, j);
    for (size_t i = 0; i < n; i++) {
        outputs[i] = receive(t, j->turn[i].y);
        if (outputs[i] || e)
            continue;
        e = j->turn[i].y ? TN_ENOMEM : errors[i].code;
        if (!j->turn[i].y) {
            tn__error(e, "a replica failed"); /* so that there is a record to fill */
            tn__error_restore(&errors[i]);
            tn_team_step_blame(j->step, i);
        }
    }
    tn__block_put(errors, bytes);
    return e;
}

static tn_status run_here(const job *j, size_t n, tn_tensor **outputs)
{
    for (size_t i = 0; i < n; i++) {
        outputs[i] = run(j, (int64_t)i);
        if (!outputs[i]) {
            tn_team_step_blame(j->step, i);
            return tn_error_code();
        }
    }
    return TN_OK;
}

static tn_status check(tn_module *const *replicas, tn_tensors inputs)
{
    for (size_t i = 0; i < inputs.n; i++) {
        if (!replicas[i])
            return tn__poisoned("tn_parallel_apply");
    }
    return tn__parallel_check("tn_parallel_apply", inputs);
}

tn_status tn_parallel_apply_opt(tn_module *const *replicas, tn_tensors inputs, tn_tensor **outputs,
                                const tn_parallel_options *options)
{
    tn_parallel_options o;
    tn__options_in(&o, sizeof o, options);
    tn__thread *t = tn__enter(o.site);
    tn_status e = check(replicas, inputs);
    if (e)
        return e;
    const size_t n = inputs.n, bytes = n * sizeof(turn);
    if (o.step && n > o.step->n)
        return tn__error(TN_EINVAL, "tn_parallel_apply: %zu replicas, but the step has %zu devices", n, o.step->n);
    turn *turns = tn__block_zero(bytes);
    if (!turns)
        return tn__error_memory("running replicas", bytes);
    job j = {o.step, turns, t->no_grad, t->born, t->site, t->default_device};
    bool queues = true;
    for (size_t i = 0; i < n; i++) {
        turns[i] = (turn){.m = replicas[i], .x = inputs.t[i], .stream = tn__stream_of(inputs.t[i]->device)};
        queues &= only_queues(replicas[i]);
        outputs[i] = NULL;
    }
    e = n == 1 || queues ? run_here(&j, n, outputs) : run_on_threads(t, &j, n, outputs);
    for (size_t i = 0; i < n && e; i++) {
        if (outputs[i] && !t->scope)
            tn__object_release(outputs[i]);
        outputs[i] = NULL;
    }
    tn__block_put(turns, bytes);
    return e;
}
