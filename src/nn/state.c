/* Loading a module's state: matched and checked first, copied last, so that it is all or nothing. */
#include "nn/module.h"
#include "core/alloc.h"
#include <stdarg.h>
#include <stdio.h>

/* One of the module's tensors, what is to be copied into it, and that on its device. */
typedef struct item {
    const char *name;
    tn_tensor *to, *from, *staged;
} item;

typedef struct loading {
    item *item; /* of the module */
    bool *used; /* of the state */
    size_t n, n_state;
    const tn_named *state;
    size_t item_bytes, used_bytes;
} loading;

/* ---- what is wrong, in PyTorch's words ---- */

/* One error's text: as much as a message holds. */
typedef struct report {
    char s[3072];
    size_t n;
    bool cut;
} report;

TN_PRINTF(2, 3) static void add(report *r, const char *format, ...)
{
    va_list ap;
    if (r->cut)
        return;
    va_start(ap, format);
    int n = vsnprintf(r->s + r->n, sizeof r->s - r->n, format, ap);
    va_end(ap);
    r->cut = n < 0 || (size_t)n >= sizeof r->s - r->n;
    if (r->cut)
        memcpy(r->s + sizeof r->s - 5, " ...", 5);
    else
        r->n += (size_t)n;
}

static void add_missing(report *r, const loading *l)
{
    bool any = false;
    for (size_t i = 0; i < l->n; i++)
        if (!l->item[i].from) {
            add(r, "%s\"%s\"", any ? ", " : "\n\tMissing key(s) in state_dict: ", l->item[i].name);
            any = true;
        }
    if (any)
        add(r, ". ");
}

static void add_unexpected(report *r, const loading *l)
{
    bool any = false;
    for (size_t i = 0; i < l->n_state; i++)
        if (!l->used[i]) {
            add(r, "%s\"%s\"", any ? ", " : "\n\tUnexpected key(s) in state_dict: ", l->state[i].name);
            any = true;
        }
    if (any)
        add(r, ". ");
}

static void add_mismatches(report *r, const loading *l)
{
    for (size_t i = 0; i < l->n; i++) {
        const tn_tensor *to = l->item[i].to, *from = l->item[i].from;
        if (from && !tn__same_shape(from->shape, from->ndim, to->shape, to->ndim))
            add(r,
                "\n\tsize mismatch for %s: copying a param with shape torch.Size(%s) from checkpoint, the shape in "
                "current model is torch.Size(%s).",
                l->item[i].name, tn__shape_str(from->shape, from->ndim).s, tn__shape_str(to->shape, to->ndim).s);
    }
}

static tn_status check_match(const loading *l, const tn_module *m, bool strict)
{
    report r = {.n = 0, .cut = false};
    r.s[0] = '\0';
    if (strict) {
        add_missing(&r, l);
        add_unexpected(&r, l);
    }
    add_mismatches(&r, l);
    if (!r.s[0])
        return TN_OK;
    return tn__error(TN_EINVAL, "Error(s) in loading state_dict for %s:%s", m->cls.name, r.s);
}

/* ---- matching ---- */

static tn_status check_state(const tn_named *state, size_t n)
{
    if (n && !state)
        return tn__error(TN_EINVAL, "tn_module_load_state: the state is NULL");
    for (size_t i = 0; i < n; i++) {
        if (!state[i].name)
            return tn__error(TN_EINVAL, "tn_module_load_state: entry %zu has no name", i);
        if (!state[i].tensor)
            return tn__poisoned("tn_module_load_state");
        if (state[i].tensor == TN_NONE)
            return tn__error(TN_ETYPE, "tn_module_load_state: \"%s\" is TN_NONE, not a tensor", state[i].name);
    }
    return TN_OK;
}

