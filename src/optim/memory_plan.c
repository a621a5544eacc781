/* The memory plan: a training step run on meta, where a meter counts what each tensor would take. The module's parameters
 * and buffers show meta memory meanwhile; what they showed before lies in tensors beside them, and comes back. */
#include "backend/backend.h"
#include "core/alloc.h"
#include "core/meter.h"
#include "optim/optimizer.h"
#include <tenon/random.h>

enum { GPU_UNIT = 512, STEPS = 2 }; /* the second step has the optimiser's state from its beginning */

typedef struct plan {
    tn__thread *self;
    tn_module *m;
    tn_memory_plan_options o;
    tn_dims shape;
    tn__list tensors;  /* parameters, then buffers */
    int64_t n_params;  /* how many are parameters */
    tn_tensor **aside; /* what each showed before; meta memory until then */
    tn_optimizer *opt;
    tn__meter *meter;
    tn_memory_needs *out;
} plan;

/* ---- the module, on meta ---- */

/* Tensors of one storage show one storage there too. */
static tn_tensor *ghost_of(const plan *p, int64_t i)
{
    const tn_tensor *t = p->tensors.at[i];
    tn_tensor *g = tn__tensor_new(t->dtype, tn_device_make(TN_DEVICE_META, -1), t->shape, t->ndim, t->stride);
    if (!g)
        return NULL;
    g->offset = t->offset;
    for (int64_t k = 0; k < i && !g->storage; k++)
        if (t->storage && p->tensors.at[k]->storage == t->storage)
            g->storage = tn__storage_retain(p->aside[k]->storage);
    if (!g->storage)
        g->storage = tn__backend_of(g->device)->allocate(g->device, t->storage ? t->storage->nbytes : 0);
    if (!g->storage) {
        tn__object_release(g);
        return NULL;
    }
    return g;
}

/* Gradients step aside with what the tensor showed. */
static void swap(const plan *p)
{
    for (int64_t i = 0; i < p->tensors.n; i++) {
        tn_tensor *t = p->tensors.at[i], *a = p->aside[i], *grad = t->grad;
        tn__tensor_swap(t, a);
        t->grad = a->grad;
        a->grad = grad;
    }
}

static tn_status collect(plan *p)
{
    tn_status e = tn__module_collect(p->m, TN__PARAMETERS, &p->tensors);
    p->n_params = p->tensors.n;
    return e ? e : tn__module_collect(p->m, TN__BUFFERS, &p->tensors);
}

static tn_status make_ghosts(plan *p)
{
    size_t bytes = sizeof *p->aside * (size_t)(p->tensors.n + 1);
    p->aside = tn__block_zero(bytes);
    if (!p->aside)
        return tn__error_memory("a memory plan", bytes);
    for (int64_t i = 0; i < p->tensors.n; i++) {
        p->aside[i] = ghost_of(p, i);
        if (!p->aside[i])
            return tn_error_code();
        if (i == p->n_params - 1)
            p->out->parameters = atomic_load(&p->meter->live);
    }
    p->out->buffers = atomic_load(&p->meter->live) - p->out->parameters;
    return TN_OK;
}

/* ---- what is run ---- */

static tn_status make_optimizer(plan *p)
{
    const char *name = p->o.optimizer;
    if (!name || p->n_params == 0)
        return TN_OK;
    if (!strcmp(name, "sgd"))
        p->opt = tn_sgd(p->m, 0.1, .momentum = p->o.momentum);
    else if (!strcmp(name, "adam"))
        p->opt = tn_adam(p->m, 0.1);
    else if (!strcmp(name, "adamw"))
        p->opt = tn_adamw(p->m, 0.1);
    else
        return tn__error(TN_EVALUE,
                         "tn_memory_plan: the optimizer is \"%s\"; \"sgd\", \"adam\" and \"adamw\" are known", name);
    return p->opt ? TN_OK : tn_error_code();
}

/* A target that fits the output: class indices, or numbers of its shape. */
static tn_tensor *target_of(const plan *p, tn_tensor *y)
{
    if (!strcmp(p->o.loss, "mse_loss"))
        return tn_empty_like(y);
    int64_t shape[TN_MAX_DIMS];
    int32_t n = 0;
    for (int32_t d = 0; d < y->ndim; d++)
        if (d != (y->ndim > 1))
            shape[n++] = y->shape[d];
    return tn_empty(tn_dims_of(shape, n), .dtype = TN_I64, .device = TN_META);
}

static tn_tensor *loss_of(const plan *p, tn_tensor *y, tn_tensor *target)
{
    if (!p->o.loss || !strcmp(p->o.loss, "mean"))
        return tn_mean(y);
    return !strcmp(p->o.loss, "mse_loss") ? tn_mse_loss(y, target) : tn_cross_entropy(y, target);
}

static tn_status check_loss(const plan *p)
{
    const char *l = p->o.loss;
    if (!l || !strcmp(l, "mean") || !strcmp(l, "mse_loss") || !strcmp(l, "cross_entropy"))
        return TN_OK;
    return tn__error(TN_EVALUE,
                     "tn_memory_plan: the loss is \"%s\"; \"mean\", \"mse_loss\" and \"cross_entropy\" are known", l);
}

static int64_t live(const plan *p)
{
    return atomic_load(&p->meter->live);
}

static int64_t gradients(const plan *p)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < p->n_params; i++) {
        const tn_tensor *g = p->tensors.at[i]->grad;
        if (g && g->storage)
            sum += tn__meter_rounded(p->meter, g->storage->nbytes);
    }
    return sum;
}

