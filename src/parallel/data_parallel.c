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

/* A forward: what came, and one part of it for each device. */
typedef struct parts {
    tn_tensor *const *x;
    tn_tensor **y;
    size_t n_in, n_out;
    tn_tensor **in, **out; /* [n * n_in], [n * n_out]: device by device */
    tn_module *replica[64];
    size_t n;
} parts;

/* Output k of the replicas, joined on the output device. */
static tn_tensor *join_output(const state *s, tn_team_step *step, const parts *p, size_t k)
{
    tn_tensor *part[64];
    for (size_t i = 0; i < p->n; i++)
        part[i] = p->out[i * p->n_out + k];
    return tn_parallel_gather(((tn_tensors){part, p->n}), s->output, .dim = s->dim, .step = step);
}

static tn_status join_outputs(const state *s, tn_team_step *step, const parts *p)
{
    for (size_t k = 0; k < p->n_out; k++)
        if (!(p->y[k] = join_output(s, step, p, k)))
            return tn_error_code();
    return TN_OK;
}

static tn_status forward_of(tn_module *m, tn_tensor *const *in, tn_tensor **out, const parts *p)
{
    return tn_forward_n(m, ((tn_tensors){in, p->n_in}), out, p->n_out);
}

/* The module itself for all of the batch: there is one chunk. */
static tn_status run_single(const state *s, tn_team_step *step, tn_module *m, parts *p)
{
    tn_replica_guard g = tn_team_step_enter(step, 0);
    tn_status e = g.replica < 0 ? tn_error_code() : forward_of(m, p->in, p->out, p);
    tn_team_step_leave(step, g);
    if (!e && s->n == 1)
        memcpy(p->y, p->out, p->n_out * sizeof *p->y);
    return e || s->n == 1 ? e : join_outputs(s, step, p);
}

static tn_status run_replicas(const state *s, tn_team_step *step, replica_set *c, parts *p)
{
    const tn_tensors ts = tn__replicas_tensors(c->replicas);
    const size_t bytes = TN_MAX(ts.n * p->n, 1) * sizeof(tn_tensor *);
    tn_device_list devices = {tn_team_step_devices(step).d, p->n};
    tn_tensor **copies = tn__block_get(bytes);
    if (!copies)
        return tn__error(TN_ENOMEM, "out of memory for %zu replicas", p->n);
    tn_status e = tn_parallel_broadcast(ts, devices, copies, .step = step);
    for (size_t i = 0; i < p->n && !e; i++) {
        e = tn__replicas_fill(c->replicas, i, copies + i * ts.n);
        if (e)
            tn_team_step_blame(step, i);
        p->replica[i] = tn__replicas_replica(c->replicas, i);
    }
    tn__block_put(copies, bytes);
    if (!e)
        e = tn_parallel_apply(p->replica, ((tn_tensors){p->in, p->n * p->n_in}), p->out, .step = step, .n_in = p->n_in,
                              .n_out = p->n_out);
    return e ? e : join_outputs(s, step, p);
}

/* Every input in chunks, as many of each; what is absent goes to all. */
static tn_status cut_inputs(const state *s, tn_team_step *step, parts *p)
{
    tn_tensor *chunk[64];
    size_t first = 0;
    p->n = 0;
    for (size_t k = 0; k < p->n_in; k++) {
        size_t n;
        if (p->x[k] == TN_NONE)
            continue;
        tn_status e = tn_parallel_scatter(p->x[k], tn_team_step_devices(step), chunk, &n, .dim = s->dim, .step = step);
        if (e)
            return e;
        first = p->n ? first : k;
        if (tn_tensor_size(p->x[first], s->dim) != tn_tensor_size(p->x[k], s->dim))
            return tn__error(
                TN_EINVAL,
                "DataParallel: input %zu has shape %s, input %zu shape %s: the batch, dimension %lld, must "
                "be as long in both",
                first, tn__shape_str(p->x[first]->shape, p->x[first]->ndim).s, k,
                tn__shape_str(p->x[k]->shape, p->x[k]->ndim).s, (long long)s->dim);
        p->n = n;
        for (size_t i = 0; i < n; i++)
            p->in[i * p->n_in + k] = chunk[i];
    }
    if (!p->n)
        return tn__error(TN_ETYPE, "DataParallel: every input is TN_NONE: there is no batch to cut");
    for (size_t k = 0; k < p->n_in; k++)
        for (size_t i = 0; i < p->n && p->x[k] == TN_NONE; i++)
            p->in[i * p->n_in + k] = TN_NONE;
    return TN_OK;
}

static tn_status run_step(state *s, tn_team_step *step, tn_module *m, parts *p)
{
    tn_status e = cut_inputs(s, step, p);
    if (e || p->n == 1)
        return e ? e : run_single(s, step, m, p);
    replica_set *c = take_set(s, m);
    if (!c)
        return tn_error_code();
    e = run_replicas(s, step, c, p);
    put_set(s, c);
    return e;
}

static tn_status data_parallel_forward_n(tn_module *self, tn_tensor *const *x, size_t n, tn_tensor **y, size_t n_y)
{
    state *s = self->ctx;
    tn_module *m = tn__slot_child(self, 0);
    parts p = {.x = x, .y = y, .n_in = n, .n_out = n_y};
    if (!s->team || (x[0] != TN_NONE && x[0]->device.type == TN_DEVICE_META)) /* a plan of the memory: of one device */
        return forward_of(m, x, y, &p);
    tn_status e = check_place(m, s->main);
    tn_team_step *step = e ? NULL : tn_team_step_new(s->team);
    if (!step)
        return tn_error_code();
    tn_tensor *few[256];
    const size_t need = s->n * (n + n_y), bytes = need > TN_COUNT(few) ? need * sizeof *few : 0;
    p.in = bytes ? tn__block_get(bytes) : few;
    p.out = p.in + s->n * n;
    e = p.in ? run_step(s, step, m, &p) : tn__error_memory("the parts of a batch", bytes);
    if (bytes)
        tn__block_put(p.in, bytes);
    tn_team_step_release(step);
    return e;
}

static tn_tensor *data_parallel_forward(tn_module *self, tn_tensor *x)
{
    tn_tensor *y = NULL;
    return data_parallel_forward_n(self, &x, 1, &y, 1) ? NULL : y;
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
                                                    .forward_n = data_parallel_forward_n,
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
    m->sequence = true;
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
