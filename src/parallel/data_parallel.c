/* DataParallel: a module whose forward cuts the batch, runs replicas, and joins their outputs. */
#include "core/alloc.h"
#include "nn/module.h"
#include "parallel/parallel.h"

/* A set of replicas; one for each forward that runs at the same time. */
typedef struct replica_set {
    tn__replicas *replicas;
    struct replica_set *next;
} replica_set;

/* What the module keeps. */
typedef struct state {
    tn_team *team; /* NULL: no device; the module runs as it is */
    size_t n;      /* devices of the team */
    tn_device main, output;
    int64_t dim;
    pthread_mutex_t lock;
    replica_set *idle;
} state;

/* ---- replicas ---- */

static void free_set(replica_set *c)
{
    tn__replicas_free(c->replicas);
    tn__block_put(c, sizeof *c);
}

static replica_set *make_set(tn_module *m, size_t n)
{
    replica_set *c = tn__block_zero(sizeof *c);
    if (!c)
        return tn__fail(TN_ENOMEM, "out of memory for replicas of a module");
    c->replicas = tn__replicas_new(m, n);
    if (c->replicas)
        return c;
    tn__block_put(c, sizeof *c);
    return NULL;
}

/* Replicas that nobody uses and that fit, or new ones. */
static replica_set *take_set(state *s, tn_module *m)
{
    pthread_mutex_lock(&s->lock);
    replica_set *c = s->idle;
    if (c)
        s->idle = c->next;
    pthread_mutex_unlock(&s->lock);
    if (c && tn__replicas_fits(c->replicas, m))
        return c;
    if (c)
        free_set(c);
    return make_set(m, s->n);
}

static void put_set(state *s, replica_set *c)
{
    for (size_t i = 0; i < s->n; i++)
        (void)tn__replicas_fill(c->replicas, i, NULL);
    pthread_mutex_lock(&s->lock);
    c->next = s->idle;
    s->idle = c;
    pthread_mutex_unlock(&s->lock);
}

/* ---- forward ---- */

/* Everything of the module must be where replicas are made from. */
static tn_status check_place(const tn_module *m, tn_device place)
{
    tn__module_iter w;
    tn__module_iter_begin(&w, m);
    for (const tn_module *i; (i = tn__module_iter_next(&w));)
        for (int kind = TN__PARAMETERS; kind <= TN__BUFFERS; kind++)
            for (int64_t k = 0; k < i->slots[kind].n; k++) {
                const tn_tensor *t = tn__slot_tensor(i, (tn__slot_kind)kind, k);
                if (!tn__same_device(t->device, place))
                    return tn__error(TN_EDEVICE,
                                     "module must have its parameters and buffers on device %s (device_ids[0]) but "
                                     "found one of them on device: %s\n  tn_module_to(net, %s) moves it",
                                     tn_device_text(place).s, tn_device_text(t->device).s, tn_device_text(place).s);
            }
    return TN_OK;
}

/* The output of one replica, on the output device. */
static tn_tensor *deliver(const state *s, tn_team_step *step, tn_tensor *y)
{
    return s->n == 1 ? y : tn_parallel_gather(TN_TENSORS(y), s->output, .dim = s->dim, .step = step);
}

/* The module itself for all of the batch: there is one chunk. */
static tn_tensor *run_single(const state *s, tn_team_step *step, tn_module *m, tn_tensor *x)
{
    tn_replica_guard g = tn_team_step_enter(step, 0);
    tn_tensor *y = g.replica < 0 ? NULL : tn_forward(m, x);
    tn_team_step_leave(step, g);
    return y ? deliver(s, step, y) : NULL;
}

/* One part for each device. */
typedef struct parts {
    tn_tensor *in[64], *out[64];
    tn_module *replica[64];
    size_t n;
} parts;

static tn_tensor *run_replicas(const state *s, tn_team_step *step, replica_set *c, parts *p)
{
    const tn_tensors ts = tn__replicas_tensors(c->replicas);
    const size_t bytes = TN_MAX(ts.n * p->n, 1) * sizeof(tn_tensor *);
    tn_device_list devices = {tn_team_step_devices(step).d, p->n};
    tn_tensor **copies = tn__block_get(bytes), *y = NULL;
    if (!copies)
        return tn__fail(TN_ENOMEM, "out of memory for %zu replicas", p->n);
    tn_status e = tn_parallel_broadcast(ts, devices, copies, .step = step);
    for (size_t i = 0; i < p->n && !e; i++) {
        e = tn__replicas_fill(c->replicas, i, copies + i * ts.n);
        if (e)
            tn_team_step_blame(step, i);
        p->replica[i] = tn__replicas_replica(c->replicas, i);
    }
    tn__block_put(copies, bytes);
    if (!e)
        e = tn_parallel_apply(p->replica, ((tn_tensors){p->in, p->n}), p->out, .step = step);
    if (!e)
        y = tn_parallel_gather(((tn_tensors){p->out, p->n}), s->output, .dim = s->dim, .step = step);
    return y;
}

