/* Optimisers: made, stepped, freed. What differs between them is their class's update. */
#include "optim/optimizer.h"
#include "core/alloc.h"
#include <math.h>
#include <stdio.h>

bool tn__hyper_check(const char *what, double value)
{
    if (value >= 0)
        return true;
    tn__error(TN_EVALUE, "Invalid %s: %s", what, tn__float_str(value).s);
    return false;
}

/* ---- life ---- */

static tn_status check_params(const tn__list *l, tn_params params)
{
    if (l->n == 0)
        return tn__error(TN_EVALUE, "optimizer got an empty parameter list");
    if (params.is_list && (size_t)l->n != params.list.n)
        return tn__error(TN_EVALUE, "optimizer contains a parameter group with duplicate parameters");
    for (int64_t i = 0; i < l->n; i++)
        if (!tn_tensor_is_leaf(l->at[i]))
            return tn__error(TN_EVALUE, "can't optimize a non-leaf Tensor\n  parameter %lld was made by %s",
                             (long long)i, tn_tensor_grad_fn(l->at[i]).s);
    return TN_OK;
}

static void fill_entries(tn_optimizer *opt, const tn__list *l)
{
    for (int64_t i = 0; i < opt->n; i++) {
        tn__entry *e = &opt->at[i];
        e->p = tn__object_retain(l->at[i]);
        for (int k = 0; k < TN__STATES; k++)
            snprintf(e->name[k], sizeof e->name[k], "%lld.%s", (long long)i,
                     opt->cls->state[k] ? opt->cls->state[k] : "");
        snprintf(e->name[TN__STATES], sizeof e->name[TN__STATES], "%lld.step", (long long)i);
    }
}

tn_optimizer *tn__optimizer_make(const tn__optim_class *cls, tn_params params, double lr)
{
    tn__list l = {NULL, 0, 0};
    tn_optimizer *opt = NULL;
    if (!tn__hyper_check("learning rate", lr))
        return NULL;
    if (tn__params_collect(cls->name, params, &l) || check_params(&l, params)) {
        tn__list_free(&l);
        return NULL;
    }
    size_t bytes = sizeof *opt->at * (size_t)l.n;
    tn__entry *at = tn__block_zero(bytes);
    opt = at ? tn__block_zero(sizeof *opt) : NULL;
    if (opt) {
        opt->cls = cls;
        opt->lr = lr;
        opt->n = l.n;
        opt->at = at;
        fill_entries(opt, &l);
    } else {
        tn__block_put(at, bytes);
        tn__error_memory("an optimizer", bytes);
    }
    tn__list_free(&l);
    return opt;
}

void tn_optimizer_free(tn_optimizer *opt)
{
    if (!opt)
        return;
    for (int64_t i = 0; i < opt->n; i++) {
        tn__entry *e = &opt->at[i];
        tn__object_release(e->p);
        for (int k = 0; k < TN__STATES; k++)
            tn__object_release(e->state[k]);
        tn__object_release(e->step);
    }
    tn__block_put(opt->at, sizeof *opt->at * (size_t)opt->n);
    tn__block_put(opt, sizeof *opt);
}

/* ---- stepping ---- */

/* Zeros like the parameter, owned by the caller. */
static tn_tensor *new_state(tn__thread *t, tn_tensor *p)
{
    tn_scope scope;
    tn__scope_push(t, &scope);
    tn_tensor *z = tn_zeros_like(p);
    if (z)
        tn__object_retain(z);
    tn__scope_pop(t, &scope, NULL);
    return z;
}

/* Everything an update needs, and could fail in, before the first one. */
static tn_status prepare(tn__thread *t, const tn_optimizer *opt)
{
    for (int64_t i = 0; i < opt->n; i++) {
        tn__entry *e = &opt->at[i];
        if (e->p->grad && e->p->storage && e->p->storage->read_only)
            return tn__error(TN_EINVAL,
                             "tn_optimizer_step: parameter %lld shows read-only memory (a mapped file): "
                             "clone it first",
                             (long long)i);
        if (e->p->grad && tn__overlaps_itself(e->p->shape, e->p->stride, e->p->ndim))
            return tn__error(TN_EINVAL,
                             "tn_optimizer_step: elements of parameter %lld share memory with each other: "
                             "clone it first",
                             (long long)i);
        for (int32_t k = 0; k < opt->n_state && e->p->grad; k++) {
            if (!e->state[k] && !(e->state[k] = new_state(t, e->p)))
                return tn_error_code();
            if (!tn__same_device(e->state[k]->device, e->p->device))
                return tn__error(TN_EDEVICE,
                                 "Expected all tensors to be on the same device, but found at least two "
                                 "devices, %s and %s!\n  parameter %lld was moved after the optimizer's first "
                                 "step: move a model before that, or load the optimizer's state again",
                                 tn_device_text(e->p->device).s, tn_device_text(e->state[k]->device).s, (long long)i);
        }
    }
    return TN_OK;
}

static tn_status update(const tn_optimizer *opt, tn__entry *e)
{
    tn_status s = opt->cls->update(opt, e);
    if (!s)
        e->steps++;
    return s;
}

tn_status tn_optimizer_step_at(const char *site, tn_optimizer *opt)
{
    tn__thread *t = tn__enter(site);
    if (!opt)
        return tn__poisoned("tn_optimizer_step");
    bool was = tn__set_no_grad(true);
    tn_status s = prepare(t, opt);
    for (int64_t i = 0; i < opt->n && !s; i++)
        if (opt->at[i].p->grad)
            s = update(opt, &opt->at[i]);
    tn__set_no_grad(was);
    return s;
}

void tn_optimizer_zero_grad(tn_optimizer *opt)
{
    if (!opt) {
        tn__enter(TN__NOWHERE);
        tn__poisoned("tn_optimizer_zero_grad");
        return;
    }
    for (int64_t i = 0; i < opt->n; i++) {
        tn_tensor *g = opt->at[i].p->grad;
        opt->at[i].p->grad = NULL;
        tn__object_release(g);
    }
}

double tn_optimizer_lr(const tn_optimizer *opt)
{
    return opt ? opt->lr : (double)NAN;
}

tn_status tn_optimizer_set_lr_at(const char *site, tn_optimizer *opt, double lr)
{
    tn__enter(site);
    if (!opt)
        return tn__poisoned("tn_optimizer_set_lr");
    if (!tn__hyper_check("learning rate", lr))
        return TN_EVALUE;
    opt->lr = lr;
    return TN_OK;
}

/* ---- plain forms ---- */

tn_status(tn_optimizer_step)(tn_optimizer *opt)
{
    return tn_optimizer_step_at(TN__NOWHERE, opt);
}

tn_status(tn_optimizer_set_lr)(tn_optimizer *opt, double lr)
{
    return tn_optimizer_set_lr_at(TN__NOWHERE, opt, lr);
}

/* ---- learning rates ---- */

double tn_lr_cosine(double base, int64_t step, int64_t total, double min)
{
    if (step >= total)
        return min;
    const double pi = 3.14159265358979323846;
    return min + (base - min) * (1 + cos(pi * (double)TN_MAX(step, 0) / (double)total)) / 2;
}

double tn_lr_step(double base, int64_t step, int64_t every, double gamma)
{
    return every > 0 && step > 0 ? base * pow(gamma, (double)(step / every)) : base;
}