static void zero_grad(const plan *p)
{
    for (int64_t i = 0; i < p->n_params; i++) {
        tn__object_release(p->tensors.at[i]->grad);
        p->tensors.at[i]->grad = NULL;
    }
}

/* A whole step, in a scope of its own. *target is made by the first forward. */
static tn_status step(plan *p, tn_tensor *x, tn_tensor **target)
{
    tn_scope scope;
    int64_t before = live(p);
    tn__scope_push(p->self, &scope);
    tn_tensor *y = tn_forward(p->m, x), *loss = NULL;
    if (y && p->o.loss && strcmp(p->o.loss, "mean") != 0 && !*target) {
        *target = target_of(p, y);
        if (*target)
            tn__scope_disown(p->self, *target);
        p->out->input += *target ? tn__meter_rounded(p->meter, (*target)->storage->nbytes) : 0;
        before += *target ? tn__meter_rounded(p->meter, (*target)->storage->nbytes) : 0;
    }
    loss = loss_of(p, y, *target);
    p->out->activations = live(p) - before;
    tn_status e = !loss ? tn_error_code() : tn__wants_grad(loss) ? tn_backward(loss) : TN_OK;
    if (!e) {
        p->out->gradients = gradients(p);
        int64_t have = live(p);
        e = p->opt ? tn_optimizer_step(p->opt) : TN_OK;
        if (p->out->optimizer_state == 0)
            p->out->optimizer_state = live(p) - have;
    }
    tn__scope_pop(p->self, &scope, NULL);
    return e;
}

static tn_status infer(const plan *p, tn_tensor *x)
{
    tn_scope scope;
    bool was = tn__set_no_grad(true);
    tn__scope_push(p->self, &scope);
    tn_tensor *y = tn_forward(p->m, x);
    tn__scope_pop(p->self, &scope, NULL);
    tn__set_no_grad(was);
    return y ? TN_OK : tn_error_code();
}

static int64_t take_peak(const plan *p)
{
    return atomic_exchange(&p->meter->peak, live(p));
}

static tn_status measure(plan *p)
{
    tn_tensor *target = NULL, *x;
    int64_t before = live(p);
    x = tn_empty(p->shape, .dtype = p->o.dtype ? p->o.dtype : tn__default_dtype(), .device = TN_META);
    if (!x)
        return tn_error_code();
    p->out->input = live(p) - before;
    take_peak(p);
    tn_status e = infer(p, x);
    p->out->inference_peak = take_peak(p);
    for (int i = 0; i < STEPS && !e; i++) {
        zero_grad(p);
        e = step(p, x, &target);
    }
    p->out->training_peak = take_peak(p);
    tn__object_release(target);
    return e;
}

/* ---- all of it ---- */

static void put_back(plan *p)
{
    zero_grad(p);
    swap(p);
}

static tn_status run(plan *p)
{
    const tn_device meta = tn_device_make(TN_DEVICE_META, -1);
    tn_rng_state rng = tn_get_rng_state(meta);
    tn_status e = make_ghosts(p);
    if (!e) {
        swap(p);
        e = make_optimizer(p);
        if (!e)
            e = measure(p);
        tn_optimizer_free(p->opt);
        put_back(p);
    }
    for (int64_t i = 0; p->aside && i < p->tensors.n; i++)
        tn__object_release(p->aside[i]);
    tn__block_put(p->aside, sizeof *p->aside * (size_t)(p->tensors.n + 1));
    if (tn_set_rng_state(meta, rng) && !e)
        e = tn_error_code();
    return e;
}

static size_t unit_of(const plan *p)
{
    tn_device d = p->o.device;
    if (!d.type && p->tensors.n)
        d = p->tensors.at[0]->device;
    return tn__is_gpu(d) ? GPU_UNIT : 1;
}

tn_status tn_memory_plan_opt(tn_module *m, const tn_dims *input, tn_memory_needs *out,
                             const tn_memory_plan_options *options)
{
    plan p = {.m = m, .out = out};
    tn__meter *before;
    tn_scope scope;
    tn__options_in(&p.o, sizeof p.o, options);
    p.self = tn__enter(p.o.site);
    if (!m)
        return tn__poisoned("tn_memory_plan");
    if (!out)
        return tn__error(TN_EINVAL, "tn_memory_plan: there is no place for the result: it is NULL");
    if (!input)
        return tn__error(TN_EINVAL, "tn_memory_plan: the shape of the input is NULL");
    p.shape = *input;
    tn_status e = check_loss(&p);
    if (!e)
        e = collect(&p);
    *out = (tn_memory_needs){0};
    p.meter = e ? NULL : tn__meter_begin(unit_of(&p), &before);
    if (p.meter) {
        bool was = tn__set_no_grad(false);
        tn__scope_push(p.self, &scope);
        e = run(&p);
        tn__scope_pop(p.self, &scope, NULL);
        tn__meter_end(p.meter, before);
        tn__set_no_grad(was);
    }
    tn__list_free(&p.tensors);
    if (!e && !p.meter)
        return TN_ENOMEM;
    if (e)
        tn__error_append("\n  while a step was planned on meta, where tensors have no elements");
    return e;
}

tn_status(tn_memory_plan)(tn_module *m, tn_dims input, tn_memory_needs *out)
{
    return tn_memory_plan_opt(m, &input, out, NULL);
}