static tn_tensor *run_step(state *s, tn_team_step *step, tn_module *m, tn_tensor *x)
{
    parts p;
    if (tn_parallel_scatter(x, tn_team_step_devices(step), p.in, &p.n, .dim = s->dim, .step = step))
        return NULL;
    if (p.n == 1)
        return run_single(s, step, m, p.in[0]);
    replica_set *c = take_set(s, m);
    if (!c)
        return NULL;
    tn_tensor *y = run_replicas(s, step, c, &p);
    put_set(s, c);
    return y;
}

static tn_tensor *data_parallel_forward(tn_module *self, tn_tensor *x)
{
    state *s = self->ctx;
    tn_module *m = tn__slot_child(self, 0);
    if (!s->team || x->device.type == TN_DEVICE_META) /* a plan of the memory: of one device */
        return tn_forward(m, x);
    if (check_place(m, s->main))
        return NULL;
    tn_team_step *step = tn_team_step_new(s->team);
    if (!step)
        return NULL;
    tn_tensor *y = run_step(s, step, m, x);
    tn_team_step_release(step);
    return y;
}

/* ---- making ---- */

static void destroy_state(void *ctx)
{
    state *s = ctx;
    for (replica_set *c = s->idle, *next; c; c = next) {
        next = c->next;
        free_set(c);
    }
    tn_team_release(s->team);
    pthread_mutex_destroy(&s->lock);
    tn__block_put(s, sizeof *s);
}

static tn_status check_ids(tn_device_list ids, tn_device output)
{
    for (size_t i = 0; i < ids.n; i++)
        if (!tn__is_gpu(ids.d[i]))
            return tn__error(TN_EVALUE, "Expected a non cpu device, but got: %s", tn_device_text(ids.d[i]).s);
    if (ids.n > 64)
        return tn__error(TN_EINVAL, "tn_nn_data_parallel: %zu devices; at most 64", ids.n);
    return output.type == TN_DEVICE_INVALID ? tn__poisoned("tn_nn_data_parallel") : TN_OK;
}

static tn_status make_team(state *s, tn_device_list ids, tn_device output)
{
    tn_device all[64];
    const tn__backend *b = ids.n ? NULL : tn__accelerator();
    if (b) {
        ids = (tn_device_list){all, (size_t)TN_MIN(b->count(), 64)};
        for (size_t i = 0; i < ids.n; i++)
            all[i] = tn_device_make(b->type, (int32_t)i);
    }
    if (!ids.n)
        return TN_OK;
    s->team = tn_team_new(ids);
    if (!s->team)
        return tn_error_code();
    s->n = ids.n;
    tn_status e = tn__device_resolve(ids.d[0], &s->main);
    if (!e)
        e = tn__device_resolve(output.type ? output : s->main, &s->output);
    return e;
}

static state *make_state(const tn_nn_data_parallel_options *o)
{
    state *s = tn__block_zero(sizeof *s);
    if (!s)
        return tn__fail(TN_ENOMEM, "out of memory for a DataParallel");
    pthread_mutex_init(&s->lock, NULL);
    s->dim = o->dim;
    if (!make_team(s, o->device_ids, o->output_device))
        return s;
    destroy_state(s);
    return NULL;
}

static const tn_module_class data_parallel_class = {.struct_size = sizeof data_parallel_class,
                                                    .name = "DataParallel",
                                                    .forward = data_parallel_forward,
                                                    .destroy = destroy_state};

tn_module *tn_nn_data_parallel_opt(tn_module *module, const tn_nn_data_parallel_options *options)
{
    tn_nn_data_parallel_options o;
    tn_scope scope;
    tn__options_in(&o, sizeof o, options);
    tn__thread *t = tn__enter(o.site);
    if (!module) {
        tn__poisoned("tn_nn_data_parallel");
        return NULL;
    }
    state *s = check_ids(o.device_ids, o.output_device) ? NULL : make_state(&o);
    tn_module *m = s ? tn__module_make(&data_parallel_class, s) : NULL;
    if (!m) {
        if (s)
            destroy_state(s);
        return NULL;
    }
    tn__scope_push(t, &scope);
    tn__scope_adopt(t, m);
    if (!tn_module_add_child(m, "module", module) || (s->n == 1 && !tn_module_to(module, s->main)))
        m = NULL;
    return tn__scope_pop(t, &scope, m);
}

tn_module *(tn_nn_data_parallel)(tn_module *module)
{
    return tn_nn_data_parallel_opt(module, NULL);
}

tn_team *tn_data_parallel_team(tn_module *m)
{
    tn__enter(TN__NOWHERE);
    if (!m) {
        tn__poisoned("tn_data_parallel_team");
        return NULL;
    }
    if (m->cls.forward != data_parallel_forward)
        return tn__fail(TN_ETYPE, "tn_data_parallel_team: a %s is no DataParallel", m->cls.name);
    return ((const state *)m->ctx)->team;
}

int64_t tn_data_parallel_explain(tn_module *m, char *out, size_t n)
{
    tn_team *team = tn_data_parallel_team(m);
    if (!team && (!m || m->cls.forward != data_parallel_forward))
        return -1;
    return tn_team_explain(team, out, n);
}