/* Which of the state goes where. Files keep the module's order, mostly: the search goes on from the last match. */
static void match(loading *l)
{
    size_t at = 0;
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < l->n_state; k++) {
            size_t j = (at + k) % l->n_state;
            if (l->used[j] || strcmp(l->state[j].name, l->item[i].name) != 0)
                continue;
            l->used[j] = true;
            l->item[i].from = l->state[j].tensor;
            at = j + 1;
            break;
        }
}

static tn_status list_items(loading *l, tn_module *m)
{
    const char *name = tn__state_names(m);
    if (!name)
        return TN_ENOMEM;
    l->n = tn__state_count(m);
    l->item_bytes = sizeof *l->item * (l->n + 1);
    l->used_bytes = l->n_state + 1;
    l->item = tn__block_zero(l->item_bytes);
    l->used = tn__block_zero(l->used_bytes);
    if (!l->item || !l->used)
        return tn__error_memory("a list of a module's state", l->item_bytes + l->used_bytes);
    tn__module_iter w;
    size_t n = 0;
    tn__module_iter_begin(&w, m);
    for (const tn_module *i; (i = tn__module_iter_next(&w));)
        for (int kind = TN__PARAMETERS; kind <= TN__BUFFERS; kind++)
            for (int64_t k = 0; k < i->slots[kind].n; k++, name += strlen(name) + 1)
                l->item[n++] = (item){name, tn__slot_tensor(i, (tn__slot_kind)kind, k), NULL, NULL};
    return TN_OK;
}

/* ---- copying ---- */

/* Is the tensor, which is not 'to' itself, in memory that the copying will write? */
static bool is_written(const loading *l, const tn_tensor *t, const tn_tensor *to)
{
    for (size_t i = 0; t != to && t->storage && i < l->n; i++)
        if (l->item[i].from && l->item[i].to->storage == t->storage)
            return true;
    return false;
}

/* Whatever a copy needs, and could fail in, before the first one. */
static tn_status stage(const loading *l)
{
    for (size_t i = 0; i < l->n; i++) {
        item *it = &l->item[i];
        tn_tensor *to = it->to, *from = it->from;
        if (!from)
            continue;
        if (to->storage && to->storage->read_only)
            return tn__error(TN_EINVAL, "tn_module_load_state: \"%s\" shows read-only memory (a mapped file)",
                             it->name);
        if (tn__overlaps_itself(to->shape, to->stride, to->ndim))
            return tn__error(TN_EINVAL, "tn_module_load_state: elements of \"%s\" share memory with each other",
                             it->name);
        it->staged = tn_to(from, .device = to->device);
        if (it->staged && is_written(l, it->staged, to))
            it->staged = tn_clone(it->staged);
        if (!it->staged)
            return tn_error_code();
    }
    return TN_OK;
}

static tn_status copy_all(const loading *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->item[i].staged && !tn_copy_(l->item[i].to, l->item[i].staged))
            return tn_error_code();
    return TN_OK;
}

tn_status tn_module_load_state_opt(tn_module *m, const tn_named *state, size_t n, const tn_load_state_options *options)
{
    tn_load_state_options o;
    tn__options_in(&o, sizeof o, options);
    tn__thread *t = tn__enter(o.site);
    loading l = {.state = state, .n_state = n};
    tn_scope scope;
    if (!m)
        return tn__poisoned("tn_module_load_state");
    tn_status e = check_state(state, n);
    if (e)
        return e;
    bool was = tn__set_no_grad(true);
    tn__scope_push(t, &scope);
    e = list_items(&l, m);
    if (!e) {
        match(&l);
        e = check_match(&l, m, !o.not_strict);
    }
    if (!e)
        e = stage(&l);
    if (!e)
        e = copy_all(&l);
    tn__block_put(l.item, l.item_bytes);
    tn__block_put(l.used, l.used_bytes);
    tn__scope_pop(t, &scope, NULL);
    tn__set_no_grad(was);
    return e;
}

tn_status(tn_module_load_state)(tn_module *m, const tn_named *state, size_t n)
{
    return tn_module_load_state_opt(m, state, n, NULL);
}
