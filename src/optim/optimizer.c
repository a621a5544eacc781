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

/* ---- hyperparameters ---- */

/* Its place among the class's options; -1 with an error set. */
static int32_t find_option(const tn__optim_class *cls, const char *name)
{
    for (int32_t i = 0; name && i < cls->n_options; i++)
        if (!strcmp(cls->option[i].name, name))
            return i;
    tn__error(TN_EMISSING, "%s has no option \"%s\"", cls->name, name ? name : "NULL");
    for (int32_t i = 0; i < cls->n_options; i++)
        tn__error_append("%s %s", i ? "," : "\n  it has:", cls->option[i].name);
    return -1;
}

/* Puts the values into option, and asks the class. */
static tn_status set_options(const tn__optim_class *cls, tn_hypers values, double *option)
{
    if (values.n && !values.at)
        return tn__error(TN_EINVAL, "%s: not a list of options", cls->name);
    for (size_t i = 0; i < values.n; i++) {
        int32_t at = find_option(cls, values.at[i].name);
        if (at < 0)
            return TN_EMISSING;
        option[at] = values.at[i].value;
    }
    for (int32_t i = 0; i < cls->n_options; i++)
        if (isnan(option[i]))
            return tn__error(TN_EVALUE, "Invalid %s: nan", i ? cls->option[i].name : "learning rate");
    if (cls->check ? cls->check(option) : tn__hyper_check("learning rate", option[0]))
        return TN_OK;
    return tn_error_code();
}

static void note_options(const tn__optim_class *cls, tn__group *g, const double *option)
{
    memcpy(g->option, option, sizeof g->option);
    g->n_state = cls->keeps ? cls->keeps(option) : cls->n_states;
}

/* ---- life ---- */

static tn_status check_params(const tn_optimizer *opt, const tn__list *l, tn_params params)
{
    if (l->n == 0)
        return tn__error(TN_EVALUE, "optimizer got an empty parameter list");
    if (params.is_list && (size_t)l->n != params.list.n)
        return tn__error(TN_EVALUE, "optimizer contains a parameter group with duplicate parameters");
    for (int64_t i = 0; i < l->n; i++) {
        if (!tn_tensor_is_leaf(l->at[i]))
            return tn__error(TN_EVALUE, "can't optimize a non-leaf Tensor\n  parameter %lld was made by %s",
                             (long long)i, tn_tensor_grad_fn(l->at[i]).s);
        for (int64_t k = 0; k < opt->n; k++)
            if (opt->at[k].p == l->at[i])
                return tn__error(TN_EVALUE, "some parameters appear in more than one parameter group");
    }
    return TN_OK;
}

/* Entries of the group that is being added: in room that is there. */
static void fill_entries(tn_optimizer *opt, const tn__group *g, const tn__list *l)
{
    const tn__optim_class *cls = opt->cls;
    const size_t states = (size_t)cls->n_states;
    tn_tensor **state = g->block;
    char(*name)[TN__STATE_NAME] = (void *)(state + states * (size_t)l->n);
    for (int64_t i = 0; i < l->n; i++, opt->n++) {
        opt->at[opt->n] =
            (tn__entry){.p = tn__object_retain(l->at[i]), .group = opt->n_groups, .state = state, .name = name};
        for (size_t k = 0; k <= states; k++)
            snprintf(name[k], sizeof name[k], "%lld.%s", (long long)opt->n, k < states ? cls->state[k] : "step");
        state += states;
        name += states + 1;
    }
}

static tn_status append_group(tn_optimizer *opt, const tn__list *l, const double *option)
{
    const size_t states = (size_t)opt->cls->n_states, n = (size_t)l->n;
    tn__group g = {.bytes = n * (states * sizeof(tn_tensor *) + (states + 1) * TN__STATE_NAME)};
    note_options(opt->cls, &g, option);
    g.block = tn__block_zero(g.bytes);
    if (!g.block || !tn__grow(&opt->at, sizeof *opt->at, &opt->cap, opt->n + l->n) ||
        !tn__grow(&opt->group, sizeof *opt->group, &opt->cap_groups, opt->n_groups + 1)) {
        tn__block_put(g.block, g.bytes);
        return tn__error_memory("a parameter group", g.bytes);
    }
    fill_entries(opt, &g, l);
    opt->group[opt->n_groups++] = g;
    return TN_OK;
}

