/* Replicas at work: by one thread where they only queue, else by a thread each. */
#include "core/parallel.h"
#include "core/alloc.h"
#include "nn/module.h"
#include "parallel/parallel.h"
#include <tenon/autograd.h>

/* One replica's turn. */
typedef struct turn {
    tn_module *m;
    tn_tensor *const *x;   /* [n_in] */
    tn_tensor **y;         /* [n_out] references, of the thread's that ran it; NULL where it failed */
    tn_device device;      /* of the first input */
    tn__stream *stream;    /* the caller's current one, of that device; NULL where work is not queued */
    tn__error_copy *error; /* of a turn on a thread of its own */
} turn;

typedef struct job {
    tn_team_step *step; /* or NULL */
    turn *turn;
    size_t n_in, n_out;
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

static tn_status forward(const job *j, const char *site, const turn *w)
{
    return tn_forward_n_at(site, w->m, (tn_tensors){w->x, j->n_in}, w->y, j->n_out);
}

/* Without a step: its input's device is current meanwhile, with the caller's stream. */
static tn_status run_plain(tn__thread *t, const job *j, const turn *w)
{
    int32_t *current = &t->current_device[w->device.type], device = *current;
    tn__stream *before = w->stream ? tn__stream_of(w->device) : NULL;
    if (w->stream && !before)
        return tn_error_code();
    tn__stream_retain(before);
    if (w->stream) {
        tn__backend_of(w->device)->queue->set_current(w->stream);
        *current = w->device.index;
    }
    tn_status e = forward(j, t->site, w);
    if (before)
        tn__backend_of(before->device)->queue->set_current(before);
    tn__stream_release(before);
    *current = device;
    return e;
}

static tn_status run(const job *j, int64_t i)
{
    tn__thread *t = tn__self();
    const turn *w = &j->turn[i];
    if (!j->step)
        return run_plain(t, j, w);
    tn_replica_guard g = tn_team_step_enter(j->step, (size_t)i);
    tn_status e = g.replica < 0 ? tn_error_code() : forward(j, j->site, w);
    tn_team_step_leave(j->step, g);
    return e;
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
    if (run(j, i)) {
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
        const bool ran = outputs[i * j->n_out] != NULL;
        bool received = ran;
        for (size_t k = i * j->n_out; k < (i + 1) * j->n_out; k++)
            received &= (outputs[k] = receive(t, outputs[k])) != NULL;
        if (received || e)
            continue;
        e = ran ? TN_ENOMEM : errors[i].code;
        if (!ran) {
            tn__error(e, "a replica failed"); /* so that there is a record to fill */
            tn__error_restore(&errors[i]);
            tn_team_step_blame(j->step, i);
        }
    }
    tn__block_put(errors, bytes);
    return e;
}

static tn_status run_here(const job *j, size_t n)
{
    tn_status e = TN_OK;
    for (size_t i = 0; i < n && !e; i++) {
        e = run(j, (int64_t)i);
        if (e)
            tn_team_step_blame(j->step, i);
    }
    return e;
}

static tn_status check_inputs(tn_tensors inputs, size_t n_in)
{
    if (n_in == 1)
        return tn__parallel_check("tn_parallel_apply", inputs);
    if (!inputs.n || !inputs.t || inputs.n % n_in)
        return tn__error(TN_EINVAL, "tn_parallel_apply: %zu tensors are not %zu for each replica", inputs.n, n_in);
    for (size_t i = 0; i < inputs.n; i++)
        if (!inputs.t[i])
            return tn__poisoned("tn_parallel_apply");
    return TN_OK;
}

static tn_status check(tn_module *const *replicas, tn_tensors inputs, const tn_parallel_options *o)
{
    tn_status e = check_inputs(inputs, o->n_in);
    const size_t n = inputs.n / o->n_in;
    for (size_t i = 0; i < n && !e; i++)
        if (!replicas[i])
            e = tn__poisoned("tn_parallel_apply");
    if (!e && (o->n_in > TN_FORWARD_MAX || o->n_out > TN_FORWARD_MAX))
        e = tn__error(TN_EINVAL, "tn_parallel_apply: %zu inputs and %zu outputs; at most %d", o->n_in, o->n_out,
                      (int)TN_FORWARD_MAX);
    if (!e && o->step && n > o->step->n)
        e = tn__error(TN_EINVAL, "tn_parallel_apply: %zu replicas, but the step has %zu devices", n, o->step->n);
    return e;
}

/* Where its first input is; the CPU, should all be absent. */
static tn_device place_of(tn_tensor *const *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != TN_NONE)
            return x[i]->device;
    return TN_CPU;
}

tn_status tn_parallel_apply_opt(tn_module *const *replicas, tn_tensors inputs, tn_tensor **outputs,
                                const tn_parallel_options *options)
{
    tn_parallel_options o;
    tn__options_in(&o, sizeof o, options);
    tn__thread *t = tn__enter(o.site);
    o.n_in = TN_MAX(o.n_in, 1);
    o.n_out = TN_MAX(o.n_out, 1);
    tn_status e = check(replicas, inputs, &o);
    if (e)
        return e;
    const size_t n = inputs.n / o.n_in, bytes = n * sizeof(turn);
    turn *turns = tn__block_zero(bytes);
    if (!turns)
        return tn__error_memory("running replicas", bytes);
    job j = {o.step, turns, o.n_in, o.n_out, t->no_grad, t->born, t->site, t->default_device};
    bool queues = true;
    for (size_t i = 0; i < n; i++) {
        tn_tensor *const *x = inputs.t + i * o.n_in;
        turns[i] = (turn){.m = replicas[i], .x = x, .y = outputs + i * o.n_out, .device = place_of(x, o.n_in)};
        turns[i].stream = tn__stream_of(turns[i].device);
        queues &= only_queues(replicas[i]);
    }
    memset(outputs, 0, n * o.n_out * sizeof *outputs);
    e = n == 1 || queues ? run_here(&j, n) : run_on_threads(t, &j, n, outputs);
    for (size_t i = 0; i < n * o.n_out && e; i++) {
        if (outputs[i] && !t->scope)
            tn__object_release(outputs[i]);
        outputs[i] = NULL;
    }
    tn__block_put(turns, bytes);
    return e;
}
