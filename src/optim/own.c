/* Optimisers of the user's: a class of callbacks, copied, and called. */
#include "core/alloc.h"
#include "core/callback.h"
#include "optim/optimizer.h"

/* A user's class as the others see it. Every name is owned. */
typedef struct own_class {
    tn__optim_class cls;
    tn_optimizer_class is;
} own_class;

/* ---- the class ---- */

static tn_status check_callbacks(const tn_optimizer_class *c)
{
    if (!c || c->struct_size < offsetof(tn_optimizer_class, destroy) || !c->name || !*c->name)
        return tn__error(TN_EINVAL, "tn_optimizer_new: a class with its size and a name is needed: {.struct_size = "
                                    "sizeof(tn_optimizer_class), .name = \"Lion\", .step = ...}");
    if (!c->step == !c->step_all)
        return tn__error(TN_EINVAL, "tn_optimizer_new: %s has %s: one of them is needed", c->name,
                         c->step ? "a step and a step_all" : "neither a step nor a step_all");
    return TN_OK;
}

/* A name that no other one of the list has, and that is not the library's. */
static tn_status check_name(const tn_optimizer_class *c, const char *what, const char *name, const char *taken,
                            bool again)
{
    if (*name && strlen(name) <= 40 && !strchr(name, '.') && strcmp(name, taken) != 0 && !again)
        return TN_OK;
    return tn__error(
        TN_EINVAL,
        "tn_optimizer_new: the %s \"%.60s\" of %s: a name has 1 to 40 characters without \".\", comes once, and is "
        "not \"%s\"",
        what, name, c->name, taken);
}

static tn_status check_names(const tn_optimizer_class *c)
{
    tn_status e = TN_OK;
    for (int i = 0; i < TN_OPTIMIZER_OPTIONS && c->options[i].name && !e; i++) {
        bool again = false;
        for (int k = 0; k < i; k++)
            again |= !strcmp(c->options[k].name, c->options[i].name);
        e = i == TN_OPTIMIZER_OPTIONS - 1
                ? tn__error(TN_EINVAL, "tn_optimizer_new: %s has more than %d options", c->name, i)
                : check_name(c, "option", c->options[i].name, "lr", again);
    }
    for (int i = 0; i < TN_OPTIMIZER_STATES && c->states[i] && !e; i++) {
        bool again = false;
        for (int k = 0; k < i; k++)
            again |= !strcmp(c->states[k], c->states[i]);
        e = check_name(c, "state", c->states[i], "step", again);
    }
    return e;
}

static void free_class(own_class *o)
{
    for (int32_t i = 1; i < o->cls.n_options; i++)
        tn__text_put((char *)(uintptr_t)o->cls.option[i].name);
    for (int32_t i = 0; i < o->cls.n_states; i++)
        tn__text_put((char *)(uintptr_t)o->cls.state[i]);
    tn__text_put((char *)(uintptr_t)o->cls.name);
    tn__block_put(o, sizeof *o);
}

/* A copy of a checked class. NULL with TN_ENOMEM set. */
static own_class *copy_class(const tn_optimizer_class *c)
{
    own_class *o = tn__block_zero(sizeof *o);
    if (!o)
        return tn__fail(TN_ENOMEM, "out of memory for an optimizer");
    memcpy(&o->is, c, TN_MIN(c->struct_size, sizeof o->is));
    bool good = (o->cls.name = tn__text_get(c->name)) != NULL;
    o->cls.option[0] = (tn_hyper){"lr", 0};
    o->cls.n_options = 1;
    for (int i = 0; i < TN_OPTIMIZER_OPTIONS - 1 && c->options[i].name; i++) {
        tn_hyper *mine = &o->cls.option[o->cls.n_options++];
        *mine = (tn_hyper){tn__text_get(c->options[i].name), c->options[i].value};
        good &= mine->name != NULL;
    }
    for (int i = 0; i < TN_OPTIMIZER_STATES && c->states[i]; i++)
        good &= (o->cls.state[o->cls.n_states++] = tn__text_get(c->states[i])) != NULL;
    o->cls.counts = true;
    o->cls.own = &o->is;
    if (good)
        return o;
    free_class(o);
    return tn__fail(TN_ENOMEM, "out of memory for an optimizer");
}

/* ---- life ---- */

