/* An optimiser's state, out and in again. */
#include "optim/optimizer.h"
#include "core/alloc.h"
#include <stdlib.h>

#define STEPS_MAX 0x1p53 /* a double counts so far: PyTorch keeps steps in floating point */

/* ---- out ---- */

/* The number of steps as a tensor that the entry owns. */
static tn_status refresh_step(tn__thread *t, tn__entry *e)
{
    if (!e->step) {
        tn_scope scope;
        tn__scope_push(t, &scope);
        tn_tensor *step = tn_zeros(TN_SHAPE(), .dtype = TN_I64, .device = TN_CPU);
        if (step)
            e->step = tn__object_retain(step);
        tn__scope_pop(t, &scope, NULL);
        if (!e->step)
            return tn_error_code();
    }
    *(int64_t *)tn__tensor_data(e->step) = e->steps;
    return TN_OK;
}

size_t tn_optimizer_state(tn_optimizer *opt, tn_named *out, size_t cap)
{
    tn__thread *t = tn__enter(TN__NOWHERE);
    size_t n = 0;
    if (!opt) {
        tn__poisoned("tn_optimizer_state");
        return 0;
    }
    for (int64_t i = 0; i < opt->n; i++) {
        tn__entry *e = &opt->at[i];
        const int32_t states = opt->group[e->group].n_state;
        if (e->steps == 0)
            continue;
        if (opt->cls->counts) {
            if (refresh_step(t, e))
                return 0;
            if (n < cap)
                out[n] = (tn_named){e->name[opt->cls->n_states], e->step};
            n++;
        }
        for (int32_t k = 0; k < states; k++, n++)
            if (n < cap)
                out[n] = (tn_named){e->name[k], e->state[k]};
    }
    return n;
}

/* ---- in ---- */

/* What is to become of one entry. */
typedef struct incoming {
    const tn_tensor *from[TN__STATES + 1]; /* of the given state; the last one is the step */
    tn_tensor *state[TN__STATES];          /* copies, owned */
    int64_t steps;
} incoming;

/* Is the slot, a state's or (TN__STATES) that of the steps, part of the entry's state? */
static bool wanted(const tn_optimizer *opt, const tn__entry *e, int slot)
{
    return slot == TN__STATES ? opt->cls->counts : slot < opt->group[e->group].n_state;
}

static const char *name_of(const tn_optimizer *opt, const tn__entry *e, int slot)
{
    return e->name[TN_MIN(slot, opt->cls->n_states)];
}

/* The entry and the slot that a name means. False if it means none. */
static bool parse_name(const tn_optimizer *opt, const char *name, int64_t *entry, int *slot)
{
    char *end;
    if (*name < '0' || *name > '9')
        return false;
    long long i = strtoll(name, &end, 10);
    if (*end != '.' || i >= opt->n)
        return false;
    *entry = i;
    for (*slot = 0; *slot <= TN__STATES; ++*slot)
        if (wanted(opt, &opt->at[i], *slot) && !strcmp(name_of(opt, &opt->at[i], *slot), name))
            return true;
    return false;
}

static tn_status sort_in(const tn_optimizer *opt, const tn_named *state, size_t n, incoming *in)
{
    for (size_t k = 0; k < n; k++) {
        int64_t i;
        int slot;
        if (!state[k].name || state[k].tensor == TN_NONE)
            return tn__error(TN_EINVAL, "tn_optimizer_load_state: entry %zu has no %s", k,
                             state[k].name ? "tensor" : "name");
        if (!state[k].tensor)
            return tn__poisoned("tn_optimizer_load_state");
        if (!parse_name(opt, state[k].name, &i, &slot) || in[i].from[slot])
            return tn__error(TN_EINVAL,
                             "Error(s) in loading state of %s:\n\tUnexpected key(s) in state_dict: \"%s\". \n  it "
                             "has %lld parameters",
                             opt->cls->name, state[k].name, (long long)opt->n);
        in[i].from[slot] = state[k].tensor;
    }
    return TN_OK;
}

static tn_status check_shape(const tn_optimizer *opt, const char *name, const tn_tensor *from, const tn_tensor *to,
                             const char *whose)
{
    if (tn__same_shape(from->shape, from->ndim, to->shape, to->ndim))
        return TN_OK;
    return tn__error(TN_EINVAL,
                     "Error(s) in loading state of %s:\n\tsize mismatch for %s: copying a state with shape "
                     "torch.Size(%s) from checkpoint, the shape of the %s is torch.Size(%s).",
                     opt->cls->name, name, tn__shape_str(from->shape, from->ndim).s, whose,
                     tn__shape_str(to->shape, to->ndim).s);
}

/* Does the class make states of its own? */
static bool creates(const tn_optimizer *opt)
{
    return opt->cls->own && opt->cls->own->create;
}