static tn_status add_group(tn_optimizer *opt, tn_params params, const double *option)
{
    tn__list l = {NULL, 0, 0};
    tn_status e = tn__params_collect(opt->cls->name, params, &l);
    if (!e)
        e = check_params(opt, &l, params);
    if (!e)
        e = append_group(opt, &l, option);
    tn__list_free(&l);
    return e;
}

tn_optimizer *tn__optimizer_make(const tn__optim_class *cls, tn_params params, const double *option, tn_hypers values)
{
    tn_optimizer *opt = tn__block_zero(sizeof *opt);
    if (!opt) {
        tn__error_memory("an optimizer", sizeof *opt);
        return NULL;
    }
    opt->cls = cls;
    memcpy(opt->initial, option, (size_t)cls->n_options * sizeof *option);
    if (!set_options(cls, values, opt->initial) && !add_group(opt, params, opt->initial))
        return opt;
    tn_optimizer_free(opt); /* but not its class */
    return NULL;
}

tn_status tn_optimizer_add_group_at(const char *site, tn_optimizer *opt, tn_params params, tn_hypers values)
{
    double option[TN_OPTIMIZER_OPTIONS];
    tn__enter(site);
    if (!opt)
        return tn__poisoned("tn_optimizer_add_group");
    memcpy(option, opt->initial, sizeof option);
    tn_status e = set_options(opt->cls, values, option);
    return e ? e : add_group(opt, params, option);
}