tn_optimizer *tn_optimizer_new_opt(const tn_optimizer_class *cls, tn_params params, double lr,
                                   const tn_optimizer_options *options)
{
    tn_optimizer_options o;
    double option[TN_OPTIMIZER_OPTIONS] = {lr};
    tn__options_in(&o, sizeof o, options);
    tn__enter(o.site);
    own_class *mine = check_callbacks(cls) || check_names(cls) ? NULL : copy_class(cls);
    if (!mine)
        return NULL;
    for (int32_t i = 1; i < mine->cls.n_options; i++)
        option[i] = mine->cls.option[i].value;
    tn_optimizer *opt = tn__optimizer_make(&mine->cls, params, option, o.values);
    if (!opt) {
        free_class(mine);
        return NULL;
    }
    opt->ctx = o.ctx;
    opt->owns_class = true;
    return opt;
}

void *tn_optimizer_context(const tn_optimizer *opt)
{
    return opt ? opt->ctx : NULL;
}

void tn__own_free(tn_optimizer *opt)
{
    tn__visit v;
    if (!opt->owns_class)
        return;
    if (opt->cls->own->destroy) {
        tn__visit_begin(&v);
        opt->cls->own->destroy(opt->ctx);
        tn__visit_end(&v);
    }
    free_class((own_class *)(uintptr_t)opt->cls);
}

/* ---- state ---- */

/* What a callback left of state k; NULL with an error set. */
static tn_tensor *begun(const tn__visit *v, const tn_optimizer *opt, tn_tensor *p, tn_tensor *state, int32_t k)
{
    if (state == TN_NONE)
        return tn__fail(TN_ETYPE, "create of %s gave TN_NONE as \"%s\"", opt->cls->name, opt->cls->state[k]);
    return state || v->t->error ? state : tn_zeros_like(p);
}

tn_status tn__own_state(tn_optimizer *opt, tn_tensor *p, tn_tensor **state)
{
    const int32_t n = opt->cls->n_states;
    tn__visit v;
    tn_status e = TN_OK;
    memset(state, 0, (size_t)n * sizeof(tn_tensor *));
    tn__visit_begin(&v);
    if (opt->cls->own->create)
        e = tn__visit_answer(&v, opt->cls->own->create(opt, p, state, (size_t)n), "create", opt->cls->name);
    for (int32_t k = 0; k < n && !e; k++)
        if (!(state[k] = begun(&v, opt, p, state[k], k)))
            e = tn_error_code();
    for (int32_t k = 0; k < n; k++)
        state[k] = e ? NULL : tn__object_retain(state[k]);
    tn__visit_end(&v);
    return e;
}

/* ---- stepping ---- */

static tn_update update_of(const tn_optimizer *opt, int64_t i)
{
    const tn__entry *e = &opt->at[i];
    const double *option = opt->group[e->group].option;
    return (tn_update){.parameter = e->p,
                       .gradient = e->p->grad,
                       .state = e->state,
                       .option = option + 1,
                       .lr = option[0],
                       .step = e->steps + 1,
                       .index = i,
                       .group = e->group};
}

static tn_status step_each(tn_optimizer *opt)
{
    tn_status s = TN_OK;
    for (int64_t i = 0, n = opt->n; i < n && !s; i++) {
        tn__visit v;
        if (!opt->at[i].p->grad)
            continue;
        const tn_update u = update_of(opt, i);
        tn__visit_begin(&v);
        s = tn__visit_answer(&v, opt->cls->own->step(opt, &u), "step", opt->cls->name);
        if (s)
            tn__error_append("\n  in parameter %lld of %s", (long long)i, opt->cls->name);
        tn__visit_end(&v);
        opt->at[i].steps += !s;
    }
    return s;
}

static tn_status step_all(tn_optimizer *opt)
{
    int64_t n = 0;
    for (int64_t i = 0; i < opt->n; i++)
        n += opt->at[i].p->grad != NULL;
    if (!n)
        return TN_OK;
    const size_t bytes = (size_t)n * (sizeof(tn_update) + sizeof(tn_update *));
    tn_update *u = tn__block_get(bytes);
    if (!u)
        return tn__error_memory("an optimizer's step", bytes);
    const tn_update **list = (const tn_update **)(void *)(u + n);
    n = 0;
    for (int64_t i = 0; i < opt->n; i++)
        if (opt->at[i].p->grad) {
            u[n] = update_of(opt, i);
            list[n] = &u[n];
            n++;
        }
    tn__visit v;
    tn__visit_begin(&v);
    tn_status s = opt->cls->own->step_all(opt, list, (size_t)n);
    s = tn__visit_answer(&v, s, "step_all", opt->cls->name);
    tn__visit_end(&v);
    for (int64_t i = 0; i < n; i++)
        opt->at[u[i].index].steps += !s;
    tn__block_put(u, bytes);
    return s;
}

tn_status tn__own_step(tn_optimizer *opt)
{
    return opt->cls->own->step ? step_each(opt) : step_all(opt);
}