static tn_status check_names(const tn_optimizer *opt, const tn__entry *e, const incoming *in)
{
    tn_status s = TN_OK;
    for (int k = 0; k <= TN__STATES && !s; k++) {
        const tn_tensor *t = in->from[k];
        if (wanted(opt, e, k) && !t)
            s = tn__error(TN_EINVAL, "Error(s) in loading state of %s:\n\tMissing key(s) in state_dict: \"%s\". ",
                          opt->cls->name, name_of(opt, e, k));
        else if (t && k < TN__STATES && !creates(opt))
            s = check_shape(opt, name_of(opt, e, k), t, e->p, "parameter");
    }
    return s;
}

static tn_status check_entry(const tn_optimizer *opt, const tn__entry *e, incoming *in)
{
    bool some = false;
    for (int k = 0; k <= TN__STATES; k++)
        some |= in->from[k] != NULL;
    tn_status s = some ? check_names(opt, e, in) : TN_OK;
    in->steps = some;
    if (s || !some || !opt->cls->counts)
        return s;
    const tn_tensor *step = in->from[TN__STATES];
    double count = step->numel == 1 && step->device.type != TN_DEVICE_META ? tn_item(step) : -1;
    if (!(count >= 0 && count <= STEPS_MAX))
        return tn__error(TN_EINVAL, "Error(s) in loading state of %s:\n\t%s must be one number from 0 to 2^53",
                         opt->cls->name, name_of(opt, e, TN__STATES));
    in->steps = (int64_t)count;
    return TN_OK;
}

/* A copy of what came, a reference: like the parameter, or like the state that the class begins with. */
static tn_tensor *copy_state(tn__thread *t, tn_tensor *like, const tn_tensor *from)
{
    tn_scope scope;
    tn__scope_push(t, &scope);
    tn_tensor *fresh = tn_empty_like(like);
    fresh = fresh ? tn_copy_(fresh, (tn_tensor *)(uintptr_t)from) : NULL;
    if (fresh)
        tn__object_retain(fresh);
    tn__scope_pop(t, &scope, NULL);
    return fresh;
}

/* Copies with the layout, dtype and device that the state has here. */
static tn_status copy_entry(tn__thread *t, tn_optimizer *opt, const tn__entry *e, incoming *in)
{
    const int32_t n = opt->group[e->group].n_state;
    tn_status s = TN_OK;
    if (!n || !in->from[0])
        return TN_OK;
    if (creates(opt))
        s = tn__own_state(opt, e->p, in->state);
    for (int32_t k = 0; k < n && !s; k++) {
        tn_tensor *begun = in->state[k];
        if (begun && (s = check_shape(opt, e->name[k], in->from[k], begun, "state")))
            break;
        in->state[k] = copy_state(t, begun ? begun : e->p, in->from[k]);
        tn__object_release(begun);
        s = in->state[k] ? TN_OK : tn_error_code();
    }
    return s;
}

/* Gives what was prepared to the entries, or releases it. */
static void settle(tn_optimizer *opt, incoming *in, bool accept)
{
    for (int64_t i = 0; i < opt->n; i++) {
        for (int k = 0; k < opt->cls->n_states; k++) {
            tn_tensor *unwanted = in[i].state[k];
            if (accept) {
                unwanted = opt->at[i].state[k];
                opt->at[i].state[k] = in[i].state[k];
            }
            tn__object_release(unwanted);
        }
        if (accept)
            opt->at[i].steps = in[i].steps;
    }
}

tn_status tn_optimizer_load_state_at(const char *site, tn_optimizer *opt, const tn_named *state, size_t n)
{
    tn__thread *t = tn__enter(site);
    if (!opt)
        return tn__poisoned("tn_optimizer_load_state");
    if (n && !state)
        return tn__error(TN_EINVAL, "tn_optimizer_load_state: the state is NULL");
    size_t bytes = sizeof(incoming) * (size_t)opt->n;
    incoming *in = tn__block_zero(bytes);
    if (!in)
        return tn__error_memory("an optimizer's state", bytes);
    bool was = tn__set_no_grad(true);
    tn_status e = sort_in(opt, state, n, in);
    for (int64_t i = 0; i < opt->n && !e; i++)
        e = check_entry(opt, &opt->at[i], &in[i]);
    for (int64_t i = 0; i < opt->n && !e; i++)
        e = copy_entry(t, opt, &opt->at[i], &in[i]);
    settle(opt, in, !e);
    tn__set_no_grad(was);
    tn__block_put(in, bytes);
    return e;
}

tn_status(tn_optimizer_load_state)(tn_optimizer *opt, const tn_named *state, size_t n)
{
    return tn_optimizer_load_state_at(TN__NOWHERE, opt, state, n);
}