void tn_optimizer_free(tn_optimizer *opt)
{
    if (!opt)
        return;
    for (int64_t i = 0; i < opt->n; i++) {
        tn__entry *e = &opt->at[i];
        tn__object_release(e->p);
        for (int32_t k = 0; k < opt->cls->n_states; k++)
            tn__object_release(e->state[k]);
        tn__object_release(e->step);
    }
    for (int64_t i = 0; i < opt->n_groups; i++)
        tn__block_put(opt->group[i].block, opt->group[i].bytes);
    tn__block_put(opt->group, sizeof *opt->group * (size_t)opt->cap_groups);
    tn__block_put(opt->at, sizeof *opt->at * (size_t)opt->cap);
    tn__own_free(opt);
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

/* What of the state is missing. A class that does not count begins anew with it: the first update is the state's first. */
static TN_COLD tn_status make_state(tn__thread *t, tn_optimizer *opt, tn__entry *e)
{
    const int32_t n = opt->group[e->group].n_state;
    if (opt->cls->own)
        return tn__own_state(opt, e->p, e->state);
    for (int32_t k = 0; k < n; k++) {
        if (e->state[k])
            continue;
        if (!(e->state[k] = new_state(t, e->p)))
            return tn_error_code();
        e->steps = opt->cls->counts ? e->steps : 0;
    }
    return TN_OK;
}

static TN_COLD tn_status not_writable(const tn_tensor *p, int64_t i)
{
    if (p->storage && p->storage->read_only)
        return tn__error(TN_EINVAL,
                         "tn_optimizer_step: parameter %lld shows read-only memory (a mapped file): clone it first",
                         (long long)i);
    return tn__error(TN_EINVAL,
                     "tn_optimizer_step: elements of parameter %lld share memory with each other: clone it first",
                     (long long)i);
}

static TN_COLD tn_status elsewhere(const tn_tensor *state, const tn_tensor *p, int64_t i)
{
    return tn__error(TN_EDEVICE,
                     "Expected all tensors to be on the same device, but found at least two "
                     "devices, %s and %s!\n  parameter %lld was moved after the optimizer's first "
                     "step: move a model before that, or load the optimizer's state again",
                     tn_device_text(p->device).s, tn_device_text(state->device).s, (long long)i);
}

/* Everything an update needs, and could fail in, before the first one. */
static tn_status prepare(tn__thread *t, tn_optimizer *opt)
{
    const bool placed = !opt->cls->own || !opt->cls->own->create; /* states are where the parameter is */
    tn__entry *const end = opt->at + opt->n;
    for (tn__entry *e = opt->at; e < end; e++) {
        const tn_tensor *p = e->p;
        if (!p->grad)
            continue;
        if ((p->storage && p->storage->read_only) || tn__overlaps_itself(p->shape, p->stride, p->ndim))
            return not_writable(p, e - opt->at);
        for (int32_t k = 0, n = opt->group[e->group].n_state; k < n; k++) {
            if (!e->state[k] && make_state(t, opt, e))
                return tn_error_code();
            if (placed && !tn__same_device(e->state[k]->device, p->device))
                return elsewhere(e->state[k], p, e - opt->at);
        }
    }
    return TN_OK;
}

static tn_status update_all(const tn_optimizer *opt)
{
    const tn__optim_class *cls = opt->cls;
    tn__entry *const end = opt->at + opt->n;
    for (tn__entry *e = opt->at; e < end; e++) {
        if (!e->p->grad)
            continue;
        tn_status s = cls->update(&opt->group[e->group], e);
        if (s)
            return s;
        e->steps++;
    }
    return TN_OK;
}

tn_status tn_optimizer_step_at(const char *site, tn_optimizer *opt)
{
    tn__thread *t = tn__enter(site);
    if (!opt)
        return tn__poisoned("tn_optimizer_step");
    bool was = tn__set_no_grad(true);
    tn_status s = prepare(t, opt);
    if (!s)
        s = opt->cls->own ? tn__own_step(opt) : update_all(opt);
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

/* ---- numbers of groups ---- */

int64_t tn_optimizer_groups(const tn_optimizer *opt)
{
    return opt ? opt->n_groups : 0;
}

/* Is there such a group? An error says how many there are. */
static bool has_group(const char *what, const tn_optimizer *opt, int64_t group)
{
    if (!opt)
        tn__poisoned(what);
    else if (group < 0 || group >= opt->n_groups)
        tn__error(TN_EINDEX, "%s: group %lld of an optimizer that has %lld", what, (long long)group,
                  (long long)opt->n_groups);
    return opt && group >= 0 && group < opt->n_groups;
}

double tn_optimizer_get_at(const char *site, const tn_optimizer *opt, int64_t group, const char *name)
{
    tn__enter(site);
    int32_t at = has_group("tn_optimizer_get", opt, group) ? find_option(opt->cls, name) : -1;
    return at < 0 ? (double)NAN : opt->group[group].option[at];
}

/* All or nothing: in groups first .. last. */
static tn_status set_in(tn_optimizer *opt, int64_t first, int64_t last, const char *name, double value)
{
    double option[TN_OPTIMIZER_OPTIONS];
    const tn_hyper one = {name, value};
    for (int pass = 0; pass < 2; pass++) /* checked, then set */
        for (int64_t g = first; g <= last; g++) {
            memcpy(option, opt->group[g].option, sizeof option);
            tn_status e = set_options(opt->cls, (tn_hypers){&one, 1}, option);
            if (e)
                return e;
            if (pass)
                note_options(opt->cls, &opt->group[g], option);
        }
    return TN_OK;
}

tn_status tn_optimizer_set_at(const char *site, tn_optimizer *opt, int64_t group, const char *name, double value)
{
    tn__enter(site);
    if (group == -1 && opt)
        return set_in(opt, 0, opt->n_groups - 1, name, value);
    return has_group("tn_optimizer_set", opt, group) ? set_in(opt, group, group, name, value) : tn_error_code();
}

double tn_optimizer_lr(const tn_optimizer *opt)
{
    return opt ? opt->group[0].option[0] : (double)NAN;
}

tn_status tn_optimizer_set_lr_at(const char *site, tn_optimizer *opt, double lr)
{
    tn__enter(site);
    return opt ? set_in(opt, 0, opt->n_groups - 1, "lr", lr) : tn__poisoned("tn_optimizer_set_lr");
}

/* ---- plain forms ---- */

tn_status(tn_optimizer_step)(tn_optimizer *opt)
{
    return tn_optimizer_step_at(TN__NOWHERE, opt);
}

tn_status(tn_optimizer_add_group)(tn_optimizer *opt, tn_params params, tn_hypers values)
{
    return tn_optimizer_add_group_at(TN__NOWHERE, opt, params, values);
}

double(tn_optimizer_get)(const tn_optimizer *opt, int64_t group, const char *name)
{
    return tn_optimizer_get_at(TN__NOWHERE, opt, group, name);
}

tn_status(tn_optimizer_set)(tn_optimizer *opt, int64_t group, const char *name, double value)
{
    return tn_optimizer_set_at(TN__NOWHERE, opt, group, name, value);
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
